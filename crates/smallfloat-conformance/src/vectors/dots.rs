//! Dot products as accumulators compute them, for [`FixedUnit`](crate::vectors::FixedUnit).

use std::fmt;

use smallfloat::formats::{BINARY16, BINARY32};
use smallfloat::ops::Sum;
use smallfloat::{Datum, Exact, FlagPolicy, Format, Rounded, project};
use smallfloat_kernels::{Accumulate, Dot, FusedDot, Output};

use crate::error::Error;
use crate::vectors::outcome::CallOutcome;
use crate::vectors::unit::Field;

/// Products of one sum, at most: they stand on one line.
const MOST: usize = 1024;

/// The name of the accumulator that a matrix unit begins with.
pub(super) const ACCUMULATOR: &str = "c";

/// A sum of so many products in an accumulator: Σ x·y, of a matrix unit c + Σ x·y.
#[derive(Clone, Debug)]
pub(crate) struct DotProduct {
    length: usize,
    formats: [Format; 2],
    accumulate: Accumulate,
    adder: Adder,
}

#[derive(Clone, Debug)]
enum Adder {
    /// Which begins with an accumulator.
    MatrixUnit(FusedDot),
    /// Which begins at zero.
    Plain(Box<Dot>),
}

impl DotProduct {
    /// # Errors
    /// A length out of range; formats that the accumulator does not add.
    pub(super) fn new(length: usize, formats: [Format; 2], accumulate: Accumulate) -> Result<Self, Error> {
        if !(1..=MOST).contains(&length) {
            return Err(Error::DotLength { length, most: MOST });
        }
        let [x, y] = &formats;
        let adder = match accumulate {
            Accumulate::Unit(unit) => Adder::MatrixUnit(unit.dot(x, y)?),
            Accumulate::Fused(fused) => Adder::MatrixUnit(FusedDot::new(x, y, fused)?),
            _ => match formats.iter().find(|format| format.width() > 8) {
                Some(format) => {
                    return Err(Error::DotWidth { accumulate: accumulate.to_string(), format: *format });
                }
                None => Adder::Plain(Box::new(Dot::new(x, y, accumulate)?)),
            },
        };
        Ok(Self { length, formats, accumulate, adder })
    }

    /// How many products there are.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The formats of x and of y.
    pub(crate) fn formats(&self) -> &[Format; 2] {
        &self.formats
    }

    /// The format of the result, and of a matrix unit's accumulator: the register that holds it.
    pub(crate) fn register(&self) -> Format {
        match (&self.adder, &self.accumulate) {
            (Adder::MatrixUnit(unit), _) if unit.fused().output == Output::Binary16 => BINARY16,
            (_, Accumulate::Rounded(format, _)) => *format,
            _ => BINARY32,
        }
    }

    /// The matrix unit, if it is one.
    pub(crate) fn matrix_unit(&self) -> Option<&FusedDot> {
        match &self.adder {
            Adder::MatrixUnit(unit) => Some(unit),
            Adder::Plain(_) => None,
        }
    }

    /// Whether the sum raises flags.
    pub(super) fn policy(&self) -> Option<FlagPolicy> {
        let has_flags = matches!(self.accumulate, Accumulate::Exact | Accumulate::Rounded(..));
        has_flags.then_some(FlagPolicy::IEEE_BEFORE)
    }

    pub(super) fn operands(&self) -> Vec<Field> {
        let elements = |name: &'static str, format: Format| {
            (0..self.length).map(move |i| Field::code(format!("{name}{i}"), &format))
        };
        let [x, y] = self.formats;
        let c = self.matrix_unit().map(|_| Field::code(ACCUMULATOR.into(), &self.register()));
        elements("x", x).chain(elements("y", y)).chain(c).collect()
    }

    /// c + Σ x·y without a rounding.
    pub(crate) fn exact(&self, operands: &[u64]) -> Exact {
        let [x_format, y_format] = &self.formats;
        let (x, rest) = operands.split_at(self.length);
        let (y, c) = rest.split_at(self.length);
        let mut sum = Sum::new();
        for (x, y) in x.iter().zip(y) {
            sum.add_product(x_format.decode(*x), y_format.decode(*y));
        }
        for c in c {
            sum.add(self.register().decode(*c));
        }
        sum.exact()
    }

    pub(super) fn evaluate(&self, operands: &[u64]) -> CallOutcome {
        let (x, rest) = operands.split_at(self.length);
        let (y, c) = rest.split_at(self.length);
        let register = self.register();
        let nearest = register.default_projection();
        let Rounded { value, flags } = match &self.adder {
            Adder::MatrixUnit(unit) => {
                let [x_format, y_format] = &self.formats;
                let values = |codes: &[u64], format| codes.iter().map(|code| value(*code, format)).collect();
                let (x, y): (Vec<f32>, Vec<f32>) = (values(x, x_format), values(y, y_format));
                let sum = unit.add(value(c[0], &register), &x, &y);
                // The register has every accumulator.
                project(Exact::from_datum(BINARY32.decode(sum.to_bits().into())), &register, &nearest)
            }
            Adder::Plain(dot) => {
                let [x, y] = [x, y].map(|codes| {
                    let bytes = codes.iter().map(|code| code.to_le_bytes()[0]);
                    bytes.collect::<Vec<u8>>()
                });
                dot.dot(&x, &y, &register, &nearest)
            }
        };
        CallOutcome::one(value, flags)
    }
}

/// The value of a code, which binary32 holds.
fn value(code: u64, format: &Format) -> f32 {
    match format.decode(code) {
        Datum::Nan { .. } => f32::NAN,
        datum => datum.to_f32().expect("matrix units take formats that binary32 holds"),
    }
}

/// `Dot<32, e4m3fn, e4m3fn, hopper>`.
impl fmt::Display for DotProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, formats: [x, y], accumulate, .. } = self;
        write!(f, "Dot<{length}, {x}, {y}, {accumulate}>")
    }
}
