//! [`Loader`]: a tensor's elements by tiles, and how much each of them weighs.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::layout::grid::{Grid, Tile, index};
use crate::options::{Negative, Nonfinite, Options};
use crate::progress::share_of;
use crate::scale::range::Scan;
use crate::stored::reader::Reader;
use crate::stored::view::{TensorView, View};

/// A tensor's elements by tiles, checked against what the options refuse.
pub(crate) struct Loader<'a> {
    pub(crate) view: &'a View,
    pub(crate) tensor: &'a TensorView,
    pub(crate) grid: Grid,
    reader: Reader<'a>,
    options: &'a Options,
    signed: bool,
    /// How much errors in the columns weigh.
    weights: Option<Arc<[u32]>>,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(view: &'a View, tensor: &'a TensorView, options: &'a Options) -> Result<Self> {
        let grid = Grid::new(&tensor.info.shape, options.granularity);
        let signed = options.layout()?.is_signed();
        let weights = options.weights(&tensor.info)?;
        Ok(Self {
            view,
            tensor,
            grid,
            reader: view.reader(tensor)?.rounding_to_odd(),
            options,
            signed,
            weights,
        })
    }

    /// How much the error of a tile's element weighs.
    pub(crate) fn weight(&self, tile: &Tile, element: usize) -> u32 {
        // The grid's columns are those of the last dimension, or several times as many.
        let whole = if self.options.calibration.is_some() { u32::MAX } else { 1 };
        self.weights.as_ref().map_or(whole, |weights| {
            weights[index((tile.column + element as u64 % tile.columns) % weights.len() as u64)]
        })
    }

    /// Fills `values` with the elements of a tile, which must be numbers of `T`.
    pub(crate) fn load<T: TileElement>(&self, tile: &Tile, values: &mut Vec<T>) -> Result<()> {
        values.resize(index(tile.elements()), T::default());
        if tile.columns == self.grid.columns {
            T::read(&self.reader, tile.row * self.grid.columns, values)?;
        } else {
            for (i, row) in values.chunks_exact_mut(index(tile.columns)).enumerate() {
                T::read(&self.reader, (tile.row + i as u64) * self.grid.columns + tile.column, row)?;
            }
        }
        self.check(tile, values)
    }

    /// Refuses what the options say must not be in the data, naming the first element.
    fn check<T: TileElement>(&self, tile: &Tile, values: &[T]) -> Result<()> {
        let refuse = |i: usize, advice: &str| {
            let (row, column) = (i as u64 / tile.columns, i as u64 % tile.columns);
            let element = (tile.row + row) * self.grid.columns + tile.column + column;
            Err(self.refused(format!("element {element} is {}: {advice}", values[i].to_f64())))
        };
        // A look at all is faster than a search that may stop anywhere.
        if self.options.nonfinite == Nonfinite::Refuse
            && !T::all_finite(values)
            && let Some(i) = values.iter().position(|x| !x.to_f64().is_finite())
        {
            return refuse(i, "ask for the preset's rule (--nonfinite preset) or mend the data");
        }
        if !self.signed
            && self.options.negative == Negative::Refuse
            && let Some(i) = values.iter().position(|x| x.to_f64() < 0.0)
        {
            return refuse(i, "the format is unsigned; choose a rule (--negative nan, zero or magnitude)");
        }
        Ok(())
    }

    /// Returns whether there are activations for it.
    pub(crate) fn is_weighed(&self) -> bool {
        self.weights.is_some()
    }

    /// The bytes of a tile in the file.
    pub(crate) fn share_of(&self, tile: &Tile) -> u64 {
        share_of(&self.tensor.info, tile.elements())
    }

    pub(crate) fn refused(&self, what: String) -> Error {
        Error::refused(Some(self.view.source().path()), Some(&self.tensor.info.name), what)
    }
}

/// A type that elements are held in.
pub(crate) trait TileElement: Scan {
    /// Reads the elements of a tensor from `first` on, all of which the type must hold.
    fn read(reader: &Reader<'_>, first: u64, values: &mut [Self]) -> Result<()>;
}

impl TileElement for f32 {
    fn read(reader: &Reader<'_>, first: u64, values: &mut [Self]) -> Result<()> {
        reader.read_short(first, values)
    }
}

impl TileElement for f64 {
    fn read(reader: &Reader<'_>, first: u64, values: &mut [Self]) -> Result<()> {
        reader.read(first, values)
    }
}
