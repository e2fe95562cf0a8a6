//! Strings ⇄ [`Specialization`], in the P3109 draft's spelling.
//!
//! `Name<parameters>`, in this order, as far as the function has them: the block length; pairs
//! `(scale format, element format)`; formats; projections `(rounding, saturation)`, which may be
//! left out for the formats' defaults. Where a scalar function has several formats, one may stand
//! for all. Inside the brackets a comma followed by `key=` goes on with the name before it
//! ([semantics](crate::semantics) S6). Last may follow, each once, `semantics=ieee` or `p3109`, and
//! for scalar operations that round `scale=L`, |L| ≤ 2^20, and `clamp=operands`. Case does not
//! matter.

use alloc::vec::Vec;
use core::fmt;
use core::mem::replace;
use core::str::FromStr;

use crate::format::Format;
use crate::format::error::{Error, ErrorKind, Snippet};
use crate::format::name::{FormatSpec, closest};
use crate::ops::Semantics;
use crate::ops::operation::OperationOptions;
use crate::p3109::function::Function;
use crate::p3109::modes as words;
use crate::p3109::specialization::{Parts, Specialization};
use crate::projection::{Projection, Saturation};

/// How a format's name becomes a format.
type Complete<'a> = dyn FnMut(&FormatSpec) -> Result<Format, Error> + 'a;

/// `Name<parameters>` in the P3109 draft's spelling. Of a scalar operation one format stands for
/// all, the result's too: `Exp<bfloat16>` gives bfloat16. Projections may be left out for the
/// formats' defaults.
///
/// ```
/// use smallfloat::p3109::Specialization;
/// let exp: Specialization = "Exp<bfloat16, Binary8p3se, (NearestTiesToEven, SatFinite)>".parse()?;
/// assert_eq!(exp.result().map(|format| format.to_string()).as_deref(), Some("binary8p3se"));
/// # Ok::<(), smallfloat::Error>(())
/// ```
impl FromStr for Specialization {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse_with(text, &mut FormatSpec::format)
    }
}

impl Specialization {
    /// Parses as [`str::parse`] does, with `complete` making the format of each name: it may give a
    /// bias to one that lacks it.
    ///
    /// # Errors
    /// Text that is not an operation with its formats, and what `complete` refuses.
    pub fn parse_with(text: &str, complete: &mut Complete<'_>) -> Result<Self, Error> {
        const SHAPE: &str = "`Name<format, …, (rounding, saturation)>`";
        let text = text.trim();
        let (name, rest) = text.split_once('<').ok_or_else(|| wrong(text, SHAPE))?;
        let inner = rest.strip_suffix('>').ok_or_else(|| wrong(text, SHAPE))?;
        let name = name.trim();
        let function = name.parse::<Function>().map_err(|_| {
            let suggestion = closest(name, Function::names().map(|name| (name, name)));
            Error::new(ErrorKind::UnknownOperation { name: Snippet::new(name), suggestion })
        })?;
        let shape = function.shape();

        // `Name<>` has no part; what is missing is said with the counts.
        let pieces = if inner.trim().is_empty() { Vec::new() } else { split(inner) };
        let mut pieces = pieces.into_iter();
        let length =
            if shape.has_length { Some(block_length(pieces.next().unwrap_or_default())?) } else { None };
        let Sorted { mut pairs, mut formats, projections, options } = sort(function, pieces, complete)?;
        let given = pairs.len() / 2;
        if given != shape.pairs {
            return Err(Error::new(ErrorKind::PairCount {
                name: function.name(),
                given,
                expected: shape.pairs,
            }));
        }
        // One format stands for all of a scalar operation.
        if let ([format], false, 0, 2..) = (&formats[..], shape.has_length, shape.pairs, shape.formats) {
            formats = alloc::vec![*format; shape.formats];
        }
        if formats.len() != shape.formats {
            let (given, expected) = (formats.len(), shape.formats);
            return Err(Error::new(ErrorKind::FormatCount { name: function.name(), given, expected }));
        }
        pairs.append(&mut formats);
        let all = pairs;
        let projections = parse_projections(function, &all, &projections)?;
        let arithmetic = arithmetic(function, &all, &options)?;
        Self::build(Parts { function, length, formats: all, projections, arithmetic })
    }
}

fn wrong(part: &str, expected: &'static str) -> Error {
    Error::new(ErrorKind::Specialization { part: Snippet::new(part), expected })
}

/// A block length: decimal digits without a sign or a leading zero. That 0 and what is above the
/// range are refused is the business of [`Specialization::build`].
fn block_length(part: &str) -> Result<usize, Error> {
    let is_plain = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
    let length = if is_plain { part.parse().ok() } else { None };
    length.ok_or_else(|| wrong(part, "the block length first, an integer 1..=4294967295"))
}

/// The parts between the brackets by kind, in their order.
#[derive(Default)]
struct Sorted<'a> {
    /// Scale format and element format in turn.
    pairs: Vec<Format>,
    formats: Vec<Format>,
    projections: Vec<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

fn sort<'a>(
    function: Function,
    parts: impl Iterator<Item = &'a str>,
    complete: &mut Complete<'_>,
) -> Result<Sorted<'a>, Error> {
    let mut format = |name: &str| complete(&name.parse::<FormatSpec>()?);
    let shape = function.shape();
    let mut sorted = Sorted::default();
    for part in parts {
        if let Some(option) = option(part) {
            sorted.options.push(option);
            continue;
        }
        if !sorted.options.is_empty() {
            return Err(wrong(part, "options (semantics=, scale=, clamp=) last"));
        }
        let Some(inside) = part.strip_prefix('(').and_then(|p| p.strip_suffix(')')) else {
            if !sorted.projections.is_empty() {
                return Err(wrong(part, "formats before projections"));
            }
            sorted.formats.push(format(part)?);
            continue;
        };
        if is_projection(inside)? {
            sorted.projections.push(inside);
            continue;
        }
        let is_complete = sorted.pairs.len() == 2 * shape.pairs;
        match split(inside)[..] {
            [scale, element]
                if !is_complete && sorted.formats.is_empty() && sorted.projections.is_empty() =>
            {
                sorted.pairs.extend([format(scale)?, format(element)?]);
            }
            [scale, element]
                if scale.parse::<FormatSpec>().is_ok() && element.parse::<FormatSpec>().is_ok() =>
            {
                return Err(wrong(part, stray_pair(function, is_complete)));
            }
            // Whatever it is, it is no projection: the error says which word is not a mode.
            _ => sorted.projections.push(inside),
        }
    }
    Ok(sorted)
}

/// What is right where a pair of formats is not.
fn stray_pair(function: Function, is_complete: bool) -> &'static str {
    let shape = function.shape();
    match (shape.pairs, is_complete, shape.projections) {
        (0, ..) if shape.has_length => "the formats of this function without brackets, its scales' included",
        (0, ..) => "formats without brackets",
        (_, false, _) => "the pairs (scale format, element format) before the other formats",
        (_, true, _) => {
            "no further pair of formats; brackets after the pairs are a projection (rounding, saturation)"
        }
    }
}

/// Returns whether one of the words is a rounding or saturation mode.
fn is_projection(inside: &str) -> Result<bool, Error> {
    for word in split(inside) {
        if words::rounding(word)?.is_some() || word.parse::<Saturation>().is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The projections as written, or those of the formats they round to.
fn parse_projections(
    function: Function,
    formats: &[Format],
    given: &[&str],
) -> Result<Vec<Projection>, Error> {
    let expected = function.shape().projections;
    if let Function::ProjectionQuery(_) = function {
        let [text] = given else {
            return Err(Error::new(ErrorKind::ProjectionCount {
                name: function.name(),
                given: given.len(),
                expected,
            }));
        };
        return Ok(alloc::vec![complete_projection(text)?]);
    }
    // A scale is rounded before the elements, and its format stands before theirs.
    let targets = &formats[formats.len() - expected..];
    match (given.len(), expected) {
        (0, _) => Ok(targets.iter().map(Format::default_projection).collect()),
        (_, 0) => Err(wrong(given[0], "no projection: the result is not rounded")),
        (2.., 1) => Err(wrong(given[1], "one projection")),
        (n, _) if n != expected => {
            Err(Error::new(ErrorKind::ProjectionCount { name: function.name(), given: n, expected }))
        }
        _ => given
            .iter()
            .zip(targets)
            .map(|(text, to)| parse_projection(text, to.default_projection()))
            .collect(),
    }
}

/// `NearestTiesToEven, SatFinite`: a rounding mode, a saturation mode, or both.
fn parse_projection(text: &str, mut projection: Projection) -> Result<Projection, Error> {
    let (mut has_rounding, mut has_saturation) = (false, false);
    for word in split(text) {
        if let Some(rounding) = words::rounding(word)? {
            if replace(&mut has_rounding, true) {
                return Err(wrong(word, "one rounding mode in a projection"));
            }
            projection.rounding = rounding;
        } else if let Ok(saturation) = word.parse::<Saturation>() {
            if replace(&mut has_saturation, true) {
                return Err(wrong(word, "one saturation mode in a projection"));
            }
            projection.saturation = saturation;
        } else {
            return Err(wrong(
                word,
                "a rounding mode (NearestTiesToEven, NearestTiesToAway, TowardPositive, TowardNegative, TowardZero, \
                 ToOdd, StochasticA<8>) or a saturation mode (SatFinite, SatPropagate, SatNone)",
            ));
        }
    }
    Ok(projection)
}

/// A projection without a format that would fill in what is left out.
fn complete_projection(text: &str) -> Result<Projection, Error> {
    const BOTH: &str = "(rounding, saturation), both";
    let parts = split(text);
    let [rounding, _] = parts[..] else { return Err(wrong(text, BOTH)) };
    if words::rounding(rounding)?.is_none() {
        return Err(wrong(text, BOTH));
    }
    parse_projection(text, crate::Preset::P3109SatNone.projection(&crate::format::formats::BINARY32))
}

/// Exponentials stand in for results beyond 2^(2^26), so that a scale must not bring those back
/// into a format's range.
const MAX_SCALE: i32 = 1 << 20;

fn arithmetic(
    function: Function,
    formats: &[Format],
    options: &[(&str, &str)],
) -> Result<OperationOptions, Error> {
    const ONCE: &str = "each option once";
    let mut arithmetic = OperationOptions::default_for_call(formats);
    let is_scalable = matches!(function, Function::Numeric(_));
    let mut seen = Vec::new();
    for &(key, value) in options {
        let is = |name: &str, word: &str| key.eq_ignore_ascii_case(name) && value.eq_ignore_ascii_case(word);
        if seen.iter().any(|earlier: &&str| earlier.eq_ignore_ascii_case(key)) {
            return Err(wrong(key, ONCE));
        }
        seen.push(key);
        if is("semantics", "ieee") {
            arithmetic.semantics = Semantics::Ieee;
        } else if is("semantics", "p3109") {
            arithmetic.semantics = Semantics::P3109;
        } else if key.eq_ignore_ascii_case("semantics") {
            return Err(wrong(value, "semantics=ieee or semantics=p3109"));
        } else if !is_scalable {
            const NONE: &str = "semantics=ieee or semantics=p3109: only scalar operations that round their result take \
                                scale= and clamp=";
            return Err(wrong(key, NONE));
        } else if is("clamp", "operands") {
            arithmetic.operand_clamp = true;
        } else if key.eq_ignore_ascii_case("scale") {
            let scale: i64 =
                value.parse().map_err(|_| wrong(value, "scale=L with an integer L, -1048576..=1048576"))?;
            let max = i64::from(MAX_SCALE);
            arithmetic.scale = i32::try_from(scale)
                .ok()
                .filter(|_| scale.abs() <= max)
                .ok_or_else(|| Error::range("scale", scale, -max, max))?;
        } else {
            return Err(wrong(value, "clamp=operands"));
        }
    }
    Ok(arithmetic)
}

/// An option of the call, told from a format's own keys.
fn option(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let is_option = |name: &&str| key.trim().eq_ignore_ascii_case(name);
    ["semantics", "scale", "clamp"].iter().any(is_option).then(|| (key.trim(), value.trim()))
}

/// The parts between commas outside of brackets, where `key=` goes on with the part before.
fn split(inner: &str) -> Vec<&str> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    let ends = inner.char_indices().filter_map(|(i, c)| {
        match c {
            '(' | '{' | '<' | '[' => depth += 1,
            ')' | '}' | '>' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return Some(i),
            _ => {}
        }
        None
    });
    for end in ends.chain([inner.len()]) {
        let part = inner[start..end].trim();
        let has_key =
            !part.starts_with('(') && part.split_once('=').is_some_and(|(key, _)| !key.contains(':'));
        match parts.last_mut() {
            Some((_, last_end)) if has_key && option(part).is_none() => *last_end = end,
            _ => parts.push((start, end)),
        }
        start = end + 1;
    }
    parts.into_iter().map(|(start, end)| inner[start..end].trim()).collect()
}

/// P3109's spelling; what is printed parses to the same specialization.
impl fmt::Display for Specialization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.function().shape();
        write!(f, "{}<", self.function().name())?;
        let mut separator = "";
        if let Some(length) = self.length() {
            write!(f, "{length}")?;
            separator = ", ";
        }
        let (pairs, formats) = self.formats().split_at(2 * shape.pairs);
        for pair in pairs.chunks_exact(2) {
            write!(f, "{separator}({}, {})", pair[0], pair[1])?;
            separator = ", ";
        }
        for format in formats {
            write!(f, "{separator}{format}")?;
            separator = ", ";
        }
        for projection in self.projections() {
            let (rounding, saturation) =
                (words::Round(projection.rounding), words::saturation(projection.saturation));
            write!(f, "{separator}({rounding}, {saturation})")?;
            separator = ", ";
        }
        let OperationOptions { semantics, scale, operand_clamp, .. } = self.arithmetic();
        if semantics != OperationOptions::default_for_call(self.formats()).semantics {
            let name = if semantics == Semantics::Ieee { "ieee" } else { "p3109" };
            write!(f, "{separator}semantics={name}")?;
        }
        if scale != 0 {
            write!(f, "{separator}scale={scale}")?;
        }
        f.write_str(if operand_clamp { ", clamp=operands>" } else { ">" })
    }
}
