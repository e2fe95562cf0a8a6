//! [`Transposed`]: the elements of matrices in the order of their transposes.

use std::sync::Mutex;

use crate::error::Result;
use crate::layout::grid::index;

/// Reads matrices of `across` rows and `down` columns as their transposes: a band of rows is read
/// and kept, as the next elements are most likely there too.
#[derive(Debug)]
pub(crate) struct Transposed {
    down: u64,
    across: u64,
    band: Mutex<Option<Band>>,
}

/// A rectangle of one matrix.
#[derive(Debug)]
struct Band {
    /// Its first element among those that are asked for.
    corner: u64,
    values: Vec<f64>,
}

/// Elements of a band.
const BAND_ELEMENTS: u64 = 1 << 20;

impl Transposed {
    /// For a tensor that is asked for in this shape, `[…, down, across]`.
    pub(crate) fn new(shape: &[u64]) -> Self {
        let [.., down, across] = *shape else { panic!("what is transposed has two dimensions") };
        Self { down, across, band: Mutex::new(None) }
    }

    /// Calls `each` with runs of the elements `first..first + count`, in their order, and the place
    /// of each run among them; `line` fills in elements in the order in which they lie.
    pub(crate) fn read(
        &self,
        first: u64,
        count: usize,
        line: &dyn Fn(u64, &mut [f64]) -> Result<()>,
        mut each: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let Self { down, across, band } = self;
        let (down, across) = (*down, *across);
        // Whole blocks of scales.
        let width = across.min(BAND_ELEMENTS / 32);
        let height = (BAND_ELEMENTS / width.max(1) / 32 * 32).max(32);
        let mut kept = band.lock().expect("no reader panics with the band");
        let mut done = 0;
        while done < count {
            let at = first + done as u64;
            let (matrix, row, column) = (at / (down * across), at / across % down, at % across);
            let (top, left) = (row / height * height, column / width * width);
            let (rows, columns) = (height.min(down - top), width.min(across - left));
            let corner = (matrix * down + top) * across + left;
            if kept.as_ref().is_none_or(|band| band.corner != corner) {
                let mut values = vec![0.0; index(rows * columns)];
                let mut elements = vec![0.0; index(rows)];
                for column in 0..columns {
                    line((matrix * across + left + column) * down + top, &mut elements)?;
                    for (row, &x) in elements.iter().enumerate() {
                        values[row * index(columns) + index(column)] = x;
                    }
                }
                *kept = Some(Band { corner, values });
            }
            let band = kept.as_ref().expect("it was just read");
            let place = index((row - top) * columns + column - left);
            let run = index(columns - (column - left)).min(count - done);
            each(done, &band.values[place..][..run]);
            done += run;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Bands of at most 2^20 elements: 32,768 columns of 32 rows where rows are long, multiples of
    /// 32 rows where they are short. Each is read once while it is asked for.
    #[test]
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    fn bands_are_read_once() {
        for (shape, stretches) in [
            (
                [2, 70, 40_000],
                // Within a band, over its end into the next of the row, into the next row, and the
                // last of a matrix with the first of the other.
                &[
                    (0, 5, &[(32_768, 32)][..]),
                    (32_760, 8, &[]),
                    (32_766, 4, &[(7_232, 32)]),
                    (31 * 40_000 + 39_998, 3, &[(32_768, 6 + 26)]),
                    (64 * 40_000 + 39_990, 10, &[(7_232, 6)]),
                    (70 * 40_000 - 1, 2, &[(32_768, 32)]),
                ][..],
            ),
            (
                [2, 10_500, 100],
                &[
                    (0, 301, &[(100, 10_464)]),
                    (10_463 * 100 + 99, 2, &[(100, 36)]),
                    (10_500 * 100 - 1, 2, &[(100, 10_464)]),
                ],
            ),
        ] {
            let [_, down, across] = shape;
            let transposed = Transposed::new(&shape);
            let lines = RefCell::new(Vec::new());
            let line = |first: u64, elements: &mut [f64]| {
                let mut lines = lines.borrow_mut();
                match lines.last_mut() {
                    Some((count, length)) if *length == elements.len() => *count += 1,
                    _ => lines.push((1, elements.len())),
                }
                elements.iter_mut().zip(first..).for_each(|(element, at)| *element = at as f64);
                Ok(())
            };
            for &(first, count, bands) in stretches {
                let mut found = vec![f64::NAN; count];
                let copy = |place: usize, run: &[f64]| found[place..][..run.len()].copy_from_slice(run);
                transposed.read(first, count, &line, copy).unwrap();
                let expected = (first..).take(count).map(|at| {
                    let (matrix, row, column) = (at / (down * across), at / across % down, at % across);
                    ((matrix * across + column) * down + row) as f64
                });
                assert!(found.into_iter().eq(expected), "{shape:?} {first}");
                assert_eq!(lines.take(), bands, "{shape:?} {first}");
            }
        }
    }
}
