//! [`Recent`]: the sums of rounding classes that vector kernels add up, until they join the others.

use crate::key::{Keys, Seen};
use crate::{Element, Level};

/// What a class adds up: how many elements, Σt, Σt², t being the bits below the class's first value. Plain integers, so that
/// memory full of zeros costs nothing until it is used.
pub(crate) type Sums = [u128; 3];

#[cfg(target_arch = "x86_64")]
mod kernels {
    use super::{Element, Keys, Level, Seen, Sums};
    use crate::element::Lanes;
    use crate::key::Narrow;
    use crate::x86_64;

    /// Sums of few elements, in words of 64 bits.
    #[derive(Clone, Debug)]
    pub(crate) struct Recent {
        proof: x86_64::Avx2,
        keys: Narrow,
        sums: Vec<x86_64::Pair>,
        elements: usize,
    }

    /// Tables of more classes cost more to empty than vectors save.
    const MAX_CLASSES: usize = 1 << 15;

    /// Calls a kernel with the values as the type they have.
    macro_rules! with_lanes {
        ($values:expr, |$x:ident| $call:expr) => {
            match $values {
                Lanes::F32($x) => Some($call),
                Lanes::F16($x) => Some($call),
                Lanes::Bf16($x) => Some($call),
                Lanes::F64(_) => None,
            }
        };
    }

    impl Recent {
        /// No sums yet; `None` where there is no kernel, or t is too wide for it.
        pub(crate) fn new<T: Element>(level: Level, keys: &Keys) -> Option<Self> {
            let (proof, narrow) = (x86_64::Avx2::new(level)?, keys.narrow()?);
            with_lanes!(T::lanes(&[]), |_x| ())?;
            let sums = || vec![[0; 2]; keys.magnitudes() * x86_64::TABLES];
            let fits = narrow.shift <= x86_64::COUNT - 20 && keys.magnitudes() <= MAX_CLASSES;
            fits.then(|| Self { proof, keys: narrow, sums: sums(), elements: 0 })
        }

        /// Can these many elements be added?
        pub(crate) fn has_room(&self, elements: usize) -> bool {
            self.elements + elements <= x86_64::CAPACITY
        }

        /// Adds a slice.
        pub(crate) fn add<T: Element>(&mut self, values: &[T]) -> Seen {
            self.elements += values.len();
            self.add_lanes(T::lanes(values)).unwrap_or_default()
        }

        /// Not generic, so that the kernels are compiled in this crate and nowhere else.
        fn add_lanes(&mut self, values: Lanes<'_>) -> Option<Seen> {
            with_lanes!(values, |x| x86_64::add_classes(self.proof, &self.keys, x, &mut self.sums))
        }

        /// What one class has added up.
        pub(crate) fn of(&self, class: usize) -> Sums {
            let pairs = self.sums.chunks(x86_64::TABLES).nth(class).unwrap_or_default();
            pairs.iter().fold([0; 3], |[count, sum, squares], [packed, more]| {
                let low = (1 << x86_64::COUNT) - 1;
                [
                    count + u128::from(packed >> x86_64::COUNT),
                    sum + u128::from(packed & low),
                    squares + u128::from(*more),
                ]
            })
        }

        /// Forgets all sums.
        pub(crate) fn clear(&mut self) {
            self.sums.fill([0; 2]);
            self.elements = 0;
        }
    }

    /// The bits of the largest finite magnitude, if there is a kernel.
    pub(crate) fn largest<T: Element>(level: Level, keys: &Keys, values: &[T]) -> Option<u64> {
        largest_of(level, keys, T::lanes(values))
    }

    fn largest_of(level: Level, keys: &Keys, values: Lanes<'_>) -> Option<u64> {
        let (proof, keys) = (x86_64::Avx2::new(level)?, keys.narrow()?);
        with_lanes!(values, |x| u64::from(x86_64::largest(proof, &keys, x)))
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod kernels {
    use super::{Element, Keys, Level, Seen, Sums};

    /// No vector kernels: a type without values.
    #[derive(Clone, Debug)]
    pub(crate) enum Recent {}

    impl Recent {
        pub(crate) fn new<T: Element>(_: Level, _: &Keys) -> Option<Self> {
            None
        }

        pub(crate) fn has_room(&self, _: usize) -> bool {
            match *self {}
        }

        pub(crate) fn add<T: Element>(&mut self, _: &[T]) -> Seen {
            match *self {}
        }

        pub(crate) fn of(&self, _: usize) -> Sums {
            match *self {}
        }

        pub(crate) fn clear(&mut self) {
            match *self {}
        }
    }

    pub(crate) fn largest<T: Element>(_: Level, _: &Keys, _: &[T]) -> Option<u64> {
        None
    }
}

pub(crate) use kernels::{Recent, largest};
