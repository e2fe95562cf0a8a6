//! Rounding an exact number to a code: neighbours, rounding mode, then the rules for what does not
//! fit.

use std::cell::{OnceCell, RefCell};
use std::cmp::Ordering;

use super::table::Place;
use crate::{
    Dyadic, Exact, Flags, NanCode, NegativeRule, NegativeZero, NoNanRule, OracleFormat, Policy, Rational,
    Real, Rounding, Saturation, Specials, Subnormals, Table, ZeroRule,
};

/// Converts a code from one format to another.
///
/// D is set if the source is subnormal in its format; all other flags come from the rounding.
pub fn convert(code: u64, from: &OracleFormat, to: &Table, policy: &Policy) -> (u64, Flags) {
    let (result, mut flags) = to.round(&Exact::from(from.value(code)), policy);
    if from.is_subnormal(code) {
        flags |= Flags::DENORMAL;
    }
    (result, flags)
}

// A magnitude after the rounding mode was applied, before the range is looked at.
enum Rounded {
    /// Past the largest finite number.
    Beyond,
    /// A number of the grid, by its code.
    Code(u64),
}

/// An exact number and its place in a table, from which every rounding follows.
#[derive(Debug)]
pub struct Sought<'a> {
    table: &'a Table,
    x: &'a Exact,
    /// Of a number that is neither zero nor infinite.
    place: Option<Place>,
    shares: Shares,
}

/// What rounding modes have asked of ν and of the number so far: it is the same for all policies
/// and random words.
#[derive(Debug, Default)]
struct Shares {
    /// Its order against 1/2.
    half: OnceCell<Ordering>,
    /// Whether it is above 0.
    inexact: OnceCell<bool>,
    /// Whether the number is below the smallest normal one.
    tiny: OnceCell<bool>,
    /// Codes that it became, whether they are zero, and whether they are the number.
    codes: RefCell<Vec<(u64, bool, bool)>>,
    /// How many bits of it, whether to the nearest, and the integer.
    integers: RefCell<Vec<(u32, bool, u128)>>,
}

impl Sought<'_> {
    /// Rounds the number into the table's format.
    ///
    /// The flags are those of the result; D belongs to operands and is never set here.
    pub fn round(&self, policy: &Policy) -> (u64, Flags) {
        let table = self.table;
        match (self.x, &self.place) {
            (Exact::Nan { negative }, _) => (table.nan(*negative, policy), Flags::INVALID),
            (Exact::Inf { negative }, _) => table.round_infinity(*negative, policy),
            (Exact::Finite { negative, .. }, None) => table.round_zero(*negative, policy),
            (Exact::Finite { negative, magnitude }, Some(place)) => {
                table.round_nonzero(*negative, (magnitude, place, &self.shares), policy)
            }
        }
    }
}

impl Table {
    /// Finds the place of an exact number.
    pub fn seek<'a>(&'a self, x: &'a Exact) -> Sought<'a> {
        self.sought(x, &mut (self.len() / 2), self.len())
    }

    /// Finds the place of an exact number around the index of another's, which takes fewer
    /// comparisons where these are near each other.
    ///
    /// # Panics
    /// If the index is above the table's length.
    pub fn seek_near<'a>(&'a self, x: &'a Exact, near: &mut usize) -> Sought<'a> {
        self.sought(x, near, 1)
    }

    fn sought<'a>(&'a self, x: &'a Exact, near: &mut usize, step: usize) -> Sought<'a> {
        let place = match x {
            Exact::Finite { magnitude, .. } if !magnitude.is_zero() => {
                Some(self.place(magnitude, near, step))
            }
            _ => None,
        };
        Sought { table: self, x, place, shares: Shares::default() }
    }

    /// Rounds an exact number into this table's format.
    ///
    /// The flags are those of the result; D belongs to operands and is never set here.
    pub fn round(&self, x: &Exact, policy: &Policy) -> (u64, Flags) {
        self.seek(x).round(policy)
    }

    fn sign(&self, negative: bool) -> u64 {
        if negative { self.format().sign_bit() } else { 0 }
    }

    // The code for "not a number" with the sign of what caused it.
    fn nan(&self, negative: bool, policy: &Policy) -> u64 {
        let format = self.format();
        if let Some(quiet) = format.nan_code() {
            return match policy.nan {
                NanCode::SignedQuiet if format.has_signed_nan() => quiet | self.sign(negative),
                // Only IEEE-like formats have several positive NaNs to choose from.
                NanCode::AllOnes if format.specials == Specials::Ieee => format.magnitude_mask(),
                _ => quiet,
            };
        }
        match policy.no_nan {
            NoNanRule::Max => self.max().1,
            NoNanRule::SignMax => self.sign(negative) | self.max().1,
            NoNanRule::Zero => 0,
            // ml_dtypes 0.6.0 on its 6- and 4-bit formats: 0x20 or 0x08 for NaN, 0x00 for -NaN.
            NoNanRule::MlDtypes => self.zero(!negative, policy),
        }
    }

    fn round_zero(&self, negative: bool, policy: &Policy) -> (u64, Flags) {
        if !self.format().has_zero() {
            return match policy.zero {
                ZeroRule::Nan => (self.nan(false, policy), Flags::INVALID),
                ZeroRule::Min => (self.min().1, Flags::INEXACT),
            };
        }
        match policy.negative_zero {
            NegativeZero::Nan if negative => (self.nan(negative, policy), Flags::INVALID),
            _ => (self.zero(negative, policy), Flags::NONE),
        }
    }

    // The zero that a number of this sign becomes.
    fn zero(&self, negative: bool, policy: &Policy) -> u64 {
        let keeps = policy.negative_zero == NegativeZero::Keep && self.format().has_negative_zero();
        self.sign(negative && keeps)
    }

    fn round_infinity(&self, negative: bool, policy: &Policy) -> (u64, Flags) {
        if negative && !self.format().signed {
            return match policy.negative {
                NegativeRule::Magnitude => {
                    let (code, flags) = self.round_infinity(false, policy);
                    (code, flags | Flags::INEXACT)
                }
                _ => (self.below_unsigned(true, policy), Flags::INVALID),
            };
        }
        let code = self.saturate(negative, true, policy);
        if Some(code) == self.format().inf_code(negative) {
            (code, Flags::NONE)
        } else {
            (code, Flags::OVERFLOW | Flags::INEXACT)
        }
    }

    fn round_nonzero(
        &self,
        negative: bool,
        sought: (&Real, &Place, &Shares),
        policy: &Policy,
    ) -> (u64, Flags) {
        let (format, (magnitude, _, shares)) = (self.format(), sought);
        let is_tiny =
            || *shares.tiny.get_or_init(|| magnitude.compare_dyadic(self.min_normal()) == Ordering::Less);
        let unsigned_negative = negative && !format.signed;
        if unsigned_negative && policy.negative == NegativeRule::Magnitude {
            // The lost sign makes the result inexact, and an inexact result of a tiny number is an
            // underflow.
            let (code, flags) = self.round_nonzero(false, sought, policy);
            let lost = if is_tiny() { Flags::UNDERFLOW | Flags::INEXACT } else { Flags::INEXACT };
            return (code, flags | lost);
        }
        let code = match self.apply_rounding(negative, sought, policy.rounding) {
            Rounded::Code(code) if format.subnormals == Subnormals::Flush && format.is_subnormal(code) => 0,
            Rounded::Code(code) => code,
            Rounded::Beyond if unsigned_negative => {
                return (self.below_unsigned(false, policy), Flags::INVALID);
            }
            Rounded::Beyond => {
                return (self.saturate(negative, false, policy), Flags::OVERFLOW | Flags::INEXACT);
            }
        };
        let known = shares.codes.borrow().iter().find(|known| known.0 == code).copied();
        let (_, zero, exact) = known.unwrap_or_else(|| {
            let number = format.grid(code);
            let found = (code, number.is_zero(), magnitude.compare_dyadic(&number) == Ordering::Equal);
            shares.codes.borrow_mut().push(found);
            found
        });
        if unsigned_negative && !zero {
            return (self.below_unsigned(false, policy), Flags::INVALID);
        }
        let flags = match exact {
            true => Flags::NONE,
            false if is_tiny() => Flags::UNDERFLOW | Flags::INEXACT,
            false => Flags::INEXACT,
        };
        let signed_code = if zero { self.zero(negative, policy) } else { code | self.sign(negative) };
        (signed_code, flags)
    }

    // The rounding mode alone, on the grid continued past the largest number.
    fn apply_rounding(
        &self,
        negative: bool,
        (x, place, shares): (&Real, &Place, &Shares),
        rounding: Rounding,
    ) -> Rounded {
        if place.beyond {
            return Rounded::Beyond;
        }
        // Below the smallest number of a format without zero there is only one way to go.
        let Some((lo, lo_code)) = &place.lo else { return Rounded::Code(self.min().1) };
        let (hi, hi_code) = &place.hi;
        let gap = Gap { x, lo, hi, shares };
        match (gap.round_away(negative, lo_code % 2 == 0, rounding), hi_code) {
            (false, _) => Rounded::Code(*lo_code),
            (true, Some(code)) => Rounded::Code(*code),
            (true, None) => Rounded::Beyond,
        }
    }

    // Past the largest number, or infinite, in a direction that the format has (the P3109 draft
    // §6).
    fn saturate(&self, negative: bool, infinite: bool, policy: &Policy) -> u64 {
        let format = self.format();
        let max = self.max().1 | self.sign(negative);
        let inf = format.inf_code(negative);
        // Directed towards zero: a finite number must not become infinite.
        let stays_finite = !infinite && inwards(negative, policy.rounding);
        match policy.saturation {
            Saturation::SatPropagate if infinite => inf.unwrap_or(max),
            Saturation::SatFinite | Saturation::SatPropagate => max,
            Saturation::SatNone | Saturation::SatNoneV40 if stays_finite => max,
            Saturation::SatNone => match (inf, format.nan_code()) {
                (Some(inf), _) => inf,
                (None, Some(_)) => self.nan(negative, policy),
                // With neither infinity nor NaN there is nothing but the largest number.
                (None, None) => max,
            },
            // The older report gives unsigned formats this one more exception.
            Saturation::SatNoneV40 if !infinite && !format.signed && policy.rounding == Rounding::ToOdd => {
                max
            }
            Saturation::SatNoneV40 => inf.unwrap_or(max),
        }
    }

    // A negative number (already rounded to something else than zero) or −∞ into an unsigned
    // format.
    fn below_unsigned(&self, infinite: bool, policy: &Policy) -> u64 {
        // The lowest number of the format: zero, or the smallest of a format without zero. It also
        // stands in for NaN where there is none: the largest number would be the farthest from a
        // negative one.
        let lowest = self.min().1;
        let nan = if self.format().nan_code().is_some() { self.nan(false, policy) } else { lowest };
        match policy.negative {
            NegativeRule::Nan => nan,
            NegativeRule::Zero if self.format().has_zero() => 0,
            NegativeRule::Zero => self.round_zero(false, policy).0,
            NegativeRule::Magnitude => unreachable!("the sign was dropped before"),
            NegativeRule::BySaturation => match policy.saturation {
                Saturation::SatFinite | Saturation::SatPropagate => lowest,
                _ if !infinite && inwards(true, policy.rounding) => lowest,
                Saturation::SatNone | Saturation::SatNoneV40 => nan,
            },
        }
    }
}

// Whether a directed mode rounds numbers of this sign towards zero.
fn inwards(negative: bool, rounding: Rounding) -> bool {
    match rounding {
        Rounding::TowardZero => true,
        Rounding::TowardPositive => negative,
        Rounding::TowardNegative => !negative,
        _ => false,
    }
}

// A magnitude between two neighbours, lo ≤ x < hi; ν = (x − lo) / (hi − lo).
struct Gap<'a> {
    x: &'a Real,
    lo: &'a Dyadic,
    hi: &'a Dyadic,
    shares: &'a Shares,
}

impl Gap<'_> {
    // The definitions of the P3109 draft §5, with "even" for the code of lo (`docs/semantics.md`
    // S4).
    fn round_away(&self, negative: bool, lo_even: bool, rounding: Rounding) -> bool {
        let above = || self.x.compare_dyadic(self.lo) == Ordering::Greater;
        let inexact = || *self.shares.inexact.get_or_init(above);
        match rounding {
            Rounding::NearestEven => match self.compare_half() {
                Ordering::Less => false,
                Ordering::Equal => !lo_even,
                Ordering::Greater => true,
            },
            Rounding::NearestAway => self.compare_half() != Ordering::Less,
            Rounding::TowardPositive => inexact() && !negative,
            Rounding::TowardNegative => inexact() && negative,
            Rounding::TowardZero => false,
            Rounding::ToOdd => inexact() && lo_even,
            Rounding::StochasticA { n, r } => {
                check_random_bits(n, r);
                self.share(n, false) + u128::from(r) >= 1 << n
            }
            Rounding::StochasticB { n, r } => {
                check_random_bits(n, r);
                self.share(n + 1, false) + u128::from(2 * r + 1) >= 1 << (n + 1)
            }
            Rounding::StochasticC { n, r } => {
                check_random_bits(n, r);
                self.share(n, true) + u128::from(r) >= 1 << n
            }
        }
    }

    // Order of ν against 1/2, that is of x against (lo + hi) / 2.
    fn compare_half(&self) -> Ordering {
        *self.shares.half.get_or_init(|| self.x.compare_dyadic(&(self.lo + self.hi).scale(-1)))
    }

    // Order of ν against t / 2^bits, that is of x against lo + (hi − lo)·t / 2^bits.
    fn compare_nu(&self, t: u128, bits: u32) -> Ordering {
        let step = (self.hi - self.lo).scale(-i64::from(bits));
        let point = self.lo + &(&step * &Dyadic::new(t, 0));
        self.x.compare_dyadic(&point)
    }

    // ν · 2^bits as an integer, at or below it or the nearest, computed once.
    fn share(&self, bits: u32, nearest: bool) -> u128 {
        let integers = &self.shares.integers;
        let known = integers.borrow().iter().find(|share| (share.0, share.1) == (bits, nearest)).copied();
        known.map_or_else(
            || {
                let share = if nearest { self.nearest_nu(bits) } else { self.floor_nu(bits) };
                integers.borrow_mut().push((bits, nearest, share));
                share
            },
            |(_, _, share)| share,
        )
    }

    // ⌊ν · 2^bits⌋, below 2^62: by division where x is rational, by bisection where it is a root.
    fn floor_nu(&self, bits: u32) -> u128 {
        if let Real::Rational(x) = self.x {
            let nu = &(x - &Rational::from(self.lo)) / &Rational::from(&(self.hi - self.lo));
            let scaled = nu.scale(i64::from(bits));
            let long = || u128::try_from(scaled.floor()).expect("ν is below 1");
            return scaled.short_floor().unwrap_or_else(long);
        }
        let (mut below, mut above) = (0, 1 << bits);
        while below + 1 < above {
            let middle = (below + above) >> 1;
            if self.compare_nu(middle, bits) == Ordering::Less { above = middle } else { below = middle }
        }
        below
    }

    // The integer nearest to ν · 2^bits, ties to the even one.
    fn nearest_nu(&self, bits: u32) -> u128 {
        let floor = self.share(bits, false);
        // Half way between ⌊ν·2^bits⌋ and the next integer, in units of 2^-(bits+1).
        match self.compare_nu(2 * floor + 1, bits + 1) {
            Ordering::Less => floor,
            Ordering::Equal if floor.is_multiple_of(2) => floor,
            _ => floor + 1,
        }
    }
}

fn check_random_bits(n: u32, r: u64) {
    assert!(n <= 60 && r >> n == 0, "r = {r} is not a number of {n} bits, at most 60");
}
