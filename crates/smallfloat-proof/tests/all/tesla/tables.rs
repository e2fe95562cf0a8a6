//! Tables 2 to 5 of the requirements page for Tesla's formats: every row, typed in as bits.

use smallfloat::formats::{BFLOAT16, BINARY32, UHP};
use smallfloat::random::{Philox, philox4x32_10};
use smallfloat::{Flags, Format, Projection, RandomBits, Rounding, convert, text};
use smallfloat_proof::format;

fn with_bias(name: &str, bias: u32) -> Format {
    format(&format!("{name}:bias={bias}"))
}

/// To f32 bits.
fn decoded(from: &Format, code: u64) -> (u64, Flags) {
    let r = convert(code, from, &BINARY32, &BINARY32.default_projection());
    (r.value, r.flags)
}

/// From f32 bits: the code and the paper's flags.
fn encoded(to: &Format, bits: u64, projection: &Projection) -> (u64, String) {
    let r = convert(bits, &BINARY32, to, projection);
    (r.value, r.flags.tesla().to_string())
}

/// A code and its f32 are the same number, both ways and with both signs; `D` says whether the code
/// is denormal.
fn same(f: &Format, code: u64, bits: u64, denormal: bool) {
    let flags = if denormal { Flags::DENORMAL } else { Flags::NONE };
    let sign = 1 << (f.width() - 1);
    for (code, bits) in [(code, bits), (code | sign, bits | 1 << 31)] {
        assert_eq!(decoded(f, code), (bits, flags), "{f} {code:#x}");
        assert_eq!(encoded(f, bits, &f.default_projection()), (code, "-".to_string()), "{f} {bits:#x}");
        if f.width() == 8 {
            let r = convert(code, f, &BFLOAT16, &BFLOAT16.default_projection());
            assert_eq!((r.value << 16, r.flags), (bits, flags), "{f} {code:#x}");
        }
    }
}

type Ends = [u64; 4];

/// The f32 that a printed value means, by Rust's own parser.
fn parsed(printed: &str) -> u32 {
    f32::to_bits(printed.parse().expect("a number"))
}

/// Bias; f32 bits of cfloat8_1_4_3's codes 08, 7F, 01, 07 and the value of 7F; of cfloat8_1_5_2's
/// 04, 7F, 01, 03 and 7F.
#[rustfmt::skip]
const TABLE_2_3: [(u32, Ends, &str, Ends, &str); 9] = [
    (0, [0x40000000, 0x47700000, 0x3E000000, 0x3F600000], "61440.0", [0x40000000, 0x4F600000, 0x3E800000, 0x3F400000], "3758096384.0"),
    (1, [0x3F800000, 0x46F00000, 0x3D800000, 0x3EE00000], "30720.0", [0x3F800000, 0x4EE00000, 0x3E000000, 0x3EC00000], "1879048192.0"),
    (2, [0x3F000000, 0x46700000, 0x3D000000, 0x3E600000], "15360.0", [0x3F000000, 0x4E600000, 0x3D800000, 0x3E400000], "939524096.0"),
    (3, [0x3E800000, 0x45F00000, 0x3C800000, 0x3DE00000], "7680.0", [0x3E800000, 0x4DE00000, 0x3D000000, 0x3DC00000], "469762048.0"),
    (31, [0x30800000, 0x37F00000, 0x2E800000, 0x2FE00000], "2.861022949e-05", [0x30800000, 0x3FE00000, 0x2F000000, 0x2FC00000], "1.75"),
    (60, [0x22000000, 0x29700000, 0x20000000, 0x21600000], "5.329070518e-14", [0x22000000, 0x31600000, 0x20800000, 0x21400000], "3.259629011e-09"),
    (61, [0x21800000, 0x28F00000, 0x1F800000, 0x20E00000], "2.664535259e-14", [0x21800000, 0x30E00000, 0x20000000, 0x20C00000], "1.629814506e-09"),
    (62, [0x21000000, 0x28700000, 0x1F000000, 0x20600000], "1.33226763e-14", [0x21000000, 0x30600000, 0x1F800000, 0x20400000], "8.149072528e-10"),
    (63, [0x20800000, 0x27F00000, 0x1E800000, 0x1FE00000], "6.661338148e-15", [0x20800000, 0x2FE00000, 0x1F000000, 0x1FC00000], "4.074536264e-10"),
];

#[test]
fn table_2_and_3_every_cell() {
    for (bias, e143, max143, e152, max152) in TABLE_2_3 {
        let f = with_bias("cfloat8_1_4_3", bias);
        for (code, bits) in [0x08, 0x7F, 0x01, 0x07].into_iter().zip(e143) {
            same(&f, code, bits, code < 0x08);
        }
        assert_eq!(e143[1], u64::from(parsed(max143)));
        let f = with_bias("cfloat8_1_5_2", bias);
        for (code, bits) in [0x04, 0x7F, 0x01, 0x03].into_iter().zip(e152) {
            same(&f, code, bits, code < 0x04);
        }
        assert_eq!(e152[1], u64::from(parsed(max152)));
    }
}

#[test]
fn table_2_and_3_property_for_all_biases() {
    for bias in 0..64 {
        let field = |e: u64| (e - u64::from(bias)) << 23;
        let f = with_bias("cfloat8_1_4_3", bias);
        same(&f, 0x08, field(128), false);
        same(&f, 0x7F, field(142) | 0x70_0000, false);
        same(&f, 0x01, field(124), true);
        let f = with_bias("cfloat8_1_5_2", bias);
        same(&f, 0x04, field(128), false);
        same(&f, 0x7F, field(158) | 0x60_0000, false);
        same(&f, 0x01, field(125), true);
    }
}

#[test]
fn shp_ends() {
    for (bias, bits, max) in [
        (0, [0x3A800000, 0x3F7FC000, 0x40000000, 0x4F7FE000], "4292870144"),
        (15, [0x33000000, 0x37FFC000, 0x38800000, 0x47FFE000], "131008"),
        (31, [0x2B000000, 0x2FFFC000, 0x30800000, 0x3FFFE000], "1.9990234375"),
        (63, [0x1B000000, 0x1FFFC000, 0x20800000, 0x2FFFE000], "2047p-42"),
    ] {
        let f = with_bias("shp", bias);
        for (code, bits) in [0x0001, 0x03FF, 0x0400, 0x7FFF].into_iter().zip(bits) {
            same(&f, code, bits, code < 0x0400);
        }
        let r = f.encode_text(max, &f.default_projection()).expect("a number");
        assert_eq!((r.value, r.flags), (0x7FFF, Flags::NONE), "{max}");
    }
}

#[test]
fn uhp_ends() {
    let rows = [(0x0400, 0x30800000), (0x7C00, 0x3F800000), (0xFBFF, 0x4F7FE000), (0xFC00, 0x7F800000)];
    for (code, bits) in rows {
        assert_eq!(decoded(&UHP, code), (bits, Flags::NONE), "{code:#x}");
        assert_eq!(encoded(&UHP, bits, &UHP.default_projection()), (code, "-".to_string()), "{bits:#x}");
    }
    for code in 0xFC01..=0xFFFF {
        assert_eq!(decoded(&UHP, code), (0x7FC00000, Flags::INVALID), "{code:#x}");
    }
    for code in 0x0001..=0x03FF {
        assert_eq!(decoded(&UHP, code), (0, Flags::DENORMAL), "{code:#x}");
    }
}

/// Rows of a table of `smallfloat-oracle`: its fields without the comment.
fn rows<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let fields = |line: &'static str| line.split('#').next().expect("a line").split_whitespace().collect();
    let rows = table.lines().map(fields).filter(|row: &Vec<&str>| !row.is_empty());
    rows.map(|row| row.try_into().expect("a field for each column")).collect()
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).expect("hexadecimal digits")
}

/// Table 4: format, f32 bits, the value as the table prints it, code, the paper's flags.
fn table_4() -> Vec<(&'static str, u64, &'static str, u64, &'static str)> {
    let table = rows(include_str!("../../../../smallfloat-oracle/data/tesla-conversions.txt"));
    assert_eq!(table.len(), 118);
    table
        .into_iter()
        .map(|[name, bits, printed, code, flags]| (name, hex(bits), printed, hex(code), flags))
        .collect()
}

#[test]
fn table_4_every_row() {
    for (name, bits, printed, code, flags) in table_4() {
        let f = format(name);
        let projection = f.default_projection();
        assert_eq!(encoded(&f, bits, &projection), (code, flags.to_string()), "{name} {bits:08X}");
        // The printed value names the same f32, and rounds to the same code once more through
        // bfloat16's source path.
        if bits & 0x7FFF_FFFF <= 0x7F80_0000 {
            assert_eq!(u64::from(parsed(printed)), bits, "{printed}");
            let r = BINARY32.encode_text(printed, &BINARY32.default_projection()).expect("a number");
            assert_eq!(r.value, bits, "{printed}");
        }
        if bits.trailing_zeros() >= 16 {
            let r = f.encode_bf16_bits(u16::try_from(bits >> 16).unwrap(), &projection);
            assert_eq!(
                (r.value, r.flags.tesla().to_string()),
                (code, flags.to_string()),
                "{name} {bits:08X}"
            );
        }
    }
}

/// Inputs where the gradual reading of the denormals differs: cfloat8_1_4_3, bias 7.
#[test]
fn table_4_rows_that_differ_with_gradual_denormals() {
    let gradual = format("cfloat8_1_4_3:bias=7,subnormals=gradual");
    let differing = [
        (0x3A000000, 0x00, "U"),
        (0x3A000001, 0x00, "U"),
        (0x39FFFFFF, 0x00, "U"),
        (0x3A800000, 0x00, "U"),
        (0x3AC00000, 0x01, "U"),
        (0x3B200000, 0x01, "U"),
        (0x3BE00000, 0x04, "U"),
        (0x3BE00001, 0x04, "U"),
        (0x3C000000, 0x04, "-"),
        (0x3C37FFFF, 0x06, "U"),
        (0x3C380000, 0x06, "U"),
        (0x3C380001, 0x06, "U"),
        (0x3C7FFFFF, 0x08, "U"),
    ];
    for (bits, code, flags) in differing {
        let result = encoded(&gradual, bits, &gradual.default_projection());
        assert_eq!(result, (code, flags.to_string()), "{bits:08X}");
    }
    // Every other row of the table keeps its code and its flags.
    for (_, bits, _, code, flags) in table_4().into_iter().filter(|row| row.0 == "cfloat8_1_4_3:bias=7") {
        if !differing.iter().any(|row| row.0 == bits) {
            let result = encoded(&gradual, bits, &gradual.default_projection());
            assert_eq!(result, (code, flags.to_string()), "{bits:08X}");
        }
    }
}

fn stochastic(f: &Format, word: u64) -> Projection {
    let bits = RandomBits::new(32, word).expect("32 bits");
    f.default_projection().with_rounding(Rounding::StochasticA(bits))
}

#[test]
fn table_5_thresholds() {
    let table = rows(include_str!("../../../../smallfloat-oracle/data/tesla-thresholds.txt"));
    assert_eq!(table.len(), 15);
    for [name, bits, lo, hi, flag, threshold] in table {
        let (f, overflows) = (format(name), flag == "O");
        let [bits, lo, hi, threshold] = [bits, lo, hi, threshold].map(hex);
        let sign = 1 << (f.width() - 1);
        for (bits, lo, hi) in [(bits, lo, hi), (bits | 1 << 31, lo | sign, hi | sign)] {
            let result = |word| {
                let r = convert(bits, &BINARY32, &f, &stochastic(&f, word));
                (r.value, r.flags.contains(Flags::OVERFLOW))
            };
            for word in [0, 1, threshold / 2, threshold - 1] {
                assert_eq!(result(word), (lo, false), "{name} {bits:08X} {word:08X}");
            }
            for word in [threshold, threshold + 1, u64::from(u32::MAX)] {
                assert_eq!(result(word), (hi, overflows), "{name} {bits:08X} {word:08X}");
            }
        }
    }
}

#[test]
fn table_5_philox_known_answers() {
    let all = u32::MAX;
    let answers = [
        ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        ([all; 4], [all; 2], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ];
    for (counter, key, words) in answers {
        assert_eq!(philox4x32_10(counter, key), words);
    }
    // Addressing: counter = (element / 4, stream), key = seed, low words first.
    let rng = Philox { seed: 0x299f31d0_a4093822, stream: 0x03707344_13198a2e };
    let first = 4 * 0x0000_0008_85a3_08d3_u64;
    let counter = [0x85a308d3, 0x00000008, 0x13198a2e, 0x03707344];
    let words = philox4x32_10(counter, [0xa4093822, 0x299f31d0]);
    for i in 0..4 {
        assert_eq!(rng.word(first + i), words[usize::try_from(i).unwrap()]);
    }
    let rng = Philox { seed: 0, stream: 0 };
    assert_eq!([0, 1, 2, 3].map(|i| rng.word(i)), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
}

#[test]
fn table_5_sixteen_copies() {
    let f = with_bias("cfloat8_1_4_3", 7);
    for (seed, codes) in [
        (0, "38 39 39 39 39 38 39 38 38 38 38 38 39 38 39 38"),
        (42, "39 38 38 38 39 38 39 38 39 39 39 39 39 39 39 38"),
    ] {
        let rng = Philox { seed, stream: 0 };
        let copies: Vec<String> = (0..16)
            .map(|i| convert(0x3F880000, &BINARY32, &f, &stochastic(&f, u64::from(rng.word(i)))).value)
            .map(|code| format!("{code:02X}"))
            .collect();
        assert_eq!(copies.join(" "), codes, "seed {seed}");
    }
}

#[test]
fn table_5_counts_of_65536_elements() {
    let f = with_bias("cfloat8_1_4_3", 7);
    let rng = Philox { seed: 0, stream: 0 };
    // 1.03125: ν = 1/4. 2^−7: ν = 1/9, in the hole.
    for (bits, hi, count) in [(0x3F840000, 0x39, 16361), (0x3C000000, 0x08, 7301)] {
        let ups = (0..65536)
            .filter(|&i| convert(bits, &BINARY32, &f, &stochastic(&f, u64::from(rng.word(i)))).value == hi)
            .count();
        assert_eq!(ups, count, "{bits:08X}");
    }
}

/// Rows of the tables as text: no input of the tables passes through a second rounding on its way.
#[test]
fn table_4_values_as_decimal_text() {
    let f = with_bias("cfloat8_1_4_3", 7);
    for (text_form, code, flags) in [
        ("0.01123046875", 0x08, "U"),
        ("0.01123046874999999999999999999999999999999999", 0x07, "U"),
        ("0.00048828125", 0x00, "U"),
        ("0.000488281250000000000000000000000000000000001", 0x01, "U"),
        ("496", 0x7F, "O"),
        ("495.999999999999999999999999999999999999999999", 0x7F, "-"),
        ("1e-400", 0x00, "U"),
        ("-1e400", 0xFF, "O"),
    ] {
        let r = f.encode_text(text_form, &f.default_projection()).expect("a number");
        assert_eq!((r.value, r.flags.tesla().to_string()), (code, flags.to_string()), "{text_form}");
    }
    assert!(text::parse("1.2.3").is_err());
}
