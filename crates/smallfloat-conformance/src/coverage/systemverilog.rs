//! Coverage as a SystemVerilog covergroup, and the bins of vectors as words that it samples.
//!
//! A cross is a coverpoint whose values are its bins, so that what is unreachable has no bin and
//! 100 % of the simulator is 100 % here. Which bins a vector reaches takes exact arithmetic; so
//! they come from a memory beside that of the vectors, one word per vector.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Read;

use crate::coverage::model::cross::Cross;
use crate::coverage::model::reach::Reach;
use crate::coverage::tally::Coverage;
use crate::error::Error;
use crate::vectors::{CheckOptions, OperandFile};

/// A word of so many bits holds each value below `values`, and one more for none of them.
fn bits(values: usize) -> usize {
    (values + 1).next_power_of_two().ilog2() as usize
}

/// The bins of a cross of which a vector is in one; of a cross of lanes, those of one lane.
fn of_lane(cross: &Cross) -> usize {
    cross.size() / cross.lanes()
}

/// A name that SystemVerilog takes.
fn identifier(words: &[&str]) -> String {
    let mut name = String::new();
    for word in words {
        if !name.is_empty() {
            name.push_str("__");
        }
        let word = word.replace("|x|", "abs_x").replace("|y|", "abs_y").replace(" -", " minus_");
        let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric() && !"<=>≤≥_".contains(c));
        let first = parts.by_ref().find(|part| !part.is_empty()).unwrap_or("none");
        let all = std::iter::once(first).chain(parts.filter(|part| !part.is_empty()));
        let all: Vec<&str> = all
            .map(|part| match part {
                "<" => "lt",
                "=" => "eq",
                ">" => "gt",
                "≤" => "at_most",
                "≥" => "at_least",
                part => part,
            })
            .collect();
        name.push_str(&all.join("_"));
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("bin_{name}") } else { name }
}

impl Coverage {
    /// The bits of a word of bins.
    fn sample_bits(&self) -> usize {
        self.subject.crosses().iter().map(|cross| cross.lanes() * bits(of_lane(cross))).sum()
    }

    /// Returns a SystemVerilog module with a covergroup of all bins that can be reached. It samples
    /// the words of [`samples`](Self::samples).
    pub fn system_verilog(&self) -> String {
        let mut text = String::new();
        let width = self.sample_bits();
        let (_, reachable) = self.total();
        let flags = self.unit().flag_policy().map(|policy| format!(" with {policy} flags"));
        let flags = flags.unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "// Coverage of {}{flags}: {reachable} bins.\n\
             // Made by `smallfloat vectors cover --systemverilog`. `reached` is a word of its `--samples` for the\n\
             // vector whose result is there when `valid` is high.\n\
             module smallfloat_coverage (\n    \
                 input wire clock,\n    \
                 input wire valid,\n    \
                 input wire [{}:0] reached\n\
             );\n    \
                 covergroup unit_coverage @(posedge clock iff valid);\n        \
                     option.per_instance = 1;\n",
            self.unit(),
            width - 1,
        );
        let mut below = width;
        for (cross, status) in self.subject.crosses().iter().zip(&self.reached.status) {
            let (count, size) = (bits(of_lane(cross)), of_lane(cross));
            let axes: Vec<&str> = cross.axes.iter().map(|axis| axis.name.as_str()).collect();
            let _ = writeln!(text, "\n        // {}: {}", axes.join(" x "), cross.about);
            for (lane, status) in status.chunks(size).enumerate() {
                let (top, low) = (below - 1, below - count);
                below = low;
                let mut name = vec![cross.name.as_str()];
                name.extend(cross.lane_words().map(|words| words[lane].as_str()));
                let name = identifier(&name);
                let _ = writeln!(text, "        {name}_bins: coverpoint reached[{top}:{low}] {{");
                let mut seen = HashSet::new();
                let reachable = status.iter().enumerate();
                for (bin, _) in reachable.filter(|(_, reach)| **reach == Reach::Reachable) {
                    let mut name = identifier(&cross.words(lane * size + bin));
                    if !seen.insert(name.clone()) {
                        name = format!("{name}_{bin}");
                    }
                    let _ = writeln!(text, "            bins {name} = {{{count}'d{bin}}};");
                }
                text.push_str("        }\n");
            }
        }
        text.push_str("    endgroup\n\n    unit_coverage coverage = new;\nendmodule\n");
        text
    }

    /// Delivers the bins of each vector of a file of this unit, one word of hexadecimal digits a
    /// line, in the order of the vectors: a memory for `$readmemh`.
    ///
    /// # Errors
    /// What [`read`](Self::read) refuses.
    pub fn samples(
        &self,
        input: impl Read,
        options: &CheckOptions,
        mut deliver: impl FnMut(&str),
    ) -> Result<(), Error> {
        let options = CheckOptions { unit: Some(self.unit().clone()), ..options.clone() };
        let file = OperandFile::open(input, &options)?;
        let width = self.subject.width();
        let digits = self.sample_bits().div_ceil(4);
        let mut values = Vec::new();
        file.read(|operands| {
            let mut text = String::new();
            for operands in operands.chunks_exact(width) {
                // All ones: in no bin.
                let none = |cross: &Cross| vec![(1 << bits(of_lane(cross))) - 1; cross.lanes()];
                let mut bins: Vec<Vec<usize>> = self.subject.crosses().iter().map(none).collect();
                self.subject.bins(operands, &mut values, |at, bin| {
                    let size = of_lane(&self.subject.crosses()[at]);
                    bins[at][bin / size] = bin % size;
                });
                text.push_str(&self.word(&bins, digits));
                text.push('\n');
            }
            deliver(&text);
        })
    }

    /// Bins one after the other, the first at the top.
    fn word(&self, bins: &[Vec<usize>], digits: usize) -> String {
        let mut binary = vec![false; 4 * digits - self.sample_bits()];
        for (cross, bins) in self.subject.crosses().iter().zip(bins) {
            let count = bits(of_lane(cross));
            binary.extend(bins.iter().flat_map(|bin| (0..count).rev().map(move |bit| bin >> bit & 1 == 1)));
        }
        let digit = |nibble: &[bool]| nibble.iter().fold(0, |sum, bit| 2 * sum + u32::from(*bit));
        binary.chunks(4).map(|nibble| char::from_digit(digit(nibble), 16).expect("four bits")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::UnitUnderTest;

    #[test]
    fn names_are_identifiers() {
        assert_eq!(identifier(&["alignment ≤ -8", "|x| < |y|"]), "alignment_at_most_minus_8__abs_x_lt_abs_y");
        assert_eq!(
            identifier(&["result significand 1.0…01", "no flags"]),
            "result_significand_1_0_01__no_flags"
        );
    }

    /// A word has the bins of a vector at the places of their coverpoints.
    #[test]
    fn words_are_bins_of_the_covergroup() {
        let unit = UnitUnderTest::new("Add<e2m1fn, e2m1fn, e2m1fn>".parse().expect("an operation"), None);
        let coverage = Coverage::new(unit.expect("a unit")).expect("few operands");
        let text = coverage.system_verilog();
        let mut sample = String::new();
        let deliver = |words: &str| sample.push_str(words);
        coverage.samples("2 3 4 0\n".as_bytes(), &CheckOptions::default(), deliver).expect("a vector");
        let word = u128::from_str_radix(sample.trim(), 16).expect("a word");
        let mut reached = Vec::new();
        for coverpoint in text.split("coverpoint reached[").skip(1) {
            let (range, rest) = coverpoint.split_once(']').expect("a range");
            let (top, low) = range.split_once(':').expect("two ends");
            let (top, low): (u32, u32) = (top.parse().expect("a bit"), low.parse().expect("a bit"));
            let bin = word >> low & ((1 << (top - low + 1)) - 1);
            let end = format!(" = {{{}'d{bin}}};", top - low + 1);
            let (block, _) = rest.split_once("\n        }").expect("an end");
            let name = block.lines().find_map(|line| line.trim().strip_prefix("bins ")?.strip_suffix(&end));
            reached.extend(name);
        }
        // 1 + 1.5 = 2.5 lies in the middle of 2 (even) and 3.
        for name in ["normal__positive__tie__even", "x_normal__x_positive__y_normal__y_positive"] {
            assert!(reached.contains(&name), "{name} is not among {reached:?}");
        }
        assert_eq!(reached.len(), coverage.subject.crosses().len(), "{reached:?}");
    }
}
