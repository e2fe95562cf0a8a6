//! [`BreakEven`]: when a table is worth making.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many elements went without a table so far. An entry costs about as much as an element
/// without the table, so one that is made after a quarter of its entries never adds much to what a
/// caller has spent already, and few elements never pay for it.
#[derive(Debug, Default)]
pub(crate) struct BreakEven(AtomicUsize);

impl BreakEven {
    /// Returns whether so many more elements make a table of so many entries worthwhile.
    pub(crate) fn is_reached(&self, elements: usize, entries: usize) -> bool {
        let before = self.0.fetch_add(elements, Ordering::Relaxed);
        before.saturating_add(elements) >= entries / 4
    }
}

impl Clone for BreakEven {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.0.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::BreakEven;

    #[test]
    fn a_quarter_of_the_entries() {
        let waiting = BreakEven::default();
        assert_eq!(
            [3, 5, 1, 1].map(|elements| waiting.is_reached(elements, 40)),
            [false, false, false, true]
        );
        assert!(waiting.clone().is_reached(0, 40) && BreakEven::default().is_reached(0, 3));
        assert!(BreakEven::default().is_reached(10, 40) && !BreakEven::default().is_reached(9, 40));
    }
}
