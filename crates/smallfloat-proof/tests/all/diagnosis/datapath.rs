//! A multiplier, an adder and a converter at the level of bits, as a designer would write them,
//! with places where mistakes can be made.
//!
//! Nothing here comes from the core: fields are cut out of codes, significands are integers that
//! are shifted, and rounding looks at a guard bit and a sticky bit.

/// A format of sign, exponent and trailing significand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) exponent: u32,
    pub(crate) trailing: u32,
    pub(crate) bias: i32,
    /// Field of all ones: infinities and NaNs; else the code of all ones alone is NaN.
    pub(crate) is_ieee: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Multiply,
    Add,
    Convert,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NanKind {
    /// The quiet NaN with sign 0.
    Canonical,
    /// The first signaling, else the first quiet operand, made quiet; else canonical.
    Arm,
    /// The first NaN operand, made quiet; else the canonical one with sign 1.
    X86,
}

/// When flags are raised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlagRules {
    pub(crate) any_nan: bool,
    pub(crate) tiny_after: bool,
    pub(crate) denormal: Denormal,
    pub(crate) infinity_is_silent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denormal {
    Never,
    Raised,
    /// Not beside a NaN or an invalid operation.
    X86,
}

pub(crate) const X: u32 = 1;
pub(crate) const U: u32 = 2;
pub(crate) const O: u32 = 4;
pub(crate) const Z: u32 = 8;
pub(crate) const I: u32 = 16;
pub(crate) const D: u32 = 32;

/// A mistake.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bug {
    Truncates,
    TiesAway,
    TiesTowardZero,
    TiesUp,
    TowardPositive,
    TowardNegative,
    ToOdd,
    /// Sticky sees so many bits below the last place, the guard bit among them.
    StickyBelow(u32),
    FlushesResults,
    FlushesBeforeRounding,
    ZeroForSubnormal(Operand),
    HiddenBitOfSubnormal(Operand),
    ExponentOfSubnormal(Operand),
    Bias(i32),
    BiasOfOperands(i32),
    SpecialsAreNumbers,
    NoOverflowCheck,
    ClampsOverflow,
    NeverClamps,
    EarlyOverflow,
    LosesCarry,
    KeepsAllOnes,
    RoundsSubnormalTwice,
    NeverZero,
    SignOr,
    SignOfX,
    SignLost,
    ZeroPositive,
    NanNegative,
    InvalidIsZero,
    InvalidIsInfinity,
    /// Guard bits of the smaller term, and no sticky bit.
    GuardBits(u32),
    StickyForGuard,
    CancelsNegative,
    Subtracts,
    /// Bits of an operand's significand that reach the rounder.
    Keeps(u32),
    /// Rounded to a format with so many trailing bits first, to nearest even.
    Through(Fields),
    IgnoresRandom,
    AllOnesRandom,
    Nearest,
    SubtractsRandom,
    ReversesRandom,
    TopRandomBits(u32),
    LowRandomBits(u32),
    RandomPlaceHigh,
    RandomPlaceLow,
    RoundsRandomToNearest,
    NeverRaises(u32),
    ExactUnderflows,
    OverflowIsExact,
    InvalidIsInexact,
    DenormalWithoutUnderflow,
    /// Something goes wrong where signals of the datapath say so.
    Local(fn(&Signals) -> bool, Effect),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    X,
    Y,
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Truncate,
    Increment,
    TiesAway,
    Decrement,
    FlipSign,
    Zero,
    Largest,
    ClearLast,
    Drop(u32),
    Raise(u32),
}

/// What a datapath's signals are for one vector.
#[derive(Clone, Copy, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wire")]
pub(crate) struct Signals {
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) x_is_nan: bool,
    pub(crate) x_is_signaling: bool,
    pub(crate) y_is_zero: bool,
    pub(crate) x_is_subnormal: bool,
    pub(crate) y_is_subnormal: bool,
    pub(crate) is_numeric: bool,
    pub(crate) negative: bool,
    /// The exponent of the leading bit, before rounding.
    pub(crate) leading: i32,
    pub(crate) subnormal: bool,
    pub(crate) odd: bool,
    pub(crate) guard: bool,
    pub(crate) sticky: bool,
    pub(crate) carries: bool,
    pub(crate) overflows: bool,
    /// The exponents' difference.
    pub(crate) alignment: i32,
    pub(crate) opposite: bool,
    /// By how many places a sum is shorter than its larger term.
    pub(crate) cancelled: i32,
    pub(crate) word: u64,
    pub(crate) product_is_long: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Datapath {
    pub(crate) kind: Kind,
    pub(crate) from: Fields,
    pub(crate) to: Fields,
    pub(crate) random_bits: Option<u32>,
    pub(crate) clamps: bool,
    pub(crate) nan: NanKind,
    pub(crate) rules: FlagRules,
    pub(crate) bugs: Vec<Bug>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Zero,
    Finite,
    Infinite,
    Nan,
}

#[derive(Clone, Copy, Debug)]
struct Number {
    class: Class,
    negative: bool,
    significand: u64,
    /// Of the significand's last bit.
    exponent: i32,
    is_subnormal: bool,
    signals: bool,
    code: u64,
}

impl Fields {
    fn width(self) -> u32 {
        1 + self.exponent + self.trailing
    }

    fn magnitude_mask(self) -> u64 {
        (1 << (self.width() - 1)) - 1
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.trailing
    }

    fn trailing_mask(self) -> u128 {
        (1 << self.trailing) - 1
    }

    fn largest(self) -> u64 {
        if self.is_ieee { self.infinity() - 1 } else { self.magnitude_mask() - 1 }
    }
}

macro_rules! has {
    ($unit:expr, $bug:pat) => {
        $unit.bugs.iter().any(|bug| matches!(bug, $bug))
    };
}

impl Datapath {
    /// The result and the flags, in the order I D O U X as bits of a register (D above).
    pub(crate) fn run(&self, x: u64, y: u64, word: u64) -> (u64, u32) {
        let a = self.unpack(x, Operand::X);
        let b = self.unpack(y, Operand::Y);
        let mut signals = Signals {
            x,
            y,
            word,
            x_is_nan: a.class == Class::Nan,
            x_is_signaling: a.signals,
            y_is_zero: b.class == Class::Zero,
            x_is_subnormal: a.is_subnormal,
            y_is_subnormal: b.is_subnormal,
            ..Signals::default()
        };
        let (mut code, mut flags) = match self.kind {
            Kind::Multiply => self.multiply(&a, &b, &mut signals),
            Kind::Add => self.add(&a, &b, &mut signals),
            Kind::Convert => self.convert(&a, &mut signals),
        };
        let operands: &[Number] = if self.kind == Kind::Convert { &[a] } else { &[a, b] };
        let is_invalid = flags & I != 0;
        let has_nan = operands.iter().any(|number| number.class == Class::Nan);
        if has_nan && self.rules.any_nan || operands.iter().any(|number| number.signals) {
            flags |= I;
        }
        let has_subnormal = operands.iter().any(|number| number.is_subnormal);
        let raises = match self.rules.denormal {
            Denormal::Never => false,
            Denormal::Raised => true,
            Denormal::X86 => !has_nan && !is_invalid,
        };
        if has_subnormal && raises {
            flags |= D;
        }
        for bug in &self.bugs {
            match *bug {
                Bug::NeverRaises(which) => flags &= !which,
                Bug::OverflowIsExact if flags & O != 0 => flags &= !X,
                Bug::InvalidIsInexact if flags & I != 0 => flags |= X,
                Bug::DenormalWithoutUnderflow if flags & D != 0 => flags &= !U,
                Bug::ExactUnderflows => {
                    let magnitude = code & self.to.magnitude_mask();
                    if magnitude != 0 && magnitude >> self.to.trailing == 0 {
                        flags |= U;
                    }
                }
                Bug::Local(when, effect) if when(&signals) => {
                    let sign = 1 << (self.to.width() - 1);
                    match effect {
                        Effect::FlipSign => code ^= sign,
                        Effect::Zero => code &= sign,
                        Effect::Largest => code = code & sign | self.to.largest(),
                        Effect::ClearLast => code &= !1,
                        Effect::Increment => code += 1,
                        Effect::Decrement => code -= 1,
                        Effect::Drop(which) => flags &= !which,
                        Effect::Raise(which) => flags |= which,
                        Effect::Truncate | Effect::TiesAway => {}
                    }
                }
                _ => {}
            }
        }
        (code, flags)
    }

    fn unpack(&self, code: u64, place: Operand) -> Number {
        let f = self.from;
        let field = (code & f.magnitude_mask()) >> f.trailing;
        let mut trailing = code & ((1 << f.trailing) - 1);
        let all_ones = (1 << f.exponent) - 1;
        let is_top = field == all_ones && !has!(self, Bug::SpecialsAreNumbers);
        let meant = |of: Operand| of == Operand::Both || of == place;
        let negative = code >> (f.width() - 1) & 1 == 1;
        let mut number = Number {
            class: Class::Finite,
            negative,
            significand: 0,
            exponent: 0,
            is_subnormal: false,
            signals: false,
            code,
        };
        if f.is_ieee && is_top {
            number.class = if trailing == 0 { Class::Infinite } else { Class::Nan };
            number.signals = trailing != 0 && trailing >> (f.trailing - 1) & 1 == 0;
            return number;
        }
        if !f.is_ieee && is_top && trailing == (1 << f.trailing) - 1 {
            number.class = Class::Nan;
            return number;
        }
        if field == 0 && trailing == 0 {
            number.class = Class::Zero;
            return number;
        }
        number.is_subnormal = field == 0;
        let (mut bias, mut hidden, mut exponent) =
            (f.bias, 1 << f.trailing, i32::try_from(field).expect("a field"));
        if field == 0 {
            hidden = 0;
            exponent = 1;
        }
        for bug in &self.bugs {
            match *bug {
                Bug::ZeroForSubnormal(of) if field == 0 && meant(of) => {
                    number.class = Class::Zero;
                    number.is_subnormal = false;
                }
                Bug::HiddenBitOfSubnormal(of) if field == 0 && meant(of) => {
                    hidden = 1 << f.trailing;
                    exponent = 0;
                    number.is_subnormal = false;
                }
                Bug::ExponentOfSubnormal(of) if field == 0 && meant(of) => exponent = 0,
                Bug::BiasOfOperands(by) => bias += by,
                Bug::Keeps(bits) => {
                    let dropped = f.trailing + 1 - bits;
                    trailing = trailing >> dropped << dropped;
                }
                _ => {}
            }
        }
        number.significand = trailing | hidden;
        number.exponent = exponent - bias - i32::try_from(f.trailing).expect("few bits");
        if number.significand == 0 {
            number.class = Class::Zero;
        }
        number
    }

    fn zero(&self, negative: bool) -> (u64, u32) {
        let negative = negative && !has!(self, Bug::ZeroPositive | Bug::SignLost);
        (u64::from(negative) << (self.to.width() - 1), 0)
    }

    fn infinite(&self, negative: bool) -> (u64, u32) {
        let negative = negative && !has!(self, Bug::SignLost);
        let sign = u64::from(negative) << (self.to.width() - 1);
        let clamps = self.clamps && !has!(self, Bug::NeverClamps);
        match (clamps, self.to.is_ieee) {
            (false, true) => (sign | self.to.infinity(), 0),
            (false, false) => (self.nan_code(), self.lost()),
            (true, _) => (sign | self.to.largest(), self.lost()),
        }
    }

    /// The flags of an infinity that is not kept.
    fn lost(&self) -> u32 {
        if self.rules.infinity_is_silent { 0 } else { O | X }
    }

    fn nan_code(&self) -> u64 {
        let quiet = self.to.infinity() | 1 << (self.to.trailing - 1);
        let magnitude = if self.to.is_ieee { quiet } else { self.to.magnitude_mask() };
        magnitude | u64::from(has!(self, Bug::NanNegative)) << (self.to.width() - 1)
    }

    fn nan(&self, operands: &[Number]) -> (u64, u32) {
        let nan = |signaling: bool| {
            operands.iter().find(|number| number.class == Class::Nan && (number.signals || !signaling))
        };
        let is_invalid = !operands.iter().any(|number| number.class == Class::Nan);
        let chosen = match self.nan {
            NanKind::Canonical => None,
            NanKind::X86 => nan(false),
            NanKind::Arm => nan(true).or_else(|| nan(false)),
        };
        let flags = if is_invalid { I } else { 0 };
        if let Some(number) = chosen.filter(|_| self.to.is_ieee && self.from.is_ieee) {
            let trailing = number.code & ((1 << self.from.trailing) - 1);
            let moved = if self.to.trailing >= self.from.trailing {
                trailing << (self.to.trailing - self.from.trailing)
            } else {
                trailing >> (self.from.trailing - self.to.trailing)
            };
            let sign = u64::from(number.negative) << (self.to.width() - 1);
            return (sign | self.to.infinity() | moved | 1 << (self.to.trailing - 1), flags);
        }
        let sign = u64::from(self.nan == NanKind::X86) << (self.to.width() - 1);
        (self.nan_code() | sign, flags)
    }

    fn invalid(&self, operands: &[Number], negative: bool) -> (u64, u32) {
        if has!(self, Bug::InvalidIsZero) {
            return (self.zero(negative).0, I);
        }
        if has!(self, Bug::InvalidIsInfinity) {
            return (self.infinite(negative).0, I);
        }
        self.nan(operands)
    }

    fn multiply(&self, x: &Number, y: &Number, signals: &mut Signals) -> (u64, u32) {
        let negative = match () {
            () if has!(self, Bug::SignOr) => x.negative | y.negative,
            () if has!(self, Bug::SignOfX) => x.negative,
            () => x.negative ^ y.negative,
        };
        signals.negative = negative;
        let both = [*x, *y];
        match (x.class, y.class) {
            (Class::Nan, _) | (_, Class::Nan) => self.nan(&both),
            (Class::Zero, Class::Infinite) | (Class::Infinite, Class::Zero) => self.invalid(&both, negative),
            (Class::Infinite, _) | (_, Class::Infinite) => self.infinite(negative),
            (Class::Zero, _) | (_, Class::Zero) => self.zero(negative),
            _ => {
                let product = u128::from(x.significand) * u128::from(y.significand);
                let bits = |number: &Number| number.significand.ilog2();
                signals.product_is_long = product.ilog2() > bits(x) + bits(y);
                self.round(negative, product, x.exponent + y.exponent, signals)
            }
        }
    }

    fn convert(&self, x: &Number, signals: &mut Signals) -> (u64, u32) {
        signals.negative = x.negative;
        match x.class {
            Class::Nan => self.nan(&[*x]),
            Class::Infinite => self.infinite(x.negative),
            Class::Zero => self.zero(x.negative),
            Class::Finite => self.round(x.negative, x.significand.into(), x.exponent, signals),
        }
    }

    fn add(&self, x: &Number, y: &Number, signals: &mut Signals) -> (u64, u32) {
        let y = &Number { negative: y.negative ^ has!(self, Bug::Subtracts), ..*y };
        let both = [*x, *y];
        match (x.class, y.class) {
            (Class::Nan, _) | (_, Class::Nan) => return self.nan(&both),
            (Class::Infinite, Class::Infinite) if x.negative != y.negative => {
                return self.invalid(&both, x.negative ^ y.negative);
            }
            (Class::Infinite, _) => return self.infinite(x.negative),
            (_, Class::Infinite) => return self.infinite(y.negative),
            (Class::Zero, Class::Zero) => {
                let cancels = x.negative != y.negative && has!(self, Bug::CancelsNegative);
                let negative = x.negative && y.negative || cancels;
                return self.zero(self.sign_of_sum(negative, x, y));
            }
            _ => {}
        }
        // The exponents of the terms' last places tell how far the smaller one is shifted.
        let weight = |number: &Number| match number.class {
            Class::Zero => i32::MIN,
            _ => number.exponent,
        };
        let is_x_larger = (weight(x), x.significand) >= (weight(y), y.significand);
        let (large, small) = if is_x_larger { (x, y) } else { (y, x) };
        let leading = |number: &Number| number.exponent + number.significand.ilog2().cast_signed();
        let opposite = x.negative != y.negative;
        if small.class == Class::Zero {
            signals.negative = self.sign_of_sum(large.negative, x, y);
            signals.opposite = opposite;
            return self.round(signals.negative, large.significand.into(), large.exponent, signals);
        }
        signals.opposite = opposite;
        signals.alignment = leading(x) - leading(y);
        let shift = (large.exponent - small.exponent).cast_unsigned();
        // Guard, round and sticky bits below the last place.
        let (places, jams) = match () {
            () if has!(self, Bug::StickyForGuard) => (1, true),
            () => match self
                .bugs
                .iter()
                .find_map(|bug| if let Bug::GuardBits(n) = bug { Some(*n) } else { None })
            {
                Some(n) => (n, false),
                None => (3, true),
            },
        };
        let wide_large = u128::from(large.significand) << places;
        let wide_small = u128::from(small.significand) << places;
        let shifted = if shift < 100 { wide_small >> shift } else { 0 };
        let is_lost = shift >= 100 || shifted << shift != wide_small;
        let shifted = shifted | u128::from(jams && is_lost);
        let exponent = large.exponent - i32::try_from(places).expect("three bits at most");
        let (sum, negative) = if !opposite {
            (wide_large + shifted, large.negative)
        } else if wide_large >= shifted {
            (wide_large - shifted, large.negative)
        } else {
            (shifted - wide_large, small.negative)
        };
        if sum == 0 {
            let negative = has!(self, Bug::CancelsNegative);
            signals.cancelled = 99;
            return self.zero(self.sign_of_sum(negative, x, y));
        }
        let negative = self.sign_of_sum(negative, x, y);
        signals.negative = negative;
        signals.cancelled = leading(x).max(leading(y)) - (exponent + sum.ilog2().cast_signed());
        self.round(negative, sum, exponent, signals)
    }

    fn sign_of_sum(&self, negative: bool, x: &Number, y: &Number) -> bool {
        match () {
            () if has!(self, Bug::SignOr) => x.negative | y.negative,
            () if has!(self, Bug::SignOfX) => x.negative,
            () => negative,
        }
    }

    /// Rounds significand · 2^exponent, not 0, and packs it.
    pub(crate) fn round(
        &self,
        negative: bool,
        significand: u128,
        exponent: i32,
        signals: &mut Signals,
    ) -> (u64, u32) {
        let (significand, exponent) = self.through(significand, exponent);
        if significand == 0 {
            return (self.zero(negative).0, U | X);
        }
        let to = self.to;
        let trailing = i32::try_from(to.trailing).expect("few bits");
        let moved: i32 = self.bugs.iter().map(|bug| if let Bug::Bias(by) = bug { *by } else { 0 }).sum();
        let bias = to.bias + moved;
        let lowest = 1 - bias;
        let leading = leading_of(significand, exponent);
        let (significand, exponent) = if has!(self, Bug::RoundsSubnormalTwice) && leading < lowest {
            shortened(significand, exponent, leading - trailing)
        } else {
            (significand, exponent)
        };
        let is_subnormal = leading_of(significand, exponent) < lowest;
        let last = leading_of(significand, exponent).max(lowest) - trailing;
        let cut = self.cut(significand, last - exponent);
        *signals = Signals {
            is_numeric: true,
            negative,
            leading,
            subnormal: is_subnormal,
            odd: cut.kept & 1 == 1,
            guard: cut.guard,
            sticky: cut.sticky,
            ..*signals
        };
        let up = self.rounds_up(&cut, signals);
        let is_full = cut.kept & to.trailing_mask() == to.trailing_mask();
        signals.carries = up && is_full;
        let field = if is_subnormal { 0 } else { (last + trailing + bias).cast_unsigned() };
        // With the hidden bit in the significand, which the exponent counts too.
        let before = (u128::from(field.saturating_sub(u32::from(!is_subnormal))) << to.trailing) + cut.kept;
        let mut code = before + u128::from(up);
        if has!(self, Bug::LosesCarry) && signals.carries {
            code -= 1 << to.trailing;
        }
        let flushes = has!(self, Bug::FlushesResults) && code < 1 << to.trailing
            || has!(self, Bug::FlushesBeforeRounding) && is_subnormal;
        let is_inexact = cut.rest != 0 || flushes && code != 0;
        if flushes {
            code = 0;
        }
        if code == 0 && has!(self, Bug::NeverZero) {
            code = 1;
        }
        signals.overflows = code > u128::from(to.largest());
        let is_early = before == u128::from(to.largest()) && is_inexact;
        if signals.overflows || has!(self, Bug::EarlyOverflow) && is_early {
            return self.overflown(negative, code);
        }
        // As if the exponent had no lower end, one place more is kept.
        let is_tiny = leading < lowest
            && !(self.rules.tiny_after
                && leading == lowest - 1
                && self.reaches_normal(significand, exponent, signals.word));
        let underflow = if is_tiny && is_inexact { U } else { 0 };
        let sign = self.sign(negative && !(code == 0 && has!(self, Bug::ZeroPositive)));
        (sign | u64::try_from(code).expect("within the range"), underflow | if is_inexact { X } else { 0 })
    }

    /// A value as another format holds it that it passes through.
    fn through(&self, significand: u128, exponent: i32) -> (u128, i32) {
        let first =
            self.bugs.iter().find_map(|bug| if let Bug::Through(first) = bug { Some(first) } else { None });
        first.map_or((significand, exponent), |first| {
            let leading = leading_of(significand, exponent).max(1 - first.bias);
            shortened(significand, exponent, leading - i32::try_from(first.trailing).expect("few bits"))
        })
    }

    /// The significand from the last place on, and the bits below it.
    fn cut(&self, significand: u128, shift: i32) -> Cut {
        let (kept, rest, places) = if shift <= 0 {
            (significand << (-shift).cast_unsigned(), 0, 0)
        } else if shift < 128 {
            let kept = significand >> shift;
            (kept, significand - (kept << shift), shift.cast_unsigned())
        } else {
            // Far below: the bits are moved so that they still count as sticky.
            (0, 1, 127)
        };
        let guard = places > 0 && rest >> (places - 1) & 1 == 1;
        let mut below = if places > 0 { rest & ((1 << (places - 1)) - 1) } else { 0 };
        for bug in &self.bugs {
            if let Bug::StickyBelow(bits) = bug
                && places > *bits
            {
                let dropped = places - bits;
                below = below >> dropped << dropped;
            }
        }
        let sticky = below != 0;
        let guard = guard && (sticky || !has!(self, Bug::TiesTowardZero));
        Cut { kept, rest, places, guard, sticky }
    }

    /// Whether the rounding increment is added.
    fn rounds_up(&self, cut: &Cut, signals: &Signals) -> bool {
        let &Cut { kept, rest, places, guard, sticky } = cut;
        let odd = kept & 1 == 1;
        let inexact = guard || sticky || rest != 0;
        let mut up = match self.random_bits {
            Some(bits) => self.random_up(rest, places, bits, signals.word, odd),
            None => guard && (sticky || odd),
        };
        for bug in &self.bugs {
            up = match *bug {
                Bug::Truncates => false,
                Bug::TiesAway | Bug::TiesTowardZero => guard,
                Bug::TiesUp => guard && (sticky || !signals.negative),
                Bug::TowardPositive => inexact && !signals.negative,
                Bug::TowardNegative => inexact && signals.negative,
                Bug::ToOdd => inexact && !odd,
                Bug::Local(when, Effect::Truncate) if when(signals) => false,
                Bug::Local(when, Effect::TiesAway) if when(signals) => up || guard && !sticky,
                _ => up,
            };
        }
        let is_full = kept & self.to.trailing_mask() == self.to.trailing_mask();
        up && !(has!(self, Bug::KeepsAllOnes) && is_full)
    }

    fn sign(&self, negative: bool) -> u64 {
        u64::from(negative && !has!(self, Bug::SignLost)) << (self.to.width() - 1)
    }

    /// What lies beyond the largest value.
    fn overflown(&self, negative: bool, code: u128) -> (u64, u32) {
        let sign = self.sign(negative);
        if has!(self, Bug::NoOverflowCheck) {
            let code = code & u128::from(self.to.magnitude_mask());
            return (sign | u64::try_from(code).expect("masked"), O | X);
        }
        let clamps = self.clamps && !has!(self, Bug::NeverClamps) || has!(self, Bug::ClampsOverflow);
        let code = match (clamps, self.to.is_ieee) {
            (true, _) => sign | self.to.largest(),
            (false, true) => sign | self.to.infinity(),
            (false, false) => self.nan_code(),
        };
        (code, O | X)
    }

    /// Whether a value just below the normal ones rounds to the smallest of them with full
    /// precision.
    fn reaches_normal(&self, significand: u128, exponent: i32, word: u64) -> bool {
        let last = leading_of(significand, exponent) - i32::try_from(self.to.trailing).expect("few bits");
        let shift = last - exponent;
        if shift <= 0 {
            return false;
        }
        let full = (1_u128 << (self.to.trailing + 1)) - 1;
        let kept = significand >> shift;
        if kept != full {
            return false;
        }
        let rest = significand - (kept << shift);
        match self.random_bits {
            Some(bits) => self.random_up(rest, shift.cast_unsigned(), bits, word, true),
            // The last bit is 1, so that a tie goes up.
            None => rest >> (shift - 1) & 1 == 1,
        }
    }

    /// Stochastic rounding: the highest of the bits that are cut off plus the random word carry.
    fn random_up(&self, rest: u128, places: u32, bits: u32, word: u64, odd: bool) -> bool {
        let (mut bits, mut word) = (bits, word);
        let max = (1 << bits) - 1;
        for bug in &self.bugs {
            match *bug {
                Bug::IgnoresRandom => word = 0,
                Bug::AllOnesRandom => word = max,
                Bug::SubtractsRandom => word = max - word,
                Bug::ReversesRandom => word = word.reverse_bits() >> (64 - bits),
                Bug::TopRandomBits(dropped) => {
                    word >>= dropped;
                    bits -= dropped;
                }
                Bug::LowRandomBits(dropped) => {
                    bits -= dropped;
                    word &= (1 << bits) - 1;
                }
                Bug::RandomPlaceHigh => word = word << 1 & max,
                Bug::RandomPlaceLow => word >>= 1,
                Bug::Nearest => {
                    let half = places > 0 && rest >> (places - 1) & 1 == 1;
                    let more = places > 0 && rest & ((1 << (places - 1)) - 1) != 0;
                    return half && (more || odd);
                }
                Bug::RoundsRandomToNearest => {
                    // Mode B: half a unit of the word is added.
                    let cut =
                        if places > bits { rest >> (places - bits - 1) } else { rest << (bits + 1 - places) };
                    return (cut + (2 * u128::from(word) + 1)) >> (bits + 1) != 0;
                }
                _ => {}
            }
        }
        let cut = if places >= bits { rest >> (places - bits) } else { rest << (bits - places) };
        (cut + u128::from(word)) >> bits != 0
    }
}

/// A significand as it leaves the datapath's shifter.
struct Cut {
    kept: u128,
    /// The bits below the last place, and how many they are.
    rest: u128,
    places: u32,
    guard: bool,
    sticky: bool,
}

fn leading_of(significand: u128, exponent: i32) -> i32 {
    exponent + significand.ilog2().cast_signed()
}

/// A value rounded to nearest, ties to even, at this last place.
fn shortened(significand: u128, exponent: i32, last: i32) -> (u128, i32) {
    if last > exponent { (nearest_even(significand, last - exponent), last) } else { (significand, exponent) }
}

fn nearest_even(significand: u128, shift: i32) -> u128 {
    if shift >= 127 {
        return 0;
    }
    let kept = significand >> shift;
    let rest = significand - (kept << shift);
    let half = 1_u128 << (shift - 1);
    kept + u128::from(rest > half || rest == half && kept & 1 == 1)
}
