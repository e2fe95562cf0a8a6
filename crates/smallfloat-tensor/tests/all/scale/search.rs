//! Scales of least squared error, against every candidate tried on E2M1's eight magnitudes.

use std::sync::Arc;

use crate::common::{File, Fixture, Random, Tensor, options};
use safetensors::Dtype::F32;
use smallfloat_tensor::{
    Calibration, GlobalScale, Granularity, Options, ScaleRule, ScaleSpec, Scheme, Share,
};

/// E2M1's magnitudes, by their codes.
const MAGNITUDES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// To nearest, ties to the even code, saturating.
fn nearest(x: f64) -> f64 {
    let mut best = MAGNITUDES[0];
    for (code, magnitude) in MAGNITUDES.into_iter().enumerate() {
        let (new, old) = ((x.abs() - magnitude).abs(), (x.abs() - best).abs());
        if new < old || (new <= old && code % 2 == 0) {
            best = magnitude;
        }
    }
    best.copysign(x)
}

/// Of these scales, ascending, the first with the least Σ h · (x − q · s)².
fn best(scales: &[f64], elements: &[(f64, f64)]) -> f64 {
    let error = |scale: f64| -> f64 {
        elements.iter().map(|&(x, h)| h * (x - nearest(x / scale) * scale).powi(2)).sum()
    };
    let errors: Vec<f64> = scales.iter().map(|&scale| error(scale)).collect();
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    scales[errors.iter().position(|error| error.to_bits() == least.to_bits()).unwrap()]
}

fn amax(elements: &[(f64, f64)]) -> f64 {
    elements.iter().map(|(x, _)| x.abs()).fold(0.0, f64::max)
}

/// 2^⌈log2(amax / 6)⌉ · 2^k for k = −4…1.
fn powers(elements: &[(f64, f64)]) -> Vec<f64> {
    let mut just = 2.0_f64.powi(-100);
    while 6.0 * just < amax(elements) {
        just *= 2.0;
    }
    (-4..=1).map(|k| just * 2.0_f64.powi(k)).collect()
}

/// k/100 of amax / 6 in F32.
#[expect(clippy::cast_possible_truncation, reason = "F32 is asked for")]
fn hundredths(elements: &[(f64, f64)]) -> Vec<f64> {
    let just = amax(elements) / 6.0;
    (10..=120).map(|k| f64::from((just * f64::from(k) / 100.0) as f32)).collect()
}

/// Values with a few that are far larger, and how much each of 32 columns weighs.
fn data(random: &mut Random, rows: usize) -> (Vec<f64>, Vec<f64>) {
    let mut values = random.normals(rows * 32, 1e-2);
    for x in values.iter_mut().step_by(37) {
        *x *= 6.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "tensors of F32")]
    let values = values.into_iter().map(|x| f64::from(x as f32)).collect();
    let weights = (0..32).map(|i| 2.0_f64.powi(-(i % 9))).collect();
    (values, weights)
}

#[test]
fn every_group_gets_the_best_of_its_candidates() {
    let mut random = Random(1);
    let rows = 24;
    let (values, h) = data(&mut random, rows);
    let file = File::of([("a.weight", Tensor::of(F32, &values).shaped(&[rows, 32]))]);
    let fixture = Fixture::new(&file);
    let path = fixture.folder.path().join("x.safetensors");
    File::of([("a", Tensor::of(F32, &h))]).write(&path);
    let calibration = Arc::new(Calibration::open(&path).unwrap());
    // Weights relative to the largest, in units of 1 / (2^32 − 1).
    let weights: Vec<f64> = h.iter().map(|h| (h * f64::from(u32::MAX) + 0.5).floor()).collect();
    let wide = ScaleSpec { format: smallfloat::formats::BINARY32, rule: ScaleRule::LeastError, global: None };
    let mut mx = "mxfp4".parse::<Scheme>().unwrap().options().scale.unwrap();
    mx.rule = ScaleRule::LeastError;
    let mut different = 0;
    for (spec, candidates) in [(mx, powers as fn(&[(f64, f64)]) -> Vec<f64>), (wide, hundredths)] {
        for (granularity, group_rows, group_columns) in
            [("block:32", 1, 32), ("block:4x8", 4, 8), ("channel", 1, 32), ("tensor", rows, 32)]
        {
            for calibrated in [false, true] {
                let granularity: Granularity = granularity.parse().unwrap();
                let options = Options {
                    scale: Some(spec),
                    granularity,
                    calibration: calibrated.then(|| Arc::clone(&calibration)),
                    ..options("e2m1fn")
                };
                let report = fixture.quantize(&options).unwrap();
                assert_eq!(report.tensors[0].calibrated, calibrated);
                let stored = &File::read(&fixture.output).tensors["a.weight_scale"];
                let mut scales: Vec<f64> = match spec.format.width() {
                    8 => stored.bytes.iter().map(|&code| 2.0_f64.powi(i32::from(code) - 127)).collect(),
                    _ => stored.numbers(),
                };
                scales.reverse();
                for top in (0..rows).step_by(group_rows) {
                    for left in (0..32).step_by(group_columns) {
                        let mut elements = Vec::new();
                        for row in top..top + group_rows {
                            for column in left..left + group_columns {
                                let weight = if calibrated { weights[column] } else { 1.0 };
                                elements.push((values[row * 32 + column], weight));
                            }
                        }
                        let candidates = candidates(&elements);
                        let (scale, expected) = (scales.pop().unwrap(), best(&candidates, &elements));
                        assert_eq!(
                            scale.to_bits(),
                            expected.to_bits(),
                            "{granularity} {calibrated}: {scale:e}"
                        );
                        // The scale of amax is the hundredth of hundredths; the power that holds
                        // all is the last but one.
                        let plain = if spec.format.width() == 8 { candidates[4] } else { candidates[90] };
                        different += usize::from(scale.to_bits() != plain.to_bits());
                    }
                }
                assert!(scales.is_empty());
            }
        }
    }
    assert!(different > 50, "the search made a difference {different} times");
}

#[test]
fn foreign_schemes_company_and_zeros() {
    let mut random = Random(2);
    let (q, _) = data(&mut random, 24);
    let k: Vec<f64> = q.iter().map(|x| x / 4.0).collect();
    let file = File::of([
        ("q_proj.weight", Tensor::of(F32, &q).shaped(&[24, 32])),
        ("k_proj.weight", Tensor::of(F32, &k).shaped(&[24, 32])),
        ("z.weight", Tensor::of(F32, &[0.0; 64]).shaped(&[2, 32])),
    ]);
    let fixture = Fixture::new(&file);
    let ratio = |options: &Options| fixture.quantize(options).unwrap().totals.sqnr_db.unwrap();
    for name in ["mxfp4", "mxfp6-e2m3", "nvfp4", "fp8", "deepseek", "nvfp4-pack-quantized"] {
        let plain =
            Options { overwrite: true, share: Share::known(), ..name.parse::<Scheme>().unwrap().options() };
        let mut least = plain.clone();
        least.scale.as_mut().unwrap().rule = ScaleRule::LeastError;
        let (before, after) = (ratio(&plain), ratio(&least));
        assert!(after > before, "{name}: {before} dB, and {after} dB by search");
        if plain.scale.unwrap().global.is_some() {
            least.scale.as_mut().unwrap().global = Some(GlobalScale::Amax);
            assert!(ratio(&least) > before);
        }
    }
    // One scale for both of the company.
    let mut least = "fp8".parse::<Scheme>().unwrap().options();
    (least.overwrite, least.share) = (true, Share::known());
    least.scale.as_mut().unwrap().rule = ScaleRule::LeastError;
    fixture.quantize(&least).unwrap();
    let stored = File::read(&fixture.output).tensors;
    assert_eq!(stored["q_proj.weight_scale"], stored["k_proj.weight_scale"]);
    assert_eq!(stored["z.weight_scale"].numbers(), [1.0]);
}
