//! [`Circuit`]: a design as AND gates and registers, evaluated for [`LANES`] inputs at once.
//!
//! A value is known or not, as in a simulator with x: each bit has one word that says in which
//! lanes it can be 1 and another for 0. Where a result is known although other bits are not, it
//! does not depend on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::elaborate::write;
use super::miter::{self, DESIGN, ZERO};
use super::solve::{FLAT, GATES};
use super::{Bound, Design};
use crate::error::Error;
use crate::specification::{Port, Specification};
use crate::tools::YOSYS;

/// How many words are evaluated together, so that the compiler has something to vectorize.
const WORDS: usize = 4;
/// How many inputs are evaluated together.
pub(super) const LANES: usize = 64 * WORDS;

/// A bit of each lane.
pub(super) type Lanes = [u64; WORDS];

/// In which lanes a bit can be 1, and in which it can be 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bit {
    pub(super) one: Lanes,
    pub(super) zero: Lanes,
}

impl Bit {
    pub(super) const UNKNOWN: Self = Self { one: [u64::MAX; WORDS], zero: [u64::MAX; WORDS] };

    pub(super) fn known(one: Lanes) -> Self {
        Self { one, zero: one.map(|word| !word) }
    }
}

/// A literal of AIGER: twice the number of a variable, plus 1 where it is inverted.
pub(super) type Literal = u32;

/// A design without its specification. Variable 0 is the constant 0; then come inputs, registers
/// and gates.
#[derive(Debug)]
pub(super) struct Circuit {
    inputs: usize,
    /// What each register takes at an edge.
    registers: Vec<Literal>,
    gates: Vec<[Literal; 2]>,
    outputs: Vec<Literal>,
    /// The place of each bit of a port among inputs, or among outputs.
    places: BTreeMap<(String, u32), usize>,
    /// How many clock edges lie between inputs and their result.
    latency: u32,
    /// The place of [`ZERO`].
    zero: usize,
}

/// Reading a design takes no longer than this.
const LIMIT: Duration = Duration::from_secs(300);

impl Circuit {
    /// Reads the design with its ports under the specification's names.
    pub(super) fn read(
        design: &Design,
        specification: &Specification,
        bound: &Bound,
        folder: &Path,
    ) -> Result<Self, Error> {
        write(&folder.join("circuit.sv"), &miter::design_alone(design, specification, bound))?;
        let script = format!(
            "{}\nread_verilog -sv circuit.sv\nhierarchy -check -top {DESIGN}\n{FLAT}chformal -remove\n\
             opt_expr\nopt_clean\n{GATES}opt_clean\naigmap\nwrite_aiger -ascii -map circuit.map circuit.aag\n",
            design.read_command()?
        );
        write(&folder.join("circuit.ys"), &script)?;
        let arguments = ["-q", "-s", "circuit.ys"].map(str::to_owned);
        let run = YOSYS.run(folder, &arguments, Some(LIMIT))?;
        if !run.succeeded {
            return Err(design.refused(YOSYS.name, &run.error()));
        }
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|cause| Error::File { path, cause })
        };
        parse(&text("circuit.aag")?, &text("circuit.map")?, design.latency).ok_or_else(|| Error::NoAnswer {
            tool: YOSYS.name,
            message: "circuit.aag is not understood".into(),
        })
    }

    /// Writes the values of all variables for these inputs, after as many edges as the design
    /// takes. Bits that nothing determines (registers at first, inputs at later edges, x) are those
    /// that `other` returns.
    pub(super) fn evaluate(
        &self,
        values: &mut Vec<Bit>,
        inputs: &[(usize, Bit)],
        other: &mut dyn FnMut() -> Bit,
    ) {
        values.clear();
        values.push(Bit::known([0; WORDS]));
        values.extend((0..self.inputs + self.registers.len()).map(|_| other()));
        for (place, bit) in inputs {
            values[1 + place] = *bit;
        }
        for step in 0..=self.latency {
            if step > 0 {
                let next: Vec<Bit> = self.registers.iter().map(|literal| bit(values, *literal)).collect();
                values.truncate(1);
                values.extend((0..self.inputs).map(|_| other()));
                values.extend(next);
            }
            values[1 + self.zero] = Bit::known([0; WORDS]);
            for [a, b] in &self.gates {
                let (a, b) = (bit(values, *a), bit(values, *b));
                values.push(Bit {
                    one: std::array::from_fn(|i| a.one[i] & b.one[i]),
                    zero: std::array::from_fn(|i| a.zero[i] | b.zero[i]),
                });
            }
        }
    }

    /// Returns the places of a port's bits among the inputs.
    pub(super) fn input(&self, port: &Port) -> Vec<usize> {
        self.bits_of(port.name.clone(), port.bits)
    }

    /// Returns the literals of what the design gives for a port's bits.
    pub(super) fn output(&self, port: &Port) -> Vec<Literal> {
        let places = self.bits_of(format!("held_{}", port.name), port.bits);
        places.into_iter().map(|place| self.outputs[place]).collect()
    }

    fn bits_of(&self, name: String, bits: u32) -> Vec<usize> {
        let mut key = (name, 0);
        let mut place = |number| {
            key.1 = number;
            *self.places.get(&key).expect("all ports are in the wrapper")
        };
        (0..bits).map(&mut place).collect()
    }
}

/// Returns a literal's value.
pub(super) fn bit(values: &[Bit], literal: Literal) -> Bit {
    let bit = values[(literal >> 1) as usize];
    if literal & 1 == 1 { Bit { one: bit.zero, zero: bit.one } } else { bit }
}

/// The circuit in a file of AIGER, with the map of its ports; `None` where Yosys writes it
/// otherwise than it does.
fn parse(text: &str, map: &str, latency: u32) -> Option<Circuit> {
    let mut lines = text.lines();
    let mut numbers = || -> Option<Vec<u32>> {
        lines.next()?.trim_start_matches("aag ").split(' ').map(|word| word.parse().ok()).collect()
    };
    let [last, inputs, registers, outputs, gates] = numbers()?[..] else { return None };
    if last != inputs + registers + gates {
        return None;
    }
    for number in 1..=inputs {
        (numbers()? == [2 * number]).then_some(())?;
    }
    let mut circuit = Circuit {
        inputs: inputs as usize,
        registers: Vec::new(),
        gates: Vec::new(),
        outputs: Vec::new(),
        places: BTreeMap::new(),
        latency,
        zero: 0,
    };
    let is_variable = |literal: Literal| literal >> 1 <= last;
    for number in 0..registers {
        // The third number is the initial value, which is any.
        let [own, next, _] = numbers()?[..] else { return None };
        (own == 2 * (inputs + number + 1) && is_variable(next)).then_some(())?;
        circuit.registers.push(next);
    }
    for _ in 0..outputs {
        let [output] = numbers()?[..] else { return None };
        is_variable(output).then_some(())?;
        circuit.outputs.push(output);
    }
    for number in 0..gates {
        let [own, a, b] = numbers()?[..] else { return None };
        (own == 2 * (inputs + registers + number + 1) && a < own && b < own).then_some(())?;
        circuit.gates.push([a, b]);
    }
    for line in map.lines() {
        let [kind, place, number, port] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        if kind == "input" || kind == "output" {
            let place: usize = place.parse().ok()?;
            let count = if kind == "input" { inputs } else { outputs };
            (place < count as usize).then_some(())?;
            circuit.places.insert((port.to_owned(), number.parse().ok()?), place);
        }
    }
    circuit.zero = *circuit.places.get(&(ZERO.to_owned(), 0))?;
    Some(circuit)
}
