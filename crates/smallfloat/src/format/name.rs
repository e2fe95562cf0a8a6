//! Names ⇄ formats. The grammar is `name[:key=value[,key=value…]]` ([semantics](crate::semantics)
//! S6); case does not matter.

use core::fmt;
use core::str::FromStr;

use crate::format::error::{Error, ErrorKind, Snippet};
use crate::format::formats::CATALOGUE;
use crate::format::{Domain, Family, Format, Parameters, Signedness, Specials, Subnormals};

/// A format as named, perhaps without the bias that a configurable format needs.
///
/// Commands that choose the bias themselves parse a `FormatSpec`; everything else parses a
/// [`Format`].
///
/// ```
/// use smallfloat::{Format, FormatSpec};
/// let spec: FormatSpec = "cfloat8_1_4_3".parse()?;
/// assert_eq!(spec.bias(), None);
/// assert_eq!(spec.with_bias(17)?.to_string(), "cfloat8_1_4_3:bias=17");
/// assert!("cfloat8_1_4_3".parse::<Format>().is_err()); // says that a bias 0..=63 is missing
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatSpec {
    format: Format,
    has_bias: bool,
}

impl FormatSpec {
    /// Returns the bias in the name, if there is one; fixed formats have theirs.
    pub const fn bias(&self) -> Option<i32> {
        if self.has_bias { Some(self.format.bias()) } else { None }
    }

    /// Returns the format named, if the name was complete.
    ///
    /// # Errors
    /// A missing bias, with the legal range.
    pub fn format(&self) -> Result<Format, Error> {
        if self.has_bias {
            Ok(self.format)
        } else {
            Err(Error::new(ErrorKind::MissingBias { name: base_name(&self.format) }))
        }
    }

    /// Returns the format named; where the bias is missing, with the one that puts 1 where IEEE
    /// 754's formats have it, 2^(E−1) − 1 for E exponent bits: 7 for `cfloat8_1_4_3`, 15 for
    /// `cfloat8_1_5_2` and `shp`.
    ///
    /// ```
    /// use smallfloat::FormatSpec;
    /// let spec: FormatSpec = "shp".parse()?;
    /// assert_eq!(spec.or_default_bias().to_string(), "shp:bias=15");
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn or_default_bias(&self) -> Format {
        self.format
    }

    /// Returns the format with this bias.
    ///
    /// # Errors
    /// A bias outside the format's range.
    pub const fn with_bias(&self, bias: i32) -> Result<Format, Error> {
        self.format.with_bias(bias)
    }

    /// Returns whether the bias may differ from tensor to tensor.
    pub const fn has_free_bias(&self) -> bool {
        self.format.has_free_bias()
    }
}

impl From<Format> for FormatSpec {
    fn from(format: Format) -> Self {
        Self { format, has_bias: true }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse::<FormatSpec>()?.format()
    }
}

impl FromStr for FormatSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if let Some(format) = p3109_long(text)? {
            return Ok(format.into());
        }
        let (name, keys) = match text.split_once(':') {
            Some((name, keys)) => (name.trim(), Keys(keys)),
            None => (text, Keys("")),
        };
        if let Some(named) = find(name) {
            return if named.has_free_bias() {
                configurable(named, &keys)
            } else {
                fixed(named, &keys).map(Self::from)
            };
        }
        if name.eq_ignore_ascii_case("ieee") {
            return ieee(&keys).map(Self::from);
        }
        if name.eq_ignore_ascii_case("minifloat") {
            return minifloat(&keys).map(Self::from);
        }
        if let Some(format) = p3109_short(name)? {
            keys.only(&[])?;
            return Ok(format.into());
        }
        Err(unknown(name))
    }
}

fn find(name: &str) -> Option<Format> {
    CATALOGUE
        .iter()
        .find(|row| {
            row.name.eq_ignore_ascii_case(name)
                || row.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
        })
        .map(|row| row.format)
}

/// The `key=value` part of a name.
struct Keys<'a>(&'a str);

impl<'a> Keys<'a> {
    fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.split(',').filter(|part| !part.trim().is_empty()).map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (key.trim(), value.trim())
        })
    }

    /// Refuses keys that the format does not take, and keys given twice.
    fn only(&self, known: &[&'static str]) -> Result<(), Error> {
        const LISTS: [(&[&str], &str); 4] = [
            (&["bias", "subnormals"], "bias and subnormals"),
            (&["k", "p"], "k and p"),
            (
                &["k", "p", "bias", "signed", "specials", "subnormals"],
                "k, p, bias, signed, specials and subnormals",
            ),
            (&["bias"], "no other bias: its standard fixes everything"),
        ];
        let keys = LISTS.iter().find(|(keys, _)| *keys == known).map_or("none", |(_, text)| text);
        for (at, (key, value)) in self.iter().enumerate() {
            if !known.iter().any(|k| k.eq_ignore_ascii_case(key)) {
                return Err(Error::new(ErrorKind::UnknownKey { key: Snippet::new(key), keys }));
            }
            if self.iter().take(at).any(|(earlier, _)| earlier.eq_ignore_ascii_case(key)) {
                return Err(bad_value(key, value, "each key once"));
            }
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }

    fn integer<T: FromStr>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.parse() {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(bad_value(key, value, "an integer")),
        }
    }

    fn subnormals(&self) -> Result<Option<Subnormals>, Error> {
        self.get("subnormals")
            .map(|value| choose(Subnormals::NAMED, "subnormals", value, "gradual, tesla, flush or none"))
            .transpose()
    }
}

pub(crate) fn bad_value(key: &str, value: &str, expected: &'static str) -> Error {
    Error::new(ErrorKind::BadValue { key: Snippet::new(key), value: Snippet::new(value), expected })
}

fn choose<T: Copy>(named: &[(&str, T)], key: &str, value: &str, expected: &'static str) -> Result<T, Error> {
    match named.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)) {
        Some(&(_, choice)) => Ok(choice),
        None => Err(bad_value(key, value, expected)),
    }
}

fn configurable(format: Format, keys: &Keys<'_>) -> Result<FormatSpec, Error> {
    keys.only(&["bias", "subnormals"])?;
    let bias = keys.integer("bias")?;
    let format = match bias {
        Some(bias) => format.with_bias(bias)?,
        None => format,
    };
    let format = match keys.subnormals()? {
        Some(subnormals) => format.with_subnormals(subnormals)?,
        None => format,
    };
    Ok(FormatSpec { format, has_bias: bias.is_some() })
}

/// A format whose standard fixes everything; naming its own bias is allowed.
fn fixed(format: Format, keys: &Keys<'_>) -> Result<Format, Error> {
    keys.only(&["bias"])?;
    match keys.integer("bias")? {
        Some(bias) => format.with_bias(bias),
        None => Ok(format),
    }
}

fn ieee(keys: &Keys<'_>) -> Result<Format, Error> {
    const EXAMPLE: &str = "ieee:k=6,p=3";
    keys.only(&["k", "p"])?;
    Format::ieee(required(keys, "k", EXAMPLE)?, required(keys, "p", EXAMPLE)?)
}

fn required<T: FromStr>(keys: &Keys<'_>, key: &'static str, example: &'static str) -> Result<T, Error> {
    keys.integer(key)?.ok_or(Error::new(ErrorKind::MissingKey { key, example }))
}

fn minifloat(keys: &Keys<'_>) -> Result<Format, Error> {
    const EXAMPLE: &str = "minifloat:k=8,p=4,bias=7,specials=finite";
    keys.only(&["k", "p", "bias", "signed", "specials", "subnormals"])?;
    let signedness = match keys.get("signed") {
        None => Signedness::Signed,
        Some(value) => {
            let named = [("true", Signedness::Signed), ("false", Signedness::Unsigned)];
            choose(&named, "signed", value, "true or false")?
        }
    };
    let specials = match keys.get("specials") {
        None => Specials::Finite,
        Some(value) => choose(
            Specials::NAMED,
            "specials",
            value,
            "finite, ieee, nan-allones, nan-negzero, p3109-extended, p3109-finite or e8m0",
        )?,
    };
    Format::minifloat(Parameters {
        width: required(keys, "k", EXAMPLE)?,
        precision: required(keys, "p", EXAMPLE)?,
        bias: required(keys, "bias", EXAMPLE)?,
        signedness,
        specials,
        subnormals: keys.subnormals()?.unwrap_or(Subnormals::Gradual),
    })
}

/// `Binary8p3se`; the suffix may be left out in part as the talk and drafts before 4.0 did
/// (`binary8p4`, `binary4p2f`).
fn p3109_short(name: &str) -> Result<Option<Format>, Error> {
    let Some(rest) = strip_prefix_ignore_case(name, "binary") else { return Ok(None) };
    let (k, rest) = take_digits(rest);
    let Some(rest) = strip_prefix_ignore_case(rest, "p") else { return Ok(None) };
    let (p, suffix) = take_digits(rest);
    let (Ok(k), Ok(p)) = (k.parse(), p.parse()) else { return Ok(None) };
    let mut suffix = suffix.bytes().map(|b| b.to_ascii_lowercase()).peekable();
    let signedness = match suffix.next_if(|b| matches!(b, b's' | b'u')) {
        Some(b'u') => Signedness::Unsigned,
        _ => Signedness::Signed,
    };
    let domain = match suffix.next_if(|b| matches!(b, b'e' | b'f')) {
        Some(b'f') => Domain::Finite,
        _ => Domain::Extended,
    };
    if suffix.next().is_some() {
        return Ok(None);
    }
    Format::p3109(k, p, signedness, domain).map(Some)
}

/// `Binary{8, 3, Signed, Extended}`.
fn p3109_long(text: &str) -> Result<Option<Format>, Error> {
    let Some(rest) = strip_prefix_ignore_case(text, "binary{") else { return Ok(None) };
    let Some(rest) = rest.strip_suffix('}') else { return Err(unknown(text)) };
    let mut parts = rest.split(',').map(str::trim);
    let (Some(k), Some(p), Some(s), Some(d), None) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(unknown(text));
    };
    let number = |key, value: &str| value.parse().map_err(|_| bad_value(key, value, "an integer"));
    let signedness = [("signed", Signedness::Signed), ("unsigned", Signedness::Unsigned)];
    let domain = [("extended", Domain::Extended), ("finite", Domain::Finite)];
    Format::p3109(
        number("K", k)?,
        number("P", p)?,
        choose(&signedness, "signedness", s, "Signed or Unsigned")?,
        choose(&domain, "domain", d, "Extended or Finite")?,
    )
    .map(Some)
}

fn strip_prefix_ignore_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn take_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Names that say too little, or that other programs have for other things, and the format to take.
const KNOWN_ELSEWHERE: [(&str, &str); 18] = [
    ("fp4", "e2m1fn"),
    ("float4", "e2m1fn"),
    ("mxfp4", "e2m1fn"),
    ("nvfp4", "e2m1fn"),
    ("fp6", "e3m2fn"),
    ("mxfp6", "e3m2fn"),
    ("fp8", "e4m3fn"),
    ("float8", "e4m3fn"),
    ("hf8", "e4m3fn"),
    ("bf8", "e5m2"),
    ("mxfp8", "e4m3fn"),
    ("cfloat8", "cfloat8_1_4_3"),
    ("cfloat16", "shp"),
    ("fp16", "binary16"),
    ("pxr24", "ieee:k=24,p=16"),
    ("fp32", "binary32"),
    ("fp64", "binary64"),
    ("double", "binary64"),
];

/// Names that other programs have for what is no format here, and why it is none.
const NO_FORMATS: [(&str, &str); 10] = [
    ("binary128", "it has 128 bits; formats have at most 32, or are binary64"),
    ("float128", "it has 128 bits; formats have at most 32, or are binary64"),
    ("fp80", "it has 80 bits; formats have at most 32, or are binary64"),
    ("uint8", "its codes are integers"),
    ("nf4", LIST),
    ("sf4", LIST),
    ("bnb-fp4", LIST),
    ("int4", LIST),
    ("int8", LIST),
    ("mxint8", LIST),
];

/// Why a [`Codebook`](crate::codebook::Codebook) is none.
const LIST: &str = "it is a list of values, to and from which numbers are converted; operations take formats";

fn unknown(name: &str) -> Error {
    const AMBIGUOUS: [(&str, &str); 3] = [
        ("e3m2", "OCP's e3m2fn (maximum 28) or the IEEE-like ieee:k=6,p=3 (maximum 14)"),
        ("e2m3", "OCP's e2m3fn (maximum 7.5) or the IEEE-like ieee:k=6,p=4 (maximum 3.75)"),
        ("e2m1", "OCP's e2m1fn (maximum 6) or the IEEE-like ieee:k=4,p=2 (maximum 3)"),
    ];
    if let Some((_, meanings)) = AMBIGUOUS.iter().find(|(short, _)| short.eq_ignore_ascii_case(name)) {
        return Error::new(ErrorKind::Ambiguous { name: Snippet::new(name), meanings });
    }
    if let Some((_, reason)) = NO_FORMATS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
        return Error::new(ErrorKind::NoFormat { name: Snippet::new(name), reason });
    }
    let named = CATALOGUE.iter().flat_map(|row| {
        core::iter::once(row.name).chain(row.aliases.iter().copied()).map(move |name| (name, row.name))
    });
    let families =
        [("ieee", "ieee:k=6,p=3"), ("minifloat", "minifloat:k=8,p=4,bias=7"), ("binary8p3se", "binary8p3se")];
    // What is known elsewhere is no slip of a name that looks like it.
    let meant = KNOWN_ELSEWHERE.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    let suggestion = match meant {
        Some((_, meant)) => Some(*meant),
        None => closest(name, named.chain(families)),
    };
    Error::new(ErrorKind::UnknownFormat { name: Snippet::new(name), suggestion })
}

/// Returns what to show for the known name nearest to a misspelt one, if any is near.
pub fn closest(
    name: &str,
    known: impl Iterator<Item = (&'static str, &'static str)>,
) -> Option<&'static str> {
    let distances = Distances::from(name)?;
    let farthest = 1 + name.len() / 4;
    known
        // A distance is at least the difference of the lengths.
        .filter(|(candidate, _)| candidate.len().abs_diff(name.len()) <= farthest)
        .filter_map(|(candidate, shown)| Some((distances.to(candidate)?, shown)))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= farthest)
        .map(|(_, shown)| shown)
}

/// Levenshtein distances from one text, ignoring case, by G. Myers' algorithm (Journal of the ACM
/// 46, 1999): a column of the table of distances is two words, which hold where it goes up and
/// where down from one cell to the next.
struct Distances {
    length: usize,
    /// Where the text has each byte, one bit for each place; upper case counts as lower.
    places: [u32; 256],
}

impl Distances {
    /// Longer texts are no slips of a name.
    const LONGEST: usize = u32::BITS as usize;

    fn from(text: &str) -> Option<Self> {
        let length = text.len();
        if length > Self::LONGEST {
            return None;
        }
        let mut places = [0; 256];
        for (place, byte) in text.bytes().enumerate() {
            places[usize::from(byte.to_ascii_lowercase())] |= 1 << place;
        }
        Some(Self { length, places })
    }

    fn to(&self, other: &str) -> Option<usize> {
        if other.len() > Self::LONGEST {
            return None;
        }
        let Some(last) = self.length.checked_sub(1) else { return Some(other.len()) };
        let (mut up, mut down) = (u32::MAX, 0);
        let mut distance = self.length;
        for byte in other.bytes() {
            let same = self.places[usize::from(byte.to_ascii_lowercase())];
            // Where the new column is above the old one, and where below.
            let level = ((same & up).wrapping_add(up) ^ up) | same;
            let (above, below) = (down | !(level | up), up & level);
            distance += (above >> last & 1) as usize;
            distance -= (below >> last & 1) as usize;
            let (above, below) = (above << 1 | 1, below << 1);
            (up, down) = (below | !(same | down | above), above & (same | down));
        }
        Some(distance)
    }
}

/// The name without parameters: a catalogue row's, or the family's word.
fn base_name(format: &Format) -> &'static str {
    let same = |row: &&crate::format::formats::Named| {
        let biased = row.format.has_free_bias() && format.has_free_bias();
        row.format == *format || (biased && row.format.precision() == format.precision())
    };
    match CATALOGUE.iter().find(same) {
        Some(row) => row.name,
        None if format.family() == Family::Ieee => "ieee",
        None => "minifloat",
    }
}

/// The name that parses back to the same format.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (k, p) = (self.width(), self.precision());
        if self.family() == Family::P3109 {
            let sign = if self.is_signed() { 's' } else { 'u' };
            let domain = if self.has_infinity() { 'e' } else { 'f' };
            return write!(f, "binary{k}p{p}{sign}{domain}");
        }
        let name = base_name(self);
        match name {
            "ieee" => write!(f, "ieee:k={k},p={p}"),
            "minifloat" => write!(
                f,
                "minifloat:k={k},p={p},bias={},signed={},specials={},subnormals={}",
                self.bias(),
                self.is_signed(),
                self.specials().name(),
                self.subnormals().name()
            ),
            _ if self.has_free_bias() => {
                write!(f, "{name}:bias={}", self.bias())?;
                if self.subnormals() == Subnormals::Gradual {
                    f.write_str(",subnormals=gradual")
                } else {
                    Ok(())
                }
            }
            _ => f.write_str(name),
        }
    }
}

impl fmt::Display for FormatSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.has_bias {
            return self.format.fmt(f);
        }
        f.write_str(base_name(&self.format))?;
        if self.format.subnormals() == Subnormals::Gradual {
            f.write_str(":subnormals=gradual")
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({self})")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::{Distances, closest};

    fn distance(a: &str, b: &str) -> Option<usize> {
        Distances::from(a)?.to(b)
    }

    /// The distance by its definition, over a whole table.
    fn defined(a: &str, b: &str) -> usize {
        let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
        let mut table = [[0; 33]; 33];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let differs = usize::from(a.as_bytes()[i - 1] != b.as_bytes()[j - 1]);
                    (table[i - 1][j - 1] + differs).min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                };
            }
        }
        table[a.len()][b.len()]
    }

    #[test]
    fn distances_are_levenshtein_s() {
        for (a, b, expected) in [
            ("kitten", "sitting", 3),
            ("saturday", "sunday", 3),
            ("flaw", "lawn", 2),
            ("", "abc", 3),
            ("abc", "", 3),
            ("", "", 0),
            ("xxe4m3", "e4m3", 2),
            ("e4m3", "e4m3xx", 2),
            ("E4M3fn", "e4m3FN", 0),
            ("é", "e", 2),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (Some(expected), Some(expected)), "{a} {b}");
        }
        let (short, long) = ("a".repeat(32), "a".repeat(33));
        assert_eq!((distance(&short, "a"), distance("a", &short)), (Some(31), Some(31)));
        assert_eq!((distance(&short, &"b".repeat(32)), distance(&short, &short)), (Some(32), Some(0)));
        assert_eq!((distance(&long, "a"), distance("a", &long)), (None, None));
    }

    /// Words of few letters, so that many agree in part, of every two lengths.
    #[test]
    fn distances_are_the_defined_ones() {
        let mut state = 1_u64;
        let mut word = |length| {
            let letter = |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b"abcC"[(state >> 62) as usize])
            };
            (0..length).map(letter).collect::<String>()
        };
        for (a, b) in (0..=32).flat_map(|a| (0..=32).map(move |b| (a, b))) {
            for _ in 0..10 {
                let (a, b) = (word(a), word(b));
                assert_eq!(distance(&a, &b), Some(defined(&a, &b)), "{a} {b}");
            }
        }
    }

    /// One slip in any name, and one more for every four letters.
    #[test]
    fn suggestions_are_near() {
        let of = |name| closest(name, [("abcdefgh", "far"), ("abc", "near")].into_iter());
        assert_eq!(
            (of("abd"), of("axx"), of("abcdxxgh"), of("abcxxxgh")),
            (Some("near"), None, Some("far"), Some("far"))
        );
        assert_eq!((of("abxxxxgh"), of("abcde")), (None, Some("near")));
    }
}
