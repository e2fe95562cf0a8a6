//! Biases that follow training step by step: each policy against its rule on plain integers and
//! floats.

use std::collections::VecDeque;

use crate::common::Random;
use smallfloat::{Format, FormatSpec};
use smallfloat_kernels::Encoder;
use smallfloat_tensor::{BiasController, BiasPolicy, CodeUse, Magnitudes, Observation};

/// Names of formats, the exponent of the largest value at bias 0, and stored significand bits.
const FORMATS: [(&str, i32, i32); 3] =
    [("cfloat8_1_4_3", 15, 3), ("cfloat8_1_5_2:subnormals=gradual", 31, 2), ("shp", 31, 10)];

fn spec(name: &str) -> FormatSpec {
    name.parse().unwrap()
}

fn controller(policy: &str, format: &str, start: Option<i32>) -> BiasController {
    BiasController::new(policy.parse().unwrap(), spec(format), start).unwrap()
}

/// amax = f · 2^k, 1 ≤ f < 2: the largest b with f · 2^k ≤ (2 − 2^−M) · 2^(E − b), without a limit.
fn holding(amax: f64, highest: i32, stored: i32) -> i32 {
    let (mut f, mut k) = (amax, 0);
    while f >= 2.0 {
        (f, k) = (f / 2.0, k + 1);
    }
    while f < 1.0 {
        (f, k) = (f * 2.0, k - 1);
    }
    highest - k - i32::from(f > 2.0 - 2.0_f64.powi(-stored))
}

/// Magnitudes of a run: they drift over 120 binades, with zeros, NaN and infinities between.
fn run(random: &mut Random, steps: i32) -> Vec<f64> {
    let amax = |step: i32| match random.next() % 10 {
        0 => 0.0,
        1 => f64::NAN,
        2 => f64::INFINITY,
        // At and just above the largest value of CFloat8_1_4_3 at some bias.
        3 => 1.875 * 2.0_f64.powi(step % 20),
        4 => (1.875 * 2.0_f64.powi(step % 20)).next_up(),
        _ => (1.0 + random.uniform()) * 2.0_f64.powi(20 - step % 120),
    };
    (0..steps).map(amax).collect()
}

#[test]
fn amax_follows_the_present_tensor() {
    let amaxes = run(&mut Random(1), 500);
    for (format, highest, stored) in FORMATS {
        for margin in [0, 1, 5, 63] {
            let mut controller = controller(&format!("amax:margin={margin}"), format, Some(20));
            let mut expected = 20;
            for &amax in &amaxes {
                if amax.is_finite() && amax != 0.0 {
                    expected = (holding(amax, highest, stored) - margin).clamp(0, 63);
                }
                assert_eq!(controller.observe(Observation::Amax(-amax)).unwrap(), expected, "{amax:e}");
                let magnitudes = Magnitudes::of(&[amax, -amax / 3.0, 0.0], stored.cast_unsigned() + 1);
                assert_eq!(controller.observe(Observation::Magnitudes(&magnitudes)).unwrap(), expected);
            }
            assert_eq!(controller.steps(), 1000);
        }
    }
}

#[test]
fn delayed_amax_remembers_and_resumes() {
    let amaxes = run(&mut Random(2), 400);
    for (format, highest, stored) in FORMATS {
        for (history, margin) in [(1, 0), (2, 3), (16, 0), (1000, 1)] {
            let policy = format!("delayed:history={history},margin={margin}");
            let mut controller = controller(&policy, format, None);
            let (mut past, mut expected, mut changes) = (VecDeque::new(), controller.bias(), 0);
            for (step, &amax) in amaxes.iter().enumerate() {
                if amax.is_finite() {
                    past.push_back(amax);
                    if past.len() > history {
                        past.pop_front();
                    }
                    let largest = past.iter().copied().fold(0.0, f64::max);
                    if largest > 0.0 {
                        let bias = (holding(largest, highest, stored) - margin).clamp(0, 63);
                        changes += u64::from(bias != expected);
                        expected = bias;
                    }
                }
                assert_eq!(controller.observe(Observation::Amax(amax)).unwrap(), expected, "step {step}");
                if step % 37 == 0 {
                    let json = serde_json::to_string(&controller).unwrap();
                    let read: BiasController = serde_json::from_str(&json).unwrap();
                    assert_eq!(read, controller);
                    controller = read;
                }
            }
            assert_eq!((controller.changes(), controller.format().bias()), (changes, expected));
        }
    }
}

/// The rule of the flags on what was observed, with no memory but a counter.
fn by_flags(bias: i32, unused: &mut u32, codes: &CodeUse, patience: u32) -> i32 {
    if codes.overflowed > 0 {
        *unused = 0;
        return (bias - 1).max(0);
    }
    if codes.nonzero == 0 {
        return bias;
    }
    if codes.topmost > 0 {
        *unused = 0;
        return bias;
    }
    *unused += 1;
    if codes.second == 0 || *unused == patience {
        *unused = 0;
        return (bias + 1).min(63);
    }
    bias
}

#[test]
fn flags_step_by_one() {
    let mut random = Random(3);
    for patience in [1, 2, 16] {
        let mut controller = controller(&format!("flags:patience={patience}"), "cfloat8_1_5_2", Some(2));
        let (mut bias, mut unused) = (2, 0);
        for step in 0..3000_u32 {
            let mut some = || random.next() % 3 / 2;
            let rising = u64::from(step % 1000 < 500);
            let codes = CodeUse {
                overflowed: some() * some() * (1 - rising),
                topmost: some() * (1 - rising * some()),
                second: some(),
                nonzero: some() + some() + 1 - rising * some(),
            };
            bias = by_flags(bias, &mut unused, &codes, patience);
            assert_eq!(controller.observe(Observation::Codes(codes)).unwrap(), bias, "{step}: {codes:?}");
            if step % 100 == 7 {
                controller = serde_json::from_value(serde_json::to_value(&controller).unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn flags_find_the_bias_that_amax_would_choose() {
    // Values of ±0.3 at most: 2^15 · 1.875 / 2^17 = 0.469 holds them in the topmost binade.
    let mut random = Random(4);
    for start in [0, 7, 30, 63] {
        let mut controller = controller("flags", "cfloat8_1_4_3", Some(start));
        for _ in 0..200 {
            let mut values: Vec<f64> = (0..999).map(|_| 0.6 * random.uniform() - 0.3).collect();
            values.push(0.3);
            let format = *controller.format();
            let mut codes = vec![0_u8; values.len()];
            let events =
                Encoder::new(&format, &format.default_projection()).unwrap().encode(&values, &mut codes);
            // Parts add up to the whole.
            let (left, right) = codes.split_at(300);
            let whole = CodeUse::of(&format, &events, &codes);
            let none = smallfloat_kernels::EventCounts::default();
            assert_eq!(CodeUse::of(&format, &events, left).merge(CodeUse::of(&format, &none, right)), whole);
            controller.observe(Observation::Codes(whole)).unwrap();
        }
        assert_eq!(controller.bias(), 17, "from {start}");
        assert_eq!(controller.changes(), u64::from(start.abs_diff(17)));
    }
}

#[test]
fn codes_are_counted_by_their_binade() {
    let format = Format::cfloat8_1_4_3(7).unwrap();
    let values = [480.0_f32, -256.0, 255.9, 240.0, -128.0, 127.0, 0.0, -0.0, 1e-9, 1e9];
    let mut codes = [0_u8; 10];
    let events = Encoder::new(&format, &format.default_projection()).unwrap().encode(&values, &mut codes);
    // 255.9 rounds up into the topmost binade, 127 into the second; 1e9 saturates there.
    let expected = CodeUse { overflowed: 1, topmost: 4, second: 3, nonzero: 8 };
    assert_eq!(CodeUse::of(&format, &events, &codes), expected);
    // 16-bit codes: 131008 is the largest at bias 15, 65536 opens the topmost binade.
    let format = Format::shp(15).unwrap();
    let values = [131008.0_f32, 65536.0, 65504.0, 1.0];
    let mut codes = [0_u16; 4];
    let events = Encoder::new(&format, &format.default_projection()).unwrap().encode(&values, &mut codes);
    let expected = CodeUse { overflowed: 0, topmost: 2, second: 1, nonzero: 4 };
    assert_eq!(CodeUse::of(&format, &events, &codes), expected);
}

#[test]
fn statistics_choose_as_for_files() {
    let mut random = Random(5);
    for count in [10, 20_000] {
        let values = random.normals(count, 1e-3);
        let magnitudes = Magnitudes::of(&values, 4);
        for policy in ["auto", "percentile:99", "amax", "23"] {
            let mut controller = controller(policy, "cfloat8_1_4_3", Some(5));
            let once = controller.policy().choose(&spec("cfloat8_1_4_3"), Some(&magnitudes)).unwrap();
            assert_eq!(controller.observe(Observation::Magnitudes(&magnitudes)).unwrap(), once.bias());
            let nothing = Magnitudes::of(&[0.0_f32, f32::NAN], 4);
            assert_eq!(controller.observe(Observation::Magnitudes(&nothing)).unwrap(), once.bias());
        }
    }
}

#[test]
fn gradient_moves_by_majorities() {
    for patience in [1_u32, 2, 5] {
        let policy = format!("gradient:patience={patience}");
        let mut controller = controller(&policy, "cfloat8_1_4_3", Some(3));
        // Slopes at will: a run of one sign, then noise, then the other sign beyond the range's
        // end.
        let noise = (0..200_u32).map(|i| if (i * i + i / 3) % 5 < 2 { -0.5 } else { 1e-300 });
        let slopes =
            std::iter::repeat_n(-2.0, 40).chain(noise).chain([0.0, f64::NAN]).chain([f64::INFINITY; 400]);
        let (mut bias, mut lead) = (3_i64, 0_i64);
        for (step, slope) in slopes.enumerate() {
            if slope != 0.0 && !slope.is_nan() {
                lead += if slope.is_sign_negative() { 1 } else { -1 };
            }
            if lead.abs() == i64::from(patience) {
                (bias, lead) = ((bias + lead.signum()).clamp(0, 63), 0);
            }
            assert_eq!(
                i64::from(controller.observe(Observation::Slope(slope)).unwrap()),
                bias,
                "step {step}"
            );
            let stored = serde_json::to_string(&controller).unwrap();
            assert_eq!(serde_json::from_str::<BiasController>(&stored).unwrap(), controller);
        }
        assert_eq!(bias, 0);
    }
    let stored = serde_json::json!({
        "policy": "gradient:patience=4", "format": "shp", "bias": 31, "history": [], "unused": 0, "votes": -3,
        "steps": 3, "changes": 0,
    });
    assert!(serde_json::from_value::<BiasController>(stored.clone()).is_ok());
    for (key, value) in [("votes", 4), ("votes", -4), ("unused", 1)] {
        let mut bad = stored.clone();
        bad[key] = value.into();
        assert!(serde_json::from_value::<BiasController>(bad).is_err(), "{key} {value}");
    }
}

#[test]
fn wrong_observations_and_beginnings_are_refused() {
    let new = |policy: BiasPolicy, format: &str, start| BiasController::new(policy, spec(format), start);
    for (policy, format, start, part) in [
        (BiasPolicy::LeastError, "e4m3fn", None, "no bias to choose"),
        (BiasPolicy::LeastError, "shp", Some(64), "0..=63"),
        (BiasPolicy::Fixed(-1), "shp", None, "0..=63"),
        (BiasPolicy::Delayed { history: 0, margin: 0 }, "shp", None, "history=N"),
        (BiasPolicy::Percentile(f64::NAN), "shp", None, "percentile:P"),
    ] {
        let error = new(policy, format, start).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains(part), "{error}");
    }
    let starts = [("cfloat8_1_4_3", 7), ("shp", 15), ("cfloat8_1_4_3:bias=9", 9)];
    for (format, bias) in starts {
        assert_eq!(new(BiasPolicy::LeastError, format, None).unwrap().bias(), bias);
    }
    let codes = Observation::Codes(CodeUse { overflowed: 1, ..CodeUse::default() });
    for (policy, observation, part) in [
        ("auto", Observation::Amax(1.0), "give it Magnitudes"),
        ("delayed", codes, "give it Amax or Magnitudes"),
        ("flags", Observation::Amax(1.0), "give it Codes"),
        ("gradient", codes, "nothing from codes: give it Slope"),
        ("amax", Observation::Slope(1.0), "nothing from a slope: give it Amax"),
    ] {
        let mut controller = controller(policy, "shp", Some(20));
        let error = controller.observe(observation).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!((controller.bias(), controller.steps()), (20, 0));
    }
    let mut fixed = controller("9", "shp", None);
    assert_eq!((fixed.observe(codes).unwrap(), fixed.observe(Observation::Amax(3.0)).unwrap()), (9, 9));
}

#[test]
fn states_that_contradict_themselves_are_refused() {
    let mut delayed = controller("delayed:history=2", "shp", None);
    delayed.observe(Observation::Amax(1.0)).unwrap();
    let good = serde_json::to_value(&delayed).unwrap();
    assert_eq!(
        good,
        serde_json::json!({
            "policy": "delayed:history=2,margin=0", "format": "shp", "bias": 31, "history": [31],
            "unused": 0, "steps": 1, "changes": 1,
        })
    );
    for (key, value) in [
        ("policy", serde_json::json!("7")),
        ("policy", "amax".into()),
        ("format", "e4m3fn".into()),
        ("bias", 64.into()),
        ("history", serde_json::json!([1, 2, 3])),
        ("unused", 1.into()),
        ("more", 1.into()),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(serde_json::from_value::<BiasController>(bad).is_err(), "{key}");
    }
}
