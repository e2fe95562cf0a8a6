//! [`ErrorSums`]: how far a quantized slice is from its source.

use crate::arch::level::Level;
use crate::element::{Element, check_lengths};
use crate::parallel;

/// Sums of squares of values and of errors, for signal-to-noise ratios.
///
/// Elements where either side is not finite count in `not_finite` and nowhere else. Sums run over
/// blocks of 16,384 elements, and the blocks add up in order. Within a block every eighth element
/// goes to the same of eight sums, each in order, and these add up in order. So neither the level
/// nor the number of threads changes a bit.
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

/// Elements a sum runs over before it joins the others: few enough for a core's own cache, so that
/// what decoded them need not have gone further. Callers that stream keep to multiples of it.
const BLOCK: usize = 1 << 14;

/// Sums that run side by side: none waits for another, so that compilers make vectors of them.
const LANES: usize = 8;

#[derive(Default)]
struct Lanes {
    not_finite: [u64; LANES],
    signal: [f64; LANES],
    noise: [f64; LANES],
    amax: [f64; LANES],
    max_error: [f64; LANES],
}

impl Lanes {
    #[inline(always)]
    fn add<T: Element, U: Element>(&mut self, x: &[T; LANES], q: &[U; LANES]) {
        for lane in 0..LANES {
            let (x, q) = (x[lane].to_f64(), q[lane].to_f64());
            // Bitwise, since lanes take no branches.
            let finite = (x.abs() < f64::INFINITY) & (q.abs() < f64::INFINITY);
            let error = if finite { x - q } else { 0.0 };
            let x = if finite { x } else { 0.0 };
            self.not_finite[lane] += u64::from(!finite);
            self.signal[lane] += x * x;
            self.noise[lane] += error * error;
            self.amax[lane] = larger(self.amax[lane], x.abs());
            self.max_error[lane] = larger(self.max_error[lane], error.abs());
        }
    }

    /// The last elements, fewer than lanes. Zeros change no sum.
    fn add_rest<T: Element, U: Element>(&mut self, x: &[T], q: &[U]) {
        let (mut last_x, mut last_q) = ([T::default(); LANES], [U::default(); LANES]);
        last_x[..x.len()].copy_from_slice(x);
        last_q[..q.len()].copy_from_slice(q);
        self.add(&last_x, &last_q);
    }

    fn total(&self, elements: usize) -> ErrorSums {
        let not_finite = self.not_finite.iter().sum();
        ErrorSums {
            elements: elements as u64 - not_finite,
            not_finite,
            signal: self.signal.iter().sum(),
            noise: self.noise.iter().sum(),
            amax: self.amax.into_iter().fold(0.0, larger),
            max_error: self.max_error.into_iter().fold(0.0, larger),
        }
    }
}

/// The sums of a block whose quantized values are products with the scales of groups, where all
/// numbers are finite: the bits are those of [`ErrorSums::of`].
#[derive(Default, Debug)]
pub struct ScaledErrors {
    signal: [f64; LANES],
    noise: [f64; LANES],
    amax: [f64; LANES],
    max_error: [f64; LANES],
    elements: u64,
}

impl ScaledErrors {
    /// Adds the next elements of the block, as many as a multiple of eight, with what their
    /// quantized values are before they are multiplied by a scale. Inlined, so that a caller's
    /// instructions are used.
    ///
    /// # Panics
    /// If the slices differ in length, or have no whole lanes.
    #[inline(always)]
    pub fn add<T: Element>(&mut self, x: &[T], values: &[f32], scale: f64) {
        let ((x, x_rest), (values, rest)) = (x.as_chunks::<LANES>(), values.as_chunks::<LANES>());
        assert!(x_rest.is_empty() && rest.is_empty() && x.len() == values.len(), "whole lanes of pairs");
        for (x, values) in x.iter().zip(values) {
            for lane in 0..LANES {
                let x = x[lane].to_f64();
                let error = x - f64::from(values[lane]) * scale;
                self.signal[lane] += x * x;
                self.noise[lane] += error * error;
                self.amax[lane] = larger(self.amax[lane], x.abs());
                self.max_error[lane] = larger(self.max_error[lane], error.abs());
            }
        }
        self.elements += x.as_flattened().len() as u64;
    }

    /// Returns the sums; `None` if they are not finite, which those of numbers that are not finite
    /// never are.
    pub fn total(&self) -> Option<ErrorSums> {
        let (signal, noise): (f64, f64) = (self.signal.iter().sum(), self.noise.iter().sum());
        (signal.is_finite() && noise.is_finite()).then(|| ErrorSums {
            elements: self.elements,
            not_finite: 0,
            signal,
            noise,
            amax: self.amax.into_iter().fold(0.0, larger),
            max_error: self.max_error.into_iter().fold(0.0, larger),
        })
    }
}

/// Of two numbers, one instruction.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

impl ErrorSums {
    /// Elements of a block: slices of multiples of it, added up in order, give the same bits as one
    /// slice.
    pub const BLOCK: usize = BLOCK;

    /// Compares a slice with its quantized values.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn of<T: Element, U: Element>(x: &[T], quantized: &[U]) -> Self {
        check_lengths((x.len(), "elements"), (quantized.len(), "quantized ones"));
        parallel::map_blocks(BLOCK, x, |start, x| Self::of_block(x, &quantized[start..start + x.len()]))
            .into_iter()
            .fold(Self::default(), Self::then)
    }

    fn of_block<T: Element, U: Element>(x: &[T], quantized: &[U]) -> Self {
        Level::detected().vectorize(
            #[inline(always)]
            || Self::in_lanes(x, quantized),
        )
    }

    /// The sums of a block. Inlined, so that a caller's instructions are used.
    #[inline(always)]
    pub(crate) fn in_lanes<T: Element, U: Element>(x: &[T], quantized: &[U]) -> Self {
        let mut lanes = Lanes::default();
        let ((x, x_rest), (q, q_rest)) = (x.as_chunks::<LANES>(), quantized.as_chunks::<LANES>());
        for (x, q) in x.iter().zip(q) {
            lanes.add(x, q);
        }
        lanes.add_rest(x_rest, q_rest);
        lanes.total(x.as_flattened().len() + x_rest.len())
    }

    /// Returns these sums followed by those of the elements after.
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

    /// Returns 10·log10(Σx² / Σ(x − q)²) in dB, or `None` if there is no error.
    pub fn sqnr_db(&self) -> Option<f64> {
        (self.noise > 0.0).then(|| 10.0 * (self.signal / self.noise).log10())
    }
}
