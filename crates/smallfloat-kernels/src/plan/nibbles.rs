//! [`NibblePlan`]: the constants with which sums of products decode signed formats of at most eight
//! bits.
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
    /// The bits of a magnitude, and at least a nibble. The sign is in the upper nibble, or in the
    /// lower one where that has all bits.
    pub(crate) magnitude: u8,
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
    /// The constants for the halves of a signed format's codes, or `None` for formats they can't
    /// describe.
    pub(crate) fn new(halves: &[u16]) -> Option<Self> {
        if halves.len() > 256 {
            return None;
        }
        let repeated: Vec<u16> = halves.iter().copied().cycle().take(256).collect();
        let repeated: &[u16; 256] = repeated.as_slice().try_into().ok()?;
        // Exponents whose two lowest bits are zero at the start carry from no bit of the lower
        // nibble. Nibbles that keep to their bytes cost less.
        let powers = [(1.0, 0), (2.0, 1), (4.0, 2), (8.0, 3)];
        let choices = [false, true].into_iter().flat_map(|crosses| powers.map(|power| (crosses, power)));
        choices.into_iter().find_map(|(crosses, (scale, power))| {
            let mut scaled = *repeated;
            for half in &mut scaled {
                let magnitude = *half & !SIGN;
                if magnitude != 0 && magnitude < EXPONENT {
                    *half = half.checked_sub(power * PLACE).filter(|half| half & EXPONENT != 0)?;
                }
            }
            Self::of(&scaled, halves.len(), scale, crosses)
        })
    }

    fn of(halves: &[u16; 256], codes: usize, scale: f32, crosses: bool) -> Option<Self> {
        let sign = codes / 2;
        let is_one_table = sign <= TABLE;
        // Where the lower nibble has all there is but a sign, its table does; else it has what it
        // adds in the middle.
        let middle = if is_one_table { 0 } else { sign / 2 };
        let start = if is_one_table { 0 } else { halves[middle] };
        let lower_nibble: [u16; TABLE] = std::array::from_fn(|i| halves[middle + i] ^ start);
        let upper_nibble: [u16; TABLE] = std::array::from_fn(|i| {
            let (first, signed) = (i * TABLE % sign.max(TABLE), (i * TABLE) & sign != 0);
            (if first == 0 { 0 } else { halves[first] }) | if signed { SIGN } else { 0 }
        });
        let linear = |code: usize| upper_nibble[code / TABLE] ^ lower_nibble[code % TABLE];
        let nan = [[0x7f, 0x7f], [0xff, 0x80]].into_iter().find(|&[mask, code]| {
            (0_u8..=255).zip(halves).all(|(at, &half)| at & mask != code || is_nan(half))
        });
        let of_nan = |code: usize| {
            is_nan(halves[code])
                && nan.is_some_and(|[mask, nan]| code & usize::from(mask) == usize::from(nan))
        };
        let flip = |code: usize| if of_nan(code) { 0 } else { halves[code] ^ linear(code) };
        let magnitude = u8::try_from(sign.max(TABLE) - 1).ok()?;
        let last = |i: usize| if is_one_table { 0 } else { flip(sign - TABLE + i) };
        let plan = Self {
            magnitude,
            lower_nibble: split(lower_nibble),
            upper_nibble: split(upper_nibble),
            first: split(std::array::from_fn(flip)),
            last: split(std::array::from_fn(last)),
            nan,
            scale,
        };
        let agrees = |code: u8| {
            let (found, half) = (plan.half(code), halves[usize::from(code)]);
            // Sums keep nothing of a NaN, nor of a zero's sign.
            found == half || is_nan(found) && is_nan(half)
        };
        (plan.crosses() == crosses && (0..=255).all(agrees)).then_some(plan)
    }

    /// Returns whether the last magnitudes need their table.
    pub(crate) fn has_last(&self) -> bool {
        self.last != [[0; TABLE]; 2]
    }

    /// Returns whether nibbles touch each other's bytes.
    pub(crate) fn crosses(&self) -> bool {
        self.upper_nibble[0] != [0; TABLE] || self.lower_nibble[1] != [0; TABLE]
    }

    /// Which entry of the table of last magnitudes a magnitude has, if below 16.
    pub(crate) fn flip(&self) -> u8 {
        self.magnitude & 0xf0
    }

    /// What the vector kernel computes for one code.
    fn half(&self, code: u8) -> u16 {
        let magnitude = usize::from(code & self.magnitude);
        let upper = usize::from(code >> 4);
        let mut half = entry(&self.lower_nibble, magnitude % TABLE) ^ entry(&self.upper_nibble, upper);
        let last = magnitude ^ usize::from(self.flip());
        half ^= if magnitude < TABLE { entry(&self.first, magnitude) } else { 0 };
        half ^= if last < TABLE { entry(&self.last, last) } else { 0 };
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

/// Elements of a step in the order of its fused operations: even and odd ones of each eight, twice.
pub(crate) type Sixteen = [[f32; 8]; 4];

/// A vector's elements in steps.
pub(crate) struct Interleaved {
    pub(crate) steps: Vec<Sixteen>,
    pub(crate) length: usize,
}

impl Interleaved {
    /// The elements times the plan's power of two; `None` if one of them would overflow.
    pub(crate) fn new(plan: &NibblePlan, vector: &[f32]) -> Option<Self> {
        let mut steps = vec![[[0.0; 8]; 4]; vector.len().div_ceil(STEP)];
        let mut overflows = false;
        for (step, x) in steps.iter_mut().zip(vector.chunks(STEP)) {
            let mut sixteen = [0.0; STEP];
            sixteen[..x.len()].copy_from_slice(x);
            for (i, x) in sixteen.iter().enumerate() {
                let scaled = x * plan.scale;
                overflows |= scaled.is_infinite() != x.is_infinite();
                let eight = &mut step[i / 8 * 2 + i % 2];
                (eight[i % 8 / 2], eight[i % 8 / 2 + 4]) = (scaled, scaled);
            }
        }
        (!overflows).then_some(Self { steps, length: vector.len() })
    }
}
