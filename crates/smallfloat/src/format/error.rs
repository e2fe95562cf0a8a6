//! The crate's error: what was wrong, and what would be right.

use core::fmt;

use crate::format::MAX_WIDE_EXPONENT;

/// The error of a name, a parameter or a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error {
    kind: ErrorKind,
}

/// The kinds of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parameter outside its legal range.
    OutOfRange {
        /// The parameter's name.
        what: &'static str,
        /// What was given.
        given: i64,
        /// The smallest legal value.
        min: i64,
        /// The largest legal value.
        max: i64,
    },
    /// An exponent of more bits than formats of more than 16 bits have here.
    ExponentBits {
        /// The format's width.
        width: u32,
        /// Its precision.
        precision: u32,
        /// The bits of its exponent.
        exponent: u32,
    },
    /// A random word that needs more bits than its rounding mode has.
    RandomWord {
        /// The word.
        word: u64,
        /// The number of bits.
        count: u32,
    },
    /// A code that needs more bits than the format has.
    CodeTooLarge {
        /// The code.
        code: u64,
        /// The format's width.
        width: u32,
    },
    /// Specials that the other parameters do not allow.
    NoSuchSpecials {
        /// Their name.
        specials: &'static str,
    },
    /// Another reading of the subnormal codes where the standard fixes it.
    FixedSubnormals,
    /// A name that is none of the catalogue's.
    UnknownFormat {
        /// The name.
        name: Snippet,
        /// The nearest known name.
        suggestion: Option<&'static str>,
    },
    /// A name of something that is no format here.
    NoFormat {
        /// The name.
        name: Snippet,
        /// Why it is none.
        reason: &'static str,
    },
    /// A name that means two formats.
    Ambiguous {
        /// The name.
        name: Snippet,
        /// What it can mean.
        meanings: &'static str,
    },
    /// A format whose bias is data, named without one.
    MissingBias {
        /// The format's name.
        name: &'static str,
    },
    /// A `key=value` that the format does not take.
    UnknownKey {
        /// The key.
        key: Snippet,
        /// The keys it takes.
        keys: &'static str,
    },
    /// A `key=value` whose value is not understood.
    BadValue {
        /// The key.
        key: Snippet,
        /// The value.
        value: Snippet,
        /// What is understood.
        expected: &'static str,
    },
    /// A parameter that has no default and was not given.
    MissingKey {
        /// The key.
        key: &'static str,
        /// How to write it.
        example: &'static str,
    },
    /// An operation that is not spelled as `Name<format, …, (rounding, saturation)>`.
    Specialization {
        /// The part that is wrong.
        part: Snippet,
        /// What would be right.
        expected: &'static str,
    },
    /// An operation that there is not.
    UnknownOperation {
        /// The name.
        name: Snippet,
        /// The nearest known name.
        suggestion: Option<&'static str>,
    },
    /// A number of formats that does not fit the operation.
    FormatCount {
        /// The operation.
        name: &'static str,
        /// How many were given.
        given: usize,
        /// How many it takes: its operands', and its result's if that is a number.
        expected: usize,
    },
    /// A number of operands that does not fit the operation.
    OperandCount {
        /// The operation.
        name: &'static str,
        /// How many were given.
        given: usize,
        /// How many it takes.
        expected: usize,
    },
    /// A number of pairs (scale format, element format) that does not fit the operation.
    PairCount {
        /// The operation.
        name: &'static str,
        /// How many were given.
        given: usize,
        /// How many it takes.
        expected: usize,
    },
    /// A number of projections that does not fit the operation.
    ProjectionCount {
        /// The operation.
        name: &'static str,
        /// How many were given.
        given: usize,
        /// How many it takes.
        expected: usize,
    },
    /// A combination of legal parts that has no meaning.
    NotDefined {
        /// The operation.
        name: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// An operand of another kind than the operation takes.
    OperandKind {
        /// The operation.
        name: &'static str,
        /// Which operand, from 1.
        operand: usize,
        /// What it should be.
        expected: &'static str,
    },
    /// An operand's code that needs more bits than its format has.
    OperandCode {
        /// Which operand, from 1.
        operand: usize,
        /// Which element of it, from 1.
        element: Option<usize>,
        /// The code.
        code: u64,
        /// The format's width.
        width: u32,
    },
    /// A sequence or a block with another number of elements than the block length.
    BlockLength {
        /// The operation.
        name: &'static str,
        /// Which operand, from 1.
        operand: usize,
        /// How many elements it has.
        given: usize,
        /// The block length.
        expected: usize,
    },
    /// Too many or too few random words.
    RandomWordCount {
        /// The operation.
        name: &'static str,
        /// How many were given.
        given: usize,
        /// How many it takes: one an element of a sequence that is rounded stochastically.
        expected: usize,
    },
    /// Text that is not a number.
    NotANumber {
        /// The text.
        text: Snippet,
    },
    /// A fraction with denominator 0, or with more digits than are read.
    Fraction {
        /// The text.
        text: Snippet,
    },
    /// `0x40` or `0b1`, which does not say whether it is a value or a code.
    ValueOrCode {
        /// The text.
        text: Snippet,
        /// What it is in decimal.
        number: u64,
    },
    /// `#4g`, `code:39`: a code that is not written in hexadecimal or bits.
    NotACode {
        /// The text.
        text: Snippet,
    },
    /// `=1.1`, as values were once written.
    ValueWithEquals {
        /// What follows the sign.
        text: Snippet,
    },
}

impl Error {
    pub(crate) const fn new(kind: ErrorKind) -> Self {
        Self { kind }
    }

    pub(crate) const fn range(what: &'static str, given: i64, min: i64, max: i64) -> Self {
        Self::new(ErrorKind::OutOfRange { what, given, min, max })
    }

    /// Returns what kind of error this is.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::OutOfRange { what, given, min, max } if min == max => {
                write!(f, "{what} = {given} is not possible: this format fixes it at {min}")
            }
            ErrorKind::OutOfRange { what, given, min, max } => {
                write!(f, "{what} = {given} is out of range, {what} must be {min}..={max}")
            }
            ErrorKind::ExponentBits { width, precision, exponent } => {
                exponent_bits(f, width, precision, exponent)
            }
            ErrorKind::RandomWord { word, count } => {
                write!(f, "random word {word:#x} does not fit in {count} bits, it must be below 2^{count}")
            }
            ErrorKind::CodeTooLarge { code, width } => code_too_large(f, code, width),
            ErrorKind::NoSuchSpecials { specials } => write!(
                f,
                "specials={specials} leaves no room with these parameters: ieee needs p >= 2 and at least 2 exponent \
                 bits, nan-negzero a sign, e8m0 signed=false and p=1, and every format at least one normal value"
            ),
            ErrorKind::FixedSubnormals => f.write_str(
                "this format fixes the reading of its subnormals; cfloat8_1_4_3, cfloat8_1_5_2 and shp take \
                 subnormals=tesla or subnormals=gradual, minifloat takes any",
            ),
            ErrorKind::UnknownFormat { name, suggestion } => unknown_format(f, name, suggestion),
            ErrorKind::NoFormat { name, reason } => write!(f, "`{name}` is no format here: {reason}"),
            ErrorKind::Ambiguous { name, meanings } => write!(f, "`{name}` is ambiguous: {meanings}"),
            ErrorKind::MissingBias { name } => {
                write!(f, "`{name}` needs a bias, 0..=63: write `{name}:bias=7`")
            }
            ErrorKind::UnknownKey { key, keys } => write!(f, "unknown key `{key}`, this format takes {keys}"),
            // A name of several words is no key that can be written.
            ErrorKind::BadValue { key, value, expected } if key.as_str().contains(' ') => {
                write!(f, "{key} `{value}` is not understood, expected {expected}")
            }
            ErrorKind::BadValue { key, value, expected } => {
                write!(f, "`{key}={value}` is not understood, expected {expected}")
            }
            ErrorKind::MissingKey { key, example } => write!(f, "`{key}` is missing: write `{example}`"),
            ErrorKind::Specialization { part, expected } => {
                write!(f, "`{part}` is not understood, expected {expected}")
            }
            ErrorKind::UnknownOperation { name, suggestion } => {
                write!(f, "unknown operation `{name}`")?;
                match suggestion {
                    Some(suggestion) => write!(f, ", did you mean `{suggestion}`?"),
                    None => f.write_str(", write for example `Add<e4m3fn, e5m2, binary32>`"),
                }
            }
            ErrorKind::FormatCount { name, given, expected } => {
                write!(f, "{name} takes {expected} format{}, {given} {} given", plural(expected), are(given))
            }
            ErrorKind::OperandCount { name, given, expected } => {
                write!(f, "{name} takes {expected} operand{}, {given} {} given", plural(expected), are(given))
            }
            ErrorKind::PairCount { name, given, expected } => {
                let (s, are) = (plural(expected), are(given));
                write!(
                    f,
                    "{name} takes {expected} pair{s} (scale format, element format), {given} {are} given"
                )
            }
            ErrorKind::ProjectionCount { name, given, expected } => {
                let (s, are) = (plural(expected), are(given));
                write!(f, "{name} takes {expected} projection{s} (rounding, saturation), {given} {are} given")
            }
            ErrorKind::NotDefined { name, reason } => write!(f, "{name} is not defined here: {reason}"),
            ErrorKind::OperandKind { name, operand, expected } => {
                write!(f, "operand {operand} of {name} must be {expected}")
            }
            ErrorKind::OperandCode { operand, element, code, width } => {
                write!(f, "operand {operand}")?;
                if let Some(element) = element {
                    write!(f, ", element {element}")?;
                }
                f.write_str(": ")?;
                code_too_large(f, code, width)
            }
            ErrorKind::BlockLength { name, operand, given, expected } => {
                write!(
                    f,
                    "operand {operand} of {name} has {given} element{}, the block length is {expected}",
                    plural(given)
                )
            }
            ErrorKind::RandomWordCount { name, expected: 0, .. } => {
                write!(
                    f,
                    "{name} takes no sequence of random words here: its result is not a sequence rounded stochastically"
                )
            }
            ErrorKind::RandomWordCount { name, given, expected } => {
                let (s, are) = (plural(expected), are(given));
                write!(f, "{name} takes {expected} random word{s}, one an element, {given} {are} given")
            }
            ErrorKind::NotANumber { .. }
            | ErrorKind::Fraction { .. }
            | ErrorKind::ValueOrCode { .. }
            | ErrorKind::NotACode { .. }
            | ErrorKind::ValueWithEquals { .. } => operand(&self.kind, f),
        }
    }
}

/// What is wrong with an operand's text.
fn operand(kind: &ErrorKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match kind {
        ErrorKind::NotANumber { text } => write!(
            f,
            "`{text}` is not a number: write a decimal (`-1.5e-3`), a hexadecimal float (`0x1.8p-3`), an integer \
             with a power of two (`3p-4`), a fraction (`1/3`), `inf` or `nan`"
        ),
        ErrorKind::Fraction { text } => write!(
            f,
            "`{text}`: a fraction has integers of up to 10000 digits above and below, and not 0 below"
        ),
        ErrorKind::ValueOrCode { text, number } => {
            let digits = text.as_str();
            let is_hex = digits.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("0x"));
            write!(f, "`{text}` may be a value or a code: as a value write `{number}`")?;
            if is_hex {
                write!(f, " or `{text}p0`")?;
            }
            write!(f, ", as a code `code:{text}` or `'#{number:x}'`")
        }
        ErrorKind::NotACode { text } => write!(
            f,
            "`{text}` is not a code: write it in hexadecimal, `#39` or `code:0x39`, or in bits, \
             `code:0b0_0111_001`"
        ),
        ErrorKind::ValueWithEquals { text } => {
            write!(f, "`={text}`: a value stands by itself, write `{text}`; a code is `#39` or `code:0x39`")
        }
        _ => unreachable!("no other kind is about an operand's text"),
    }
}

fn unknown_format(f: &mut fmt::Formatter<'_>, name: Snippet, suggestion: Option<&str>) -> fmt::Result {
    write!(f, "unknown format `{name}`")?;
    match suggestion {
        Some(suggestion) => write!(f, ", did you mean `{suggestion}`?"),
        None => f.write_str(
            ": names are those of the catalogue, such as e4m3fn or cfloat8_1_4_3:bias=7, and binary8p3se, \
             ieee:k=6,p=3 or minifloat:k=8,p=4,bias=7 with other numbers",
        ),
    }
}

fn exponent_bits(f: &mut fmt::Formatter<'_>, width: u32, precision: u32, exponent: u32) -> fmt::Result {
    write!(
        f,
        "k = {width}, p = {precision} gives {exponent} exponent bits, formats of 17 to 32 bits have at most \
         {MAX_WIDE_EXPONENT}: p must be at least {}",
        precision + exponent - MAX_WIDE_EXPONENT
    )
}

fn code_too_large(f: &mut fmt::Formatter<'_>, code: u64, width: u32) -> fmt::Result {
    let max = u64::MAX >> (64 - width);
    write!(f, "code {code:#x} does not fit in {width} bits, codes are 0x0..={max:#x}")
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

impl core::error::Error for Error {}

/// The first characters of a user's text, kept without an allocator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Snippet {
    bytes: [u8; Self::CAPACITY],
    length: u8,
    cut: bool,
}

impl Snippet {
    const CAPACITY: usize = 48;

    /// Returns the first 48 bytes of a text.
    #[expect(clippy::cast_possible_truncation, reason = "the capacity fits in a byte")]
    pub fn new(text: &str) -> Self {
        let mut end = text.len().min(Self::CAPACITY);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut bytes = [0; Self::CAPACITY];
        bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
        Self { bytes, length: end as u8, cut: end < text.len() }
    }

    /// Returns the text, cut to 48 bytes.
    #[expect(clippy::missing_panics_doc, reason = "`new` cuts between characters")]
    pub fn as_str(&self) -> &str {
        let text = core::str::from_utf8(&self.bytes[..usize::from(self.length)]);
        text.expect("cut between characters")
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        if self.cut { f.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::string::ToString;

    use crate::format::Format;
    use crate::format::name::FormatSpec;

    #[test]
    fn a_range_of_one_number_is_said_to_be_fixed() {
        let message = Format::cfloat8_1_4_3(64).unwrap_err().to_string();
        assert!(message.ends_with("bias = 64 is out of range, bias must be 0..=63"), "{message}");
        let fixed: FormatSpec = "e4m3fn".parse().unwrap();
        let message = fixed.with_bias(8).unwrap_err().to_string();
        assert!(message.ends_with("bias = 8 is not possible: this format fixes it at 7"), "{message}");
    }
}
