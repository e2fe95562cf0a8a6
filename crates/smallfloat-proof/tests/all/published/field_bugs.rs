//! Mistakes that somebody shipped, as named cases: `data/field-bugs.csv` holds them with the right
//! answers.

use std::collections::BTreeSet;

use smallfloat::{Format, Preset, Projection, RandomBits, Rounding, Saturation, convert};
use smallfloat_proof::format;

const CASES: &str = include_str!("../../../data/field-bugs.csv");

/// The cells of a line; a quoted cell may hold commas.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells.last_mut().expect("one cell at least").push(c),
        }
    }
    cells
}

/// `-`, a mode's name, or `stochastic-a/N/R`.
fn rounding(text: &str) -> Option<Rounding> {
    if text == "-" {
        return None;
    }
    let parts: Vec<&str> = text.split('/').collect();
    if let [name, count, word] = parts[..] {
        let bits =
            RandomBits::new(count.parse().expect("N"), word.parse().expect("R")).expect("a legal word");
        return Some(match name {
            "stochastic-a" => Rounding::StochasticA(bits),
            "stochastic-b" => Rounding::StochasticB(bits),
            "stochastic-c" => Rounding::StochasticC(bits),
            _ => panic!("{text}"),
        });
    }
    let mode = Rounding::DETERMINISTIC.iter().copied().find(|mode| mode.name() == text);
    Some(mode.unwrap_or_else(|| panic!("{text}")))
}

fn projection(to: &Format, preset: &str, mode: &str, saturation: &str) -> Projection {
    let preset: Preset = preset.parse().expect("a preset");
    let mut projection = preset.projection(to);
    if let Some(mode) = rounding(mode) {
        projection = projection.with_rounding(mode);
    }
    if saturation != "-" {
        projection = projection.with_saturation(saturation.parse::<Saturation>().expect("a saturation"));
    }
    projection
}

#[test]
fn every_case_has_the_right_answer() {
    let mut lines = CASES.lines();
    let header = "id,project_issue,from,to,preset,rounding,saturation,input,expected,note";
    assert_eq!(lines.next(), Some(header));
    let (mut ids, mut wrong, mut f16) = (BTreeSet::new(), Vec::new(), 0);
    for line in lines {
        let cells = cells(line);
        let [id, issue, from, to, preset, mode, saturation, input, expected, _note] = &cells[..] else {
            panic!("{} cells in `{line}`", cells.len());
        };
        assert!(!issue.is_empty() && ids.insert(id.clone()), "{line}");
        f16 += u32::from([from, to].iter().any(|name| *name == "binary16"));
        let to = format(to);
        let projection = projection(&to, preset, mode, saturation);
        let got = if from == "text" {
            to.encode_text(input, &projection).expect(line).value
        } else {
            let from = format(from);
            let code = u64::from_str_radix(input, 16).expect(line);
            convert(from.check_code(code).expect(line), &from, &to, &projection).value
        };
        if got != u64::from_str_radix(expected, 16).expect(line) {
            wrong.push(format!("{line}: got {got:x}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ids.len() >= 150 && f16 >= 20, "{} cases, {f16} of f16", ids.len());
}
