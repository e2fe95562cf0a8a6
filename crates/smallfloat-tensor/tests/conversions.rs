//! Any layout into any other, in one rounding; certificates; what `lossless` refuses.

mod common;

use std::fs;
use std::path::Path;

use common::{File, Random, Tensor};
use safetensors::Dtype as T;
use smallfloat_tensor::{
    Options, QuantizedAs, ScaleRule, Scheme, View, certify, check_certificate, quantize, verify,
    verify_against,
};

const ROWS: usize = 64;
const COLUMNS: usize = 256;

fn source(seed: u64) -> File {
    let random = &mut Random(seed);
    let values = random.normals(ROWS * COLUMNS, 0.02);
    File::of([
        ("model.layers.0.mlp.down_proj.weight", Tensor::of(T::BF16, &values).shaped(&[ROWS, COLUMNS])),
        ("model.norm.weight", Tensor::of(T::BF16, &[1.0, 0.5])),
    ])
}

const WEIGHT: &str = "model.layers.0.mlp.down_proj.weight";

fn scheme(name: &str) -> Options {
    Options { overwrite: true, ..name.parse::<Scheme>().unwrap().options() }
}

fn convert(input: &Path, output: &Path, options: &Options) -> smallfloat_tensor::Result<()> {
    quantize(input, output, options, &|name| name == WEIGHT, &mut |_| ()).map(|_| ())
}

/// The names, dtypes and shapes that readers of a layout look for.
#[test]
fn every_layout_has_the_names_of_its_readers() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.safetensors"), folder.path().join("out.safetensors"));
    source(1).write(&input);
    let tiled: &[usize] = &[128, 16];
    for (name, expected) in [
        ("plain-e4m3", &[("weight", T::F8_E4M3, &[64, 256][..])][..]),
        ("plain-e5m2", &[("weight", T::F8_E5M2, &[64, 256])]),
        ("deepseek-e8m0", &[("weight", T::F8_E4M3, &[64, 256]), ("weight_scale_inv", T::F8_E8M0, &[1, 2])]),
        ("deepseek-v4", &[("scale", T::F8_E8M0, &[1, 2]), ("weight", T::F8_E4M3, &[64, 256])]),
        ("mxfp4-typed", &[("weight", T::F4, &[64, 256]), ("weight_scale", T::F8_E8M0, &[64, 8])]),
        ("mxfp8-typed", &[("weight", T::F8_E4M3, &[64, 256]), ("weight_scale", T::F8_E8M0, &[64, 8])]),
        (
            "modelopt-nvfp4",
            &[
                ("weight", T::U8, &[64, 128]),
                ("weight_scale", T::F8_E4M3, &[64, 16]),
                ("weight_scale_2", T::F32, &[1]),
            ],
        ),
        ("modelopt-fp8", &[("weight", T::F8_E4M3, &[64, 256]), ("weight_scale", T::F32, &[1])]),
        ("quark-mxfp4", &[("weight", T::U8, &[64, 128]), ("weight_scale", T::U8, &[64, 8])]),
        (
            "comfy-fp8",
            &[
                ("comfy_quant", T::U8, &[27]),
                ("weight", T::F8_E4M3, &[64, 256]),
                ("weight_scale", T::F32, &[1]),
            ],
        ),
        (
            "comfy-mxfp8",
            &[
                ("comfy_quant", T::U8, &[19]),
                ("weight", T::F8_E4M3, &[64, 256]),
                ("weight_scale", T::U8, &[128, 8]),
            ],
        ),
        (
            "comfy-nvfp4",
            &[
                ("comfy_quant", T::U8, &[19]),
                ("weight", T::U8, &[64, 128]),
                ("weight_scale", T::F8_E4M3, tiled),
                ("weight_scale_2", T::F32, &[1]),
            ],
        ),
    ] {
        convert(&input, &output, &scheme(name)).unwrap();
        let module = WEIGHT.strip_suffix("weight").unwrap();
        let file = File::read(&output);
        let found: Vec<_> = file
            .tensors
            .iter()
            .filter_map(|(tensor, it)| Some((tensor.strip_prefix(module)?, it.dtype, &*it.shape)))
            .collect();
        assert_eq!(found, expected, "{name}");
        verify(&output).unwrap();
        // Each code is the one that the source's number gives at its scale, rounded once.
        let agreement = verify_against(&output, &input, &QuantizedAs::default(), &mut |_| ()).unwrap();
        assert!(agreement.disagreements.is_empty(), "{name}: {:?}", agreement.disagreements);
    }
}

/// The matrix of layouts: from each into each, every value is the nearest one of the value before,
/// and a certificate says how many changed.
#[test]
fn every_layout_into_every_other() {
    let folder = tempfile::tempdir().unwrap();
    let (input, one, two) = (folder.path().join("in"), folder.path().join("one"), folder.path().join("two"));
    source(2).write(&input);
    for from in Scheme::all() {
        convert(&input, &one, &scheme(from.name)).unwrap();
        for to in Scheme::all() {
            convert(&one, &two, &scheme(to.name)).unwrap_or_else(|e| panic!("{from} → {to}: {e}"));
            let agreement = verify_against(&two, &one, &QuantizedAs::default(), &mut |_| ()).unwrap();
            assert!(agreement.disagreements.is_empty(), "{from} → {to}: {:?}", agreement.disagreements);
        }
    }
}

/// What has the same elements and scales of powers of two goes through others and back unchanged.
#[test]
fn lossless_ways() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    source(3).write(&path("in"));
    let families = [
        &["mxfp4", "mxfp4-pack-quantized", "quark-mxfp4", "mxfp4-typed"][..],
        &["mxfp8-e4m3", "mxfp8-quantized", "mxfp8-typed", "comfy-mxfp8"],
        &["nvfp4", "nvfp4-pack-quantized", "modelopt-nvfp4", "comfy-nvfp4"],
        &["fp8", "modelopt-fp8", "comfy-fp8", "float-quantized"],
    ];
    for family in families {
        let first = family[0];
        convert(&path("in"), &path("a"), &scheme(first)).unwrap();
        for &to in &family[1..] {
            let mut options = Options { lossless: true, ..scheme(to) };
            if let Some(scale) = &mut options.scale
                && scale.rule == ScaleRule::Floor
            {
                scale.rule = ScaleRule::Rceil;
            }
            if to == "float-quantized" {
                options.granularity = smallfloat_tensor::Granularity::Tensor;
            }
            convert(&path("a"), &path("b"), &options).unwrap_or_else(|e| panic!("{first} → {to}: {e}"));
            let certificate = certify(&path("a"), &path("b"), &mut |_| ()).unwrap();
            assert_eq!((certificate.exact, certificate.rounded), (2, 0), "{first} → {to}");
            assert_eq!(
                View::open(path("a")).unwrap().values(WEIGHT).unwrap(),
                View::open(path("b")).unwrap().values(WEIGHT).unwrap()
            );
        }
    }
    // And of what would change each tensor is named; the old output stays.
    fs::write(path("b"), "old").unwrap();
    let options = Options { lossless: true, ..scheme("mxfp4") };
    let error = convert(&path("in"), &path("b"), &options).unwrap_err().to_string();
    assert!(error.contains(WEIGHT) && error.contains("no number of e2m1fn at its scale"), "{error}");
    assert_eq!(fs::read(path("b")).unwrap(), b"old");
}

#[test]
fn certificates_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    source(4).write(&path("in"));
    convert(&path("in"), &path("out"), &scheme("comfy-nvfp4")).unwrap();
    let certificate = certify(&path("in"), &path("out"), &mut |_| ()).unwrap();
    let weight = certificate.tensors.iter().find(|tensor| tensor.name == WEIGHT).unwrap();
    // Recounted from the values that the readers give.
    let (x, y) = (View::open(path("in")).unwrap(), View::open(path("out")).unwrap());
    let (x, y) = (x.values(WEIGHT).unwrap(), y.values(WEIGHT).unwrap());
    let rounded =
        x.iter().zip(&y).filter(|(x, y)| x.partial_cmp(y) != Some(std::cmp::Ordering::Equal)).count();
    let largest = x.iter().zip(&y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(rounded > 1000);
    assert_eq!((weight.rounded, weight.max_error.to_bits()), (rounded as u64, largest.to_bits()));
    let bytes: Vec<u8> = y.iter().flat_map(|y| y.to_le_bytes()).collect();
    assert_eq!(weight.output_sha256, common::sha256(&bytes));
    assert_eq!((certificate.exact, certificate.rounded), (1, rounded as u64));

    let text = serde_json::to_string(&certificate).unwrap();
    let read = serde_json::from_str(&text).unwrap();
    assert_eq!(certificate, read);
    let check = |source: Option<&Path>| check_certificate(&read, &path("out"), source, &mut |_| ());
    assert_eq!((check(None).unwrap(), check(Some(&path("in"))).unwrap()), (2, 2));
    // Another layout of the same values has other words for them; one code more and nothing holds.
    let mut file = File::read(&path("out"));
    file.tensors.get_mut(WEIGHT).unwrap().bytes[17] ^= 0x40;
    file.write(&path("out"));
    for source in [None, Some(path("in"))] {
        let error = check(source.as_deref()).unwrap_err().to_string();
        assert!(error.contains(WEIGHT) && error.contains("certificate"), "{error}");
    }
    source(5).write(&path("in"));
    assert!(check(Some(&path("in"))).is_err());
}

/// Shapes that readers of tiles can't have.
#[test]
fn shapes_that_readers_do_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let refused = |shape: &[usize], name: &str, part: &str| {
        let values = vec![0.5; shape.iter().product()];
        File::of([(WEIGHT, Tensor::of(T::F32, &values).shaped(shape))]).write(&path("in"));
        let error = convert(&path("in"), &path("out"), &scheme(name)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&[17, 32], "comfy-nvfp4", "has 17 rows, and readers of comfy-nvfp4 know multiples of 16");
    refused(
        &[16, 24],
        "comfy-nvfp4",
        "has rows of 24 elements, and readers of comfy-nvfp4 know whole blocks of 16",
    );
    refused(&[4, 40], "quark-mxfp4", "whole blocks of 32");
    refused(&[4, 40], "modelopt-nvfp4", "whole blocks of 16");
}
