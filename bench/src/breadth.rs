//! Groups of the report beside its main ones: rare roundings, wide sources, codes of 16 bits,
//! packed codes.

use std::cell::RefCell;
use std::hint::black_box;

use smallfloat::random::Philox;
use smallfloat::{Format, RandomBits, Rounding};
use smallfloat_kernels::{Ars5, Decoder, Elementwise, Encoder, Generator, Level, Nibbles};
use smallfloat_kernels::{F16, RandomWords, Recode, pack4, pack6, unpack4, unpack6};

use crate::peers::{self, add_peers};
use crate::{Case, data, limits, lines, time};

/// Rows of a table: names, Gelem/s, ratios to the limit.
type Rows = Vec<(String, f64, f64)>;

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

/// Every deterministic mode into bytes, and every source.
pub fn modes(length: usize, rounds: usize) -> Rows {
    const LIMIT: &str = "limit: read f32, write u8, for modes";
    const WIDE: &str = "limit: read f64, write u8";
    let x = data::class("normal", length);
    let wide: Vec<f64> = x.iter().map(|&x| f64::from(x) * 1.000_000_1).collect();
    let (x, wide, buffer) = (&x, &wide, &RefCell::new(vec![0_u8; length]));
    let mut cases = vec![
        Case::new(LIMIT, LIMIT, || limits::f32_to_u8(black_box(x), &mut buffer.borrow_mut())),
        Case::new(WIDE, WIDE, || limits::f64_to_u8(black_box(wide), &mut buffer.borrow_mut())),
    ];
    for name in ["cfloat8_1_4_3:bias=7", "e4m3fn"] {
        let target = format(name);
        for &rounding in Rounding::DETERMINISTIC {
            let projection = target.default_projection().with_rounding(rounding);
            let encoder = Encoder::<f32>::new(&target, &projection).unwrap();
            cases.push(Case::new(format!("f32 to {name}, {}", rounding.name()), LIMIT, move || {
                black_box(encoder.encode(black_box(x), &mut buffer.borrow_mut()));
            }));
        }
        let encoder = Encoder::<f64>::new(&target, &target.default_projection()).unwrap();
        let portable = encoder.clone().with_level(Level::Portable);
        cases.push(Case::new(format!("f64 to {name}"), WIDE, move || {
            black_box(encoder.encode(black_box(wide), &mut buffer.borrow_mut()));
        }));
        cases.push(Case::new(format!("f64 to {name}, portable"), WIDE, move || {
            black_box(portable.encode(black_box(wide), &mut buffer.borrow_mut()));
        }));
    }
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

/// Codes of 16 bits: encoding, stochastic rounding, decoding, and the `half` crate.
pub fn half_words(length: usize, rounds: usize) -> Rows {
    const LIMIT: &str = "limit: read f32, write u16";
    const DECODE: &str = "limit: read u16, write f32";
    let x = data::class("normal", length);
    let codes: Vec<u16> = x.iter().map(|&x| F16::from_f32(x).to_bits()).collect();
    let (x, codes) = (&x, &codes);
    let (buffer, values) = (&RefCell::new(vec![0_u16; length]), &RefCell::new(vec![0_f32; length]));
    let mut cases = vec![
        Case::new(LIMIT, LIMIT, || limits::f32_to_u16(black_box(x), &mut buffer.borrow_mut())),
        Case::new(DECODE, DECODE, || limits::u16_to_f32(black_box(codes), &mut values.borrow_mut())),
    ];
    for name in ["shp:bias=31", "uhp", "binary16", "bfloat16"] {
        let target = format(name);
        let encoder = Encoder::<f32>::new(&target, &target.default_projection()).unwrap();
        let only = encoder.clone();
        let portable = encoder.clone().with_level(Level::Portable);
        cases.push(Case::new(format!("encode {name}"), LIMIT, move || {
            black_box(encoder.encode(black_box(x), &mut buffer.borrow_mut()));
        }));
        cases.push(Case::new(format!("encode {name}, uncounted"), LIMIT, move || {
            only.encode_uncounted(black_box(x), &mut buffer.borrow_mut());
        }));
        cases.push(Case::new(format!("encode {name}, portable"), LIMIT, move || {
            black_box(portable.encode(black_box(x), &mut buffer.borrow_mut()));
        }));
        let bits = RandomBits::new(32, 0).unwrap();
        let projection = target.default_projection().with_rounding(Rounding::StochasticA(bits));
        let stochastic = Encoder::<f32>::for_length(&target, &projection, usize::MAX).unwrap();
        let generators: [Generator; 2] =
            [Ars5 { seed: 1, stream: 2 }.into(), Philox { seed: 1, stream: 2 }.into()];
        for generator in generators {
            let stochastic = stochastic.clone();
            cases.push(Case::new(format!("stochastic {name}, {}", generator.name()), LIMIT, move || {
                let words = RandomWords { generator, first_element: 0 };
                black_box(stochastic.encode_random(black_box(x), &mut buffer.borrow_mut(), words));
            }));
        }
        let decoder = Decoder::<f32>::new(&target, None).unwrap();
        cases.push(Case::new(format!("decode {name}"), DECODE, move || {
            decoder.decode(black_box(codes), &mut values.borrow_mut());
        }));
    }
    add_peers(&mut cases, LIMIT, peers::halves(x));
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}

/// Packed codes, and codes into codes of another format.
pub fn packing(length: usize, rounds: usize) -> Rows {
    const LIMIT: &str = "limit: copy a byte for each code";
    let codes = data::codes(length);
    let level = Level::detected();
    let packed = &RefCell::new(vec![0_u8; length]);
    let (codes, back) = (&codes, &RefCell::new(vec![0_u8; length]));
    let (half, three) = (length / 2, length / 4 * 3);
    let mut cases = vec![
        Case::new(LIMIT, LIMIT, || back.borrow_mut().copy_from_slice(black_box(codes))),
        Case::new("pack4", LIMIT, || {
            pack4(level, black_box(codes), &mut packed.borrow_mut()[..half], Nibbles::LowFirst);
        }),
        Case::new("unpack4", LIMIT, || {
            unpack4(level, black_box(&codes[..half]), &mut back.borrow_mut(), Nibbles::LowFirst);
        }),
        Case::new("pack6", LIMIT, || pack6(level, black_box(codes), &mut packed.borrow_mut()[..three])),
        Case::new("unpack6", LIMIT, || unpack6(level, black_box(&codes[..three]), &mut back.borrow_mut())),
    ];
    for (from, to) in [("cfloat8_1_4_3:bias=7", "cfloat8_1_4_3:bias=9"), ("e4m3fn", "e5m2")] {
        let to = format(to);
        let recode = Recode::new(&format(from), &to, &to.default_projection()).unwrap();
        let portable = recode.clone().with_level(Level::Portable);
        cases.push(Case::new(format!("recode {from} to {to}"), LIMIT, move || {
            black_box(recode.recode(black_box(codes), &mut back.borrow_mut()));
        }));
        cases.push(Case::new(format!("recode {from} to {to}, portable"), LIMIT, move || {
            black_box(portable.recode(black_box(codes), &mut back.borrow_mut()));
        }));
    }
    let exp = Elementwise::new(&"Exp<e4m3fn, e4m3fn>".parse().unwrap()).unwrap();
    let portable = exp.clone().with_level(Level::Portable);
    cases.push(Case::new("Exp of e4m3fn", LIMIT, move || {
        black_box(exp.unary(black_box(codes), &mut back.borrow_mut(), None));
    }));
    cases.push(Case::new("Exp of e4m3fn, portable", LIMIT, move || {
        black_box(portable.unary(black_box(codes), &mut back.borrow_mut(), None));
    }));
    time(&mut cases, rounds, 1e-3);
    lines(&cases, length)
}
