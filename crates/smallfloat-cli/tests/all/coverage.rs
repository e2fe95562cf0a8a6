//! `smallfloat vectors cover` and `vectors gen --close`.

use std::fs;

use serde_json::Value;

use crate::common::{Place, command, object, refuses, run};

/// Writes the lines of a file of vectors that `keep` takes, below its header.
fn kept(place: &Place, from: &str, to: &str, keep: impl Fn(usize, &str) -> bool) {
    let text = fs::read_to_string(place.path(from)).expect("vectors");
    let (header, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
    let lines = lines.into_iter().enumerate().filter(|(i, line)| keep(*i, line)).map(|(_, line)| line);
    let text: Vec<&str> = header.into_iter().chain(lines).collect();
    fs::write(place.path(to), text.join("\n") + "\n").expect("the file");
}

#[test]
fn what_is_missing_is_named_and_closed() {
    let place = Place::new();
    let folder = place.folder();
    run(folder, &["vectors", "gen", "--op", "Multiply", "--format", "e5m2", "--level", "1", "-o", "all.txt"]);
    let whole = object(folder, &["vectors", "cover", "all.txt", "--goal", "100", "--json"]);
    assert_eq!((&whole["percent"], &whole["exhaustive"]), (&100.0.into(), &true.into()));

    // All that have an infinite operand, ±inf being 7c and fc.
    let is_infinite =
        |line: &str| line.split(' ').take(2).any(|code| matches!(code, "7C" | "FC" | "7c" | "fc"));
    kept(&place, "all.txt", "finite.txt", |_, line| !is_infinite(line));
    let finite = object(folder, &["vectors", "cover", "finite.txt", "--json"]);
    let crosses = finite["crosses"].as_array().expect("crosses");
    let operands = crosses.iter().find(|cross| cross["name"] == "operands").expect("a cross");
    let missing = operands["missing"].as_array().expect("bins");
    let has_infinity = |bin: &Value| {
        bin["bin"]
            .as_array()
            .expect("words")
            .iter()
            .any(|word| word.as_str().is_some_and(|word| word.ends_with(" infinite")))
    };
    assert!(!missing.is_empty());
    for bin in missing {
        assert!(has_infinity(bin), "{bin}");
    }
    let met = operands["reached"].as_array().expect("bins");
    assert!(!met.iter().any(has_infinity));
    command(folder, &["vectors", "cover", "finite.txt", "--goal", "100"]).assert().code(1);

    run(folder, &["vectors", "gen", "--close", "finite.txt", "-o", "rest.txt"]);
    run(folder, &["vectors", "check", "rest.txt"]);
    run(folder, &["vectors", "cover", "finite.txt", "rest.txt", "--goal", "100"]);
    refuses(folder, &["vectors", "gen", "--close", "all.txt", "-o", "none.txt"], 1, &["nothing is missing"]);
}

#[test]
fn parts_are_the_whole() {
    let place = Place::new();
    let folder = place.folder();
    let gen_ = ["vectors", "gen", "--from", "binary32", "--to", "e4m3fn", "--level", "1", "--random", "2000"];
    run(folder, &[&gen_[..], &["-o", "all.txt"]].concat());
    kept(&place, "all.txt", "even.txt", |i, _| i % 2 == 0);
    kept(&place, "all.txt", "odd.txt", |i, _| i % 2 == 1);
    let whole = run(folder, &["vectors", "cover", "all.txt", "--json"]);
    assert_eq!(run(folder, &["vectors", "cover", "even.txt", "odd.txt", "--json"]), whole);
    fs::write(place.path("even.json"), run(folder, &["vectors", "cover", "even.txt", "--json"]))
        .expect("JSON");
    assert_eq!(run(folder, &["vectors", "cover", "even.json", "odd.txt", "--json"]), whole);
}

#[test]
fn a_covergroup_has_the_bins() {
    let place = Place::new();
    let folder = place.folder();
    run(folder, &["vectors", "gen", "--op", "Add", "--format", "e4m3fn", "--level", "1", "-o", "all.txt"]);
    run(folder, &["vectors", "cover", "all.txt", "--systemverilog", "bins.sv"]);
    let text = String::from_utf8(place.read("bins.sv")).expect("text");
    let cover = object(folder, &["vectors", "cover", "all.txt", "--json"]);
    let reachable = cover["reachable"].as_u64().expect("a count");
    let bins = text.lines().filter(|line| line.trim_start().starts_with("bins ")).count();
    assert_eq!(bins as u64, reachable, "{text}");
    assert_eq!((text.matches("covergroup ").count() > 0, text.matches("endgroup").count() > 0), (true, true));
}

/// What a simulator would count from the samples of some vectors is what `cover` counts.
#[test]
fn samples_are_in_the_bins_of_the_covergroup() {
    let place = Place::new();
    let folder = place.folder();
    let some = ["--only", "random", "--count", "50", "-o", "some.txt"];
    run(folder, &[&["vectors", "gen", "--op", "Add", "--format", "e2m1fn"], &some[..]].concat());
    let files = ["--systemverilog", "bins.sv", "--samples", "bins.hex"];
    run(folder, &[&["vectors", "cover", "some.txt"], &files[..]].concat());
    let words = String::from_utf8(place.read("bins.hex")).expect("text");
    let words: Vec<u128> = words
        .lines()
        .map(|word| u128::from_str_radix(word, 16).expect("a word of at most 128 bits"))
        .collect();
    assert_eq!(words.len(), 50);
    let text = String::from_utf8(place.read("bins.sv")).expect("text");
    let (mut bits, mut reached, mut all) = (0..0, 0, 0);
    for line in text.lines() {
        let number = |text: &str| text.parse::<u32>().expect("a number");
        if let Some((_, range)) = line.split_once("coverpoint reached[") {
            let (top, low) = range.split_once(']').and_then(|(range, _)| range.split_once(':')).expect(line);
            bits = number(low)..number(top) + 1;
        } else if let Some((_, value)) = line.split_once("'d") {
            let value = u128::from(number(value.trim_end_matches("};")));
            let mask = (1 << (bits.end - bits.start)) - 1;
            all += 1;
            reached += u64::from(words.iter().any(|word| word >> bits.start & mask == value));
        }
    }
    let cover = object(folder, &["vectors", "cover", "some.txt", "--json"]);
    assert!(reached < all, "fifty vectors do not reach all {all}");
    assert_eq!((Some(reached), Some(all)), (cover["hit"].as_u64(), cover["reachable"].as_u64()));
}

/// The missing bins of a cross in the JSON of `cover`, each as its words.
fn missing(cover: &Value, cross: &str) -> Vec<Vec<String>> {
    let crosses = cover["crosses"].as_array().expect("crosses");
    let cross = crosses.iter().find(|found| found["name"] == cross).expect("a cross");
    let word = |word: &Value| word.as_str().expect("a word").to_owned();
    let words = |bin: &Value| bin["bin"].as_array().expect("words").iter().map(word).collect();
    cross["missing"].as_array().expect("bins").iter().map(words).collect()
}

/// A conversion into a list: without a line, its tie is missing, and is closed again.
#[test]
fn ties_of_a_list_are_missed_and_closed() {
    let place = Place::new();
    let folder = place.folder();
    run(folder, &["vectors", "gen", "--from", "binary16", "--to", "int4", "-o", "all.txt"]);
    run(folder, &["vectors", "cover", "all.txt", "--goal", "100"]);
    // 2.5 is 0x4100.
    kept(&place, "all.txt", "less.txt", |_, line| !line.starts_with("4100 "));
    let less = object(folder, &["vectors", "cover", "less.txt", "--json"]);
    let tie = ["between 2 and 3", "tie, becomes the lower value"].map(str::to_owned).to_vec();
    assert_eq!(missing(&less, "middles"), [tie]);
    let text = run(folder, &["vectors", "cover", "less.txt"]);
    assert!(text.contains("x 0x4100 (2.5)"), "{text}");
    run(folder, &["vectors", "gen", "--close", "less.txt", "-o", "rest.txt"]);
    run(folder, &["vectors", "check", "rest.txt"]);
    run(folder, &["vectors", "cover", "less.txt", "rest.txt", "--goal", "100"]);
}

/// A sum of products: level 1 has each operand class in each lane; where a lane has no NaN, that
/// is missing. A covergroup has a coverpoint for each lane.
#[test]
fn a_lane_of_a_sum_is_missed_and_closed() {
    let place = Place::new();
    let folder = place.folder();
    let unit = ["--op", "dot", "--format", "e5m2", "--accumulate", "hopper", "--length", "3"];
    run(folder, &[&["vectors", "gen"], &unit[..], &["-o", "all.txt"]].concat());
    let whole = object(folder, &["vectors", "cover", "all.txt", "--json"]);
    for cross in ["lanes", "single products", "terms", "specials", "accumulator", "c fields"] {
        assert_eq!(missing(&whole, cross), Vec::<Vec<String>>::new(), "{cross}");
    }
    // NaNs of E5M2 are 7d to 7f and fd to ff; x1 is the second number.
    let is_nan = |code: &str| u8::from_str_radix(code, 16).expect("a byte") & 0x7f > 0x7c;
    kept(&place, "all.txt", "less.txt", |_, line| !is_nan(line.split(' ').nth(1).expect("x1")));
    let files = ["--systemverilog", "bins.sv", "--samples", "bins.hex", "--json"];
    let less = object(folder, &[&["vectors", "cover", "less.txt"], &files[..]].concat());
    let lanes = missing(&less, "lanes");
    // All six classes of y, and what other lanes had on the same lines alone.
    assert_eq!(lanes.iter().filter(|bin| bin[0] == "lane 1").count(), 6, "{lanes:?}");
    assert!(lanes.iter().all(|bin| bin[1] == "x NaN"), "{lanes:?}");
    let text = String::from_utf8(place.read("bins.sv")).expect("text");
    for lane in 0..3 {
        assert!(text.contains(&format!("lanes__lane_{lane}_bins: coverpoint reached[")), "{text}");
    }
    let bins = text.lines().filter(|line| line.trim_start().starts_with("bins ")).count();
    assert_eq!(Some(bins as u64), less["reachable"].as_u64());
    fs::write(place.path("less.json"), serde_json::to_string(&less).expect("JSON")).expect("a file");
    run(folder, &["vectors", "gen", "--close", "less.json", "-o", "rest.txt"]);
    run(folder, &["vectors", "check", "rest.txt"]);
    run(folder, &["vectors", "cover", "less.json", "rest.txt", "--goal", "100"]);
}
