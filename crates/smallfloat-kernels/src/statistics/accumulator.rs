//! [`ClassAccumulator`]: the sums of rounding classes that kernels add up, until they join the
//! others.

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::element::Element;
use crate::element::classes::{NarrowClasses, RoundingClasses, Seen};
use crate::plan::class_table::{CAPACITY, COUNT, Pair, TABLES};

/// What a class adds up: how many elements, Σt, Σt², t being the bits below the class's first
/// value. Plain integers, so that memory full of zeros costs nothing until it is used.
pub(crate) type Sums = [u128; 3];

/// Sums of few elements, in words of 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct ClassAccumulator {
    machine: Machine,
    rounding_classes: NarrowClasses,
    sums: Vec<Pair>,
    elements: usize,
}

/// Tables of more classes cost more to empty than vectors save.
const MAX_CLASSES: usize = 1 << 15;

impl ClassAccumulator {
    /// No sums yet; `None` where there is no kernel, or t is too wide for it.
    pub(crate) fn new<T: Element>(level: Level, rounding_classes: &RoundingClasses) -> Option<Self> {
        let (machine, narrow) = (Machine::new(level)?, rounding_classes.narrow()?);
        // Asks whether there is a kernel for this type.
        machine.largest(&narrow, T::lanes(&[]))?;
        let sums = || vec![[0; 2]; rounding_classes.magnitudes() * TABLES];
        let fits = narrow.shift <= COUNT - 20 && rounding_classes.magnitudes() <= MAX_CLASSES;
        fits.then(|| Self { machine, rounding_classes: narrow, sums: sums(), elements: 0 })
    }

    /// Returns whether so many elements can be added.
    pub(crate) fn has_room(&self, elements: usize) -> bool {
        self.elements + elements <= CAPACITY
    }

    /// Adds a slice.
    pub(crate) fn add<T: Element>(&mut self, values: &[T]) -> Seen {
        self.elements += values.len();
        self.machine
            .add_classes(&self.rounding_classes, T::lanes(values), &mut self.sums)
            .expect("there is a kernel for this type, or this would not exist")
    }

    /// What one class has added up.
    pub(crate) fn of(&self, class: usize) -> Sums {
        let pairs = self.sums.chunks(TABLES).nth(class).expect("every class has its sums");
        pairs.iter().fold([0; 3], |[count, sum, squares], [packed, more]| {
            let low = (1 << COUNT) - 1;
            [count + u128::from(packed >> COUNT), sum + u128::from(packed & low), squares + u128::from(*more)]
        })
    }

    /// Forgets all sums.
    pub(crate) fn clear(&mut self) {
        self.sums.fill([0; 2]);
        self.elements = 0;
    }
}

/// The bits of the largest finite magnitude, if there is a kernel.
pub(crate) fn largest<T: Element>(
    level: Level,
    rounding_classes: &RoundingClasses,
    values: &[T],
) -> Option<u64> {
    Machine::new(level)?.largest(&rounding_classes.narrow()?, T::lanes(values)).map(u64::from)
}
