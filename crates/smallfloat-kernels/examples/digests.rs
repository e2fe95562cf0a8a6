//! Digests of everything that the kernels compute, on fixed inputs: equal on every machine and
//! level (`just verification other-machines`).
//!
//! `digests [LEVEL]` prints rows of comma-separated values: what was computed, of which formats,
//! how many results, and the first 16 digits of the SHA-256 of codes or values (little-endian) and
//! of what was counted. Nothing in a row names the machine or the level, so two runs are compared
//! as whole files; the level goes to standard error.

use std::process::ExitCode;

use sha2::{Digest, Sha256};
use smallfloat::random::Philox;
use smallfloat::{Flags, Format, Projection, RandomBits, Rounding, Saturation, formats};
use smallfloat_kernels::{
    Accumulate, Ars5, Bf16, ClassSums, Code, Decoder, Dot, Element, Elementwise, Encoder, EventCounts, F16,
    Generator, Level, Nibbles, RandomWords, Recode, Target, pack4, pack6, unpack4, unpack6,
};

/// Formats beside the catalogue's: other biases, both readings of denormals, P3109's, flushed
/// subnormals.
const OTHERS: [&str; 14] = [
    "cfloat8_1_4_3:bias=11,subnormals=gradual",
    "cfloat8_1_4_3:bias=63",
    "cfloat8_1_5_2:bias=0",
    "cfloat8_1_5_2:bias=31,subnormals=gradual",
    "shp:bias=40",
    "shp:bias=0,subnormals=gradual",
    "binary8p1ue",
    "binary8p3se",
    "binary8p4se",
    "binary8p4uf",
    "binary6p3sf",
    "binary12p5se",
    "binary16p8ue",
    "minifloat:k=8,p=4,bias=7,subnormals=flush",
];

const SATURATIONS: [Saturation; 3] = [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone];

/// Inputs of binary32 by default projections, and in every mode into formats of at most 8 bits and
/// into wider ones, whose tables of classes are larger.
const DEFAULT: usize = 1 << 22;
const MODES: usize = 1 << 18;
const WIDE_MODES: usize = 1 << 14;

/// A generator of 64 bits with no state but a counter (splitmix64).
struct Mixed(u64);

impl Mixed {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Any bits; or, as often, a number between 2^-48 and 2^48 with few significant bits, or one
    /// beside it: values and midpoints of small formats among them.
    fn float<T: Element>(&mut self) -> T {
        let word = self.next();
        if word >> 63 == 0 {
            return T::from_bits(self.next());
        }
        let stored = T::FORMAT.trailing_bits();
        let low = [0, 0, 1, u64::MAX][usize::from((word >> 8 & 3) as u8)];
        let exponents = T::FORMAT.max_code() >> 1 >> stored;
        let exponent = (exponents / 2).wrapping_add((word >> 16) % 97).wrapping_sub(48) & exponents;
        let top = (word >> 32 & 0x1ff) << stored.saturating_sub(9) & ((1 << stored) - 1);
        let sign = (word >> 62 & 1) << (T::FORMAT.width() - 1);
        T::from_bits((sign | exponent << stored | top).wrapping_add(low))
    }

    fn floats<T: Element>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| self.float()).collect()
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[3]).collect()
    }
}

/// A row while it is being computed.
struct Row {
    what: &'static str,
    of: String,
    results: u64,
    hash: Sha256,
}

impl Row {
    fn new(what: &'static str, of: &impl ToString) -> Self {
        Self { what, of: of.to_string(), results: 0, hash: Sha256::new() }
    }

    fn codes<C: Code>(&mut self, codes: &[C]) {
        let size = C::BITS as usize / 8;
        let bytes: Vec<u8> =
            codes.iter().flat_map(|code| code.widen().to_le_bytes().into_iter().take(size)).collect();
        self.hash.update(bytes);
        self.results += codes.len() as u64;
    }

    fn values<T: Element>(&mut self, values: &[T]) {
        let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
        for x in values {
            x.push_le(&mut bytes);
        }
        self.hash.update(bytes);
        self.results += values.len() as u64;
    }

    fn flags(&mut self, flags: Flags) {
        self.hash.update([flags.bits()]);
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u128>) {
        numbers.into_iter().for_each(|x| self.hash.update(x.to_le_bytes()));
    }

    fn events(&mut self, events: EventCounts) {
        let EventCounts { flags, elements, overflowed, underflowed, zeros, nans, infinities, .. } = events;
        self.flags(flags);
        self.numbers([elements, overflowed, underflowed, zeros, nans, infinities].map(u128::from));
    }

    fn print(self) {
        let digest: [u8; 8] = self.hash.finalize()[..8].try_into().expect("32 bytes");
        let digest = u64::from_be_bytes(digest);
        println!("{},\"{}\",{},{digest:016x}", self.what, self.of, self.results);
    }
}

fn parse(name: &str) -> Format {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn all_formats() -> Vec<Format> {
    let named = formats::CATALOGUE.iter().map(|row| row.format).filter(|format| format.width() <= 16);
    named.chain(OTHERS.iter().map(|name| parse(name))).collect()
}

fn every_value<T: Element>() -> Vec<T> {
    (0..=T::FORMAT.max_code()).map(T::from_bits).collect()
}

fn every_byte() -> Vec<u8> {
    (0..=u8::MAX).collect()
}

/// Encodes with a projection and adds codes and events to a row; words are for stochastic
/// roundings.
fn encode<T: Element>(
    row: &mut Row,
    level: Level,
    x: &[T],
    format: &Format,
    projection: &Projection,
    words: RandomWords,
) {
    let encoder =
        Encoder::<T>::for_length(format, projection, x.len()).expect("a small format").with_level(level);
    if format.width() <= 8 {
        let mut codes = vec![0_u8; x.len()];
        let events = encoder.encode_random(x, &mut codes, words);
        row.codes(&codes);
        row.events(events);
    } else {
        let mut codes = vec![0_u16; x.len()];
        let events = encoder.encode_random(x, &mut codes, words);
        row.codes(&codes);
        row.events(events);
    }
}

struct Inputs {
    binary32: Vec<f32>,
    binary64: Vec<f64>,
    binary16: Vec<F16>,
    bfloat16: Vec<Bf16>,
}

fn generators() -> [Generator; 2] {
    [Philox { seed: 7, stream: 1 }.into(), Ars5 { seed: 7, stream: 1 }.into()]
}

fn conversions(format: &Format, inputs: &Inputs, level: Level) {
    let Inputs { binary32, binary64, binary16, bfloat16 } = inputs;
    let default = format.default_projection();
    let [philox, ars5] =
        generators().map(|generator| RandomWords { generator, first_element: (1 << 34) - 5 });

    let mut row = Row::new("binary32 to codes, default projection", format);
    encode(&mut row, level, binary32, format, &default, philox);
    row.print();

    let most = if format.width() <= 8 { MODES } else { WIDE_MODES };
    let mut row = Row::new("binary32, binary64, binary16 and bfloat16 to codes, 18 projections", format);
    for projection in Rounding::DETERMINISTIC.iter().copied().map(|rounding| default.with_rounding(rounding))
    {
        for projection in SATURATIONS.map(|saturation| projection.with_saturation(saturation)) {
            encode(&mut row, level, &binary32[..most], format, &projection, philox);
            encode(&mut row, level, &binary64[..most / 4], format, &projection, philox);
            encode(&mut row, level, binary16, format, &projection, philox);
            encode(&mut row, level, bfloat16, format, &projection, philox);
        }
    }
    row.print();

    let mut row = Row::new("to codes by StochasticA, B and C", format);
    for count in [1, 8, 32] {
        let bits = RandomBits::new(count, 0).expect("at most 32");
        for words in [philox, ars5] {
            let a = default.with_rounding(Rounding::StochasticA(bits));
            encode(&mut row, level, &binary32[..most / 4], format, &a, words);
            encode(&mut row, level, &bfloat16[..most / 4], format, &a, words);
            for rounding in [Rounding::StochasticB(bits), Rounding::StochasticC(bits)] {
                encode(
                    &mut row,
                    level,
                    &binary32[..1 << 11],
                    format,
                    &default.with_rounding(rounding),
                    words,
                );
            }
        }
    }
    row.print();

    let mut row = Row::new("codes to binary32, binary64, binary16 and bfloat16", format);
    let codes: Vec<u16> = (0..=u16::MAX).filter(|&code| u64::from(code) <= format.max_code()).collect();
    decode::<f32>(&mut row, level, &codes, format);
    decode::<f64>(&mut row, level, &codes, format);
    decode::<F16>(&mut row, level, &codes, format);
    decode::<Bf16>(&mut row, level, &codes, format);
    row.print();

    let mut row = Row::new("codes to codes of three formats", format);
    for to in [formats::E4M3FN, formats::BFLOAT16, parse("cfloat8_1_5_2:bias=20")] {
        let recode =
            Recode::new(format, &to, &to.default_projection()).expect("small formats").with_level(level);
        let mut results = vec![0_u16; codes.len()];
        let events = recode.recode(&codes, &mut results);
        row.codes(&results);
        row.events(events);
        if format.width() <= 8 && to.width() <= 8 {
            let (codes, mut results) = (every_byte(), vec![0_u8; 256]);
            let events = recode.recode(&codes, &mut results);
            row.codes(&results);
            row.events(events);
        }
    }
    row.print();
}

/// By half-words, and where they are wide enough by bytes, which have kernels of their own.
fn decode<T: Element>(row: &mut Row, level: Level, codes: &[u16], format: &Format) {
    let projection = T::FORMAT.default_projection();
    let decoder = Decoder::<T>::new(format, Some(&projection)).expect("a small format").with_level(level);
    let mut values = vec![T::default(); codes.len()];
    decoder.decode(codes, &mut values);
    row.values(&values);
    if format.width() <= 8 {
        let mut values = vec![T::default(); 256];
        decoder.decode(&every_byte(), &mut values);
        row.values(&values);
    }
}

fn operations(format: &Format, level: Level) {
    let (x, y): (Vec<u8>, Vec<u8>) = (0..=u16::MAX).map(u16::to_le_bytes).map(|[x, y]| (x, y)).unzip();
    let z = Mixed(11).bytes(x.len());
    let kernel = |text: &str| {
        let specialization = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        Elementwise::new(&specialization).expect("an operation on numbers").with_level(level)
    };
    let mut row =
        Row::new("sums, differences, products, quotients, minima of all pairs, fused products", format);
    let mut results = vec![0_u8; x.len()];
    for operation in ["Add", "Subtract", "Multiply", "Divide", "MinimumNumber"] {
        let kernel = kernel(&format!("{operation}<{format}, {format}, {format}>"));
        let flags = kernel.binary(&x, &y, &mut results, None);
        row.codes(&results);
        row.flags(flags);
    }
    let kernel = kernel(&format!("FMA<{format}, {format}, {format}, {format}>"));
    let flags = kernel.ternary(&x, &y, &z, &mut results, None);
    row.codes(&results);
    row.flags(flags);
    row.print();

    let (x, y) = (Mixed(12).bytes(4096), Mixed(13).bytes(4096));
    let mut row = Row::new("dot and matrix products in three accumulators", format);
    let narrow = Accumulate::Rounded(formats::BINARY16, formats::BINARY16.default_projection());
    let to = Target { format: &formats::BFLOAT16, projection: &formats::BFLOAT16.default_projection() };
    for accumulate in [Accumulate::F32, Accumulate::Exact, narrow] {
        // Some formats have products that binary32 has not.
        let Ok(dot) = Dot::new(format, format, accumulate) else { continue };
        let dot = dot.with_level(level);
        for length in [0, 1, 31, 33, 255, 1000, 4096] {
            let sum = dot.dot(&x[..length], &y[..length], to.format, to.projection);
            row.numbers([sum.value.into()]);
            row.flags(sum.flags);
        }
        for length in [32, 127] {
            let (a, b) = (&x[..7 * length], &y[..9 * length]);
            let mut codes = vec![0_u16; 63];
            let flags = dot.matmul([a, b], length, to, &mut codes);
            row.codes(&codes);
            row.flags(flags);
        }
    }
    row.print();
}

fn words(level: Level) {
    for generator in generators() {
        let mut row = Row::new("random words", &generator.name());
        for first in [0, (1 << 32) - 77, (1 << 61) + 5] {
            let mut blocks = vec![[0; 4]; 1 << 14];
            generator.fill_blocks(level, first, &mut blocks);
            row.codes(blocks.as_flattened());
        }
        row.print();
    }
}

fn packing(level: Level) {
    let codes = Mixed(14).bytes(4099);
    let mut row = Row::new("codes packed and unpacked", &"4 and 6 bits");
    for length in [0_usize, 1, 63, 4099] {
        let (bytes, mut back) = (&mut vec![0; length.div_ceil(2)], vec![0; length]);
        for order in [Nibbles::LowFirst, Nibbles::HighFirst] {
            let narrow: Vec<u8> = codes[..length].iter().map(|code| code & 15).collect();
            pack4(level, &narrow, bytes, order);
            unpack4(level, bytes, &mut back, order);
            row.codes(bytes);
            row.codes(&back);
        }
        let narrow: Vec<u8> = codes[..length].iter().map(|code| code & 63).collect();
        let bytes = &mut vec![0; 3 * length.div_ceil(4)];
        pack6(level, &narrow, bytes);
        unpack6(level, bytes, &mut back);
        row.codes(bytes);
        row.codes(&back);
    }
    row.print();
}

fn statistics<T: Element>(values: &[T], level: Level) {
    let mut row = Row::new("counts and sums of rounding classes", &T::FORMAT);
    for precision in [3, 4] {
        let mut cells = ClassSums::<T>::new(precision).with_level(level);
        cells.add(values);
        for cell in cells.iter() {
            row.numbers([cell.count.into(), cell.first.into(), cell.sum, cell.sum_of_squares]);
        }
        row.numbers([cells.zeros(), cells.nans(), cells.infinities()].map(u128::from));
        row.results += cells.elements();
    }
    row.print();
}

fn main() -> ExitCode {
    let level = match std::env::args().nth(1) {
        None => Some(Level::detected()),
        Some(name) => name.parse::<Level>().ok().filter(|level| level.is_available()),
    };
    let Some(level) = level else {
        eprintln!("the argument is the name of a level that this machine can run, such as portable");
        return ExitCode::from(2);
    };
    eprintln!("{} on {}", level.name(), std::env::consts::ARCH);
    let inputs = Inputs {
        binary32: Mixed(1).floats(DEFAULT),
        binary64: Mixed(2).floats(MODES),
        binary16: every_value(),
        bfloat16: every_value(),
    };
    println!("what,of,results,digest");
    for format in all_formats() {
        conversions(&format, &inputs, level);
    }
    for format in all_formats().iter().filter(|format| format.width() <= 8) {
        operations(format, level);
    }
    words(level);
    packing(level);
    statistics(&inputs.binary32[..MODES], level);
    statistics(&inputs.bfloat16, level);
    ExitCode::SUCCESS
}
