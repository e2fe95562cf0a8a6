//! The slope of the loss along a bias, straight through the rounding.

use rayon::prelude::*;

/// Elements that are summed at once: what no number of threads changes.
const PIECE: usize = 1 << 14;

/// The derivative of the loss by the bias of a tensor, in units of ln 2: −Σ g·∂x̂, where g is the
/// loss's derivative by the rounded value x̂, and ∂x̂ is what x̂ = s·Q(x / s) changes by with log2
/// s = −bias if Q counts as the identity where it rounds and as a constant where it clamps: x̂ − x
/// for a magnitude up to `largest`, x̂ above it. (Jain et al., "Trained Quantization Thresholds",
/// arXiv 1903.08066, section 3.)
///
/// The sum is the same on any number of threads.
pub(crate) fn slope(values: &[f32], rounded: &[f32], gradient: &[f32], largest: f32) -> f64 {
    let pieces = values.par_chunks(PIECE).zip(rounded.par_chunks(PIECE)).zip(gradient.par_chunks(PIECE));
    let sums: Vec<f64> = pieces
        .map(|((values, rounded), gradient)| {
            let terms = values.iter().zip(rounded).zip(gradient).map(|((x, rounded), g)| {
                let inside = if x.abs() <= largest { *x } else { 0.0 };
                f64::from(*g) * (f64::from(*rounded) - f64::from(inside))
            });
            terms.sum()
        })
        .collect();
    -sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a loss ½ Σ (x̂ − t)², whose derivative by x̂ is x̂ − t.
    fn of_squares(values: &[f32], rounded: &[f32], targets: &[f32], largest: f32) -> f64 {
        let gradient: Vec<f32> = rounded.iter().zip(targets).map(|(x, t)| x - t).collect();
        slope(values, rounded, &gradient, largest)
    }

    #[test]
    fn clamped_values_ask_for_a_smaller_bias_and_lost_ones_for_a_larger() {
        // Clamped to 2, wanted 5 and −3: twice too small, so the loss rises with the bias: (2 −
        // 5)·2 + (−2 + 3)·(−2) = −8.
        assert!(of_squares(&[5.0, -3.0], &[2.0, -2.0], &[5.0, -3.0], 2.0).to_bits() == 8.0_f64.to_bits());
        // Lost to zero, wanted as they were: Σ (0 − x)·(0 − x) = 0.3125, and the loss falls with
        // the bias.
        let lost = of_squares(&[0.5, -0.25], &[0.0, 0.0], &[0.5, -0.25], 2.0);
        assert!(lost.to_bits() == (-0.3125_f64).to_bits());
        // Nothing rounded, nothing to learn.
        assert!(of_squares(&[0.5, 1.0], &[0.5, 1.0], &[7.0, 7.0], 2.0).abs().to_bits() == 0);
    }

    #[test]
    fn pieces_change_nothing() {
        let values: Vec<f32> = (0_u16..40_000).map(|i| f32::from(i % 4096) / 1024.0).collect();
        let rounded: Vec<f32> = values.iter().map(|x| x.round()).collect();
        let gradient: Vec<f32> = (0_u16..40_000).map(|i| f32::from(i % 7) - 3.0).collect();
        // Quarters of 1024ths times small integers: every partial sum is exact.
        let expected: f64 =
            (0..40_000).map(|i| f64::from(gradient[i]) * f64::from(values[i] - rounded[i])).sum();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| slope(&values, &rounded, &gradient, 8.0));
            assert_eq!(found.to_bits(), expected.to_bits());
        }
    }
}
