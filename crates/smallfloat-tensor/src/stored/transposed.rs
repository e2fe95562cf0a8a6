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
