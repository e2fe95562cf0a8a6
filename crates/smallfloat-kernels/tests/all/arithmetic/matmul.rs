//! Matrix products: against dot products, against the documented order, and for any level, blocks
//! and threads.

use crate::common::{narrow_formats, sample, scramble};
use smallfloat::formats::BINARY32;
use smallfloat::{Flags, Format, RandomBits, Rounding, project};
use smallfloat_kernels::{Accumulate, Dot, Level, Scales, Target};

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

fn codes(length: usize, mask: u8, state: &mut u64) -> Vec<u8> {
    (0..length).map(|_| scramble(state).to_le_bytes()[3] & mask).collect()
}

/// The documented order of a matrix product's element, with values from the core.
fn in_order([a, b]: [&Format; 2], x: &[u8], y: &[u8]) -> f32 {
    let value = |format: &Format, code: u8| format.decode(u64::from(code)).to_f32().unwrap_or(f32::NAN);
    let mut sums = [0_f32; 8];
    for (i, (&x, &y)) in x.iter().zip(y).enumerate() {
        sums[i % 8] += value(a, x) * value(b, y);
    }
    for half in [4, 2, 1] {
        for j in 0..half {
            sums[j] += sums[j + half];
        }
    }
    sums[0]
}

/// Bits, all NaNs alike.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

fn f32_products(dot: &Dot, matrices: [&[u8]; 2], length: usize) -> Vec<f32> {
    let count = matrices[0].len() / length * (matrices[1].len() / length);
    let mut products = vec![f32::NAN; count];
    dot.matmul_f32(matrices, length, [Scales::Tensor(1.0); 2], &mut products);
    products
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn f32_products_have_the_documented_order() {
    let mut state = 31;
    for names in [["e4m3fn"; 2], ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=15"], ["e2m1fn", "binary8p3se"]]
    {
        let [a, b] = names.map(format);
        let dot = Dot::new(&a, &b, Accumulate::F32).unwrap();
        for (rows, columns) in [(1, 1), (1, 5), (2, 3), (3, 4), (7, 9), (51, 13), (4, 200)] {
            for length in [1, 7, 8, 31, 33, 100, 257] {
                for mask in [0xff, 0x3f] {
                    let (x, y) =
                        (codes(rows * length, mask, &mut state), codes(columns * length, mask, &mut state));
                    let expected: Vec<f32> = x
                        .chunks(length)
                        .flat_map(|x| y.chunks(length).map(move |y| (x, y)))
                        .map(|(x, y)| in_order([&a, &b], x, y))
                        .collect();
                    for level in Level::available() {
                        let found = f32_products(&dot.clone().with_level(level), [&x, &y], length);
                        assert_eq!(
                            bits(&found),
                            bits(&expected),
                            "{names:?}, {level:?}, {rows}×{columns}×{length}"
                        );
                    }
                }
            }
        }
    }
}

/// Long rows go through tiles in parts, and many columns in panels.
#[test]
fn blocks_and_threads_change_nothing() {
    let (mut state, f) = (33, format("e4m3fn"));
    let dot = Dot::new(&f, &f, Accumulate::F32).unwrap();
    for (rows, columns, length) in
        [(5, 6, 2500), (70, 1100, 40), (2, 3, 9000), (1, 700, 1000), (100, 5, 1030)]
    {
        let (x, y) = (codes(rows * length, 0xbf, &mut state), codes(columns * length, 0xbf, &mut state));
        let expected: Vec<f32> = x
            .chunks(length)
            .flat_map(|x| y.chunks(length).map(move |y| (x, y)))
            .map(|(x, y)| in_order([&f, &f], x, y))
            .collect();
        for level in Level::available() {
            let dot = dot.clone().with_level(level);
            for threads in [1, 2, 3, 16] {
                let found = in_pool(threads, || f32_products(&dot, [&x, &y], length));
                assert_eq!(
                    bits(&found),
                    bits(&expected),
                    "{level:?}, {threads} threads, {rows}×{columns}×{length}"
                );
            }
        }
    }
}

/// A row of a product is the product of the row: a matrix of one row takes another way.
#[test]
fn one_row_is_as_good_as_many() {
    let (mut state, f) = (35, format("cfloat8_1_4_3:bias=11"));
    let dot = Dot::new(&f, &f, Accumulate::F32).unwrap();
    let length = 333;
    let (x, y) = (codes(6 * length, 0xff, &mut state), codes(50 * length, 0xff, &mut state));
    let whole = f32_products(&dot, [&x, &y], length);
    for (row, x) in x.chunks(length).enumerate() {
        assert_eq!(bits(&f32_products(&dot, [x, &y], length)), bits(&whole[row * 50..][..50]), "row {row}");
    }
}

/// A vector by rows of every format's codes: all specials, and everything but the largest
/// exponents.
#[test]
fn a_vector_by_every_format() {
    let (mut state, f, mut compared) = (37, format("e4m3fn"), 0);
    for b in narrow_formats() {
        let Ok(dot) = Dot::new(&f, &b, Accumulate::F32) else { continue };
        for (columns, length) in [(1, 1), (6, 15), (5, 16), (7, 49), (4, 96)] {
            for mask in [0xff, 0x9f, 0x8f] {
                let (x, y) = (codes(length, 0xbf, &mut state), codes(columns * length, mask, &mut state));
                let expected: Vec<f32> = y.chunks(length).map(|y| in_order([&f, &b], &x, y)).collect();
                for level in Level::available() {
                    let found = f32_products(&dot.clone().with_level(level), [&x, &y], length);
                    assert_eq!(
                        bits(&found),
                        bits(&expected),
                        "{b}, {level:?}, {columns}×{length}, {mask:#x}"
                    );
                }
            }
        }
        compared += 1;
    }
    assert!(compared > 200 / sample(), "most formats' products are exact in binary32");
}

#[test]
fn exact_products_are_dot_products() {
    let (f, to) = (format("cfloat8_1_4_3:bias=7"), format("shp:bias=15"));
    let (projection, mut state) = (to.default_projection(), 9);
    let (rows, columns, length) = (7, 5, 33);
    let (a, b) = (codes(rows * length, 0xff, &mut state), codes(columns * length, 0xff, &mut state));
    let dot = Dot::new(&f, &f, Accumulate::Exact).unwrap();
    let mut found = vec![0; rows * columns];
    let flags = dot.matmul([&a, &b], length, Target { format: &to, projection: &projection }, &mut found);
    let mut expected_flags = smallfloat::Flags::NONE;
    for (i, code) in found.iter().enumerate() {
        let (x, y) = (&a[i / columns * length..][..length], &b[i % columns * length..][..length]);
        let expected = dot.dot(x, y, &to, &projection);
        expected_flags |= expected.flags;
        assert_eq!(u64::from(*code), expected.value, "{i}");
    }
    assert_eq!(flags, expected_flags);
    let products = f32_products(&dot, [&a, &b], length);
    for (i, product) in products.iter().enumerate() {
        let (x, y) = (&a[i / columns * length..][..length], &b[i % columns * length..][..length]);
        let expected = dot.dot(x, y, &BINARY32, &BINARY32.default_projection());
        assert_eq!(u64::from(product.to_bits()), expected.value, "{i}");
    }
}

/// Codes are the sums' projections, with their flags.
#[test]
fn f32_products_as_codes() {
    let (f, mut state) = (format("e5m2"), 12);
    let (rows, columns, length) = (4, 6, 50);
    for name in ["e4m3fn", "cfloat8_1_5_2:bias=3", "binary16", "shp:bias=20"] {
        let to = format(name);
        let projection = to.default_projection();
        for mask in [0xff, 0x3f, 0xb0] {
            let (a, b) = (codes(rows * length, mask, &mut state), codes(columns * length, mask, &mut state));
            let dot = Dot::new(&f, &f, Accumulate::F32).unwrap();
            let mut found = vec![0; rows * columns];
            let flags =
                dot.matmul([&a, &b], length, Target { format: &to, projection: &projection }, &mut found);
            let sums = f32_products(&dot, [&a, &b], length);
            let mut expected_flags = smallfloat::Flags::NONE;
            for (code, sum) in found.iter().zip(sums) {
                let datum = BINARY32.decode(u64::from(sum.to_bits()));
                let expected = project(datum.into(), &to, &projection);
                expected_flags |= expected.flags;
                assert_eq!(u64::from(*code), expected.value, "{name}, {sum}");
            }
            assert_eq!(flags, expected_flags, "{name}");
        }
    }
}

/// Kernels for one row, for few and for whole tiles, blocks that are whole partial sums and others,
/// longer and shorter than what is gone through at once, with scales on one side and on both.
#[test]
fn scales_of_rows_and_blocks() {
    let (f, mut state) = (format("e4m3fn"), 14);
    for &level in Level::ALL {
        let dot = Dot::new(&f, &f, Accumulate::F32).unwrap().with_level(level);
        for (rows, columns) in [(1, 4), (3, 4), (6, 1), (7, 9), (13, 17), (50, 33)] {
            for (length, block) in [(70, 32), (64, 16), (33, 5), (70, 24), (1100, 600), (160, 128)] {
                check_scales(&dot, &f, (rows, columns), (length, block), &mut state);
            }
        }
    }
}

/// Few rows, whose products are those of vectors with rows of codes: numbers of rows beside those
/// that go together, odd numbers of blocks, last ones that are shorter, formats with a sign and
/// without.
#[test]
fn scales_of_blocks_of_few_rows() {
    let mut state = 15;
    for name in ["e4m3fn", "e2m1fn", "ue5m3"] {
        let f = format(name);
        for &level in Level::ALL {
            let dot = Dot::new(&f, &f, Accumulate::F32).unwrap().with_level(level);
            for (rows, columns) in [(1, 1), (1, 71), (2, 64), (3, 9), (4, 8), (5, 67)] {
                for (length, block) in
                    [(16, 16), (80, 16), (100, 16), (96, 32), (97, 32), (192, 64), (300, 128)]
                {
                    check_scales(&dot, &f, (rows, columns), (length, block), &mut state);
                }
            }
        }
    }
}

/// More rows of B than a thread takes at once.
#[test]
fn scales_of_blocks_of_many_columns() {
    let (f, mut state) = (format("e5m2"), 16);
    let dot = Dot::new(&f, &f, Accumulate::F32).unwrap();
    for rows in [1, 2] {
        check_scales(&dot, &f, (rows, 2500), (64, 32), &mut state);
    }
}

#[expect(clippy::cast_precision_loss, reason = "small integers")]
fn check_scales(
    dot: &Dot,
    f: &Format,
    (rows, columns): (usize, usize),
    (length, block): (usize, usize),
    state: &mut u64,
) {
    // No NaN, no infinity, and no code that is too wide.
    let mask = if f.width() == 4 { 0xf } else { 0xbf };
    let (a, b) = (codes(rows * length, mask, state), codes(columns * length, mask, state));
    let blocks = length.div_ceil(block);
    let of_rows: Vec<f32> = (0..rows).map(|i| [0.3, 7.0, 1e-3][i % 3]).collect();
    let of_a: Vec<f32> = (0..rows * blocks).map(|i| 3.7 - 0.1 * i as f32).collect();
    let of_b: Vec<f32> = (0..columns * blocks).map(|i| 0.1 + i as f32).collect();
    for of_blocks in [false, true] {
        let x = |row: usize, j: usize| if of_blocks { of_a[row * blocks + j] } else { of_rows[row] };
        let a_scales = if of_blocks { Scales::Blocks(block, &of_a) } else { Scales::Rows(&of_rows) };
        let mut found = vec![0.0; rows * columns];
        dot.matmul_f32([&a, &b], length, [a_scales, Scales::Blocks(block, &of_b)], &mut found);
        for (i, product) in found.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let (a, b) = (&a[row * length..][..length], &b[column * length..][..length]);
            let mut expected = 0.0;
            for (j, (a, b)) in a.chunks(block).zip(b.chunks(block)).enumerate() {
                let part = in_order([f, f], a, b) * x(row, j) * of_b[column * blocks + j];
                expected = if j == 0 { part } else { expected + part };
            }
            let what = format!("{rows} by {columns}, {length} in blocks of {block}, {i}");
            assert_eq!(product.to_bits(), expected.to_bits(), "{what}");
        }
    }
}

/// Sums in binary32 are projected by any mode, a stochastic one with the bits that it names; exact
/// sums are rounded only once.
#[test]
fn modes_of_products_as_codes() {
    let (f, to) = (format("e4m3fn"), format("e5m2"));
    let products = |accumulate, rounding: Rounding, x: &[u8], y: &[u8]| {
        let mut codes = [0; 1];
        let projection = to.default_projection().with_rounding(rounding);
        let flags = Dot::new(&f, &f, accumulate).unwrap().matmul(
            [x, y],
            x.len(),
            Target { format: &to, projection: &projection },
            &mut codes,
        );
        (codes[0], flags)
    };
    // 1.125 · 1 lies in the middle between 1 and 1.25.
    for (word, expected) in [(0, 0x3c), (3, 0x3c), (4, 0x3d), (7, 0x3d)] {
        let rounding = Rounding::StochasticA(RandomBits::new(3, word).unwrap());
        for accumulate in [Accumulate::F32, Accumulate::Exact] {
            let found = products(accumulate, rounding, &[0x39], &[0x38]);
            assert_eq!(found, (expected, Flags::INEXACT), "{accumulate:?}, {word}");
        }
    }
    // 2 · 448² is a bfloat16, and 2^-18 more lies above it, but not in binary32.
    let (to, x) = (format("bfloat16"), [0x7e_u8, 0x7e, 0x01]);
    for (rounding, exact) in [(Rounding::TowardZero, 0x48c4), (Rounding::TowardPositive, 0x48c5)] {
        for (accumulate, expected) in [(Accumulate::F32, 0x48c4), (Accumulate::Exact, exact)] {
            let projection = to.default_projection().with_rounding(rounding);
            let mut codes = [0; 1];
            Dot::new(&f, &f, accumulate).unwrap().matmul(
                [&x, &x],
                3,
                Target { format: &to, projection: &projection },
                &mut codes,
            );
            assert_eq!(codes[0], expected, "{accumulate:?}, {rounding:?}");
        }
    }
}

/// A product of zeros and a negative scale is −0, and so is the sum of two such.
#[test]
fn zeros_of_blocks_keep_their_signs() {
    let f = format("e4m3fn");
    for &level in Level::ALL {
        let dot = Dot::new(&f, &f, Accumulate::F32).unwrap().with_level(level);
        for rows in [1, 7] {
            let (a, b) = (vec![0x00_u8; 4 * rows], [0x38_u8; 4]);
            for size in [4, 2, 1] {
                let (scales, mut found) = (vec![-1.0; rows * 4 / size], vec![1.0; rows]);
                let scales = [Scales::Blocks(size, &scales), Scales::Tensor(1.0)];
                dot.matmul_f32([&a, &b], 4, scales, &mut found);
                assert!(found.iter().all(|x| x.to_bits() == 1 << 31), "{rows} rows, {size}: {found:?}");
            }
        }
    }
}
