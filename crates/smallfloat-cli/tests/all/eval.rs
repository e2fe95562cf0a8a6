//! `smallfloat eval`: P3109's spelling, streams, and what it refuses. Expected values are those of
//! the P3109 talk, of Tesla's paper's digest (Table 6) and of the draft's golden vectors.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn eval(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.arg("eval").args(args);
    command
}

#[test]
fn one_call_by_codes_or_by_values() {
    let fma = "FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se>";
    eval(&[fma, "--hex", "1e", "7e", "01"]).assert().success().stdout("5d\n");
    eval(&[fma, "3p-10", "49152", "1p-17"]).assert().success().stdout(contains("160"));
    let add = "Add<Binary{8, 4, Signed, Extended}, binary8p4se, binary8p4se, (NearestTiesToEven, SatFinite)>";
    eval(&[add, "--hex", "7e", "7e"]).assert().success().stdout("7e\n");
    eval(&["CompareLess<e5m2, uhp>", "-1", "2"]).assert().success().stdout("true\n");
    eval(&["Class<e5m2>", "--hex", "01"]).assert().success().stdout("ClsPositiveSubnormal\n");
}

/// What is printed can be typed: also a decimal of 17 digits, which is not the value to the last
/// one.
#[test]
fn printed_values_are_operands() {
    eval(&["Exp<binary32, binary32>", "1"]).assert().success().stdout(contains(" 2.7182817459106445 "));
    eval(&["Log<binary32, binary32>", "--exact", "2.7182817459106445"])
        .assert()
        .success()
        .stdout("0x3f7fffff 0.9999999403953552 X\n");
    eval(&["Negate<binary64, binary64>", "0.1"]).assert().success().stdout(contains("-0.1"));
    eval(&["Negate<binary32, binary32>", "--exact", "2.71828171"])
        .assert()
        .code(1)
        .stderr(contains("neighbours"));
}

#[test]
fn a_call_a_line() {
    let multiply = "Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>";
    eval(&[multiply, "--hex"])
        .write_stdin("# Table 6\n7F 7F\n01 38\n\n08 30\n")
        .assert()
        .success()
        .stdout("7f\n01\n07\n");
    let gradual = multiply.replace("bias=7", "bias=7,subnormals=gradual");
    eval(&[&gradual, "--hex"]).write_stdin("08 30\n").assert().success().stdout("04\n");
}

#[test]
fn stochastic_words_come_last() {
    // 21/16 lies 5/8 of the way from 04 to 05 of Binary4p2sf; N = 2, mode A: 04 04 05 05.
    let convert = "Convert<binary32, Binary4p2sf, (StochasticA<2>, SatNone)>";
    let calls = "3fa80000 R=0\n3fa80000 R=1\n3fa80000 R=2\n3fa80000 R=3\n";
    eval(&[convert, "--hex"]).write_stdin(calls).assert().success().stdout("4\n4\n5\n5\n");
    eval(&[convert, "--hex"]).write_stdin("3fa80000\n").assert().code(1).stderr(contains("R="));
    eval(&[convert, "--hex"]).write_stdin("3fa80000 R=4\n").assert().code(1).stderr(contains("2 bits"));
}

#[test]
fn mistakes_are_named() {
    eval(&["Ad<e5m2, e5m2, e5m2>", "1", "2"]).assert().code(1).stderr(contains("did you mean `Add`"));
    eval(&["Add<e5m2, e5m2>", "1", "2"]).assert().code(1).stderr(contains("3 formats"));
    eval(&["Add<e5m2, e5m2, e5m2>", "1"]).assert().code(1).stderr(contains("2 operands"));
    eval(&["Add<e5m2, e5m2, e5m2>", "1.1", "1", "--exact"])
        .assert()
        .code(1)
        .stderr(contains("neighbours are 1 and 1.25"));
    eval(&["Add<e2m1fn, e5m2, e5m2>", "--hex", "10", "1"]).assert().code(1).stderr(contains("0xf"));
}

#[test]
fn mistakes_in_operands_have_their_place() {
    let add = "Add<e2m1fn, e5m2, e5m2>";
    for (operands, words) in [
        (["1", "zz"], "operand 2: `zz` is not a code"),
        (["10", "1"], "operand 1: `10` is not a code of e2m1fn, 0x0..=0xf"),
    ] {
        eval(&[add, "--hex", operands[0], operands[1]]).assert().code(1).stderr(contains(words));
    }
    eval(&[add, "--exact", "1", "1.1"])
        .assert()
        .code(1)
        .stderr(contains("operand 2: `1.1` is not a value of e5m2"));
    let stochastic = "Sqrt<e5m2, e5m2, (StochasticA<3>)>";
    eval(&[stochastic, "2 R=[1]"]).assert().code(1).stderr(contains("one random word, not a sequence"));
    eval(&[stochastic, "2 R=8"]).assert().code(1).stderr(contains("R: `8` is not a random word of 3 bits"));
    eval(&["Add<e5m2, e5m2>"]).assert().code(1).stderr(contains("takes 3 formats, 2 are given"));
    eval(&["Add"]).assert().code(1).stderr(contains("write").or(contains("--format e4m3fn")));
    eval(&["Add<e5m2>", "--format", "e5m2"]).assert().code(1).stderr(contains("one of them"));
    eval(&["Exp2<binary64, binary64, scale=-1100000000>", "1100000000"])
        .assert()
        .code(1)
        .stderr(contains("scale must be -1048576..=1048576"));
}

/// What was answered before a mistake stays readable as JSON.
#[test]
fn arrays_are_closed_before_a_mistake_is_reported() {
    for (input, count) in [("1 1\n2 1\nx 1\n1 1\n", 2), ("x 1\n", 0)] {
        let mut command = eval(&["Add<e5m2, e5m2, e5m2>", "--json"]);
        let output =
            command.write_stdin(input).assert().code(1).stderr(contains("line")).get_output().clone();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(found.as_array().map(Vec::len), Some(count));
    }
}

/// A message quotes the beginning of what it is about.
#[test]
fn long_text_is_cut_in_messages() {
    let long = "7".repeat(100_000);
    let zeros = format!("1.{}1", "0".repeat(10_000));
    let add = "Add<e5m2, e5m2, e5m2>";
    for (args, input) in [
        (vec![add, "--hex"], format!("{long} 1")),
        (vec![add, "--hex"], format!("1 1 {long}")),
        (vec![add, "--exact"], format!("{zeros} 1")),
        (vec![add], format!("x{long} 1")),
        (vec!["Sqrt<e5m2, e5m2, (StochasticA<3>)>"], format!("1 R={long}")),
        (vec!["BlockReduceAdd<1, e5m2, e5m2, e5m2>"], format!("1 {long}")),
    ] {
        let output = eval(&args).write_stdin(input).assert().code(1).get_output().clone();
        assert!(output.stderr.len() < 700, "{args:?}: {} bytes", output.stderr.len());
    }
    let output = eval(&[&format!("Add<{long}>")]).assert().code(1).get_output().clone();
    assert!(output.stderr.len() < 500);
}

#[test]
fn options_round_and_saturate() {
    // 1/3 lies between 0.3125 (0x35) and 0.375 (0x36) of E5M2, nearer to the first.
    for (mode, code) in [("toward-zero", "35"), ("toward-positive", "36"), ("Nearest-Even", "35")] {
        let args = ["divide", "--format", "e5m2", "--rounding", mode, "--hex", "3c", "42"];
        eval(&args).assert().success().stdout(format!("{code}\n"));
    }
    // 57344 · 2 lies beyond the range.
    for (mode, printed) in [("satfinite", "0x7b 57344 OX\n"), ("satnone", "0x7c Inf OX\n")] {
        eval(&["Add<e5m2>", "57344", "57344", "--saturation", mode]).assert().success().stdout(printed);
    }
    for (args, part) in [
        (&["Add<e5m2, (TowardZero)>", "--rounding", "to-odd", "1", "1"][..], "in its (…)"),
        (&["IsZero", "--format", "e5m2", "--rounding", "to-odd", "1"], "rounds nothing"),
    ] {
        eval(args).assert().code(1).stderr(contains(part));
    }
}

/// Flags by the rules of a unit: two products that every x86 gives, and what RISC-V says of them.
#[test]
fn flags_by_the_rules_of_a_unit() {
    let multiply = ["multiply", "--format", "binary32", "--hex"];
    for (operands, unit, expected) in [
        (["3f7ffffe", "00800001"], "x86", "00800000 X\n"),
        (["3f7ffffe", "00800001"], "arm", "00800000 UX\n"),
        (["7fc00000", "00800001"], "x86", "7fc00000 -\n"),
        (["7f800001", "00000001"], "x86", "7fc00001 I\n"),
        (["7f800001", "00000001"], "riscv", "7fc00000 I\n"),
        (["7f800001", "00000001"], "tesla", "7fc00000 ID\n"),
        (["7f800001", "00000001"], "all", "7fc00000 I\n"),
    ] {
        eval(&[&multiply[..], &["--flags", unit], &operands].concat()).assert().success().stdout(expected);
    }
    // Without flags asked for the line is the code alone.
    let operands = ["7fc00000", "00800001"];
    eval(&[&multiply[..], &operands].concat()).assert().success().stdout("7fc00000\n");
    let json = [&multiply[..], &["--json"], &operands].concat();
    eval(&json).assert().success().stdout(contains(r#""code":"0x7fc00000""#).and(contains(r#""flags":"-""#)));
    // As bits of a register.
    for (order, expected) in [("fflags", "08"), ("fpsr", "02"), ("mxcsr", "04")] {
        let divide = ["divide", "--format", "binary32", "--flags", "x86", "--flag-order", order, "1", "0"];
        eval(&divide).assert().success().stdout(format!("0x7f800000 Inf {expected}\n"));
    }
    // A processor has ieee semantics, unless others are named.
    eval(&["Divide<binary32, semantics=p3109>", "--hex", "--flags", "arm", "3f800000", "0"])
        .assert()
        .success()
        .stdout("7fc00000 I\n");
}
