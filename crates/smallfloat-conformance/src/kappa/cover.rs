//! [`Cover`]: disjoint sets of operands, each with a κ of its own.

use smallfloat::text::Literal;
use smallfloat::{Datum, Exact, Flags, Format, Preset, project};

use crate::error::Error;
use crate::kappa::line::ValueLine;

/// An interval of a format's values, infinities included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interval {
    text: String,
    /// Ranks on the format's [`ValueLine`], both inside.
    first: i64,
    last: i64,
}

/// Disjoint intervals of one operand. What lies in none of them, NaN included, lies elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cover {
    operand: usize,
    /// In ascending order.
    intervals: Vec<Interval>,
}

impl Interval {
    /// Returns an interval of a format's values: `LO..HI` (HI excluded) or `LO..=HI`. An end is a
    /// value as [`Literal::parse`] takes it (a code is one of `format`), or `2^N` or `-2^N`; an end
    /// left out is −∞ or +∞, included. Ends need not be values of the format.
    ///
    /// # Errors
    /// Text that is not an interval, or an interval without any value of the format.
    pub fn parse(text: &str, format: &Format) -> Result<Self, Error> {
        let wrong = |problem: String| Error::Interval { text: text.trim().to_owned(), problem };
        let (low, high) = text.split_once("..").ok_or_else(|| wrong("there is no `..`".into()))?;
        let (high, included) = match high.strip_prefix('=') {
            Some(high) => (high, true),
            None => (high, false),
        };
        let end = |text: &str| -> Result<Option<Exact>, Error> {
            let text = text.trim();
            if text.is_empty() {
                return Ok(None);
            }
            match parse_end(text, format).map_err(|error| wrong(error.to_string()))? {
                Exact::Nan { .. } => Err(wrong(format!("`{text}` is not a number"))),
                x => Ok(Some(x)),
            }
        };
        let first = end(low)?.map_or(i64::MIN, |x| rank_from(x, format).0);
        let last = match end(high)? {
            None if included => return Err(wrong("`..=` needs an upper end".into())),
            None => i64::MAX,
            Some(x) => match rank_from(x, format) {
                (rank, true) if included => rank,
                (rank, _) => rank.saturating_sub(1),
            },
        };
        let (lowest, highest) = ends(format);
        let (first, last) = (first.max(lowest), last.min(highest));
        if first > last {
            return Err(wrong(format!("no value of {format} lies in it")));
        }
        Ok(Self { text: text.trim().to_owned(), first, last })
    }

    /// Returns the interval as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Cover {
    /// Returns a cover without intervals: all operands lie elsewhere.
    pub fn none() -> Self {
        Self { operand: 0, intervals: Vec::new() }
    }

    /// Returns the cover by intervals of the operand of this index, from 0.
    ///
    /// # Errors
    /// Intervals that overlap.
    pub fn new(operand: usize, mut intervals: Vec<Interval>) -> Result<Self, Error> {
        intervals.sort_by_key(|interval| interval.first);
        for pair in intervals.windows(2) {
            if pair[0].last >= pair[1].first {
                let [first, second] = [&pair[0], &pair[1]].map(|interval| interval.text.clone());
                return Err(Error::Overlap { first, second });
            }
        }
        Ok(Self { operand, intervals })
    }

    /// Returns an interval for each binade ±[2^E, 2^(E+1)) of a format that has values, one for
    /// zero and one for each infinity.
    pub fn per_binade(operand: usize, format: &Format) -> Self {
        let line = ValueLine::new(format);
        let lowest = format.min_positive().exponent_of_leading_bit();
        let highest = format.max_finite().exponent_of_leading_bit();
        let mut intervals = Vec::new();
        let mut add = |text: String, first: i64, last: i64| {
            if first <= last {
                intervals.push(Interval { text, first, last });
            }
        };
        let start = |exponent| rank_from(Exact::finite(false, 1, exponent), format).0;
        let largest = line.rank_of(format.max_finite());
        let binades: Vec<_> = (lowest..=highest)
            .map(|e| (e, start(e), if e == highest { largest } else { start(e + 1) - 1 }))
            .collect();
        if format.is_signed() {
            if format.has_infinity() {
                add("-inf".into(), i64::MIN, i64::MIN);
            }
            for &(e, first, last) in binades.iter().rev() {
                add(format!("-2^{}<..=-2^{e}", e + 1), -last, -first);
            }
        }
        if format.has_zero() {
            add("0".into(), 0, 0);
        }
        for (e, first, last) in binades {
            add(format!("2^{e}..2^{}", e + 1), first, last);
        }
        if format.has_infinity() {
            add("inf".into(), i64::MAX, i64::MAX);
        }
        Self { operand, intervals }
    }

    /// Returns the index of the operand that is looked at, from 0.
    pub fn operand(&self) -> usize {
        self.operand
    }

    /// Returns the intervals in ascending order.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// The index of the interval with this rank; `None`: elsewhere.
    pub(super) fn locate(&self, rank: Option<i64>) -> Option<usize> {
        let rank = rank?;
        let after = self.intervals.partition_point(|interval| interval.first <= rank);
        after.checked_sub(1).filter(|&at| rank <= self.intervals[at].last)
    }
}

impl Default for Cover {
    fn default() -> Self {
        Self::none()
    }
}

/// The lowest and the highest rank that a format has, infinities included.
fn ends(format: &Format) -> (i64, i64) {
    let line = ValueLine::new(format);
    let infinite = |negative| format.has_infinity().then_some(Datum::Infinite { negative });
    let lowest = infinite(true).filter(|_| format.is_signed()).unwrap_or(format.min_finite());
    let highest = infinite(false).unwrap_or(format.max_finite());
    (line.rank_of(lowest), line.rank_of(highest))
}

fn parse_end(text: &str, format: &Format) -> Result<Exact, smallfloat::Error> {
    let (negative, magnitude) = match text.strip_prefix(['-', '−']) {
        Some(magnitude) => (true, magnitude),
        None => (false, text),
    };
    let exponent = magnitude.strip_prefix("2^").and_then(|exponent| exponent.parse().ok());
    match exponent.filter(|e| (-100_000..=100_000).contains(e)) {
        Some(exponent) => Ok(Exact::finite(negative, 1, exponent)),
        None => Literal::parse(text)?.exact(format),
    }
}

/// The rank of the smallest value that is not below `x`, and whether it is `x`.
fn rank_from(x: Exact, format: &Format) -> (i64, bool) {
    let line = ValueLine::new(format);
    if let Exact::Infinite { negative } = x {
        return (if negative { i64::MIN } else { i64::MAX }, true);
    }
    let here = project(x, format, &Preset::Ieee.projection(format));
    if (here.flags & (Flags::INEXACT | Flags::INVALID)).is_empty() {
        return (line.rank(here.value).expect("a number that the format has"), true);
    }
    // Above the largest value lies +∞, whether or not the format has it.
    let rank = |code| line.rank(code).expect("the next value above is not NaN");
    (format.next_above(x).map_or(i64::MAX, rank), false)
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BFLOAT16, BINARY32, CATALOGUE, E4M3FN, E8M0FNU};
    use smallfloat::{Parameters, Signedness, Specials, Subnormals};

    use super::*;

    fn within(cover: &Cover, format: &Format, value: f32) -> Option<usize> {
        cover.locate(ValueLine::new(format).rank(u64::from(value.to_bits())))
    }

    #[test]
    fn ends_are_half_open_unless_they_say_otherwise() {
        let f = BINARY32;
        let parts = ["-inf..-1", "-1..=0.1", "2^1..inf", "inf..=inf"];
        let cover =
            Cover::new(0, parts.map(|t| Interval::parse(t, &f).expect(t)).to_vec()).expect("disjoint");
        let at = |x: f32| within(&cover, &f, x);
        assert_eq!(
            (at(f32::NEG_INFINITY), at((-1.0_f32).next_down()), at(-1.0)),
            (Some(0), Some(0), Some(1))
        );
        // 0.1 is no value of binary32; the nearest is above it.
        assert_eq!((at(0.1_f32.next_down()), at(0.1), at(1.5)), (Some(1), None, None));
        assert_eq!(
            (at(2.0), at(f32::MAX), at(f32::INFINITY), at(f32::NAN)),
            (Some(2), Some(2), Some(3), None)
        );
        let all = Cover::new(0, vec![Interval::parse("..", &f).expect("all")]).expect("one");
        assert_eq!((within(&all, &f, f32::INFINITY), within(&all, &f, -0.0)), (Some(0), Some(0)));
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| Interval::parse(text, &E4M3FN).expect_err(text).to_string();
        assert!(wrong("1").contains("no `..`"));
        assert!(wrong("1..x").contains("`x` is not a number"));
        assert!(wrong("nan..1").contains("`nan`"));
        assert!(wrong("2..1").contains("no value"));
        assert!(wrong("1.01..1.02").contains("no value"));
        assert!(wrong("500..").contains("no value") && wrong("..-500").contains("no value"));
        let parts = ["0..=1", "1..2"].map(|t| Interval::parse(t, &E4M3FN).expect(t)).to_vec();
        assert!(Cover::new(0, parts).expect_err("they overlap").to_string().contains("`0..=1` and `1..2`"));
    }

    /// Every format has its largest and smallest values, and the ends of intervals have ranks even
    /// where a format has neither zero nor sign.
    #[test]
    fn every_format_has_ranks_for_ends() {
        let minifloats = Specials::NAMED.iter().copied().flat_map(|(_, specials)| {
            let signs = [Signedness::Signed, Signedness::Unsigned];
            Subnormals::NAMED.iter().copied().flat_map(move |(_, subnormals)| {
                signs.into_iter().flat_map(move |signedness| {
                    (1..=8).filter_map(move |precision| {
                        let parameters =
                            Parameters { width: 8, precision, bias: 3, signedness, specials, subnormals };
                        Format::minifloat(parameters).ok()
                    })
                })
            })
        });
        let formats: Vec<Format> = CATALOGUE.iter().map(|row| row.format).chain(minifloats).collect();
        assert!(formats.len() > 200, "{} formats", formats.len());
        for format in formats {
            let line = ValueLine::new(&format);
            let (lowest, highest) = ends(&format);
            assert!(lowest <= line.rank_of(format.min_finite()), "{format}");
            assert!(line.rank_of(format.min_normal()) <= highest, "{format}");
            for text in ["-inf", "-1p400000", "-1", "-0", "0", "0.1", "1", "1p400000", "inf"] {
                let (rank, _) = rank_from(smallfloat::text::parse(text).expect(text), &format);
                assert!(rank != i64::MIN || text == "-inf" || format.has_infinity(), "{format}: {text}");
            }
        }
    }

    #[test]
    fn binades_cover_every_number_once() {
        let names =
            ["e4m3fn", "bfloat16", "cfloat8_1_4_3:bias=7", "uhp", "binary8p1uf", "e8m0fnu", "binary8p3se"];
        for name in names {
            let format: Format = name.parse().expect(name);
            let (cover, line) = (Cover::per_binade(0, &format), ValueLine::new(&format));
            for pair in cover.intervals().windows(2) {
                assert!(pair[0].last < pair[1].first, "{name}: {pair:?}");
            }
            for code in format.codes() {
                let at = cover.locate(line.rank(code));
                assert_eq!(at.is_none(), format.decode(code).is_nan(), "{name} {code:#x}");
                if let Some(x) = format.decode(code).to_f64().filter(|x| x.is_finite() && *x > 0.0) {
                    let e = format.decode(code).exponent_of_leading_bit();
                    assert_eq!(
                        cover.intervals()[at.expect("a number")].text(),
                        format!("2^{e}..2^{}", e + 1),
                        "{x}"
                    );
                }
            }
        }
        assert_eq!(Cover::per_binade(0, &E8M0FNU).intervals().len(), 255);
        // 8 subnormal and normal exponents from −133 to 127 on either side, zero and two
        // infinities.
        assert_eq!(Cover::per_binade(0, &BFLOAT16).intervals().len(), 2 * 261 + 3);
    }
}
