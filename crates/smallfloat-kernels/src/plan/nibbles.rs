//! [`NibblePlan`]: the constants with which products of a vector and rows of codes decode signed
//! formats of eight bits.
//!
//! Between subnormals and specials the upper half of a value's binary32 is linear in the code.
//! Where the offset carries from no bit that the lower nibble reaches, the half is one table's
//! entry for the upper nibble (the sign among it) and one for the lower, joined by "exclusive or";
//! a power of two taken off all values makes the offset so, and the vector is multiplied by it. As
//! in `plan/decode.rs`, the first and the last 16 magnitudes have tables of what else to flip, and
//! whether all this describes a format is checked code by code.

/// Constants of a decoder by nibbles. Halves are the upper 16 bits of binary32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NibblePlan {
    pub(crate) lower_nibble: Halves,
    pub(crate) upper_nibble: Halves,
    /// What to flip in the halves of the first and of the last 16 magnitudes.
    pub(crate) first: Halves,
    pub(crate) last: Halves,
    /// The bits that tell NaN, and what they are, where NaN has one code or one magnitude.
    pub(crate) nan: Option<[u8; 2]>,
    /// Values are times this: a power of two.
    pub(crate) scale: f32,
}

/// Entries of a table for a nibble.
const TABLE: usize = 16;
/// The low and the high bytes of a table's halves.
pub(crate) type Halves = [[u8; TABLE]; 2];
/// Of a half: exponent, sign, and the last place of the exponent.
const EXPONENT: u16 = 0x7f80;
const SIGN: u16 = 0x8000;
const PLACE: u16 = 0x0080;

fn split(halves: [u16; TABLE]) -> Halves {
    [halves.map(|half| half.to_le_bytes()[0]), halves.map(|half| half.to_le_bytes()[1])]
}

fn entry(table: &Halves, i: usize) -> u16 {
    u16::from_le_bytes([table[0][i], table[1][i]])
}

fn is_nan(half: u16) -> bool {
    half & !SIGN > EXPONENT
}

impl NibblePlan {
    /// The constants for halves of all 256 codes, or `None` for formats they can't describe.
    pub(crate) fn new(halves: &[u16]) -> Option<Self> {
        let halves: &[u16; 256] = halves.try_into().ok()?;
        // Exponents whose two lowest bits are zero at the start carry from no bit of the lower
        // nibble.
        [1.0, 2.0, 4.0, 8.0].into_iter().zip(0..).find_map(|(scale, power)| {
            let mut scaled = *halves;
            for half in &mut scaled {
                let magnitude = *half & !SIGN;
                if magnitude != 0 && magnitude < EXPONENT {
                    *half = half.checked_sub(power * PLACE).filter(|half| half & EXPONENT != 0)?;
                }
            }
            Self::of(&scaled, scale)
        })
    }

    fn of(halves: &[u16; 256], scale: f32) -> Option<Self> {
        const MIDDLE: usize = 0x40;
        let lower_nibble: [u16; TABLE] = std::array::from_fn(|i| halves[MIDDLE + i] ^ halves[MIDDLE]);
        let mut upper_nibble: [u16; TABLE] =
            std::array::from_fn(|i| halves[i % 8 * TABLE] | if i < 8 { 0 } else { SIGN });
        (upper_nibble[0], upper_nibble[8]) = (0, SIGN);
        let linear = |code: usize| upper_nibble[code / TABLE] ^ lower_nibble[code % TABLE];
        let nan = [[0x7f, 0x7f], [0xff, 0x80]].into_iter().find(|&[mask, code]| {
            (0_u8..=255).zip(halves).all(|(at, &half)| at & mask != code || is_nan(half))
        });
        let of_nan = |code: usize| {
            is_nan(halves[code])
                && nan.is_some_and(|[mask, nan]| code & usize::from(mask) == usize::from(nan))
        };
        let flip = |code: usize| if of_nan(code) { 0 } else { halves[code] ^ linear(code) };
        let plan = Self {
            lower_nibble: split(lower_nibble),
            upper_nibble: split(upper_nibble),
            first: split(std::array::from_fn(flip)),
            last: split(std::array::from_fn(|i| flip(0x70 + i))),
            nan,
            scale,
        };
        let agrees = |code: u8| {
            let (found, half) = (plan.half(code), halves[usize::from(code)]);
            // Sums keep nothing of a NaN, nor of a zero's sign.
            found == half || is_nan(found) && is_nan(half)
        };
        (0..=255).all(agrees).then_some(plan)
    }

    /// Returns whether the last magnitudes need their table.
    pub(crate) fn has_last(&self) -> bool {
        self.last != [[0; TABLE]; 2]
    }

    /// Returns whether nibbles touch each other's bytes.
    pub(crate) fn crosses(&self) -> bool {
        self.upper_nibble[0] != [0; TABLE] || self.lower_nibble[1] != [0; TABLE]
    }

    /// What the vector kernel computes for one code.
    fn half(&self, code: u8) -> u16 {
        let (index, nibbles) = (usize::from(code & 0x7f), [usize::from(code & 15), usize::from(code >> 4)]);
        let mut half = entry(&self.lower_nibble, nibbles[0]) ^ entry(&self.upper_nibble, nibbles[1]);
        half ^= if index < TABLE { entry(&self.first, index) } else { 0 };
        half ^= index.checked_sub(0x70).map_or(0, |i| entry(&self.last, i));
        match self.nan {
            Some([mask, nan]) if code & mask == nan => u16::MAX,
            _ => half,
        }
    }
}

/// Which of two 4-bit codes lies in the lower half of their byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Nibbles {
    /// The first.
    LowFirst,
    /// The second.
    HighFirst,
}

/// Elements of one step of every row.
pub(crate) const STEP: usize = 16;

/// A vector's elements in the order of a step's fused operations: even and odd ones of each eight.
pub(crate) struct Interleaved {
    pub(crate) steps: Vec<[[f32; 4]; 4]>,
    pub(crate) length: usize,
}

impl Interleaved {
    /// The elements times the plan's power of two; `None` if one of them would overflow.
    pub(crate) fn new(plan: &NibblePlan, vector: &[f32]) -> Option<Self> {
        let mut steps = vec![[[0.0; 4]; 4]; vector.len().div_ceil(STEP)];
        let mut overflows = false;
        for (step, x) in steps.iter_mut().zip(vector.chunks(STEP)) {
            let mut sixteen = [0.0; STEP];
            sixteen[..x.len()].copy_from_slice(x);
            for (i, x) in sixteen.iter().enumerate() {
                let scaled = x * plan.scale;
                overflows |= scaled.is_infinite() != x.is_infinite();
                step[i / 8 * 2 + i % 2][i % 8 / 2] = scaled;
            }
        }
        (!overflows).then_some(Self { steps, length: vector.len() })
    }
}
