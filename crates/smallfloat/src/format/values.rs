//! All codes of a format, and all its values.

use core::ops::RangeInclusive;

use crate::format::Format;
use crate::format::datum::Datum;

impl Format {
    /// Returns all codes: 0 to 2^K − 1.
    ///
    /// ```
    /// let format: smallfloat::Format = "e4m3fn".parse()?;
    /// let nans = format.codes().filter(|&code| format.decode(code).is_nan()).count();
    /// assert_eq!(nans, 2);
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn codes(&self) -> RangeInclusive<u64> {
        0..=self.max_code()
    }

    /// Returns the finite values from the smallest to the largest, each once:
    /// [`finite_values`](Self::finite_values) of them. A signed zero counts as 0.
    ///
    /// ```
    /// use smallfloat::formats::E2M1FN;
    ///
    /// let values: Vec<f32> = E2M1FN.values().filter_map(|value| value.to_f32()).collect();
    /// assert_eq!(values, [-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
    /// ```
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Datum> + Clone + use<> {
        let format = *self;
        // Codes of one sign are in the order of their magnitudes.
        let last = if self.is_signed() { self.max_code() >> 1 } else { self.max_code() };
        let negative = (last..self.max_code()).rev().map(|code| code + 1);
        let negative = negative.map(move |code| format.decode(code));
        // Zero is the first code of a format that has it; flushed codes are zeros too.
        let positive = (0..=last).map(move |code| (code == 0, format.decode(code)));
        negative.filter(|value| value.is_finite() && !value.is_zero()).chain(positive.filter_map(
            |(is_first, value)| (value.is_finite() && (is_first || !value.is_zero())).then_some(value),
        ))
    }
}
