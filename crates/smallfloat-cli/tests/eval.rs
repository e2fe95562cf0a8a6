//! `smallfloat eval`: P3109's spelling, streams, and what it refuses. Expected values are those of the P3109 talk, of Tesla's
//! paper's digest (Table 6) and of the draft's golden vectors.

use assert_cmd::Command;
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

/// What is printed can be typed: the shortest decimals of wide formats too.
#[test]
fn printed_values_are_operands() {
    eval(&["Exp<binary32, binary32>", "1"]).assert().success().stdout(contains("2.7182817"));
    eval(&["Log<binary32, binary32>", "2.7182817"]).assert().success().stdout("0x3f7fffff 0.99999994 X\n");
    eval(&["Negate<binary64, binary64>", "0.1"]).assert().success().stdout(contains("-0.1"));
    eval(&["Negate<binary32, binary32>", "2.71828171"]).assert().code(1).stderr(contains("neighbours"));
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
    eval(&["Add<e5m2, e5m2, e5m2>", "1.1", "1"])
        .assert()
        .code(1)
        .stderr(contains("neighbours are 1 and 1.25"));
    eval(&["Add<e2m1fn, e5m2, e5m2>", "--hex", "10", "1"]).assert().code(1).stderr(contains("0xf"));
}
