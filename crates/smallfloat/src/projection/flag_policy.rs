//! [`FlagPolicy`]: when flags are raised, and what a NaN result is, where units differ.
//!
//! Sources: IEEE 754-2019, sections 6.2, 7.2 to 7.6; Tesla's paper, section "Exception Status
//! Flags"; the manuals of RISC-V (chapter F), Arm (FPCR, FPProcessNaNs) and x86 (MXCSR);
//! [semantics](crate::semantics) S3.

use core::fmt;
use core::str::FromStr;

use crate::format::error::{Error, ErrorKind, Snippet};
use crate::format::name::bad_value;
use crate::format::named::by_name;
use crate::format::{Family, Format};
use crate::projection::flags::Flags;

/// Which NaN operands raise "invalid". An operation without a defined result always does, and so
/// does a NaN into a format that has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InvalidRule {
    /// Every NaN operand, also where the result is a number.
    AnyNan,
    /// Signaling NaNs ([`Format::is_signaling`]) alone; of the comparisons all but `CompareEqual`
    /// raise it for quiet ones too (IEEE 754, section 5.11).
    Signaling,
}

/// The rule by which a result counts as tiny, so that it raises "underflow" if it is inexact (IEEE
/// 754, section 7.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tininess {
    /// The exact result is below the smallest normal value.
    Before,
    /// The result is, rounded to the precision as if the exponent were unbounded.
    After,
}

/// Whether a subnormal operand raises "denormal".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DenormalRule {
    /// Always.
    Raised,
    /// As x86 does: not beside a NaN, not where the operation is invalid or divides by zero, and
    /// not where binary16 is converted to a wider format.
    X86,
    /// Never.
    Never,
}

/// The flags of an infinity that the result does not keep: one that clamps, or becomes NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LostInfinity {
    /// "Overflow" and "inexact".
    Overflow,
    /// Nothing.
    Silent,
}

/// The flags of FMA(0, ∞, c) for a quiet NaN c, which IEEE 754 leaves open (section 7.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ZeroTimesInfinity {
    /// "Invalid"; the result is the default NaN where the addend's would be passed on.
    Invalid,
    /// Nothing: the NaN is passed on.
    Quiet,
}

/// Which NaN a result is, in ieee semantics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NanResult {
    /// As the projection's [`NanRule`](crate::NanRule) says.
    Projection,
    /// The quiet NaN with sign 0 and no other significand bit.
    Canonical,
    /// The first signaling NaN among the operands, else the first quiet one, made quiet; an FMA
    /// looks at the addend first. Without one the canonical NaN.
    Arm,
    /// The first NaN among the operands, made quiet; without one the canonical NaN with sign 1.
    X86,
}

/// The policy for flags and NaNs: when each flag is raised and which NaN a result is, which differs
/// between units that round alike. The policies of known units have names:
///
/// | | invalid | tininess | denormal | lost infinity | 0·∞ + NaN | NaN result | bits |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | `tesla` | any NaN | before | raised | overflow | (any NaN) | projection | I D O U |
/// | `ieee-before` | signaling | before | never | overflow | invalid | projection | I O U X Z |
/// | `ieee-after` | signaling | after | never | overflow | invalid | projection | I O U X Z |
/// | `riscv` | signaling | after | never | silent | invalid | canonical | I O U X Z |
/// | `arm` | signaling | before | never | overflow | invalid | Arm's | I O U X Z |
/// | `x86` | signaling | after | x86's | overflow | quiet | x86's | all six |
///
/// `arm` is FPCR with AH = 0, DN = 0 and no flushing. Where nothing is said, `tesla` holds for
/// operations with one of Tesla's formats and `ieee-before` for all others.
///
/// As text a policy is a name, perhaps with changes: `arm`, `arm,nan=canonical`. The keys are
/// `invalid`, `tininess`, `denormal`, `infinity`, `product`, `nan` and `bits`.
///
/// ```
/// use smallfloat::{FlagPolicy, Flags, convert_with, formats::{BINARY32, E5M2}};
/// // A little less than the smallest normal value, 2^-14, to which it rounds.
/// let x = u64::from(6.103e-5_f32.to_bits());
/// let how = E5M2.default_projection();
/// let flags = |policy| convert_with(x, &BINARY32, &E5M2, &how, policy).flags;
/// assert_eq!(flags(FlagPolicy::ARM), Flags::UNDERFLOW | Flags::INEXACT);
/// assert_eq!(flags(FlagPolicy::RISCV), Flags::INEXACT);
/// let no_denormal: FlagPolicy = "tesla,denormal=never".parse()?;
/// assert_eq!(no_denormal.to_string(), "tesla,denormal=never");
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct FlagPolicy {
    /// NaN operands that raise "invalid".
    pub invalid: InvalidRule,
    /// When a result is tiny.
    pub tininess: Tininess,
    /// Subnormal operands.
    pub denormal: DenormalRule,
    /// Infinities that the result does not keep.
    pub infinity: LostInfinity,
    /// 0 · ∞ and a quiet NaN.
    pub product: ZeroTimesInfinity,
    /// NaN results.
    pub nan: NanResult,
    /// The flags that a unit with this policy has. Operations give all flags that the rules raise;
    /// vectors and the command keep these.
    pub bits: Flags,
}

const IOUXZ: Flags = Flags::ALL.without(Flags::DENORMAL);

impl FlagPolicy {
    /// Tesla's paper: every NaN operand is invalid, a subnormal one raises "denormal".
    pub const TESLA: Self = Self {
        invalid: InvalidRule::AnyNan,
        tininess: Tininess::Before,
        denormal: DenormalRule::Raised,
        infinity: LostInfinity::Overflow,
        product: ZeroTimesInfinity::Invalid,
        nan: NanResult::Projection,
        bits: Flags::ALL.tesla(),
    };
    /// IEEE 754 with tininess before rounding.
    pub const IEEE_BEFORE: Self = Self {
        invalid: InvalidRule::Signaling,
        tininess: Tininess::Before,
        denormal: DenormalRule::Never,
        infinity: LostInfinity::Overflow,
        product: ZeroTimesInfinity::Invalid,
        nan: NanResult::Projection,
        bits: IOUXZ,
    };
    /// IEEE 754 with tininess after rounding.
    pub const IEEE_AFTER: Self = Self { tininess: Tininess::After, ..Self::IEEE_BEFORE };
    /// RISC-V.
    pub const RISCV: Self =
        Self { infinity: LostInfinity::Silent, nan: NanResult::Canonical, ..Self::IEEE_AFTER };
    /// Arm with FPCR.AH = 0 and DN = 0.
    pub const ARM: Self = Self { nan: NanResult::Arm, ..Self::IEEE_BEFORE };
    /// x86's SSE, AVX and F16C.
    pub const X86: Self = Self {
        denormal: DenormalRule::X86,
        product: ZeroTimesInfinity::Quiet,
        nan: NanResult::X86,
        bits: Flags::ALL,
        ..Self::IEEE_AFTER
    };

    /// The policies that have names.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("tesla", Self::TESLA),
        ("ieee-before", Self::IEEE_BEFORE),
        ("ieee-after", Self::IEEE_AFTER),
        ("riscv", Self::RISCV),
        ("arm", Self::ARM),
        ("x86", Self::X86),
    ];

    /// Returns the policy where none is named, from all formats of an operation: `tesla` if one of
    /// them is Tesla's, else `ieee-before`.
    pub fn default_for<'a>(formats: impl IntoIterator<Item = &'a Format>) -> Self {
        Self::default_where(formats.into_iter().any(Self::is_tesla))
    }

    pub(crate) const fn is_tesla(format: &Format) -> bool {
        matches!(format.family(), Family::Tesla)
    }

    pub(crate) const fn default_where(is_tesla: bool) -> Self {
        if is_tesla { Self::TESLA } else { Self::IEEE_BEFORE }
    }

    /// Returns whether it is one of a processor's, which follow IEEE 754 in all else too.
    pub const fn is_of_hardware(self) -> bool {
        !matches!(self.nan, NanResult::Projection)
    }

    /// Returns the policy with another rule for NaN operands.
    #[must_use]
    pub const fn with_invalid(self, invalid: InvalidRule) -> Self {
        Self { invalid, ..self }
    }

    /// Returns the policy with another rule for tiny results.
    #[must_use]
    pub const fn with_tininess(self, tininess: Tininess) -> Self {
        Self { tininess, ..self }
    }

    /// Returns the policy with another rule for subnormal operands.
    #[must_use]
    pub const fn with_denormal(self, denormal: DenormalRule) -> Self {
        Self { denormal, ..self }
    }

    /// Returns the policy with another rule for infinities that the result does not keep.
    #[must_use]
    pub const fn with_infinity(self, infinity: LostInfinity) -> Self {
        Self { infinity, ..self }
    }

    /// Returns the policy with another rule for 0 · ∞ and a quiet NaN.
    #[must_use]
    pub const fn with_product(self, product: ZeroTimesInfinity) -> Self {
        Self { product, ..self }
    }

    /// Returns the policy with another rule for NaN results.
    #[must_use]
    pub const fn with_nan(self, nan: NanResult) -> Self {
        Self { nan, ..self }
    }

    /// Returns the policy of a unit with other flags.
    #[must_use]
    pub const fn with_bits(self, bits: Flags) -> Self {
        Self { bits, ..self }
    }
}

macro_rules! named {
    ($($type:ident $what:literal $($value:ident $name:literal)*, $expected:literal;)*) => {
        $(
            impl $type {
                /// All rules.
                pub const ALL: &'static [Self] = &[$(Self::$value),*];

                /// Returns the name in a policy's text.
                pub const fn name(self) -> &'static str {
                    match self {
                        $(Self::$value => $name,)*
                    }
                }
            }

            by_name!($type, Self::ALL.iter().copied(), $what, $expected);
        )*
    };
}

named! {
    InvalidRule "invalid" AnyNan "any-nan" Signaling "signaling", "any-nan or signaling";
    Tininess "tininess" Before "before" After "after", "before or after";
    DenormalRule "denormal" Raised "raised" X86 "x86" Never "never", "raised, x86 or never";
    LostInfinity "infinity" Overflow "overflow" Silent "silent", "overflow or silent";
    ZeroTimesInfinity "product" Invalid "invalid" Quiet "quiet", "invalid or quiet";
    NanResult "nan" Projection "projection" Canonical "canonical" Arm "arm" X86 "x86",
        "projection, canonical, arm or x86";
    FlagOrder "flag order" Fflags "fflags" Fpsr "fpsr" Mxcsr "mxcsr", "fflags, fpsr or mxcsr";
}

/// The order of the flags in a unit's register.
///
/// | | I | D | O | U | X | Z |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | `fflags` | 4 | 5 (not in the register) | 2 | 1 | 0 | 3 |
/// | `fpsr` | 0 | 7 | 2 | 3 | 4 | 1 |
/// | `mxcsr` | 0 | 1 | 3 | 4 | 5 | 2 |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlagOrder {
    /// RISC-V's `fflags`, the order of [`Flags::bits`] and of TestFloat.
    Fflags,
    /// Arm's FPSR.
    Fpsr,
    /// x86's MXCSR.
    Mxcsr,
}

impl FlagOrder {
    /// Returns the places of invalid, denormal, overflow, underflow, inexact and division by zero,
    /// as in [`Flags::LETTERS`].
    pub const fn places(self) -> [u32; 6] {
        match self {
            Self::Fflags => [4, 5, 2, 1, 0, 3],
            Self::Fpsr => [0, 7, 2, 3, 4, 1],
            Self::Mxcsr => [0, 1, 3, 4, 5, 2],
        }
    }
}

impl Flags {
    /// Returns the flags as bits of a register.
    ///
    /// ```
    /// use smallfloat::{FlagOrder, Flags};
    /// assert_eq!(Flags::INEXACT.bits_in(FlagOrder::Mxcsr), 0x20);
    /// assert_eq!(Flags::from_bits_in(0x20, FlagOrder::Mxcsr), Flags::INEXACT);
    /// ```
    pub const fn bits_in(self, order: FlagOrder) -> u8 {
        let (places, mut bits, mut i) = (order.places(), 0, 0);
        while i < places.len() {
            bits |= (self.contains(Self::LETTERS[i].0) as u8) << places[i];
            i += 1;
        }
        bits
    }

    /// Returns the flags of a register's bits; bits that mean nothing are ignored.
    #[must_use]
    pub const fn from_bits_in(bits: u8, order: FlagOrder) -> Self {
        let (places, mut flags, mut i) = (order.places(), Self::NONE, 0);
        while i < places.len() {
            if bits >> places[i] & 1 == 1 {
                flags = flags.union(Self::LETTERS[i].0);
            }
            i += 1;
        }
        flags
    }
}

/// The name of the policy, or that of the one with the fewest other rules, and these.
impl fmt::Display for FlagPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = |of: &Self| -> [bool; 7] {
            [
                self.invalid != of.invalid,
                self.tininess != of.tininess,
                self.denormal != of.denormal,
                self.infinity != of.infinity,
                self.product != of.product,
                self.nan != of.nan,
                self.bits != of.bits,
            ]
        };
        let count = |of: &Self| changes(of).into_iter().filter(|changed| *changed).count();
        let nearest = Self::NAMED.iter().min_by_key(|(_, policy)| count(policy));
        let (name, policy) = nearest.expect("there are named policies");
        f.write_str(name)?;
        let [invalid, tininess, denormal, infinity, product, nan, bits] = changes(policy);
        let rules: [(bool, &str, &dyn fmt::Display); 7] = [
            (invalid, "invalid", &self.invalid),
            (tininess, "tininess", &self.tininess),
            (denormal, "denormal", &self.denormal),
            (infinity, "infinity", &self.infinity),
            (product, "product", &self.product),
            (nan, "nan", &self.nan),
            (bits, "bits", &self.bits),
        ];
        for (_, key, rule) in rules.into_iter().filter(|(changed, ..)| *changed) {
            write!(f, ",{key}={rule}")?;
        }
        Ok(())
    }
}

/// A policy's name, and after it changes as `key=value`.
impl FromStr for FlagPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const KEYS: &str = "invalid, tininess, denormal, infinity, product, nan and bits";
        let mut parts = text.split(',').map(str::trim);
        let given = parts.next().unwrap_or_default();
        let named = Self::NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(given));
        let (_, mut policy) = *named.ok_or_else(|| {
            bad_value("flag policy", text, "tesla, ieee-before, ieee-after, riscv, arm or x86")
        })?;
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key.trim() {
                "invalid" => policy.invalid = value.parse()?,
                "tininess" => policy.tininess = value.parse()?,
                "denormal" => policy.denormal = value.parse()?,
                "infinity" => policy.infinity = value.parse()?,
                "product" => policy.product = value.parse()?,
                "nan" => policy.nan = value.parse()?,
                "bits" => policy.bits = value.parse()?,
                key => return Err(Error::new(ErrorKind::UnknownKey { key: Snippet::new(key), keys: KEYS })),
            }
        }
        Ok(policy)
    }
}
