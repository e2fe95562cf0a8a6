//! Which classes finite operands of given classes can give: what lies between the results at the
//! ends of the classes.
//!
//! With fixed signs, a product, a quotient, a root, a selection and a conversion are monotone in
//! the magnitude of each operand, and so is rounding. A sum of terms of one sign is too, and of
//! opposite signs it is at most as large, down to zero.

use std::collections::{HashMap, HashSet};

use smallfloat::ops::Operation;
use smallfloat::p3109::{Function as P3109Function, Parameter};
use smallfloat::{Class, Format};

use crate::coverage::functions::Function;
use crate::features::Aspect;

/// What finite operands of some classes give at the ends of these: classes of results, as features
/// have them, with flags, as bins of the cross of outcomes have them.
type Ends = HashSet<(i32, Option<usize>)>;

/// The ends of all combinations of finite classes.
pub(super) struct Corners {
    of: HashMap<Vec<i32>, Ends>,
    operation: Operation,
}

/// The place of the zero in the classes of results; subnormal and normal follow.
const ZERO: i32 = 2;
/// The place of the zero in the classes of operands; subnormal and normal follow.
const ZERO_OPERAND: i32 = 3;

impl Corners {
    /// The corners of an operation that is monotone in magnitudes; `None` for others.
    pub(super) fn of(function: &Function) -> Option<Self> {
        let unit = &function.unit;
        let P3109Function::Numeric(operation) = unit.operation().function() else { return None };

        let is_known = operation.is_basic() && !matches!(operation, Operation::Remainder | Operation::Fmod);
        let is_scalar = unit.parameters().iter().all(|parameter| matches!(parameter, Parameter::Code(_)));
        if !is_known || !is_scalar || unit.operands().iter().any(|field| field.format.is_none()) {
            return None;
        }
        let outcomes = function.crosses.iter().find(|cross| cross.name == "outcomes")?;
        let flags = outcomes.axes.iter().find(|axis| axis.is_of_flags());
        let ends: Vec<Vec<(i32, u64)>> = unit.operation().operands().iter().map(ends).collect();
        let class = function.features.find(Aspect::ResultClass)?;
        let mut of: HashMap<Vec<i32>, Ends> = HashMap::new();
        let mut values = Vec::new();
        let count: usize = ends.iter().map(Vec::len).product();
        for mut i in 0..count {
            let (mut classes, mut operands) = (Vec::new(), Vec::new());
            for ends in &ends {
                let (class, code) = ends[i % ends.len()];
                classes.push(class);
                operands.push(code);
                i /= ends.len();
            }
            let outcome = unit.evaluate(&operands).ok()?;
            function.features.values(&operands, outcome.results(), outcome.flags, &mut values);
            let flags = flags.and_then(|axis| axis.bin(&values, 0));
            of.entry(classes).or_default().insert((values[class], flags));
        }
        Some(Self { of, operation })
    }

    /// Returns whether terms of these classes may cancel: two of them are not zero.
    fn cancels(&self, classes: &[i32]) -> bool {
        let is_zero = |class: &i32| *class == ZERO_OPERAND;
        match self.operation {
            Operation::Add | Operation::Subtract | Operation::Faa => {
                classes.iter().filter(|term| !is_zero(term)).count() > 1
            }
            Operation::Fma => !classes.iter().any(is_zero),
            _ => false,
        }
    }

    /// Returns whether operands of these classes can't give a result of this class with these
    /// flags.
    pub(super) fn exclude(&self, values: &[(Aspect, Option<i32>)], flags: Option<usize>) -> bool {
        let classes = values.iter().filter(|(of, _)| matches!(of, Aspect::Class(_)));
        let classes: Option<Vec<i32>> = classes.map(|(_, value)| *value).collect();
        let result = values.iter().find(|(of, _)| *of == Aspect::ResultClass).and_then(|(_, value)| *value);
        let (Some(classes), Some(result)) = (classes, result) else { return false };
        let Some(ends) = self.of.get(&classes) else { return false };
        if result < ZERO {
            return !ends.contains(&(result, flags));
        }
        let finite = ends.iter().filter(|(class, _)| *class >= ZERO);
        let has_flags = finite.clone().any(|(_, of)| *of == flags);
        let finite = finite.map(|(class, _)| *class);
        let (Some(least), Some(most), true) = (finite.clone().min(), finite.max(), has_flags) else {
            return true;
        };
        let least = if self.cancels(&classes) { ZERO } else { least };
        // Beyond the range comes what the largest values give.
        let overflows = ends.iter().any(|(class, _)| *class < ZERO);
        result < least || result > most && !overflows
    }
}

/// The finite classes of a format, each with its smallest and its largest code of either sign.
fn ends(format: &Format) -> Vec<(i32, u64)> {
    let encode = |datum| format.encode(datum).expect("a value of the format");
    let (normal, largest) = (encode(format.min_normal()), encode(format.max_finite()));
    let first = u64::from(format.has_zero());
    let mut magnitudes = vec![normal, largest];
    magnitudes.extend(format.has_zero().then_some(0));
    if normal > first {
        magnitudes.extend([first, normal - 1]);
    }
    let sign = 1 << (format.width() - 1);
    let codes = magnitudes.iter().flat_map(|code| {
        let negative = format.is_signed().then_some(code | sign);
        [*code].into_iter().chain(negative)
    });
    let place = |code: u64| match format.classify(code) {
        Class::Zero => Some(ZERO_OPERAND),
        Class::Subnormal => Some(ZERO_OPERAND + 1),
        Class::Normal => Some(ZERO_OPERAND + 2),
        Class::Nan | Class::Infinite => None,
    };
    codes.filter_map(|code| Some((place(code)?, code))).collect()
}
