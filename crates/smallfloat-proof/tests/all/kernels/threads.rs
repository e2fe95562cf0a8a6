//! The kernels give the core's bytes, whatever the threads, the pieces, the lengths and the
//! offsets.

use rayon::ThreadPoolBuilder;
use smallfloat::random::Philox;
use smallfloat::{
    FlagPolicy, Flags, Format, Projection, RandomBits, Rounded, Rounding, convert, convert_with, formats,
};
use smallfloat_kernels::{ClassSum, ClassSums, Decoder, Element, Encoder, EventCounts, RandomWords};
use smallfloat_proof::Scramble;

const POOLS: [usize; 4] = [1, 2, 3, 7];

/// A stochastic mode, yet without its bits.
type Mode = fn(RandomBits) -> Rounding;

fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
}

/// Values of all magnitudes, most of them within the range of small formats; zeros and subnormals
/// among them.
fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut scramble = Scramble(seed);
    (0..count)
        .map(|_| {
            let bits = u32::try_from(scramble.bits() >> 32).unwrap();
            match scramble.below(16) {
                0 => f32::from_bits(bits),
                1 => f32::from_bits(bits & 0x80ff_ffff),
                2 => 0.0,
                _ => f32::from_bits(bits & 0x83ff_ffff | 0x3c00_0000),
            }
        })
        .map(|x| if x.is_finite() { x } else { -1.5 })
        .collect()
}

fn stochastic(name: &str, count: u32, mode: Mode) -> (Format, Encoder<f32>) {
    let format: Format = name.parse().unwrap();
    let projection = format.default_projection().with_rounding(mode(RandomBits::new(count, 0).unwrap()));
    (format, Encoder::<f32>::for_length(&format, &projection, usize::MAX).unwrap())
}

/// The core with Philox's words, element by element.
/// The core's conversion with the flags that kernels have.
fn by_tesla<T: Element>(x: T, format: &Format, projection: &Projection) -> Rounded<u64> {
    convert_with(x.bits(), &T::FORMAT, format, projection, FlagPolicy::TESLA)
}

fn by_core(source: &[f32], format: &Format, mode: Mode, count: u32, random: RandomWords) -> (Vec<u8>, Flags) {
    let mut flags = Flags::NONE;
    let codes = source
        .iter()
        .zip(random.first_element..)
        .map(|(&x, element)| {
            let word = random.generator.block(element / 4)[usize::try_from(element % 4).unwrap()];
            let bits = RandomBits::from_word32(count, word).unwrap();
            let projection = format.default_projection().with_rounding(mode(bits));
            let result = by_tesla(x, format, &projection);
            flags |= result.flags;
            u8::try_from(result.value).unwrap()
        })
        .collect();
    (codes, flags)
}

#[test]
fn random_encoding_does_not_depend_on_threads_or_pieces() {
    let source = values(300_001, 1);
    // The last start crosses 2^32, where the counter's second word changes.
    for (first_element, seed) in [(0, 0), (3, 7), ((1 << 34) - 5, u64::MAX)] {
        let random =
            RandomWords { generator: Philox { seed, stream: 0x1234_5678_9abc_def0 }.into(), first_element };
        let cases: [(&str, u32, Mode); 3] = [
            ("cfloat8_1_4_3:bias=7", 32, Rounding::StochasticA),
            ("e5m2", 3, Rounding::StochasticB),
            ("binary8p3se", 1, Rounding::StochasticC),
        ];
        for (name, count, mode) in cases {
            let (format, encoder) = stochastic(name, count, mode);
            let (expected, flags) = by_core(&source, &format, mode, count, random);
            for threads in POOLS {
                let mut codes = vec![0_u8; source.len()];
                let events = in_pool(threads, || encoder.encode_random(&source, &mut codes, random));
                assert!(codes == expected, "{name}, {threads} threads");
                assert_eq!(events.flags, flags, "{name}, {threads} threads");
            }
            for piece in [1000, 65_536, 65_537, 299_999] {
                let mut codes = vec![0_u8; source.len()];
                let mut start = 0;
                for (source, codes) in source.chunks(piece).zip(codes.chunks_mut(piece)) {
                    let here = RandomWords { first_element: first_element + start, ..random };
                    encoder.encode_random(source, codes, here);
                    start += source.len() as u64;
                }
                assert!(codes == expected, "{name}, pieces of {piece}");
            }
        }
    }
}

/// What the kernels count, counted from the core's results.
fn count_by_core<T: Element>(source: &[T], format: &Format) -> (Vec<u16>, EventCounts) {
    let projection = format.default_projection();
    let mut events = EventCounts::new(source.len() as u64);
    let codes = source
        .iter()
        .map(|x| {
            let result = by_tesla(*x, format, &projection);
            let (datum, zero) = (T::FORMAT.decode(x.bits()), format.decode(result.value).is_zero());
            events.flags |= result.flags;
            events.overflowed += u64::from(result.flags.contains(Flags::OVERFLOW));
            events.zeros += u64::from(zero);
            events.underflowed += u64::from(zero && datum.is_finite() && !datum.is_zero());
            events.nans += u64::from(datum.is_nan());
            events.infinities += u64::from(!datum.is_nan() && !datum.is_finite());
            u16::try_from(result.value).unwrap()
        })
        .collect();
    (codes, events)
}

#[test]
fn every_length_and_offset() {
    let mut source = values(700, 2);
    (source[100], source[333], source[600]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    for name in ["cfloat8_1_4_3:bias=7", "e4m3fn", "e8m0fnu", "binary8p1uf", "shp:bias=15", "uhp"] {
        let format: Format = name.parse().unwrap();
        let encoder = Encoder::<f32>::new(&format, &format.default_projection()).unwrap();
        for length in 0..=300 {
            for offset in [0, 1, 2, 3, 5, 8, 13, 255, 400] {
                let source = &source[offset..offset + length];
                let (expected, wanted) = count_by_core(source, &format);
                // The bytes around the slice stay as they are.
                let mut codes = vec![0xabcd_u16; length + 2 * offset.min(8)];
                let inside = offset.min(8)..offset.min(8) + length;
                let events = encoder.encode(source, &mut codes[inside.clone()]);
                assert_eq!(codes[inside.clone()], expected, "{name} {length} at {offset}");
                assert_eq!(events, wanted, "{name} {length} at {offset}");
                assert!(codes[..inside.start].iter().chain(&codes[inside.end..]).all(|&c| c == 0xabcd));
            }
        }
    }
}

#[test]
fn tables_do_not_depend_on_threads() {
    let source = values(1_000_003, 3);
    for name in ["cfloat8_1_5_2:bias=31", "binary16", "binary12p1ue"] {
        let format: Format = name.parse().unwrap();
        let encoder = Encoder::<f32>::new(&format, &format.default_projection()).unwrap();
        let (expected, wanted) = count_by_core(&source, &format);
        for threads in POOLS {
            let mut codes = vec![0_u16; source.len()];
            let events = in_pool(threads, || encoder.encode(&source, &mut codes));
            assert!(codes == expected, "{name}, {threads} threads");
            assert_eq!(events, wanted, "{name}, {threads} threads");
        }
    }
}

#[test]
fn decoders_give_the_core_s_bits() {
    for name in ["cfloat8_1_4_3:bias=63", "e4m3fnuz", "e8m0fnu", "uhp", "binary8p1se", "binary16", "e2m1fn"] {
        let format: Format = name.parse().unwrap();
        let projection = formats::BINARY64.default_projection();
        let codes: Vec<u16> =
            (0..200_000_u64).map(|i| u16::try_from(i & format.max_code()).unwrap()).collect();
        let decoder = Decoder::<f64>::new(&format, Some(&projection)).unwrap();
        for threads in POOLS {
            let mut values = vec![0_f64; codes.len()];
            in_pool(threads, || decoder.decode(&codes, &mut values));
            for (&code, value) in codes.iter().zip(&values) {
                let expected = convert(code.into(), &format, &formats::BINARY64, &projection).value;
                assert_eq!(value.to_bits(), expected, "{name} {code:#x}");
                assert_eq!(decoder.value(code.into()).to_bits(), expected, "{name} {code:#x}");
            }
        }
    }
}

/// All that cells hold.
fn contents(cells: &ClassSums<f32>) -> String {
    let list: Vec<ClassSum> = cells.iter().collect();
    let counts = (cells.elements(), cells.zeros(), cells.nans(), cells.infinities());
    format!("{list:?} {counts:?} {:?} {} {}", cells.first_not_finite(), cells.has_negative(), cells.amax())
}

#[test]
fn cells_do_not_depend_on_threads_or_pieces() {
    let mut source = values(700_001, 4);
    (source[650_000], source[500_000]) = (f32::NAN, f32::INFINITY);
    for precision in [3, 4, 11] {
        let whole = in_pool(1, || {
            let mut cells = ClassSums::<f32>::new(precision);
            cells.add(&source);
            contents(&cells)
        });
        for threads in POOLS {
            for piece in [997, 65_536, 300_000, 1_000_000] {
                let parts = in_pool(threads, || {
                    let mut cells = ClassSums::<f32>::new(precision);
                    source.chunks(piece).for_each(|chunk| cells.add(chunk));
                    contents(&cells)
                });
                assert!(parts == whole, "precision {precision}, {threads} threads, pieces of {piece}");
            }
        }
    }
}

/// The sums that a cell holds, from the elements themselves.
#[test]
fn cells_hold_exact_sums() {
    let source = values(20_000, 5);
    let mut cells = ClassSums::<f32>::new(4);
    cells.add(&source);
    let (mut count, mut signal) = (cells.zeros(), 0.0_f64);
    for cell in cells.iter() {
        count += cell.count;
        // Σx² = n·first² + 2·first·Σ(x − first) + Σ(x − first)², in units of 2^(2·exponent).
        let (n, first, sum) = (u128::from(cell.count), u128::from(cell.first), cell.sum);
        let squares = n * first * first + 2 * first * sum + cell.sum_of_squares;
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        let part = squares as f64 * 2_f64.powi(2 * cell.exponent);
        signal += part;
    }
    let expected: f64 = source.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    assert_eq!(count, source.len() as u64);
    assert!((signal / expected - 1.0).abs() < 1e-9, "{signal} {expected}");
}
