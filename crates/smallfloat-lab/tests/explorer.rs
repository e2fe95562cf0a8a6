//! The explorer's model against arithmetic of its own: values of 8-bit formats by their formulas in
//! `f64`, where they, their midpoints and their differences are exact, and nearest values by
//! searching through all of them.

#![expect(clippy::float_cmp, reason = "all these values are exact")]

use serde_json::{Value, json};
use smallfloat_lab::explorer::{self, Question, tensor};

fn ask(question: &Value) -> Result<Value, String> {
    let question: Question = serde_json::from_value(question.clone()).map_err(|error| error.to_string())?;
    let answer = explorer::answer(&question).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(answer).expect("JSON"))
}

fn told(question: &Value) -> Value {
    ask(question).unwrap_or_else(|error| panic!("{question}: {error}"))
}

/// The value of a code of E4M3FN (OCP 8-bit Floating Point, 5.1): none for NaN.
fn e4m3fn(code: u32) -> Option<f64> {
    let (field, m) = ((code >> 3 & 15).cast_signed(), f64::from(code & 7));
    let magnitude = match field {
        15 if code & 7 == 7 => return None,
        0 => m / 8.0 * 2_f64.powi(-6),
        _ => (1.0 + m / 8.0) * 2_f64.powi(field - 7),
    };
    Some(if code & 0x80 == 0 { magnitude } else { -magnitude })
}

/// The value of a code of CFloat8_1_4_3 with bias 7 (Tesla's paper, Table 3): denormals are 2^−7 ·
/// 0.m.
#[expect(clippy::unnecessary_wraps, reason = "as the format that has NaN")]
fn cfloat8(code: u32) -> Option<f64> {
    let (field, m) = ((code >> 3 & 15).cast_signed(), f64::from(code & 7));
    let magnitude = match field {
        0 => m / 8.0 * 2_f64.powi(-7),
        _ => (1.0 + m / 8.0) * 2_f64.powi(field - 7),
    };
    Some(if code & 0x80 == 0 { magnitude } else { -magnitude })
}

/// A format by its name and its values.
type ByFormula = (&'static str, fn(u32) -> Option<f64>);
const FORMATS: [ByFormula; 2] = [("e4m3fn", e4m3fn), ("cfloat8_1_4_3:bias=7", cfloat8)];

/// Non-negative values ascending, with their codes.
fn magnitudes(value: fn(u32) -> Option<f64>) -> Vec<(u32, f64)> {
    (0..128).filter_map(|code| Some((code, value(code)?))).collect()
}

/// `9p-3` as a number.
fn number(exact: &Value) -> f64 {
    let text = exact.as_str().expect("an exact value");
    match text.split_once('p') {
        Some((integer, exponent)) => {
            let integer: f64 = integer.parse().expect("an integer");
            integer * 2_f64.powi(exponent.parse().expect("an exponent"))
        }
        None => text.parse().expect("a number"),
    }
}

#[test]
fn values_are_rounded_in_every_mode() {
    for (name, value) in FORMATS {
        let grid = magnitudes(value);
        for pair in grid.windows(2) {
            let ((lo_code, lo), (hi_code, hi)) = (pair[0], pair[1]);
            for eighths in [1_u32, 4, 6] {
                let share = f64::from(eighths) / 8.0;
                for sign in [1.0, -1.0] {
                    let x = sign * (lo + (hi - lo) * share);
                    let answer = told(
                        &json!({"ask": "round", "format": name, "text": format!("{x:e}"), "random_bits": 3}),
                    );
                    let even = if lo_code % 2 == 0 { lo_code } else { hi_code };
                    let nearest = if eighths > 4 { hi_code } else { lo_code };
                    let (toward, away) = (lo_code, hi_code);
                    let expected = [
                        ("nearest-even", if eighths == 4 { even } else { nearest }),
                        ("nearest-away", if eighths == 4 { hi_code } else { nearest }),
                        ("toward-positive", if sign > 0.0 { away } else { toward }),
                        ("toward-negative", if sign > 0.0 { toward } else { away }),
                        ("toward-zero", toward),
                        ("to-odd", if lo_code % 2 == 1 { lo_code } else { hi_code }),
                    ];
                    for (mode, code) in expected {
                        let found =
                            answer["modes"].as_array().expect("modes").iter().find(|m| m["mode"] == mode);
                        let found = found.expect("the mode");
                        let code = code + if sign < 0.0 { 128 } else { 0 };
                        assert_eq!(found["code"]["code"], code, "{name} {x} {mode}");
                        let error = value(code).expect("finite") - x;
                        assert_eq!(number(&found["error"]["exact"]), error, "{name} {x} {mode}");
                        let relative = found["relative"].as_f64().expect("a ratio");
                        assert!((relative - (error / x).abs()).abs() < 1e-15, "{name} {x} {mode}");
                    }
                    let place = &answer["place"];
                    let below = if sign > 0.0 { share } else { 1.0 - share };
                    assert_eq!(
                        (&place["share"], &place["tie"]),
                        (&json!(below), &json!(eighths == 4)),
                        "{name} {x}"
                    );
                    assert_eq!(number(&place["gap"]["exact"]), hi - lo);
                    // Of 8 words, 8·ν round away from zero in StochasticA.
                    let chance = &answer["stochastic"][0]["results"];
                    let away_words = u64::from(eighths);
                    assert_eq!(
                        (chance[0]["words"].as_u64(), chance[1]["words"].as_u64()),
                        (Some(8 - away_words), Some(away_words))
                    );
                    assert_eq!(chance[1]["first"].as_u64(), Some(8 - away_words));
                }
            }
        }
    }
}

/// 1.1 in CFloat8_1_4_3 with bias 7 has ν = 0.8: away for A iff ⌊0.8·256⌋ + R ≥ 256, for B iff
/// ⌊0.8·512⌋ + 2R + 1 ≥ 512, for C iff RNITE(0.8·256) + R ≥ 256.
#[test]
fn stochastic_modes_count_their_words() {
    let answer =
        told(&json!({"ask": "round", "format": "cfloat8_1_4_3:bias=7", "text": "1.1", "random_bits": 8}));
    let words: Vec<_> = answer["stochastic"]
        .as_array()
        .expect("modes")
        .iter()
        .map(|mode| (mode["mode"].clone(), mode["results"][1]["words"].clone()))
        .collect();
    assert_eq!(json!(words), json!([["stochastic-a", 204], ["stochastic-b", 205], ["stochastic-c", 205]]));
    let exact = told(&json!({"ask": "round", "format": "e4m3fn", "text": "1.125", "random_bits": 32}));
    assert_eq!(exact["stochastic"][2]["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(exact["stochastic"][2]["results"][0]["words"], 1_u64 << 32);
}

#[test]
fn values_beyond_the_range_and_codes() {
    let round = |format: &str, text: &str, policy: Value| {
        told(&json!({"ask": "round", "format": format, "text": text, "random_bits": 8, "policy": policy}))
    };
    let hex = |answer: &Value| answer["modes"][0]["code"]["hex"].as_str().expect("a code").to_owned();
    let beyond = round("e4m3fn", "1e9", json!({}));
    assert_eq!((hex(&beyond), &beyond["modes"][0]["flags"]), ("0x7f".into(), &json!("OX")));
    assert_eq!((&beyond["place"]["above"], &beyond["place"]["below"]["hex"]), (&Value::Null, &json!("0x7e")));
    let saturated = round("e4m3fn", "1e9", json!({"saturation": "satfinite"}));
    assert_eq!((hex(&saturated), &saturated["held"]["saturation"]), ("0x7e".into(), &json!("satfinite")));
    assert_eq!(hex(&round("e4m3fn", "1e9", json!({"preset": "ocp-saturate"}))), "0x7e");
    let nan = round("cfloat8_1_4_3:bias=7", "nan", json!({}));
    assert_eq!((hex(&nan), &nan["modes"][0]["flags"]), ("0x7f".into(), &json!("I")));
    // A format that has NaN takes one without a flag, as IEEE 754 does.
    let nan = round("e4m3fn", "nan", json!({}));
    assert_eq!((hex(&nan), &nan["modes"][0]["flags"]), ("0x7f".into(), &json!("-")));
    // A code is read in its own format, and a subnormal one of Tesla's says so.
    let code = round("cfloat8_1_4_3:bias=7", "#01", json!({}));
    assert_eq!((&code["reading"]["kind"], &code["modes"][0]["flags"]), (&json!("code"), &json!("D")));
    let code = round("e4m3fn", "#01", json!({}));
    assert_eq!((&code["reading"]["kind"], &code["modes"][0]["flags"]), (&json!("code"), &json!("-")));
    assert_eq!(code["reading"]["code"]["exact"], "1p-9");
    // 0.1 is no dyadic number: nothing claims to be exact.
    let tenth = round("bfloat16", "0.1", json!({}));
    assert_eq!(
        (&tenth["reading"]["value"]["exact"], &tenth["modes"][0]["error"]["exact"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn lines_have_every_value_once() {
    for (name, value) in FORMATS {
        let mut values: Vec<f64> = (0..256).filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let line = told(&json!({"ask": "line", "format": name, "scale": "linear", "most": 4096}));
        let unit = 2_f64.powi(line["unit"].as_i64().expect("a power").try_into().expect("small"));
        let places: Vec<f64> =
            ticks(&line).map(|tick| tick["at"].as_f64().expect("a place") * unit).collect();
        assert_eq!(places, values, "{name}");
        assert!(ticks(&line).all(|tick| number(&tick["text"]) == value(code_of(tick)).expect("finite")));

        let log = told(&json!({"ask": "line", "format": name, "scale": "log", "most": 4096}));
        let positive: Vec<f64> = values.iter().copied().filter(|x| *x > 0.0).collect();
        assert_eq!(ticks(&log).count(), positive.len());
        for (tick, x) in ticks(&log).zip(&positive) {
            assert!((tick["at"].as_f64().expect("a place") - x.log2()).abs() < 1e-12, "{name} {x}");
        }
        // 1 ≤ x ≤ 2 on the logarithmic scale has the nine values of a binade with both its ends.
        let window =
            told(&json!({"ask": "line", "format": name, "scale": "log", "lo": 0.0, "hi": 1.0, "most": 4096}));
        assert_eq!(window["count"], 9);
        let few =
            told(&json!({"ask": "line", "format": name, "scale": "log", "lo": 0.0, "hi": 1.0, "most": 2}));
        assert_eq!((&few["ticks"], &few["bins"]), (&json!([]), &json!([4, 5])));
    }
    // 2^16 codes less −0, 2 infinities and 2046 NaNs.
    let half = told(&json!({"ask": "line", "format": "binary16", "scale": "linear", "most": 100}));
    assert_eq!(half["count"], 65536 - 1 - 2 - 2046);
    let sum: u64 = half["bins"].as_array().expect("bins").iter().filter_map(Value::as_u64).sum();
    assert_eq!(sum, 65536 - 1 - 2 - 2046);
    // UHP's flushed codes are no values.
    let uhp = told(&json!({"ask": "line", "format": "uhp", "scale": "linear", "most": 100}));
    assert_eq!(uhp["count"], 0xfc00 - 0x0400 + 1);
}

fn ticks(line: &Value) -> impl Iterator<Item = &Value> {
    line["ticks"].as_array().expect("ticks").iter()
}

fn code_of(tick: &Value) -> u32 {
    tick["code"].as_u64().and_then(|code| code.try_into().ok()).expect("a code")
}

#[test]
fn grids_have_every_code() {
    let grid = told(&json!({"ask": "grid", "format": "e4m3fn", "page": null}));
    let cells = grid["cells"].as_array().expect("cells");
    assert_eq!((grid["columns"].as_u64(), cells.len()), (Some(16), 256));
    for (code, cell) in (0..).zip(cells) {
        let class = match (e4m3fn(code), code & 0x7f) {
            (None, _) => "nan",
            (_, 0) => "zero",
            (_, 1..8) => "subnormal",
            _ => "normal",
        };
        assert_eq!((&cell["code"], &cell["class"]), (&json!(code), &json!(class)));
    }
    let four_bits = told(&json!({"ask": "grid", "format": "e2m1fn", "page": null}));
    assert_eq!(
        (four_bits["columns"].as_u64(), four_bits["cells"].as_array().map(Vec::len)),
        (Some(4), Some(16))
    );
    let overview = told(&json!({"ask": "grid", "format": "binary16", "page": null}));
    let classes = |page: usize| overview["cells"][page]["class"].clone();
    // 0x7c00 is infinite, the other 255 codes of its page are NaN; 0x0400 begins the normal values.
    assert_eq!(
        [classes(0), classes(1), classes(4), classes(0x7c), classes(0x7d)],
        ["mixed", "subnormal", "normal", "mixed", "nan"]
    );
    let page = told(&json!({"ask": "grid", "format": "binary16", "page": 60}));
    assert_eq!((&page["cells"][0]["label"], &page["cells"][0]["text"]), (&json!("0x3c00"), &json!("1")));
    assert!(
        ask(&json!({"ask": "grid", "format": "binary16", "page": 256}))
            .is_err_and(|e| e.contains("from 0 to 255"))
    );
    assert!(
        ask(&json!({"ask": "grid", "format": "binary32", "page": 0}))
            .is_err_and(|e| e.contains("up to 16 bits"))
    );
}

#[test]
fn codes_have_neighbours_and_gaps() {
    // Tesla's hole: 0x07 is 0.875 · 2^−7, 0x08 is 2^−6; the gap is nine times the one below.
    let code = told(&json!({"ask": "code", "format": "cfloat8_1_4_3:bias=7", "code": 7}));
    assert_eq!((&code["above"]["hex"], &code["below"]["hex"]), (&json!("0x08"), &json!("0x06")));
    assert_eq!(
        (number(&code["gap_above"]["exact"]), number(&code["gap_below"]["exact"])),
        (9.0 / 1024.0, 1.0 / 1024.0)
    );
    let infinity = told(&json!({"ask": "code", "format": "e5m2", "code": 0x7c}));
    assert_eq!((&infinity["at"]["class"], &infinity["above"]), (&json!("infinite"), &Value::Null));
    assert_eq!((&infinity["below"]["decimal"], &infinity["gap_below"]), (&json!("57344"), &Value::Null));
    assert!(ask(&json!({"ask": "code", "format": "e5m2", "code": 256})).is_err());
}

/// 1.125 · 3 = 3.375 lies halfway between 3.25 and 3.5, so that rounding the product loses what is
/// left of 3.375 − 3.25.
#[test]
fn an_fma_step_by_step() {
    let request = |operation: &str, operands: Value, more: Value| {
        let mut question = json!({"ask": "arithmetic", "operation": operation, "format": "cfloat8_1_4_3:bias=7", "operands": operands});
        question.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        question
    };
    let fma = told(&request("fma", json!(["1.1", "3", "-3.25"]), json!({})));
    assert_eq!(
        (&fma["exact"]["exact"], &fma["outcome"]["code"]["decimal"]),
        (&json!("1p-3"), &json!("0.125"))
    );
    assert_eq!(
        (&fma["operands"][0]["rounded"], &fma["operands"][1]["rounded"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (&fma["separate"]["product"]["code"]["decimal"], &fma["separate"]["sum"]["code"]["decimal"]),
        (&json!("3.5"), &json!("0.25"))
    );
    assert_eq!(fma["separate"]["same"], false);
    // 11.011b − 11.01b under one another.
    let rows = fma["picture"]["rows"].as_array().expect("rows");
    let digits: Vec<_> = rows
        .iter()
        .map(|row| (row["label"].as_str(), row["digits"].as_str(), row["first"].as_i64()))
        .collect();
    assert_eq!(
        digits[..3],
        [
            (Some("x × y"), Some("11011"), Some(1)),
            (Some("z"), Some("1101"), Some(1)),
            (Some("exact"), Some("1"), Some(-3))
        ]
    );
    assert_eq!(rows[1]["negative"], true);

    // 9/8 + 2^−4: nine and a half eighths, a tie.
    let tie =
        told(&request("add", json!(["#39", "0.0625"]), json!({"policy": {"rounding": "nearest-away"}})));
    assert_eq!(
        (&tie["place"]["tie"], &tie["outcome"]["code"]["hex"], &tie["outcome"]["flags"]),
        (&json!(true), &json!("0x3a"), &json!("X"))
    );
    assert_eq!(tie["picture"]["last_kept"], -3);
    let steps = |answer: &Value| {
        answer["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .map(|step| format!("{}: {}", step["title"], step["text"]))
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert!(
        steps(&tie).contains("exactly halfway") && steps(&tie).contains("farther from zero"),
        "{}",
        steps(&tie)
    );

    // 480 · 480 lies beyond 480, the largest.
    let large = told(&request("multiply", json!(["480", "480"]), json!({})));
    assert_eq!(
        (&large["outcome"]["code"]["hex"], &large["outcome"]["flags"]),
        (&json!("0x7f"), &json!("OX"))
    );
    assert!(steps(&large).contains("beyond the largest finite value, 480"), "{}", steps(&large));
    let infinite = told(&request(
        "multiply",
        json!(["480", "480"]),
        json!({"to": "e5m2", "policy": {"preset": "ieee"}}),
    ));
    assert_eq!(infinite["outcome"]["code"]["class"], "infinite", "230400 rounds beyond 57344");
    let zero = told(&request("subtract", json!(["1", "1"]), json!({})));
    assert_eq!((&zero["exact"]["decimal"], &zero["outcome"]["code"]["hex"]), (&json!("0"), &json!("0x00")));
    assert!(ask(&request("fma", json!(["1", "1"]), json!({}))).is_err_and(|e| e.contains("from 3 to 3")));
    assert!(
        ask(&request("divide", json!(["1", "1"]), json!({})))
            .is_err_and(|e| e.contains("add, subtract, multiply, fma"))
    );
}

#[test]
fn formats_side_by_side() {
    let names = json!(["e4m3fn", "e5m2", "bfloat16", "binary32"]);
    let answer = told(&json!({"ask": "compare", "formats": names, "text": "0.3"}));
    let format = |i: usize| &answer["formats"][i];
    assert_eq!(
        (&format(0)["card"]["max"]["decimal"], &format(0)["card"]["binades"]),
        (&json!("448"), &json!([-9, 8]))
    );
    // Subnormals: 1, 2 and 4 values; the highest binade has no 480.
    let expected = json!([
        {"first": -9, "last": -9, "bits": 0.0}, {"first": -8, "last": -8, "bits": 1.0}, {"first": -7, "last": -7, "bits": 2.0},
        {"first": -6, "last": 7, "bits": 3.0}, {"first": 8, "last": 8, "bits": 7_f64.log2()}
    ]);
    assert_eq!(format(0)["density"], expected);
    let last =
        |i: usize| format(i)["density"].as_array().and_then(|runs| runs.last()).cloned().expect("a run");
    assert_eq!(last(2), json!({"first": -126, "last": 127, "bits": 7.0}));
    assert_eq!(last(3), json!({"first": -126, "last": 127, "bits": 23.0}));
    // 0.3 lies between 0.28125 and 0.3125, between 0.25 and 0.3125.
    assert_eq!(
        (&format(0)["outcome"]["code"]["decimal"], &format(1)["outcome"]["code"]["decimal"]),
        (&json!("0.3125"), &json!("0.3125"))
    );
    assert!(ask(&json!({"ask": "compare", "formats": []})).is_err());
    assert!(ask(&json!({"ask": "compare", "formats": ["e5m2", "e5m2", "e5m2", "e5m2", "e5m2"]})).is_err());
}

/// A safetensors file of f32 tensors.
fn safetensors(tensors: &[(&str, &[f32])]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, values) in tensors {
        let begin = data.len();
        data.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        header.insert(
            (*name).into(),
            json!({"dtype": "F32", "shape": [values.len()], "data_offsets": [begin, data.len()]}),
        );
    }
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(data);
    file
}

#[test]
fn tensors_over_formats() {
    let values = [0.0, 1.0, -1.5, 3.0, 500.0, f32::NAN, f32::INFINITY, 1e-4, 0.01];
    let file = safetensors(&[("small", &[1.0]), ("large", &values)]);
    let formats = strings(&["e4m3fn", "cfloat8_1_4_3:bias=7", "e8m0fnu"]);
    let overlap = tensor::overlap("m.safetensors", file.clone(), None, &formats).expect("an answer");
    assert_eq!((&*overlap.name, overlap.elements, overlap.tensors.len()), ("large", 9, 2));
    assert_eq!((overlap.zeros, overlap.nans, overlap.infinities, overlap.amax), (1, 1, 1, 500.0));
    assert_eq!(overlap.binades, [(-14, 1), (-7, 1), (0, 2), (1, 1), (8, 1)]);
    // E4M3FN: 500 and ∞ are beyond 448; 1e-4 is below half of 2^−9; 0.01 lies below 2^−6.
    let e4m3fn = &overlap.formats[0];
    assert_eq!((e4m3fn.saturated, e4m3fn.underflowed, e4m3fn.subnormal, e4m3fn.lost), (2, 1, 1, 0));
    // Σx² and the errors by hand: 500 → 448, 1e-4 → 0, 0.01 → 5 · 2^−9.
    let cells = [1.0, -1.5, 3.0, 500.0, 1e-4_f32, 0.01_f32].map(f64::from);
    let rounded = [1.0, -1.5, 3.0, 448.0, 0.0, 5.0 / 512.0];
    let signal: f64 = cells.iter().map(|x| x * x).sum();
    let noise: f64 = cells.iter().zip(rounded).map(|(x, q)| (x - q) * (x - q)).sum();
    let sqnr = e4m3fn.sqnr_db.expect("errors");
    assert!((sqnr - 10.0 * (signal / noise).log10()).abs() < 1e-9, "{sqnr}");
    // A scale has neither negative values nor zero, which ml_dtypes makes NaN: −1.5 and 0 are lost.
    assert_eq!((overlap.formats[2].lost, overlap.formats[2].best.as_ref()), (2, None));

    // 0.3 alone: amax at the highest binade is the best there is, so bias 17 holds it with the
    // finest steps.
    let one = tensor::overlap("m", safetensors(&[("w", &[0.3])]), Some("w"), &formats).expect("an answer");
    let (bias, name) = one.formats[1].best.as_ref().expect("a bias");
    assert_eq!(*name, format!("cfloat8_1_4_3:bias={bias}"));
    assert!(one.formats[1].sqnr_db.is_some_and(|db| db > 20.0));

    let refused = |bytes: Vec<u8>, tensor: Option<&str>, formats: &[&str]| {
        tensor::overlap("m.safetensors", bytes, tensor, &strings(formats)).expect_err("refused").to_string()
    };
    assert!(refused(file.clone(), Some("other"), &["e5m2"]).contains("`other`"));
    assert!(refused(file.clone(), None, &["binary32"]).contains("up to 16 bits"));
    assert!(refused(file[..file.len() - 1].to_vec(), None, &["e5m2"]).contains("m.safetensors"));
    assert!(refused(safetensors(&[]), None, &["e5m2"]).contains("no tensor of numbers"));
    assert!(refused(b"PK\x03\x04 and more of it".to_vec(), None, &["e5m2"]).contains("zip archive"));
}

/// NF4 as QLoRA prints it (arXiv 2305.14314, appendix E), and bitsandbytes' FP4 by its fractions.
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];
const FP4: [f32; 8] = [0.0, 1.0 / 192.0, 2.0 / 3.0, 1.0, 1.0 / 3.0, 0.5, 1.0 / 6.0, 0.25];

/// Numbers fall on the value that is nearest of all; those in a middle where the list's rule says.
#[test]
fn lists_have_the_nearest_value() {
    let fp4: Vec<f32> = FP4.iter().copied().chain(FP4.map(|value| -value)).collect();
    let int4: Vec<f32> = (0..16_i16).map(|code| f32::from(if code < 8 { code } else { code - 16 })).collect();
    for (name, values) in [("nf4", &NF4[..]), ("bnb-fp4", &fp4), ("int4", &int4)] {
        let list = told(&json!({"ask": "list", "list": name}));
        assert_eq!((&list["columns"], &list["fell"]), (&json!(4), &Value::Null));
        let codes = list["codes"].as_array().expect("codes");
        assert_eq!(codes.len(), values.len());
        for (code, value) in codes.iter().zip(values) {
            assert_eq!(number(&code["value"]["exact"]), f64::from(*value), "{name}: {code}");
            assert_eq!(code["at"], json!(f64::from(*value)));
            // The middle to the next higher value; binary64 has it.
            let next = values.iter().copied().filter(|next| next > value).fold(f32::INFINITY, f32::min);
            let has_middle = next < f32::INFINITY && !code["rank"].is_null();
            let middle = f64::midpoint(f64::from(*value), f64::from(next));
            assert_eq!(has_middle, !code["middle"].is_null(), "{name}: {code}");
            if has_middle {
                assert_eq!(number(&code["middle"]["value"]["exact"]), middle, "{name}: {code}");
                // There ties go down to NF4's lower value, FP4's nearer to zero, int4's even code.
                let (own, text) = (code["code"].as_u64().expect("a code"), &code["middle"]["value"]["exact"]);
                let fell = told(&json!({"ask": "list", "list": name, "text": text}))["fell"].clone();
                let is_up = match name {
                    "nf4" => false,
                    "bnb-fp4" => *value < 0.0,
                    _ => own % 2 == 1,
                };
                let right = if is_up { next } else { *value };
                let reached =
                    values[usize::try_from(fell["code"].as_u64().expect("a code")).expect("4 bits")];
                assert_eq!(
                    (&fell["tie"], &code["middle"]["up"]),
                    (&json!(true), &json!(is_up)),
                    "{name}: {fell}"
                );
                assert_eq!(reached, right, "{name}: {fell}");
                assert_eq!(number(&fell["error"]["exact"]), f64::from(right) - middle, "{name}: {fell}");
            }
        }
        for thousandth in (-9500..9500).step_by(77) {
            let x = f64::from(thousandth) / 1024.0;
            let text = format!("{thousandth}p-10");
            let fell = told(&json!({"ask": "list", "list": name, "text": text}))["fell"].clone();
            let reached = values[usize::try_from(fell["code"].as_u64().expect("a code")).expect("4 bits")];
            let apart = |value: f32| (f64::from(value) - x).abs();
            let least = values.iter().copied().map(apart).fold(f64::INFINITY, f64::min);
            assert_eq!((apart(reached), &fell["at"]), (least, &json!(x)), "{name}: {fell}");
            assert_eq!(fell["exact"], json!(least == 0.0), "{name}: {fell}");
        }
    }
    // Of 256 integers the lowest is never given, but may be typed.
    let mxint8 = |text: &str| told(&json!({"ask": "list", "list": "mxint8", "text": text}));
    assert_eq!(mxint8("-2")["fell"]["code"], 0x81);
    let typed = mxint8("#80");
    assert_eq!(
        (&typed["fell"]["code"], &typed["fell"]["typed_code"], &typed["fell"]["exact"], &typed["columns"]),
        (&json!(0x80), &json!(true), &json!(true), &json!(16))
    );
    assert_eq!(typed["codes"][0x80]["rank"], Value::Null);
    assert_eq!((&mxint8("inf")["fell"]["code"], &mxint8("inf")["fell"]["at"]), (&json!(0x7f), &Value::Null));
    // No binary fraction is 0.1, so that its error is rounded.
    let tenth = told(&json!({"ask": "list", "list": "nf4", "text": "0.1"}))["fell"].clone();
    assert_eq!((&tenth["code"], &tenth["error"]["exact"]), (&json!(8), &Value::Null));
    assert!(tenth["error"]["decimal"].as_str().expect("text").starts_with("≈-0.0204"), "{tenth}");
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_missing_bias_is_the_default_and_is_said() {
    let card = |name: &str| told(&json!({"ask": "format", "name": name}));
    let (short, full) = (card("cfloat8_1_4_3"), card("cfloat8_1_4_3:bias=7"));
    let note = short["note"].as_str().expect("a note");
    assert!(note.contains("no bias is given: cfloat8_1_4_3:bias=7,"), "{note}");
    assert_eq!((&short["name"], &full["note"]), (&full["name"], &Value::Null));
    let code = |format: &str| told(&json!({"ask": "code", "format": format, "code": 1}));
    assert_eq!(code("cfloat8_1_4_3"), code("cfloat8_1_4_3:bias=7"));
}

/// 5^22 has 16 digits, 5^28 has 20.
#[test]
fn decimals_are_whole_or_say_that_they_are_rounded() {
    let least =
        |format: &str| told(&json!({"ask": "code", "format": format, "code": 1}))["at"]["decimal"].clone();
    assert_eq!(least("cfloat8_1_4_3:bias=7"), "0.0009765625");
    assert_eq!(least("cfloat8_1_4_3:bias=19"), "2.384185791015625e-7");
    assert_eq!(least("cfloat8_1_4_3:bias=25"), "≈3.725290298461914e-9");
    assert_eq!(least("cfloat8_1_4_3:bias=27"), "≈9.313225746154785e-10");
    let cells =
        told(&json!({"ask": "grid", "format": "cfloat8_1_4_3:bias=27", "page": null}))["cells"].clone();
    assert_eq!(cells[1]["text"], "≈9.313225746154785e-10");
}

#[test]
fn what_is_not_understood_is_said() {
    for (question, part) in [
        (json!({"ask": "format", "name": "e3m2"}), "e3m2fn"),
        (json!({"ask": "format", "name": "x".repeat(30_000)}), "30000 characters"),
        (json!({"ask": "round", "format": "e5m2", "text": "one", "random_bits": 8}), "`one`"),
        (json!({"ask": "round", "format": "e5m2", "text": "1", "random_bits": 33}), "from 1 to 32"),
        (
            json!({"ask": "round", "format": "e5m2", "text": "1", "random_bits": 8, "policy": {"preset": "none"}}),
            "tesla, ieee",
        ),
        (
            json!({"ask": "line", "format": "e5m2", "scale": "log", "lo": 3.0, "hi": 3.0, "most": 10}),
            "lo must be below hi",
        ),
        (json!({"ask": "line", "format": "e5m2", "scale": "log", "most": 0}), "from 1 to 4096"),
        (json!({"ask": "list", "list": "nf5"}), "the list `nf5` is not known; there are nf4, sf4, bnb-fp4"),
        (json!({"ask": "list", "list": "nf4", "text": "nan"}), "nf4 has no NaN"),
        (json!({"ask": "list", "list": "nf4", "text": "#10"}), "the code is 16; it must be from 0 to 15"),
        (json!({"ask": "list", "list": "nf4", "text": "one"}), "`one`"),
        (json!({"ask": "line", "format": "e5m2", "scale": "cubic", "most": 1}), "cubic"),
    ] {
        let error = ask(&question).expect_err("refused");
        assert!(error.contains(part), "{question}: {error}");
    }
    // Every format of the catalogue and every kind of specials has a card.
    let catalogue = told(&json!({"ask": "catalogue"}));
    for list in catalogue["lists"].as_array().expect("lists") {
        assert_eq!(told(&json!({"ask": "list", "list": list}))["name"], *list);
    }
    for named in catalogue["formats"].as_array().expect("formats") {
        let card = told(&json!({"ask": "format", "name": named["name"]}));
        assert_eq!((&card["name"], &card["source"]), (&named["name"], &named["source"]));
    }
}
