//! [`ErrorSums`]: how far a quantized slice is from its source.

use crate::{Element, parallel};

/// Sums of squares of values and of errors, for signal-to-noise ratios.
///
/// Elements where either side is not finite count in `not_finite` and nowhere else. Sums run over blocks of 65,536
/// elements, each in order, and the blocks add up in order: the number of threads changes nothing.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct ErrorSums {
    /// Finite pairs.
    pub elements: u64,
    /// Pairs left out because one side is NaN or infinite.
    pub not_finite: u64,
    /// Σ x².
    pub signal: f64,
    /// Σ (x − q)².
    pub noise: f64,
    /// max |x|.
    pub amax: f64,
    /// max |x − q|.
    pub max_error: f64,
}

/// Elements a sum runs over before it joins the others. Callers that stream keep to multiples of it.
const BLOCK: usize = 1 << 16;

impl ErrorSums {
    /// Elements of a block: slices of multiples of it, added up in order, give the same bits as one slice.
    pub const BLOCK: usize = BLOCK;

    /// Compares a slice with its quantized values.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn of<T: Element, U: Element>(x: &[T], quantized: &[U]) -> Self {
        assert_eq!(x.len(), quantized.len(), "both slices must have the same length");
        parallel::map_blocks(BLOCK, x, |start, x| Self::of_block(x, &quantized[start..start + x.len()]))
            .into_iter()
            .fold(Self::default(), Self::then)
    }

    fn of_block<T: Element, U: Element>(x: &[T], quantized: &[U]) -> Self {
        let mut sums = Self::default();
        for (x, q) in x.iter().zip(quantized) {
            let (x, q) = (x.to_f64(), q.to_f64());
            let error = x - q;
            let finite = x.is_finite() && q.is_finite();
            let (x, error) = if finite { (x, error) } else { (0.0, 0.0) };
            sums.elements += u64::from(finite);
            sums.not_finite += u64::from(!finite);
            sums.signal += x * x;
            sums.noise += error * error;
            sums.amax = sums.amax.max(x.abs());
            sums.max_error = sums.max_error.max(error.abs());
        }
        sums
    }

    /// These sums followed by those of the elements after.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self {
            elements: self.elements + next.elements,
            not_finite: self.not_finite + next.not_finite,
            signal: self.signal + next.signal,
            noise: self.noise + next.noise,
            amax: self.amax.max(next.amax),
            max_error: self.max_error.max(next.max_error),
        }
    }

    /// 10·log10(Σx² / Σ(x − q)²) in dB, or `None` if there is no error.
    pub fn sqnr_db(&self) -> Option<f64> {
        (self.noise > 0.0).then(|| 10.0 * (self.signal / self.noise).log10())
    }
}
