//! [`Statistics`]: what the scale or the bias of many elements follows from, in one pass over them.

use smallfloat::Format;
use smallfloat_kernels::ClassSums;

use crate::error::Result;
use crate::file::pipeline::ordered;
use crate::layout::grid::{Grid, PIECE_ELEMENTS, Tile, index};
use crate::options::Options;
use crate::progress::Progress;
use crate::quantize::loader::Loader;
use crate::scale::bias::magnitudes::{Magnitudes, WeightedClassSums};
use crate::scale::rule::{Extent, Scale};

/// Statistics of elements that go by.
pub(crate) struct Statistics {
    pub(crate) extent: Extent,
    classes: Option<Classes>,
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
        Ok(Self { extent: Extent::default(), classes })
    }

    /// Adds the elements of a tile.
    pub(crate) fn add(
        &mut self,
        tensor: &Loader<'_>,
        tile: Tile,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        let pieces: Vec<Tile> = Grid::pieces(tile, PIECE_ELEMENTS).collect();
        let keep = self.classes.is_some();
        ordered(
            pieces.len() as u64,
            Vec::<f64>::new,
            |values, i| {
                tensor.load(&pieces[index(i)], values)?;
                let extent = Extent::of(values);
                Ok((i, extent, if keep { std::mem::take(values) } else { Vec::new() }))
            },
            |(i, extent, values)| {
                let piece = &pieces[index(i)];
                self.extent.merge(&extent);
                match &mut self.classes {
                    Some(Classes::Equal(cells)) => cells.add(&values),
                    Some(Classes::Weighted(cells)) => {
                        for (i, &x) in values.iter().enumerate() {
                            cells.add(x, tensor.weight(piece, i));
                        }
                    }
                    None => {}
                }
                progress(Progress::Bytes(tensor.share_of(piece)));
                Ok(())
            },
        )?;
        Ok(())
    }

    /// The scale of all of them.
    pub(crate) fn choose(&self, options: &Options, element: &Format, global: f64) -> Result<Scale> {
        if let Some(spec) = &options.scale {
            return Ok(spec.choose(element, &self.extent, global));
        }
        let magnitudes = self.classes.as_ref().map(|classes| match classes {
            Classes::Equal(cells) => Magnitudes::from(cells),
            Classes::Weighted(cells) => cells.magnitudes(),
        });
        let format = options.bias.choose(&options.format, magnitudes.as_ref())?;
        Ok(Scale::of_bias(format.bias()))
    }
}
