//! [`Variant`]: implementations that people really use, to be measured.
//!
//! The recipe of a function is a list of words and `key=value` parts separated by commas, in any
//! order:
//!
//! | part | what the implementation does |
//! | --- | --- |
//! | `operands=FORMAT` | rounds the operands to a format first |
//! | `via=exact` | computes the function exactly (the default) |
//! | `via=f32-libm` | computes in binary32, as a C library's `expf` does |
//! | `via=f64-libm` | computes in binary64 |
//! | `via=taylor` | e^x or 2^x by argument reduction and a Taylor polynomial |
//! | `via=table` | e^x, 2^x, 1/x, √x or 1/√x by a table and linear interpolation |
//! | `degree=N` | of the polynomial, 1..=12 (default 5) |
//! | `entries=N` | of the table, a power of two, 2..=65536 (default 64) |
//! | `in=FORMAT` | the format in which polynomial and table are computed, each operation rounded (default binary32) |
//! | `then=FORMAT` | rounds the result to a format before it is rounded to the result's |
//! | `flush=zero` | gives 0 for a subnormal result |
//! | `flush=normal` | gives the smallest normal value for a subnormal result |
//! | `flush=nearest` | gives whichever of the two is nearer, the smallest normal value where both are |
//!
//! A sum of products is implemented by the name of another accumulator: `hopper`, `exact`.
//!
//! The words of [`NAMED`] stand for such parts: `bfloat16,flush=zero`. A later part replaces an
//! earlier one.
//!
//! Everything is computed by integers, by binary32 and binary64 additions, multiplications,
//! divisions and square roots, which are the same on every machine, and by the crate `libm`, which
//! uses nothing else. So results do not depend on the machine.

mod host;
mod spec;
mod sum;
mod table;
mod taylor;
mod variant;
mod working;

use host::Host;
use smallfloat::formats::{BINARY32, BINARY64};
use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::p3109::{Function, Specialization};
use smallfloat::{Class, Datum, Exact, Format, Projection, convert, project};
use table::InterpolationTable;
use taylor::Taylor;

use crate::error::Error;
use crate::monotone::{Runs, is_monotone};

pub use spec::{Flush, ImplementationSpec, NAMED, NamedImplementation, Via};
pub use sum::SumImplementation;
pub use variant::Variant;

/// An operation as a recipe implements it.
#[derive(Clone, Debug)]
pub struct Implementation {
    operation: Operation,
    operands: Vec<Format>,
    result: Format,
    projection: Projection,
    arithmetic: OperationOptions,
    computed: Computed,
    /// The format that operands are rounded to first.
    narrowed: Option<(Format, Projection)>,
    /// The format that the result is rounded to before the last rounding.
    between: Option<(Format, Projection)>,
    flush: Option<(Flush, u64)>,
}

#[derive(Clone, Debug)]
enum Computed {
    /// With the results as runs, where the function is monotone.
    Exact(Option<Runs>),
    /// With the rounding of binary32 to a narrow result as runs, where it has no scale.
    F32(Host<f32>, Option<Runs>),
    F64(Host<f64>),
    Taylor(Taylor),
    Table(InterpolationTable),
}

impl Implementation {
    /// Returns the recipe applied to an operation.
    ///
    /// # Errors
    /// An operation whose result is no number, or that the recipe does not compute.
    pub fn new(recipe: &ImplementationSpec, operation: &Specialization) -> Result<Self, Error> {
        let name = operation.function().name();
        let (Function::Numeric(function), Some(result), Some(projection)) =
            (operation.function(), operation.result(), operation.projection())
        else {
            return Err(Error::NotNumeric { name: name.to_owned() });
        };
        let to = recipe.then().unwrap_or(*result);
        let to_how = recipe.then().map_or(*projection, |format| format.default_projection());
        let computed = match recipe.via() {
            Via::Exact => {
                let operand = recipe.operands().unwrap_or(operation.operands()[0]);
                let runs = if operand.width() > 8
                    && operation.operands().len() == 1
                    && is_monotone(function, &to, &to_how)
                {
                    let result = |code| {
                        let operands = [Operand::new(code, &operand)];
                        Ok(function.evaluate(&operands, &to, &to_how, operation.arithmetic()).value)
                    };
                    Some(Runs::new(&operand, result)?)
                } else {
                    None
                };
                Some(Computed::Exact(runs))
            }
            Via::F32Libm => {
                let (to, projection) = (
                    recipe.then().unwrap_or(*result),
                    recipe.then().map_or(*projection, |to| to.default_projection()),
                );
                let runs =
                    rounding_of_binary32(&to, &projection).filter(|_| operation.arithmetic().scale == 0);
                Host::<f32>::named(name).map(|function| Computed::F32(function, runs))
            }
            Via::F64Libm => Host::<f64>::named(name).map(Computed::F64),
            Via::Taylor { degree, working } => {
                Taylor::new(name, degree, &working, &to)?.map(Computed::Taylor)
            }
            Via::Table { entries, working } => {
                InterpolationTable::new(name, entries, &working, &to)?.map(Computed::Table)
            }
        };
        let Some(computed) = computed else {
            let known = match recipe.via() {
                Via::Taylor { .. } => taylor::NAMES.join(", "),
                Via::Table { .. } => table::names().collect::<Vec<_>>().join(", "),
                _ => host::names().collect::<Vec<_>>().join(", "),
            };
            return Err(Error::NotComputed { via: recipe.via().to_string(), known, name: name.to_owned() });
        };
        let with_projection =
            |format: Option<Format>| format.map(|format| (format, format.default_projection()));
        Ok(Self {
            operation: function,
            operands: operation.operands().to_vec(),
            result: *result,
            projection: *projection,
            arithmetic: operation.arithmetic(),
            computed,
            narrowed: with_projection(recipe.operands()),
            between: with_projection(recipe.then()),
            flush: recipe.flush().map(|flush| (flush, min_normal(result))),
        })
    }

    /// Returns the code that the implementation gives for the operands' codes. Bits above the
    /// formats' widths are ignored.
    ///
    /// # Panics
    /// For fewer codes than the operation has operands.
    pub fn call(&self, codes: &[u64]) -> u64 {
        let count = self.operands.len();
        let mut operands = [Operand::new(0, &self.result); 3];
        for ((operand, format), &code) in operands.iter_mut().zip(&self.operands).zip(&codes[..count]) {
            *operand = match &self.narrowed {
                Some((narrow, projection)) => {
                    Operand::new(convert(code, format, narrow, projection).value, narrow)
                }
                None => Operand::new(code, format),
            };
        }
        let code = self.compute(&operands[..count]);
        self.flushed(code)
    }

    fn compute(&self, operands: &[Operand<'_>]) -> u64 {
        let (to, projection) = self
            .between
            .as_ref()
            .map_or((&self.result, &self.projection), |(to, projection)| (to, projection));
        let code = match &self.computed {
            Computed::Exact(Some(runs)) => runs.code(operands[0].code),
            Computed::Exact(None) => self.operation.evaluate(operands, to, projection, self.arithmetic).value,
            Computed::F32(function, Some(runs)) => runs.code(function.call(operands).to_bits().into()),
            Computed::F32(function, None) => {
                let bits = function.call(operands).to_bits();
                self.rounded(BINARY32.decode(bits.into()).into(), to, projection)
            }
            Computed::F64(function) => {
                let bits = function.call(operands).to_bits();
                self.rounded(BINARY64.decode(bits).into(), to, projection)
            }
            Computed::Taylor(taylor) => {
                let x = operands[0].datum();
                self.rounded(taylor.value(x).unwrap_or_else(|| self.special(x)), to, projection)
            }
            Computed::Table(table) => {
                let x = operands[0].datum();
                self.rounded(table.value(x).unwrap_or_else(|| self.special(x)), to, projection)
            }
        };
        match &self.between {
            Some((between, _)) => convert(code, between, &self.result, &self.projection).value,
            None => code,
        }
    }

    /// The exact result: what hardware gives for special operands on a path of their own.
    fn special(&self, x: Datum) -> Exact {
        self.operation.exact([x, Datum::ZERO, Datum::ZERO], self.arithmetic.semantics).exact
    }

    fn rounded(&self, x: Exact, to: &Format, projection: &Projection) -> u64 {
        project(x.scaled(self.arithmetic.scale), to, projection).value
    }

    fn flushed(&self, code: u64) -> u64 {
        let Some((flush, min_normal)) = self.flush else { return code };
        if self.result.classify(code) != Class::Subnormal {
            return code;
        }
        let sign = if self.result.sign_bit(code) { 1 << (self.result.width() - 1) } else { 0 };
        let to_normal = match flush {
            Flush::Zero => false,
            Flush::Normal => true,
            Flush::Nearest => self.is_nearer_to_normal(code & !sign),
        };
        match to_normal {
            true => min_normal | sign,
            false if self.result.has_negative_zero() => sign,
            false => 0,
        }
    }

    /// Returns whether twice the magnitude is at least the smallest normal value.
    fn is_nearer_to_normal(&self, magnitude: u64) -> bool {
        let twice = match self.result.decode(magnitude) {
            Datum::Finite { negative, significand, exponent } => {
                Datum::finite(negative, significand, exponent + 1)
            }
            other => other,
        };
        twice.compare(&self.result.min_normal()).is_some_and(std::cmp::Ordering::is_ge)
    }
}

/// The code of the smallest normal value.
fn min_normal(format: &Format) -> u64 {
    format.encode(format.min_normal()).expect("every format has normal values")
}

/// Rounding binary32 to a format of few values, as runs: sweeps over 2^32 operands spend most of
/// their time here.
fn rounding_of_binary32(to: &Format, projection: &Projection) -> Option<Runs> {
    if to.width() > 8 || !is_monotone(Operation::Convert, to, projection) {
        return None;
    }
    let runs = Runs::new(&BINARY32, |code| Ok(convert(code, &BINARY32, to, projection).value));
    Some(runs.expect("conversions have no errors"))
}
