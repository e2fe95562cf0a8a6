//! The golden vectors of Tesla's formats: float32 into each format, and the stochastic thresholds.

use smallfloat_oracle::{
    Dyadic, Exact, Flags, OracleFormat, Rounding, Subnormals, Table, Value, convert, formats, preset,
};

type Rows = &'static [(u32, u64, &'static str)];

// f32 bits, code, flags of the paper (I, D, O, U); nearest, ties to even.
#[rustfmt::skip]
const FROM_F32: &[(OracleFormat, Rows)] = &[
    (formats::cfloat8_1_4_3(7), &[
        (0x00000000, 0x00, "-"),
        (0x80000000, 0x80, "-"),
        (0x00000001, 0x00, "DU"),
        (0x807FFFFF, 0x80, "DU"),
        (0x3A000000, 0x00, "U"),
        (0x3A000001, 0x01, "U"),
        (0x39FFFFFF, 0x00, "U"),
        (0x3A800000, 0x01, "-"),
        (0x3AC00000, 0x02, "U"),
        (0x3B200000, 0x02, "U"),
        (0x3BE00000, 0x07, "-"),
        (0x3BE00001, 0x07, "U"),
        (0x3C000000, 0x07, "U"),
        (0x3C37FFFF, 0x07, "U"),
        (0x3C380000, 0x08, "U"),
        (0x3C380001, 0x08, "U"),
        (0x3C7FFFFF, 0x08, "U"),
        (0x3C800000, 0x08, "-"),
        (0x3F800000, 0x38, "-"),
        (0x3C880000, 0x08, "-"),
        (0x43F00000, 0x7F, "-"),
        (0x43F00001, 0x7F, "-"),
        (0x43F7FFFF, 0x7F, "-"),
        (0x43F80000, 0x7F, "O"),
        (0x44000000, 0x7F, "O"),
        (0x7F7FFFFF, 0x7F, "O"),
        (0x7F800000, 0x7F, "O"),
        (0xFF800000, 0xFF, "O"),
        (0x7FC00000, 0x7F, "I"),
        (0xFFC00000, 0x7F, "I"),
        (0x7F800001, 0x7F, "I"),
    ]),
    (formats::cfloat8_1_5_2(15), &[
        (0x00000000, 0x00, "-"),
        (0x80000000, 0x80, "-"),
        (0x00000001, 0x00, "DU"),
        (0x807FFFFF, 0x80, "DU"),
        (0x36800000, 0x00, "U"),
        (0x36800001, 0x01, "U"),
        (0x367FFFFF, 0x00, "U"),
        (0x37000000, 0x01, "-"),
        (0x37400000, 0x02, "U"),
        (0x37A00000, 0x02, "U"),
        (0x37C00000, 0x03, "-"),
        (0x37C00001, 0x03, "U"),
        (0x38000000, 0x03, "U"),
        (0x382FFFFF, 0x03, "U"),
        (0x38300000, 0x04, "U"),
        (0x38300001, 0x04, "U"),
        (0x387FFFFF, 0x04, "U"),
        (0x38800000, 0x04, "-"),
        (0x3F800000, 0x3C, "-"),
        (0x38900000, 0x04, "-"),
        (0x47E00000, 0x7F, "-"),
        (0x47E00001, 0x7F, "-"),
        (0x47EFFFFF, 0x7F, "-"),
        (0x47F00000, 0x7F, "O"),
        (0x48000000, 0x7F, "O"),
        (0x7F7FFFFF, 0x7F, "O"),
        (0x7F800000, 0x7F, "O"),
        (0xFF800000, 0xFF, "O"),
        (0x7FC00000, 0x7F, "I"),
        (0xFFC00000, 0x7F, "I"),
        (0x7F800001, 0x7F, "I"),
    ]),
    (formats::cfloat8_1_4_3(0), &[
        (0x3E000000, 0x01, "-"),
        (0x3D800000, 0x00, "U"),
        (0x3F600000, 0x07, "-"),
        (0x40000000, 0x08, "-"),
        (0x47700000, 0x7F, "-"),
        (0x47F00000, 0x7F, "O"),
    ]),
    (formats::cfloat8_1_5_2(0), &[
        (0x3E800000, 0x01, "-"),
        (0x3E000000, 0x00, "U"),
        (0x3F400000, 0x03, "-"),
        (0x40000000, 0x04, "-"),
        (0x4F600000, 0x7F, "-"),
        (0x4FE00000, 0x7F, "O"),
    ]),
    (formats::cfloat8_1_4_3(63), &[
        (0x1E800000, 0x01, "-"),
        (0x1E000000, 0x00, "U"),
        (0x1FE00000, 0x07, "-"),
        (0x20800000, 0x08, "-"),
        (0x27F00000, 0x7F, "-"),
        (0x28700000, 0x7F, "O"),
    ]),
    (formats::cfloat8_1_5_2(63), &[
        (0x1F000000, 0x01, "-"),
        (0x1E800000, 0x00, "U"),
        (0x1FC00000, 0x03, "-"),
        (0x20800000, 0x04, "-"),
        (0x2FE00000, 0x7F, "-"),
        (0x30600000, 0x7F, "O"),
    ]),
    (formats::shp(15), &[
        (0x3F800000, 0x3C00, "-"),
        (0x477FE000, 0x7BFF, "-"),
        (0x47800000, 0x7C00, "-"),
        (0x47FFE000, 0x7FFF, "-"),
        (0x47FFEF80, 0x7FFF, "-"),
        (0x47FFF000, 0x7FFF, "O"),
        (0x33000000, 0x0001, "-"),
        (0x32800000, 0x0000, "U"),
        (0x37FFC000, 0x03FF, "-"),
        (0x38000000, 0x03FF, "U"),
        (0x38800000, 0x0400, "-"),
        (0x3F801000, 0x3C00, "-"),
        (0x3F803000, 0x3C02, "-"),
    ]),
    (formats::UHP, &[
        (0x00000000, 0x0000, "-"),
        (0x80000000, 0x0000, "-"),
        (0x3F800000, 0x7C00, "-"),
        (0x30800000, 0x0400, "-"),
        (0x307FE000, 0x0400, "U"),
        (0x307FDFFF, 0x0000, "U"),
        (0x2B800000, 0x0000, "U"),
        (0x307FC000, 0x0000, "U"),
        (0x4F7FE000, 0xFBFF, "-"),
        (0x4F7FEFFF, 0xFBFF, "-"),
        (0x4F7FF000, 0xFC00, "O"),
        (0x4F800000, 0xFC00, "O"),
        (0x7F800000, 0xFC00, "-"),
        (0xFF800000, 0xFE00, "I"),
        (0x7FC00000, 0xFE00, "I"),
        (0x7F800001, 0xFE00, "I"),
        (0xBF800000, 0xFE00, "I"),
        (0x80000001, 0x0000, "DU"),
        (0xA6800000, 0x0000, "U"),
    ]),
];

// The rows of the first format that come out differently with gradual subnormals.
#[rustfmt::skip]
const GRADUAL: Rows = &[
    (0x3A000000, 0x00, "U"), (0x3A800000, 0x00, "U"), (0x3AC00000, 0x01, "U"), (0x3B200000, 0x01, "U"),
    (0x3BE00000, 0x04, "U"), (0x3C000000, 0x04, "-"), (0x3C380000, 0x06, "U"), (0x3C7FFFFF, 0x08, "U"),
];

// Format, f32 bits, the two neighbours, whether the upper one is an overflow, and the first R that
// goes up.
#[rustfmt::skip]
const THRESHOLDS: &[(OracleFormat, u32, u64, u64, bool, u64)] = &[
    (formats::cfloat8_1_4_3(7), 0x3F840000, 0x38, 0x39, false, 0xC0000000),
    (formats::cfloat8_1_4_3(7), 0x3F880000, 0x38, 0x39, false, 0x80000000),
    (formats::cfloat8_1_4_3(7), 0x3F8CCCCD, 0x38, 0x39, false, 0x33333000),
    (formats::cfloat8_1_4_3(7), 0x39800000, 0x00, 0x01, false, 0xC0000000),
    (formats::cfloat8_1_4_3(7), 0x3C000000, 0x07, 0x08, false, 0xE38E38E4),
    (formats::cfloat8_1_4_3(7), 0x3C3C6A7F, 0x07, 0x08, false, 0x78263AAB),
    (formats::cfloat8_1_4_3(7), 0x3C75C28F, 0x07, 0x08, false, 0x1234571D),
    (formats::cfloat8_1_4_3(7), 0x43F50000, 0x7F, 0x7F, true, 0xB0000000),
    (formats::cfloat8_1_4_3(7), 0x43FA0000, 0x7F, 0x7F, true, 0x60000000),
    (formats::cfloat8_1_5_2(15), 0x3F8CCCCD, 0x3C, 0x3D, false, 0x99999800),
    (formats::cfloat8_1_5_2(15), 0x38000000, 0x03, 0x04, false, 0xCCCCCCCD),
    (formats::cfloat8_1_5_2(15), 0x36000000, 0x00, 0x01, false, 0xC0000000),
    (formats::cfloat8_1_5_2(15), 0x47EA6000, 0x7F, 0x7F, true, 0xAD000000),
    (formats::shp(15), 0x3F800800, 0x3C00, 0x3C01, false, 0xC0000000),
    (formats::shp(15), 0x38000000, 0x03FF, 0x0400, false, 0xFFC00FFD),
];

fn check_rows(format: &OracleFormat, rows: Rows) {
    let table = Table::new(format);
    let policy = preset("tesla", format);
    for &(bits, code, letters) in rows {
        let (got, flags) = convert(bits.into(), &formats::BINARY32, &table, &policy);
        assert_eq!(
            (got, flags.tesla()),
            (code, Flags::from_letters(letters)),
            "{format:?} {bits:08x}: {flags}"
        );
    }
}

#[test]
fn float32_to_each_format() {
    for (format, rows) in FROM_F32 {
        check_rows(format, rows);
    }
    check_rows(&OracleFormat { subnormals: Subnormals::Gradual, ..formats::cfloat8_1_4_3(7) }, GRADUAL);
}

#[test]
fn inexact_is_set_exactly_when_the_value_changed() {
    for (format, rows) in FROM_F32 {
        let (table, policy) = (Table::new(format), preset("tesla", format));
        for &(bits, ..) in *rows {
            let (code, flags) = convert(bits.into(), &formats::BINARY32, &table, &policy);
            let invalid = flags.contains(Flags::INVALID);
            let x = formats::BINARY32.value(bits.into());
            // Zeros of both signs are one number.
            let same = match (&x, format.value(code)) {
                (Value::Finite(a, _), Value::Finite(b, _)) => *a == b,
                (a, b) => *a == b,
            };
            assert_eq!(flags.contains(Flags::INEXACT), !same && !invalid, "{format:?} {bits:08x}");
        }
    }
}

#[test]
fn stochastic_thresholds() {
    for &(format, bits, lo, hi, overflow, threshold) in THRESHOLDS {
        let table = Table::new(&format);
        for (r, code, over) in [(threshold - 1, lo, false), (threshold, hi, overflow)] {
            let policy = preset("tesla", &format).with_rounding(Rounding::StochasticA { n: 32, r });
            for (sign, sign_bit) in [(0, 0), (1 << 31, format.sign_bit())] {
                let (got, flags) = convert(sign | u64::from(bits), &formats::BINARY32, &table, &policy);
                assert_eq!(got, code | sign_bit, "{format:?} {bits:08x} r={r:x}");
                assert_eq!(flags.contains(Flags::OVERFLOW), over);
            }
        }
    }
}

#[test]
fn ends_of_the_ranges_for_every_bias() {
    for bias in 0..64 {
        // Smallest and largest subnormal, smallest normal, largest, in units of 2^-bias.
        let cases = [
            (formats::cfloat8_1_4_3(bias), [(0x01, 1, -3), (0x07, 7, -3), (0x08, 2, 0), (0x7F, 15, 12)]),
            (formats::cfloat8_1_5_2(bias), [(0x01, 1, -2), (0x03, 3, -2), (0x04, 2, 0), (0x7F, 7, 29)]),
            (formats::shp(bias), [(0x001, 1, -10), (0x3FF, 1023, -10), (0x400, 2, 0), (0x7FFF, 2047, 21)]),
        ];
        for (format, codes) in cases {
            for (code, mantissa, exponent) in codes {
                let x = Dyadic::new(mantissa, exponent - bias);
                assert_eq!(format.value(code), Value::Finite(x.clone(), false));
                assert_eq!(format.value(code | format.sign_bit()), Value::Finite(-&x, false));
            }
        }
    }
}

#[test]
fn unsigned_half_codes() {
    let uhp = formats::UHP;
    assert_eq!(uhp.value(0x0400), Value::Finite(Dyadic::new(1, -30), false));
    assert_eq!(uhp.value(0xFBFF), Value::Finite(Dyadic::new(2047, 21), false));
    assert_eq!(uhp.value(0xFC00), Value::Inf { negative: false });
    assert_eq!(uhp.value(0xFC01), Value::Nan { negative: false });
    assert_eq!(uhp.value(0x03FF), Value::Finite(Dyadic::zero(), false));
    // Decoding: a flushed code sets D, any NaN becomes the quiet one with I.
    let single = Table::new(&formats::BINARY32);
    let policy = preset("ieee", &formats::BINARY32);
    assert_eq!(convert(0x0001, &uhp, &single, &policy), (0, Flags::DENORMAL));
    assert_eq!(convert(0xFFFF, &uhp, &single, &policy), (0x7FC0_0000, Flags::INVALID));
    assert_eq!(convert(0x7C00, &uhp, &single, &policy), (0x3F80_0000, Flags::NONE));
}

#[test]
fn negative_into_unsigned() {
    let table = Table::new(&formats::UHP);
    let tesla = preset("tesla", &formats::UHP);
    let below_min = Exact::from_f64(-1e-30);
    let zero_rounded = (0, Flags::UNDERFLOW | Flags::INEXACT);
    assert_eq!(table.round(&Exact::ratio(-1, 1), &tesla), (0xFE00, Flags::INVALID));
    assert_eq!(table.round(&below_min, &tesla), zero_rounded);
    // Away from zero it goes to a subnormal, which is flushed: still zero, not negative.
    let down = tesla.with_rounding(Rounding::TowardNegative);
    assert_eq!(table.round(&below_min, &down), zero_rounded);
    assert_eq!(table.round(&Exact::zero(true), &tesla), (0, Flags::NONE));
}
