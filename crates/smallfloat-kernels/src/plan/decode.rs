//! [`DecodePlans`]: the constants with which vector kernels decode a format, from bytes or from
//! half-words.
//!
//! Small floats have at most 8 significant bits, so each value is the upper half of a binary32 and
//! a bfloat16. Between normal values that half is linear in the code. The first 16 and the last 16
//! magnitudes, among them subnormals, ∞ and NaN, come from two tables of what to flip in the linear
//! answer; one more is kept for the code of −0, which several families use for their NaN. Whether
//! this describes a format is not argued but checked, code by code, when the plan is made.

use smallfloat::Format;

use crate::plan::nibbles::NibblePlan;

/// The plans of one format and destination, by the storage of codes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodePlans {
    pub(crate) bytes: Option<DecodePlan>,
    pub(crate) half_words: Option<WidePlan>,
    /// For products of a vector and rows of bytes.
    pub(crate) nibbles: Option<NibblePlan>,
}

impl DecodePlans {
    /// The plans for values that are those of `words`, of binary32, one for each code.
    pub(crate) fn new(format: &Format, words: &[u32]) -> Self {
        let half = |&word: &u32| u16::try_from(word >> 16).ok().filter(|_| word.trailing_zeros() >= 16);
        let halves: Option<Vec<u16>> = words.iter().map(half).collect();
        Self {
            bytes: halves.as_ref().and_then(|halves| DecodePlan::new(format, halves)),
            half_words: WidePlan::new(format, words),
            nibbles: halves
                .as_ref()
                .filter(|_| format.is_signed())
                .and_then(|halves| NibblePlan::new(halves)),
        }
    }
}

/// Constants of a vector decoder. Halves are the upper 16 bits of binary32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodePlan {
    pub(crate) index_mask: u8,
    pub(crate) sign_mask: u8,
    /// Half = (index << shift) + offset where the format is linear.
    pub(crate) shift: u32,
    pub(crate) offset: u16,
    /// What to flip in the halves of the first and of the last 16 magnitudes.
    pub(crate) first: [u16; 16],
    pub(crate) last: [u16; 16],
    /// What else to flip in the halves of the last 16 codes with a sign: a NaN has none.
    pub(crate) last_signed: [u16; 16],
    /// What else to flip in the half of the code of −0.
    pub(crate) negative_zero: u16,
    /// The low and the high bytes of all halves, for kernels that look up as many; bits above the
    /// width change nothing.
    pub(crate) bytes: [[u8; 256]; 2],
    pub(crate) signs: Option<Signs>,
}

/// Which of the codes 128 to 255 are those 128 below them with `sign` added to the high byte, and
/// all others the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signs {
    pub(crate) first: u8,
    /// The last code less the first.
    pub(crate) span: u8,
    pub(crate) sign: u8,
}

impl Signs {
    /// `None` where the upper codes need entries of their own.
    fn of([low, high]: &[[u8; 256]; 2]) -> Option<Self> {
        let turned = |code: &usize| high[*code] == high[*code - 128] ^ 0x80 && low[*code] == low[*code - 128];
        let same = |code: &usize| high[*code] == high[*code - 128] && low[*code] == low[*code - 128];
        let Some(first) = (128..256).find(turned) else {
            return (128..256).all(|code| same(&code)).then_some(Self { first: 0, span: 0, sign: 0 });
        };
        let last = (128..256).rfind(turned)?;
        let fits =
            (128..256).all(|code| if (first..=last).contains(&code) { turned(&code) } else { same(&code) });
        let span = u8::try_from(last - first).ok()?;
        fits.then_some(Self { first: u8::try_from(first).ok()?, span, sign: 0x80 })
    }
}

/// Magnitudes that a table of 16 holds.
const TABLE: usize = 16;

impl DecodePlan {
    /// The constants, or `None` for formats they can't describe. `halves` has one entry a code.
    pub(crate) fn new(format: &Format, halves: &[u16]) -> Option<Self> {
        if format.width() > 8 || format.trailing_bits() > 7 {
            return None;
        }
        let codes = u8::try_from(format.max_code()).ok()?;
        let (index_mask, sign_mask) =
            if format.is_signed() { (codes >> 1, codes ^ codes >> 1) } else { (codes, 0) };
        let shift = 7 - format.trailing_bits();
        let middle = index_mask / 2 + 1;
        let offset = halves[usize::from(middle)].wrapping_sub(u16::from(middle) << shift);
        let linear = |index: usize| u16::try_from(index << shift).map_or(0, |x| x.wrapping_add(offset));
        let difference = |index: usize| halves.get(index).map_or(0, |half| half ^ linear(index));
        let many = usize::from(index_mask) >= TABLE;
        let last_index = |i: usize| usize::from(index_mask) - (TABLE - 1) + i;
        let mut plan = Self {
            index_mask,
            sign_mask,
            shift,
            offset,
            first: std::array::from_fn(difference),
            last: std::array::from_fn(|i| if many { difference(last_index(i)) } else { 0 }),
            last_signed: [0; TABLE],
            negative_zero: 0,
            bytes: [[0; 256]; 2],
            signs: None,
        };
        if sign_mask != 0 && many {
            plan.last_signed = std::array::from_fn(|i| {
                let code = usize::from(sign_mask | index_mask) - (TABLE - 1) + i;
                u8::try_from(code).map_or(0, |code| plan.half(code)) ^ halves[code]
            });
        }
        if sign_mask != 0 {
            plan.negative_zero = plan.half(sign_mask) ^ halves[usize::from(sign_mask)];
        }
        for code in 0..=u8::MAX {
            let [low, high] = plan.half(code & codes).to_le_bytes();
            (plan.bytes[0][usize::from(code)], plan.bytes[1][usize::from(code)]) = (low, high);
        }
        plan.signs = Signs::of(&plan.bytes);
        (0..=codes).all(|code| plan.half(code) == halves[usize::from(code)]).then_some(plan)
    }

    /// Which entry of the table of last magnitudes an index has, if below 16.
    pub(crate) fn flip(&self) -> u8 {
        self.index_mask & 0xf0
    }

    /// Which entry of the table an index with its sign has, for the last codes.
    pub(crate) fn flip_signed(&self) -> u8 {
        (self.index_mask | self.sign_mask) & 0xf0
    }

    /// What the vector kernel computes for one code.
    fn half(&self, code: u8) -> u16 {
        let index = code & self.index_mask;
        let mut half = (u16::from(index) << self.shift).wrapping_add(self.offset);
        half ^= self.first.get(usize::from(index)).unwrap_or(&0);
        half ^= self.last.get(usize::from(index ^ self.flip())).unwrap_or(&0);
        if code & self.sign_mask != 0 {
            half ^= 1 << 15;
            half ^= self.last_signed.get(usize::from(code ^ self.flip_signed())).unwrap_or(&0);
            half ^= if index == 0 { self.negative_zero } else { 0 };
        }
        half
    }
}

/// Constants of a vector decoder of codes of up to 16 bits in half-words. Values are words of
/// binary32.
///
/// Above the subnormals a value's word is linear in the code; subnormals are the code times the
/// smallest of them, which no rounding touches; ∞ and NaN are constants. This too is checked code
/// by code when the plan is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WidePlan {
    pub(crate) width: u32,
    pub(crate) index_mask: u32,
    pub(crate) sign_mask: u32,
    /// Word = (index << shift) + offset, from the first linear index on.
    pub(crate) shift: u32,
    pub(crate) offset: u32,
    pub(crate) first_linear: u32,
    /// The smallest subnormal, or 0 where they are none.
    pub(crate) smallest: u32,
    /// The largest indices of finite values and of all numbers.
    pub(crate) last_finite: u32,
    pub(crate) last_number: u32,
    /// The code of a NaN on −0, or one that there is not.
    pub(crate) nan_code: u32,
}

/// Words of binary32's ∞ and NaN, and of its smallest normal value.
pub(crate) const INFINITY: u32 = 0x7f80_0000;
pub(crate) const NAN: u32 = 0x7fc0_0000;
pub(crate) const MIN_NORMAL: u32 = 0x0080_0000;

impl WidePlan {
    /// The constants, or `None` for formats they can't describe. `words` has one entry a code.
    pub(crate) fn new(format: &Format, words: &[u32]) -> Option<Self> {
        let codes = u32::try_from(format.max_code()).ok()?;
        let (index_mask, sign_mask) =
            if format.is_signed() { (codes >> 1, codes ^ codes >> 1) } else { (codes, 0) };
        let shift = 23_u32.checked_sub(format.trailing_bits())?;
        let word = |code: u32| words.get(code as usize).copied().unwrap_or(NAN);
        let last_finite = (0..=index_mask).rev().find(|&index| word(index) < INFINITY)?;
        let offset = word(last_finite).wrapping_sub(last_finite << shift);
        let nan_on_zero = sign_mask != 0 && word(sign_mask) == NAN;
        let plan = |first_linear: u32, smallest: u32| Self {
            width: format.width(),
            index_mask,
            sign_mask,
            shift,
            offset,
            first_linear,
            smallest,
            last_finite,
            last_number: last_finite + u32::from(word(last_finite + 1) == INFINITY),
            nan_code: if nan_on_zero { sign_mask } else { u32::MAX },
        };
        let describes = |plan: &Self| (0..=codes).all(|code| plan.word(code) == word(code));
        let smallest = word(1);
        let subnormal =
            (smallest == 0 || smallest >= MIN_NORMAL).then(|| plan(1 << format.trailing_bits(), smallest));
        [Some(plan(0, 0)), subnormal].into_iter().flatten().find(describes)
    }

    /// What the vector kernel computes for one code.
    fn word(&self, code: u32) -> u32 {
        let index = code & self.index_mask;
        let sign = if code & self.sign_mask == 0 { 0 } else { 1 << 31 };
        if index > self.last_number || code == self.nan_code {
            NAN
        } else if index > self.last_finite {
            INFINITY | sign
        } else if index < self.first_linear {
            #[expect(clippy::cast_precision_loss, reason = "indices have at most 16 bits")]
            let value = index as f32 * f32::from_bits(self.smallest);
            value.to_bits() | sign
        } else {
            (index << self.shift).wrapping_add(self.offset) | sign
        }
    }
}
