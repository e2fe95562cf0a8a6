//! [`Blocks`]: one tensor into codes with a scale or a bias for each group of its elements.
//!
//! The work goes tile by tile ([`Grid::tiles`]): load, choose the scales of its groups, divide, encode, pack, write. A
//! value is divided by its scale exactly or to odd ([`divide_to_odd`](crate::scale::divide_to_odd)), so that the encoder's
//! rounding is the only one. Memory is that of a few tiles; a group larger than a tile is read twice.

use std::sync::Arc;

use smallfloat::random::Philox;
use smallfloat::{Flags, Format};
use smallfloat_kernels::{Cells, Decoder, Encoder, ErrorSums, Events, Words};

use crate::bias::{MANY, Magnitudes, WeightedCells};
use crate::granularity::{Grid, Tile};
use crate::options::{Container, Negative, Nonfinite, Options, refuse};
use crate::quantize::{Progress, stream_of_name};
use crate::relabel::{Counts, Relabel, Table};
use crate::report::{ScaleReport, TensorReport};
use crate::scale::{Divisor, Extent, Scale};
use crate::scaled::Reader;
use crate::search::Searcher;
use crate::view::{TensorView, View, f64_decoder};
use crate::{Dtype, Error, Result, Sink, TensorInfo};

/// What a whole tensor, or several that share, have decided before the work on groups begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    /// The scale, where there is one for the tensor.
    pub(crate) scale: Option<Scale>,
    /// What divides all scales.
    pub(crate) global: f64,
}

/// Where the parts of a tensor go in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub(crate) codes: usize,
    pub(crate) scale: Option<usize>,
    pub(crate) global: Option<usize>,
}

/// Statistics of elements that go by.
pub(crate) struct Statistics {
    pub(crate) extent: Extent,
    cells: Option<Classes>,
}

/// Classes of elements, all of one weight or each column with its own.
enum Classes {
    Equal(Cells<f64>),
    Weighted(WeightedCells),
}

impl Statistics {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let by_cells =
            options.scale.is_none() && options.format.has_free_bias() && options.bias.needs_statistics();
        let precision = options.layout()?.precision();
        let cells = by_cells.then(|| match options.calibration {
            None => Classes::Equal(Cells::new(precision)),
            Some(_) => Classes::Weighted(WeightedCells::new(precision)),
        });
        Ok(Self { extent: Extent::default(), cells })
    }

    /// Adds the elements of a tile.
    pub(crate) fn add(
        &mut self,
        tensor: &Loader<'_>,
        tile: Tile,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        let mut values = Vec::new();
        for piece in Grid::pieces(tile) {
            tensor.load(&piece, &mut values, progress)?;
            self.extent.merge(&Extent::of(values.iter().copied()));
            match &mut self.cells {
                Some(Classes::Equal(cells)) => cells.add(&values),
                Some(Classes::Weighted(cells)) => {
                    for (i, &x) in values.iter().enumerate() {
                        cells.add(x, tensor.weight(&piece, i));
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// The scale of all of them.
    pub(crate) fn choose(&self, options: &Options, element: &Format, global: f64) -> Result<Scale> {
        if let Some(spec) = &options.scale {
            return Ok(spec.choose(element, &self.extent, global));
        }
        let magnitudes = self.cells.as_ref().map(|cells| match cells {
            Classes::Equal(cells) => Magnitudes::from(cells),
            Classes::Weighted(cells) => cells.magnitudes(),
        });
        let format = options.bias.choose(&options.format, magnitudes.as_ref())?;
        Ok(Scale::of_bias(format.bias()))
    }
}

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

    pub(crate) fn load(
        &self,
        tile: &Tile,
        values: &mut Vec<f64>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        values.clear();
        values.resize(index(tile.elements()), 0.0);
        if tile.columns == self.grid.columns {
            self.reader.read(tile.row * self.grid.columns, values)?;
        } else {
            for (i, row) in values.chunks_exact_mut(index(tile.columns)).enumerate() {
                self.reader.read((tile.row + i as u64) * self.grid.columns + tile.column, row)?;
            }
        }
        let info = &self.tensor.info;
        progress(Progress::Bytes(share_of(info, tile.elements())));
        self.check(tile, values)
    }

    /// Refuses what the options say must not be in the data, naming the first element.
    fn check(&self, tile: &Tile, values: &[f64]) -> Result<()> {
        let refuse = |i: usize, advice: &str| {
            let (row, column) = (i as u64 / tile.columns, i as u64 % tile.columns);
            let element = (tile.row + row) * self.grid.columns + tile.column + column;
            Err(self.refused(format!("element {element} is {}: {advice}", values[i])))
        };
        if self.options.nonfinite == Nonfinite::Refuse
            && let Some(i) = values.iter().position(|x| !x.is_finite())
        {
            return refuse(i, "ask for the preset's rule (--nonfinite preset) or mend the data");
        }
        if !self.signed
            && self.options.negative == Negative::Refuse
            && let Some(i) = values.iter().position(|&x| x < 0.0)
        {
            return refuse(i, "the format is unsigned; choose a rule (--negative nan, zero or magnitude)");
        }
        Ok(())
    }

    pub(crate) fn refused(&self, what: String) -> Error {
        Error::refused(Some(self.view.source().path()), Some(&self.tensor.info.name), what)
    }
}

/// The work on one tensor.
pub(crate) struct Blocks<'a> {
    loader: Loader<'a>,
    options: &'a Options,
    element: Format,
    encoder: Encoder<f64>,
    decoder: Decoder<f64>,
    /// Tables and the decoder of FP8 codes, where those are stored.
    relabel: Option<(Relabel, Decoder<f64>)>,
    infinities: Option<[u32; 2]>,
    searcher: Option<Searcher>,
    philox: Philox,
    whole: Whole,
    sink: &'a Sink,
    slots: Slots,
    events: Events,
    sums: ErrorSums,
    scales: ScaleReport,
    biases: Vec<i32>,
    rounded_again: u64,
}

/// Longer lists of biases are not kept for the report.
const MAX_BIASES: usize = 1 << 16;

impl<'a> Blocks<'a> {
    pub(crate) fn new(
        loader: Loader<'a>,
        options: &'a Options,
        whole: Whole,
        sink: &'a Sink,
        slots: Slots,
    ) -> Result<Self> {
        // Biases are scales here, so that elements are encoded at bias 0.
        let by_bias = options.scale.is_none() && options.format.has_free_bias();
        let element =
            if by_bias { options.format.with_bias(0).map_err(refuse)? } else { options.layout()? };
        let how = options.projection(&element);
        let length = usize::try_from(loader.tensor.info.elements()).unwrap_or(usize::MAX);
        let relabel = match options.container {
            Container::Fp8 { .. } => {
                let relabel = Relabel::new(&element)?;
                let decoder = f64_decoder(&relabel.to)?;
                Some((relabel, decoder))
            }
            Container::Native | Container::Bf16 => None,
        };
        let infinities = match options.nonfinite {
            Nonfinite::Refuse => None,
            Nonfinite::Preset => options.infinities(&element),
        };
        let stream = stream_of_name(&loader.tensor.info.name);
        Ok(Self {
            encoder: Encoder::for_length(&element, &how, length).map_err(refuse)?,
            decoder: f64_decoder(&element)?,
            relabel,
            infinities,
            searcher: Searcher::new(options)?,
            philox: Philox { seed: options.seed.unwrap_or(0), stream },
            loader,
            options,
            element,
            whole,
            sink,
            slots,
            events: Events::default(),
            sums: ErrorSums::default(),
            scales: ScaleReport::new(options),
            biases: Vec::new(),
            rounded_again: 0,
        })
    }

    /// Writes codes and scales, and completes the report.
    pub(crate) fn run(
        mut self,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        if let Some(slot) = self.slots.global {
            #[expect(clippy::cast_possible_truncation, reason = "a number of F32")]
            let global = self.whole.global as f32;
            self.sink.append(slot, &global.to_le_bytes())?;
        }
        let grid = self.loader.grid;
        let mut tiles: Vec<Tile> = Vec::new();
        if grid.rows * grid.columns == 0 {
            // Without elements there are scales even so.
            tiles.push(Tile { row: 0, rows: grid.rows, column: 0, columns: grid.columns });
        }
        for tile in tiles.into_iter().chain(grid.tiles()) {
            self.tile(tile, progress)?;
        }
        if self.options.scale.is_none() && !self.options.format.has_free_bias() {
            self.biases = vec![self.element.bias()];
        }
        report.biases = self.biases;
        report.calibrated = self.loader.weights.is_some();
        report.scales = self.options.scale.is_some().then_some(self.scales);
        report.rounded_again = self.relabel.is_some().then_some(self.rounded_again);
        report.count(&self.events, &self.sums);
        Ok(self.sums)
    }

    fn tile(&mut self, tile: Tile, progress: &mut dyn FnMut(Progress<'_>)) -> Result<()> {
        let groups = self.groups(&tile);
        let mut pieces: Vec<Tile> = Grid::pieces(tile).collect();
        let mut held = Vec::new();
        if let [only] = pieces[..] {
            self.loader.load(&only, &mut held, progress)?;
        }
        let scales = self.scales_of(&tile, &groups, &held, progress)?;
        let mut tables = Vec::new();
        let held_piece = if pieces.len() == 1 { pieces.pop() } else { None };
        if self.relabel.is_some() {
            let mut counts: Vec<Counts> = scales.iter().map(|_| Box::new([0; 256])).collect();
            let mut values = Vec::new();
            for piece in held_piece.iter().chain(&pieces) {
                let values = self.values(piece, &held, held_piece.is_some(), &mut values, progress)?;
                let (codes, _) = self.encode(piece, &groups, values, &scales);
                self.each_group(piece, &groups, |group, range| {
                    codes[range].iter().for_each(|&code| counts[group][usize::from(code & 255)] += 1);
                });
            }
            tables = self.tables(&groups, &counts)?;
        }
        let stored = self.write_scales(&groups, &scales, &tables)?;
        let mut values = Vec::new();
        for piece in held_piece.iter().chain(&pieces) {
            let values = self.values(piece, &held, held_piece.is_some(), &mut values, progress)?;
            let (codes, events) = self.encode(piece, &groups, values, &scales);
            self.events = self.events.merge(events);
            self.write(piece, &groups, values, codes, &stored, &tables)?;
        }
        Ok(())
    }

    /// The groups of a tile; a tensor of no elements has those that its shape gives.
    fn groups(&self, tile: &Tile) -> Tile {
        let grid = &self.loader.grid;
        if tile.elements() == 0 {
            return Tile { row: 0, rows: grid.group_rows, column: 0, columns: grid.group_columns };
        }
        grid.groups_of(tile)
    }

    fn values<'v>(
        &self,
        piece: &Tile,
        held: &'v [f64],
        is_held: bool,
        buffer: &'v mut Vec<f64>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<&'v [f64]> {
        if is_held {
            return Ok(held);
        }
        self.loader.load(piece, buffer, progress)?;
        Ok(buffer)
    }

    /// Calls `each` with the groups that a piece reaches into, row by row: the group's index within `groups` and the
    /// place of its elements in the piece.
    fn each_group(&self, piece: &Tile, groups: &Tile, mut each: impl FnMut(usize, std::ops::Range<usize>)) {
        let grid = &self.loader.grid;
        let mut at = 0;
        for row in piece.row..piece.row + piece.rows {
            let (mut column, end) = (piece.column, piece.column + piece.columns);
            while column < end {
                let group_column = column / grid.block_columns;
                let stop = (group_column + 1).saturating_mul(grid.block_columns).min(end);
                let group =
                    (row / grid.block_rows - groups.row) * groups.columns + group_column - groups.column;
                let count = index(stop - column);
                each(index(group), at..at + count);
                (at, column) = (at + count, stop);
            }
        }
    }

    fn scales_of(
        &self,
        tile: &Tile,
        groups: &Tile,
        held: &[f64],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Scale>> {
        let count = index(groups.elements());
        if let Some(scale) = self.whole.scale {
            return Ok(vec![scale; count]);
        }
        if self.options.scale.is_none() && !self.options.format.has_free_bias() {
            return Ok(vec![Scale::new(0, 1.0, 1.0); count]);
        }
        if held.is_empty() && tile.elements() > 0 {
            let mut statistics = Statistics::new(self.options)?;
            if self.options.scale.is_some() || self.options.bias.needs_statistics() {
                statistics.add(&self.loader, *tile, progress)?;
            }
            if let Some(searcher) = &self.searcher {
                let mut search = searcher.search(&statistics.extent, self.whole.global);
                search.read(&self.loader, *tile, progress)?;
                return Ok(vec![search.best()]);
            }
            return Ok(vec![statistics.choose(self.options, &self.element, self.whole.global)?]);
        }
        if let Some(spec) = &self.options.scale {
            let mut extents = vec![Extent::default(); count];
            self.each_group(tile, groups, |group, range| {
                extents[group].merge(&Extent::of(held[range].iter().copied()));
            });
            if let Some(searcher) = &self.searcher {
                return Ok(self.searched(searcher, tile, groups, held, &extents));
            }
            return Ok(extents
                .iter()
                .map(|extent| spec.choose(&self.element, extent, self.whole.global))
                .collect());
        }
        if !self.options.bias.needs_statistics() {
            let format = self.options.bias.choose(&self.options.format, None)?;
            return Ok(vec![Scale::of_bias(format.bias()); count]);
        }
        let mut places = vec![Vec::new(); count];
        self.each_group(tile, groups, |group, range| places[group].push(range));
        let choose = |places: &Vec<std::ops::Range<usize>>| {
            let options = self.options;
            let many = places.iter().map(ExactSizeIterator::len).sum::<usize>() > MANY;
            let weighed = || {
                let elements = places.iter().flat_map(Clone::clone);
                elements.map(|i| (held[i], self.loader.weight(tile, i)))
            };
            let magnitudes = if options.calibration.is_some() && many {
                let mut cells = WeightedCells::new(self.element.precision());
                weighed().for_each(|(x, weight)| cells.add(x, weight));
                cells.magnitudes()
            } else if many {
                let mut cells = Cells::<f64>::new(self.element.precision());
                for place in places {
                    cells.add(&held[place.clone()]);
                }
                Magnitudes::from(&cells)
            } else {
                Magnitudes::of_few(weighed())
            };
            let format = options.bias.choose(&options.format, Some(&magnitudes))?;
            Ok(Scale::of_bias(format.bias()))
        };
        places.iter().map(choose).collect()
    }

    /// The scales of least error for the groups of a tile that is at hand.
    fn searched(
        &self,
        searcher: &Searcher,
        tile: &Tile,
        groups: &Tile,
        held: &[f64],
        extents: &[Extent],
    ) -> Vec<Scale> {
        let mut elements: Vec<(Vec<f64>, Vec<u32>)> = vec![Default::default(); extents.len()];
        self.each_group(tile, groups, |group, range| {
            elements[group].0.extend_from_slice(&held[range.clone()]);
            elements[group].1.extend(range.map(|i| self.loader.weight(tile, i)));
        });
        let best = |((values, weights), extent): (&(Vec<f64>, Vec<u32>), &Extent)| {
            let mut search = searcher.search(extent, self.whole.global);
            search.add(values, |i| weights[i]);
            search.best()
        };
        elements.iter().zip(extents).map(best).collect()
    }

    /// The codes of a piece, and what happened.
    fn encode(&self, piece: &Tile, groups: &Tile, values: &[f64], scales: &[Scale]) -> (Vec<u16>, Events) {
        let divisors: Vec<Divisor> = scales.iter().map(|scale| self.divisor(scale)).collect();
        let mut quotients = vec![0.0; values.len()];
        self.each_group(piece, groups, |group, range| {
            for (q, &x) in quotients[range.clone()].iter_mut().zip(&values[range]) {
                *q = divisors[group].apply(x);
            }
        });
        let (mut codes, mut events) = (vec![0_u16; values.len()], Events::default());
        let columns = self.loader.grid.columns;
        // Random words belong to places in the tensor, and only whole rows follow each other there.
        let run = if piece.columns == columns { quotients.len() } else { index(piece.columns) };
        let rows = quotients.chunks(run.max(1)).zip(codes.chunks_mut(run.max(1)));
        for (i, (quotients, codes)) in rows.enumerate() {
            let first_element = (piece.row + i as u64) * columns + piece.column;
            events = events.merge(self.encoder.encode_random(
                quotients,
                codes,
                Words { generator: self.philox.into(), first_element },
            ));
        }
        for (&x, code) in values.iter().zip(&mut codes) {
            if let (true, Some(infinities)) = (x.is_infinite(), self.infinities) {
                #[expect(clippy::cast_possible_truncation, reason = "codes have at most 16 bits")]
                let infinity = infinities[usize::from(x < 0.0)] as u16;
                *code = infinity;
            }
        }
        // The encoder sees quotients; whether an operand is subnormal is a matter of the source.
        events.flags = events.flags & Flags::from_bits_truncate(!Flags::DENORMAL.bits());
        let least = smallest_normal(self.loader.tensor.info.dtype);
        if values.iter().any(|x| *x != 0.0 && x.abs() < least) {
            events.flags |= Flags::DENORMAL;
        }
        (codes, events)
    }

    fn divisor(&self, scale: &Scale) -> Divisor {
        if scale.value.is_nan() && !self.element.has_nan() {
            // The scale alone says NaN; the elements are zeros.
            return Divisor::Silent;
        }
        Divisor::of(scale)
    }

    fn tables(&mut self, groups: &Tile, counts: &[Counts]) -> Result<Vec<bool>> {
        let Some((relabel, _)) = &self.relabel else { return Ok(Vec::new()) };
        let mut tables = Vec::new();
        for (i, counts) in counts.iter().enumerate() {
            let (second, changed) = relabel.choose(counts);
            if changed > 0 && self.options.container != (Container::Fp8 { requantize: true }) {
                let (row, column) = (i as u64 / groups.columns, i as u64 % groups.columns);
                let group = Tile { row: groups.row + row, column: groups.column + column, ..*groups };
                return Err(self.loader.refused(relabel.refusal(&group, changed)));
            }
            self.rounded_again += changed;
            tables.push(second);
        }
        Ok(tables)
    }

    /// Writes the scales of a tile's groups; what elements are multiplied by when they are read.
    fn write_scales(&mut self, groups: &Tile, scales: &[Scale], tables: &[bool]) -> Result<Vec<f64>> {
        let mut bytes = Vec::new();
        let mut stored = Vec::new();
        let by_bias = self.options.scale.is_none() && self.options.format.has_free_bias();
        for (i, scale) in scales.iter().enumerate() {
            if by_bias && self.biases.len() < MAX_BIASES {
                self.biases.push(i32::try_from(scale.code).unwrap_or(0));
            }
            let value = match (&self.relabel, tables.get(i)) {
                (Some((relabel, _)), Some(&second)) => {
                    relabel.table(second).scale(i32::try_from(scale.code).unwrap_or(0))
                }
                _ => scale.value,
            };
            stored.push(value);
            self.scales.add(value);
            match (&self.relabel, &self.options.scale) {
                #[expect(clippy::cast_possible_truncation, reason = "a power of two within F32's range")]
                (Some(_), _) => bytes.extend((value as f32).to_le_bytes()),
                (None, None) => bytes.push(scale.code.to_le_bytes()[0]),
                (None, Some(spec)) => {
                    let size = index(u64::from(spec.format.width()).div_ceil(8));
                    bytes.extend(&scale.code.to_le_bytes()[..size]);
                }
            }
        }
        if let Some(slot) = self.slots.scale {
            let size = bytes.len() / scales.len().max(1);
            for (i, row) in bytes.chunks((index(groups.columns) * size).max(1)).enumerate() {
                let group = (groups.row + i as u64) * self.loader.grid.group_columns + groups.column;
                self.sink.write_at(slot, group * size as u64, row)?;
            }
        }
        Ok(stored)
    }

    /// Writes the codes of a piece in the form that the container asks for, and adds up the errors.
    fn write(
        &mut self,
        piece: &Tile,
        groups: &Tile,
        values: &[f64],
        mut codes: Vec<u16>,
        scales: &[f64],
        tables: &[bool],
    ) -> Result<()> {
        let mut decoded = vec![0.0; values.len()];
        self.each_group(piece, groups, |group, range| {
            let table: Option<&Table> = match (&self.relabel, tables.get(group)) {
                (Some((relabel, _)), Some(&second)) => Some(relabel.table(second)),
                _ => None,
            };
            let decoder = self.relabel.as_ref().map_or(&self.decoder, |(_, decoder)| decoder);
            for (value, code) in decoded[range.clone()].iter_mut().zip(&mut codes[range]) {
                if let Some(table) = table {
                    *code = table.code(*code).0;
                }
                *value = decoder.value(usize::from(*code)) * scales[group];
            }
        });
        let mut part = ErrorSums::of(values, &decoded);
        if part.not_finite > 0 {
            // A finite value that became infinite counts too.
            let finite = values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
            part.amax = finite.fold(part.amax, f64::max);
        }
        self.sums = self.sums.then(part);
        if self.options.container == Container::Bf16 {
            return self.write_bf16(piece, &decoded);
        }
        let element = self.relabel.as_ref().map_or(self.element, |(relabel, _)| relabel.to);
        let packing = self.options.packing;
        let columns = self.loader.grid.columns;
        let (unit, unit_bytes) = packing.unit(&element);
        let whole = piece.columns == columns && columns.is_multiple_of(unit);
        let run = if whole { codes.len() } else { index(piece.columns) };
        let mut bytes = Vec::new();
        for (i, codes) in codes.chunks(run.max(1)).enumerate() {
            bytes.clear();
            packing.pack(&element, codes, &mut bytes);
            let row = (piece.row + i as u64) * packing.row_bytes(&element, columns);
            self.sink.write_at(self.slots.codes, row + piece.column / unit * unit_bytes, &bytes)?;
        }
        Ok(())
    }

    fn write_bf16(&self, piece: &Tile, decoded: &[f64]) -> Result<()> {
        let columns = self.loader.grid.columns;
        let mut bytes = Vec::with_capacity(2 * decoded.len());
        for &value in decoded {
            #[expect(clippy::cast_possible_truncation, reason = "checked right below")]
            let narrow = value as f32;
            let bits = narrow.to_bits();
            if value.is_finite() && (f64::from(narrow).to_bits() != value.to_bits() || bits & 0xffff != 0) {
                let what = format!(
                    "the quantized value {value:e} is not exact in bfloat16: choose the container native"
                );
                return Err(self.loader.refused(what));
            }
            // A NaN keeps a bit in the upper half.
            let high = (bits >> 16).to_le_bytes();
            bytes.extend(if value.is_nan() { [0xc0, 0x7f] } else { [high[0], high[1]] });
        }
        let run = if piece.columns == columns { bytes.len() } else { 2 * index(piece.columns) };
        for (i, bytes) in bytes.chunks(run.max(1)).enumerate() {
            let first = (piece.row + i as u64) * columns + piece.column;
            self.sink.write_at(self.slots.codes, 2 * first, bytes)?;
        }
        Ok(())
    }
}

/// The bytes of some of a tensor's elements; of packed ones they need not be whole.
pub(crate) fn share_of(info: &TensorInfo, elements: u64) -> u64 {
    let share = u128::from(info.len) * u128::from(elements) / u128::from(info.elements().max(1));
    u64::try_from(share).unwrap_or(info.len)
}

fn smallest_normal(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => f64::MIN_POSITIVE,
        Dtype::F32 | Dtype::BF16 => f64::from(f32::MIN_POSITIVE),
        Dtype::F16 => f64::from_bits((1023 - 14) << 52),
        _ => 0.0,
    }
}

/// Tiles are held in memory, so their sizes fit.
fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
