//! Calls in P3109's spelling, and tables of their results. Everything here panics where a test
//! should fail.
#![expect(clippy::missing_panics_doc, reason = "tests panic where they fail")]

use smallfloat::p3109::{Answer, Specialization};
use smallfloat::{FlagPolicy, Flags, Format};

/// A format by name.
pub fn format(name: &str) -> Format {
    name.parse().unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A number in hexadecimal.
pub fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// A call in P3109's spelling, with flags by Tesla's rules, as the tables have them.
pub fn call(text: &str, codes: &[u64]) -> Answer {
    let call: Specialization = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
    let tesla = call.arithmetic().with_flags(FlagPolicy::TESLA);
    call.with_arithmetic(tesla).call(codes).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The code and flags that a call gives.
pub fn code(text: &str, codes: &[u64]) -> (u64, Flags) {
    match call(text, codes) {
        Answer::Code(r) => (r.value, r.flags),
        other => panic!("{text} gives {other:?}"),
    }
}

/// The truth value and flags that a call gives.
pub fn truth(text: &str, codes: &[u64]) -> (bool, Flags) {
    match call(text, codes) {
        Answer::Truth(r) => (r.value, r.flags),
        other => panic!("{text} gives {other:?}"),
    }
}

/// Checks rows of a call, its operands, the result and the flags: Tesla's four or all six, or `?`
/// where the source leaves them open.
pub fn check_rows(rows: &[[&str; 4]], tesla: bool) {
    let mut wrong = Vec::new();
    for row @ [name, operands, result, flags] in rows {
        let name = name
            .replace("$T", "cfloat8_1_4_3:bias=7")
            .replace("$G", "cfloat8_1_4_3:bias=7,subnormals=gradual")
            .replace("$H", "binary16");
        let codes: Vec<u64> = operands.split_whitespace().map(hex).collect();
        let (value, raised) = code(&name, &codes);
        let raised = if tesla { raised.tesla() } else { raised }.to_string();
        if value != hex(result) || (*flags != "?" && raised != *flags) {
            wrong.push(format!("{row:?}: got {value:x} {raised}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
