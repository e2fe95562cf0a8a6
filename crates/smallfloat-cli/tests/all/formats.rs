//! `smallfloat formats`: the catalogue, a format's card, formats side by side, families, and CSV.
//! Expected values are those of the formats' definitions.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::common::{output, smallfloat};

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&output(args)).expect("output is JSON")
}

/// The records of CSV as RFC 4180 has them.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut fields, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut characters) = (false, text.chars().peekable());
    while let Some(c) = characters.next() {
        match c {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                fields.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut fields));
            }
            c => field.push(c),
        }
    }
    assert!(!is_quoted && field.is_empty() && fields.is_empty(), "the last line ends");
    records
}

#[test]
fn formats_lists_the_catalogue() {
    let list = output(&["formats"]);
    for name in ["cfloat8_1_4_3", "uhp", "e4m3b11fnuz", "e8m0fnu", "binary64", "binary8p3se", "minifloat:"] {
        assert!(list.contains(name), "{name}");
    }
    let formats = json(&["formats", "--json"]);
    assert_eq!(formats.as_array().map(Vec::len), Some(24));
    let find = |name: &str| {
        let all = formats.as_array().into_iter().flatten();
        all.into_iter().find(|format| format["name"] == name).cloned().unwrap_or_default()
    };
    let e4m3 = find("e4m3fn");
    assert_eq!((&e4m3["max"]["f64"], &e4m3["has_infinity"]), (&448.0.into(), &false.into()));
    assert_eq!(e4m3["default_preset"], "ml-dtypes");
    let tesla = find("cfloat8_1_4_3:bias=7");
    assert_eq!((&tesla["finite_values"], &tesla["bias_range"][1]), (&255.into(), &63.into()));
    assert_eq!(find("uhp")["has_negative_zero"], false);
}

#[test]
fn formats_tells_everything_about_the_ones_named() {
    // Where every code is a number, none is NaN.
    assert_eq!(json(&["formats", "cfloat8_1_5_2", "--json"])[0]["nan_codes"], 0);
    // The RFC's comparison table: bias 11, largest value 30, smallest normal 2^−10, smallest 2^−13.
    let b11 = json(&["formats", "E4M3B11FNUZ", "--json"]);
    assert_eq!(b11[0]["max"]["f64"], 30.0);
    assert_eq!(
        (&b11[0]["min_normal"]["exact"], &b11[0]["min_positive"]["exact"]),
        (&"1p-10".into(), &"1p-13".into())
    );
    let card = output(&["formats", "cfloat8_1_4_3:bias=11"]);
    assert!(card.starts_with("cfloat8_1_4_3:bias=11\n") && card.contains("11 of 0..63"), "{card}");
}

/// The cells of a row of a table whose first cell is `name`, of this many columns.
fn cells(table: &str, name: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no row `{name}` in:\n{table}"));
    let rest = &line.trim_start()[name.len()..];
    rest.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(String::from).collect()
}

#[test]
fn formats_stand_side_by_side() {
    let table = output(&["formats", "e4m3fn", "e5m2", "e4m3b11fnuz"]);
    assert_eq!(cells(&table, "bits"), ["8, signed"; 3]);
    assert_eq!(cells(&table, "sign + exp. + sig."), ["1 + 4 + 3", "1 + 5 + 2", "1 + 4 + 3"]);
    assert_eq!(cells(&table, "bias"), ["7", "15", "11"]);
    assert_eq!(cells(&table, "largest"), ["448 = 7p6", "57344 = 7p13", "30 = 15p1"]);
    assert_eq!(cells(&table, "least normal")[0], "0.015625 = 2^-6");
    assert_eq!(cells(&table, "least positive")[0], "0.001953125 = 2^-9");
    assert_eq!(cells(&table, "precision"), ["4 bits", "3 bits", "4 bits"]);
    assert_eq!(cells(&table, "specials"), ["NaN, −0", "±Inf, NaN, −0", "NaN"]);
    assert_eq!(cells(&table, "NaN codes"), ["2", "6", "1"]);
    assert_eq!(cells(&table, "finite codes"), ["254", "248", "255"]);
    assert!(table.contains("nearest-even"), "{table}");
    // As objects they are what each is alone.
    let all = json(&["formats", "e4m3fn", "e5m2", "--json"]);
    assert_eq!(all.as_array().map(Vec::len), Some(2));
    assert_eq!(all[1], json(&["formats", "e5m2", "--json"])[0]);
}

#[test]
fn tables_of_many_formats_fit() {
    let long = "minifloat:k=7,p=3,bias=5,signed=false,specials=nan-allones,subnormals=none";
    let seven = ["formats", "binary64", "binary32", long, "e8m0fnu", "uhp", "shp", "binary8p3se"];
    for count in 3..=seven.len() {
        let table = output(&seven[..count]);
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
        // Four in a table.
        assert_eq!(table.matches("\n least normal").count(), (count - 1).div_ceil(4), "{table}");
    }
}

#[test]
fn families_are_told_and_their_members_listed() {
    for name in ["P3109", "p3109", "binary", "BINARY"] {
        let told = output(&["formats", name]);
        for part in ["504 formats", "binary<K>p<P><s|u><e|f>", "K = 3..16", "smallfloat formats P3109 --csv"]
        {
            assert!(told.contains(part), "{part} is not in:\n{told}");
        }
    }
    // K − 3 formats of each width K: P = 2..K − 2.
    assert!(
        output(&["formats", "ieee"]).contains(&format!("{} formats", (4..=16).map(|k| k - 3).sum::<i32>()))
    );
    assert!(output(&["formats", "minifloat"]).contains("k, p, bias"));
    // Signed formats have P = 1..K − 1, unsigned ones 1..K, each finite or extended.
    let members = json(&["formats", "binary", "--json"]);
    let members = members.as_array().expect("an array");
    assert_eq!(members.len(), (3..=16).map(|k| 2 * (k - 1 + k)).sum::<usize>());
    assert_eq!(records(&output(&["formats", "P3109", "--csv"])).len(), 1 + members.len());
    let two = output(&["formats", "P3109", "e5m2"]);
    assert!(two.contains("504 formats") && two.contains("57344"), "{two}");
    let refused = smallfloat(&["formats", "minifloat", "--json"]).assert().code(1);
    refused.stderr(contains("too many formats").and(contains("minifloat:k=8,p=4,bias=7")));
}

#[test]
fn csv_has_a_header_and_a_line_a_format() {
    let rows = records(&output(&["formats", "--csv"]));
    assert_eq!(rows.len(), 1 + 24);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let field = |row: &[String], name: &str| {
        let at = rows[0].iter().position(|column| column == name).unwrap_or_else(|| panic!("no {name}"));
        row[at].clone()
    };
    let named = |name: &str| {
        rows.iter().find(|row| row[0] == name).cloned().unwrap_or_else(|| panic!("no row {name}"))
    };
    let e4m3 = named("e4m3fn");
    let found = ["width", "max", "max_exact", "least_bias", "has_infinity", "nan_codes"]
        .map(|name| field(&e4m3, name));
    assert_eq!(found, ["8", "448.0", "7p6", "", "false", "2"]);
    // A comma within a field, and the biases that may be chosen.
    assert_eq!(field(&named("e3m4"), "source"), "LLVM APFloat, ml_dtypes");
    assert_eq!(field(&named("cfloat8_1_4_3:bias=7"), "largest_bias"), "63");
    let chosen = records(&output(&["formats", "e5m2", "minifloat:k=5,p=2,bias=3", "--csv"]));
    let name = "minifloat:k=5,p=2,bias=3,signed=true,specials=finite,subnormals=gradual";
    assert_eq!((&*chosen[1][0], &*chosen[2][0], chosen.len()), ("e5m2", name, 3));
    smallfloat(&["formats", "--csv", "--json"]).assert().code(2);
}
