//! Answers of the library to jobs, for comparison with other implementations
//! (`verification/oracles`).
//!
//! Jobs come as lines on standard input; each writes codes of 16 bits, little-endian, to the file
//! named last.
//!
//! * `convert FORMAT ROUNDING SATURATION 32|64 INPUT OUTPUT`: words of binary32 or binary64,
//!   little-endian → codes;
//! * `pairs OPERATION FORMAT ROUNDING SATURATION OUTPUT`: all pairs of codes, the first operand's
//!   code outermost;
//! * `triples FORMAT ROUNDING SATURATION STEP OUTPUT`: x · y + z for every STEP-th z, which is
//!   outermost;
//! * `inputs FORMAT 32|64 COUNT OUTPUT`: words to compare on: every place where the format's
//!   rounding changes with its neighbours on both sides, the places at the ends of the source's own
//!   range, and COUNT reproducible ones.

use std::fs;
use std::process::ExitCode;

use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::{Format, Projection, Rounding, Saturation, convert, formats};
use smallfloat_oracle::{Dyadic, Table};
use smallfloat_proof::{Scramble, oracle_format};

type Answer<T> = Result<T, String>;

fn projection(format: &Format, rounding: &str, saturation: &str) -> Answer<Projection> {
    let known = Rounding::DETERMINISTIC.iter().copied().find(|mode| mode.name() == rounding);
    let rounding = known.ok_or_else(|| format!("{rounding} is no deterministic rounding"))?;
    let saturation: Saturation = saturation.parse().map_err(|error| format!("{saturation}: {error}"))?;
    Ok(format.default_projection().with_rounding(rounding).with_saturation(saturation))
}

fn format(name: &str) -> Answer<Format> {
    let format: Format = name.parse().map_err(|error| format!("{name}: {error}"))?;
    if format.is_wide() { Err(format!("{name} has more than 16 bits")) } else { Ok(format) }
}

fn source(bits: &str) -> Answer<(Format, usize)> {
    match bits {
        "32" => Ok((formats::BINARY32, 4)),
        "64" => Ok((formats::BINARY64, 8)),
        _ => Err(format!("sources have 32 or 64 bits, not {bits}")),
    }
}

fn write(path: &str, codes: impl Iterator<Item = u64>) -> Answer<()> {
    let bytes: Vec<u8> =
        codes.flat_map(|code| u16::try_from(code).unwrap_or(u16::MAX).to_le_bytes()).collect();
    fs::write(path, bytes).map_err(|error| format!("{path}: {error}"))
}

fn conversions(to: &Format, projection: &Projection, bits: &str, input: &str, output: &str) -> Answer<()> {
    let (from, size) = source(bits)?;
    let bytes = fs::read(input).map_err(|error| format!("{input}: {error}"))?;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    write(output, bytes.chunks_exact(size).map(|bytes| convert(word(bytes), &from, to, projection).value))
}

fn evaluate(operation: Operation, codes: &[u64], format: &Format, projection: &Projection) -> u64 {
    let operands: Vec<Operand> = codes.iter().map(|&code| Operand::new(code, format)).collect();
    operation.evaluate(&operands, format, projection, OperationOptions::default_for([format])).value
}

/// The word of the largest value of `from` at or below a number, its magnitude's neighbours beside
/// it.
fn around(x: &Dyadic, from: &Format, table: &Table) -> Vec<u64> {
    let infinity = from.encode(smallfloat::Datum::Infinite { negative: false }).unwrap_or_default();
    let (mut low, mut high) = (0, infinity);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        let code = usize::try_from(middle).unwrap_or(usize::MAX);
        if table.point(code).0 <= *x { low = middle } else { high = middle }
    }
    (low.saturating_sub(2)..=(low + 2).min(infinity)).collect()
}

fn inputs(format: &Format, bits: &str, count: u64, output: &str) -> Answer<()> {
    let (from, size) = source(bits)?;
    let (grid, source) = (Table::new(&oracle_format(format)), Table::new(&oracle_format(&from)));
    let infinity = from.encode(smallfloat::Datum::Infinite { negative: false }).unwrap_or_default();
    let mut words: Vec<u64> = (0..4).chain(infinity - 2..infinity + 3).collect();
    let quiet = infinity | 1 << (from.trailing_bits() - 1);
    words.extend([quiet, quiet + 1, infinity | (quiet - infinity - 1)]);
    let least = from.encode(from.min_normal()).unwrap_or_default();
    words.extend(least - 2..least + 3);
    let mut last: Option<Dyadic> = None;
    for i in 0..grid.len() {
        let here = grid.point(i).0;
        if let Some(below) = &last {
            words.extend(around(&(below + &here).scale(-1), &from, &source));
        }
        words.extend(around(&here, &from, &source));
        last = Some(here);
    }
    if let Some(top) = last {
        words.extend(around(&(&top + grid.next()).scale(-1), &from, &source));
        words.extend(around(grid.next(), &from, &source));
    }
    let mut random = Scramble(u64::from(from.width()) ^ 0x5eed);
    let width = from.width();
    for _ in 0..count {
        // Half of them anywhere, half where the format is.
        let anywhere = random.bits() >> (64 - width);
        let near = words[usize::try_from(random.below(words.len() as u64)).unwrap_or(0)];
        let spread = random.below(u64::from(from.trailing_bits()));
        words.extend([anywhere, near ^ (random.bits() >> (64 - spread.max(1)))]);
    }
    let sign = 1 << (width - 1);
    let mut all: Vec<u64> = words.iter().flat_map(|&word| [word & !sign, word | sign]).collect();
    all.sort_unstable();
    all.dedup();
    let bytes: Vec<u8> = all.iter().flat_map(|word| word.to_le_bytes()[..size].to_vec()).collect();
    fs::write(output, bytes).map_err(|error| format!("{output}: {error}"))
}

fn run(words: &[&str]) -> Answer<()> {
    match *words {
        ["convert", to, rounding, saturation, bits, input, output] => {
            let to = format(to)?;
            conversions(&to, &projection(&to, rounding, saturation)?, bits, input, output)
        }
        ["pairs", operation, to, rounding, saturation, output] => {
            let to = format(to)?;
            let projection = projection(&to, rounding, saturation)?;
            let operation =
                operation.parse::<Operation>().map_err(|_| format!("{operation} is no operation"))?;
            let codes = to.codes();
            let pairs = codes.clone().flat_map(|x| codes.clone().map(move |y| [x, y]));
            write(output, pairs.map(|pair| evaluate(operation, &pair, &to, &projection)))
        }
        ["triples", to, rounding, saturation, step, output] => {
            let to = format(to)?;
            let projection = projection(&to, rounding, saturation)?;
            let step = step.parse::<usize>().ok().filter(|&step| step > 0).ok_or("STEP is at least 1")?;
            let codes = to.codes();
            let triples = codes.clone().step_by(step).flat_map(|z| {
                let second = codes.clone();
                codes.clone().flat_map(move |x| second.clone().map(move |y| [x, y, z]))
            });
            write(output, triples.map(|triple| evaluate(Operation::Fma, &triple, &to, &projection)))
        }
        ["inputs", to, bits, count, output] => {
            inputs(&format(to)?, bits, count.parse().map_err(|error| format!("{count}: {error}"))?, output)
        }
        _ => Err("the jobs are convert, pairs, triples and inputs".to_string()),
    }
}

fn main() -> ExitCode {
    for line in std::io::stdin().lines() {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                eprintln!("standard input: {error}");
                return ExitCode::from(2);
            }
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Err(error) = run(&words) {
            eprintln!("`{line}`: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
