//! Errors weighed by activations, against brute force over every bias with exact sums.

use std::path::Path;
use std::sync::Arc;

use crate::common::{File, Fixture, Random, Tensor, options};
use num_bigint::BigInt;
use safetensors::Dtype::{BF16, F32, F64};
use smallfloat::{Datum, FormatSpec};
use smallfloat_tensor::{BiasPolicy, Calibration, Granularity, Options, Share, View};

/// A finite number in units of 2^-1074.
fn exact(x: f64) -> BigInt {
    let Datum::Finite { negative, significand, exponent } = smallfloat::formats::BINARY64.decode(x.to_bits())
    else {
        panic!("{x} is not finite")
    };
    let magnitude = BigInt::from(significand) << (exponent + 1074).unsigned_abs();
    if negative { -magnitude } else { magnitude }
}

/// Σx² of the columns of activations, each over the largest, times 2^32 − 1, to the nearest integer
/// from 1 on.
fn weights(x: &Tensor) -> Vec<BigInt> {
    let columns = *x.shape.last().unwrap();
    let mut sums = vec![BigInt::ZERO; columns];
    for (i, x) in x.numbers().into_iter().enumerate() {
        sums[i % columns] += exact(x).pow(2);
    }
    let largest = sums.iter().max().unwrap().clone();
    let weight = |sum: &BigInt| -> BigInt { (sum * u32::MAX * 2 + &largest) / (&largest * 2) };
    sums.iter().map(|sum| weight(sum).max(1.into())).collect()
}

/// Of equals the largest bias with the least Σ h · (x − q)².
fn best(elements: &[(f64, &BigInt)], spec: &FormatSpec) -> i32 {
    let error = |bias: i32| {
        let format = spec.with_bias(bias).unwrap();
        let projection = format.default_projection();
        let one = |(x, weight): &(f64, &BigInt)| {
            let q = format.decode(format.encode_f64(*x, &projection).value).to_f64().unwrap();
            (exact(*x) - exact(q)).pow(2) * *weight
        };
        elements.iter().map(one).sum::<BigInt>()
    };
    let errors = (0..=63).map(|bias| (error(bias), bias));
    errors.reduce(|best, next| if next.0 <= best.0 { next } else { best }).unwrap().1
}

fn calibrated(options: Options, path: &Path) -> Options {
    Options { calibration: Some(Arc::new(Calibration::open(path).unwrap())), ..options }
}

/// Columns of different sizes, the small ones with large activations.
fn layer(random: &mut Random, dtype: safetensors::Dtype, rows: usize, columns: usize) -> (Tensor, Tensor) {
    let sizes: Vec<f64> =
        (0..columns).map(|_| 2.0_f64.powi(-i32::try_from(random.next() % 24).unwrap())).collect();
    let draw = |random: &mut Random, sizes: &[f64], rows: usize| -> Vec<f64> {
        (0..rows * columns).map(|i| random.normal() * sizes[i % columns]).collect()
    };
    let w = Tensor::of(dtype, &draw(random, &sizes, rows)).shaped(&[rows, columns]);
    let inverse: Vec<f64> = sizes.iter().map(|size| size.powf(-1.5)).collect();
    let x = Tensor::of(F32, &draw(random, &inverse, 5)).shaped(&[5, columns]);
    (w, x)
}

#[test]
fn biases_of_least_weighed_error() {
    let mut random = Random(1);
    let (mut file, mut activations) = (File::default(), File::default());
    for (i, dtype) in [F32, F64, BF16].into_iter().enumerate() {
        let (w, x) = layer(&mut random, dtype, 6, 11);
        file.tensors.insert(format!("l{i}.weight"), w);
        activations.tensors.insert(if i == 0 { "l0".into() } else { format!("l{i}.weight") }, x);
    }
    file.tensors.insert("none.weight".into(), Tensor::of(F32, &random.normals(20, 1.0)).shaped(&[2, 10]));
    let fixture = Fixture::new(&file);
    let path = fixture.folder.path().join("x.safetensors");
    activations.write(&path);
    let mut differ = 0;
    for format in ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp"] {
        let spec: FormatSpec = format.parse().unwrap();
        for granularity in ["tensor", "channel", "block:4", "block:5x3"] {
            let granularity: Granularity = granularity.parse().unwrap();
            let plain = Options { granularity, ..options(format) };
            let with = calibrated(plain.clone(), &path);
            let (before, after) = (fixture.quantize(&plain).unwrap(), fixture.quantize(&with).unwrap());
            for (tensor, before) in after.tensors.iter().zip(&before.tensors) {
                let source = &file.tensors[&tensor.name];
                let (rows, columns) = (source.shape[0], source.shape[1]);
                let x = activations
                    .tensors
                    .get(&tensor.name)
                    .or_else(|| activations.tensors.get(tensor.name.strip_suffix(".weight").unwrap()));
                assert_eq!((tensor.calibrated, before.calibrated), (x.is_some(), false));
                let weights = x.map_or_else(|| vec![1.into(); columns], weights);
                let (block_rows, block_columns) = match granularity {
                    Granularity::Tensor => (rows, columns),
                    Granularity::Channel => (1, columns),
                    Granularity::Block { rows: r, columns: c } => {
                        (usize::try_from(r).unwrap(), usize::try_from(c).unwrap())
                    }
                };
                let values = source.numbers();
                let mut expected = Vec::new();
                for top in (0..rows).step_by(block_rows) {
                    for left in (0..columns).step_by(block_columns) {
                        let mut elements = Vec::new();
                        for row in top..rows.min(top + block_rows) {
                            for column in left..columns.min(left + block_columns) {
                                elements.push((values[row * columns + column], &weights[column]));
                            }
                        }
                        expected.push(best(&elements, &spec));
                    }
                }
                assert_eq!(tensor.biases, expected, "{format} {granularity} {}", tensor.name);
                differ += usize::from(tensor.biases != before.biases);
            }
        }
    }
    assert!(differ > 5, "weights made a difference {differ} times");
}

/// Long tensors take other ways: tables of classes, in pieces.
#[test]
fn long_tensors_and_company() {
    let mut random = Random(2);
    let (rows, columns) = (300, 40);
    let (q, x) = layer(&mut random, F64, rows, columns);
    let (k, _) = layer(&mut random, F32, rows, columns);
    let file = File::of([("q_proj.weight", q.clone()), ("k_proj.weight", k.clone())]);
    let fixture = Fixture::new(&file);
    let path = fixture.folder.path().join("x.safetensors");
    File::of([("q_proj", x.clone()), ("k_proj", x.clone())]).write(&path);
    let options = Options { share: Share::known(), ..calibrated(options("cfloat8_1_4_3"), &path) };
    let report = fixture.quantize(&options).unwrap();
    let weights = weights(&x);
    let numbers: Vec<f64> = q.numbers().into_iter().chain(k.numbers()).collect();
    let elements: Vec<_> = numbers.iter().enumerate().map(|(i, &x)| (x, &weights[i % columns])).collect();
    let expected = best(&elements, &options.format);
    assert!(report.tensors.iter().all(|tensor| tensor.biases == [expected]), "{report:?}, not {expected}");
    // One long channel and one long tensor alone.
    for granularity in [Granularity::Channel, Granularity::Tensor] {
        let wide = File::of([("w", q.clone().shaped(&[1, rows * columns / 40, 40]))]);
        let fixture = Fixture::new(&wide);
        File::of([("w", x.clone())]).write(&path);
        let options = Options { granularity, share: Share::none(), ..calibrated(options.clone(), &path) };
        let elements = &elements[..rows * columns];
        assert_eq!(fixture.quantize(&options).unwrap().tensors[0].biases, [best(elements, &options.format)]);
    }
}

#[test]
fn activations_without_a_tensor_and_plans() {
    let mut random = Random(3);
    let (w, x) = layer(&mut random, F32, 3, 4);
    let fixture = Fixture::new(&File::of([("a.weight", w)]));
    let path = fixture.folder.path().join("x.safetensors");
    let refused = |activations: File, bias: BiasPolicy, format: &str, part: &str| {
        activations.write(&path);
        let options = Options { bias, ..calibrated(options(format), &path) };
        let error = fixture.quantize(&options).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains(part), "{error}");
    };
    let auto = BiasPolicy::LeastError;
    refused(File::of([("b", x.clone())]), auto, "cfloat8_1_4_3", "activations for none of the tensors");
    refused(File::of([("a", x.clone().shaped(&[4, 5]))]), auto, "cfloat8_1_4_3", "have 5 channels");
    refused(
        File::of([("a", x.clone())]),
        BiasPolicy::Amax { margin: 0 },
        "cfloat8_1_4_3",
        "bias policy auto",
    );
    refused(File::of([("a", x.clone())]), auto, "e4m3fn", "whose bias is free");

    File::of([("a", x.clone())]).write(&path);
    let options = calibrated(options("cfloat8_1_4_3"), &path);
    let expected = fixture.quantize(&options).unwrap();
    let out = fixture.folder.path().join("out");
    let plan = smallfloat_tensor::plan(
        &fixture.input,
        &out,
        &options,
        &|_| true,
        smallfloat_tensor::Sharding::Files,
    )
    .unwrap();
    let json = plan.to_json().unwrap();
    let again = smallfloat_tensor::Plan::from_json(&json, "plan").unwrap();
    smallfloat_tensor::apply(&again, 0, true, &mut |_| ()).unwrap();
    let written = View::open(plan.shard_path(0).unwrap()).unwrap();
    assert_eq!(written.tensor("a.weight").unwrap().format().unwrap().bias(), expected.tensors[0].biases[0]);
    File::of([("a", Tensor::of(F32, &[1.0; 4]).shaped(&[1, 4]))]).write(&path);
    let error = smallfloat_tensor::Plan::from_json(&json, "plan").unwrap_err().to_string();
    assert!(error.contains("changed since the plan was made"), "{error}");
}
