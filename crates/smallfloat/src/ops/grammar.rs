//! Strings ⇄ [`Specialization`], in the P3109 draft's spelling.
//!
//! `Name<parameters>`, in this order, as far as the function has them: the block length; pairs `(scale format, element
//! format)`; formats; projections `(rounding, saturation)`, which may be left out for the formats' defaults. Inside the
//! brackets a comma followed by `key=` goes on with the name before it (`docs/semantics.md` S6). Last may follow
//! `semantics=ieee` or `p3109`, and for scalar operations `scale=L` and `clamp=operands`. Case does not matter.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::error::{Error, ErrorKind, Snippet};
use crate::name::closest;
use crate::ops::specialization::Parts;
use crate::ops::{Arithmetic, Function, Semantics, Specialization, words};
use crate::{Format, Projection, Saturation};

impl FromStr for Specialization {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const SHAPE: &str = "`Name<format, …, (rounding, saturation)>`";
        let text = text.trim();
        let (name, rest) = text.split_once('<').ok_or_else(|| wrong(text, SHAPE))?;
        let inner = rest.strip_suffix('>').ok_or_else(|| wrong(text, SHAPE))?;
        let name = name.trim();
        let function = Function::from_name(name).ok_or_else(|| {
            let suggestion = closest(name, Function::names().map(|name| (name, name)));
            Error::new(ErrorKind::UnknownOperation { name: Snippet::new(name), suggestion })
        })?;
        let shape = function.shape();

        let mut pieces = split(inner).into_iter().peekable();
        let length = if shape.has_length {
            let part = pieces.next().unwrap_or_default();
            Some(part.parse().map_err(|_| wrong(part, "the block length first, an integer from 1"))?)
        } else {
            None
        };
        let (mut pairs, mut formats, mut projections, mut options) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in pieces {
            if let Some(inside) = part.strip_prefix('(').and_then(|p| p.strip_suffix(')')) {
                match pair(inside, pairs.len() / 2 < shape.pairs)? {
                    Some(pair) => pairs.extend(pair),
                    None => projections.push(inside),
                }
            } else if let Some((key, value)) = option(part) {
                options.push((key, value));
            } else if part.is_empty() && inner.trim().is_empty() {
                // `Name<>`: what is missing is said below.
            } else {
                formats.push(part.parse::<Format>()?);
            }
        }
        let given = pairs.len() / 2;
        if given != shape.pairs {
            return Err(Error::new(ErrorKind::PairCount {
                name: function.name(),
                given,
                expected: shape.pairs,
            }));
        }
        if formats.len() != shape.formats {
            let (given, expected) = (formats.len(), shape.formats);
            return Err(Error::new(ErrorKind::FormatCount { name: function.name(), given, expected }));
        }
        let split_at = pairs.len();
        pairs.append(&mut formats);
        let all = pairs;
        let projections = parse_projections(function, &all, &projections)?;
        let arithmetic = arithmetic(function, &all, &options)?;
        debug_assert_eq!(split_at, 2 * shape.pairs, "pairs come first");
        Self::build(Parts { function, length, formats: all, projections, arithmetic })
    }
}

fn wrong(part: &str, expected: &'static str) -> Error {
    Error::new(ErrorKind::Specialization { part: Snippet::new(part), expected })
}

/// `(scale format, element format)`, or `None` for a projection. Where pairs are still missing, anything but a rounding
/// or saturation mode is taken for a pair, so that a misspelt format is called one.
fn pair(inside: &str, is_wanted: bool) -> Result<Option<[Format; 2]>, Error> {
    let parts = split(inside);
    let is_mode =
        |word: &str| Ok::<_, Error>(words::rounding(word)?.is_some() || word.parse::<Saturation>().is_ok());
    let [scale, element] = parts[..] else { return Ok(None) };
    if is_mode(scale)? || !is_wanted {
        return Ok(None);
    }
    Ok(Some([scale.parse()?, element.parse()?]))
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
fn parse_projection(text: &str, mut how: Projection) -> Result<Projection, Error> {
    for word in split(text) {
        if let Some(rounding) = words::rounding(word)? {
            how.rounding = rounding;
        } else if let Ok(saturation) = word.parse::<Saturation>() {
            how.saturation = saturation;
        } else {
            return Err(wrong(
                word,
                "a rounding mode (NearestTiesToEven, NearestTiesToAway, TowardPositive, TowardNegative, TowardZero, \
                 ToOdd, StochasticA<8>) or a saturation mode (SatFinite, SatPropagate, SatNone)",
            ));
        }
    }
    Ok(how)
}

/// A projection without a format that would fill in what is left out.
fn complete_projection(text: &str) -> Result<Projection, Error> {
    const BOTH: &str = "(rounding, saturation), both";
    let parts = split(text);
    let [rounding, _] = parts[..] else { return Err(wrong(text, BOTH)) };
    if words::rounding(rounding)?.is_none() {
        return Err(wrong(text, BOTH));
    }
    parse_projection(text, crate::Preset::P3109SatNone.projection(&crate::formats::BINARY32))
}

fn arithmetic(function: Function, formats: &[Format], options: &[(&str, &str)]) -> Result<Arithmetic, Error> {
    let mut arithmetic = Arithmetic::default_for_call(formats);
    let is_plain = function.shape().pairs == 0 && !function.shape().has_length;
    for &(key, value) in options {
        match (key, value) {
            ("semantics", "ieee") => arithmetic.semantics = Semantics::Ieee,
            ("semantics", "p3109") => arithmetic.semantics = Semantics::P3109,
            ("scale", _) if is_plain => {
                arithmetic.scale = value.parse().map_err(|_| wrong(value, "scale=L with an integer L"))?;
            }
            ("clamp", "operands") if is_plain => arithmetic.operand_clamp = true,
            _ if !is_plain => return Err(wrong(value, "semantics=ieee or semantics=p3109")),
            _ => return Err(wrong(value, "semantics=ieee, semantics=p3109, scale=L or clamp=operands")),
        }
    }
    Ok(arithmetic)
}

/// An option of the call, told from a format's own keys.
fn option(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    ["semantics", "scale", "clamp"].contains(&key.trim()).then(|| (key.trim(), value.trim()))
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
        for how in self.projections() {
            let (rounding, saturation) = (words::Round(how.rounding), words::saturation(how.saturation));
            write!(f, "{separator}({rounding}, {saturation})")?;
            separator = ", ";
        }
        let Arithmetic { semantics, scale, operand_clamp } = self.arithmetic();
        if semantics != Arithmetic::default_for_call(self.formats()).semantics {
            let name = if semantics == Semantics::Ieee { "ieee" } else { "p3109" };
            write!(f, "{separator}semantics={name}")?;
        }
        if scale != 0 {
            write!(f, "{separator}scale={scale}")?;
        }
        f.write_str(if operand_clamp { ", clamp=operands>" } else { ">" })
    }
}
