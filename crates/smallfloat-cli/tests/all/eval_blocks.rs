//! `smallfloat eval` with blocks, scales, queries and random sequences, as a newcomer types them.
//! Expected codes are the P3109 draft's golden vectors (D1 revised, September 2026) or sums done by
//! hand.

use assert_cmd::Command;
use predicates::str::contains;

fn eval(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.arg("eval").args(args);
    command
}

const TO_BLOCK: &str = "ConvertToBlockMaxAbsFinite<2, Binary8p4se, Binary8p1uf, Binary4p2sf, \
                        (TowardPositive, SatNone), (NearestTiesToEven, SatNone)>";

#[test]
fn scaled_operations_take_scale_and_element_in_turn() {
    let add = "ScaledAdd<(Binary8p1uf, Binary4p2sf), (Binary8p1uf, Binary4p2sf), Binary8p4se>";
    eval(&[add, "--hex", "83", "5", "7f", "7"]).assert().success().stdout("5e\n");
    eval(&[add, "8", "1.5", "0.5", "3"]).assert().success().stdout("0x5e 14 X\n");
    eval(&[add, "8", "1.5"]).assert().code(1).stderr(contains("ScaledAdd takes 4 operands: write `x x x x`"));
}

#[test]
fn blocks_by_codes_by_values_and_as_json() {
    eval(&[TO_BLOCK, "--hex", "[4c c0]"]).assert().success().stdout("82 [3 9]\n");
    eval(&[TO_BLOCK, "[3,", "-1]"]).assert().success().stdout("0x82 [0x3 0x9] 4 [0.75 -0.25] X\n");
    let found = eval(&[TO_BLOCK, "--json", "[3 -1]"]).output().expect("it ran").stdout;
    let found: serde_json::Value = serde_json::from_slice(&found).expect("JSON");
    assert_eq!(found[0]["scale"]["code"], "0x82");
    assert_eq!(found[0]["elements"][1]["exact"], "-1p-2");
    // 2·(3·4) + 2·(−1·½) = 23.
    let dot = "BlockDotProduct<2, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32>";
    eval(&[dot, "2 [3 -1] 1 [4 0.5]"]).assert().success().stdout("0x41b80000 23 -\n");
}

#[test]
fn a_block_call_a_line() {
    let add = "BlockAdd<2, (Binary8p1uf, Binary8p4se), (Binary8p1uf, Binary8p4se), Binary8p1uf, Binary8p4se>";
    // 2·[1, 3] + [1, −1] over 4 and over 1: [¾, 5/4], [3, 5]; a zero scale gives zeros.
    eval(&[add, "--hex"])
        .write_stdin("81 [40 4c] 80 [40 c0] 82\n81 [40 4c] 80[40 c0] 80\n\n81 [7f 4c] 80 [40 c0] 0\n")
        .assert()
        .success()
        .stdout("82 [3c 42]\n80 [4c 52]\n00 [00 00]\n");
}

#[test]
fn random_words_come_last_a_word_an_element() {
    // 21/16 lies 5/8 of the way from 4 to 5; N = 2, mode B: 4 5 5 5.
    let convert = "ConvertFromBlock<4, Binary8p1uf, binary32, Binary4p2sf, (StochasticB<2>, SatNone)>";
    let block = "81 [3f280000 3f280000 3f280000 3f280000]";
    eval(&[convert, "--hex", block, "R=[0 1 2 3]"]).assert().success().stdout("[4 5 5 5]\n");
    eval(&[convert, "--hex", block]).assert().code(1).stderr(contains("add R=[… …]"));
    eval(&[convert, "--hex", block, "R=[0 1 2]"]).assert().code(1).stderr(contains("takes 4 random words"));
    eval(&[convert, "--hex", block, "R=[0 1 2 4]"])
        .assert()
        .code(1)
        .stderr(contains("R=[…], word 4: `4` is not a random word of 2 bits, 0x0..=0x3"));
    eval(&[convert, "--hex", block, "R=0"]).assert().code(1).stderr(contains("add R=[… …]"));
    let sum = "BlockReduceAdd<2, Binary8p1uf, binary32, Binary4p2sf, (StochasticB<2>, SatNone)>";
    // 1 + 5/16
    eval(&[sum, "--hex", "80 [3f800000 3ea00000] R=0"]).assert().success().stdout("4\n");
    eval(&[sum, "--hex", "80 [3f800000 3ea00000] R=1"]).assert().success().stdout("5\n");
    // A scale's word comes before the elements'.
    let both =
        TO_BLOCK.replace("TowardPositive", "StochasticA<1>").replace("NearestTiesToEven", "StochasticA<2>");
    eval(&[&both, "--hex", "[44 44] R=0 R=[3 3]"]).assert().success().stdout("80 [5 5]\n");
    eval(&[&both, "--hex", "[44 44] R=1 R=[0 0]"]).assert().success().stdout("81 [3 3]\n");
    eval(&[&both, "--hex", "[44 44] R=[0 0]"]).assert().code(1).stderr(contains("R=… with 1 bits"));
}

#[test]
fn queries_take_no_operand() {
    eval(&["BitwidthOf<binary32>"]).assert().success().stdout("32\n");
    eval(&["SignednessOf<Binary8p1uf>"]).assert().success().stdout("Unsigned\n");
    eval(&["DomainOf<e4m3fn>", "--json"]).assert().success().stdout(contains("\"Finite\""));
    eval(&["MaxFiniteOf<Binary8p3se>"]).assert().success().stdout("0x7e 49152 -\n");
    eval(&["MaxFiniteOf<Binary8p3se>", "--hex"]).assert().success().stdout("7e\n");
    eval(&["RoundOf<(StochasticA<8>, SatNone)>"]).assert().success().stdout("StochasticA<8>\n");
    eval(&["SatOf<(ToOdd, SatPropagate)>"]).assert().success().stdout("SatPropagate\n");
    eval(&["BitwidthOf<binary32>", "1"]).assert().code(1).stderr(contains("takes no operands"));
}

#[test]
fn elementary_functions_are_there() {
    // sin 1 = 0.841470984807896…, in binary32 3f576aa4.
    eval(&["Sin<binary32, binary32>", "--hex", "3f800000"]).assert().success().stdout("3f576aa4\n");
}

#[test]
fn mistakes_in_blocks_are_named() {
    let sum = "BlockReduceAdd<2, e8m0fnu, e2m1fn, binary16>";
    for (operands, words) in [
        ("1 [1 2 3]", "operand 1 of BlockReduceAdd has 3 elements, the block length is 2"),
        ("1 []", "0 elements"),
        ("1 [1]", "has 1 element, the"),
        ("1 [1 x]", "operand 1, element 2"),
        ("1 [1 2] R=[1]", "deterministic rounding takes no R="),
        ("1 1 2", "`[` is missing"),
        ("1 [1 2", "`]` is missing"),
        ("[1 2]", "`[` where a code or a value should be"),
        ("1 [1 7]", "is not a value of e2m1fn"),
        ("1 [1 2] 3", "`3` is too much"),
        ("1 [1 2] R=1", "deterministic rounding takes no R="),
    ] {
        eval(&[sum, "--exact", operands]).assert().code(1).stderr(contains(words));
    }
    eval(&[sum, "--hex", "80 [1 10]"])
        .assert()
        .code(1)
        .stderr(contains("operand 1, element 2: `10` is not a code of e2m1fn, 0x0..=0xf"));
    eval(&["BlockReduceAdd<0, e8m0fnu, e2m1fn, binary16>"]).assert().code(1).stderr(contains("must be 1..="));
}

/// An error says which operand, which element, what was typed and what is legal.
#[test]
fn mistakes_in_codes_have_their_place() {
    let exp = "BlockExp<2, (Binary8p1uf, Binary8p4se), Binary8p1uf, Binary4p2sf>";
    for (operands, words) in [
        ("10 [0 100] 80", "operand 1, element 2: `100` is not a code of binary8p4se, 0x0..=0xff"),
        ("10 [zz 0] 80", "operand 1, element 1: `zz` is not a code"),
        ("100 [0 0] 80", "operand 1, scale: `100` is not a code of binary8p1uf, 0x0..=0xff"),
        ("10 [0 0] 1ff", "operand 2: `1ff` is not a code of binary8p1uf, 0x0..=0xff"),
    ] {
        eval(&[exp, "--hex", operands]).assert().code(1).stderr(contains(words));
    }
    let stochastic = exp.replace("4p2sf>", "4p2sf, (StochasticA<3>, SatNone)>");
    eval(&[&stochastic, "--hex", "10 [0 0] 80 R=[0 zz]"])
        .assert()
        .code(1)
        .stderr(contains("R=[…], word 2: `zz` is not a random word of 3 bits, 0x0..=0x7"));
    let sum = "BlockReduceAdd<1, e8m0fnu, e2m1fn, e2m1fn, (StochasticA<3>, SatNone)>";
    eval(&[sum, "--hex", "80 [1] R=[1]"])
        .assert()
        .code(1)
        .stderr(contains("one random word, not a sequence"));
    eval(&["BlockDotProduct<2, (e8m0fnu, e5m2), (e8m0fnu, e5m2), e5m2>"])
        .assert()
        .code(1)
        .stderr(contains("without brackets"));
}
