//! Round trips and symmetries over every code, every bias and both readings of the denormals.
//!
//! Values come from the formulas of Tesla's paper by the integer arithmetic of this file.

use std::time::Instant;

use smallfloat::formats::{BFLOAT16, BINARY32, UHP};
use smallfloat::{Flags, Format, Projection, RandomBits, Rounding, Subnormals, convert};
use smallfloat_proof::tell;

struct Layout {
    exponent_bits: u32,
    mantissa_bits: u32,
    make: fn(i32) -> Format,
}

impl Layout {
    fn sign(&self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// Format and whether its denormals are the paper's: 64 biases, both readings.
    fn all(&self) -> impl Iterator<Item = (Format, u32, bool)> {
        (0..64_u32).flat_map(|bias| {
            let paper = (self.make)(bias.cast_signed());
            assert_eq!(paper.subnormals(), Subnormals::Tesla);
            let gradual = paper.with_subnormals(Subnormals::Gradual).expect("a Tesla format");
            [(paper, bias, true), (gradual, bias, false)]
        })
    }

    /// Magnitude of a code without its sign at bias 0, in units of the paper's smallest denormal,
    /// 2^−M.
    fn units(&self, magnitude: u64, paper: bool) -> i128 {
        let mantissa = i128::from(magnitude) & ((1 << self.mantissa_bits) - 1);
        match magnitude >> self.mantissa_bits {
            0 if paper => mantissa,
            0 => 2 * mantissa,
            e => ((1 << self.mantissa_bits) + mantissa) << e,
        }
    }

    /// The f32 bits of a code: its value has few bits, and a normal exponent for every bias.
    fn f32_bits(&self, code: u64, bias: u32, paper: bool) -> u64 {
        let units = self.units(code & (self.sign() - 1), paper);
        let sign = u64::from(code & self.sign() != 0) << 31;
        if units == 0 {
            return sign;
        }
        let leading = units.ilog2();
        let trailing = u64::try_from((units << 23 >> leading) & 0x7F_FFFF).unwrap();
        let exponent = u64::from(leading + 127 - self.mantissa_bits - bias);
        sign | exponent << 23 | trailing
    }

    fn is_denormal(&self, code: u64) -> bool {
        let magnitude = code & (self.sign() - 1);
        magnitude != 0 && magnitude < 1 << self.mantissa_bits
    }
}

const C143: Layout = Layout {
    exponent_bits: 4,
    mantissa_bits: 3,
    make: |bias| Format::cfloat8_1_4_3(bias).expect("a legal bias"),
};
const C152: Layout = Layout {
    exponent_bits: 5,
    mantissa_bits: 2,
    make: |bias| Format::cfloat8_1_5_2(bias).expect("a legal bias"),
};
const SHP: Layout =
    Layout { exponent_bits: 5, mantissa_bits: 10, make: |bias| Format::shp(bias).expect("a legal bias") };

/// Decodes each code to the f32 that the formula gives and encodes that to the same code, with the
/// right flags.
fn through_f32(layout: &Layout) -> u64 {
    let (start, mut checks) = (Instant::now(), 0);
    for (f, bias, paper) in layout.all() {
        let projection = f.default_projection();
        for code in 0..2 * layout.sign() {
            let bits = layout.f32_bits(code, bias, paper);
            let there = convert(code, &f, &BINARY32, &BINARY32.default_projection());
            let flags = if layout.is_denormal(code) { Flags::DENORMAL } else { Flags::NONE };
            assert!(there.value == bits && there.flags == flags, "{f} {code:#x}: {there:?}, want {bits:#x}");
            let back = convert(bits, &BINARY32, &f, &projection);
            assert!(back.value == code && back.flags == Flags::NONE, "{f} {code:#x} came back as {back:?}");
            checks += 1;
        }
    }
    tell("through binary32", checks, start);
    checks
}

#[test]
fn cfloat8_through_f32() {
    assert_eq!(through_f32(&C143), 256 * 64 * 2);
    assert_eq!(through_f32(&C152), 256 * 64 * 2);
}

#[test]
fn shp_through_f32() {
    assert_eq!(through_f32(&SHP), 65536 * 64 * 2);
}

#[test]
fn cfloat8_through_bf16() {
    for layout in [C143, C152] {
        for (f, bias, paper) in layout.all() {
            for code in 0..256 {
                let bits = layout.f32_bits(code, bias, paper) >> 16;
                let there = convert(code, &f, &BFLOAT16, &BFLOAT16.default_projection());
                let flags = if layout.is_denormal(code) { Flags::DENORMAL } else { Flags::NONE };
                assert_eq!((there.value, there.flags), (bits, flags), "{f} {code:#x}");
                assert_eq!(f.decode(code), BFLOAT16.decode(bits), "{f} {code:#x}");
                let back = f.encode_bf16_bits(u16::try_from(bits).unwrap(), &f.default_projection());
                assert_eq!((back.value, back.flags), (code, Flags::NONE), "{f} {code:#x}");
            }
        }
    }
}

#[test]
fn uhp_through_f32() {
    let projection = UHP.default_projection();
    for code in 0..=0xFFFF_u64 {
        let (field, mantissa) = (code >> 10, code & 0x3FF);
        let (bits, there_flags, back, back_flags) = match (field, mantissa) {
            (0, 0) => (0, Flags::NONE, 0, Flags::NONE),
            (0, _) => (0, Flags::DENORMAL, 0, Flags::NONE),
            (63, 0) => (0x7F80_0000, Flags::NONE, 0xFC00, Flags::NONE),
            (63, _) => (0x7FC0_0000, Flags::INVALID, 0xFE00, Flags::INVALID),
            _ => ((field + 127 - 31) << 23 | mantissa << 13, Flags::NONE, code, Flags::NONE),
        };
        let there = convert(code, &UHP, &BINARY32, &BINARY32.default_projection());
        assert_eq!((there.value, there.flags), (bits, there_flags), "{code:#x}");
        let r = convert(bits, &BINARY32, &UHP, &projection);
        assert_eq!((r.value, r.flags), (back, back_flags), "{code:#x}");
    }
}

#[test]
fn the_sign_of_zero_survives() {
    for layout in [C143, C152, SHP] {
        for (f, ..) in layout.all() {
            let there = convert(layout.sign(), &f, &BINARY32, &BINARY32.default_projection());
            assert_eq!((there.value, there.flags), (0x8000_0000, Flags::NONE), "{f}");
            let back = convert(0x8000_0000, &BINARY32, &f, &f.default_projection());
            assert_eq!((back.value, back.flags), (layout.sign(), Flags::NONE), "{f}");
        }
    }
}

fn stochastic(f: &Format, word: u64) -> Projection {
    f.default_projection().with_rounding(Rounding::StochasticA(RandomBits::new(32, word).expect("32 bits")))
}

/// Symmetric modes treat both signs alike, and directed modes swap: over all bfloat16 and many f32
/// inputs.
#[test]
fn encoding_is_symmetric_in_sign() {
    let f32_inputs = (0..1_u64 << 16).map(|i| (i * 32_749) & 0x7FFF_FFFF);
    let inputs: Vec<u64> = (0..0x8000).map(|i| i << 16).chain(f32_inputs).collect();
    for f in [(C143.make)(7), (C152.make)(15), (SHP.make)(15), (C143.make)(0), (C152.make)(63)] {
        let sign = 1 << (f.width() - 1);
        let nearest = f.default_projection();
        let mirrored = [
            (nearest, nearest),
            (stochastic(&f, 0x9E37_79B9), stochastic(&f, 0x9E37_79B9)),
            (
                nearest.with_rounding(Rounding::TowardPositive),
                nearest.with_rounding(Rounding::TowardNegative),
            ),
            (nearest.with_rounding(Rounding::ToOdd), nearest.with_rounding(Rounding::ToOdd)),
        ];
        for (plus, minus) in mirrored {
            for &x in inputs.iter().filter(|x| **x <= 0x7F80_0000) {
                let (a, b) = (convert(x, &BINARY32, &f, &plus), convert(x | 1 << 31, &BINARY32, &f, &minus));
                assert!(a.value ^ sign == b.value && a.flags == b.flags, "{f} {x:#x} {:?}", plus.rounding);
            }
        }
    }
}

#[test]
fn bf16_input_equals_f32_input_with_its_low_half_zero() {
    let mut formats: Vec<Format> = [0, 7, 11, 31, 63].map(|bias| (C143.make)(bias)).to_vec();
    formats.extend([(C152.make)(0), (C152.make)(15), (C152.make)(63), (SHP.make)(15), (SHP.make)(63), UHP]);
    for f in formats {
        for projection in [f.default_projection(), stochastic(&f, 0x8000_0001)] {
            for bits in 0..=u16::MAX {
                let narrow = f.encode_bf16_bits(bits, &projection);
                let wide = convert(u64::from(bits) << 16, &BINARY32, &f, &projection);
                assert_eq!(narrow, wide, "{f} {bits:#06x}");
            }
        }
    }
}

/// R42, exhaustively: 256 codes × 64 × 64 biases × both readings. Re-biasing rounds once to nearest
/// even among the other bias's values; without overflow and denormals it adds b2 − b1 to the
/// exponent field.
#[test]
fn rebias_every_code_between_every_pair_of_biases() {
    let (start, mut compared) = (Instant::now(), 0);
    for layout in [C143, C152] {
        for paper in [true, false] {
            let table: Vec<i128> = (0..128).map(|index| layout.units(index, paper)).collect();
            let half_ulp = (table[127] - table[126]) / 2;
            let formats: Vec<Format> =
                layout.all().filter(|(.., reading)| *reading == paper).map(|(f, ..)| f).collect();
            for (b1, from) in (0_i32..).zip(&formats) {
                for (b2, to) in (0_i32..).zip(&formats) {
                    let projection = to.default_projection();
                    let shift = b2 - b1;
                    // Operand and grid in one unit: x · 2^up against grid · 2^down.
                    let (up, down) = (shift.max(0), (-shift).max(0));
                    for index in 0..128_u64 {
                        let x = table[usize::try_from(index).unwrap()] << up;
                        let above = table.partition_point(|g| g << down <= x);
                        let lo = above - 1;
                        let exact = table[lo] << down == x;
                        let (expected, flags) = if exact {
                            (lo, "-")
                        } else if above == 128 {
                            (127, if x >= (table[127] + half_ulp) << down { "OX" } else { "X" })
                        } else {
                            let (low, high) = (x - (table[lo] << down), (table[above] << down) - x);
                            let nearer = match low.cmp(&high) {
                                std::cmp::Ordering::Less => lo,
                                std::cmp::Ordering::Greater => above,
                                std::cmp::Ordering::Equal => lo + lo % 2,
                            };
                            (nearer, if lo < 1 << layout.mantissa_bits { "UX" } else { "X" })
                        };
                        // The operand's own flag comes on top.
                        let mut flags = flags.replace('-', "");
                        if layout.is_denormal(index) {
                            flags = format!("D{flags}");
                        }
                        let r = convert(index, from, to, &projection);
                        let got = if r.flags.is_empty() { String::new() } else { r.flags.to_string() };
                        let expected = u64::try_from(expected).unwrap();
                        assert!(r.value == expected && got == flags, "{index:#x} {from} to {to}: {r:?}");
                        compared += 1;
                        let mirrored = convert(index | 0x80, from, to, &projection);
                        assert!(mirrored.value == expected | 0x80 && mirrored.flags == r.flags);
                        // The fast path.
                        let field = i32::try_from(index >> layout.mantissa_bits).unwrap();
                        if field >= 1 && (1..1 << layout.exponent_bits).contains(&(field + shift)) {
                            let moved =
                                i64::try_from(index).unwrap() + (i64::from(shift) << layout.mantissa_bits);
                            assert_eq!((moved, exact), (i64::try_from(expected).unwrap(), true));
                        }
                    }
                }
            }
        }
    }
    tell("between all pairs of biases", compared, start);
}
