//! The choice of a tensor's bias (`docs/semantics.md` S7), against brute force over every bias with
//! exact sums.

use crate::common::{File, Fixture, Random, Tensor, WIDE, options, quantized};
use num_bigint::BigInt;
use safetensors::Dtype::{BF16, F16, F32, F64};
use smallfloat::{Datum, Format, FormatSpec};
use smallfloat_tensor::{BiasPolicy, Magnitudes, Options};

const SPECS: [&str; 6] = [
    "cfloat8_1_4_3",
    "cfloat8_1_4_3:subnormals=gradual",
    "cfloat8_1_5_2",
    "cfloat8_1_5_2:subnormals=gradual",
    "shp",
    "shp:subnormals=gradual",
];

/// A finite number in units of 2^-1074: every f64 is an integer there, and every value of the
/// formats.
fn exact(x: f64) -> BigInt {
    match smallfloat::formats::BINARY64.decode(x.to_bits()) {
        Datum::Finite { negative, significand, exponent } => {
            let magnitude = BigInt::from(significand) << (exponent + 1074).unsigned_abs();
            if negative { -magnitude } else { magnitude }
        }
        _ => panic!("{x} is not finite"),
    }
}

/// Σ (x − q)² in units of 2^-2148, q by the core's scalar conversion and decoding.
fn squared_error(numbers: &[(f64, BigInt)], format: &Format) -> BigInt {
    let projection = format.default_projection();
    let error = |(x, exact_x): &(f64, BigInt)| {
        let q = format.decode(format.encode_f64(*x, &projection).value);
        let distance = exact_x - exact(q.to_f64().unwrap());
        &distance * &distance
    };
    numbers.iter().map(error).sum()
}

fn best_bias(values: &[f64], spec: &FormatSpec) -> i32 {
    let numbers: Vec<(f64, BigInt)> =
        values.iter().filter(|x| x.is_finite()).map(|&x| (x, exact(x))).collect();
    let errors = (0..=63).map(|bias| (squared_error(&numbers, &spec.with_bias(bias).unwrap()), bias));
    // Of equals the last: the largest bias.
    errors.reduce(|best, next| if next.0 <= best.0 { next } else { best }).unwrap().1
}

/// The biases that `quantize` gives to the tensors of one file, by name.
fn chosen(file: &File, options: &Options) -> Vec<(String, i32)> {
    let (report, output) = quantized(file, options);
    report
        .tensors
        .iter()
        .map(|tensor| {
            let [bias] = tensor.biases[..] else { panic!("{tensor:?}") };
            let stored = &output.tensors[&format!("{}_bias", tensor.name)];
            assert_eq!(stored.bytes, [u8::try_from(bias).unwrap()]);
            (tensor.name.clone(), bias)
        })
        .collect()
}

fn with(spec: &str, bias: BiasPolicy) -> Options {
    Options { bias, verify: false, ..options(spec) }
}

/// The widest format takes longest, so a part of the tensors will do for it.
fn fewer(file: &File, spec: &str) -> File {
    let step = if spec.starts_with("shp") { file.tensors.len().div_ceil(4) } else { 1 };
    File::of(file.tensors.iter().step_by(step).map(|(name, tensor)| (name, tensor.clone())))
}

#[track_caller]
fn check_least_error(file: &File, specs: &[&str]) {
    for spec in specs {
        let (file, options) = (&fewer(file, spec), with(spec, BiasPolicy::LeastError));
        let all = chosen(file, &options);
        // Few elements are looked at one by one, unless a table of classes is made for their
        // histogram.
        assert_eq!(all, chosen(file, &Options { histograms: true, ..options }), "{spec}");
        for (name, bias) in all {
            let numbers = file.tensors[&name].numbers();
            assert!(numbers.iter().any(|x| *x != 0.0), "tensor {name} is all zero");
            let best = best_bias(&numbers, &spec.parse().unwrap());
            assert_eq!(bias, best, "{spec}, tensor {name}");
        }
    }
}

#[test]
fn least_error_is_the_best_of_all_for_normals_of_any_scale() {
    let mut random = Random(1);
    let mut tensors = Vec::new();
    for (dtype, exponents) in [(F32, -150..=124), (BF16, -130..=124), (F16, -24..=12), (F64, -250..=250)] {
        let step = if dtype == F16 { 6 } else { 29 };
        for exponent in exponents.step_by(step) {
            let values = random.normals(40, 2.0_f64.powi(exponent));
            tensors.push((format!("{dtype}.{exponent}"), Tensor::of(dtype, &values)));
        }
    }
    check_least_error(&File::of(tensors), &SPECS);
}

/// One value near 1.5 and many in the binades in and beside the hole, for biases that just hold the
/// one.
fn across_the_hole(random: &mut Random, exponents_above: i32) -> Vec<f64> {
    let mut values = vec![1.5];
    for _ in 0..60 {
        let near_hole = 2.0_f64.powf(-f64::from(exponents_above) + 4.0 * random.uniform() - 2.0);
        values.push(near_hole * random.sign());
    }
    values
}

#[test]
fn least_error_is_the_best_of_all_across_the_hole() {
    let mut random = Random(2);
    let mut tensors = Vec::new();
    for (dtype, above) in [(F32, 15), (F32, 31), (F64, 15), (F64, 31), (BF16, 15), (BF16, 31), (F16, 15)] {
        for round in 0..3 {
            let values = across_the_hole(&mut random, above + round - 1);
            tensors.push((format!("{dtype}.{above}.{round}"), Tensor::of(dtype, &values)));
        }
    }
    // Midpoints of the hole and their neighbours, alone and with one large value.
    for (bias, at) in [(15, 1.4375), (15, 1.875), (31, 1.375), (31, 1.75), (31, 1.5 - 1.0 / 2048.0)] {
        let middle = at * 2.0_f64.powi(-bias);
        for (i, x) in [middle.next_down(), middle, middle.next_up()].into_iter().enumerate() {
            tensors.push((format!("alone.{bias}.{at}.{i}"), Tensor::of(F64, &[x])));
            tensors.push((format!("large.{bias}.{at}.{i}"), Tensor::of(F64, &[x, -x, x, 1.0])));
        }
    }
    check_least_error(&File::of(tensors), &SPECS);
}

#[test]
fn least_error_clips_where_that_is_worthwhile() {
    let mut random = Random(3);
    // Just above the tie over the largest value: clipping it costs next to nothing, and the many
    // gain.
    let mut values: Vec<f64> =
        (0..400).map(|_| 2.0_f64.powi(-14) * (1.0 + random.uniform()) * random.sign()).collect();
    values.push(1.9375 + 2.0_f64.powi(-40));
    let mut outliers = random.normals(300, 1.0);
    outliers.push(9e4);
    let file = File::of([("tie", Tensor::of(F64, &values)), ("outlier", Tensor::of(F32, &outliers))]);
    check_least_error(&file, &SPECS);
    let spec = "cfloat8_1_4_3";
    let of = |bias| chosen(&file, &with(spec, bias)).into_iter().find(|(name, _)| name == "tie").unwrap().1;
    assert_eq!((of(BiasPolicy::Amax { margin: 0 }), of(BiasPolicy::LeastError)), (14, 15));
    // Few large values and very many that only a large bias can see: the many win.
    let mut many = vec![3e-10; 60_000];
    many.push(1e-7);
    let clipped = File::of([("many", Tensor::of(F32, &many))]);
    let biases = [BiasPolicy::Amax { margin: 0 }, BiasPolicy::LeastError]
        .map(|bias| chosen(&clipped, &with(spec, bias))[0].1);
    assert_eq!(biases[0], 39);
    let spec: FormatSpec = spec.parse().unwrap();
    let errors: Vec<BigInt> = (0..=63)
        .map(|bias| {
            let format = spec.with_bias(bias).unwrap();
            let one = |x: f32| squared_error(&[(f64::from(x), exact(f64::from(x)))], &format);
            one(3e-10) * 60_000 + one(1e-7)
        })
        .collect();
    let best = errors.iter().min().unwrap();
    let largest = errors.iter().rposition(|error| error == best).unwrap();
    assert_eq!(usize::try_from(biases[1]).unwrap(), largest);
}

#[test]
fn of_equal_biases_the_largest() {
    // Powers of two are exact under many biases, hopelessly small ones zero under all.
    let singles = [1.0, 2.0_f64.powi(-40), 2.0_f64.powi(15), 0.3, 1e-44, 2.0_f64.powi(-66), 1e30, 1.875];
    let mut tensors: Vec<_> =
        singles.iter().map(|&x| (format!("one.{x:e}"), Tensor::of(F32, &[x, 0.0, -x]))).collect();
    tensors.push(("zeros.and.tiny".to_owned(), Tensor::of(F64, &[0.0, 1e-300, -5e-324])));
    let file = File::of(tensors);
    check_least_error(&file, &SPECS);
    let biases = chosen(&file, &with("cfloat8_1_4_3", BiasPolicy::LeastError));
    let of = |name: &str| biases.iter().find(|(n, _)| n == name).unwrap().1;
    assert_eq!((of("one.1e0"), of("one.1e30"), of("one.1e-44"), of("zeros.and.tiny")), (15, 0, 63, 63));
}

#[test]
fn least_error_sees_values_beyond_every_format() {
    let mut random = Random(4);
    let mut far = random.normals(30, 1.0);
    far.extend([1e300, -1e-300, 5e-324, f64::MAX]);
    let mut wide = random.normals(30, 1e-3);
    wide.extend([f64::from(f32::MAX), f64::from_bits(1), 1e-45, -1e-40]);
    let file = File::of([("far", Tensor::of(F64, &far)), ("wide", Tensor::of(F32, &wide))]);
    check_least_error(&file, &SPECS);
}

/// Long tensors of one class put the largest sums into one place.
#[test]
fn long_tensors_do_not_overflow_the_sums() {
    // Just below the next class of f64, where the bits that are summed are all ones.
    let x = (1.0 + 1.0 / 16.0_f64).next_down() * 1.5_f64.recip();
    let mut values = vec![1.125_f64.next_down(); 300_000];
    values.extend(vec![x; 200_000]);
    values.push(7.0);
    let file = File::of([("long", Tensor::of(F64, &values))]);
    let [(_, bias)] = &chosen(&file, &with("cfloat8_1_4_3", BiasPolicy::LeastError))[..] else { panic!() };
    let spec: FormatSpec = "cfloat8_1_4_3".parse().unwrap();
    let counted = [(1.125_f64.next_down(), 300_000), (x, 200_000), (7.0, 1)];
    let error = |bias: i32| {
        let format = spec.with_bias(bias).unwrap();
        let one = |&(x, n): &(f64, i32)| squared_error(&[(x, exact(x))], &format) * n;
        counted.iter().map(one).sum::<BigInt>()
    };
    let best = (0..=63).map(error).min().unwrap();
    assert_eq!(error(*bias), best, "bias {bias}");
    // The sums themselves, through the public function: Σ (x − q)² in f64.
    let mut cells = smallfloat_kernels::ClassSums::<f64>::new(4);
    cells.add(&values);
    let format = spec.with_bias(12).unwrap();
    let projection = format.default_projection();
    let q = |x: f64| format.decode_f64(format.encode_f64(x, &projection).value).value;
    let plain: f64 = counted.iter().map(|&(x, n)| f64::from(n) * (x - q(x)).powi(2)).sum();
    let from_cells = Magnitudes::from(&cells).squared_error(&format);
    assert!((from_cells / plain - 1.0).abs() < 1e-9, "{from_cells} and {plain}");
}

#[test]
fn tensors_without_a_magnitude_get_the_ieee_bias() {
    let tensors = WIDE.map(|dtype| (dtype.to_string(), Tensor::of(dtype, &[0.0, -0.0, 0.0])));
    let mut file = File::of(tensors);
    file.tensors.insert("empty".into(), Tensor::of(F32, &[]).shaped(&[4, 0]));
    for policy in [BiasPolicy::LeastError, BiasPolicy::Amax { margin: 0 }, BiasPolicy::Percentile(50.0)] {
        for (spec, expected) in SPECS.iter().zip([7, 7, 15, 15, 15, 15]) {
            let biases = chosen(&fewer(&file, spec), &with(spec, policy));
            assert!(!biases.is_empty());
            assert!(biases.iter().all(|(_, bias)| *bias == expected), "{spec} {policy}: {biases:?}");
        }
    }
}

/// Section 5 of the bias page: amax = f · 2^k, b = clamp(Ef − k − [f > 2 − 2^−M], 0, 63).
fn by_formula(amax: f64, highest: i32, stored_bits: i32) -> i32 {
    let mut k = 0;
    let mut f = amax;
    while f >= 2.0 {
        (f, k) = (f / 2.0, k + 1);
    }
    while f < 1.0 {
        (f, k) = (f * 2.0, k - 1);
    }
    (highest - k - i32::from(f > 2.0 - 2.0_f64.powi(-stored_bits))).clamp(0, 63)
}

#[test]
fn amax_follows_the_closed_formula() {
    let mut random = Random(6);
    // Every third binade from below the smallest bias to above the largest.
    let mut amaxes = vec![0.3, f64::from(f32::MAX), 1e-45, 2.0_f64.powi(-149)];
    for exponent in (-70..=40).step_by(3) {
        let unit = 2.0_f64.powi(exponent);
        for f in [1.0, 1.75, 1.875, 2.0 - 1.0 / 1024.0, 2.0] {
            #[expect(clippy::cast_possible_truncation, reason = "f32 neighbours are wanted")]
            let x = (f * unit) as f32;
            amaxes.extend([x.next_down(), x, x.next_up()].map(f64::from));
        }
        amaxes.push(unit * (1.0 + random.uniform()));
    }
    let tensors = amaxes.iter().enumerate().map(|(i, &amax)| {
        let sign = random.sign();
        (format!("t{i:04}"), Tensor::of(F32, &[amax / 3.0, sign * amax, 0.0]))
    });
    let file = File::of(tensors);
    for (spec, highest, stored) in
        [("cfloat8_1_4_3", 15, 3), ("cfloat8_1_5_2", 31, 2), ("shp", 31, 10), (SPECS[1], 15, 3)]
    {
        for (name, bias) in chosen(&fewer(&file, spec), &with(spec, BiasPolicy::Amax { margin: 0 })) {
            let amax = file.tensors[&name].numbers()[1].abs();
            assert_eq!(bias, by_formula(amax, highest, stored), "{spec}, amax {amax:e}");
        }
    }
    assert_eq!(
        chosen(&file, &with("cfloat8_1_4_3", BiasPolicy::Amax { margin: 0 }))[0],
        ("t0000".to_owned(), 17)
    );
}

#[test]
fn percentiles_ignore_the_largest() {
    let mut random = Random(7);
    let mut values = random.normals(990, 1e-2);
    values.extend(random.normals(10, 50.0));
    let zeros_too: Vec<f64> = values.iter().copied().chain(std::iter::repeat_n(0.0, 1000)).collect();
    let file = File::of([("some", Tensor::of(F32, &values)), ("zeros", Tensor::of(BF16, &zeros_too))]);
    let spec: FormatSpec = "cfloat8_1_4_3".parse().unwrap();
    for percent in [100.0, 99.9, 99.0, 98.5, 75.0, 50.0, 25.0, 1.0] {
        for (name, bias) in chosen(&file, &with("cfloat8_1_4_3", BiasPolicy::Percentile(percent))) {
            let mut magnitudes: Vec<f64> = file.tensors[&name].numbers().into_iter().map(f64::abs).collect();
            magnitudes.sort_by(f64::total_cmp);
            // The smallest magnitude above zero that enough elements do not exceed.
            #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
            let enough = |i: usize| (i + 1) as f64 >= magnitudes.len() as f64 * percent / 100.0;
            let magnitude =
                magnitudes[(0..magnitudes.len()).find(|&i| magnitudes[i] > 0.0 && enough(i)).unwrap()];
            let holds = |bias: &i32| {
                let max = spec.with_bias(*bias).unwrap().max_finite().to_f64().unwrap();
                magnitude <= max
            };
            let expected = (0..=63).rev().find(holds).unwrap();
            assert_eq!(bias, expected, "percentile {percent} of {name}: {magnitude:e}");
        }
    }
    let amax = chosen(&file, &with("cfloat8_1_4_3", BiasPolicy::Amax { margin: 0 }));
    assert_eq!(chosen(&file, &with("cfloat8_1_4_3", BiasPolicy::Percentile(100.0))), amax);
}

#[test]
fn fixed_biases_are_taken_and_contradictions_refused() {
    let file = File::of([("w", Tensor::of(F32, &[0.5, -3.0])), ("z", Tensor::of(F32, &[0.0]))]);
    for bias in [0, 7, 63] {
        let expected = [("w".to_owned(), bias), ("z".to_owned(), bias)];
        assert_eq!(chosen(&file, &with("cfloat8_1_4_3", BiasPolicy::Fixed(bias))), expected);
        assert_eq!(chosen(&file, &options(&format!("cfloat8_1_4_3:bias={bias}"))), expected);
    }
    let fixture = Fixture::new(&file);
    for (spec, bias, part) in [
        ("cfloat8_1_4_3", 64, "0..=63"),
        ("cfloat8_1_4_3", -1, "0..=63"),
        ("cfloat8_1_4_3:bias=7", 8, "has the bias 7, 8 was asked for"),
        ("e4m3fn", 8, "has the bias 7, 8 was asked for"),
    ] {
        let error = fixture.quantize(&with(spec, BiasPolicy::Fixed(bias))).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains(part), "{spec} {bias}: {error}");
        assert!(!fixture.output.exists());
    }
}

#[test]
fn policies_have_names() {
    for (text, policy) in [
        ("auto", BiasPolicy::LeastError),
        ("mse", BiasPolicy::LeastError),
        ("amax", BiasPolicy::Amax { margin: 0 }),
        ("percentile:99.9", BiasPolicy::Percentile(99.9)),
        ("percentile:100", BiasPolicy::Percentile(100.0)),
        ("17", BiasPolicy::Fixed(17)),
        ("amax:margin=3", BiasPolicy::Amax { margin: 3 }),
        ("delayed", BiasPolicy::Delayed { history: 16, margin: 0 }),
        ("delayed:margin=1,history=1024", BiasPolicy::Delayed { history: 1024, margin: 1 }),
        ("flags", BiasPolicy::Flags { patience: 16 }),
        ("flags:patience=1", BiasPolicy::Flags { patience: 1 }),
        ("gradient", BiasPolicy::Gradient { patience: 4 }),
        ("gradient:patience=65536", BiasPolicy::Gradient { patience: 65_536 }),
    ] {
        assert_eq!(text.parse::<BiasPolicy>().unwrap(), policy);
        assert_eq!(policy.to_string().parse::<BiasPolicy>().unwrap(), policy);
    }
    let percentiles = ["percentile", "percentile:", "percentile:0", "percentile:101", "percentile:NaN"];
    let settings =
        ["amax:", "amax:64", "amax:margin=64", "amax:margin=-1", "amax:margin=1,margin=1", "auto:x=1"];
    let training = [
        "delayed:history=0",
        "delayed:history=65537",
        "flags:patience=0",
        "flags:history=1",
        "gradient:patience=0",
    ];
    for wrong in ["", "Auto", "7.5", "min"].iter().chain(&percentiles).chain(&settings).chain(&training) {
        let error = wrong.parse::<BiasPolicy>().unwrap_err();
        assert!(error.to_string().contains("write auto, amax, percentile:P"), "{error}");
    }
    for far in ["2147483648", "-2147483649", "1180591620717411303424"] {
        let error = far.parse::<BiasPolicy>().unwrap_err().to_string();
        assert_eq!(error, format!("bias = {far} is out of range, bias must be 0..=63"));
    }
}
