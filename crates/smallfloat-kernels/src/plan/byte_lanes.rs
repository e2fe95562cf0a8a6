//! [`BytePlan`]: how vectors add or multiply codes in lanes of a byte, without a way through
//! binary32.
//!
//! Signed formats with at most three trailing significand bits have so few binades that *binade and
//! trailing bits* of every value, subnormal ones included, are a number of one byte: its *place*.
//!
//! A **sum** takes the larger place as it is. The smaller operand is shifted right by the distance
//! of their binades, which a table of 64 entries does, and rounded to odd there. The sum or
//! difference of both significands has eight bits, and a table of 256 entries gives the place that
//! it rounds to, relative to the larger operand's binade. A last table has the code of every place,
//! the largest value's successors included, which overflow. This needs sums that are places below
//! the destination's smallest normal value, as those of one format are.
//!
//! A **product** adds binades, and tables of 64 entries multiply the significands and round the
//! product to odd, two bits beyond the longest destination. Rounding it is a table of eight rows,
//! one for each binade up to the smallest normal one: below, a row rounds as it has to there;
//! above, codes repeat every binade.
//!
//! All entries are the core's answers. What differs between a value and its opposite (a directed
//! mode, an unsigned destination) has no such plan.

use std::cell::Cell;

use smallfloat::ops::{Operation, OperationOptions, Semantics};
use smallfloat::{Class, Datum, Exact, FlagPolicy, Flags, Format, project_with};

use crate::target::Target;

/// A sum or a product in lanes of a byte.
#[derive(Clone, Debug)]
pub(crate) enum BytePlan {
    Sum(Box<SumPlan>),
    Product(Box<ProductPlan>),
}

/// What sums and products have in common.
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcomes {
    /// The sign bit of all three formats.
    pub(crate) sign: u8,
    /// Infinities, or NaN, are among the magnitudes of operands.
    pub(crate) has_specials: bool,
    /// Operands whose code of −0 is a NaN.
    pub(crate) nan_at_zero: [bool; 2],
    /// A NaN's code: of +NaN if the code depends on the sign.
    pub(crate) nan: u8,
    pub(crate) nan_has_sign: bool,
    pub(crate) nan_flags: Flags,
    /// The code of +∞, which that of −∞ differs from in its sign.
    pub(crate) infinity: u8,
    pub(crate) infinity_flags: Flags,
    /// What exceeds the largest finite value: the code of positive results, or a NaN.
    pub(crate) overflow: u8,
    pub(crate) overflow_is_nan: bool,
    pub(crate) overflow_flags: Flags,
    /// A negative zero result keeps its sign.
    pub(crate) keeps_sign_of_zero: bool,
}

/// A place is `(binade << trailing) | trailing bits`, 0 for zero; binades count from 1.
#[derive(Clone, Debug)]
pub(crate) struct SumPlan {
    pub(crate) outcomes: Outcomes,
    /// The second operand is subtracted.
    pub(crate) subtracts: bool,
    /// Places of the magnitudes of both operands.
    pub(crate) places: [[u8; 128]; 2],
    /// The places of the smallest normal values.
    pub(crate) first_normal: [u8; 2],
    /// The bits of a place that are its binade.
    pub(crate) binade: u8,
    /// The significand of the larger operand, by the lower bits of its place.
    pub(crate) larger: [u8; 64],
    /// The significand of the smaller operand, by the binades between both above its trailing bits.
    pub(crate) smaller: [u8; 64],
    /// What to add to the larger operand's binade, by the significand of the result;
    /// [`INEXACT`] is set where that rounds.
    pub(crate) rounded: [u8; 256],
    /// Codes by place, as many entries further on as `rounded` adds where the result has the larger
    /// operand's binade; [`INEXACT`] is set where a place is none of the destination's values.
    pub(crate) codes: [u8; 256],
    /// The flags of those.
    pub(crate) flags: Flags,
    /// The entry of the largest finite value.
    pub(crate) largest: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct ProductPlan {
    pub(crate) outcomes: Outcomes,
    /// Binades of the magnitudes of both operands; [`SUBNORMAL`] is set for subnormal ones.
    pub(crate) binades: [[u8; 128]; 2],
    /// Their classes, and their trailing bits as three bits: those of the first operand above those
    /// of the second.
    pub(crate) significands: [[u8; 128]; 2],
    /// Five bits after the leading one of the product of significands, by both operands' trailing
    /// bits, and whether it carries into the next binade.
    pub(crate) products: [u8; 64],
    pub(crate) carries: [u8; 64],
    /// The sum of binades of row 0.
    pub(crate) lowest: u8,
    /// The row of the smallest normal binade.
    pub(crate) normal: u8,
    /// Codes by row and product; [`INEXACT`] and [`UNDERFLOW`] are set where that is so.
    pub(crate) rounded: [u8; 256],
    /// Trailing bits of the destination.
    pub(crate) trailing: u8,
    /// The largest finite value's code.
    pub(crate) largest: u8,
}

/// A place of an infinite operand, and one of a NaN.
pub(crate) const INFINITE_PLACE: u8 = 254;
pub(crate) const NAN_PLACE: u8 = 255;
/// Classes of operands of a product, which are joined by "or": zero times infinity is a NaN.
pub(crate) const ZERO: u8 = 0x40;
pub(crate) const INFINITE: u8 = 0x80;
pub(crate) const NAN: u8 = ZERO | INFINITE;
/// A subnormal operand.
pub(crate) const SUBNORMAL: u8 = 0x80;
/// Flags in tables of results.
pub(crate) const INEXACT: u8 = 0x80;
pub(crate) const UNDERFLOW: u8 = 0x40;
/// The binade of operands of a product that are zero or no numbers: with it, products are exact.
const OF_SPECIALS: i32 = 63;
/// Bits after the leading one of significands in a sum.
const SUM_BITS: u32 = 6;
/// The most trailing bits of a format.
const TRAILING: u32 = 3;

impl BytePlan {
    /// The plan, or `None` where formats or rounding do not allow it.
    pub(crate) fn new(
        operation: Operation,
        operands: &[Format],
        target: Target<'_>,
        arithmetic: OperationOptions,
    ) -> Option<Self> {
        if arithmetic.operand_clamp || arithmetic.scale != 0 {
            return None;
        }
        let &[x, y] = operands else { return None };
        let operands = [Magnitudes::new(&x)?, Magnitudes::new(&y)?];
        let answers = Answers::new(target, &operands, arithmetic.semantics)?;
        let sum = |subtracts: bool| {
            // A sum takes a NaN in the place of −0 for a zero, which then must change nothing.
            let is_closed = [x, y] == [*target.format; 2];
            let fits = is_closed || answers.outcomes.nan_at_zero == [false; 2];
            let plan = if fits { SumPlan::new(&operands, &answers, subtracts) } else { None };
            plan.map(Box::new).map(Self::Sum)
        };
        match operation {
            Operation::Add => sum(false),
            Operation::Subtract => sum(true),
            Operation::Multiply => ProductPlan::new(&operands, &answers).map(Box::new).map(Self::Product),
            _ => None,
        }
    }
}

/// The magnitudes of a signed operand's format.
struct Magnitudes {
    sign: u8,
    trailing: u32,
    codes: Vec<(Datum, bool)>,
    nan_at_zero: bool,
}

impl Magnitudes {
    fn new(format: &Format) -> Option<Self> {
        let sign = sign(format)?;
        let mirrored = |code: u8| {
            let [plus, minus] = [code, code | sign].map(|code| format.decode(u64::from(code)));
            minus == plus.negated() || (plus.is_nan() && minus.is_nan())
        };
        if !(1..sign).all(mirrored) {
            return None;
        }
        let magnitude = |code: u8| {
            let code = u64::from(code);
            (format.decode(code), format.classify(code) == Class::Subnormal)
        };
        Some(Self {
            sign,
            trailing: format.trailing_bits(),
            codes: (0..sign).map(magnitude).collect(),
            nan_at_zero: format.decode(u64::from(sign)).is_nan(),
        })
    }

    fn has_specials(&self) -> bool {
        self.codes.iter().any(|(datum, _)| !datum.is_finite())
    }

    /// Exponents of the leading bits of finite values.
    fn leading_bits(&self) -> impl Iterator<Item = i32> {
        let values = self.codes.iter().map(|(datum, _)| datum);
        values.filter(|datum| datum.is_finite() && !datum.is_zero()).map(Datum::exponent_of_leading_bit)
    }

    /// The exponent of the last place of the smallest values.
    fn unit(&self) -> Option<i32> {
        let unit = |(datum, _): &(Datum, bool)| match *datum {
            Datum::Finite { significand, exponent, .. } if significand != 0 => Some(exponent),
            _ => None,
        };
        self.codes.iter().filter_map(unit).min()
    }

    /// A byte for each magnitude; a code's upper bits, which its format lacks, change nothing.
    fn table(&self, byte: impl Fn(Datum, bool) -> Option<u8>) -> Option<[u8; 128]> {
        let mut table = [0; 128];
        for (i, entry) in table.iter_mut().enumerate() {
            let (datum, is_subnormal) = self.codes[i % self.codes.len()];
            *entry = byte(datum, is_subnormal)?;
        }
        Some(table)
    }
}

/// The bits after the leading one, as so many.
fn trailing_bits(datum: Datum, bits: u32) -> Option<u8> {
    let Datum::Finite { significand, .. } = datum else { return None };
    let length = u64::BITS - significand.leading_zeros();
    let aligned = (significand << bits).checked_shr(length - 1)?;
    u8::try_from(aligned - (1 << bits)).ok()
}

/// The value shifted to the right and rounded to odd.
fn to_odd(value: u32, by: u32) -> u32 {
    let cut = value & ((1 << by) - 1);
    value >> by | u32::from(cut != 0)
}

/// An index of one of the tables as a number.
fn low(index: usize) -> u32 {
    u32::try_from(index).expect("tables have 256 entries at most")
}

fn table_of<const N: usize>(entry: impl Fn(usize) -> Option<u32>) -> Option<[u8; N]> {
    let mut table = [0; N];
    for (i, byte) in table.iter_mut().enumerate() {
        *byte = u8::try_from(entry(i)?).ok()?;
    }
    Some(table)
}

fn sign(format: &Format) -> Option<u8> {
    let is_narrow = format.is_signed() && format.trailing_bits() <= TRAILING && format.has_zero();
    let codes = u8::try_from(format.max_code()).ok().filter(|_| is_narrow)?;
    Some(codes ^ (codes >> 1))
}

/// The core's answers for a destination, which only the sign of a result may mirror.
struct Answers<'a> {
    target: Target<'a>,
    outcomes: Outcomes,
}

impl<'a> Answers<'a> {
    fn new(target: Target<'a>, operands: &[Magnitudes; 2], semantics: Semantics) -> Option<Self> {
        let to = target.format;
        let sign = sign(to).filter(|&sign| operands.iter().all(|operand| operand.sign == sign))?;
        if to.trailing_bits() == 0 {
            // Ties are not even or odd by the last place alone.
            return None;
        }
        let nan_at_zero = [operands[0].nan_at_zero, operands[1].nan_at_zero];
        let has_specials = operands.iter().any(Magnitudes::has_specials);
        let ask = |exact: Exact| {
            let answer = project_with(exact, to, target.projection, FlagPolicy::TESLA);
            Some((u8::try_from(answer.value).ok()?, answer.flags))
        };
        let both = |exact: fn(bool) -> Exact| -> Option<(u8, Flags, bool)> {
            let ((plus, flags), (minus, minus_flags)) = (ask(exact(false))?, ask(exact(true))?);
            let same_flags = flags == minus_flags;
            (same_flags && (plus == minus || plus | sign == minus)).then_some((plus, flags, plus != minus))
        };
        let has_nan = has_specials || nan_at_zero.contains(&true);
        let nan = both(|negative| Exact::Nan { negative });
        let (nan, nan_flags, nan_has_sign) =
            if has_nan { nan? } else { nan.unwrap_or((0, Flags::NONE, false)) };
        let (infinity, infinity_flags, mirrored) = both(|negative| Exact::Infinite { negative })?;
        let (overflow, overflow_flags, overflow_has_sign) =
            both(|negative| Exact::finite(negative, 1, 1 << 12))?;
        let (_, _, zero_has_sign) = both(|negative| Exact::finite(negative, 0, 0))?;
        let overflow_is_nan = !overflow_has_sign && overflow == nan;
        let fits = (mirrored || !has_specials)
            && (overflow_has_sign || overflow_is_nan)
            && !(nan_has_sign && nan_at_zero.contains(&true));
        fits.then_some(Self {
            target,
            outcomes: Outcomes {
                sign,
                has_specials,
                nan_at_zero,
                nan,
                nan_has_sign,
                nan_flags,
                infinity: infinity & !sign,
                infinity_flags,
                overflow: overflow & !sign,
                overflow_is_nan,
                overflow_flags,
                keeps_sign_of_zero: zero_has_sign && semantics == Semantics::Ieee,
            },
        })
    }

    /// The code of the rounded positive value, and the flags of it and its opposite; `None` where
    /// these differ.
    fn round(&self, significand: u32, exponent: i32) -> Option<(u8, Flags)> {
        let [plus, minus] = [false, true].map(|negative| {
            let exact = Exact::finite(negative, u128::from(significand), exponent);
            project_with(exact, self.target.format, self.target.projection, FlagPolicy::TESLA)
        });
        let (code, opposite) = (u8::try_from(plus.value).ok()?, u8::try_from(minus.value).ok()?);
        let sign = self.outcomes.sign;
        let mirrored = if code == 0 {
            opposite == if self.outcomes.keeps_sign_of_zero { sign } else { 0 }
        } else {
            opposite == code | sign
        };
        (code < sign && mirrored && plus.flags == minus.flags).then_some((code, plus.flags))
    }

    fn magnitude(&self, datum: Datum) -> Option<u8> {
        u8::try_from(self.target.format.encode(datum)?).ok()
    }

    fn trailing(&self) -> u32 {
        self.target.format.trailing_bits()
    }

    /// The exponent of the smallest normal value.
    fn normal(&self) -> i32 {
        self.target.format.min_normal().exponent_of_leading_bit()
    }
}

impl SumPlan {
    fn new(operands: &[Magnitudes; 2], answers: &Answers<'_>, subtracts: bool) -> Option<Self> {
        let to = answers.target.format;
        let unit = operands[0].unit()?.min(operands[1].unit()?);
        // Below the smallest normal value, sums have no more bits than the table rounds to.
        if answers.normal() - unit > answers.trailing().cast_signed() + 1 {
            return None;
        }
        let trailing = answers.trailing().max(operands[0].trailing).max(operands[1].trailing);
        // A sum may be as small as the unit.
        let lowest = unit;
        let place = |datum: Datum| match datum {
            Datum::Nan { .. } => Some(NAN_PLACE),
            Datum::Infinite { .. } => Some(INFINITE_PLACE),
            Datum::Finite { significand: 0, .. } => Some(0),
            Datum::Finite { .. } => {
                let binade = u8::try_from(datum.exponent_of_leading_bit() - lowest + 1).ok()?;
                let place = u32::from(binade) << trailing | u32::from(trailing_bits(datum, trailing)?);
                u8::try_from(place).ok().filter(|&place| place < INFINITE_PLACE)
            }
        };
        // What decodes to zero but counts as subnormal has no place of its own.
        let table = |operand: &Magnitudes| {
            operand.table(|datum, is_subnormal| place(datum).filter(|&place| place != 0 || !is_subnormal))
        };
        let first_normal = |operand: &Magnitudes| {
            let normal = |&&(datum, is_subnormal): &&(Datum, bool)| !datum.is_zero() && !is_subnormal;
            place(operand.codes.iter().find(normal)?.0)
        };
        let (bits, hidden) = (SUM_BITS - trailing, 1_u32 << trailing);
        let significand = |place: usize| (hidden + low(place) % hidden) << bits;
        let larger = table_of(|i| Some(significand(i)))?;
        let smaller = table_of(|i| Some(to_odd(significand(i), low(i) >> trailing)))?;
        let base = answers.magnitude(to.min_normal())?;
        let rounded = table_of(|sum| {
            let Some(leading) = sum.checked_ilog2() else { return Some(0) };
            let (code, flags) = answers.round(low(sum), answers.normal() - leading.cast_signed())?;
            if !Flags::INEXACT.contains(flags) {
                return None;
            }
            let above = u32::from(code.checked_sub(base)?) << (trailing - answers.trailing());
            let inexact = if flags.is_empty() { 0 } else { u32::from(INEXACT) };
            Some(((leading << trailing) + above) | inexact)
        })?;
        let ahead = SUM_BITS << trailing;
        let largest = u8::try_from(u32::from(place(to.max_finite())?) + ahead).ok()?;
        let outcomes = answers.outcomes;
        let missing = Cell::new(Flags::NONE);
        let codes = table_of(|entry| {
            if entry > usize::from(largest) {
                return Some(u32::from(outcomes.overflow));
            }
            let Some(place) = low(entry).checked_sub(ahead).filter(|&place| place >= hidden) else {
                return Some(0);
            };
            let exponent = (place >> trailing).cast_signed() - 1 + lowest - trailing.cast_signed();
            let significand = hidden + place % hidden;
            // What no rounded sum is has no code.
            let last = significand.trailing_zeros().cast_signed() + exponent;
            let leading = trailing.cast_signed() + exponent;
            if last < unit.max(leading - answers.trailing().cast_signed()) {
                return Some(0);
            }
            let (code, flags) = answers.round(significand, exponent)?;
            if flags.is_empty() {
                return Some(u32::from(code));
            }
            let is_new = missing.replace(flags).is_empty();
            let fits = (is_new || missing.get() == flags) && (code != 0 || outcomes.keeps_sign_of_zero);
            (fits && outcomes.sign == INEXACT).then_some(u32::from(code | INEXACT))
        })?;
        let places = [table(&operands[0])?, table(&operands[1])?];
        let highest = places.iter().flatten().filter(|&&place| place < INFINITE_PLACE).max()?;
        let most = rounded.iter().map(|entry| entry & !INEXACT).max()?;
        let binade = u8::MAX << trailing;
        (highest & binade).checked_add(most)?;
        Some(Self {
            outcomes,
            subtracts,
            places,
            first_normal: [first_normal(&operands[0])?, first_normal(&operands[1])?],
            binade,
            larger,
            smaller,
            rounded,
            codes,
            flags: missing.get(),
            largest,
        })
    }
}

impl ProductPlan {
    fn new(operands: &[Magnitudes; 2], answers: &Answers<'_>) -> Option<Self> {
        let to = answers.target.format;
        let smallest = [operands[0].leading_bits().min()?, operands[1].leading_bits().min()?];
        // Row 1 has the values from half the smallest positive one on.
        // What lies below rounds alike.
        let first_row = to.min_positive().exponent_of_leading_bit() - 2;
        let lowest = first_row - smallest[0] - smallest[1];
        let shift = [(-lowest).max(0), 0];
        let normal = answers.normal() - first_row;
        let specials = OF_SPECIALS + shift[0] - lowest.max(0);
        if !(0..=7).contains(&normal) || specials < normal {
            return None;
        }
        let binades = |i: usize| {
            operands[i].table(|datum, is_subnormal| {
                let binade = match datum {
                    Datum::Finite { significand, .. } if significand != 0 => {
                        datum.exponent_of_leading_bit() - smallest[i] + shift[i]
                    }
                    _ => OF_SPECIALS,
                };
                let subnormal = if is_subnormal { SUBNORMAL } else { 0 };
                let binade = u8::try_from(binade).ok().filter(|&binade| i32::from(binade) <= OF_SPECIALS)?;
                Some(binade | subnormal)
            })
        };
        let significands = |i: usize, by: u32| {
            operands[i].table(|datum, _| match datum {
                Datum::Nan { .. } => Some(NAN),
                Datum::Infinite { .. } => Some(INFINITE),
                Datum::Finite { significand: 0, .. } => Some(ZERO),
                Datum::Finite { .. } => Some(trailing_bits(datum, TRAILING)? << by),
            })
        };
        let product = |i: usize| (8 + low(i) / 8) * (8 + low(i) % 8);
        let products = table_of(|i| Some(to_odd(product(i), 1 + (product(i) >> 7)) - 32))?;
        let carries = table_of(|i| Some(product(i) >> 7))?;
        let tiny = answers.round(1, first_row - 64)?;
        let rounded = table_of(|i| {
            let (row, significand) = (low(i) / 32, 32 + low(i) % 32);
            if row.cast_signed() > normal {
                return Some(0);
            }
            let (code, flags) = answers.round(significand, first_row + row.cast_signed() - 5)?;
            let fits = (Flags::INEXACT | Flags::UNDERFLOW).contains(flags) && code < UNDERFLOW;
            if !fits || (row == 0 && (code, flags) != tiny) {
                return None;
            }
            let bit = |flag: Flags, bit: u8| if flags.contains(flag) { bit } else { 0 };
            Some(u32::from(code | bit(Flags::INEXACT, INEXACT) | bit(Flags::UNDERFLOW, UNDERFLOW)))
        })?;
        let trailing = answers.trailing();
        // Codes of normal values repeat in every binade, of which there are two at least.
        let first = answers.magnitude(to.min_normal())?;
        if answers.round(2, answers.normal())? != (first + (1 << trailing), Flags::NONE) {
            return None;
        }
        Some(Self {
            outcomes: answers.outcomes,
            binades: [binades(0)?, binades(1)?],
            significands: [significands(0, TRAILING)?, significands(1, 0)?],
            products,
            carries,
            lowest: u8::try_from(lowest.max(0)).ok()?,
            normal: u8::try_from(normal).ok()?,
            rounded,
            trailing: u8::try_from(trailing).ok()?,
            largest: answers.magnitude(to.max_finite())?,
        })
    }
}
