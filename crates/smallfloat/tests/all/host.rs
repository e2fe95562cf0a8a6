//! The exact operations on binary32 and binary64 against the host's arithmetic, which is correctly
//! rounded (IEEE 754).

use smallfloat::formats::{BINARY32, BINARY64};
use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::{Format, Parameters, Specials};

/// binary32 from its parameters, in a family of its own.
const MINIFLOAT: Format = match Format::minifloat(Parameters::signed(32, 24, Specials::Ieee)) {
    Ok(format) => format,
    Err(_) => panic!("32 bits are legal"),
};

/// Bit patterns near each other in exponent, so that sums cancel and products meet the edges.
fn patterns(count: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    (0..count).map(move |i| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mixed = state ^ (state >> 31);
        match i % 8 {
            // Few significant bits: ties and exact results.
            0 => mixed & 0xfff8_0000_0000_0000,
            1 => (mixed & 0x800f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000,
            2 => (mixed & 0x801f_ffff_ffff_ffff) | 0x3fe0_0000_0000_0000,
            3 => mixed & 0x800f_ffff_ffff_ffff,
            4 => [0, 1, 1 << 63, 0x7ff0_0000_0000_0000, 0x7fef_ffff_ffff_ffff, 0x0010_0000_0000_0000]
                [usize::try_from(mixed >> 60).unwrap_or(0) % 6],
            _ => mixed,
        }
    })
}

macro_rules! against_host {
    ($name:ident, $float:ty, $format:expr, $shift:literal) => {
        #[test]
        fn $name() {
            let values: Vec<$float> = patterns(30_000)
                .map(|bits| <$float>::from_bits((bits >> $shift).try_into().unwrap()))
                .collect();
            let projection = $format.default_projection();
            let check = |operation: Operation, operands: &[$float], expected: $float| {
                let codes: Vec<Operand<'_>> =
                    operands.iter().map(|x| Operand::new(u64::from(x.to_bits()), &$format)).collect();
                let result = operation.evaluate(&codes, &$format, &projection, OperationOptions::IEEE).value;
                let agree = if expected.is_nan() {
                    $format.decode(result).is_nan()
                } else {
                    result == u64::from(expected.to_bits())
                };
                assert!(agree, "{operation:?} {operands:?}: {result:#x}, host {expected:?}");
            };
            for w in values.windows(3) {
                let [x, y, z] = *w else { continue };
                check(Operation::Add, &[x, y], x + y);
                check(Operation::Subtract, &[x, y], x - y);
                check(Operation::Multiply, &[x, y], x * y);
                check(Operation::Divide, &[x, y], x / y);
                check(Operation::Fmod, &[x, y], x % y);
                check(Operation::Fma, &[x, y, z], x.mul_add(y, z));
                check(Operation::Fma, &[x, y, -(x * y)], x.mul_add(y, -(x * y)));
                check(Operation::Sqrt, &[x], x.sqrt());
                check(Operation::Recip, &[x], 1.0 / x);
                check(Operation::Negate, &[x], -x);
                check(Operation::CopySign, &[x, y], x.copysign(y));
            }
        }
    };
}

against_host!(binary32_as_the_host, f32, BINARY32, 32);
against_host!(the_minifloat_of_32_bits_as_the_host, f32, MINIFLOAT, 32);
against_host!(binary64_as_the_host, f64, BINARY64, 0);
