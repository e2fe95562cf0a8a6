//! What certificates say of differences, computed here a second time, and of how tensors are
//! stored.

use std::path::PathBuf;

use crate::common::{File, Tensor, sha256};
use safetensors::Dtype as T;
use smallfloat_tensor::{
    Certificate, CertifiedTensor, Options, Scheme, certify, check_certificate, quantize,
};

struct Place(tempfile::TempDir);

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The certificate of two files with one tensor each.
    fn certified(&self, before: Tensor, after: Tensor) -> CertifiedTensor {
        for (name, tensor) in [("in", before), ("out", after)] {
            File::of([("w", tensor)]).write(&self.path(name));
        }
        let certificate = certify(self.path("in"), self.path("out"), &mut |_| ()).unwrap();
        let checked = check_certificate(&certificate, self.path("out"), Some(&self.path("in")), &mut |_| ());
        assert_eq!(checked.unwrap(), 1);
        certificate.tensors.into_iter().next().unwrap()
    }
}

fn digest(values: &[f64]) -> String {
    let bits = |x: &f64| if x.is_nan() { 0x7ff8_0000_0000_0000 } else { x.to_bits() };
    sha256(&values.iter().flat_map(|x| bits(x).to_le_bytes()).collect::<Vec<u8>>())
}

/// More values than are compared at once, of which every thousandth differs by 0.5 or 2.
#[test]
fn differences_are_counted() {
    let place = Place(tempfile::tempdir().unwrap());
    let before: Vec<f64> = (0..70_000).map(f64::from).collect();
    let mut after = before.clone();
    after.iter_mut().step_by(1000).for_each(|x| *x += 0.5);
    after[69_000] += 1.5;
    let found = place.certified(Tensor::of(T::F64, &before), Tensor::of(T::F64, &after));
    assert_eq!((found.rounded, found.max_error.to_bits()), (70, 2_f64.to_bits()));
    assert!((found.mean_error - 36.5 / 70_000.0).abs() < 1e-15, "{}", found.mean_error);
    assert_eq!((found.source_sha256, found.output_sha256), (digest(&before), digest(&after)));
    assert_eq!((&*found.from, &*found.to), ("F64", "F64"));
}

#[test]
fn numbers_that_are_not_finite() {
    let place = Place(tempfile::tempdir().unwrap());
    let of = |before: &[f64], after: &[f64]| {
        let found = place.certified(Tensor::of(T::F64, before), Tensor::of(T::F64, after));
        assert_eq!((&found.source_sha256, &found.output_sha256), (&digest(before), &digest(after)));
        (found.rounded, found.max_error, found.mean_error)
    };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    assert_eq!(of(&[nan, nan], &[nan, -nan]), (0, 0.0, 0.0));
    assert_eq!(of(&[nan, 1.0, 1.0, inf], &[1.0, nan, inf, inf]), (3, 0.0, 0.0));
    assert_eq!(of(&[1.0, inf, 4.0], &[2.0, 1.0, 4.0]), (2, 1.0, 0.5));
    // The sum is beyond the range, the mean is not.
    let (rounded, max, mean) = of(&[1.7e308, 0.85e308, 1.7e308, 0.85e308], &[0.0; 4]);
    assert_eq!((rounded, max), (4, 1.7e308));
    assert!((mean / 1.275e308 - 1.0).abs() < 1e-9, "{mean}");
}

/// Tensors without numbers, on either side, are compared by their bytes.
#[test]
fn bytes_instead_of_numbers() {
    let place = Place(tempfile::tempdir().unwrap());
    let (ids, numbers) = (Tensor::new(T::I32, &[1], vec![0, 0, 128, 63]), Tensor::f32(&[1.0]));
    for (before, after) in [(&ids, &ids), (&ids, &numbers), (&numbers, &ids)] {
        let found = place.certified(before.clone(), after.clone());
        assert_eq!((found.rounded, found.max_error.to_bits()), (0, 0));
        assert_eq!((found.source_sha256, found.output_sha256), (sha256(&before.bytes), sha256(&after.bytes)));
    }
    let other = Tensor::f32(&[2.0]);
    assert_eq!(place.certified(ids, other).rounded, 1);
}

#[test]
fn layouts_are_named() {
    let place = Place(tempfile::tempdir().unwrap());
    File::of([("m.weight", Tensor::f32(&[0.5; 64]).shaped(&[2, 32]))]).write(&place.path("in"));
    for (scheme, name) in [
        ("deepseek", "e4m3fn (FP8 with scales)"),
        ("bnb-nf4", "NF4 (bitsandbytes) (bitsandbytes)"),
        ("mxfp4", "e2m1fn"),
        ("nf4", "nf4"),
    ] {
        let options = Options { overwrite: true, ..scheme.parse::<Scheme>().unwrap().options() };
        quantize(place.path("in"), place.path("out"), &options, &|_| true, &mut |_| ()).unwrap();
        let certificate = certify(place.path("in"), place.path("out"), &mut |_| ()).unwrap();
        let [weight] = &certificate.tensors[..] else { panic!("{certificate:?}") };
        assert_eq!((&*weight.from, &*weight.to), ("F32", name), "{scheme}");
    }
}

/// An error where nothing changed, the largest or the mean alone.
#[test]
fn errors_without_changes() {
    let place = Place(tempfile::tempdir().unwrap());
    for name in ["in", "out"] {
        File::of([("w", Tensor::f32(&[1.0, 2.0]))]).write(&place.path(name));
    }
    let good = certify(place.path("in"), place.path("out"), &mut |_| ()).unwrap();
    for (max, mean) in [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let mut forged: Certificate = good.clone();
        (forged.tensors[0].max_error, forged.tensors[0].mean_error) = (max, mean);
        let error = check_certificate(&forged, place.path("out"), None, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("no value changed and that there are errors"), "{error}");
    }
}
