//! [`Statistics`]: what the scale or the bias of many elements follows from, in one pass over them;
//! [`TensorScale`]: what is decided for whole tensors.

use smallfloat::Format;
use smallfloat_kernels::{ClassSums, Lanes, Level, largest_of_groups};

use crate::error::Result;
use crate::file::pipeline::ordered;
use crate::layout::grid::{Granularity, Grid, PIECE_ELEMENTS, Tile, index};
use crate::options::Options;
use crate::progress::Progress;
use crate::quantize::loader::{Loader, Room};
use crate::quantize::search::Searcher;
use crate::scale::bias::magnitudes::{Magnitudes, WeightedClassSums};
use crate::scale::rule::{Extent, Scale};
use crate::stored::numbers::Held;

/// What a whole tensor, or several that share, have decided before the work on groups begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorScale {
    /// The scale, where there is one for the tensor.
    pub(crate) scale: Option<Scale>,
    /// What divides all scales.
    pub(crate) global: f64,
}

impl TensorScale {
    /// Decides for a tensor, or for several that share.
    pub(crate) fn decide(
        options: &Options,
        tensors: &[Loader<'_>],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self> {
        Self::by(&mut Statistics::new(options)?, options, tensors, progress)
    }

    /// Decides for a tensor, and returns the largest magnitudes of its groups, in order, where they
    /// were found on the way and nothing is refused; else none.
    pub(crate) fn decide_by_groups(
        options: &Options,
        tensor: &Loader<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Self, Vec<f32>)> {
        let mut statistics = Statistics::new(options)?;
        let has_groups = options.scale.is_some() && tensor.grid.group_length(&whole(&tensor.grid)).is_some();
        statistics.largest = has_groups.then(Vec::new);
        let decided = Self::by(&mut statistics, options, std::slice::from_ref(tensor), progress)?;
        Ok((decided, statistics.largest.unwrap_or_default()))
    }

    fn by(
        statistics: &mut Statistics,
        options: &Options,
        tensors: &[Loader<'_>],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self> {
        if !options.decides_whole() {
            return Ok(Self { scale: None, global: 1.0 });
        }
        let fixed = options.scale.is_none() && !options.bias.needs_statistics();
        for tensor in tensors.iter().filter(|tensor| !fixed && tensor.elements() > 0) {
            statistics.add(tensor, whole(&tensor.grid), progress)?;
        }
        let by_bias = options.scale.is_none() && options.format.has_free_bias();
        let layout = options.layout()?;
        let global = options.scale.map_or(1.0, |scale| scale.global_of(&layout, statistics.extent.amax));
        if options.granularity != Granularity::Tensor || !(by_bias || options.scale.is_some()) {
            return Ok(Self { scale: None, global });
        }
        let scale = match Searcher::new(options)? {
            None => statistics.choose(options, &layout, global)?,
            Some(searcher) => {
                let mut search = searcher.search(&statistics.extent, global);
                for tensor in tensors {
                    search.read(tensor, whole(&tensor.grid), progress)?;
                }
                search.best()
            }
        };
        Ok(Self { scale: Some(scale), global })
    }
}

/// All elements.
fn whole(grid: &Grid) -> Tile {
    Tile { row: 0, rows: grid.rows, column: 0, columns: grid.columns }
}

/// Statistics of elements that go by.
pub(crate) struct Statistics {
    pub(crate) extent: Extent,
    classes: Option<Classes>,
    /// The largest magnitudes of groups, while these are kept.
    largest: Option<Vec<f32>>,
}

/// Classes of elements, all of one weight or each column with its own.
enum Classes {
    Equal(ClassSums<f64>),
    Weighted(WeightedClassSums),
}

impl Statistics {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let by_classes =
            options.scale.is_none() && options.format.has_free_bias() && options.bias.needs_statistics();
        let precision = options.layout()?.precision();
        let classes = by_classes.then(|| match options.calibration {
            None => Classes::Equal(ClassSums::new(precision)),
            Some(_) => Classes::Weighted(WeightedClassSums::new(precision)),
        });
        Ok(Self { extent: Extent::default(), classes, largest: None })
    }

    /// Adds the elements of a tile.
    pub(crate) fn add(
        &mut self,
        tensor: &Loader<'_>,
        tile: Tile,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        if tensor.is_short() {
            self.add_held::<f32>(tensor, tile, progress)
        } else {
            self.add_held::<f64>(tensor, tile, progress)
        }
    }

    fn add_held<T: Held>(
        &mut self,
        tensor: &Loader<'_>,
        tile: Tile,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        let pieces: Vec<Tile> = Grid::pieces(tile, PIECE_ELEMENTS).collect();
        let keep = self.classes.is_some();
        let by_group = self.largest.is_some();
        ordered(
            pieces.len() as u64,
            Room::<T>::default,
            |room, i| {
                let values = tensor.tile(&pieces[index(i)], room)?;
                // Pieces of longer groups have none.
                let length = tensor.grid.group_length(&pieces[index(i)]).filter(|_| by_group);
                let (extent, largest) = by_groups(values, length);
                if tensor.may_refuse(&extent) {
                    tensor.check_tile(&pieces[index(i)], values)?;
                }
                let kept: Vec<f64> =
                    if keep { values.iter().map(|x| x.to_f64()).collect() } else { Vec::new() };
                Ok((i, extent, kept, largest))
            },
            |(i, extent, values, largest)| {
                let piece = &pieces[index(i)];
                self.extent.merge(&extent);
                match (&mut self.largest, largest) {
                    (Some(all), Some(largest)) => all.extend(largest),
                    (all, _) => *all = None,
                }
                match &mut self.classes {
                    Some(Classes::Equal(cells)) => cells.add(&values),
                    Some(Classes::Weighted(cells)) => {
                        for (i, &x) in values.iter().enumerate() {
                            cells.add(x, tensor.weight(piece, i));
                        }
                    }
                    None => {}
                }
                progress(Progress::Bytes(tensor.share(piece.elements())));
                Ok(())
            },
        )?;
        Ok(())
    }

    /// The scale of all of them.
    pub(crate) fn choose(&self, options: &Options, element: &Format, global: f64) -> Result<Scale> {
        if let Some(spec) = &options.scale {
            return Ok(spec.choose(&options.scaled_element(element), &self.extent, global));
        }
        let magnitudes = self.classes.as_ref().map(|classes| match classes {
            Classes::Equal(cells) => Magnitudes::from(cells),
            Classes::Weighted(cells) => cells.magnitudes(),
        });
        let format = options.bias.choose(&options.format, magnitudes.as_ref())?;
        Ok(Scale::of_bias(format.bias()))
    }
}

/// The extent of elements, and the largest magnitudes of their groups of this length; these only if
/// all elements are finite numbers of f32.
fn by_groups<T: Held>(values: &[T], length: Option<usize>) -> (Extent, Option<Vec<f32>>) {
    if let (Some(length), Lanes::F32(short)) = (length, T::lanes(values)) {
        let mut largest = vec![0.0; short.len() / length];
        if largest_of_groups(Level::detected(), length, short, &mut largest) {
            return (Extent::of_many(&largest), Some(largest));
        }
    }
    (Extent::of_many(values), None)
}
