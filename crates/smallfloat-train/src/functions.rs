//! The exponential and what is made of it, in plain additions and multiplications of binary32.
//!
//! They vectorize, and they are the same on every machine, which a system's `expf` is not. Training
//! needs no correct rounding here: results are within 3 units of the last place, as a test shows.

/// e^x; 0 below −87, and the value at 88 above it.
#[inline]
pub(crate) fn exp(x: f32) -> f32 {
    // Adding 1.5 · 2^23 leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has few bits, so that its products with small integers are
    // exact.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    let clamped = x.clamp(-87.0, 88.0);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (clamped - n * HIGH) - n * LOW;
    // Taylor's polynomial: |r| ≤ 0.35, so the first term left out is below 2^−24.
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if x < -87.0 { 0.0 } else { p * power }
}

/// 2·√(2/π).
const DOUBLE_ROOT: f32 = 1.595_769_2;

/// The Gaussian error linear unit by its tanh form (Hendrycks and Gimpel, arXiv 1606.08415, section
/// 2): x/2 · (1 + tanh u) = x / (1 + e^−2u) with u = √(2/π)·(x + 0.044715·x³).
#[inline]
pub(crate) fn gelu(x: f32) -> f32 {
    x / (1.0 + exp(-inner(x)))
}

/// 2u.
#[inline]
fn inner(x: f32) -> f32 {
    DOUBLE_ROOT * (x + 0.044_715 * x * x * x)
}

/// The derivative of [`gelu`].
#[inline]
pub(crate) fn gelu_slope(x: f32) -> f32 {
    let s = 1.0 / (1.0 + exp(-inner(x)));
    s + x * s * (1.0 - s) * DOUBLE_ROOT * (1.0 + 3.0 * 0.044_715 * x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_to_the_exponential() {
        for i in -8_700..=8_800_i16 {
            let x = f32::from(i) / 100.0;
            let (ours, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / exact - 1.0).abs() < 3.0 / 8_388_608.0, "e^{x} = {exact}, got {ours}");
        }
        assert_eq!(exp(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(exp(0.0).to_bits(), 1.0_f32.to_bits());
    }

    #[test]
    fn gelu_and_its_slope() {
        for i in -800..=800_i16 {
            let (x, narrow) = (f64::from(i) / 100.0, f32::from(i) / 100.0);
            let whole = |x: f64| {
                let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
                x / 2.0 * (1.0 + u.tanh())
            };
            assert!((f64::from(gelu(narrow)) - whole(x)).abs() < 2e-6, "{x}");
            let slope = (whole(x + 1e-5) - whole(x - 1e-5)) / 2e-5;
            assert!((f64::from(gelu_slope(narrow)) - slope).abs() < 1e-5, "{x}");
        }
    }
}
