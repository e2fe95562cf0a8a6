//! [`ImplementationSpec`]: the spelling of variants.

use std::fmt;
use std::str::FromStr;

use smallfloat::Format;
use smallfloat::formats::BINARY32;

use crate::error::Error;

/// The way to compute a function before it is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// Exactly.
    Exact,
    /// In binary32.
    F32Libm,
    /// In binary64.
    F64Libm,
    /// By argument reduction and a Taylor polynomial.
    Taylor {
        /// The polynomial's degree, 1..=12.
        degree: u32,
        /// The format of every operation.
        working: Format,
    },
    /// By a table and linear interpolation.
    Table {
        /// How many intervals the table has: a power of two, 2..=65536.
        entries: u32,
        /// The format of the table and of every operation.
        working: Format,
    },
}

/// The treatment of subnormal results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// They become 0.
    Zero,
    /// They become the smallest normal value.
    Normal,
    /// They become whichever of the two is nearer.
    Nearest,
}

/// A word for a list of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedImplementation {
    /// The word.
    pub name: &'static str,
    /// The parts it stands for.
    pub parts: &'static str,
    /// What such an implementation is.
    pub about: &'static str,
}

/// The words that recipes understand.
pub const NAMED: &[NamedImplementation] = &[
    NamedImplementation {
        name: "exact",
        parts: "via=exact",
        about: "the defined result; with then= or flush= only these are measured",
    },
    NamedImplementation {
        name: "f32-libm",
        parts: "via=f32-libm",
        about: "a C library's float function, its result rounded again",
    },
    NamedImplementation {
        name: "f64-libm",
        parts: "via=f64-libm",
        about: "a C library's double function, its result rounded again",
    },
    NamedImplementation {
        name: "bfloat16",
        parts: "operands=bfloat16,via=f32-libm,then=bfloat16",
        about: "a bfloat16 unit: operand and result rounded to bfloat16, the result then rounded again",
    },
    NamedImplementation { name: "flush-zero", parts: "flush=zero", about: "subnormal results become 0" },
    NamedImplementation {
        name: "flush-normal",
        parts: "flush=normal",
        about: "subnormal results become the smallest normal value",
    },
    NamedImplementation {
        name: "flush-nearest",
        parts: "flush=nearest",
        about: "subnormal results become 0 or the smallest normal value",
    },
    NamedImplementation {
        name: "taylor",
        parts: "via=taylor",
        about: "e^x or 2^x by a polynomial of degree= (5), computed in= (binary32)",
    },
    NamedImplementation {
        name: "table",
        parts: "via=table",
        about: "interpolation in a table of entries= (64), computed in= (binary32)",
    },
];

/// The description of an implementation; the module's documentation has the spelling.
///
/// ```
/// use smallfloat_conformance::implementation::ImplementationSpec;
/// let recipe: ImplementationSpec = "bfloat16,flush=zero".parse()?;
/// assert_eq!(recipe.to_string(), "operands=bfloat16,via=f32-libm,then=bfloat16,flush=zero");
/// # Ok::<(), smallfloat_conformance::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImplementationSpec {
    operands: Option<Format>,
    via: Via,
    then: Option<Format>,
    flush: Option<Flush>,
}

const KEYS: [&str; 7] = ["operands", "via", "degree", "entries", "in", "then", "flush"];

/// Parts as they are read.
#[derive(Default)]
struct SpecParts {
    operands: Option<Format>,
    via: Option<&'static str>,
    degree: Option<u32>,
    entries: Option<u32>,
    working: Option<Format>,
    then: Option<Format>,
    flush: Option<Flush>,
}

const VIAS: [&str; 5] = ["exact", "f32-libm", "f64-libm", "taylor", "table"];
const FLUSHES: [(&str, Flush); 3] =
    [("zero", Flush::Zero), ("normal", Flush::Normal), ("nearest", Flush::Nearest)];

impl ImplementationSpec {
    /// Returns the format that operands are rounded to first.
    pub fn operands(&self) -> Option<Format> {
        self.operands
    }

    /// Returns how the function is computed.
    pub fn via(&self) -> Via {
        self.via
    }

    /// Returns the format that the result is rounded to before the last rounding.
    pub fn then(&self) -> Option<Format> {
        self.then
    }

    /// Returns what becomes of subnormal results.
    pub fn flush(&self) -> Option<Flush> {
        self.flush
    }
}

impl FromStr for ImplementationSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = SpecParts::default();
        for part in split(text) {
            parts.take(part)?;
        }
        parts.recipe()
    }
}

/// The parts between commas. A part with a key that is not ours belongs to the format before it, as
/// in `then=cfloat8_1_4_3:bias=7,subnormals=gradual`.
fn split(text: &str) -> Vec<&str> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut start = 0;
    for piece in text.split(',') {
        let end = start + piece.len();
        let foreign = piece.split_once('=').is_some_and(|(key, _)| !KEYS.contains(&key.trim()));
        match parts.last_mut() {
            Some((from, to)) if foreign && text[*from..*to].contains(':') => *to = end,
            _ => parts.push((start, end)),
        }
        start = end + 1;
    }
    parts.into_iter().map(|(from, to)| text[from..to].trim()).collect()
}

fn wrong(part: &str, expected: &'static str) -> Error {
    Error::Implementation { part: part.to_owned(), expected }
}

impl SpecParts {
    fn take(&mut self, part: &str) -> Result<(), Error> {
        let Some((key, value)) = part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            let named = NAMED.iter().find(|named| named.name.eq_ignore_ascii_case(part));
            let expected = "exact, f32-libm, f64-libm, bfloat16, flush-zero, flush-normal, flush-nearest, taylor, table, \
                            or KEY=VALUE with operands, via, degree, entries, in, then or flush";
            return split(named.ok_or_else(|| wrong(part, expected))?.parts)
                .into_iter()
                .try_for_each(|part| self.take(part));
        };
        match key {
            "operands" => self.operands = Some(value.parse()?),
            "then" => self.then = Some(value.parse()?),
            "in" => self.working = Some(value.parse()?),
            "via" => {
                let known = VIAS.into_iter().find(|via| via.eq_ignore_ascii_case(value));
                self.via =
                    Some(known.ok_or_else(|| wrong(part, "via=exact, f32-libm, f64-libm, taylor or table"))?);
            }
            "degree" => {
                let degree = value.parse().ok().filter(|degree| (1..=12).contains(degree));
                self.degree = Some(degree.ok_or_else(|| wrong(part, "degree=1 to degree=12"))?);
            }
            "entries" => {
                let legal = |n: &u32| n.is_power_of_two() && (2..=65536).contains(n);
                let entries = value.parse().ok().filter(legal);
                self.entries =
                    Some(entries.ok_or_else(|| wrong(part, "entries= a power of two, 2 to 65536"))?);
            }
            "flush" => {
                let known = FLUSHES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(value));
                self.flush =
                    Some(known.ok_or_else(|| wrong(part, "flush=zero, flush=normal or flush=nearest"))?.1);
            }
            _ => {
                return Err(wrong(part, "a key: operands, via, degree, entries, in, then or flush"));
            }
        }
        Ok(())
    }

    fn recipe(self) -> Result<ImplementationSpec, Error> {
        let working = self.working.unwrap_or(BINARY32);
        let via = match self.via.unwrap_or("exact") {
            "f32-libm" => Via::F32Libm,
            "f64-libm" => Via::F64Libm,
            "taylor" => Via::Taylor { degree: self.degree.unwrap_or(5), working },
            "table" => Via::Table { entries: self.entries.unwrap_or(64), working },
            _ => Via::Exact,
        };
        let idle = [
            (
                self.degree.is_some() && !matches!(via, Via::Taylor { .. }),
                "degree",
                "degree= with via=taylor only",
            ),
            (
                self.entries.is_some() && !matches!(via, Via::Table { .. }),
                "entries",
                "entries= with via=table only",
            ),
            (
                self.working.is_some() && !matches!(via, Via::Taylor { .. } | Via::Table { .. }),
                "in",
                "in= with via=taylor or via=table only",
            ),
        ];
        match idle.into_iter().find(|(is_idle, ..)| *is_idle) {
            Some((_, part, expected)) => Err(wrong(part, expected)),
            None => {
                Ok(ImplementationSpec { operands: self.operands, via, then: self.then, flush: self.flush })
            }
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("via=exact"),
            Self::F32Libm => f.write_str("via=f32-libm"),
            Self::F64Libm => f.write_str("via=f64-libm"),
            Self::Taylor { degree, working } => {
                write!(f, "via=taylor,degree={degree},in={working}")
            }
            Self::Table { entries, working } => {
                write!(f, "via=table,entries={entries},in={working}")
            }
        }
    }
}

/// The parts in the order in which they work.
impl fmt::Display for ImplementationSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(format) = self.operands {
            write!(f, "operands={format},")?;
        }
        write!(f, "{}", self.via)?;
        if let Some(format) = self.then {
            write!(f, ",then={format}")?;
        }
        match FLUSHES.iter().find(|(_, flush)| Some(*flush) == self.flush) {
            Some((name, _)) => write!(f, ",flush={name}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_understood() {
        let texts = [
            "via=exact",
            "operands=bfloat16,via=f32-libm,then=bfloat16,flush=zero",
            "via=taylor,degree=3,in=binary16,flush=nearest",
            "via=table,entries=32,in=bfloat16,then=cfloat8_1_4_3:bias=7,subnormals=gradual,flush=normal",
        ];
        for text in texts {
            assert_eq!(text.parse::<ImplementationSpec>().expect(text).to_string(), text);
        }
        for named in NAMED {
            let word: ImplementationSpec = named.name.parse().expect(named.name);
            assert_eq!(word, named.parts.parse().expect(named.parts));
        }
        assert_eq!(
            "f32-libm, via=exact".parse::<ImplementationSpec>().map(|r| r.to_string()),
            Ok("via=exact".into())
        );
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| text.parse::<ImplementationSpec>().expect_err(text).to_string();
        assert!(wrong("f16-libm").contains("`f16-libm`"));
        assert!(wrong("via=mpfr").contains("f64-libm"));
        assert!(wrong("taylor,degree=0").contains("degree=12"));
        assert!(wrong("table,entries=48").contains("power of two"));
        assert!(wrong("flush=up").contains("flush=nearest"));
        assert!(wrong("degree=3").contains("via=taylor only"));
        assert!(wrong("in=bfloat16").contains("via=taylor or via=table only"));
        assert!(wrong("then=bfloat17").contains("did you mean `bfloat16`"));
        assert!(wrong("bias=7").contains("a key"));
        assert!(wrong("").contains("KEY=VALUE"));
    }
}
