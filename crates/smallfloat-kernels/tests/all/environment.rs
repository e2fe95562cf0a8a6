//! The host's floating-point settings change nothing: flushed subnormals and other rounding modes
//! give the same bytes.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use std::arch::asm;

use crate::common::{CLASSES, data};
use smallfloat::{Format, RandomBits, Rounding, random::Philox};
use smallfloat_kernels::{Accumulate, Bf16, Decoder, Dot, Encoder, Level, RandomWords};

/// Bits of MXCSR, which an x86-64 processor's floating-point instructions obey, or of FPCR.
#[cfg(target_arch = "x86_64")]
mod control {
    pub(super) const FLUSH_TO_ZERO: u32 = 1 << 15 | 1 << 6;
    pub(super) const ROUND_DOWN: u32 = 0b01 << 13;
    pub(super) const ROUND_UP: u32 = 0b10 << 13;
    pub(super) const ROUND_TO_ZERO: u32 = 0b11 << 13;
}
#[cfg(target_arch = "aarch64")]
mod control {
    pub(super) const FLUSH_TO_ZERO: u32 = 1 << 24 | 1 << 19;
    pub(super) const ROUND_DOWN: u32 = 0b10 << 22;
    pub(super) const ROUND_UP: u32 = 0b01 << 22;
    pub(super) const ROUND_TO_ZERO: u32 = 0b11 << 22;
}
use control::{FLUSH_TO_ZERO, ROUND_DOWN, ROUND_TO_ZERO, ROUND_UP};

/// Runs `f`, which must not use floating-point arithmetic of its own, with bits of the register
/// set.
#[cfg(target_arch = "x86_64")]
fn with_control<R>(bits: u32, f: impl FnOnce() -> R) -> R {
    let mut control = 0_u32;
    // SAFETY: the instruction stores four bytes at the address of a live u32.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack)) };
    let changed = control | bits;
    // SAFETY: only settings of rounding and subnormals differ, and they are restored below.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const changed, options(nostack)) };
    let result = f();
    // SAFETY: these are the settings from before.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack)) };
    result
}

#[cfg(target_arch = "aarch64")]
fn with_control<R>(bits: u32, f: impl FnOnce() -> R) -> R {
    let control: u64;
    // SAFETY: the instruction reads a register that every program may read.
    unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nostack)) };
    let changed = control | u64::from(bits);
    // SAFETY: only settings of rounding and subnormals differ, and they are restored below.
    unsafe { asm!("msr fpcr, {}", in(reg) changed, options(nostack)) };
    let result = f();
    // SAFETY: these are the settings from before.
    unsafe { asm!("msr fpcr, {}", in(reg) control, options(nostack)) };
    result
}

#[test]
fn settings_change_nothing() {
    let bits = RandomBits::new(32, 0).unwrap();
    let random = RandomWords { generator: Philox { seed: 3, stream: 4 }.into(), first_element: 1 };
    for name in ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=63", "e5m2", "binary8p3ue"] {
        let target: Format = name.parse().unwrap();
        let projection = target.default_projection();
        for level in Level::available() {
            let nearest =
                Encoder::<f32>::for_length(&target, &projection, usize::MAX).unwrap().with_level(level);
            let halves =
                Encoder::<Bf16>::for_length(&target, &projection, usize::MAX).unwrap().with_level(level);
            let stochastic = Encoder::<f32>::for_length(
                &target,
                &projection.with_rounding(Rounding::StochasticA(bits)),
                usize::MAX,
            )
            .unwrap()
            .with_level(level);
            let decoder = Decoder::<f32>::for_length(&target, None, usize::MAX).unwrap().with_level(level);
            for class in CLASSES {
                let x: Vec<f32> = data(class, &target, 1000, 5);
                let y: Vec<Bf16> = data(class, &target, 1000, 6);
                let run = || {
                    let (mut a, mut b, mut c) =
                        (vec![0_u8; x.len()], vec![0_u8; y.len()], vec![0_u8; x.len()]);
                    let events = [
                        nearest.encode(&x, &mut a),
                        halves.encode(&y, &mut b),
                        stochastic.encode_random(&x, &mut c, random),
                    ];
                    let mut values = vec![0_f32; a.len()];
                    decoder.decode(&a, &mut values);
                    (a, b, c, events, values.into_iter().map(f32::to_bits).collect::<Vec<u32>>())
                };
                let expected = with_control(0, run);
                for settings in [FLUSH_TO_ZERO, ROUND_UP, ROUND_TO_ZERO | FLUSH_TO_ZERO] {
                    let found = with_control(settings, run);
                    assert!(found == expected, "{name}, {level:?}, {class}, settings {settings:#x}");
                }
            }
        }
    }
}

#[test]
fn settings_change_nothing_in_rarer_kernels() {
    for (name, rounding) in [
        ("shp:bias=63", Rounding::NearestEven),
        ("uhp", Rounding::NearestAway),
        ("bfloat16", Rounding::TowardNegative),
        ("binary16", Rounding::ToOdd),
        ("binary16p11se", Rounding::TowardPositive),
    ] {
        let target: Format = name.parse().unwrap();
        let projection = target.default_projection().with_rounding(rounding);
        for level in Level::available() {
            let single = Encoder::<f32>::for_length(&target, &projection, 0).unwrap().with_level(level);
            let double = Encoder::<f64>::for_length(&target, &projection, 0).unwrap().with_level(level);
            let decoder = Decoder::<f64>::for_length(&target, None, usize::MAX).unwrap().with_level(level);
            for class in CLASSES {
                let x: Vec<f32> = data(class, &target, 500, 5);
                let y: Vec<f64> = data(class, &target, 500, 6);
                let run = || {
                    let (mut a, mut b) = (vec![0_u16; x.len()], vec![0_u16; y.len()]);
                    let events = [single.encode(&x, &mut a), double.encode(&y, &mut b)];
                    let mut values = vec![0_f64; a.len()];
                    decoder.decode(&a, &mut values);
                    (a, b, events, values.into_iter().map(f64::to_bits).collect::<Vec<u64>>())
                };
                let expected = with_control(0, run);
                for settings in [FLUSH_TO_ZERO, ROUND_UP, ROUND_TO_ZERO | FLUSH_TO_ZERO] {
                    let found = with_control(settings, run);
                    assert!(found == expected, "{name}, {level:?}, {class}, settings {settings:#x}");
                }
            }
        }
    }
}

/// Accumulators lose nothing, however they round.
#[test]
fn exact_sums_in_every_rounding_mode() {
    for names in [["e4m3fn"; 2], ["cfloat8_1_4_3:bias=7"; 2], ["e5m2"; 2], ["e2m3fn", "e5m2"]] {
        let [a, b] = names.map(|name| name.parse::<Format>().unwrap());
        // Infinities and NaNs have larger codes.
        let codes = |f: &Format, factor: usize| -> Vec<u8> {
            let finite = usize::from(f.encode(f.max_finite()).unwrap().to_le_bytes()[0]) + 1;
            (0..5000).map(|i| (i * factor % finite).to_le_bytes()[0]).collect()
        };
        let (x, y) = (codes(&a, 7), codes(&b, 11));
        let portable = Dot::new(&a, &b, Accumulate::Exact).unwrap().with_level(Level::Portable);
        let expected = portable.sum(&x, &y);
        for level in Level::available() {
            let dot = portable.clone().with_level(level);
            for settings in [0, FLUSH_TO_ZERO, ROUND_DOWN, ROUND_UP, ROUND_TO_ZERO] {
                let found = with_control(settings, || dot.sum(&x, &y));
                assert_eq!(found, expected, "{names:?}, {level:?}, settings {settings:#x}");
            }
        }
    }
}

/// Arithmetic in it keeps subnormals and rounds to nearest, and what was set is set again.
#[test]
fn arithmetic_as_rust_expects_it() {
    use std::hint::black_box;
    let control = FLUSH_TO_ZERO | ROUND_UP;
    // Results are needed where they are computed, so that no later setting applies to them.
    let sum = || black_box(black_box(f32::from_bits(1)) + black_box(0.0)).to_bits();
    let third = || black_box(black_box(1.0_f32) / black_box(3.0)).to_bits();
    let [outside, inside, after] = with_control(control, || {
        let outside = [sum(), third()];
        let inside = smallfloat_kernels::with_default_environment(|| [sum(), third()]);
        [outside, inside, [sum(), third()]]
    });
    assert_eq!((outside, inside, after), ([0, 0x3eaa_aaab], [1, 0x3eaa_aaab], outside));
    let [down, nearest] =
        with_control(ROUND_TO_ZERO, || [third(), smallfloat_kernels::with_default_environment(third)]);
    assert_eq!((down, nearest), (0x3eaa_aaaa, 0x3eaa_aaab));
}
