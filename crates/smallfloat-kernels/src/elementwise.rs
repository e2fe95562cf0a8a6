//! [`Elementwise`]: operations on codes, element by element, with the codes and flags of the core.
//!
//! Two codes of at most 8 bits make 65,536 pairs, so every operation with two operands is a table that the core fills: any
//! formats, mixed or not, any rounding, either semantics, exact by construction. On AVX2 nothing is faster that also tells
//! its flags. Fused multiply-add has too many triples for a table: where x·y + z is exact in binary64, which the formats'
//! ranges prove, it is computed there and encoded; elsewhere the core does it.

use std::sync::OnceLock;

use smallfloat::ops::{Arithmetic, Operand, Operation};
use smallfloat::{Datum, Flags, Format, Projection, Rounded, Rounding};

use crate::{Decoder, Encoder, Error, parallel};

/// An operation on codes of at most 8 bits.
#[derive(Clone, Debug)]
pub struct Elementwise {
    operation: Operation,
    operands: Vec<Format>,
    to: Format,
    how: Projection,
    arithmetic: Arithmetic,
    /// Code in the low byte, flags above, for each pair of codes; filled when first needed.
    pairs: OnceLock<Vec<u16>>,
    wide: Option<Box<Wide>>,
}

/// Fused multiply-add by way of binary64.
#[derive(Clone, Debug)]
struct Wide {
    decoders: [Decoder<f64>; 3],
    encoder: Encoder<f64>,
    /// For each operand and code: is it subnormal?
    denormal: [[bool; 256]; 3],
}

/// Elements that binary64 takes at once.
const PIECE: usize = 255;

impl Elementwise {
    /// An operation with one, two or three operands of these formats. Nothing is computed yet.
    ///
    /// # Errors
    /// A format of more than 8 bits, another number of formats than the operation has operands, or a stochastic rounding.
    pub fn new(
        operation: Operation,
        operands: &[Format],
        to: &Format,
        how: &Projection,
        arithmetic: Arithmetic,
    ) -> Result<Self, Error> {
        if let Some(format) = operands.iter().chain([to]).find(|format| format.width() > 8) {
            return Err(Error::WiderThanByte { format: *format });
        }
        if operands.len() != operation.arity() {
            return Err(Error::Operands {
                operation: operation.name(),
                needed: operation.arity(),
                given: operands.len(),
            });
        }
        if how.rounding.is_stochastic() {
            return Err(Error::NoRandomWords { mode: how.rounding.name() });
        }
        let mut elementwise = Self {
            operation,
            operands: operands.to_vec(),
            to: *to,
            how: *how,
            arithmetic,
            pairs: OnceLock::new(),
            wide: None,
        };
        elementwise.wide = Wide::new(&elementwise)?.map(Box::new);
        Ok(elementwise)
    }

    /// Applies the operation to each element and gives all flags that were raised. Bits above a format's width are
    /// ignored.
    ///
    /// # Panics
    /// If there are not as many slices as the operation has operands, or if they differ in length.
    pub fn apply(&self, operands: &[&[u8]], codes: &mut [u8]) -> Flags {
        assert_eq!(operands.len(), self.operands.len(), "one slice for each operand");
        assert!(operands.iter().all(|x| x.len() == codes.len()), "slices must have the same length");
        match *operands {
            [x] => self.by_pairs(x, x, codes),
            [x, y] => self.by_pairs(x, y, codes),
            [x, y, z] => match &self.wide {
                Some(wide) => self.by_wide(wide, [x, y, z], codes),
                None => self.by_core([x, y, z], codes),
            },
            _ => Flags::NONE,
        }
    }

    /// The core's answer for one element.
    fn element(&self, codes: &[u8]) -> Rounded<u64> {
        let operand = |i: usize| {
            let i = i.min(codes.len() - 1);
            Operand::new(u64::from(codes[i]), &self.operands[i])
        };
        let operands = [operand(0), operand(1), operand(2)];
        self.operation.evaluate(&operands[..codes.len()], &self.to, &self.how, self.arithmetic)
    }

    fn by_pairs(&self, x: &[u8], y: &[u8], codes: &mut [u8]) -> Flags {
        let table = self.pairs.get_or_init(|| {
            let entry = |pair: u16| {
                let [x, y] = pair.to_be_bytes();
                let Rounded { value, flags } = self.element(&[x, y][..self.operands.len().min(2)]);
                // Codes have at most 8 bits.
                u16::from(value.to_le_bytes()[0]) | u16::from(flags.bits()) << 8
            };
            (0..=u16::MAX).map(entry).collect()
        });
        parallel::flags(codes, |start, codes| {
            let (x, y) = (&x[start..start + codes.len()], &y[start..start + codes.len()]);
            let mut seen = 0;
            for ((x, y), code) in x.iter().zip(y).zip(codes) {
                let entry = table[usize::from(u16::from_be_bytes([*x, *y]))];
                let [low, _] = entry.to_le_bytes();
                seen |= entry;
                *code = low;
            }
            let [_, flags] = seen.to_le_bytes();
            Flags::from_bits_truncate(flags)
        })
    }

    fn by_core(&self, [x, y, z]: [&[u8]; 3], codes: &mut [u8]) -> Flags {
        parallel::flags(codes, |start, codes| {
            let mut seen = Flags::NONE;
            for (i, code) in (start..).zip(codes) {
                let Rounded { value, flags } = self.element(&[x[i], y[i], z[i]]);
                seen |= flags;
                *code = value.to_le_bytes()[0];
            }
            seen
        })
    }

    fn by_wide(&self, wide: &Wide, [x, y, z]: [&[u8]; 3], codes: &mut [u8]) -> Flags {
        parallel::flags(codes, |start, codes| {
            let (mut seen, mut sums) = (Flags::NONE, [0.0; PIECE]);
            let [decode_x, decode_y, decode_z] = &wide.decoders;
            for (piece, codes) in codes.chunks_mut(PIECE).enumerate() {
                let start = start + piece * PIECE;
                let sums = &mut sums[..codes.len()];
                let (mut denormal, mut nan) = (false, false);
                for (i, sum) in (start..).zip(sums.iter_mut()) {
                    let [x, y, z] = [x[i], y[i], z[i]].map(usize::from);
                    // Exact: the plan has proved it.
                    *sum = decode_x.value(x) * decode_y.value(y) + decode_z.value(z);
                    nan |= sum.is_nan();
                    denormal |= wide.denormal[0][x] | wide.denormal[1][y] | wide.denormal[2][z];
                }
                seen |= wide.encoder.encode(sums, codes).flags;
                if denormal {
                    seen |= Flags::DENORMAL;
                }
                if nan {
                    // Which sign a NaN has is the core's business.
                    for ((i, sum), code) in (start..).zip(sums).zip(codes) {
                        if sum.is_nan() {
                            *code = self.element(&[x[i], y[i], z[i]]).value.to_le_bytes()[0];
                        }
                    }
                }
            }
            seen
        })
    }
}

impl Wide {
    /// The way through binary64, if all products and sums of these formats are exact there.
    fn new(e: &Elementwise) -> Result<Option<Self>, Error> {
        let Operation::Fma = e.operation else { return Ok(None) };
        let [x, y, z] = [e.operands[0], e.operands[1], e.operands[2]];
        let plain = e.arithmetic.scale == 0 && !e.arithmetic.operand_clamp;
        // The zero of opposite terms is −0 in this mode only.
        if !plain || e.how.rounding == Rounding::TowardNegative || !sum_is_exact(&x, &y, &z) {
            return Ok(None);
        }
        let how = match e.arithmetic.semantics {
            smallfloat::ops::Semantics::P3109 => e.how.with_negative_zero(smallfloat::NegativeZero::Positive),
            smallfloat::ops::Semantics::Ieee => e.how,
        };
        let denormals = |format: &Format| {
            std::array::from_fn(|code| {
                let code = code as u64 & format.max_code();
                format.classify(code) == smallfloat::Class::Subnormal
            })
        };
        Ok(Some(Self {
            decoders: [Decoder::new(&x, None)?, Decoder::new(&y, None)?, Decoder::new(&z, None)?],
            encoder: Encoder::new(&e.to, &how)?,
            denormal: [denormals(&x), denormals(&y), denormals(&z)],
        }))
    }
}

/// Exponents of a format's last place and of what exceeds all its values.
fn span(format: &Format) -> (i32, i32) {
    let exponent = |x: Datum| x.exponent_of_leading_bit();
    let trailing = format.trailing_bits().cast_signed();
    let (lowest, _) = format.exponent_range();
    // One place more holds Tesla's denormals, which lie half as far apart.
    ((lowest - trailing - 1).min(exponent(format.min_positive())), exponent(format.max_finite()) + 1)
}

/// Is every x·y + z a multiple of one power of two with at most 53 bits, far from binary64's ends?
fn sum_is_exact(x: &Format, y: &Format, z: &Format) -> bool {
    let ((x_low, x_high), (y_low, y_high), (z_low, z_high)) = (span(x), span(y), span(z));
    let (low, high) = ((x_low + y_low).min(z_low), (x_high + y_high).max(z_high) + 1);
    high - low <= 53 && low >= -1022 && high <= 1023
}
