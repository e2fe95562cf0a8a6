//! [`Fp8Remap`]: CFloat8 codes as OCP FP8 codes of the same values.
//!
//! With gradual denormals a CFloat8_1_4_3 code at bias b is the E4M3 code of the same bits times
//! 2^(7−b), but for 0x7F and 0xFF, which are NaN there; CFloat8_1_5_2 is E5M2 times 2^(15−b), but
//! for 0x7C–0x7F and 0xFC–0xFF. With Tesla's denormals that is wrong below the smallest normal
//! value; one binade lower, at 2^(6−b) (2^(14−b)), denormal codes keep their bits and normal codes
//! move up by one exponent, so that the largest magnitudes don't fit. Which of the two scales
//! serves, if any, depends on the codes that occur, so both are tried for each group, code by code.

use smallfloat::formats::{E4M3FN, E5M2};
use smallfloat::{Format, Saturation};

use crate::error::{Error, Result};
use crate::layout::grid::Tile;
use crate::scale::rule::power;

/// How often each code occurs in a group.
pub(crate) type Counts = Box<[u64; 256]>;

/// Tables from the codes of one format at bias 0.
#[derive(Debug)]
pub(crate) struct Fp8Remap {
    pub(crate) to: Format,
    tables: [Table; 2],
}

/// One scale, and for each code the FP8 code nearest to its value divided by it.
#[derive(Debug)]
pub(crate) struct Table {
    exponent: i32,
    codes: Vec<(u16, bool)>,
}

impl Table {
    /// The FP8 code and whether its value is the same.
    pub(crate) fn code(&self, code: u16) -> (u16, bool) {
        self.codes[usize::from(code)]
    }

    /// What a scale is multiplied by to be that of codes at bias 0.
    pub(crate) fn to_bias_zero(&self) -> f64 {
        power(-self.exponent)
    }

    /// The scale at a bias.
    pub(crate) fn scale(&self, bias: i32) -> f64 {
        power(self.exponent - bias)
    }
}

impl Fp8Remap {
    /// The FP8 format for a format's codes.
    pub(crate) fn target(format: &Format) -> Result<Format> {
        match (format.has_free_bias(), format.width(), format.precision()) {
            (true, 8, 4) => Ok(E4M3FN),
            (true, 8, 3) => Ok(E5M2),
            _ => {
                let what = format!(
                    "the container fp8 stores codes of cfloat8_1_4_3 and cfloat8_1_5_2; for {format} choose native or bf16"
                );
                Err(Error::option(what))
            }
        }
    }

    /// Tables for a format at bias 0.
    pub(crate) fn new(format: &Format) -> Result<Self> {
        let to = Self::target(format)?;
        let projection = to.default_projection().with_saturation(Saturation::SatFinite);
        let tables = [to.bias(), to.bias() - 1].map(|exponent| {
            let code = |code| {
                // Eight-bit values times a power of two are exact in f64.
                let value = format.decode_f64(code).value * power(-exponent);
                let new = to.encode_f64(value, &projection).value;
                #[expect(clippy::cast_possible_truncation, reason = "eight bits")]
                (new as u16, to.decode_f64(new).value.to_bits() == value.to_bits())
            };
            Table { exponent, codes: (0..256).map(code).collect() }
        });
        Ok(Self { to, tables })
    }

    /// The upper of the two scales, at which gradual denormals keep their bits, or the lower.
    pub(crate) fn table(&self, lower: bool) -> &Table {
        &self.tables[usize::from(lower)]
    }

    /// Which table changes the fewest elements of a group (is it the lower?), and how many; of
    /// equals the upper.
    pub(crate) fn choose(&self, counts: &Counts) -> (bool, u64) {
        let changed = |table: &Table| {
            counts.iter().zip(&table.codes).filter(|(_, (_, same))| !same).map(|(n, _)| n).sum::<u64>()
        };
        let [upper, lower] = self.tables.each_ref().map(changed);
        if lower < upper { (true, lower) } else { (false, upper) }
    }

    /// Why a group is refused.
    pub(crate) fn refusal(&self, group: &Tile, elements: u64) -> String {
        format!(
            "{elements} elements of the group in block row {}, block column {} have no {} code of the same value \
             at either scale; store them as bf16 or native, or let them be rounded again (`requantize`)",
            group.row, group.column, self.to
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(codes: &[usize]) -> Counts {
        let mut counts = Box::new([0; 256]);
        for &code in codes {
            counts[code] += 1;
        }
        counts
    }

    /// Published facts of both formats: 0x38 is 1 at bias 7 in both; E4M3 ends at 448,
    /// CFloat8_1_4_3 at 480.
    #[test]
    fn codes_keep_their_bits_or_move_up_a_binade() {
        let gradual: Format = "cfloat8_1_4_3:bias=0,subnormals=gradual".parse().unwrap();
        let relabel = Fp8Remap::new(&gradual).unwrap();
        let all: Vec<usize> = (0..256).filter(|code| code & 0x7f != 0x7f).collect();
        let (lower, changed) = relabel.choose(&counts(&all));
        let table = relabel.table(lower);
        assert_eq!(
            (changed, table.scale(7).to_bits(), table.scale(10).to_bits()),
            (0, 1f64.to_bits(), 0.125_f64.to_bits())
        );
        assert!((0..256_u16).filter(|code| code & 0x7f != 0x7f).all(|code| table.code(code) == (code, true)));
        assert_eq!(relabel.choose(&counts(&[0x7f])).1, 1);

        let tesla: Format = "cfloat8_1_4_3:bias=0".parse().unwrap();
        let relabel = Fp8Remap::new(&tesla).unwrap();
        // 0x01 is half of what it is with gradual denormals, so that the lower scale serves.
        let (lower, changed) = relabel.choose(&counts(&[0x01, 0x07, 0x08, 0x76, 0x80, 0xf6]));
        let table = relabel.table(lower);
        assert_eq!((changed, table.scale(7).to_bits()), (0, 0.5_f64.to_bits()));
        let codes: Vec<u16> = [0x01, 0x07, 0x08, 0x76, 0x80, 0xf6].map(|code| table.code(code).0).into();
        assert_eq!(codes, [0x01, 0x07, 0x10, 0x7e, 0x80, 0xfe]);
        // The largest codes need the upper scale, odd denormals the lower one.
        assert_eq!(relabel.choose(&counts(&[0x77, 0x08])).1, 0);
        assert_eq!(relabel.choose(&counts(&[0x02, 0x7e])).1, 0);
        assert_eq!(relabel.choose(&counts(&[0x01, 0x77])).1, 1);
    }

    #[test]
    fn other_formats_have_no_fp8_twin() {
        for name in ["shp:bias=15", "e4m3fn", "uhp", "e2m1fn"] {
            assert!(
                Fp8Remap::target(&name.parse().unwrap()).unwrap_err().to_string().contains("choose native")
            );
        }
    }
}
