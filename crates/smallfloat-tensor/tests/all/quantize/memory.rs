//! Quantizing in memory: the codes, scales and reports of files, for every scheme; any shape and
//! block; values by arithmetic of their own; what is refused.

use crate::common::{File, Fixture, Random, Tensor, WIDE, wide_format};
use safetensors::Dtype;
use smallfloat::{Bf16, F16, Format, NegativeRule, RandomBits, Rounding, convert};
use smallfloat_tensor::{
    BiasPolicy, Container, GlobalScale, Granularity, Negative, Nonfinite, Numbers, Options, Packing,
    Quantized, Quantizer, Result, ScaleRule, ScaleSpec, Scheme, Share,
};

fn scheme(name: &str) -> Options {
    Options { overwrite: true, share: Share::none(), ..name.parse::<Scheme>().unwrap().options() }
}

fn format(name: &str) -> Options {
    crate::common::options(name)
}

/// Holds codes that are packed as they are made, and values of packed codes, against those of a
/// tensor of bytes.
fn packs_alike<'n>(quantizer: &Quantizer, name: &str, q: &Quantized<'_>, x: impl Fn() -> Numbers<'n>) {
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let wide_bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    for packing in [Packing::Bytes, Packing::NibblesLow, Packing::NibblesHigh, Packing::SixBit] {
        let Ok(expected) = q.packed(packing) else { continue };
        let length = quantizer.packed_length(q.shape(), packing).unwrap();
        let (mut codes, mut scales) = (vec![0xaa; length], vec![0xaa; q.scales().len()]);
        let made = quantizer.quantize_packed(name, q.shape(), x(), packing, &mut codes, &mut scales).unwrap();
        assert!((&codes[..], &scales[..]) == (&expected, q.scales()), "{name} {:?} {packing}", q.shape());
        assert_eq!((made.0.to_bits(), made.1.as_ref()), (q.global_scale().to_bits(), q.report()));
        let (mut short, mut long) = (vec![-1.0_f32; q.len()], vec![-1.0_f64; q.len()]);
        quantizer.decode_packed(q.shape(), packing, &codes, &scales, made.0, &mut short).unwrap();
        quantizer.decode_packed(q.shape(), packing, &codes, &scales, made.0, &mut long).unwrap();
        assert!(bits(short) == bits(q.to_vec()), "{name} {:?} {packing}", q.shape());
        assert!(wide_bits(long) == wide_bits(q.to_vec()), "{name} {:?} {packing}", q.shape());
    }
}

/// The elements as a slice of their own type.
fn in_memory(quantizer: &Quantizer, name: &str, tensor: &Tensor) -> Result<Quantized<'static>> {
    let shape: Vec<u64> = tensor.shape.iter().map(|&n| n as u64).collect();
    macro_rules! slice {
        ($type:ty, $of:expr) => {{
            let values: Vec<$type> = tensor
                .bytes
                .chunks_exact(size_of::<$type>())
                .map(|bytes| $of(bytes.try_into().unwrap()))
                .collect();
            let q = quantizer.quantize(name, &shape, &values)?;
            packs_alike(quantizer, name, &q, || Numbers::from(&values));
            Ok(q)
        }};
    }
    match tensor.dtype {
        Dtype::F64 => slice!(f64, f64::from_le_bytes),
        Dtype::F32 => slice!(f32, f32::from_le_bytes),
        Dtype::F16 => slice!(F16, |bytes| F16::from_bits(u16::from_le_bytes(bytes))),
        _ => slice!(Bf16, |bytes| Bf16::from_bits(u16::from_le_bytes(bytes))),
    }
}

/// Holds what lies in memory against the file's bytes.
fn same(q: &Quantized<'_>, file: &File, name: &str, packing: Packing, context: &str) {
    let module = name.strip_suffix("weight").unwrap_or(name);
    let part = |endings: &[&str]| {
        endings
            .iter()
            .find_map(|ending| match ending.strip_prefix('.') {
                Some(sibling) => file
                    .tensors
                    .get(&format!("{module}{sibling}"))
                    .or_else(|| file.tensors.get(&format!("{name}{ending}"))),
                None => file.tensors.get(&format!("{name}{ending}")),
            })
            .map(|part| &part.bytes[..])
    };
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    assert!(Some(&*q.packed(packing).unwrap()) == part(&["", "_packed"]), "{name} {context}");
    let scales =
        part(&["_scale", "_scale_inv", "_bias", ".scale", ".scale_weight", ".absmax"]).unwrap_or(&[]);
    if let (Some(_), [rows, columns]) = (part(&[".comfy_quant"]), &q.scale_shape()[..]) {
        // cuBLAS's tiles: 32 lines of four rows' four scales.
        let place = |i: u64| {
            let (row, column) = (i / columns, i % columns);
            let tile = row / 128 * columns.div_ceil(4) + column / 4;
            usize::try_from(tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4).unwrap()
        };
        let found: Vec<u8> = (0..rows * columns).map(|i| scales[place(i)]).collect();
        assert!(q.scales() == found, "{name} {context}");
    } else {
        assert!(q.scales() == scales, "{name} {context}");
    }
    let multiplies = part(&["_scale_2"]).map(|bytes| 1.0 / number(bytes));
    let global = multiplies.or_else(|| part(&["_global_scale"]).map(number)).unwrap_or(1.0);
    assert_eq!(q.global_scale().to_bits(), global.to_bits(), "{name} {context}");
}

/// Through a file and in memory: the same codes, scales and reports.
fn as_in_files(tensors: &[Tensor], options: &Options, context: &str) {
    let options = Options { verify: false, ..options.clone() };
    let named = || tensors.iter().enumerate().map(|(i, tensor)| (format!("{i}.weight"), tensor.clone()));
    let fixture = Fixture::new(&File::of(named()));
    let report = fixture.quantize(&options).unwrap();
    let file = File::read(&fixture.output);
    let silent = Quantizer::new(options.clone()).unwrap();
    let reporting = Quantizer::new(options.clone()).unwrap().with_report();
    for (name, tensor) in named() {
        let q = in_memory(&silent, &name, &tensor).unwrap();
        same(&q, &file, &name, options.packing, context);
        assert_eq!(q.report(), None);
        let q = in_memory(&reporting, &name, &tensor).unwrap();
        same(&q, &file, &name, options.packing, context);
        assert_eq!(q.report(), report.tensors.iter().find(|report| report.name == name), "{context}");
    }
}

/// Rows of very different sizes.
fn matrix(random: &mut Random, dtype: Dtype, rows: usize, columns: usize) -> Tensor {
    let row = |i: usize| 2.0_f64.powi(i32::try_from(i % 17).unwrap() - 9);
    let values = (0..rows).flat_map(|i| {
        let scale = row(i);
        random.normals(columns, scale)
    });
    let mut values: Vec<f64> = values.collect();
    values.iter_mut().step_by(13).for_each(|x| *x = 0.0);
    Tensor::of(dtype, &values).shaped(&[rows, columns])
}

#[test]
fn every_scheme_rounding_and_type_as_in_files() {
    let mut random = Random(1);
    let stochastic = Rounding::StochasticA(RandomBits::from_word32(32, 0).unwrap());
    let mut roundings = Rounding::DETERMINISTIC.iter().copied().map(Some).collect::<Vec<_>>();
    roundings.extend([None, Some(stochastic)]);
    // Experts have three dimensions, and what GGUF has is read by `conversions.rs`.
    let of_matrices = |scheme: &&Scheme| scheme.name != "gpt-oss" && !scheme.layout.is_gguf();
    for scheme in Scheme::all().iter().filter(of_matrices) {
        let tensors = WIDE.map(|dtype| matrix(&mut random, dtype, 32, 64));
        // To a list of values there is one way.
        let roundings = if scheme.codebook.is_some() { &[None][..] } else { &roundings };
        for &rounding in roundings {
            let options = Options { rounding, seed: Some(7), ..self::scheme(scheme.name) };
            as_in_files(&tensors, &options, &format!("{scheme} {rounding:?}"));
        }
    }
}

/// Tensors that are large enough for tables of scales, with whole and with broken blocks.
#[test]
fn float_scales_as_in_files() {
    let mut random = Random(7);
    let block = |rows, columns| Granularity::Block { rows, columns };
    let cases = [
        ("nvfp4", GlobalScale::PowerOfTwo, block(1, 16), 64),
        ("nvfp4-pack-quantized", GlobalScale::Amax, block(1, 16), 64),
        ("nvfp4", GlobalScale::Amax, block(3, 6), 74),
    ];
    for (name, global, granularity, columns) in cases {
        let tensors = WIDE.map(|dtype| matrix(&mut random, dtype, 40, columns));
        for rounding in [None, Some(Rounding::TowardZero), Some(Rounding::TowardPositive)] {
            for rule in [ScaleRule::Amax, ScaleRule::MaxAbsFinite] {
                let mut options = Options { granularity, rounding, ..scheme(name) };
                let spec = options.scale.as_mut().unwrap();
                (spec.global, spec.rule) = (Some(global), rule);
                as_in_files(&tensors, &options, &format!("{name} {granularity} {rounding:?} {rule}"));
            }
        }
    }
}

#[test]
fn biases_scales_and_rules_as_in_files() {
    let mut random = Random(2);
    let block = |rows, columns| Granularity::Block { rows, columns };
    let spec = |format: &str, rule| Some(ScaleSpec { format: format.parse().unwrap(), rule, global: None });
    let mut all = Vec::new();
    let negative = Negative::Apply(NegativeRule::Magnitude);
    for name in ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp"] {
        for granularity in [Granularity::Tensor, Granularity::Channel, block(1, 32), block(7, 9)] {
            for bias in [BiasPolicy::LeastError, BiasPolicy::Percentile(99.0), BiasPolicy::Fixed(9)] {
                all.push(Options { granularity, bias, negative, ..format(name) });
            }
        }
    }
    let of_nvfp4 = spec("e4m3fn", ScaleRule::FourOverSix);
    all.push(Options { scale: of_nvfp4, granularity: block(1, 16), ..format("e2m1fn") });
    for &rule in ScaleRule::ALL.iter().filter(|rule| **rule != ScaleRule::FourOverSix) {
        all.push(Options { scale: spec("e8m0fnu", rule), granularity: block(1, 8), ..format("e4m3fn") });
        all.push(Options { scale: spec("binary32", rule), ..format("e5m2") });
        all.push(Options { scale: spec("e4m3fn", rule), granularity: block(3, 5), ..format("binary16") });
    }
    let mut nvfp4 = scheme("nvfp4");
    nvfp4.scale.as_mut().unwrap().global = Some(GlobalScale::Amax);
    all.push(nvfp4);
    all.push(Options { histograms: true, ..format("cfloat8_1_4_3") });
    all.push(format("binary8p3se"));
    all.push(Options { negative, ..format("uhp") });
    all.push(Options { negative: Negative::Apply(NegativeRule::Zero), ..format("binary8p3uf") });
    let tensors = WIDE.map(|dtype| matrix(&mut random, dtype, 11, 45));
    let odd = tensors.clone().map(|tensor| {
        let mut values = tensor.numbers();
        values.iter_mut().step_by(29).for_each(|x| *x = f64::NAN);
        values.iter_mut().skip(3).step_by(31).for_each(|x| *x = f64::INFINITY);
        values.iter_mut().skip(5).step_by(37).for_each(|x| *x = f64::NEG_INFINITY);
        Tensor::of(tensor.dtype, &values).shaped(&[11, 45])
    });
    for options in all {
        as_in_files(&tensors, &options, &format!("{options:?}"));
        let options = Options { nonfinite: Nonfinite::Preset, ..options };
        as_in_files(&odd, &options, &format!("{options:?}"));
    }
}

#[test]
fn large_tensors_as_in_files_on_any_number_of_threads() {
    let mut random = Random(3);
    let tensors =
        [(60, 1100), (1, 70_000)].map(|(rows, columns)| matrix(&mut random, Dtype::F32, rows, columns));
    let deep = Options { granularity: "block:128x128".parse().unwrap(), ..scheme("mxfp8-e4m3") };
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for options in [scheme("mxfp8-e4m3"), scheme("nvfp4"), scheme("fp8"), deep.clone(), format("shp")]
            {
                as_in_files(&tensors, &options, &format!("{options:?}"));
                check_values(&in_memory(&Quantizer::new(options).unwrap(), "", &tensors[0]).unwrap());
            }
        });
    }
}

/// The exact values of codes times scales, and that each type gets them rounded once.
fn check_values(q: &Quantized<'_>) -> Vec<f64> {
    let (rows, columns, height, width) = match (q.granularity(), q.shape()) {
        (granularity, [] | [_]) => {
            let columns = usize::try_from(q.shape().first().copied().unwrap_or(1)).unwrap();
            let width = match granularity {
                Granularity::Block { columns, .. } => usize::try_from(columns).unwrap(),
                _ => columns.max(1),
            };
            (1, columns, 1, width)
        }
        (granularity, [rest @ .., last]) => {
            let (rest, last) = (rest.iter().product::<u64>(), *last);
            let first = q.shape()[0];
            let (rows, columns, height, width) = match granularity {
                Granularity::Tensor => (rest, last, rest, last),
                Granularity::Channel => {
                    let columns = q.shape()[1..].iter().product();
                    (first, columns, 1, columns)
                }
                Granularity::Block { rows, columns } => (rest, last, rows, columns),
            };
            let size = |n: u64| usize::try_from(n).unwrap();
            (size(rows), size(columns), size(height.max(1)), size(width.max(1)))
        }
    };
    let bytes = |all: &[u8], size: usize, i: usize| {
        all[i * size..][..size].iter().rev().fold(0, |code, &byte| code << 8 | u64::from(byte))
    };
    let across = columns.div_ceil(width).max(1);
    let exact: Vec<f64> = (0..rows * columns)
        .map(|i| {
            let group = i / columns / height * across + i % columns / width;
            let size = q.format().map_or(1, |format| usize::from(format.width() > 8) + 1);
            let code = bytes(q.codes(), size, i);
            let element = match (q.format(), q.codebook()) {
                (Some(format), None) => format.decode_f64(code).value,
                (None, Some(codebook)) => f64::from(codebook.value(u32::try_from(code).unwrap())),
                other => panic!("{other:?}"),
            };
            let scale = match (q.scale(), q.biases()) {
                (Some(spec), _) => {
                    let size = usize::try_from(spec.format.width().div_ceil(8)).unwrap();
                    spec.format.decode_f64(bytes(q.scales(), size, group)).value
                }
                (None, Some(biases)) => 2.0_f64.powi(-i32::from(biases[group])),
                (None, None) => 1.0,
            };
            // Of few bits: exact.
            element * scale / f64::from(q.global_scale())
        })
        .collect();
    let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&q.to_vec::<f64>()), bits(&exact));
    let rounded = |format: Format, x: &f64| {
        let nearest = format.default_projection().with_rounding(Rounding::NearestEven);
        convert(x.to_bits(), &wide_format(Dtype::F64), &format, &nearest).value
    };
    let expected = |dtype| exact.iter().map(|x| rounded(wide_format(dtype), x)).collect::<Vec<_>>();
    let f32s: Vec<u64> = q.to_vec::<f32>().iter().map(|x| x.to_bits().into()).collect();
    let f16s: Vec<u64> = q.to_vec::<F16>().iter().map(|x| x.to_bits().into()).collect();
    let bf16s: Vec<u64> = q.to_vec::<Bf16>().iter().map(|x| x.to_bits().into()).collect();
    assert!(f32s == expected(Dtype::F32) && f16s == expected(Dtype::F16) && bf16s == expected(Dtype::BF16));
    exact
}

/// OCP Microscaling Formats 1.0, section 6.3, with E2M1's values written out: for blocks of any
/// length.
#[test]
fn mxfp4_by_hand_in_blocks_of_any_length() {
    const VALUES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let nearest = |x: f64| {
        let mut best = 0;
        for (code, value) in VALUES.iter().enumerate() {
            let (new, old) = ((x.abs() - value).abs(), (x.abs() - VALUES[best]).abs());
            if new < old || (new.to_bits() == old.to_bits() && code % 2 == 0) {
                best = code;
            }
        }
        u8::try_from(best).unwrap() | if x.is_sign_negative() { 8 } else { 0 }
    };
    let mut random = Random(4);
    for (shape, width) in [
        (&[3, 23][..], 7),
        (&[3, 23], 1),
        (&[2, 3, 5], 4),
        (&[2, 3, 5], 100),
        (&[19], 5),
        (&[], 7),
        (&[1], 3),
        (&[0], 3),
        (&[4, 0], 7),
        (&[0, 4], 7),
    ] {
        let count: usize = shape.iter().map(|&n: &u64| usize::try_from(n).unwrap()).product();
        let columns = usize::try_from(shape.last().copied().unwrap_or(1)).unwrap();
        let x: Vec<f64> = random.normals(count, 3.0);
        let granularity = Granularity::Block { rows: 1, columns: width };
        let quantizer = Quantizer::new(Options { granularity, ..scheme("mxfp4") }).unwrap();
        let q = quantizer.quantize("x", shape, &x).unwrap();
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        for row in x.chunks(columns.max(1)) {
            for block in row.chunks(usize::try_from(width).unwrap()) {
                let amax = block.iter().fold(0.0_f64, |amax, x| amax.max(x.abs()));
                let exponent = amax.log2().floor() - 2.0;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a byte")]
                scales.push((exponent + 127.0) as u8);
                codes.extend(block.iter().map(|x| nearest(x / exponent.exp2())));
            }
        }
        assert_eq!((q.codes(), q.scales()), (&codes[..], &scales[..]), "{shape:?} {width}");
        assert_eq!(
            (q.len(), q.shape(), q.scale_shape().iter().product()),
            (count, shape, scales.len() as u64)
        );
        check_values(&q);
        for packing in [Packing::Bytes, Packing::NibblesLow, Packing::NibblesHigh] {
            let packed = q.packed(packing).unwrap();
            assert_eq!(quantizer.unpacked(shape, packing, &packed).unwrap(), q.codes(), "{packing}");
        }
        // The same memory again, and from its parts.
        let lengths = quantizer.lengths(shape).unwrap();
        let (mut codes, mut scales) = (vec![0; lengths.0], vec![0; lengths.1]);
        assert_eq!(quantizer.quantize_into("x", shape, &x, &mut codes, &mut scales).unwrap(), q);
        assert_eq!(quantizer.restore(shape, codes, scales, 1.0).unwrap(), q);
    }
}

/// Large tensors, whose tiles are rows, parts of rows or parts of groups, with rows that fill whole
/// bytes and others, and numbers that are not finite among others: packed as bytes are.
#[test]
fn large_tensors_are_packed_as_they_are_made() {
    let mut random = Random(11);
    #[expect(clippy::cast_possible_truncation, reason = "any numbers of f32")]
    let x: Vec<f32> = random.normals(1 << 20, 1.0).into_iter().map(|x| x as f32).collect();
    let whole = |name: &str| Options { granularity: Granularity::Tensor, ..scheme(name) };
    for (options, shapes) in [
        (scheme("mxfp4"), [[3_u64, 70_000], [7, 4_099]]),
        (scheme("nvfp4"), [[2, 100_000], [33, 1_001]]),
        (scheme("nvfp4"), [[1, 600_000], [600, 1_600]]),
        (scheme("mxfp6-e2m3"), [[5, 40_004], [50, 333]]),
        (whole("mxfp4"), [[2, 400_000], [1, 900_001]]),
        (whole("mxfp6-e3m2"), [[4, 140_000], [3, 270_001]]),
    ] {
        let quantizer = Quantizer::new(options.clone()).unwrap();
        let lenient = Quantizer::new(Options { nonfinite: Nonfinite::Preset, ..options }).unwrap();
        for shape in shapes {
            let x = &x[..usize::try_from(shape[0] * shape[1]).unwrap()];
            let q = quantizer.quantize("x", &shape, x).unwrap();
            packs_alike(&quantizer, "x", &q, || Numbers::from(x));
            let mut odd = x.to_vec();
            (odd[70_000 % x.len()], odd[0]) = (f32::NEG_INFINITY, -0.0);
            let q = lenient.quantize("x", &shape, &odd).unwrap();
            packs_alike(&lenient, "x", &q, || Numbers::from(&odd));
            assert!(quantizer.quantize("x", &shape, &odd).is_err());
        }
    }
}

/// Any shape has as many scales as its granularity says, and its values come back.
#[test]
fn every_shape_comes_back() {
    let mut random = Random(5);
    for shape in [
        &[][..],
        &[0],
        &[1],
        &[7],
        &[3, 0],
        &[0, 3],
        &[1, 1],
        &[3, 5],
        &[2, 3, 7],
        &[2, 0, 3],
        &[3, 16],
        &[70, 96],
    ] {
        let count: usize = shape.iter().map(|&n: &u64| usize::try_from(n).unwrap()).product();
        let x: Vec<f64> = random.normals(count, 0.1);
        for granularity in ["tensor", "channel", "block:2", "block:3x2", "block:16", "block:32", "block:48"] {
            let granularity: Granularity = granularity.parse().unwrap();
            for options in [
                scheme("mxfp8-e5m2"),
                scheme("mxfp4"),
                scheme("nvfp4"),
                format("cfloat8_1_5_2"),
                format("shp"),
            ] {
                let quantizer = Quantizer::new(Options { granularity, ..options }).unwrap();
                let q = quantizer.quantize("x", shape, &x).unwrap();
                let groups: u64 = granularity.scale_shape(shape).iter().product();
                let bytes = q.scale().map_or(1, |scale| scale.format.width().div_ceil(8));
                assert_eq!(q.scales().len() as u64, groups * u64::from(bytes));
                for (x, y) in x.iter().zip(check_values(&q)) {
                    assert!((x - y).abs() < 0.3 * x.abs() + 0.1, "{shape:?} {granularity} {x} {y}");
                }
                // Numbers of f32 take shorter ways to the same.
                #[expect(clippy::cast_possible_truncation, reason = "to numbers of f32")]
                let short: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                let wide: Vec<f64> = short.iter().map(|&x| x.into()).collect();
                let expected = quantizer.quantize("x", shape, &wide).unwrap();
                let q = quantizer.quantize("x", shape, &short).unwrap();
                assert_eq!(q, expected, "{shape:?} {granularity}");
                let reporting = quantizer.with_report().quantize("x", shape, &short).unwrap();
                assert_eq!(
                    (reporting.codes(), reporting.scales()),
                    (q.codes(), q.scales()),
                    "{shape:?} {granularity}"
                );
            }
        }
    }
}

/// Quantized to quantized is one rounding of the exact product, as from file to file.
#[test]
fn quantized_tensors_are_quantized_again_in_one_rounding() {
    let mut random = Random(6);
    let tensor = matrix(&mut random, Dtype::F32, 9, 64);
    let mut nvfp4 = scheme("nvfp4");
    nvfp4.scale.as_mut().unwrap().global = Some(GlobalScale::Amax);
    let per_row = Options { granularity: Granularity::Channel, ..format("cfloat8_1_5_2") };
    let all =
        [scheme("mxfp8-e4m3"), nvfp4, per_row, format("cfloat8_1_4_3"), format("binary8p3se"), format("shp")];
    for (i, first) in all.iter().enumerate() {
        let fixture = Fixture::new(&File::of([("a", tensor.clone())]));
        fixture.quantize(first).unwrap();
        let q = in_memory(&Quantizer::new(first.clone()).unwrap(), "a", &tensor).unwrap();
        for (j, second) in all.iter().enumerate() {
            let again = fixture.folder.path().join("again.safetensors");
            smallfloat_tensor::quantize(&fixture.output, &again, second, &|_| true, &mut |_| ()).unwrap();
            let quantizer = Quantizer::new(second.clone()).unwrap();
            let r = quantizer.quantize("a", &[9, 64], &q).unwrap();
            same(&r, &File::read(&again), "a", second.packing, &format!("{i} {j}"));
        }
    }
}

#[test]
fn what_is_refused() {
    let error = |result: Result<_>| result.map(|_: Quantized<'_>| ()).unwrap_err().to_string();
    let mxfp4 = Quantizer::new(scheme("mxfp4")).unwrap();
    let text = error(mxfp4.quantize("x", &[2, 3], &[1.0_f32; 5]));
    assert_eq!(text, "a tensor of shape [2, 3] has 6 elements, given are 5");
    for shape in [[1 << 40, 1 << 40], [1 << 62, 0], [u64::MAX, 1]] {
        let x = &[1.0_f32; 0];
        let packed = mxfp4.quantize_packed("x", &shape, x, Packing::NibblesLow, &mut [], &mut []);
        for text in [
            error(mxfp4.quantize("x", &shape, x)),
            error(mxfp4.quantize_into("x", &shape, x, &mut [], &mut [])),
            packed.unwrap_err().to_string(),
        ] {
            assert!(text.contains("more elements than can be counted"), "{text}");
        }
    }
    let uhp = Quantizer::new(format("uhp")).unwrap();
    let text = error(uhp.quantize("x", &[1], &[-1e-30]));
    assert!(text.contains("element 0 is -1e-30: uhp is unsigned"), "{text}");
    let (mut codes, mut scales) = ([0; 3], [0]);
    let text = error(mxfp4.quantize_into("x", &[2], &[1.0_f32; 2], &mut codes, &mut scales));
    assert_eq!(text, "a tensor of shape [2] has 2 bytes of codes, given are 3");
    let text = error(mxfp4.restore(&[2], vec![0, 0], vec![0, 0], 1.0));
    assert_eq!(text, "a tensor of shape [2] has 1 bytes of scales, given are 2");
    assert!(error(mxfp4.restore(&[2], vec![0, 0], vec![0], f32::NAN)).contains("no positive number"));
    let text = mxfp4.quantize_packed("x", &[2], &[1.0_f32; 2], Packing::NibblesLow, &mut [0; 3], &mut [0]);
    let text = text.unwrap_err().to_string();
    assert_eq!(text, "a tensor of shape [2] has 1 bytes of packed codes, given are 3");
    let values = &mut [0.0_f32; 2];
    let text = mxfp4.decode_packed(&[2], Packing::NibblesLow, &[0], &[0; 2], 1.0, values).unwrap_err();
    assert_eq!(text.to_string(), "a tensor of shape [2] has 1 bytes of scales, given are 2");
    let q = mxfp4.quantize("x", &[2], &[1.0_f32, 2.0]).unwrap();
    let text = q.decode_into(&mut [0.0_f32; 3]).unwrap_err().to_string();
    assert_eq!(text, "a tensor of shape [2] has 2 elements, given are 3");
    assert!(q.packed(Packing::SixBit).unwrap_err().to_string().contains("can't be packed as six-bit"));
    let cfloat8 = Quantizer::new(format("cfloat8_1_4_3")).unwrap();
    assert!(error(cfloat8.restore(&[2], vec![0, 0], vec![64], 1.0)).contains("legal are 0 to 63"));
    let text = error(mxfp4.quantize("x", &[2], &[1.0, f64::NAN]));
    assert!(text.starts_with("tensor `x`: element 1 is NaN: ") && !text.contains("--"), "{text}");
    let text = error(cfloat8.quantize("x", &[1, 3], &[1.0, 2.0, f64::INFINITY]));
    assert!(text.starts_with("tensor `x`: element 2 is inf: ") && !text.contains("--"), "{text}");
    for options in [
        Options { container: Container::Bf16, ..format("cfloat8_1_4_3") },
        Options { granularity: Granularity::Channel, ..format("e4m3fn") },
        Options { bias: BiasPolicy::Delayed { history: 4, margin: 0 }, ..format("cfloat8_1_4_3") },
        Options {
            rounding: Some(Rounding::StochasticA(RandomBits::from_word32(8, 0).unwrap())),
            ..format("e4m3fn")
        },
        format("binary32"),
    ] {
        assert!(Quantizer::new(options).unwrap_err().is_option());
    }
    assert_eq!(Numbers::from(&[1.0_f32, 2.0]).len(), 2);
}

/// INT4's nearest integers, ties to even, and NF4's nearest values by its published table; what is
/// quantized already is rounded from its products, and each type gets products that are rounded
/// once.
#[test]
fn lists_of_values_by_hand() {
    let block = |columns| Granularity::Block { rows: 1, columns };
    let int4 = Quantizer::new(Options { granularity: block(5), ..scheme("int4") }).unwrap();
    let x = [7.0_f32, -3.5, 2.5, 0.4, -7.0, 0.0, -14.0, 13.0, 3.0, 1.0];
    let q = int4.quantize("w", &[2, 5], &x).unwrap();
    assert_eq!((q.format(), q.codebook().unwrap().name()), (None, "int4"));
    assert_eq!(q.codes(), [7, 12, 2, 0, 9, 0, 9, 6, 2, 0]);
    assert_eq!(q.scales(), [1.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat());
    assert_eq!(q.to_vec::<f32>(), [7.0, -4.0, 2.0, 0.0, -7.0, 0.0, -14.0, 12.0, 4.0, 0.0]);

    let nf4 = Quantizer::new(Options { granularity: block(4), ..scheme("nf4") }).unwrap();
    let q = nf4.quantize("w", &[4], &[2.0_f32, -2.0, 0.0, 1.0]).unwrap();
    assert_eq!((q.codes(), q.scales()), (&[15, 0, 7, 12][..], &2.0_f32.to_le_bytes()[..]));
    assert_eq!(check_values(&q), [2.0, -2.0, 0.0, 2.0 * f64::from(0.440_709_83_f32)]);
    assert_eq!(nf4.restore(&[4], q.codes(), q.scales(), 1.0).unwrap(), q);

    let again = int4.quantize("w", &[4], &q).unwrap();
    assert_eq!(again.codes(), [7, 9, 0, 3]);
    let mut random = Random(11);
    let x = random.normals(12 * 40, 0.02);
    for name in ["int4", "int8", "mxint8", "nf4", "sf4", "bnb-fp4"] {
        let q = Quantizer::new(Options { granularity: block(7), ..scheme(name) }).unwrap();
        let q = q.quantize("w", &[12, 40], &x).unwrap();
        let largest = x.iter().zip(check_values(&q)).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(largest > 0.0 && largest < 0.02, "{name}: {largest}");
    }
    let refused = Quantizer::new(Options { scale: None, ..scheme("nf4") }).unwrap_err().to_string();
    assert!(refused.contains("need scales"), "{refused}");
}
