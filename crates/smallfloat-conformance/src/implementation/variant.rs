//! [`Variant`]: an implementation by its text.

use std::fmt;

use crate::error::Error;
use crate::implementation::{Implementation, ImplementationSpec, SumImplementation};
use crate::kappa::{Definition, MeasuredOperation};
use crate::vectors::Accumulate;

/// An implementation to be measured: of a function by a recipe, `f32-libm,flush=zero`; of a sum by
/// another accumulator's name, `hopper`.
///
/// ```
/// use smallfloat_conformance::implementation::Variant;
/// use smallfloat_conformance::kappa::{GaugeOptions, Kappa, MeasuredOperation, sweep};
///
/// // Two products of E2M1 values in a unit that keeps two fraction bits: all 2^16 operands.
/// let sum: MeasuredOperation = "Dot<2, e2m1fn, e2m1fn, exact>".parse()?;
/// let unit = Variant::new("fused:k=2,fraction=2,output=f32", &sum)?;
/// let gauge = sweep(&sum, |codes| unit.call(codes), GaugeOptions::default(), &|_| ())?;
/// assert!(gauge.total().kappa() > Kappa::Steps(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Variant {
    text: String,
    computed: Computed,
}

#[derive(Clone, Debug)]
enum Computed {
    Function(Box<Implementation>),
    Sum(Box<SumImplementation>),
}

impl Variant {
    /// Returns the implementation of an operation that the text names.
    ///
    /// # Errors
    /// A text that is not understood; what [`Implementation::new`] and [`SumImplementation::new`]
    /// refuse.
    pub fn new(text: &str, operation: &MeasuredOperation) -> Result<Self, Error> {
        match operation.definition() {
            Definition::Function(function) => {
                let recipe: ImplementationSpec = text.parse()?;
                let computed = Computed::Function(Box::new(Implementation::new(&recipe, function)?));
                Ok(Self { text: recipe.to_string(), computed })
            }
            Definition::Fixed(unit) => {
                let accumulate: Accumulate = text.trim().parse()?;
                let computed = Computed::Sum(Box::new(SumImplementation::new(accumulate, unit)?));
                Ok(Self { text: accumulate.to_string(), computed })
            }
        }
    }

    /// Returns the code that the implementation gives for the operands' codes. Of functions, bits
    /// above the formats' widths are ignored.
    ///
    /// # Panics
    /// For fewer codes than the operation has operands.
    pub fn call(&self, codes: &[u64]) -> u64 {
        match &self.computed {
            Computed::Function(function) => function.call(codes),
            Computed::Sum(sum) => sum.call(codes),
        }
    }
}

/// As it is read.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
