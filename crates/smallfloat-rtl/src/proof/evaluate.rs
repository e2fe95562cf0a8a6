//! Evaluation: a design's circuit held against the library, for all inputs where they are few, else
//! for those that the test vectors have: the places where a result changes with both neighbours,
//! extremes, special significands, and random ones.
//!
//! It needs neither the specification nor a solver, so it is quick where a design is wrong.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use smallfloat_conformance::vectors::{CoverageLevel, UnitUnderTest, VectorPlan};

use super::circuit::{Bit, Circuit, LANES, Lanes, Literal, bit};
use super::{Bound, miter};
use crate::error::Error;
use crate::specification::{Port, Specification};

/// All inputs are evaluated if they have at most so many bits.
const ALL_BITS: u32 = 24;
/// Inputs that are taken at once.
const CHUNK: u64 = 1 << 12;
/// How often an input is tried whose result depends on bits that nothing determines.
const TRIES: u64 = 1 << 10;
/// The seed of random inputs.
const SEED: u64 = 1;

/// What evaluation has found.
pub(super) enum Evaluated {
    /// Every input was evaluated, and gives what the library gives.
    Equal,
    /// The values of the miter's ports for an input that does not.
    Differ(BTreeMap<String, u64>),
    /// None of those that were chosen differs.
    Open,
}

/// A design, and what it is held against.
struct Bench<'a> {
    circuit: &'a Circuit,
    specification: &'a Specification,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Where the bits of each port are in the circuit.
    places: Vec<Vec<usize>>,
    literals: Vec<Vec<Literal>>,
    /// The unit, or one for each bias of the port.
    units: Vec<UnitUnderTest>,
    end: Instant,
    /// Results that could not be known.
    unknown: AtomicU64,
}

/// Evaluates the circuit for all inputs or for chosen ones, no longer than the timeout.
pub(super) fn evaluate(
    circuit: &Circuit,
    specification: &Specification,
    bound: &Bound,
    timeout: Duration,
) -> Result<Evaluated, Error> {
    let inputs = specification.inputs();
    let biases = inputs.last().filter(|_| specification.has_bias_port()).map_or(1, |port| 1 << port.bits);
    let units: Result<Vec<_>, Error> = (0..biases)
        .map(|bias| specification.unit_with(specification.has_bias_port().then_some(bias)))
        .collect();
    let outputs = miter::outputs(specification, bound);
    let bench = Bench {
        circuit,
        specification,
        places: inputs.iter().map(|port| circuit.input(port)).collect(),
        literals: outputs.iter().map(|port| circuit.output(port)).collect(),
        outputs,
        units: units?,
        end: Instant::now() + timeout,
        unknown: AtomicU64::new(0),
        inputs,
    };
    let bits: u32 = bench.inputs.iter().map(|port| port.bits).sum();
    if bits <= ALL_BITS {
        let (found, is_whole) = bench.search(1 << bits, &|range, rows| bench.all(range, rows))?;
        return Ok(match found {
            Some(values) => Evaluated::Differ(values),
            None if is_whole && bench.unknown.into_inner() == 0 => Evaluated::Equal,
            None => Evaluated::Open,
        });
    }
    for (bias, unit) in bench.units.iter().enumerate() {
        let plan = VectorPlan::new(unit, Some(CoverageLevel::One), SEED, None)?;
        let fill = |range: Range<u64>, rows: &mut [u64]| {
            if !specification.has_bias_port() {
                return plan.fill(range, rows);
            }
            let width = bench.inputs.len();
            let mut operands = vec![0; rows.len() / width * (width - 1)];
            plan.fill(range, &mut operands);
            for (row, operands) in rows.chunks_exact_mut(width).zip(operands.chunks_exact(width - 1)) {
                row[..width - 1].copy_from_slice(operands);
                row[width - 1] = bias as u64;
            }
        };
        let (found, is_whole) = bench.search(plan.lines(), &fill)?;
        if let Some(values) = found {
            return Ok(Evaluated::Differ(values));
        }
        if !is_whole {
            break;
        }
    }
    Ok(Evaluated::Open)
}

impl Bench<'_> {
    /// All inputs from one number to another, the last port fastest.
    fn all(&self, range: Range<u64>, rows: &mut [u64]) {
        for (row, number) in rows.chunks_exact_mut(self.inputs.len()).zip(range) {
            let mut rest = number;
            for (value, port) in row.iter_mut().zip(&self.inputs).rev() {
                *value = rest & (u64::MAX >> (64 - port.bits));
                rest >>= port.bits;
            }
        }
    }

    /// Looks for the first of so many inputs that differs, on all cores; whether all were tried.
    fn search(
        &self,
        count: u64,
        fill: &(dyn Fn(Range<u64>, &mut [u64]) + Sync),
    ) -> Result<(Option<BTreeMap<String, u64>>, bool), Error> {
        let (next, first_wrong, is_whole) =
            (AtomicU64::new(0), Mutex::new((u64::MAX, Ok(None))), AtomicBool::new(true));
        let work = || {
            let mut values = Vec::new();
            loop {
                let start = next.fetch_add(CHUNK, Ordering::Relaxed);
                let is_behind = || first_wrong.lock().expect("no panic in here").0 < start;
                if start >= count || is_behind() {
                    return;
                }
                if Instant::now() > self.end {
                    is_whole.store(false, Ordering::Relaxed);
                    return;
                }
                let range = start..count.min(start + CHUNK);
                let lines = usize::try_from(range.end - range.start).expect("a chunk");
                let mut rows = vec![0; lines * self.inputs.len()];
                fill(range, &mut rows);
                let found = rows
                    .chunks(LANES * self.inputs.len())
                    .find_map(|rows| self.first_wrong(&mut values, rows).transpose());
                if let Some(found) = found {
                    let mut first = first_wrong.lock().expect("no panic in here");
                    if start < first.0 {
                        *first = (start, found.map(Some));
                    }
                    return;
                }
            }
        };
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = usize::try_from(count.div_ceil(CHUNK)).map_or(cores, |chunks| chunks.min(cores));
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let (_, found) = first_wrong.into_inner().expect("no panic in the search");
        Ok((found?, is_whole.into_inner()))
    }

    /// The first of a few inputs whose result is wrong.
    fn first_wrong(
        &self,
        values: &mut Vec<Bit>,
        rows: &[u64],
    ) -> Result<Option<BTreeMap<String, u64>>, Error> {
        let width = self.inputs.len();
        self.circuit.evaluate(values, &self.assigned(rows), &mut || Bit::UNKNOWN);
        let expected: Result<Vec<[u64; 2]>, Error> =
            rows.chunks_exact(width).map(|row| self.expected(row)).collect();
        let expected = expected?;
        let right = self.agreeing(values, &expected);
        for (lane, row) in rows.chunks_exact(width).enumerate() {
            if right[lane / 64] >> (lane % 64) & 1 == 1 {
                continue;
            }
            // It is wrong, or depends on bits that nothing determines: then some of these show it.
            if self.unknown.load(Ordering::Relaxed) < TRIES
                && let Some(found) = self.concrete(values, row, expected[lane])
            {
                return Ok(Some(found));
            }
            self.unknown.fetch_add(1, Ordering::Relaxed);
        }
        Ok(None)
    }

    /// The input bits of a row for each lane.
    fn assigned(&self, rows: &[u64]) -> Vec<(usize, Bit)> {
        let mut assigned = Vec::new();
        for (at, places) in self.places.iter().enumerate() {
            for (number, place) in places.iter().enumerate() {
                let mut lanes: Lanes = Default::default();
                for (lane, row) in rows.chunks_exact(self.inputs.len()).enumerate() {
                    lanes[lane / 64] |= (row[at] >> number & 1) << (lane % 64);
                }
                assigned.push((*place, Bit::known(lanes)));
            }
        }
        assigned
    }

    /// The library's result and flags.
    fn expected(&self, row: &[u64]) -> Result<[u64; 2], Error> {
        let (unit, operands) = match row.split_last() {
            Some((bias, operands)) if self.specification.has_bias_port() => {
                (&self.units[usize::try_from(*bias).expect("a bias of few bits")], operands)
            }
            _ => (&self.units[0], row),
        };
        let outcome = unit.evaluate(operands)?;
        let flags = (outcome.flags & self.specification.flags()).bits_in(self.specification.order());
        Ok([outcome.results()[0], u64::from(flags)])
    }

    /// The lanes in which all outputs are known and as expected.
    fn agreeing(&self, values: &[Bit], expected: &[[u64; 2]]) -> Lanes {
        let mut right = [u64::MAX; LANES / 64];
        for (at, literals) in self.literals.iter().enumerate() {
            for (number, literal) in literals.iter().enumerate() {
                let given = bit(values, *literal);
                let mut wanted: Lanes = Default::default();
                for (lane, expected) in expected.iter().enumerate() {
                    wanted[lane / 64] |= (expected[at] >> number & 1) << (lane % 64);
                }
                for (i, right) in right.iter_mut().enumerate() {
                    *right &= (wanted[i] & !given.zero[i]) | (!wanted[i] & !given.one[i]);
                }
            }
        }
        right
    }

    /// The values of an input for which the result is wrong, with random bits in each lane for all
    /// that is not determined; `None` where it is right in every lane.
    fn concrete(
        &self,
        values: &mut Vec<Bit>,
        row: &[u64],
        expected: [u64; 2],
    ) -> Option<BTreeMap<String, u64>> {
        let mut state = SEED;
        // xorshift64: any bits will do.
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let rows = row.repeat(LANES);
        self.circuit
            .evaluate(values, &self.assigned(&rows), &mut || Bit::known(std::array::from_fn(|_| random())));
        let right = self.agreeing(values, &[expected; LANES]);
        let lane = (0..LANES).find(|lane| right[lane / 64] >> (lane % 64) & 1 == 0)?;
        let mut found: BTreeMap<String, u64> =
            self.inputs.iter().zip(row).map(|(port, value)| (port.name.clone(), *value)).collect();
        for ((port, literals), expected) in self.outputs.iter().zip(&self.literals).zip(expected) {
            let bits = literals
                .iter()
                .enumerate()
                .map(|(number, literal)| (bit(values, *literal).one[lane / 64] >> (lane % 64) & 1) << number);
            found.insert(format!("given_{}", port.name), bits.sum());
            found.insert(format!("expected_{}", port.name), expected);
        }
        Some(found)
    }
}
