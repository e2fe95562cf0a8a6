//! The command from outside: contract, messages, exit statuses. Expected values are those of the
//! formats' definitions.

use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use serde_json::Value;

use crate::common::{smallfloat, words};

fn output(args: &[&str], input: &str) -> String {
    let assert = smallfloat(args).write_stdin(input).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("output is text")
}

fn json(args: &[&str], input: &str) -> Value {
    serde_json::from_str(&output(args, input)).expect("output is JSON")
}

/// Fails with status 1, nothing on standard output, and one line that has all of `parts`.
fn refuses(args: &[&str], input: &str, parts: &[&str]) {
    let mut assert = smallfloat(args).write_stdin(input).assert().code(1);
    assert = assert.stderr(starts_with("smallfloat: error: "));
    assert = assert.stderr(predicate::function(|text: &str| text.lines().count() == 1));
    for part in parts {
        assert = assert.stderr(contains(*part));
    }
}

#[test]
fn table_csv_lists_every_code_of_e4m3fn() {
    let csv = output(&["table", "e4m3fn", "--csv"], "");
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 257);
    let first = [
        "code,exact,value,class",
        "0x00,0,0,zero",
        "0x01,1p-9,0.001953125,subnormal",
        "0x02,1p-8,0.00390625,subnormal",
    ];
    assert_eq!(lines[..4], first);
    // 448, whose neighbours are 416 and 480; NaN on S.1111.111; −0.
    assert_eq!(lines[1 + 0x7e..][..3], ["0x7e,7p6,448,normal", "0x7f,NaN,NaN,nan", "0x80,-0,-0,zero"]);
    assert_eq!(lines[256], "0xff,NaN,NaN,nan");
}

#[test]
fn table_understands_the_long_form_of_p3109() {
    let csv = output(&["table", "Binary{8, 3, Signed, Extended}", "--csv"], "");
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines[1], "0x00,0,0,zero");
    assert!(lines[2].starts_with("0x01,1p-17,") && lines[2].ends_with(",subnormal"));
    assert!(lines[1 + 0x40].starts_with("0x40,1p0,1,normal"), "1 is 2^(16 − 16)");
    assert!(lines[1 + 0x7e].starts_with("0x7e,3p14,"), "the largest value is 49152");
    assert_eq!(lines[1 + 0x7f..][..2], ["0x7f,Inf,Inf,infinite", "0x80,NaN,NaN,nan"]);
    assert_eq!(lines[256], "0xff,-Inf,-Inf,infinite");
    assert_eq!(csv, output(&["table", "BINARY8P3SE", "--csv"], ""));
}

#[test]
fn codes_have_as_many_digits_as_they_need() {
    assert!(output(&["table", "e2m1fn", "--csv"], "").contains("\n0x7,3p1,6,normal\n"));
    assert!(output(&["table", "e3m2fn", "--csv"], "").contains("\n0x1f,7p2,28,normal\n"));
    assert!(output(&["table", "uhp", "--csv"], "").contains("\n0xfc00,Inf,Inf,infinite\n"));
}

#[test]
fn table_for_people_shows_true_values_and_fits() {
    let table = output(&["table", "e4m3fn"], "");
    assert!(table.contains("0x7e   0_1111_110      7p6            448   normal"), "{table}");
    let wide = output(&["table", "shp:bias=15"], "");
    assert_eq!(wide.lines().count(), 1 + (1 << 16));
    for text in [table, wide, output(&["formats"], "")] {
        assert!(text.lines().all(|line| line.chars().count() <= 100));
        assert!(!text.contains('\x1b'), "no colour but on a terminal");
    }
}

#[test]
fn table_json_has_an_object_a_code() {
    let table = json(&["table", "cfloat8_1_4_3:bias=7", "--json"], "");
    assert_eq!(table.as_array().map(Vec::len), Some(256));
    // Tesla's denormals are 2^−bias · 0.m.
    assert_eq!(table[1]["exact"], "1p-10");
    assert_eq!(table[0xb8]["f64"], -1.0);
    refuses(&["table", "binary32"], "", &["binary32 has 2^32 codes", "at most 16 bits"]);
}

#[test]
fn show_explains_a_code_however_written() {
    for code in ["code:0x39", "code:0b0_0111_001", "#39"] {
        let text = output(&["show", "cfloat8_1_4_3:bias=7", code], "");
        for part in ["0_0111_001", "exponent field 7, significand field 1", "9p-3", "1.125", "0x38", "0x3a"] {
            assert!(text.contains(part), "{code}: {part}");
        }
    }
    // The hole of Tesla's denormals: nothing between 7 · 2^−10 and 2^−6.
    let hole = json(&["show", "cfloat8_1_4_3:bias=7", "--hex", "8", "--json"], "");
    assert_eq!((&hole[0]["below"]["exact"], &hole[0]["above"]["exact"]), (&"7p-10".into(), &"9p-9".into()));
    refuses(&["show", "e4m3fn", "#100"], "", &["value 1", "code 0x100 does not fit in 8 bits", "0xff"]);
    refuses(&["show", "e4m3fn", "=1.5"], "", &["value 1", "write `1.5`"]);
}

#[test]
fn show_tells_where_a_value_fell() {
    let text = output(&["show", "e4m3fn", "1.1"], "");
    assert!(text.contains("above     0x39   9p-3         1.125   <- chosen"), "{text}");
    assert!(text.contains("X (inexact)"));
    let down = json(&["show", "e4m3fn", "1.1", "1.25", "--rounding", "toward-zero", "--json"], "");
    assert_eq!((&down[0]["code"], &down[0]["exactly"]), (&"0x38".into(), &false.into()));
    assert_eq!((&down[1]["code"], &down[1]["exactly"]), (&"0x3a".into(), &true.into()));
    // Flags are those of `convert`: NaN is invalid only where the format has none.
    for (format, flags) in
        [("e4m3fn", "-"), ("cfloat8_1_4_3:bias=7", "I"), ("binary8p3se", "-"), ("binary16", "-")]
    {
        assert_eq!(json(&["show", format, "nan", "--json"], "")[0]["flags"], flags, "{format}");
        assert!(output(&["convert", "--to", format, "nan"], "").trim_end().ends_with(flags), "{format}");
    }
    let stochastic = ["show", "e4m3fn", "1.0625", "--rounding", "stochastic-a"];
    assert!(output(&stochastic, "").contains("0x6627e8d5 of 32 bits, from seed 0"));
    let found = json(&[&stochastic[..], &["--json"]].concat(), "");
    assert_eq!((&found[0]["seed"], &found[0]["random_bits"]), (&0.into(), &32.into()));
}

#[test]
fn convert_hex_prints_code_and_flags() {
    let args = ["convert", "--from", "binary32", "--to", "cfloat8_1_4_3:bias=7", "--hex"];
    // 1.1, ∞, NaN, the smallest subnormal, 1000 and −1; comments and blank lines pass.
    let input = "# f32\n3f8ccccd\n\n7f800000\n7fc00000\n  00000001\n0x447A0000\r\nbf800000";
    assert_eq!(output(&args, input), "39 -\n7f O\n7f I\n00 DU\n7f O\nb8 -\n");
    // Into UHP: negatives are invalid alone, an infinity is kept.
    let args = ["convert", "--from", "f32", "--to", "uhp", "--hex"];
    assert_eq!(output(&args, "bf800000\n7f800000\nff800000\n80000000\n"), "fe00 I\nfc00 -\nfe00 I\n0000 -\n");
    // Sources of 16 bits and less come from a table: the same twice, and from arguments.
    let args = ["convert", "--from", "e4m3fn", "--to", "e5m2", "--hex", "7e", "01", "7e"];
    assert_eq!(output(&args, ""), "5f -\n18 -\n5f -\n");
    // By the rules of a unit, and as its register has them.
    let tesla = [&args[..], &["--flags", "tesla"]].concat();
    assert_eq!(output(&tesla, ""), "5f -\n18 D\n5f -\n");
    let x86 = [&args[..], &["--flags", "x86", "--flag-order", "mxcsr"]].concat();
    assert_eq!(output(&x86, ""), "5f 00\n18 02\n5f 00\n");
    let args = ["convert", "--from", "e4m3fn", "--to", "binary64", "--hex", "-"];
    assert_eq!(output(&args, "38\n"), "3ff0000000000000 -\n");
}

#[test]
fn convert_rounds_text_once() {
    let text = output(&["convert", "--to", "e4m3fn", "1.1", "-3p-4", "0x1.8p-3", "-inf", "1e-9"], "");
    let fields: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(fields[0], ["1.1", "->", "0x39", "1.125", "X"]);
    assert_eq!(fields[1], ["-3p-4", "->", "0xa4", "-0.1875", "-"]);
    assert_eq!(fields[2], ["0x1.8p-3", "->", "0x24", "0.1875", "-"]);
    assert_eq!(fields[3][2..4], ["0xff", "NaN"]);
    assert_eq!(fields[4], ["1e-9", "->", "0x00", "0", "UX"]);
    let saturated = json(&["convert", "--to", "e4m3fn", "--preset", "ocp-saturate", "--json", "1e9"], "");
    assert_eq!((&saturated[0]["code"], &saturated[0]["f64"]), (&"0x7e".into(), &448.0.into()));
    assert_eq!(json(&["convert", "--to", "e4m3fn", "--json"], "# nothing\n"), Value::Array(vec![]));
}

#[test]
fn convert_refuses_values_that_the_source_lacks() {
    let args = ["convert", "--from", "e4m3fn", "--to", "e5m2"];
    assert!(output(&args, "1.125\n").starts_with("1.125        -> 0x3c 1 "), "a tie goes to the even code");
    refuses(
        &args,
        "1\n\n1.1\n",
        &["standard input, line 3", "`1.1`", "e4m3fn", "neighbours are 1 and 1.125"],
    );
    refuses(&args, "inf\n", &["nearest is 448"]);
    refuses(&["convert", "--from", "e2m1fn", "--to", "e5m2", "nan"], "", &["`nan` is not a value of e2m1fn"]);
}

#[test]
fn stochastic_words_come_from_a_seed_by_data_line() {
    // 1 + 1/16 is half-way between 1 and 1.125: away iff the word is at least 2^31. The words of
    // seed 0 are the first known answer of Philox4x32-10: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
    let args = words("convert --from binary32 --to e4m3fn --hex --rounding stochastic-a --seed 0");
    let input = "# a comment is no element\n3f880000\n3f880000\n\n3f880000\n3f880000\n";
    assert_eq!(output(&args, input), "38 -\n39 -\n39 -\n39 -\n");
    let args =
        ["convert", "--to", "e4m3fn", "--rounding", "Stochastic-A", "--seed", "0x0", "1.0625", "1.0625"];
    let text = output(&args, "");
    assert!(text.contains("-> 0x38") && text.contains("-> 0x39"), "{text}");
}

#[test]
fn stochastic_words_come_from_a_second_column() {
    let args = words("convert --from f32 --to e4m3fn --hex --rounding stochastic-a --random-bits 8");
    assert_eq!(output(&args, "3f880000 7f\n3f880000 80\n3f880000\t0x00\n"), "38 -\n39 -\n38 -\n");
    refuses(&args, "3f880000\n", &["line 1", "random word is missing", "--seed"]);
    refuses(&args, "3f880000 100\n", &["line 1", "random word 0x100 does not fit in 8 bits"]);
    refuses(&args, "3f880000 1 2\n", &["more than two columns"]);
    // Without a seed, and without codes in a column, the seed is 0.
    let args = ["convert", "--to", "e4m3fn", "--rounding", "stochastic-a", "1.0625", "1.0625"];
    let found = smallfloat(&args).assert().success();
    let [text, note] =
        [&found.get_output().stdout, &found.get_output().stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(text.contains("-> 0x38") && text.contains("-> 0x39"), "{text}");
    assert!(note.contains("note: random words are those of --seed 0"), "{note}");
    let found = json(&[&args[..], &["--json"]].concat(), "");
    assert_eq!((&found[1]["seed"], &found[1]["code"]), (&0.into(), &"0x39".into()));
    let args =
        ["convert", "--to", "e5m2", "--rounding", "stochastic-a", "--seed", "1", "--random-bits", "40", "1"];
    refuses(&args, "", &["1..=32"]);
}

#[test]
fn bad_lines_are_named_and_earlier_ones_stand() {
    let args = ["convert", "--from", "e4m3fn", "--to", "e5m2", "--hex"];
    smallfloat(&args)
        .write_stdin("38\n# c\n1ff\n")
        .assert()
        .code(1)
        .stdout("3c -\n")
        .stderr(contains("standard input, line 3").and(contains("0x1ff does not fit in 8 bits")));
    refuses(&args, "3g\n", &["line 1", "`3g` is not a code: write it in hexadecimal"]);
    refuses(&args, "38 01\n", &["unexpected `01`"]);
    refuses(&["convert", "--to", "e5m2"], "1\ntwo\n", &["line 2", "`two` is not a number", "0x1.8p-3"]);
}

#[test]
fn formats_that_do_not_exist_say_what_does() {
    refuses(&["table", "cfloat8_1_4_3:bias=64"], "", &["bias = 64", "0..=63"]);
    refuses(&["table", "e4m3fm"], "", &["unknown format `e4m3fm`", "did you mean `e4m3fn`"]);
    refuses(&["table", "binary2p1se"], "", &["K = 2", "3..=32"]);
    refuses(&["table", "binary8p8se"], "", &["P = 8", "1..=7"]);
    refuses(&["table", "e3m2"], "", &["ambiguous", "e3m2fn", "ieee:k=6,p=3"]);
    refuses(&["convert", "--from", "nonsense", "--to", "e5m2"], "", &["--from", "`smallfloat formats`"]);
}

/// The bias that puts 1 where IEEE 754 has it: 2^(E−1) − 1 for E exponent bits.
#[test]
fn a_missing_bias_is_the_default_and_is_said() {
    for (name, full) in [
        ("cfloat8_1_4_3", "cfloat8_1_4_3:bias=7"),
        ("cfloat8_1_5_2", "cfloat8_1_5_2:bias=15"),
        ("shp", "shp:bias=15"),
    ] {
        let note = format!("smallfloat: note: no bias is given: {full}, ");
        let add = format!("Add<{name}, {name}, {name}>");
        let whole = add.replace(name, full);
        for (short, long) in [
            (vec!["show", name, "1.1"], vec!["show", full, "1.1"]),
            (vec!["formats", name], vec!["formats", full]),
            (vec!["table", name, "--csv"], vec!["table", full, "--csv"]),
            (
                vec!["convert", "--from", name, "--to", name, "1"],
                vec!["convert", "--from", full, "--to", full, "1"],
            ),
            (vec!["eval", &add, "1", "1"], vec!["eval", "Add", "--format", full, "1", "1"]),
            (vec!["supports", &add, "--json"], vec!["supports", &whole, "--json"]),
            (vec!["lab", "subnormals", "--format", name], vec!["lab", "subnormals", "--format", full]),
            (
                vec!["eval", "Add", "--format", name, "1", "1"],
                vec!["eval", "Add", "--format", full, "1", "1"],
            ),
        ] {
            let assert = smallfloat(&short)
                .assert()
                .success()
                .stderr(contains(&note).and(predicate::function(|text: &str| text.lines().count() == 1)));
            assert_eq!(output(&long, "").as_bytes(), assert.get_output().stdout, "{short:?}");
        }
    }
}

#[test]
fn wrong_usage_is_status_2() {
    for args in [
        &["tabel", "e4m3fn"][..],
        &["convert", "1"],
        &["convert", "--to", "e5m2", "--roundng", "1"],
        &["convert", "--to", "e5m2", "--hex", "38"],
        &["convert", "--to", "e5m2", "--rounding", "up", "1"],
        &["table", "e5m2", "--csv", "--json"],
    ] {
        smallfloat(args).assert().code(2).stdout("");
    }
}

#[test]
fn every_help_has_an_example() {
    smallfloat(&["--help"]).assert().success().stdout(contains("Example"));
    for command in ["formats", "table", "show", "convert"] {
        smallfloat(&[command, "--help"]).assert().success().stdout(contains("Examples:\n  smallfloat"));
    }
}

#[test]
fn licences_of_all_that_is_linked_are_printed() {
    let version = output(&["--version"], "");
    assert_eq!(version, format!("smallfloat {}\n", env!("CARGO_PKG_VERSION")));
    for args in [&["--licences"][..], &["--version", "--licences"], &["--licenses"]] {
        let text = output(args, "");
        assert!(text.starts_with(&version), "{args:?}");
        for part in ["MIT License", "clap ", "Optical Recognition of Handwritten Digits", "CC-BY-4.0"] {
            assert!(text.contains(part), "{args:?}: {part}");
        }
    }
}

#[test]
fn the_sample_has_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sample.svg");
    let args = ["--plot", path.to_str().expect("a name in UTF-8")];
    assert!(output(&args, "").contains("verified"));
    let svg = std::fs::read_to_string(&path).expect("the picture is written");
    assert!(svg.contains("<svg") && svg.contains("optimizer.gradient"));
    refuses(&args, "", &["--plot", "sample.svg", "--overwrite"]);
}

/// A format that does not exist is told alike wherever it stands, with one status.
#[test]
fn formats_that_do_not_exist() {
    for line in [
        "convert --to nope 1",
        "eval Add --format nope 1 2",
        "vectors gen --op Add --format nope",
        "rtl gen --op Add --format nope",
        "quantize in -o out --format nope",
        "lab accumulate --format nope",
        "inspect in --bias-report --format nope",
        "verify in --source in --format nope",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let option = if line.contains("--to") { "--to" } else { "--format" };
        let parts = [
            &*format!("smallfloat: error: {option}: unknown format `nope`"),
            "`smallfloat formats` lists them",
        ];
        refuses(&args, "", &parts);
    }
}
