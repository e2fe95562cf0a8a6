//! The golden vectors of Tesla's formats: float32 into each format, and the stochastic thresholds.

use smallfloat_oracle::{
    Dyadic, Exact, Flags, OracleFormat, Rounding, Subnormals, Table, Value, convert, formats, preset,
};

/// F32 bits, code, the paper's flags.
type Row = (u32, u64, &'static str);

/// A format by the name that the tables have for it.
fn format(name: &str) -> OracleFormat {
    let bias = |bias: &str| bias.parse().expect("a bias");
    match name.split_once(":bias=") {
        Some(("cfloat8_1_4_3", number)) => formats::cfloat8_1_4_3(bias(number)),
        Some(("cfloat8_1_5_2", number)) => formats::cfloat8_1_5_2(bias(number)),
        Some(("shp", number)) => formats::shp(bias(number)),
        _ if name == "uhp" => formats::UHP,
        _ => panic!("the tables have no format {name}"),
    }
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).expect("hexadecimal digits")
}

/// The fields of a table's rows, without comments.
fn fields(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let row = |line: &'static str| line.split('#').next().expect("a line").split_whitespace().collect();
    table.lines().map(row).filter(|row: &Vec<&str>| !row.is_empty())
}

/// Conversions from binary32 to nearest even, format by format.
fn from_f32() -> Vec<(OracleFormat, Vec<Row>)> {
    let mut groups: Vec<(&str, Vec<Row>)> = Vec::new();
    for row in fields(include_str!("../data/tesla-conversions.txt")) {
        let [name, bits, _, code, flags] = row[..] else { panic!("five columns: {row:?}") };
        if groups.last().is_none_or(|(last, _)| *last != name) {
            groups.push((name, Vec::new()));
        }
        let bits = u32::from_str_radix(bits, 16).expect("32 bits");
        groups.last_mut().expect("it has a group").1.push((bits, hex(code), flags));
    }
    assert_eq!(groups.iter().map(|(_, rows)| rows.len()).sum::<usize>(), 118);
    groups.into_iter().map(|(name, rows)| (format(name), rows)).collect()
}

// The rows of the first format that come out differently with gradual subnormals.
#[rustfmt::skip]
const GRADUAL: &[Row] = &[
    (0x3A000000, 0x00, "U"), (0x3A800000, 0x00, "U"), (0x3AC00000, 0x01, "U"), (0x3B200000, 0x01, "U"),
    (0x3BE00000, 0x04, "U"), (0x3C000000, 0x04, "-"), (0x3C380000, 0x06, "U"), (0x3C7FFFFF, 0x08, "U"),
];

fn check_rows(format: &OracleFormat, rows: &[Row]) {
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
    for (format, rows) in from_f32() {
        check_rows(&format, &rows);
    }
    check_rows(&OracleFormat { subnormals: Subnormals::Gradual, ..formats::cfloat8_1_4_3(7) }, GRADUAL);
}

#[test]
fn inexact_is_set_exactly_when_the_value_changed() {
    for (format, rows) in from_f32() {
        let (table, policy) = (Table::new(&format), preset("tesla", &format));
        for (bits, ..) in rows {
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
    let rows: Vec<_> = fields(include_str!("../data/tesla-thresholds.txt")).collect();
    assert_eq!(rows.len(), 15);
    for row in rows {
        let [name, bits, lo, hi, flag, threshold] = row[..] else { panic!("six columns: {row:?}") };
        let (format, overflow) = (format(name), flag == "O");
        let [bits, lo, hi, threshold] = [bits, lo, hi, threshold].map(hex);
        let table = Table::new(&format);
        for (r, code, over) in [(threshold - 1, lo, false), (threshold, hi, overflow)] {
            let policy = preset("tesla", &format).with_rounding(Rounding::StochasticA { n: 32, r });
            for (sign, sign_bit) in [(0, 0), (1 << 31, format.sign_bit())] {
                let (got, flags) = convert(sign | bits, &formats::BINARY32, &table, &policy);
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
