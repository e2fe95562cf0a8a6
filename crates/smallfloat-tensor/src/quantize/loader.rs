//! [`Loader`]: a tensor's elements by pieces and tiles, and how much each of them weighs.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use smallfloat::Format;
use smallfloat::text::Decimal;
use smallfloat_kernels::Level;

use crate::error::{Error, Result};
use crate::layout::grid::{Grid, Tile, index};
use crate::options::{Negative, Nonfinite, Options};
use crate::progress::part_of;
use crate::scale::rule::Extent;
use crate::stored::numbers::{Held, Numbers};
use crate::stored::view::{TensorView, View};

/// A tensor's elements by pieces and tiles, checked against what the options refuse.
pub(crate) struct Loader<'a> {
    pub(crate) name: &'a str,
    /// The file that it is in, if it is in one.
    path: Option<&'a Path>,
    /// The bytes of all elements where they lie.
    bytes: u64,
    pub(crate) numbers: Numbers<'a>,
    pub(crate) grid: Grid,
    options: &'a Options,
    element: Format,
    /// How much errors in the columns weigh.
    weights: Option<Arc<[u32]>>,
}

/// Where a thread puts elements that do not lie in memory as they are wanted.
#[derive(Default)]
pub(crate) struct Room<T> {
    bytes: Vec<u8>,
    values: Vec<T>,
}

impl<'a> Loader<'a> {
    /// Of a tensor of a file.
    pub(crate) fn of_file(view: &'a View, tensor: &'a TensorView, options: &'a Options) -> Result<Self> {
        let (shape, order) = (&tensor.info.shape, options.layout.order);
        let numbers = Numbers::ordered(view.reader(tensor)?.rounding_to_odd().asked_for_f32()?, order, shape);
        let loader = Self::new(&tensor.info.name, &order.of_elements(shape), numbers, options)?;
        Ok(Self { path: Some(view.source().path()), bytes: tensor.info.len, ..loader })
    }

    /// Of numbers anywhere; the shape has as many elements.
    pub(crate) fn new(
        name: &'a str,
        shape: &[u64],
        numbers: Numbers<'a>,
        options: &'a Options,
    ) -> Result<Self> {
        Ok(Self {
            name,
            path: None,
            bytes: 0,
            numbers,
            grid: Grid::new(shape, options.granularity),
            options,
            element: options.layout()?,
            weights: options.weights(name, shape)?,
        })
    }

    /// How many elements there are.
    pub(crate) fn elements(&self) -> u64 {
        self.grid.rows * self.grid.columns
    }

    /// Returns whether all elements are numbers of f32.
    pub(crate) fn is_short(&self) -> bool {
        self.numbers.is_short()
    }

    /// How much errors in the columns weigh, where there are activations.
    pub(crate) fn weights(&self) -> Option<&[u32]> {
        self.weights.as_deref()
    }

    /// How much the error of a tile's element weighs.
    pub(crate) fn weight(&self, tile: &Tile, element: usize) -> u32 {
        // The grid's columns are those of the last dimension, or several times as many.
        let whole = if self.options.calibration.is_some() { u32::MAX } else { 1 };
        self.weights.as_ref().map_or(whole, |weights| {
            weights[index((tile.column + element as u64 % tile.columns) % weights.len() as u64)]
        })
    }

    /// Elements from `first` on, which must be numbers of `T`, in row-major order. They lie in
    /// memory already or are put into `room`.
    pub(crate) fn read<'s, T: Held>(
        &'s self,
        first: u64,
        count: usize,
        room: &'s mut Room<T>,
    ) -> Result<&'s [T]> {
        if let Some(all) = T::lying(&self.numbers) {
            return Ok(&all[index(first)..][..count]);
        }
        room.values.resize(count, T::default());
        self.numbers.fill(first, &mut room.values, &mut room.bytes)?;
        Ok(&room.values)
    }

    /// Returns elements `first..first + count`, owned by the caller where the source does not hold
    /// them in this type.
    pub(crate) fn take<T: Held>(&self, first: u64, count: usize, room: &mut Room<T>) -> Result<Cow<'_, [T]>> {
        if let Some(all) = T::lying(&self.numbers) {
            return Ok(Cow::Borrowed(&all[index(first)..][..count]));
        }
        self.read(first, count, room)?;
        Ok(Cow::Owned(std::mem::take(&mut room.values)))
    }

    /// The elements of a tile, which must be numbers of `T`, checked.
    pub(crate) fn load<'s, T: Held>(&'s self, tile: &Tile, room: &'s mut Room<T>) -> Result<&'s [T]> {
        let values = self.tile(tile, room)?;
        self.check_tile(tile, values)?;
        Ok(values)
    }

    /// The elements of a tile, which must be numbers of `T`.
    pub(crate) fn tile<'s, T: Held>(&'s self, tile: &Tile, room: &'s mut Room<T>) -> Result<&'s [T]> {
        let columns = self.grid.columns;
        if tile.columns == columns || tile.rows == 1 {
            self.read(tile.row * columns + tile.column, index(tile.elements()), room)
        } else {
            room.values.resize(index(tile.elements()), T::default());
            for (i, row) in room.values.chunks_exact_mut(index(tile.columns)).enumerate() {
                let first = (tile.row + i as u64) * columns + tile.column;
                self.numbers.fill(first, row, &mut room.bytes)?;
            }
            Ok(&room.values)
        }
    }

    /// Returns whether elements of this extent may be among those that the options refuse.
    pub(crate) fn may_refuse(&self, extent: &Extent) -> bool {
        extent.nan || extent.infinite || !self.element.is_signed()
    }

    /// Refuses what the options say must not be in a tile.
    pub(crate) fn check_tile<T: Held>(&self, tile: &Tile, values: &[T]) -> Result<()> {
        self.check(values, |i| {
            let (row, column) = (i as u64 / tile.columns, i as u64 % tile.columns);
            (tile.row + row) * self.grid.columns + tile.column + column
        })
    }

    /// Refuses what the options say must not be in the data, naming the first element; `place`
    /// tells where in the tensor one is.
    pub(crate) fn check<T: Held>(&self, values: &[T], place: impl Fn(usize) -> u64) -> Result<()> {
        let refuse = |i: usize, advice: &str| {
            let x = values[i].to_f64();
            let text = if x.is_finite() { Decimal::from(x).to_string() } else { x.to_string() };
            Err(self.refused(format!("element {} is {text}: {advice}", place(i))))
        };
        // A look at all is faster than a search that may stop anywhere.
        if self.options.nonfinite == Nonfinite::Refuse
            && !Level::detected().vectorize(
                #[inline(always)]
                || T::all_finite(values),
            )
            && let Some(i) = values.iter().position(|x| !x.to_f64().is_finite())
        {
            return refuse(i, "take the preset's rule for values that are not finite, or mend the data");
        }
        if !self.element.is_signed()
            && self.options.negative == Negative::Refuse
            && let Some(i) = values.iter().position(|x| x.to_f64() < 0.0)
        {
            let advice = format!(
                "{} is unsigned; choose a rule for negative values: nan, zero or magnitude",
                self.element
            );
            return refuse(i, &advice);
        }
        Ok(())
    }

    /// The bytes of some elements where they lie.
    pub(crate) fn share(&self, elements: u64) -> u64 {
        part_of(self.bytes, elements, self.elements())
    }

    pub(crate) fn refused(&self, what: String) -> Error {
        Error::refused(self.path, Some(self.name), what)
    }
}
