//! When flags are raised and which NaN a result is, by the policies of units.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, E2M1FN, E4M3FN, E4M3FNUZ, E5M2};
use smallfloat::ops::{Comparison, Operand, Operation, OperationOptions};
use smallfloat::{
    FlagOrder, FlagPolicy, Flags, Format, NanResult, Preset, Rounding, Saturation, convert, convert_with,
};

const INVALID: Flags = Flags::INVALID;
const NONE: Flags = Flags::NONE;

/// Code and flags of an operation on codes of one format, in ieee semantics.
fn evaluate(operation: Operation, format: &Format, codes: &[u64], policy: FlagPolicy) -> (u64, Flags) {
    let operands: Vec<_> = codes.iter().map(|&code| Operand::new(code, format)).collect();
    let options = OperationOptions::IEEE.with_flags(policy);
    let found = operation.evaluate(&operands, format, &Preset::Ieee.projection(format), options);
    (found.value, found.flags)
}

fn all() -> impl Iterator<Item = FlagPolicy> {
    FlagPolicy::NAMED.iter().map(|row| row.1)
}

#[test]
fn policies_read_back() {
    for &(name, policy) in FlagPolicy::NAMED {
        assert_eq!(policy.to_string(), name);
        assert_eq!(name.to_uppercase().parse(), Ok(policy));
    }
    let changed = "arm,tininess=after,nan=canonical".parse::<FlagPolicy>().expect("a policy");
    assert_eq!(changed, FlagPolicy::RISCV.with_infinity(FlagPolicy::ARM.infinity));
    assert_eq!(changed.to_string(), "ieee-after,nan=canonical");
    assert_eq!("tesla,bits=IX".parse(), Ok(FlagPolicy::TESLA.with_bits(Flags::INVALID | Flags::INEXACT)));
    for (text, words) in [
        ("power", "ieee-before, ieee-after, riscv, arm or x86"),
        ("arm,nan", "nan"),
        ("arm,nan=mips", "projection, canonical, arm or x86"),
        ("arm,rounding=up", "invalid, tininess, denormal"),
    ] {
        let error = text.parse::<FlagPolicy>().expect_err(text).to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn defaults_follow_the_formats() {
    let tesla = Format::cfloat8_1_4_3(7).expect("a legal bias");
    assert_eq!(FlagPolicy::default_for([&BINARY16, &tesla]), FlagPolicy::TESLA);
    assert_eq!(FlagPolicy::default_for([&BINARY16, &E4M3FN]), FlagPolicy::IEEE_BEFORE);
    let how = E5M2.default_projection();
    for (code, flags) in [(0x7e00, NONE), (0x7d00, INVALID), (0x0001, Flags::UNDERFLOW | Flags::INEXACT)] {
        assert_eq!(convert(code, &BINARY16, &E5M2, &how).flags, flags, "{code:#x}");
    }
    let how = tesla.default_projection();
    assert_eq!(convert(0x7e00, &BINARY16, &tesla, &how).flags, INVALID);
    assert!(convert(1, &BINARY16, &tesla, &how).flags.contains(Flags::DENORMAL));
}

#[test]
fn signaling_nans_are_those_of_ieee_formats() {
    let counts =
        [(BINARY16, 2 * 0x1ff), (BFLOAT16, 2 * 0x3f), (E5M2, 2), (E4M3FN, 0), (E4M3FNUZ, 0), (E2M1FN, 0)];
    for (format, expected) in counts {
        assert_eq!(format.codes().filter(|&code| format.is_signaling(code)).count(), expected, "{format}");
    }
    assert!(BINARY32.is_signaling(0x7f80_0001) && !BINARY32.is_signaling(0x7f80_0000));
    assert!(BINARY64.is_signaling(0xfff4_0000_0000_0000) && !BINARY64.is_signaling(0xfff8_0000_0000_0000));
}

/// What every x86 gives: tiny before rounding, not after; a quiet NaN beside a subnormal number.
#[test]
fn two_products_of_x86() {
    let product = |x, y| evaluate(Operation::Multiply, &BINARY32, &[x, y], FlagPolicy::X86);
    assert_eq!(product(0x3f7f_fffe, 0x0080_0001), (0x0080_0000, Flags::INEXACT));
    assert_eq!(product(0x7fc0_0000, 0x0080_0001), (0x7fc0_0000, NONE));
}

/// Underflow of all products of two 8-bit codes by a bound on the exact product, which binary64
/// holds: rounded to three bits, a number below the smallest normal one reaches it from here on.
#[test]
fn tininess_after_rounding_is_that_of_the_rounded_product() {
    let least = 2.0_f64.powi(-14);
    let (below, middle) = (least * (1.0 - 0.125), least * (1.0 - 0.0625));
    let mut differing = 0;
    for rounding in Rounding::DETERMINISTIC {
        let how = Preset::Ieee.projection(&E5M2).with_rounding(*rounding);
        for (x, y) in E5M2.codes().flat_map(|x| E5M2.codes().map(move |y| (x, y))) {
            let operands = [Operand::new(x, &E5M2), Operand::new(y, &E5M2)];
            let exact = E5M2.decode_f64(x).value * E5M2.decode_f64(y).value;
            if !exact.is_finite() || exact == 0.0 {
                continue;
            }
            let magnitude = exact.abs();
            let reaches = match rounding {
                Rounding::NearestEven | Rounding::NearestAway => magnitude >= middle,
                Rounding::TowardPositive => exact > below,
                Rounding::TowardNegative => exact < -below,
                // The odd one of the two is the smaller.
                _ => false,
            };
            let flags = |policy| {
                let options = OperationOptions::IEEE.with_flags(policy);
                Operation::Multiply.evaluate(&operands, &E5M2, &how, options).flags
            };
            let (before, after) = (flags(FlagPolicy::IEEE_BEFORE), flags(FlagPolicy::IEEE_AFTER));
            let inexact = before.contains(Flags::INEXACT);
            assert_eq!(before.contains(Flags::UNDERFLOW), inexact && magnitude < least, "{x:x} {y:x}");
            let tiny = magnitude < least && !reaches;
            assert_eq!(after.contains(Flags::UNDERFLOW), inexact && tiny, "{x:x} {y:x} {rounding}");
            assert_eq!(before.without(Flags::UNDERFLOW), after.without(Flags::UNDERFLOW));
            differing += u32::from(before != after);
        }
    }
    assert!(differing > 100, "{differing}");
}

#[test]
fn denormal_operands() {
    let one = 0x3c00;
    let cases: [(Operation, &[u64], [bool; 2]); 8] = [
        (Operation::Add, &[1, one], [true, true]),
        (Operation::Add, &[1, 0x7e00], [true, false]),
        (Operation::Add, &[1, 0x7d00], [true, false]),
        (Operation::Divide, &[1, 0], [true, false]),
        (Operation::Sqrt, &[0x8001], [true, false]),
        (Operation::Fma, &[0, 0x7c00, 1], [true, false]),
        (Operation::Sqrt, &[1], [true, true]),
        (Operation::Add, &[one, one], [false, false]),
    ];
    for (operation, codes, expected) in cases {
        let raised = [FlagPolicy::TESLA, FlagPolicy::X86]
            .map(|policy| evaluate(operation, &BINARY16, codes, policy).1.contains(Flags::DENORMAL));
        assert_eq!(raised, expected, "{operation} {codes:x?}");
        for policy in [FlagPolicy::IEEE_AFTER, FlagPolicy::RISCV, FlagPolicy::ARM] {
            assert!(!evaluate(operation, &BINARY16, codes, policy).1.contains(Flags::DENORMAL));
        }
    }
    let x86 = |code, from: &Format, to: &Format| {
        convert_with(code, from, to, &to.default_projection(), FlagPolicy::X86).flags
    };
    // VCVTPH2PS raises nothing for it, CVTSS2SD and VCVTPS2PH do.
    assert_eq!(x86(1, &BINARY16, &BINARY32), NONE);
    assert_eq!(x86(1, &BINARY32, &BINARY64), Flags::DENORMAL);
    let all = Flags::DENORMAL | Flags::UNDERFLOW | Flags::INEXACT;
    assert_eq!(x86(1, &BINARY32, &BINARY16), all);
}

#[test]
fn infinities_that_are_lost() {
    let to = E5M2.default_projection().with_saturation(Saturation::SatFinite);
    let of = |code, policy| {
        let found = convert_with(code, &BINARY16, &E5M2, &to, policy);
        (found.value, found.flags)
    };
    let overflow = Flags::OVERFLOW | Flags::INEXACT;
    assert_eq!(of(0x7c00, FlagPolicy::IEEE_AFTER), (0x7b, overflow));
    assert_eq!(of(0x7c00, FlagPolicy::RISCV), (0x7b, NONE));
    // A finite value beyond the range overflows by every policy.
    assert_eq!(of(0x7bff, FlagPolicy::RISCV), (0x7b, overflow));
    // NaN has nothing to become in a format without one.
    for policy in all() {
        let nan = convert_with(0x7e00, &BINARY16, &E2M1FN, &E2M1FN.default_projection(), policy);
        assert_eq!(nan.flags, INVALID, "{policy}");
    }
}

/// An operation, its operands' codes, and the results and flags of RISC-V, Arm and x86.
type Case<'a> = (Operation, &'a [u64], [u64; 3], [Flags; 3]);

/// The NaNs of processors: Arm and x86 pass an operand on, RISC-V never does.
#[test]
fn nan_results() {
    let (quiet, signaling, other, infinity) = (0xfe05, 0x7d03, 0x7e09, 0x7c00);
    let cases: [Case<'_>; 9] = [
        (Operation::Add, &[quiet, other], [0x7e00, 0xfe05, 0xfe05], [NONE; 3]),
        (Operation::Add, &[quiet, signaling], [0x7e00, 0x7f03, 0xfe05], [INVALID; 3]),
        (Operation::Subtract, &[0x3c00, quiet], [0x7e00, 0xfe05, 0xfe05], [NONE; 3]),
        (Operation::Subtract, &[infinity, infinity], [0x7e00, 0x7e00, 0xfe00], [INVALID; 3]),
        (Operation::Sqrt, &[0xbc00], [0x7e00, 0x7e00, 0xfe00], [INVALID; 3]),
        (Operation::Fma, &[quiet, 0x3c00, other], [0x7e00, 0x7e09, 0xfe05], [NONE; 3]),
        (Operation::Fma, &[quiet, signaling, other], [0x7e00, 0x7f03, 0xfe05], [INVALID; 3]),
        (Operation::Fma, &[0, infinity, quiet], [0x7e00, 0x7e00, 0xfe05], [INVALID, INVALID, NONE]),
        (Operation::Fma, &[0, infinity, signaling], [0x7e00, 0x7f03, 0x7f03], [INVALID; 3]),
    ];
    for (operation, codes, nans, flags) in cases {
        let policies = [FlagPolicy::RISCV, FlagPolicy::ARM, FlagPolicy::X86];
        for ((policy, nan), flags) in policies.into_iter().zip(nans).zip(flags) {
            assert_eq!(evaluate(operation, &BINARY16, codes, policy), (nan, flags), "{operation} {policy}");
        }
        let default_nan = FlagPolicy::ARM.with_nan(NanResult::Canonical);
        assert_eq!(evaluate(operation, &BINARY16, codes, default_nan).0, 0x7e00, "{operation} {codes:x?}");
    }
    let to = BINARY64.default_projection();
    let wide = convert_with(0xff80_0005, &BINARY32, &BINARY64, &to, FlagPolicy::X86);
    assert_eq!((wide.value, wide.flags), (0xfff8_0000_a000_0000, INVALID));
    let to = BINARY16.default_projection();
    let narrow = convert_with(0x7fc0_4001, &BINARY32, &BINARY16, &to, FlagPolicy::ARM);
    assert_eq!((narrow.value, narrow.flags), (0x7e02, NONE));
}

/// IEEE 754, section 5.11: equality is quiet, order is not.
#[test]
fn comparisons_of_nans() {
    let compare = |which: Comparison, x, policy| {
        which.evaluate_with(Operand::new(x, &E5M2), Operand::new(0x3c, &E5M2), policy).flags
    };
    for (which, code, expected) in [
        (Comparison::Equal, 0x7e, [INVALID, NONE, NONE]),
        (Comparison::Equal, 0x7d, [INVALID; 3]),
        (Comparison::Less, 0x7e, [INVALID; 3]),
        (Comparison::GreaterEqual, 0x7d, [INVALID; 3]),
        (Comparison::Equal, 0x01, [Flags::DENORMAL, NONE, Flags::DENORMAL]),
    ] {
        let found = [FlagPolicy::TESLA, FlagPolicy::IEEE_BEFORE, FlagPolicy::X86]
            .map(|policy| compare(which, code, policy));
        assert_eq!(found, expected, "{which:?} {code:#x}");
    }
}

/// Negate, Abs and CopySign touch the sign bit alone, by every policy.
#[test]
fn signs_of_nans_change_alone() {
    for policy in all() {
        for code in BINARY16.codes().filter(|&code| BINARY16.decode(code).is_nan()) {
            let of = |operation, codes: &[u64]| evaluate(operation, &BINARY16, codes, policy);
            assert_eq!(of(Operation::Negate, &[code]), (code ^ 0x8000, NONE));
            assert_eq!(of(Operation::Abs, &[code]), (code & 0x7fff, NONE));
            assert_eq!(of(Operation::CopySign, &[code, 0x8000]), (code | 0x8000, NONE));
            assert_eq!(of(Operation::CopySign, &[code, 0x3c00]), (code & 0x7fff, NONE));
        }
        assert_eq!(evaluate(Operation::Negate, &E4M3FN, &[0x7f], policy), (0xff, NONE));
        assert_eq!(evaluate(Operation::Negate, &E4M3FNUZ, &[0x80], policy), (0x80, NONE));
        assert_eq!(evaluate(Operation::Negate, &E4M3FNUZ, &[0x00], policy), (0x00, NONE));
    }
}

/// The bits of the manuals: RISC-V's fflags, Arm's FPSR, x86's MXCSR.
#[test]
fn registers_have_their_own_order() {
    let bits = |flags: Flags| FlagOrder::ALL.iter().map(|&order| flags.bits_in(order)).collect::<Vec<_>>();
    for (flags, expected) in [
        (Flags::INEXACT, [0x01, 0x10, 0x20]),
        (Flags::UNDERFLOW, [0x02, 0x08, 0x10]),
        (Flags::OVERFLOW, [0x04, 0x04, 0x08]),
        (Flags::DIVISION_BY_ZERO, [0x08, 0x02, 0x04]),
        (Flags::INVALID, [0x10, 0x01, 0x01]),
        (Flags::DENORMAL, [0x20, 0x80, 0x02]),
        (Flags::ALL, [0x3f, 0x9f, 0x3f]),
    ] {
        assert_eq!(bits(flags), expected, "{flags}");
        for (&order, &bits) in FlagOrder::ALL.iter().zip(&expected) {
            assert_eq!(Flags::from_bits_in(bits, order), flags, "{flags} {order}");
        }
        assert_eq!(flags.bits_in(FlagOrder::Fflags), flags.bits());
    }
}
