//! Sums as matrix units compute them, against digests of MMA-Sim's results
//! (`verification/fused/mma_sim.py` made them): in integers, and by the kernels.
//!
//! `SMALLFLOAT_EXTENSIVE=1` takes all dot products of every row instead of the first 4096, and ten
//! million products of each instruction against a second model
//! (`verification/fused/second_model.py`).

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use smallfloat::formats::{BINARY32, TF32};
use smallfloat::{Format, Specials};
use smallfloat_kernels::{Fused, FusedDot, GroupSum, MatrixUnit, ScaledDot};
use smallfloat_proof::{check_all, extensive};

const FILE: &str = include_str!("../../../data/fused-digests.csv");
const SECOND: &str = include_str!("../../../data/fused-second-digests.csv");

/// A row of the file.
struct Row<'a> {
    unit: &'a str,
    instruction: &'a str,
    types: [Type; 2],
    scales: Option<Format>,
    k: usize,
    output: Type,
    dots: u64,
    digest: &'a str,
}

/// A format as its bits lie in a word; tf32 has those of binary32.
#[derive(Clone, Copy)]
struct Type {
    format: Format,
    width: u32,
    trailing: u32,
    exponent_bits: u32,
}

impl Type {
    fn new(name: &str) -> Self {
        let format: Format = name.parse().unwrap();
        let bits = if format == TF32 { BINARY32 } else { format };
        let exponent_bits = bits.exponent_bits();
        Self { format, width: bits.width(), trailing: bits.trailing_bits(), exponent_bits }
    }

    const fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    const fn field(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.trailing
    }

    fn bits(self, word: u64) -> u64 {
        word & ((1 << self.width) - 1)
    }

    fn finite(self, code: u64) -> u64 {
        let magnitude = code & (self.sign() - 1);
        let special = match self.format.specials() {
            Specials::Ieee => magnitude >= self.field(),
            Specials::NanAllOnes => magnitude == self.sign() - 1,
            Specials::NanNegativeZero => code == self.sign(),
            _ => false,
        };
        if special { code ^ 1 << (self.width - 2) } else { code }
    }

    /// Exponents around zero, for the formats that have many.
    fn near(self, code: u64) -> u64 {
        if self.exponent_bits < 8 {
            return code;
        }
        code & !(255 << self.trailing) | (112 + (code >> self.trailing & 31)) << self.trailing
    }

    /// An operand by the class of its dot product.
    fn operand(self, word: u64, class: u64, close: bool) -> u64 {
        let code = self.bits(word);
        let mut ordinary = self.finite(code);
        if close {
            ordinary = self.near(ordinary);
        }
        match class {
            0 => code,
            3 => self.finite(code & (self.sign() | ((1 << (self.trailing + 1)) - 1))),
            4 => self.finite(code | 3 << (self.width - 3)),
            5 if !(word >> 40).is_multiple_of(4) => {
                if self.format.has_negative_zero() {
                    code & self.sign()
                } else {
                    0
                }
            }
            _ => ordinary,
        }
    }

    fn value(self, code: u64) -> f32 {
        if self.width == 32 {
            return f32::from_bits(u32::try_from(code).unwrap());
        }
        let datum = self.format.decode(code);
        datum.to_f32().unwrap_or(f32::NAN)
    }
}

/// SplitMix64 by counter.
fn word(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// FNV-1a of 64 bits.
fn seed_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The operands of a dot product.
struct Operands {
    x: Vec<f32>,
    y: Vec<f32>,
    c: f32,
    scales: [Vec<u8>; 2],
}

impl Row<'_> {
    fn operands(&self, seed: u64, number: u64) -> Operands {
        let (k, [tx, ty]) = (self.k, self.types);
        let first = number * (4 + 2 * k as u64);
        let at = |i: usize| word(seed, first + i as u64);
        let control = at(0);
        let (class, close, mode) = (control % 6, (control >> 16) % 4 != 0, (control >> 8) % 4);
        let mut x: Vec<u64> = (0..k).map(|i| tx.operand(at(4 + 2 * i), class, close)).collect();
        let mut y: Vec<u64> = (0..k).map(|i| ty.operand(at(5 + 2 * i), class, close)).collect();
        if class == 2 {
            let half = k / 2;
            for i in half..k {
                let flip = u64::from((at(5 + 2 * i) >> 40) % 8 == 0);
                x[i] = x[i - half];
                y[i] = ty.finite(y[i - half] ^ ty.sign() ^ flip);
            }
        }
        let to = self.output;
        let raw = to.bits(at(1));
        let mut c = match mode {
            0 => raw & to.sign(),
            1 if class == 0 => raw,
            2 if to.exponent_bits == 8 => {
                raw & !(255 << to.trailing) | (107 + (raw >> to.trailing & 255) % 40) << to.trailing
            }
            1 | 2 => to.finite(raw),
            _ => raw & (to.sign() | ((1 << (to.trailing + 1)) - 1)),
        };
        let mut scales = [Vec::new(), Vec::new()];
        if let Some(format) = self.scales {
            if k == 64 && c & !to.sign() == to.field() {
                c = to.finite(c);
            }
            let block = self.block();
            for (side, scales) in scales.iter_mut().enumerate() {
                for j in 0..k / block {
                    let s = at(2 + side) >> (8 * j) & 255;
                    let ordinary = match format.has_zero() {
                        false if close => 111 + s % 32,
                        false if s == 255 => 127,
                        false => s,
                        true => Type::new("e4m3fn").finite(s),
                    };
                    scales.push(u8::try_from(if class == 0 { s } else { ordinary }).unwrap());
                }
            }
        }
        let values = |t: Type, codes: Vec<u64>| codes.into_iter().map(|code| t.value(code)).collect();
        Operands { x: values(tx, x), y: values(ty, y), c: to.value(c), scales }
    }

    fn block(&self) -> usize {
        if self.instruction.contains("block16") { 16 } else { 32 }
    }

    fn scaled(&self) -> Option<ScaledDot> {
        let [x, y] = self.types.map(|one| one.format);
        Some(ScaledDot::new(&x, &y, &self.scales?, self.block()).unwrap())
    }

    fn dot(&self) -> FusedDot {
        let [x, y] = self.types.map(|one| one.format);
        if self.instruction.ends_with("f32_32x32x4bf16") && self.unit == "cdna2" {
            // The older of two instructions, which has no preset.
            let fused = Fused { flush: true, ..Fused::nearest(2, GroupSum::Pairwise) };
            return FusedDot::new(&x, &y, fused).unwrap();
        }
        let half = self.output.width == 16;
        let unit: MatrixUnit = self.unit.parse().unwrap();
        let dot = MatrixUnit { half, ..unit }.dot(&x, &y).unwrap();
        assert_eq!(dot.types(), &[x, y], "{} {} has these types", self.unit, self.instruction);
        dot
    }

    /// The bits of a result, every NaN as one.
    fn bytes(&self, result: f32) -> Vec<u8> {
        if self.output.width == 32 {
            let bits = if result.is_nan() { 0x7fff_ffff } else { result.to_bits() };
            return bits.to_le_bytes().to_vec();
        }
        let half = self.output.format;
        let code =
            if result.is_nan() { 0x7fff } else { half.encode_f32(result, &half.default_projection()).value };
        assert!(result.is_nan() || half.decode(code).to_f32() == Some(result), "{result} is a binary16");
        code.to_le_bytes()[..2].to_vec()
    }

    /// Compares digests, and returns the products that were computed and what differs.
    fn check(&self) -> (u64, Vec<String>) {
        let seed = seed_of(&format!("{} {}", self.unit, self.instruction));
        let (mut exact, mut fast) = (Sha256::new(), Sha256::new());
        let (scaled, dot) = (self.scaled(), self.scales.is_none().then(|| self.dot()));
        for number in 0..self.dots {
            let Operands { x, y, c, scales } = self.operands(seed, number);
            match (&scaled, &dot) {
                (Some(scaled), _) => {
                    let scales = [&scales[0][..], &scales[1]];
                    exact.update(self.bytes(scaled.add_in_integers(c, [&x, &y], scales)));
                    fast.update(self.bytes(scaled.add(c, [&x, &y], scales)));
                }
                (_, Some(dot)) => {
                    exact.update(self.bytes(dot.add_in_integers(c, &x, &y)));
                    fast.update(self.bytes(dot.add(c, &x, &y)));
                }
                _ => unreachable!("one of them"),
            }
        }
        let mut wrong = Vec::new();
        for (what, digest) in [("integers", exact), ("kernels", fast)] {
            let digest = digest.finalize().iter().fold(String::new(), |mut out, byte| {
                write!(out, "{byte:02x}").expect("writing to a string");
                out
            });
            if digest != self.digest {
                let (unit, instruction, dots) = (self.unit, self.instruction, self.dots);
                wrong.push(format!(
                    "{unit} {instruction}, {dots} dot products, {what}: another digest; compare with \
                     `verification/fused/mma_sim.py CHECKOUT --dump --only '{unit} {instruction}'`"
                ));
            }
        }
        (self.dots * self.k as u64, wrong)
    }
}

fn rows(file: &'static str) -> Vec<Row<'static>> {
    let lines = file.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines
        .map(|line| {
            let [unit, instruction, x, y, scales, k, output, dots, digest] =
                line.split(',').collect::<Vec<_>>().try_into().expect("nine fields");
            Row {
                unit,
                instruction,
                types: [Type::new(x), Type::new(y)],
                scales: (!scales.is_empty()).then(|| scales.parse().unwrap()),
                k: k.parse().unwrap(),
                output: Type::new(output),
                dots: dots.parse().unwrap(),
                digest,
            }
        })
        .collect()
}

#[test]
fn units_have_the_results_of_mma_sim() {
    let (taken, left): (Vec<_>, Vec<_>) =
        rows(FILE).into_iter().partition(|row| row.dots <= 4096 || extensive());
    if !left.is_empty() {
        let count: u64 = left.iter().map(|row| row.dots * row.k as u64).sum();
        println!("LEFT OUT: {} rows, {count} products; SMALLFLOAT_EXTENSIVE=1 takes them", left.len());
    }
    assert!(taken.len() >= 80, "{} rows", taken.len());
    check_all("digests of MMA-Sim's results", &taken, Row::check);
}

#[test]
fn units_have_the_results_of_a_second_model() {
    let rows = rows(SECOND);
    let count: u64 = rows.iter().map(|row| row.dots * row.k as u64).sum();
    for other in self::rows(FILE) {
        let same = |row: &&Row| (row.unit, row.instruction) == (other.unit, other.instruction);
        let products = rows.iter().find(same).map_or(0, |row| row.dots * row.k as u64);
        assert!(products >= 10_000_000, "{} {}: {products}", other.unit, other.instruction);
    }
    assert!(count >= 1_000_000_000, "{count}");
    if extensive() {
        check_all("digests of the second model's results", &rows, Row::check);
    } else {
        println!("LEFT OUT: {} rows, {count} products; SMALLFLOAT_EXTENSIVE=1 takes them", rows.len());
    }
}

/// Writes our results of one instruction, to compare with the script's:
/// `SMALLFLOAT_FUSED_DUMP='hopper wgmma.…'`.
#[test]
#[ignore = "prints results"]
fn dump() {
    let name = std::env::var("SMALLFLOAT_FUSED_DUMP").unwrap();
    let rows = rows(FILE);
    let row = rows.iter().find(|row| format!("{} {}", row.unit, row.instruction) == name).unwrap();
    for number in 0..4096 {
        let Operands { x, y, c, scales } = row.operands(seed_of(&name), number);
        let result = match row.scaled() {
            Some(scaled) => scaled.add_in_integers(c, [&x, &y], [&scales[0], &scales[1]]),
            None => row.dot().add_in_integers(c, &x, &y),
        };
        let mut bits = [0; 4];
        let bytes = row.bytes(result);
        bits[..bytes.len()].copy_from_slice(&bytes);
        println!("{:x} {x:?} {y:?} {c:e} {scales:?}", u32::from_le_bytes(bits));
    }
}
