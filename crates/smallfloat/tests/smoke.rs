use smallfloat::*;
#[test]
fn smoke() {
    let f = Format::cfloat8_1_4_3(7).unwrap();
    for (bits, code, fl) in [
        (0x3C380000u32, 0x08u64, "U"),
        (0x3C37FFFF, 7, "U"),
        (0x43F80000, 0x7f, "O"),
        (0x43F7FFFF, 0x7f, "-"),
        (0xFF800000, 0xff, "O"),
        (0x7F800001, 0x7f, "I"),
        (1, 0, "DU"),
        (0x3AC00000, 2, "U"),
        (0x3C880000, 8, "-"),
    ] {
        let r = f.encode_f32(f32::from_bits(bits), &f.default_projection());
        assert_eq!((r.value, r.flags.tesla().to_string().as_str()), (code, fl), "{bits:x}");
    }
    for (bits, code, fl) in [
        (0x307FE000u32, 0x0400u64, "U"),
        (0x307FDFFF, 0, "U"),
        (0xBF800000, 0xFE00, "I"),
        (0x80000001, 0, "DU"),
        (0xA6800000, 0, "U"),
        (0x4F7FF000, 0xFC00, "O"),
        (0x7F800000, 0xFC00, "-"),
        (0xff800000, 0xfe00, "I"),
    ] {
        let f = formats::UHP;
        let r = f.encode_f32(f32::from_bits(bits), &f.default_projection());
        assert_eq!((r.value, r.flags.tesla().to_string().as_str()), (code, fl), "{bits:x}");
    }
    // stochastic thresholds
    for (bits, lo, t) in [
        (0x3F8CCCCDu32, 0x38u64, 0x33333000u64),
        (0x3C000000, 7, 0xE38E38E4),
        (0x3C3C6A7F, 7, 0x78263AAB),
        (0x3C75C28F, 7, 0x1234571D),
    ] {
        for (word, want) in [(t - 1, lo), (t, lo + 1)] {
            let how = f
                .default_projection()
                .with_rounding(Rounding::StochasticA(RandomBits::new(32, word).unwrap()));
            assert_eq!(f.encode_f32(f32::from_bits(bits), &how).value, want);
        }
    }
    for row in formats::CATALOGUE {
        let s = row.format.to_string();
        assert_eq!(s.parse::<Format>().unwrap(), row.format, "{s}");
        if row.format.width() <= 16 {
            for c in 0..=row.format.max_code() {
                let t = row.format.decode_text(c);
                let r = row.format.encode_text(&t, &row.format.default_projection()).unwrap();
                let d = row.format.decode(c);
                if !d.is_nan() {
                    assert_eq!(row.format.decode(r.value), d, "{s} {c:x} {t}");
                }
                if !d.is_nan() && row.format.classify(c) != Class::Subnormal {
                    assert_eq!(row.format.encode(d), Some(c), "{s} {c:x} {d}");
                }
            }
        }
        std::println!(
            "{s} {} {:?} {}",
            row.format.max_finite(),
            row.format.exponent_range(),
            row.format.finite_values()
        );
    }
    for x in [0.1f64, 5e-324, 1.7976931348623157e308, 123456.789, 1e22, 1e23, 9007199254740993.0, 0.3] {
        assert_eq!(formats::BINARY64.decode_text(x.to_bits()).parse::<f64>().unwrap(), x);
        std::println!("{} {:?}", formats::BINARY64.decode_text(x.to_bits()), x);
        assert_eq!(
            formats::BINARY64
                .encode_text(&std::format!("{x:?}"), &formats::BINARY64.default_projection())
                .unwrap()
                .value,
            x.to_bits()
        );
    }
    for n in [
        "cfloat8_1_4_3",
        "e4m3fm",
        "cfloat8_1_4_3:bias=64",
        "e3m2",
        "binary8p9se",
        "Binary{2, 3, Signed, Extended}",
        "binary8p4",
        "Binary{8, 3, Signed, Extended}",
        "e4m3fn:bias=8",
        "minifloat:k=8,p=4",
        "uhp:subnormals=gradual",
    ] {
        std::println!("{n}: {:?}", n.parse::<Format>().map_err(|e| e.to_string()));
    }
}
