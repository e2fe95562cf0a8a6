//! Data of every class: speed must not depend on it.

/// A linear congruential generator's upper half: random enough for branch predictors.
pub fn scramble(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 32) as u32
}

/// Sums of uniforms: normal enough, scaled so that an 8-bit format at bias 7 sees most of its
/// binades.
pub fn normal(state: &mut u64) -> f32 {
    (0..12).map(|_| scramble(state) as f32 / u32::MAX as f32 - 0.5).sum::<f32>() * 0.1
}

/// The classes.
pub const CLASSES: [&str; 8] =
    ["normal", "1 % subnormal", "subnormal", "1 % NaN", "half NaN", "ties", "zeros", "saturating"];

/// `length` values of a class.
pub fn class(name: &str, length: usize) -> Vec<f32> {
    let mut state = 1;
    let value = |state: &mut u64| {
        let word = scramble(state);
        let subnormal = f32::from_bits(word >> 9 | 1);
        match name {
            "1 % subnormal" if word.is_multiple_of(100) => subnormal,
            "subnormal" => subnormal,
            "1 % NaN" if word.is_multiple_of(100) => f32::NAN,
            "half NaN" if word & 1 << 20 != 0 => f32::NAN,
            "ties" => f32::from_bits(0x3f80_0000 | (word & 0x0078_0000) | 0x0008_0000),
            "zeros" => 0.0,
            "saturating" => normal(state) * 1e6,
            _ => normal(state),
        }
    };
    // Normal numbers are slow to make; a period of 2^20 is beyond what predictors learn.
    let period: Vec<f32> = (0..length.min(1 << 20)).map(|_| value(&mut state)).collect();
    period.into_iter().cycle().take(length).collect()
}

/// Random codes.
pub fn codes(length: usize) -> Vec<u8> {
    let mut state = 2;
    (0..length).map(|_| (scramble(&mut state) >> 24) as u8).collect()
}
