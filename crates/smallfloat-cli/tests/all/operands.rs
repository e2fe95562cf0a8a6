//! One language of operands: the same text means the same to every command. Expected codes are
//! those of e4m3fn by hand: 9/8 is 0x39, 40 = 1.25 · 2^5 is 0x62, 1/3 is nearest 11/32, 0x2b.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::common::smallfloat;

/// What each command makes of one operand, as the code of e4m3fn that it becomes.
const COMMANDS: [(&str, &[&str], &[&str]); 3] = [
    ("show", &["show", "e4m3fn", "--json"], &[]),
    ("convert", &["convert", "--to", "e4m3fn", "--json"], &["--from", "e4m3fn"]),
    ("eval", &["eval", "Convert<e4m3fn>", "--json"], &[]),
];

#[test]
fn one_text_has_one_meaning() {
    for (text, code) in [
        ("40", "0x62"),
        ("+40", "0x62"),
        ("0x40p0", "0x68"),
        ("0x1.2p0", "0x39"),
        ("1.125", "0x39"),
        ("9/8", "0x39"),
        ("9p-3", "0x39"),
        ("1/3", "0x2b"),
        ("-1/3", "0xab"),
        ("-0.3", "0xaa"),
        (".3", "0x2a"),
        ("1e2", "0x6c"),
        ("-0", "0x80"),
        ("NaN", "0x7f"),
        ("#39", "0x39"),
        ("code:0x39", "0x39"),
        ("code:0b0_0111_001", "0x39"),
    ] {
        for (name, args, of_codes) in COMMANDS {
            let is_code = text.starts_with(['#', 'c']);
            let more = if is_code { of_codes } else { &[] };
            let run = |args: &[&str], input: &str| -> Value {
                let output = smallfloat(args).write_stdin(input).assert().success().get_output().clone();
                serde_json::from_slice(&output.stdout).expect("JSON")
            };
            // As an argument, with options behind it, and as a line of standard input.
            let first = run(&[args, more, &[text]].concat(), "");
            let (head, options) = args.split_at(args.len() - 1);
            let last = run(&[head, &[text], options, more].concat(), "");
            let line = run(&[args, more, &["-"]].concat(), &format!("# a comment\n{text}\n"));
            for found in [first, last, line] {
                assert_eq!(found[0]["code"], code, "{name} {text}");
            }
        }
    }
}

#[test]
fn what_may_be_both_is_refused_with_both_spellings() {
    for (text, parts) in [
        ("0x40", &["`64`", "`0x40p0`", "`code:0x40`", "`'#40'`", "--hex"][..]),
        ("0b1000000", &["`64`", "`code:0b1000000`", "`'#40'`"]),
        ("code:39", &["`code:39` is not a code", "`code:0x39`"]),
        ("=1.1", &["write `1.1`"]),
        ("1/0", &["`1/0`", "not 0 below"]),
        ("1_000", &["`1_000` is not a number", "`1/3`"]),
        ("-x", &["`-x` is not a number"]),
    ] {
        for (_, args, _) in COMMANDS {
            let mut assert = smallfloat(&[args, &[text]].concat()).assert().code(1);
            for part in parts {
                assert = assert.stderr(contains(*part));
            }
            drop(assert.stderr(contains("value 1").or(contains("operand 1"))));
        }
    }
    let interval = ["kappa", "Exp<bfloat16, e4m3fn>", "--variant", "f32-libm", "--interval", "0x40..1"];
    smallfloat(&interval).assert().code(1).stderr(contains("`code:0x40`"));
}

#[test]
fn with_hex_every_operand_is_a_code() {
    smallfloat(&["show", "e4m3fn", "--hex", "39", "--json"]).assert().success().stdout(contains("\"0x39\""));
    let args = ["convert", "--from", "e4m3fn", "--to", "e4m3fn", "39", "#39", "0x39", "--hex"];
    smallfloat(&args).assert().success().stdout("39 -\n39 -\n39 -\n");
    smallfloat(&["eval", "add", "--format", "e4m3fn", "39", "39", "--hex"]).assert().success().stdout("41\n");
    smallfloat(&["convert", "--to", "e4m3fn", "#39"]).assert().code(1).stderr(contains("--from FORMAT"));
}

/// 0.1 and 0.2 become 13/128 and 13/64; their sum is 39/128 and a tie of 19.5/64: 5/16.
#[test]
fn rounded_operands_are_said_to_be() {
    for operation in [&["Add", "--format", "e4m3fn"][..], &["add", "--format", "e4m3fn"], &["Add<e4m3fn>"]] {
        let call = |more: &[&str]| smallfloat(&[&["eval"], operation, &["0.1", "0.2"], more].concat());
        let assert = call(&[]).assert().success();
        let found = String::from_utf8(assert.get_output().stdout.clone()).expect("text");
        assert!(found.starts_with("0x2a 0.3125 "), "{found}");
        assert
            .stderr(contains("operand 1: 0.1 is rounded to 0.1015625 (0x1d) of e4m3fn"))
            .stderr(contains("operand 2: 0.2 is rounded to 0.203125 (0x25) of e4m3fn"));
        call(&["--exact"]).assert().code(1).stdout("").stderr(contains("`0.1` is not a value of e4m3fn"));
        let output = call(&["--json"]).assert().success().get_output().clone();
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(
            (&found[0]["rounded"][1]["input"], &found[0]["rounded"][1]["code"]),
            (&"0.2".into(), &"0x25".into())
        );
    }
    let exact = ["eval", "Add<e4m3fn>", "0.5", "0.25"];
    smallfloat(&exact).assert().success().stderr("").stdout(contains("0.75"));
    smallfloat(&["eval", "Add<e4m3fn>", "inf", "1"]).assert().code(1).stderr(contains("nearest is 448"));
}
