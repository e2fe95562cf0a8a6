//! [`Elementary`]: the functions of one operand that are computed by series, each with its special
//! cases.
//!
//! Sources: P3109 draft, sections "Exponential and logarithm", "Trigonometric", "Hyperbolic"; IEEE
//! 754-2019, section 9.2. Where these differ — zeros have signs in ieee semantics only — the tables
//! show IEEE 754's ±0.

/// The value of a function at −∞, ±0 or +∞.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    /// NaN.
    Nan,
    /// The operand: a zero with its sign.
    Operand,
    /// An infinity.
    Infinite { negative: bool },
    /// −∞ from a finite operand, which raises "division by zero".
    Pole,
    /// ±significand · 2^exponent, exactly.
    Exactly { negative: bool, significand: u64, exponent: i64 },
    /// ±π / 2, truncated.
    HalfPi { negative: bool },
    /// ln 2, truncated.
    Ln2,
}

macro_rules! limit {
    (nan) => {
        Limit::Nan
    };
    (operand) => {
        Limit::Operand
    };
    (plus_infinity) => {
        Limit::Infinite { negative: false }
    };
    (minus_infinity) => {
        Limit::Infinite { negative: true }
    };
    (pole) => {
        Limit::Pole
    };
    (zero) => {
        Limit::Exactly { negative: false, significand: 0, exponent: 0 }
    };
    (one) => {
        Limit::Exactly { negative: false, significand: 1, exponent: 0 }
    };
    (minus_one) => {
        Limit::Exactly { negative: true, significand: 1, exponent: 0 }
    };
    (half) => {
        Limit::Exactly { negative: false, significand: 1, exponent: -1 }
    };
    (minus_half) => {
        Limit::Exactly { negative: true, significand: 1, exponent: -1 }
    };
    (half_pi) => {
        Limit::HalfPi { negative: false }
    };
    (minus_half_pi) => {
        Limit::HalfPi { negative: true }
    };
    (ln_2) => {
        Limit::Ln2
    };
}

macro_rules! text {
    (nan) => {
        "NaN"
    };
    (operand) => {
        "±0"
    };
    (plus_infinity) => {
        "+∞"
    };
    (minus_infinity) => {
        "−∞"
    };
    (pole) => {
        "−∞, division by zero"
    };
    (zero) => {
        "0"
    };
    (one) => {
        "1"
    };
    (minus_one) => {
        "−1"
    };
    (half) => {
        "½"
    };
    (minus_half) => {
        "−½"
    };
    (half_pi) => {
        "π/2"
    };
    (minus_half_pi) => {
        "−π/2"
    };
    (ln_2) => {
        "ln 2"
    };
}

/// One row a function: its name, its value at −∞, ±0 and +∞, what it is, and what holds for the
/// other numbers.
macro_rules! elementary {
    ($($name:ident $at_minus:ident $at_zero:ident $at_plus:ident $what:literal $finite:literal;)*) => {
        /// A function of one operand without exact results but for a few; NaN gives NaN.
        ///
        /// The exact results are those of dyadic operands with rational values: at 0 of all but
        /// `Log`, `Log2`, `Softplus`, `ArcCos` and `ArcCosh`; at 1 of logarithms, `ArcCos` and
        /// `ArcCosh`; of `Exp2` at integers, of `Log2` at powers of two, of the functions of π·x at
        /// multiples of ½, ¼ for `TanPi`, and of the inverse ones at 0, ±½ and ±1. All other values
        /// are irrational.
        ///
        /// Sources: IEEE 754-2019, section 9.2; P3109 draft, the ω-functions of these names. In
        /// p3109 semantics a zero is +0.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Elementary {
            $(
                #[doc = concat!(
                    $what, ".\n\n| x | −∞ | ±0 | +∞ | other |\n| --- | --- | --- | --- | --- |\n| | ",
                    text!($at_minus), " | ", text!($at_zero), " | ", text!($at_plus), " | ", $finite, " |"
                )]
                $name,
            )*
        }

        impl Elementary {
            /// All functions with P3109's names.
            pub const NAMED: &'static [(&'static str, Self)] =
                &[$((stringify!($name), Self::$name)),*];

            /// The values at −∞, ±0 and +∞.
            pub(crate) const fn limits(self) -> [Limit; 3] {
                match self {
                    $(Self::$name => [limit!($at_minus), limit!($at_zero), limit!($at_plus)],)*
                }
            }
        }
    };
}

elementary! {
    Exp zero one plus_infinity "e^x" "e^x";
    Exp2 zero one plus_infinity "2^x" "2^x";
    ExpMinusOne minus_one operand plus_infinity "e^x − 1" "e^x − 1";
    Log nan pole plus_infinity "ln x, the natural logarithm" "NaN for x < 0";
    Log2 nan pole plus_infinity "log2 x" "NaN for x < 0";
    LogOnePlus nan operand plus_infinity "ln(1 + x)" "NaN for x < −1, −∞ and division by zero at −1";
    Softplus zero ln_2 plus_infinity "ln(1 + e^x)" "ln(1 + e^x)";
    Sin nan operand nan "sin x" "sin x";
    Cos nan one nan "cos x" "cos x";
    Tan nan operand nan "tan x" "tan x";
    ArcSin nan operand nan "arcsin x in [−π/2, π/2]" "NaN for |x| > 1";
    ArcCos nan half_pi nan "arccos x in [0, π]" "NaN for |x| > 1";
    ArcTan minus_half_pi operand half_pi "arctan x in [−π/2, π/2]" "arctan x";
    Sinh minus_infinity operand plus_infinity "sinh x" "sinh x";
    Cosh plus_infinity one plus_infinity "cosh x" "cosh x";
    Tanh minus_one operand one "tanh x" "tanh x";
    ArcSinh minus_infinity operand plus_infinity "arsinh x" "arsinh x";
    ArcCosh nan nan plus_infinity "arcosh x" "NaN for x < 1";
    ArcTanh nan operand nan "artanh x" "NaN for |x| > 1, ±∞ and division by zero at ±1";
    SinPi nan operand nan "sin(π·x)" "a zero with x's sign at integers";
    CosPi nan one nan "cos(π·x)" "+0 at odd multiples of ½";
    TanPi nan operand nan "tan(π·x)" "zeros at integers n: x's sign for even n, the other for odd; with division by zero \
        +∞ at n + ½ for even n, −∞ for odd n";
    ArcSinPi nan operand nan "arcsin(x) / π" "NaN for |x| > 1";
    ArcCosPi nan half nan "arccos(x) / π" "NaN for |x| > 1";
    ArcTanPi minus_half operand half "arctan(x) / π" "arctan(x) / π";
}
