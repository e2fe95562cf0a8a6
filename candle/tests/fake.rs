//! `fake_quantize` against the core, element by element, and its gradients against their
//! definitions.

use candle_core::{DType, Device, IndexOp, Tensor, Var};
use half::{bf16, f16};
use smallfloat::random::Philox;
use smallfloat::{Format, Projection, RandomBits, Rounding, Saturation};
use smallfloat_candle::{BiasPolicy, ClassConfig, Gradient, Quantize, Round, fake_quantize};
use smallfloat_tensor::stream_of_name;
use smallfloat_train::RandomSequence;

fn class(format: &str) -> ClassConfig {
    ClassConfig { format: format.parse().unwrap(), ..ClassConfig::default() }
}

/// Normal numbers of all magnitudes from 2^−24 to 2^23, and the numbers that others get wrong.
fn values(count: u64) -> Vec<f32> {
    let sequence = RandomSequence::new(3, "values");
    let special = [0.0, -0.0, 1e-45, f32::MIN_POSITIVE, f32::MAX, -1e9, 480.0, 496.0, 0.001_953_125];
    let exponent = |i| i32::try_from(sequence.below(i, 48)).unwrap() - 24;
    let normal = (0..count).map(|i| sequence.normal(i) * 2.0_f32.powi(exponent(i)));
    special.into_iter().chain(normal).collect()
}

fn tensor(values: &[f32]) -> Tensor {
    Tensor::new(values, &Device::Cpu).unwrap()
}

fn bits(x: &Tensor) -> Vec<u32> {
    let x = x.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    x.into_iter().map(f32::to_bits).collect()
}

/// A value by the core: converted, then decoded.
fn by_core(x: f32, format: &Format, projection: &Projection) -> u32 {
    let code = format.encode_f32(x, projection).value;
    format.decode(code).to_f32().unwrap().to_bits()
}

#[test]
fn the_bits_are_the_cores() {
    let x = values(500);
    for name in ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=21", "shp:bias=31", "e4m3fn", "e5m2", "e2m1fn"] {
        let format: Format = name.parse().unwrap();
        let nearest = format.default_projection().with_saturation(Saturation::SatFinite);
        let expected: Vec<u32> = x.iter().map(|x| by_core(*x, &format, &nearest)).collect();
        let projection = Quantize::new(name, &class(name)).unwrap();
        assert_eq!(bits(&fake_quantize(&tensor(&x), &projection).unwrap()), expected, "{name}");

        let down = nearest.with_rounding(Rounding::TowardNegative);
        let expected: Vec<u32> = x.iter().map(|x| by_core(*x, &format, &down)).collect();
        let projection = projection.with_projection(down).unwrap();
        assert_eq!(bits(&fake_quantize(&tensor(&x), &projection).unwrap()), expected, "{name}, down");
    }
}

#[test]
fn random_words_are_those_of_the_name() {
    let (x, name) = (values(100), "layer.x");
    let format = Format::cfloat8_1_4_3(9).unwrap();
    let class = ClassConfig { rounding: Round::StochasticA, ..class("cfloat8_1_4_3:bias=9") };
    let projection = Quantize::new(name, &class).unwrap().with_seed(5);
    let philox = Philox { seed: 5, stream: stream_of_name(name) };
    for tensors in 0..2 {
        let expected: Vec<u32> = (tensors * x.len() as u64..)
            .zip(&x)
            .map(|(i, x)| {
                let rounding = Rounding::StochasticA(RandomBits::new(32, u64::from(philox.word(i))).unwrap());
                by_core(*x, &format, &format.default_projection().with_rounding(rounding))
            })
            .collect();
        assert_eq!(bits(&fake_quantize(&tensor(&x), &projection).unwrap()), expected, "tensor {tensors}");
    }
    // A saved state goes on with the next word.
    let again = Quantize::new(name, &class).unwrap().with_seed(5);
    again.restore(projection.state()).unwrap();
    let [a, b] =
        [&projection, &again].map(|projection| bits(&fake_quantize(&tensor(&x), projection).unwrap()));
    assert_eq!(a, b);
    let other = Quantize::new("layer.y", &class).unwrap();
    assert!(other.restore(projection.state()).unwrap_err().to_string().contains("layer.x"));
}

#[test]
fn a_policy_that_hears_of_no_loss_is_refused() {
    let class = ClassConfig { bias: Some(BiasPolicy::Gradient { patience: 4 }), ..class("cfloat8_1_4_3") };
    assert!(Quantize::new("x", &class).unwrap_err().to_string().contains("x: bias gradient"));
}

#[test]
fn schemes_are_refused() {
    let class = ClassConfig { scheme: Some("mxfp4".parse().unwrap()), ..ClassConfig::default() };
    assert!(Quantize::new("x", &class).unwrap_err().to_string().contains("x: scheme mxfp4"));
}

#[test]
fn any_layout() {
    let x = tensor(&values(591)).reshape((20, 30)).unwrap();
    let projection = Quantize::new("x", &class("cfloat8_1_5_2:bias=15")).unwrap();
    let whole = fake_quantize(&x, &projection).unwrap();
    let views: [fn(&Tensor) -> Tensor; 4] = [
        |x| x.t().unwrap(),
        |x| x.narrow(1, 7, 11).unwrap(),
        |x| x.i((3.., 4)).unwrap(),
        |x| x.i(5).unwrap().broadcast_as((6, 30)).unwrap(),
    ];
    for view in views {
        let (x, expected) = (view(&x), view(&whole));
        let found = fake_quantize(&x, &projection).unwrap();
        assert_eq!((found.dims(), bits(&found)), (x.dims(), bits(&expected)));
    }
    assert_eq!(fake_quantize(&tensor(&[]), &projection).unwrap().dims(), [0]);
    let scalar = tensor(&[3.3]).i(0).unwrap();
    assert_eq!(bits(&fake_quantize(&scalar, &projection).unwrap()), [3.5_f32.to_bits()]);
}

#[test]
fn gradients_are_as_defined() {
    // 480 is the largest value at bias 7. 490 rounds to it, and is beyond it all the same.
    let x = [0.3, -479.0, 480.0, -480.0, 481.0, 490.0, -1e9, f32::NAN];
    let dy = tensor(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let gradient_of = |gradient| {
        let projection = Quantize::new("x", &class("cfloat8_1_4_3:bias=7")).unwrap().with_gradient(gradient);
        let x = Var::from_tensor(&tensor(&x)).unwrap();
        let y = fake_quantize(&x, &projection).unwrap();
        let gradients = (y * &dy).unwrap().sum_all().unwrap().backward().unwrap();
        gradients.get(&x).unwrap().to_vec1::<f32>().unwrap()
    };
    assert_eq!(gradient_of(Gradient::Through), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(gradient_of(Gradient::ZeroWhereClamped), [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 8.0]);
}

#[test]
fn clamping_moves_with_a_scale() {
    // E4M3FN ends at 448; a scale of 2^3 brings that to 56.
    let class = ClassConfig { bias: Some(BiasPolicy::Fixed(3)), ..class("e4m3fn") };
    let projection = Quantize::new("x", &class).unwrap().with_gradient(Gradient::ZeroWhereClamped);
    let x = Var::from_tensor(&tensor(&[56.0, 57.0, -56.0, -1e3])).unwrap();
    let y = fake_quantize(&x, &projection).unwrap();
    assert_eq!(y.to_vec1::<f32>().unwrap(), [56.0, 56.0, -56.0, -56.0]);
    let gradients = y.sum_all().unwrap().backward().unwrap();
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f32>().unwrap(), [1.0, 0.0, 1.0, 0.0]);
}

/// `docs/tesla.md`: 1_4_3 ends at 1.875 · 2^(15 − bias). The largest bias that holds amax, by f64
/// arithmetic.
fn holding(amax: f64) -> i32 {
    (0..=63).rev().find(|bias| 1.875 * 2.0_f64.powi(15 - bias) >= amax).unwrap()
}

#[test]
fn biases_follow_the_tensors() {
    let amaxes = [1.0_f32, 5.0, 0.3, 0.3, 0.3, 1.875, 1.876];
    let with = |policy| {
        let class = ClassConfig { bias: Some(policy), ..class("cfloat8_1_4_3") };
        Quantize::new("x", &class).unwrap()
    };
    let amax = with(BiasPolicy::Amax { margin: 0 });
    let delayed = with(BiasPolicy::Delayed { history: 2, margin: 0 });
    let mut seen: Vec<f32> = Vec::new();
    for largest in amaxes {
        let x = tensor(&[0.1 * largest, -largest, 0.0]);
        fake_quantize(&x, &amax).unwrap();
        assert_eq!(amax.bias(), Some(holding(largest.into())), "{largest}");
        fake_quantize(&x, &delayed).unwrap();
        seen.push(largest);
        let recent = seen.iter().rev().take(2).copied().fold(0.0, f32::max);
        assert_eq!(delayed.bias(), Some(holding(recent.into())), "{largest}");
    }
    // 5 came at the bias that was chosen for 1, the first 1.875 at that for 0.3; 1.876 rounds to
    // 1.875.
    assert_eq!((delayed.tally().overflowed, amax.tally().overflowed), (2, 0));
    assert_eq!(amax.tally().elements, 3 * amaxes.len() as u64);

    // An evaluation leaves no trace.
    let before = (amax.state(), amax.bias(), amax.tally());
    amax.set_learning(false);
    let y = fake_quantize(&tensor(&[1e4]), &amax).unwrap();
    assert_eq!(y.to_vec1::<f32>().unwrap(), [10240.0]);
    assert_eq!((amax.state(), amax.bias(), amax.tally()), before);
    // Clones share it all.
    amax.clone().set_learning(true);
    fake_quantize(&tensor(&[1e4]), &amax).unwrap();
    assert_eq!(amax.bias(), Some(holding(1e4)));
}

#[test]
fn types_of_16_bits() {
    let x: Vec<f32> = (-40..40_i16).map(|i| f32::from(i) * 0.37).collect();
    let format = Format::cfloat8_1_5_2(17).unwrap();
    let projection = format.default_projection();
    for dtype in [DType::F16, DType::BF16] {
        let narrow = tensor(&x).to_dtype(dtype).unwrap();
        let quantize = Quantize::new("x", &class("cfloat8_1_5_2:bias=17")).unwrap();
        let found = fake_quantize(&narrow, &quantize).unwrap();
        assert_eq!(found.dtype(), dtype);
        let expected: Vec<u32> =
            x.iter()
                .map(|x| {
                    if dtype == DType::F16 { f16::from_f32(*x).to_f32() } else { bf16::from_f32(*x).to_f32() }
                })
                .map(|x| by_core(x, &format, &projection))
                .collect();
        assert_eq!(bits(&found.to_dtype(DType::F32).unwrap()), expected);
    }
    // binary16 ends below 2^16: it has not 1.75 · 2^16, the largest value at bias 15, and bfloat16
    // not SHP's eleven bits.
    for (dtype, name) in [(DType::F16, "cfloat8_1_5_2:bias=15"), (DType::BF16, "shp:bias=31")] {
        let narrow = tensor(&x).to_dtype(dtype).unwrap();
        let error = fake_quantize(&narrow, &Quantize::new("h", &class(name)).unwrap()).unwrap_err();
        assert!(error.to_string().contains(name) && error.to_string().contains(dtype.as_str()), "{error}");
    }
}

#[test]
fn what_can_not_be_is_said() {
    let projection = Quantize::new("h", &class("cfloat8_1_4_3:bias=7")).unwrap();
    for dtype in [DType::F64, DType::U8, DType::I64] {
        let error = fake_quantize(&Tensor::zeros(3, dtype, &Device::Cpu).unwrap(), &projection).unwrap_err();
        let text = error.to_string();
        assert!(["h: ", dtype.as_str(), "f32, f16, bf16"].iter().all(|part| text.contains(part)), "{text}");
    }
    assert_eq!(projection.tally().elements, 0);
    let error = Quantize::new("h", &class("cfloat8_1_4_3")).unwrap_err();
    assert!(error.to_string().contains("bias"), "{error}");
    let class = ClassConfig { bias: Some(BiasPolicy::Fixed(64)), ..class("cfloat8_1_4_3") };
    assert!(Quantize::new("h", &class).unwrap_err().to_string().contains("63"));
}
