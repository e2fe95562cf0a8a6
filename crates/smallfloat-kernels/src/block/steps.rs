//! [`StepTable`]: codes of four bits by comparison with places that the scale of a group gives.

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::block::check_groups;
use crate::element::{Code, check_lengths};
use crate::plan::blocks::{MAGNITUDES, Row};

/// Elements that are compared at once.
const LANES: usize = 16;

/// By codes of scales the bits of the least magnitudes of elements that have at least the codes 1
/// to 7: the code of an element is how many of them its magnitude reaches, with its sign above.
#[derive(Clone, Debug)]
pub struct StepTable {
    rows: Box<[Row; 256]>,
    /// The bit of the codes' sign.
    sign: u32,
}

impl StepTable {
    /// The most codes of magnitudes other than zero.
    pub const MAGNITUDES: usize = MAGNITUDES;

    /// Of codes with the sign at this bit, for scales with the codes 0, 1, …; groups of other
    /// scales are zeros.
    ///
    /// # Panics
    /// If there are more than 256 rows, one is not ascending, or the sign is not bit 1, 2 or 3.
    pub fn new(rows: impl IntoIterator<Item = [f32; MAGNITUDES]>, sign: u32) -> Self {
        assert!((1..4).contains(&sign), "codes have at most four bits and a sign");
        let row = |places: [f32; MAGNITUDES]| Row::new(places.map(|place| place.to_bits().cast_signed()));
        let mut table = Box::new([row([f32::INFINITY; MAGNITUDES]); 256]);
        for (i, places) in rows.into_iter().enumerate() {
            assert!(places.is_sorted(), "the places {places:?} must ascend");
            table[i] = row(places);
        }
        Self { rows: table, sign }
    }

    /// Encodes groups of `length` elements, which follow each other and are finite, by the codes of
    /// their scales.
    ///
    /// # Panics
    /// If the slices' lengths don't belong together.
    pub fn encode<C: Code>(
        &self,
        level: Level,
        length: usize,
        scales: &[u8],
        values: &[f32],
        codes: &mut [C],
    ) {
        check_groups(length, values.len(), scales.len());
        check_lengths((values.len(), "elements"), (codes.len(), "codes"));
        if let (Some(machine), Some(codes)) = (Machine::new(level), C::as_codes_mut(codes).bytes())
            && machine.encode_by_steps((&self.rows, self.sign), length, scales, values, codes).is_some()
        {
            return;
        }
        level.vectorize(
            #[inline(always)]
            || {
                if length == LANES {
                    // Loops of a known length stay in registers.
                    let groups = values.as_chunks::<LANES>().0.iter().zip(codes.as_chunks_mut::<LANES>().0);
                    for ((values, codes), &scale) in groups.zip(scales) {
                        self.encode_group(scale, values, codes);
                    }
                } else {
                    let groups = values.chunks(length).zip(codes.chunks_mut(length));
                    for ((values, codes), &scale) in groups.zip(scales) {
                        self.encode_group(scale, values, codes);
                    }
                }
            },
        );
    }

    /// Encodes the elements of a group, which are finite, by its scale's code.
    #[inline(always)]
    pub fn encode_group<C: Code>(&self, scale: u8, values: &[f32], codes: &mut [C]) {
        let row = &self.rows[usize::from(scale)];
        let (whole, rest) = values.as_chunks::<LANES>();
        let (whole_codes, rest_codes) = codes.as_chunks_mut::<LANES>();
        for (codes, values) in whole_codes.iter_mut().zip(whole) {
            *codes = values.map(|x| self.code(row, x)).map(C::from_code);
        }
        for (code, &x) in rest_codes.iter_mut().zip(rest) {
            *code = C::from_code(self.code(row, x));
        }
    }

    #[inline(always)]
    fn code(&self, row: &Row, x: f32) -> u32 {
        let magnitude = (x.to_bits() & !(1 << 31)).cast_signed();
        let mut code = x.to_bits() >> 31 << self.sign;
        for &least in &row.places[..MAGNITUDES] {
            code += u32::from(magnitude >= least);
        }
        code
    }
}

/// x · over / unit as binary64 has it, rounded to odd in binary32.
///
/// # Panics
/// If the slices differ in length.
pub fn quotients_to_odd(level: Level, over: f64, unit: f64, values: &[f32], quotients: &mut [f32]) {
    check_lengths((values.len(), "elements"), (quotients.len(), "quotients"));
    let done =
        Machine::new(level).and_then(|machine| machine.quotients_to_odd(over, unit, values, quotients));
    if done.is_none() {
        level.vectorize(
            #[inline(always)]
            || {
                for (q, &x) in quotients.iter_mut().zip(values) {
                    *q = to_odd(f64::from(x) * over / unit);
                }
            },
        );
    }
}

/// Returns the number itself if it is an f32; else the one of the f32 around it whose last bit is
/// 1.
#[inline(always)]
pub fn to_odd(x: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "mended below")]
    let near = x as f32;
    let back = f64::from(near);
    let beyond = u32::from(back.abs() > x.abs());
    let inexact = u32::from(back.to_bits() != x.to_bits());
    f32::from_bits((near.to_bits() - beyond) | inexact)
}
