//! Which formats have all values of another.

use crate::cast::signed;
use crate::format::{Format, Subnormals};

impl Format {
    /// Returns whether all finite values of this format, signed zero included, are exact in
    /// `wider`.
    ///
    /// ```
    /// use smallfloat::{Format, formats};
    /// let shp = Format::shp(15)?;
    /// assert!(shp.fits_in(&formats::BINARY32) && !shp.fits_in(&formats::BFLOAT16));
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub const fn fits_in(&self, wider: &Self) -> bool {
        let range = (!self.signed || wider.signed) && (!self.has_zero() || wider.has_zero());
        let zero = !self.has_negative_zero() || wider.has_negative_zero();
        // The hole of Tesla's denormals and binades at field 0 are odd grids: compare such formats
        // binade by binade.
        let even_grid = matches!(wider.subnormals, Subnormals::Gradual);
        if !range || !zero || !even_grid {
            return range && zero && self.fits_by_binade(wider);
        }
        let (_, top) = self.exponent_range();
        let (wide_lowest, wide_top) = wider.exponent_range();
        let max = self.max_finite();
        let fits_above = top < wide_top || (top == wide_top && !wider.max_finite().is_less_than(&max));
        // The smallest steps: that of the lowest binade, and that of the subnormals.
        let wide_step = wide_lowest - signed(wider.trailing_bits());
        let (_, step) = match self.max_subnormal() {
            Some(_) => self.magnitude(1),
            None => self.magnitude(self.first_normal_index()),
        };
        self.precision <= wider.precision && fits_above && step >= wide_step
            || fits_above && self.fits_by_binade(wider)
    }

    /// Decides where no formula does. In one binade the values of either format are equally spaced,
    /// so the lowest two and the highest of this one tell for all between.
    const fn fits_by_binade(&self, wider: &Self) -> bool {
        let (normal, last) = (1 << self.trailing_bits(), self.max_index());
        let mut low = 0;
        while low <= last {
            let above = match low {
                0 => 1,
                subnormal if subnormal < normal => 2 * low,
                _ => low + normal,
            };
            let high = if above > last { last } else { above - 1 };
            let second = if low < high { low + 1 } else { high };
            let has_all = wider.encode(self.decode(low)).is_some()
                && wider.encode(self.decode(second)).is_some()
                && wider.encode(self.decode(high)).is_some();
            if !has_all {
                return false;
            }
            low = above;
        }
        true
    }
}
