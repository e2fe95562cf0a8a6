//! Lists of values in `show` and `convert`. Expected values are integers and dyadic fractions by
//! hand, and for NF4 the bits of bitsandbytes' table.

use predicates::str::contains;
use serde_json::Value;

use crate::common::{output, smallfloat};

#[test]
fn show_tells_where_a_value_falls_among_a_list() {
    // 1.3 lies between 83/64 and 84/64, and 83.2 is nearer to 83; the middles around 83/64 are
    // 165/128 and 167/128.
    let shown: Value = serde_json::from_str(&output(&["show", "mxint8", "--json", "1.3"])).expect("JSON");
    let shown = &shown[0];
    assert_eq!((&shown["code"], &shown["exact"]), (&"0x53".into(), &"83p-6".into()));
    assert_eq!((&shown["exactly"], &shown["rank"]), (&false.into(), &(127 + 83).into()));
    let around =
        ["below", "above"].map(|side| [&shown[side]["code"], &shown[side]["middle"]].map(Value::as_str));
    assert_eq!(around, [[Some("0x52"), Some("165p-7")], [Some("0x54"), Some("167p-7")]]);
    let text = output(&["show", "int4", "2.5", "#8", "-9"]);
    for part in ["2.5 -> int4 0x2", "ties to the even code", "11 of 16, from the lowest"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    // The lowest has nothing below it, and what rounding never gives has no place.
    assert_eq!(text.matches("below     nothing").count(), 2, "{text}");
    assert!(output(&["show", "bnb-fp4", "#8"]).contains("never gives this code"));
}

#[test]
fn convert_reads_codes_of_a_list() {
    // 0xa of NF4 is 3e7c04dd, 0xf is 1.
    assert_eq!(
        output(&["convert", "--from", "nf4", "--to", "binary32", "--hex", "a", "f"]),
        "3e7c04dd -\n3f800000 -\n"
    );
    // −8 is a value of INT4, and −2 · 64 in MXINT8, whose least is −127/64.
    let text = output(&["convert", "--from", "int4", "--to", "mxint8", "#8", "-1", "0"]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let expected = [
        ["#8", "->", "0x81", "-1.984375", "X"],
        ["-1", "->", "0xc0", "-1", "-"],
        ["0", "->", "0x00", "0", "-"],
    ];
    assert_eq!(rows, expected);
    // A value as `table` prints it, and as it is.
    for text in ["0.337915", "0.33791524", "0.33791524171829224"] {
        let mut command = smallfloat(&["convert", "--from", "nf4", "--to", "binary32", text]);
        match text {
            "0.337915" => command.assert().failure().stderr(contains("`0.337915` is no value of nf4")),
            _ => command.assert().success().stdout(contains("0x3ead033a")),
        };
    }
}

#[test]
fn what_lists_do_not_have_is_refused() {
    for (args, part) in [
        (&["show", "nf4", "#1f"][..], "the code 0x1f has more than 4 bits"),
        (&["show", "nf4", "nan"], "nf4 has no NaN"),
        (&["show", "nf4", "1", "--rounding", "toward-zero"], "one way to round to a list of values"),
        (&["convert", "--from", "nf4", "--to", "int8", "code:0x10"], "has more than 4 bits"),
        (&["convert", "--from", "int4", "--to", "e4m3fn", "1.5"], "`1.5` is no value of int4"),
    ] {
        smallfloat(args).assert().failure().stderr(contains(part));
    }
}
