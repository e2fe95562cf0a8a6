//! Any layout into any other, in one rounding; certificates; what `lossless` refuses.

use std::fs;
use std::path::Path;

use crate::common::{File, Random, Tensor};
use safetensors::Dtype as T;
use smallfloat::formats::{BFLOAT16, BINARY16, E4M3FN};
use smallfloat::{Format, Rounding, Saturation};
use smallfloat_tensor::{
    Certificate, Dtype, Options, QuantizedAs, ScaleRule, Scheme, Tensors, View, certify, check_certificate,
    dequantize, quantize, verify, verify_against,
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
        ("deepseek-v4-experts", &[("scale", T::F8_E8M0, &[64, 8]), ("weight", T::I8, &[64, 128])]),
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
        ("comfy-scaled-fp8", &[("scale_weight", T::F32, &[1]), ("weight", T::F8_E4M3, &[64, 256])]),
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
        let sign = file.tensors.get("scaled_fp8").map(|sign| (sign.dtype, &*sign.shape));
        assert_eq!(sign, (name == "comfy-scaled-fp8").then_some((T::F8_E4M3, &[0][..])), "{name}");
        verify(&output).unwrap();
        // Each code is the one that the source's number gives at its scale, rounded once.
        let agreement = verify_against(&output, &input, &QuantizedAs::default(), &mut |_| ()).unwrap();
        assert!(agreement.disagreements.is_empty(), "{name}: {:?}", agreement.disagreements);
    }
}

/// Products of codes and scales are held as f32 where all of them are numbers of f32. Those of
/// another file with the same numbers in F64 are not: both become the same codes and scales.
#[test]
fn products_of_f32_become_what_those_of_f64_do() {
    let folder = tempfile::tempdir().unwrap();
    let (input, one, two) = (folder.path().join("in"), folder.path().join("one"), folder.path().join("two"));
    let wide = folder.path().join("wide");
    let random = &mut Random(5);
    // Blocks from subnormal numbers up to the largest, some of zeros.
    let blocks = (0..ROWS * COLUMNS / 32).map(|i| match i % 7 {
        0 => 0.0,
        1 => 2.0_f64.powf(random.uniform() * 260.0 - 140.0),
        _ => 2.0_f64.powf(random.uniform() * 16.0 - 8.0),
    });
    let blocks: Vec<f64> = blocks.collect();
    let values = blocks.iter().flat_map(|&scale| random.normals(32, scale));
    let values: Vec<f64> = values.map(|x| x.clamp(-1.5e38, 1.5e38)).collect();
    File::of([(WEIGHT, Tensor::of(T::F32, &values).shaped(&[ROWS, COLUMNS]))]).write(&input);
    for from in [
        "mxfp8-e4m3",
        "mxfp8-e5m2",
        "mxfp6-e2m3",
        "mxfp4",
        "mxint8",
        "nvfp4",
        "deepseek-e8m0",
        "mxfp4-pack-quantized",
        "comfy-mxfp8",
        "gguf-q8_0",
        "gguf-mxfp4",
        "gguf-nvfp4",
        "deepseek",
    ] {
        convert(&input, &one, &scheme(from)).unwrap();
        let products = View::open(&one).unwrap().values(WEIGHT).unwrap();
        File::of([(WEIGHT, Tensor::of(T::F64, &products).shaped(&[ROWS, COLUMNS]))]).write(&wide);
        for to in [
            "mxfp8-e4m3",
            "mxfp4",
            "nvfp4",
            "nf4",
            "int8",
            "fp8",
            "float-quantized",
            "modelopt-nvfp4",
            "gpt-oss",
        ] {
            let converted = |source: &Path| {
                convert(source, &two, &scheme(to)).unwrap_or_else(|e| panic!("{from} → {to}: {e}"));
                let file = File::read(&two);
                file.tensors.iter().map(|(name, it)| (name.clone(), it.bytes.clone())).collect::<Vec<_>>()
            };
            assert!(converted(&one) == converted(&wide), "{from} → {to}");
        }
    }
}

/// The matrix of layouts: from each into each, every value is the nearest one of the value before,
/// and a certificate says how many changed.
#[test]
fn every_layout_into_every_other() {
    let folder = tempfile::tempdir().unwrap();
    let (input, one, two) = (folder.path().join("in"), folder.path().join("one"), folder.path().join("two"));
    source(2).write(&input);
    // Experts are what gpt-oss knows, and GGUF's values in wide floats are no codes.
    let all = || Scheme::all().iter().filter(|scheme| scheme.name != "gpt-oss");
    for from in all() {
        convert(&input, &one, &scheme(from.name)).unwrap();
        for to in all() {
            convert(&one, &two, &scheme(to.name)).unwrap_or_else(|e| panic!("{from} → {to}: {e}"));
            if let Some(wide) = wide(to) {
                let values = |path: &Path| View::open(path).unwrap().values(WEIGHT).unwrap();
                let projection = wide.default_projection().with_saturation(Saturation::SatFinite);
                for (x, y) in values(&one).into_iter().zip(values(&two)) {
                    let code = wide.encode_f64(x, &projection).value;
                    assert_eq!(wide.decode_f64(code).value.to_bits(), y.to_bits(), "{from} → {to}: {x}");
                }
                continue;
            }
            let agreement = verify_against(&two, &one, &QuantizedAs::default(), &mut |_| ()).unwrap();
            assert!(agreement.disagreements.is_empty(), "{from} → {to}: {:?}", agreement.disagreements);
        }
    }
}

fn wide(scheme: &Scheme) -> Option<Format> {
    [("gguf-bf16", BFLOAT16), ("gguf-f16", BINARY16)]
        .into_iter()
        .find_map(|(name, format)| (name == scheme.name).then_some(format))
}

/// Experts of gpt-oss, whose file has the transposes of the model's matrices: the blocks of 32 are
/// along the model's second dimension.
#[test]
fn experts_are_transposed() {
    const EXPERTS: &str = "model.layers.0.mlp.experts.down_proj";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (experts, down, across) = (2, 64, 40);
    let values = Random(6).normals(experts * down * across, 0.02);
    File::of([
        (EXPERTS, Tensor::of(T::BF16, &values).shaped(&[experts, down, across])),
        ("model.layers.0.mlp.experts.down_proj_bias", Tensor::of(T::BF16, &[1.0; 80]).shaped(&[2, 40])),
        ("model.layers.0.mlp.router.weight", Tensor::of(T::BF16, &[1.0; 128]).shaped(&[2, 64])),
    ])
    .write(&path("in"));
    let all = |input: &str, output: &str, name: &str| {
        let take = |name: &str| Tensors::Weights.take(name, &[2, 64, 40]) && name == EXPERTS;
        quantize(path(input), path(output), &scheme(name), &take, &mut |_| ()).unwrap();
    };
    all("in", "gpt", "gpt-oss");
    let file = File::read(&path("gpt"));
    let (blocks, scales) =
        (&file.tensors[&format!("{EXPERTS}_blocks")], &file.tensors[&format!("{EXPERTS}_scales")]);
    assert_eq!((blocks.dtype, &*blocks.shape), (T::U8, &[2, 40, 2, 16][..]));
    assert_eq!((scales.dtype, &*scales.shape), (T::U8, &[2, 40, 2][..]));
    // OCP's rule and rounding, from the numbers of the source in the model's order.
    let source = File::read(&path("in")).tensors[EXPERTS].numbers();
    let fp4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    for group in 0..experts * across * 2 {
        let (expert, row, first) = (group / (across * 2), group / 2 % across, group % 2 * 32);
        let element = |i: usize| source[(expert * down + first + i) * across + row];
        let amax = (0..32).map(|i| element(i).abs()).fold(0.0, f64::max);
        #[expect(clippy::cast_possible_truncation, reason = "a small number")]
        let exponent = amax.log2().floor() as i32 - 2;
        assert_eq!(i32::from(scales.bytes[group]) - 127, exponent);
        for i in 0..32 {
            let code = blocks.bytes[group * 16 + i / 2] >> (4 * (i % 2)) & 15;
            let q = element(i).abs() / 2_f64.powi(exponent);
            let distance = |x: f64| (x - q.min(6.0)).abs();
            let nearest = fp4.iter().copied().fold(f64::INFINITY, |least, x| least.min(distance(x)));
            let magnitude = fp4[usize::from(code & 7)];
            assert_eq!(distance(magnitude).to_bits(), nearest.to_bits(), "group {group}, element {i}");
            assert_eq!(code >> 3 == 1, element(i).is_sign_negative());
        }
    }
    verify(path("gpt")).unwrap();
    let agrees = |output: &str, input: &str| {
        let agreement =
            verify_against(path(output), path(input), &QuantizedAs::default(), &mut |_| ()).unwrap();
        assert!(agreement.disagreements.is_empty(), "{:?}", agreement.disagreements);
        assert_eq!(agreement.tensors, 1);
    };
    agrees("gpt", "in");
    // On into others and back, nothing is lost where blocks are the same.
    all("gpt", "native", "mxfp8-e4m3");
    agrees("native", "gpt");
    all("native", "again", "gpt-oss");
    all("gpt", "twice", "gpt-oss");
    agrees("again", "native");
    agrees("twice", "gpt");
    // A code that is wrong is named by its place in the model's tensor.
    let mut broken = file;
    broken.tensors.get_mut(&format!("{EXPERTS}_blocks")).unwrap().bytes[16] ^= 0x70;
    broken.write(&path("broken"));
    let agreement = verify_against(path("broken"), path("in"), &QuantizedAs::default(), &mut |_| ()).unwrap();
    // The second code of the second block of the first row: column 0, row 33.
    assert_eq!((agreement.wrong_codes, agreement.disagreements[0].element), (1, Some(33 * 40)));
}

/// Codes of lists are those of the nearest values, and scales follow from the largest magnitudes:
/// all products here are numbers of f64.
#[test]
#[expect(clippy::float_cmp, reason = "numbers are exact")]
fn nearest_values_of_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut file = source(9);
    // A block of zeros, and one whose elements lie on the middles.
    let values = &mut file.tensors.get_mut(WEIGHT).unwrap().bytes;
    values[..128].fill(0);
    for (i, half) in [2.0_f32, 0.5, 1.5, -0.5, -1.5, 0.25, 0.75].into_iter().enumerate() {
        values[128 + 2 * i..][..2].copy_from_slice(&half.to_le_bytes()[2..]);
    }
    file.write(&path("in"));
    let all = file.tensors[WEIGHT].numbers();
    let suffix = |file: &File, name: &str| file.tensors[&format!("{WEIGHT}{name}")].clone();
    for (name, group, scale_name) in [
        ("nf4", 64, "_scale"),
        ("sf4", 64, "_scale"),
        ("int4", 64, "_scale"),
        ("int8", 256, "_scale"),
        ("bnb-nf4", 64, ".absmax"),
        ("bnb-fp4", 64, ".absmax"),
        ("mxint8", 32, "_scale"),
    ] {
        convert(&path("in"), &path("out"), &scheme(name)).unwrap();
        let (file, scheme) = (File::read(&path("out")), name.parse::<Scheme>().unwrap());
        let list = scheme.codebook.unwrap();
        let (bytes, scales) = (suffix(&file, "").bytes, suffix(&file, scale_name));
        for (i, &x) in all.iter().enumerate() {
            let code = match (list.width(), name.starts_with("bnb")) {
                (8, _) => bytes[i],
                (_, false) => bytes[i / 2] >> (4 * (i % 2)) & 15,
                (_, true) => bytes[i / 2] >> (4 - 4 * (i % 2)) & 15,
            };
            let block = &all[i / group * group..][..group];
            let amax = block.iter().fold(0.0, |amax: f64, x| amax.max(x.abs()));
            let scale = if name == "mxint8" {
                let exponent = if amax == 0.0 { -127.0 } else { amax.log2().floor() };
                assert_eq!(f64::from(scales.bytes[i / group]) - 127.0, exponent, "{name}");
                exponent.exp2()
            } else {
                let scale = scales.numbers()[i / group];
                #[expect(clippy::cast_possible_truncation, reason = "the nearest")]
                let expected = if amax == 0.0 { 1.0 } else { (amax / f64::from(list.largest())) as f32 };
                assert_eq!(scale, f64::from(expected), "{name}");
                scale
            };
            let ascending: Vec<u32> = list.ascending().collect();
            let rank = ascending.iter().position(|&it| it == u32::from(code)).unwrap();
            let value = |rank: usize| f64::from(list.value(ascending[rank]));
            if let Some(below) = rank.checked_sub(1) {
                let middle = (value(below) + value(rank)) * scale;
                assert!(2.0 * x > middle || 2.0 * x == middle && list.is_tie_up(below), "{name} {x} {code}");
            }
            if rank + 1 < ascending.len() {
                let middle = (value(rank) + value(rank + 1)) * scale;
                assert!(2.0 * x < middle || 2.0 * x == middle && !list.is_tie_up(rank), "{name} {x} {code}");
            }
        }
        verify(path("out")).unwrap();
        if name == "bnb-nf4" {
            let state = suffix(&file, ".quant_state.bitsandbytes__nf4").bytes;
            let expected = r#"{"quant_type":"nf4","blocksize":64,"dtype":"bfloat16","shape":[64,256]}"#;
            assert_eq!(String::from_utf8(state).unwrap(), expected);
            let map = suffix(&file, ".quant_map").numbers();
            assert_eq!((map.len(), map[0], map[15]), (16, -1.0, 1.0));
            assert_eq!(suffix(&file, "").shape, [8192, 1]);
            assert_eq!(suffix(&file, ".absmax").shape, [256]);
        }
    }
    // Other ways to round, and rules for formats, are refused.
    let refused = |options: Options, part: &str| {
        let error = convert(&path("in"), &path("out"), &options).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(Options { rounding: Some(Rounding::TowardZero), ..scheme("nf4") }, "one way to round");
    let mut even = scheme("mxint8");
    even.scale.as_mut().unwrap().rule = ScaleRule::Even;
    refused(even, "the scale rule even is for formats");
}

/// Of amax / 6 and amax / 4, each rounded to E4M3, the one with the least squared error; the
/// largest block has the scale 256 or 384.
#[test]
fn four_over_six() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    source(10).write(&path("in"));
    let mut options = scheme("nvfp4");
    options.scale.as_mut().unwrap().rule = ScaleRule::FourOverSix;
    convert(&path("in"), &path("out"), &options).unwrap();
    let (x, file) = (File::read(&path("in")).tensors[WEIGHT].numbers(), File::read(&path("out")));
    let global = file.tensors[&format!("{WEIGHT}_global_scale")].numbers()[0];
    let amax = x.iter().fold(0.0, |amax: f64, x| amax.max(x.abs()));
    assert!(global.log2().fract() == 0.0 && global <= 1536.0 / amax && 2.0 * global > 1536.0 / amax);
    let fp4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let projection = E4M3FN.default_projection().with_saturation(Saturation::SatFinite);
    let mut fours = 0;
    for (group, x) in x.chunks(16).enumerate() {
        let amax = x.iter().fold(0.0, |amax: f64, x| amax.max(x.abs()));
        let tried = [6.0, 4.0].map(|divisor| {
            let code = E4M3FN.encode_f64(amax * global / divisor, &projection).value;
            let scale = E4M3FN.decode_f64(code).value / global;
            let error = |x: &f64| {
                let distance = |value: &f64| (x.abs() - value * scale).abs();
                let least = fp4.iter().map(distance).fold(f64::INFINITY, f64::min);
                least * least
            };
            (code, x.iter().map(error).sum::<f64>())
        });
        let four = tried[1].1 < tried[0].1;
        fours += usize::from(four);
        let scale = file.tensors[&format!("{WEIGHT}_scale")].bytes[group];
        assert_eq!(u64::from(scale), tried[usize::from(four)].0, "group {group}: {tried:?}");
    }
    assert!((100..900).contains(&fours), "{fours}");
    verify(path("out")).unwrap();
    let mut others = scheme("mxfp4");
    others.scale.as_mut().unwrap().rule = ScaleRule::FourOverSix;
    let error = convert(&path("in"), &path("out"), &others).unwrap_err().to_string();
    assert!(error.contains("four-over-six is for elements of E2M1 with scales of E4M3"), "{error}");
}

/// A GGUF file from others keeps its keys, byte by byte, and its tensors lie at multiples of 32.
#[test]
fn gguf_keeps_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    source(7).write(&path("in"));
    fs::write(path("config.json"), r#"{"model_type": "llama"}"#).unwrap();
    convert(&path("in"), &path("a.gguf"), &scheme("gguf-bf16")).unwrap();
    let text = |name: &str| View::open(path(name)).unwrap().source().metadata().to_vec();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(text("a.gguf"), [pair("general.architecture", "llama"), pair("general.file_type", "32")]);
    // BF16 numbers are what they were.
    let certificate = certify(path("in"), path("a.gguf"), &mut |_| ()).unwrap();
    assert_eq!((certificate.exact, certificate.rounded), (2, 0));
    // A key of its own, as another program writes it: an array of I32 (5).
    let bytes = fs::read(path("a.gguf")).unwrap();
    let key =
        [&7_u64.to_le_bytes()[..], b"my.list", &[9, 0, 0, 0, 5, 0, 0, 0], &2_u64.to_le_bytes(), &[7; 8]];
    let key = key.concat();
    // The description of the last tensor ends with its offset; from there zeros lead to the data.
    let view = View::open(path("a.gguf")).unwrap();
    let (first, last) = (&view.source().tensors()[0], &view.source().tensors()[1]);
    let start = usize::try_from(first.offset).unwrap();
    let offset = (last.offset - first.offset).to_le_bytes();
    let end = (0..start).rev().find(|&end| bytes[..end].ends_with(&offset)).unwrap();
    let mut longer = [&bytes[..16], &3_u64.to_le_bytes(), &key, &bytes[24..end]].concat();
    longer.resize(longer.len().next_multiple_of(32), 0);
    longer.extend(&bytes[start..]);
    fs::write(path("b.gguf"), longer).unwrap();
    for (name, file_type) in
        [("gguf-mxfp4", "38"), ("gguf-nvfp4", "39"), ("gguf-q8_0", "7"), ("gguf-f16", "1")]
    {
        convert(&path("b.gguf"), &path("c.gguf"), &scheme(name)).unwrap();
        let found = fs::read(path("c.gguf")).unwrap();
        assert!(found.windows(key.len()).any(|window| window == key), "{name}");
        let pairs = text("c.gguf");
        assert!(pairs.contains(&pair("my.list", "[117901063,117901063]")), "{pairs:?}");
        assert!(pairs.contains(&pair("general.file_type", file_type)), "{pairs:?}");
        let quantized = pairs.contains(&pair("general.quantization_version", "2"));
        assert_eq!(quantized, name != "gguf-f16");
        let offsets: Vec<u64> =
            View::open(path("c.gguf")).unwrap().source().tensors().iter().map(|it| it.offset).collect();
        assert!(offsets.iter().all(|offset| offset % 32 == 0) && found.len() % 32 == 0, "{offsets:?}");
        // And out of it into safetensors, the keys as text.
        dequantize(path("c.gguf"), path("d.gguf"), Dtype::F32, None, true, &mut |_| ()).unwrap();
        assert!(text("d.gguf").contains(&pair("general.file_type", "0")));
    }
    // A folder becomes one file.
    let model = path("model");
    fs::create_dir(&model).unwrap();
    source(8).write(&model.join("a.safetensors"));
    File::of([("b.weight", Tensor::of(T::F32, &[0.5; 128]).shaped(&[2, 64]))])
        .write(&model.join("b.safetensors"));
    quantize(&model, path("one.gguf"), &scheme("gguf-nvfp4"), &|name| name != "b.weight", &mut |_| ())
        .unwrap();
    let certificate = certify(&model, path("one.gguf"), &mut |_| ()).unwrap();
    assert_eq!((certificate.tensors.len(), certificate.exact), (3, 2));
    // What GGUF has no type or no room for is named.
    let refused = |tensor: Tensor, part: &str| {
        File::of([(WEIGHT, tensor)]).write(&path("odd"));
        let error = convert(&path("odd"), &path("odd.gguf"), &scheme("gguf-mxfp4")).unwrap_err().to_string();
        assert!(error.contains(WEIGHT) && error.contains(part), "{error}");
    };
    refused(Tensor::of(T::F32, &[0.5; 40]).shaped(&[1, 40]), "whole blocks of 32");
    refused(Tensor::new(T::BOOL, &[2], vec![0, 1]), "is BOOL, which GGUF does not have");
    refused(Tensor::of(T::F32, &[0.5; 32]).shaped(&[1, 1, 1, 1, 32]), "has 5 dimensions; GGUF has at most 4");
}

/// What has the same elements and scales of powers of two goes through others and back unchanged.
#[test]
fn lossless_ways() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    source(3).write(&path("in"));
    let families = [
        &["mxfp4", "mxfp4-pack-quantized", "quark-mxfp4", "mxfp4-typed", "deepseek-v4-experts", "gguf-mxfp4"]
            [..],
        &["mxfp8-e4m3", "mxfp8-quantized", "mxfp8-typed", "comfy-mxfp8"],
        &["nvfp4", "nvfp4-pack-quantized", "modelopt-nvfp4", "comfy-nvfp4", "gguf-nvfp4"],
        &["nf4", "bnb-nf4"],
        &["fp8", "modelopt-fp8", "comfy-fp8", "comfy-scaled-fp8", "float-quantized"],
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
            let certificate = certify(path("a"), path("b"), &mut |_| ()).unwrap();
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
    let certificate = certify(path("in"), path("out"), &mut |_| ()).unwrap();
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
    assert_eq!(weight.output_sha256, crate::common::sha256(&bytes));
    assert_eq!((certificate.exact, certificate.rounded), (1, rounded as u64));

    let text = serde_json::to_string(&certificate).unwrap();
    let read = serde_json::from_str(&text).unwrap();
    assert_eq!(certificate, read);
    let check = |source: Option<&Path>| check_certificate(&read, path("out"), source, &mut |_| ());
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

/// Errors whose sum is beyond binary64 have a mean all the same, and JSON has it.
#[test]
fn certificates_of_huge_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let tensor = Tensor::of(T::F64, &[1.5e308; 64]).shaped(&[2, 32]);
    File::of([(WEIGHT, tensor)]).write(&path("in"));
    convert(&path("in"), &path("out"), &scheme("mxfp4")).unwrap();
    let certificate = certify(path("in"), path("out"), &mut |_| ()).unwrap();
    let [weight] = &certificate.tensors[..] else { panic!("{certificate:?}") };
    assert_eq!((weight.rounded, weight.max_error, weight.mean_error), (64, 1.5e308, 1.5e308));
    let read = serde_json::from_str(&serde_json::to_string(&certificate).unwrap()).unwrap();
    assert_eq!(check_certificate(&read, path("out"), Some(&path("in")), &mut |_| ()).unwrap(), 1);
}

/// What no conversion can have done is not called right, whatever the digests of the output.
#[test]
fn certificates_that_contradict_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    source(4).write(&path("in"));
    convert(&path("in"), &path("out"), &scheme("comfy-nvfp4")).unwrap();
    let certificate = certify(path("in"), path("out"), &mut |_| ()).unwrap();
    let weight = certificate.tensors.iter().position(|tensor| tensor.name == WEIGHT).unwrap();
    let forged = |part: &str, change: &dyn Fn(&mut Certificate)| {
        let mut forged = certificate.clone();
        change(&mut forged);
        for source in [None, Some(path("in"))] {
            let found = check_certificate(&forged, path("out"), source.as_deref(), &mut |_| ());
            let error = found.unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    };
    forged("it says 2 exact tensors", &|it| it.exact = 2);
    forged("it says 1 exact tensors and 0 rounded values", &|it| it.rounded = 0);
    forged("no value changed and that there are errors", &|it| it.tensors[weight].rounded = 0);
    forged("more values changed than it has", &|it| it.tensors[weight].rounded = 1 << 40);
    forged("errors that no values have", &|it| it.tensors[weight].max_error = 0.0);
    forged("errors that no values have", &|it| it.tensors[weight].mean_error = -1.0);
    forged("values changed and that their digests did not", &|it| {
        it.tensors[weight].source_sha256 = it.tensors[weight].output_sha256.clone();
    });
    // One tensor twice is as many as two.
    forged("is in the certificate twice", &|it| it.tensors[1 - weight] = it.tensors[weight].clone());
    forged("is of version 2", &|it| it.version = 2);
}

/// What a layout does with the number of a tensor does not depend on the number.
#[test]
fn a_number_that_is_one_multiplies_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    File::of([(WEIGHT, Tensor::new(T::F32, &[0, 32], vec![]))]).write(&path("in"));
    for (name, multiplies) in [("modelopt-nvfp4", true), ("nvfp4-pack-quantized", false)] {
        convert(&path("in"), &path(name), &scheme(name)).unwrap();
        let view = View::open(path(name)).unwrap();
        assert_eq!(view.tensor(WEIGHT).unwrap().scaled().unwrap().multiplies(), multiplies, "{name}");
    }
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
    refused(&[4, 40], "mxfp4-typed", "readers of dtypes below a byte know whole blocks of 32");
    refused(&[4, 40], "modelopt-nvfp4", "whole blocks of 16");
}
