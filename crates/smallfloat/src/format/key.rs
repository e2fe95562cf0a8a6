//! A format as a number, which can be a parameter of a type.

use crate::format::{Family, Format, Parameters, Signedness, Specials, Subnormals, formats};

/// Where the fields of a key begin.
const PRECISION: u32 = 8;
const BIAS: u32 = 16;
const SIGNED: u32 = 48;
const SPECIALS: u32 = 49;
const SUBNORMALS: u32 = 52;
const FAMILY: u32 = 54;

/// Bits of a field of a key.
const fn field(key: u64, at: u32, width: u32) -> u64 {
    key >> at & ((1 << width) - 1)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "fields have at most 32 bits, and a bias keeps all of them"
)]
impl Format {
    /// Returns the format as a number: the parameter of [`Custom8`](crate::Custom8) and
    /// [`Custom16`](crate::Custom16), which [`define_format!`](crate::define_format) fills in.
    /// Formats that are equal have equal keys. A key belongs to one version of this crate; store a
    /// format's name instead.
    pub const fn key(&self) -> u64 {
        self.width as u64
            | (self.precision as u64) << PRECISION
            | (self.bias as u32 as u64) << BIAS
            | (self.signed as u64) << SIGNED
            | (self.specials as u64) << SPECIALS
            | (self.subnormals as u64) << SUBNORMALS
            | (self.family as u64) << FAMILY
    }

    /// The format of a key, if it can have a type whose codes have `bits` bits.
    ///
    /// # Panics
    /// If it can't: the type does not compile.
    pub(crate) const fn from_key(key: u64, bits: u32) -> Self {
        let signedness = if field(key, SIGNED, 1) == 1 { Signedness::Signed } else { Signedness::Unsigned };
        let parameters = Parameters {
            width: field(key, 0, 8) as u32,
            precision: field(key, PRECISION, 8) as u32,
            bias: field(key, BIAS, 32) as u32 as i32,
            signedness,
            specials: Specials::NAMED[field(key, SPECIALS, 3) as usize].1,
            subnormals: Subnormals::NAMED[field(key, SUBNORMALS, 2) as usize].1,
        };
        assert!(parameters.width >= 2, "KEY is no format's key: use define_format!");
        let Ok(format) = Self::checked(Family::ALL[field(key, FAMILY, 3) as usize], parameters) else {
            panic!("KEY is no format's key: use define_format!")
        };
        assert!(format.key() == key, "KEY is no format's key: use define_format!");
        format.check_custom(bits);
        format
    }

    /// Panics unless the format can have a type whose codes have `bits` bits.
    const fn check_custom(&self, bits: u32) {
        assert!(self.width() <= bits, "the format's codes are wider than the type's integer");
        let in_range = self.fits_in(&formats::BINARY32) && self.exponent_range().0 >= -127;
        assert!(in_range, "a typed format's values must be exact in f32, its normal ones at least 2^-127");
    }
}

/// Returns the key of a format that [`define_format!`](crate::define_format) names.
#[doc(hidden)]
pub const fn key_of(format: Result<Format, crate::Error>, bits: u32) -> u64 {
    match format {
        Ok(format) => {
            format.check_custom(bits);
            format.key()
        }
        Err(_) => panic!("there is no such format: a parameter is outside its range"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::formats::CATALOGUE;

    #[test]
    fn keys_come_back() {
        let custom = ["minifloat:k=7,p=3,bias=-5,signed=false", "cfloat8_1_5_2:bias=63", "binary12p6uf"];
        let formats = custom.into_iter().map(|name| name.parse().expect("a format"));
        for format in CATALOGUE.iter().map(|row| row.format).chain(formats).filter(|f| f.width() <= 16) {
            assert_eq!(Format::from_key(format.key(), 16), format, "{format}");
        }
    }
}
