//! The page of evidence against its rows, and README's claims against the page.

use std::fs;
use std::path::{Path, PathBuf};

/// Phrases of README's introduction and of "Test it", each with the beginning of the row of
/// evidence that stands for it.
const CLAIMS: [(&str, &str); 7] = [
    ("CFloat8_1_4_3", "binary32 inputs into"),
    ("E4M3FN", "results beside ml_dtypes"),
    ("58 on blocks", "Block functions"),
    ("exponentials and trigonometry", "Exact results of 28 functions"),
    ("bfloat16, and any other format", "bfloat16 inputs into"),
    ("Every result is rounded once", "z3 theorems: the core's short conversion from f64"),
    ("input spaces are exhausted", "binary32 inputs into"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/smallfloat-proof").to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The cells of the page's table.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let lines = page.lines().filter(|line| line.starts_with("| ["));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// A section's paragraphs and list items, each on one line: what stands between two headings.
fn blocks(text: &str, from: &str, to: &str) -> Vec<String> {
    let start = text.find(from).unwrap_or_else(|| panic!("README has no `{from}`")) + from.len();
    let length = text[start..].find(to).unwrap_or_else(|| panic!("README has no `{to}` after `{from}`"));
    let mut blocks = vec![String::new()];
    let mut code = false;
    for line in text[start..start + length].lines() {
        let fence = line.starts_with("```");
        code ^= fence;
        if line.is_empty() || line.starts_with("* ") || fence {
            blocks.push(String::new());
        }
        if !code && !fence {
            let last = blocks.last_mut().expect("one at least");
            *last = format!("{last} {}", line.trim());
        }
    }
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

#[test]
fn every_row_names_its_page_and_nothing_differs() {
    let page = read("docs/evidence/correctness.md");
    let rows = rows(&page);
    assert!(rows.len() >= 15, "{} rows", rows.len());
    for row in rows {
        let [claim, count, mismatches, _seconds, _digest, tools, date, command] = row[..] else {
            panic!("{} cells: {row:?}", row.len());
        };
        let target = claim.rsplit_once("](").map(|(_, rest)| rest.trim_end_matches(')')).expect("a link");
        let is_there = match target.strip_prefix('#') {
            Some(heading) => page.lines().any(|line| {
                line.strip_prefix("## ")
                    .is_some_and(|title| title.to_lowercase().replace(' ', "-") == heading)
            }),
            None => root().join("docs/evidence").join(target).is_file(),
        };
        assert!(is_there, "{claim}: no {target}");
        let count: u64 = count.replace(',', "").parse().expect("a count");
        assert!(count > 0 && !tools.is_empty() && !date.is_empty() && !command.is_empty(), "{row:?}");
        assert_eq!(mismatches, "0", "{claim}");
    }
}

#[test]
fn every_claim_of_readme_has_a_row() {
    let (readme, page) = (read("README.md"), read("docs/evidence/correctness.md"));
    let rows = rows(&page);
    for (phrase, claim) in CLAIMS {
        let start = format!("[{claim}");
        assert!(rows.iter().any(|row| row[0].starts_with(&start)), "no row begins `{claim}` ({phrase})");
    }
    let blocks =
        [blocks(&readme, "## What it has", "## Use it"), blocks(&readme, "## Test it", "## Read on")]
            .concat();
    assert!(blocks.len() >= 6, "{blocks:?}");
    for block in &blocks {
        assert!(CLAIMS.iter().any(|(phrase, _)| block.contains(phrase)), "no row of evidence for `{block}`");
    }
    for (phrase, _) in CLAIMS {
        assert!(blocks.iter().any(|block| block.contains(phrase)), "README no longer says `{phrase}`");
    }
}
