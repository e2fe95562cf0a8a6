//! `smallfloat vectors check`: where a unit that is wrong in places is wrong.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, command, run};

/// The value of a finite code of E5M2: 5 exponent and 2 significand bits, bias 15.
fn e5m2(code: u32) -> f64 {
    let (field, fraction) = ((code >> 2 & 31).cast_signed(), f64::from(code & 3));
    let magnitude =
        if field == 0 { fraction * 2.0_f64.powi(-16) } else { (4.0 + fraction) * 2.0_f64.powi(field - 17) };
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

/// What `check` finds in all products of E5M2, where a unit gives others than the right ones.
fn found(unit: impl Fn(u32, u32, u32) -> u32) -> Value {
    let place = Place::new();
    let right = run(place.folder(), &["vectors", "gen", "--op", "Multiply", "--format", "e5m2"]);
    let given = right.lines().map(|line| {
        let codes: Option<Vec<u32>> =
            line.split(' ').map(|code| u32::from_str_radix(code, 16).ok()).collect();
        match codes.as_deref() {
            Some(&[x, y, result, flags]) => {
                format!("{x:02X} {y:02X} {:02X} {flags:02X}\n", unit(x, y, result))
            }
            _ => format!("{line}\n"),
        }
    });
    fs::write(place.path("given.txt"), given.collect::<String>()).expect("the file");
    let check = command(place.folder(), &["vectors", "check", "given.txt", "--json"]).assert().code(1);
    serde_json::from_slice(&check.get_output().stdout).expect("JSON")
}

/// The exponent field of a code of E5M2.
fn field(code: u32) -> u32 {
    code >> 2 & 31
}

fn is_finite(code: u32) -> bool {
    code & 0x7f < 0x7c
}

#[test]
fn a_subnormal_operand_beside_one_exponent() {
    let found = found(|x, y, result| {
        let is_subnormal = field(x) == 0 && x & 3 != 0;
        if is_subnormal && field(y) == 20 { result & 0x80 } else { result }
    });
    assert_eq!(found["cause"], Value::Null);
    let finding = &found["values"];
    let place = json!({"literals": ["x subnormal", "y exponent field 20"], "differing": 48, "agreeing": 0});
    assert_eq!(finding["condition"], place);
    // Made everywhere, that mistake would change more; where it shows, y tells.
    let nearest = &finding["hypotheses"][0];
    assert_eq!(nearest["mistake"], "takes a subnormal x for zero");
    assert_eq!(nearest["condition"]["literals"], json!(["y exponent field 20"]));
    assert_eq!(nearest["condition"]["agreeing"], 0);
}

#[test]
fn a_sign_between_equal_magnitudes() {
    let found = found(|x, y, result| {
        let wrong = x & 0x7f == y & 0x7f && is_finite(x) && field(x) > 15;
        if wrong { result ^ 0x80 } else { result }
    });
    let finding = &found["values"];
    assert_eq!((&found["cause"], &found["mismatches"]), (&Value::Null, &json!(240)));
    let place = json!({"literals": ["exponent ≥ 2", "|x| = |y|"], "differing": 240, "agreeing": 0});
    assert_eq!(finding["condition"], place);
    assert_eq!(finding["symptoms"][0]["name"], "the result has the wrong sign");
}

#[test]
fn a_carry_that_is_lost_in_one_binade() {
    let found = found(|x, y, result| {
        let product = e5m2(x) * e5m2(y);
        let is_up = is_finite(x) && is_finite(y) && e5m2(result).abs() > product.abs();
        if is_up && result >> 7 == 1 && field(result) == 3 { result - 1 } else { result }
    });
    let finding = &found["values"];
    assert_eq!((&found["cause"], &finding["condition"]["agreeing"]), (&Value::Null, &json!(0)));
    let literals = finding["condition"]["literals"].as_array().expect("literals");
    // Products of 3 by 3 bits round up into the next binade alone: into 2^(3 − 15) from the one
    // below.
    assert_eq!(*literals, ["negative", "exponent -13", "carry out of the significand"]);
}
