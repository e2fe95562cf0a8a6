//! [`PerGroup`]: one tensor into codes with a scale or a bias for each group of its elements.
//!
//! The work goes tile by tile ([`Grid::tile`]), on all threads: load, choose the scales of its
//! groups, divide, encode, pack; then the results are written and added up in order. A value is
//! divided by its scale so that the encoder's rounding is the only one (`divide.rs`). Elements
//! of F32, F16 and BF16, and products of codes and scales that are numbers of f32 (`short.rs`), are
//! held as f32, all others as f64. Memory is that of a few tiles a thread; a group larger than a
//! tile is read twice, and its parts are what threads share.

mod encode;
mod write;

use std::ops::Range;
use std::sync::Arc;

use smallfloat::Format;
use smallfloat::random::Philox;
use smallfloat_kernels::{ErrorSums, EventCounts, Lanes, Level, PowerScales};

use crate::error::{Result, refuse};
use crate::file::pipeline::ordered;
use crate::file::stream::StoredCode;
use crate::layout::codebook;
use crate::layout::convention::Direction;
use crate::layout::fp8_remap::{Counts, Fp8Remap};
use crate::layout::grid::{Grid, PIECE_ELEMENTS, TILE_ELEMENTS, Tile, index};
use crate::layout::packing::Packing;
use crate::options::{Container, Nonfinite, Options};
use crate::progress::{Progress, stream_of_name};
use crate::quantize::divide::{Division, Quotients};
use crate::quantize::floats::{FloatScales, SharedScales};
use crate::quantize::global::{Statistics, TensorScale};
use crate::quantize::loader::{Loader, Room};
use crate::quantize::output::{CodeParts, Output, Part};
use crate::quantize::powers::{largest_of_groups, power_scales};
use crate::quantize::search::Searcher;
use crate::report::{BiasRange, ScaleReport, TensorReport};
use crate::scale::bias::choose::BiasLadder;
use crate::scale::range::MagnitudeRange;
use crate::scale::rule::{Extent, Scale, ScaledElement, power};
use crate::stored::numbers::Held;
use crate::stored::reader::CodeValues;
use crate::stored::short::Short;
use crate::stored::view::f64_decoder;

/// The work on one tensor: what it depends on, and nothing that it changes.
pub(crate) struct PerGroup<'a> {
    loader: Loader<'a>,
    options: &'a Options,
    element: Format,
    quotients: Quotients,
    /// Of codes, where errors are counted.
    decoder: Option<CodeValues>,
    /// The decoder of f32, where that holds all values and codes are those of a layout.
    short_decoder: Option<Short>,
    /// Whether all elements are numbers of f32.
    is_short: bool,
    /// Tables and the decoder of FP8 codes, where those are stored.
    relabel: Option<(Fp8Remap, CodeValues)>,
    infinities: Option<[u32; 2]>,
    searcher: Option<Searcher>,
    powers: Option<PowerScales>,
    floats: Option<Arc<FloatScales>>,
    philox: Philox,
    whole: TensorScale,
    /// The largest magnitudes of all groups, or none.
    largest: Vec<f32>,
    ladder: BiasLadder,
    /// Whether errors and events are counted.
    reports: bool,
}

/// The scales that elements of a tile are divided by.
#[derive(Clone, Copy)]
enum Scales<'a> {
    /// Codes of E8M0.
    Powers(&'a [u8]),
    /// Codes of a small float.
    Floats(&'a FloatScales, &'a [u8]),
    Any(&'a [Scale]),
}

impl Scales<'_> {
    /// The scales of groups, where they are numbers of f64; else NaN.
    fn exact(&self) -> Vec<f64> {
        match self {
            Self::Powers(codes) => codes.iter().map(|&code| power(i32::from(code) - 127)).collect(),
            Self::Floats(floats, codes) if floats.are_exact() => floats.values(codes),
            Self::Floats(_, codes) => vec![f64::NAN; codes.len()],
            Self::Any(scales) => scales.iter().map(Scale::exact).collect(),
        }
    }
}

/// What a thread holds.
#[derive(Default)]
struct Scratch<T, C> {
    room: Room<T>,
    /// For codes that are written.
    codes: Vec<C>,
    work: Work,
}

/// What is made of the elements of a tile on the way to codes and back.
#[derive(Default)]
struct Work {
    division: Division,
    decoded: Vec<f64>,
    /// As `decoded`, before the scales.
    values: Vec<f32>,
}

/// Where the codes of a tile are.
struct Place<'s, C> {
    codes: &'s mut [C],
    /// Whether that is where they stay.
    stay: bool,
    /// Where they are packed at last, if the result lies in memory.
    packed: Option<&'s mut [u8]>,
}

impl<'s, C: StoredCode> Place<'s, C> {
    /// The part of a result that lies in memory, or else `room`, where codes wait to be packed or
    /// written.
    fn new(part: Option<&'s mut [u8]>, packing: Packing, room: &'s mut Vec<C>, count: usize) -> Self {
        if packing != Packing::Bytes {
            room.resize(count, C::default());
            return Self { codes: room, stay: false, packed: part };
        }
        if let Some(codes) = part.and_then(C::of_bytes_mut) {
            return Self { codes, stay: true, packed: None };
        }
        room.resize(count, C::default());
        Self { codes: room, stay: false, packed: None }
    }
}

/// By groups of a tile what elements are multiplied by when they are read, and which table of FP8
/// codes stands for them, where there are such tables.
#[derive(Clone, Copy)]
struct Stored<'s> {
    scales: &'s [f64],
    tables: &'s [bool],
}

/// What became of a tile.
#[derive(Default)]
struct TileResult {
    bytes_in: u64,
    events: EventCounts,
    sums: ErrorSums,
    /// What elements are multiplied by when they are read.
    scales: Vec<f64>,
    biases: Vec<i32>,
    rounded_again: u64,
    writes: Vec<(Part, u64, Vec<u8>)>,
}

/// What became of all tiles.
struct Outcome<'a, 'o> {
    output: &'a mut dyn Output<'o>,
    events: EventCounts,
    sums: ErrorSums,
    scales: ScaleReport,
    biases: Vec<i32>,
    bias_range: Option<BiasRange>,
    rounded_again: u64,
}

impl Outcome<'_, '_> {
    /// Writes what became of a tile and adds it to what became of those before.
    fn take(&mut self, done: TileResult) -> Result<()> {
        for (part, offset, bytes) in &done.writes {
            self.output.write_at(*part, *offset, bytes)?;
        }
        self.events = self.events.merge(done.events);
        self.sums = self.sums.then(done.sums);
        self.rounded_again += done.rounded_again;
        self.scales.add(&done.scales);
        self.bias_range = match (self.bias_range, BiasRange::of(&done.biases)) {
            (Some(before), Some(range)) => Some(before.with(range)),
            (before, range) => before.or(range),
        };
        let room = MAX_BIASES.saturating_sub(self.biases.len());
        self.biases.extend(done.biases.into_iter().take(room));
        Ok(())
    }
}

/// Longer lists of biases are not kept for the report.
const MAX_BIASES: usize = 1 << 16;

/// Elements that are divided and encoded at once: their quotients stay in the first cache.
const ENCODED_ELEMENTS: u64 = 1 << 12;

/// Elements whose errors are added up at once: a block of the sums.
const SUMMED_ELEMENTS: u64 = ErrorSums::BLOCK as u64;

impl<'a> PerGroup<'a> {
    /// For a tensor; `shared` keeps what is the same for all tensors with these options.
    pub(crate) fn new(
        loader: Loader<'a>,
        options: &'a Options,
        whole: TensorScale,
        reports: bool,
        shared: &SharedScales,
    ) -> Result<Self> {
        // Biases are scales here, so that elements are encoded at bias 0.
        let by_bias = options.scale.is_none() && options.format.has_free_bias();
        let element =
            if by_bias { options.format.with_bias(0).map_err(refuse)? } else { options.layout()? };
        let projection = options.projection(&element);
        let length = usize::try_from(loader.elements()).unwrap_or(usize::MAX);
        let relabel = match options.container {
            Container::Fp8 { .. } => {
                let relabel = Fp8Remap::new(&element)?;
                let decoder = CodeValues::Format(f64_decoder(&relabel.to, usize::MAX)?);
                Some((relabel, decoder))
            }
            Container::Native | Container::Bf16 => None,
        };
        let infinities = match options.nonfinite {
            Nonfinite::Refuse => None,
            Nonfinite::Preset => options.infinities(&element),
        };
        let stream = stream_of_name(loader.name);
        let is_short = loader.is_short();
        let quotients = match options.codebook {
            Some(codebook) => Quotients::of_list(codebook),
            None => Quotients::new(&element, &projection, length)?,
        };
        let decoder = match options.codebook {
            _ if !reports => None,
            Some(codebook) => Some(CodeValues::List(codebook::values(codebook))),
            None => Some(CodeValues::Format(f64_decoder(&element, usize::MAX)?)),
        };
        let short_decoder = match &decoder {
            Some(decoder) if options.container == Container::Native => {
                Short::new(&element, decoder, options.codebook.is_none(), usize::MAX)
            }
            _ => None,
        };
        let (mut powers, mut floats) = (None, None);
        if let (Quotients::Short(encoder), Some(spec)) = (&quotients, &options.scale)
            && element.is_signed()
            && whole.scale.is_none()
        {
            powers = power_scales(spec, &ScaledElement::new(&element));
            floats = shared.scales(spec, encoder, whole.global, length)?;
        }
        Ok(Self {
            powers,
            floats,
            quotients,
            decoder,
            short_decoder,
            is_short,
            relabel,
            infinities,
            searcher: Searcher::new(options)?,
            philox: Philox { seed: options.seed.unwrap_or(0), stream },
            ladder: BiasLadder::new(&options.format, options.bias, options.calibration.is_some()),
            loader,
            options,
            element,
            whole,
            largest: Vec::new(),
            reports,
        })
    }

    /// Takes the largest magnitudes of all groups, in order; or none, where they are not known.
    pub(crate) fn with_largest(self, largest: Vec<f32>) -> Self {
        Self { largest, ..self }
    }

    /// Writes codes and scales, and completes the report.
    pub(crate) fn run(
        self,
        output: &mut dyn Output<'_>,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        #[expect(clippy::cast_possible_truncation, reason = "a number of F32")]
        let global = match self.options.layout.direction {
            Direction::Divides => self.whole.global,
            // Of a power of two.
            Direction::Multiplies => 1.0 / self.whole.global,
        } as f32;
        output.write_at(Part::Global, 0, &global.to_le_bytes())?;
        let mut outcome = Outcome {
            output,
            events: EventCounts::default(),
            sums: ErrorSums::default(),
            scales: ScaleReport::new(self.options.scale.as_ref(), self.options.granularity),
            biases: Vec::new(),
            bias_range: None,
            rounded_again: 0,
        };
        match (self.is_short, self.element.width() <= 8) {
            (true, true) => self.all::<f32, u8>(&mut outcome, progress)?,
            (true, false) => self.all::<f32, u16>(&mut outcome, progress)?,
            (false, true) => self.all::<f64, u8>(&mut outcome, progress)?,
            (false, false) => self.all::<f64, u16>(&mut outcome, progress)?,
        }
        if self.options.scale.is_none() && !self.options.format.has_free_bias() {
            outcome.biases = vec![self.element.bias()];
            outcome.bias_range = BiasRange::of(&outcome.biases);
        }
        report.biases = outcome.biases;
        report.bias_range = outcome.bias_range;
        report.calibrated = self.loader.weights().is_some();
        report.scales = self.options.scale.is_some().then(|| Box::new(outcome.scales));
        report.rounded_again = self.relabel.is_some().then_some(outcome.rounded_again);
        report.count(&outcome.events, &outcome.sums, self.options.saturates());
        Ok(outcome.sums)
    }

    /// The work on all tiles, with elements held as `T`.
    fn all<T: Held, C: StoredCode>(
        &self,
        outcome: &mut Outcome<'_, '_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        let grid = self.loader.grid;
        if grid.rows * grid.columns == 0 {
            // Without elements there are scales even so. Rows of nothing may be very many.
            let none = Tile { row: 0, rows: 0, column: 0, columns: grid.columns };
            return outcome.take(self.tile(&mut Scratch::<T, C>::default(), none, None)?);
        }
        let parts = self.code_parts::<C>(outcome);
        if grid.block_rows.saturating_mul(grid.block_columns) <= TILE_ELEMENTS {
            ordered(
                grid.tile_count(),
                Scratch::<T, C>::default,
                |scratch, i| {
                    self.tile(scratch, grid.tile(i), parts.lock(i).as_deref_mut().map(|part| &mut **part))
                },
                |done| {
                    progress(Progress::Bytes(done.bytes_in));
                    outcome.take(done)
                },
            )?;
            return Ok(());
        }
        for i in 0..grid.tile_count() {
            let mut part = parts.lock(i);
            let part = part.as_deref_mut().map(|part| &mut **part);
            self.large::<T, C>(grid.tile(i), part, outcome, progress)?;
        }
        Ok(())
    }

    /// The memory where the codes of tiles may be put right away, if there is any.
    fn code_parts<'o, C: StoredCode>(&self, outcome: &mut Outcome<'_, 'o>) -> CodeParts<'o> {
        let grid = self.loader.grid;
        // Every tile must have whole bytes.
        let (unit, _) = self.options.packing.unit(&self.element);
        let are_whole = || (0..grid.tile_count()).all(|i| grid.tile(i).columns.is_multiple_of(unit));
        let is_file = C::BITS != 8 || self.options.container == Container::Bf16;
        if is_file || !grid.tiles_are_runs() || unit > 1 && !are_whole() {
            return CodeParts::default();
        }
        let lengths = (0..grid.tile_count()).map(|i| self.packed_bytes(&grid.tile(i)));
        outcome.output.take_codes().map_or_else(CodeParts::default, |codes| CodeParts::new(codes, lengths))
    }

    /// The bytes of a tile's codes, which fill whole ones.
    fn packed_bytes(&self, tile: &Tile) -> u64 {
        let (unit, bytes) = self.options.packing.unit(&self.element);
        tile.elements() / unit * bytes
    }

    /// The largest magnitudes of a tile's groups, if they are known.
    fn known_largest(&self, groups: &Tile) -> Option<&[f32]> {
        let first = index(groups.row * self.loader.grid.group_columns + groups.column);
        self.largest.get(first..first + index(groups.elements()))
    }

    /// The work on whole groups, whose codes go to `part` if they lie in memory.
    fn tile<T: Held, C: StoredCode>(
        &self,
        scratch: &mut Scratch<T, C>,
        tile: Tile,
        part: Option<&mut [u8]>,
    ) -> Result<TileResult> {
        let groups = self.groups(&tile);
        let mut done = self.begun(&tile);
        let Scratch { room, codes, work } = scratch;
        let held = self.loader.tile(&tile, room)?;
        let mut place = Place::new(part, self.options.packing, codes, held.len());
        if let Some(of_scales) = self.encode_quickly(held, &mut place, work, (&tile, &groups), &mut done) {
            if self.reports {
                done.scales = match &self.floats {
                    Some(floats) => floats.values(&of_scales),
                    None => of_scales.iter().map(|&code| power(i32::from(code) - 127)).collect(),
                };
            }
            self.write_scale_bytes(&groups, &of_scales, 1, &mut done);
            let scales = std::mem::take(&mut done.scales);
            let stored = Stored { scales: &scales, tables: &[] };
            self.write(held, place, work, (&tile, &groups), stored, &mut done)?;
            return Ok(TileResult { scales, ..done });
        }
        self.loader.check_tile(&tile, held)?;
        let scales = self.scales_of(&tile, &groups, held)?;
        done.events = self.encode(held, &mut place, work, (&tile, &groups), Scales::Any(&scales));
        let mut tables = Vec::new();
        if self.relabel.is_some() {
            let mut counts: Vec<Counts> = scales.iter().map(|_| Box::new([0; 256])).collect();
            self.count(&place, &tile, &groups, &mut counts);
            tables = self.tables(&groups, &counts, &mut done)?;
        }
        let stored = self.write_scales(&groups, &scales, &tables, &mut done);
        let read = Stored { scales: &stored, tables: &tables };
        self.write(held, place, work, (&tile, &groups), read, &mut done)?;
        if self.reports {
            done.scales = stored;
        }
        Ok(done)
    }

    /// The result of a tile on which work begins.
    fn begun(&self, tile: &Tile) -> TileResult {
        TileResult { bytes_in: self.loader.share(tile.elements()), ..TileResult::default() }
    }

    /// The work on one group that is too large to be held.
    fn large<T: Held, C: StoredCode>(
        &self,
        tile: Tile,
        part: Option<&mut [u8]>,
        outcome: &mut Outcome<'_, '_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        let groups = self.groups(&tile);
        let pieces: Vec<Tile> = Grid::pieces(tile, PIECE_ELEMENTS).collect();
        let (count, piece) = (pieces.len() as u64, |i: u64| pieces[index(i)]);
        let scale = if let Some(scale) = self.known_scale()? {
            scale
        } else {
            let mut statistics = Statistics::new(self.options)?;
            statistics.add(&self.loader, tile, progress)?;
            match &self.searcher {
                None => statistics.choose(self.options, &self.element, self.whole.global)?,
                Some(searcher) => {
                    let mut search = searcher.search(&statistics.extent, self.whole.global);
                    search.read(&self.loader, tile, progress)?;
                    search.best()
                }
            }
        };
        let scales = [scale];
        let (mut all, mut tables) = (TileResult::default(), Vec::new());
        if self.relabel.is_some() {
            let mut counts: Vec<Counts> = vec![Box::new([0; 256])];
            ordered(
                count,
                Scratch::<T, C>::default,
                |Scratch { room, codes, work }, i| {
                    let held = self.loader.load(&piece(i), room)?;
                    let mut place = Place::new(None, self.options.packing, codes, held.len());
                    self.encode(held, &mut place, work, (&piece(i), &groups), Scales::Any(&scales));
                    let mut counts: Vec<Counts> = vec![Box::new([0; 256])];
                    self.count(&place, &piece(i), &groups, &mut counts);
                    Ok((self.begun(&piece(i)).bytes_in, counts))
                },
                |(bytes_in, piece_counts)| {
                    progress(Progress::Bytes(bytes_in));
                    let all = counts.iter_mut().zip(&piece_counts);
                    all.for_each(|(all, some)| {
                        all.iter_mut().zip(&**some).for_each(|(all, some)| *all += some);
                    });
                    Ok(())
                },
            )?;
            tables = self.tables(&groups, &counts, &mut all)?;
        }
        let stored = self.write_scales(&groups, &scales, &tables, &mut all);
        all.scales.clone_from(&stored);
        outcome.take(all)?;
        let lengths = pieces.iter().map(|piece| self.packed_bytes(piece));
        let parts = part.map_or_else(CodeParts::default, |codes| CodeParts::new(codes, lengths));
        ordered(
            count,
            Scratch::<T, C>::default,
            |Scratch { room, codes, work }, i| {
                let mut done = self.begun(&piece(i));
                let held = self.loader.load(&piece(i), room)?;
                let mut part = parts.lock(i);
                let part = part.as_deref_mut().map(|part| &mut **part);
                let mut place = Place::new(part, self.options.packing, codes, held.len());
                done.events = self.encode(held, &mut place, work, (&piece(i), &groups), Scales::Any(&scales));
                let read = Stored { scales: &stored, tables: &tables };
                self.write(held, place, work, (&piece(i), &groups), read, &mut done)?;
                Ok(done)
            },
            |done| {
                progress(Progress::Bytes(done.bytes_in));
                outcome.take(done)
            },
        )?;
        Ok(())
    }

    /// The parts of a tile that are encoded at once, and the places of their elements in it.
    fn strips(tile: &Tile, elements: u64) -> impl Iterator<Item = (Tile, Range<usize>)> {
        let mut at = 0;
        Grid::pieces(*tile, elements).map(move |strip| {
            let range = at..at + index(strip.elements());
            at = range.end;
            (strip, range)
        })
    }

    /// The groups of a tile; a tensor of no elements has those that its shape gives.
    fn groups(&self, tile: &Tile) -> Tile {
        let grid = &self.loader.grid;
        if tile.elements() == 0 {
            return Tile { row: 0, rows: grid.group_rows, column: 0, columns: grid.group_columns };
        }
        grid.groups_of(tile)
    }

    /// The scale of all groups, where it does not depend on their elements.
    fn known_scale(&self) -> Result<Option<Scale>> {
        let options = self.options;
        if self.whole.scale.is_some() || options.scale.is_some() {
            return Ok(self.whole.scale);
        }
        if !options.format.has_free_bias() {
            return Ok(Some(Scale::new(0, 1.0, 1.0)));
        }
        if options.bias.needs_statistics() {
            return Ok(None);
        }
        Ok(Some(Scale::of_bias(self.ladder.given()?.bias())))
    }

    fn scales_of<T: Held>(&self, tile: &Tile, groups: &Tile, held: &[T]) -> Result<Vec<Scale>> {
        let count = index(groups.elements());
        if let Some(scale) = self.known_scale()? {
            return Ok(vec![scale; count]);
        }
        if let Some(spec) = &self.options.scale {
            let extents = self.extents(tile, groups, held);
            if let Some(searcher) = &self.searcher {
                return Ok(self.searched(searcher, tile, groups, held, &extents));
            }
            let element = self.options.scaled_element(&self.element);
            return Ok(extents
                .iter()
                .map(|extent| spec.choose(&element, extent, self.whole.global))
                .collect());
        }
        // The range of magnitudes decides most groups; it is found in the order of the tile's rows.
        let mut ranges = vec![MagnitudeRange::NONE; count];
        if self.ladder.small().is_some() {
            self.loader.grid.each_group(tile, groups, |group, range| {
                ranges[group] = ranges[group].and(T::range(&held[range]));
            });
        }
        let mut room = Vec::new();
        let chosen = |(group, range): ((u64, u64), &MagnitudeRange)| {
            let places = || self.loader.grid.places_of(tile, group);
            let parts = || places().map(|place| &held[place]);
            let weighed = || places().flatten().map(|i| (held[i].to_f64(), self.loader.weight(tile, i)));
            Ok(Scale::of_bias(self.ladder.group(range, &mut room, parts, weighed)?))
        };
        groups.all().zip(&ranges).map(chosen).collect()
    }

    /// What decides the scales of a tile's groups.
    fn extents<T: Held>(&self, tile: &Tile, groups: &Tile, held: &[T]) -> Vec<Extent> {
        let (grid, count) = (&self.loader.grid, index(groups.elements()));
        if let Lanes::F32(held) = T::lanes(held)
            && !held.is_empty()
            && let Some(largest) = largest_of_groups(grid, (tile, groups), count, held)
        {
            return largest.into_iter().map(Extent::of_finite).collect();
        }
        let mut extents = vec![Extent::default(); count];
        Level::detected().vectorize(
            #[inline(always)]
            || {
                grid.each_group(
                    tile,
                    groups,
                    #[inline(always)]
                    |group, range| extents[group].merge(&Extent::of(&held[range])),
                );
            },
        );
        extents
    }

    /// The scales of least error for the groups of a tile that is at hand.
    fn searched<T: Held>(
        &self,
        searcher: &Searcher,
        tile: &Tile,
        groups: &Tile,
        held: &[T],
        extents: &[Extent],
    ) -> Vec<Scale> {
        let mut elements: Vec<(Vec<f64>, Vec<u32>)> = vec![Default::default(); extents.len()];
        self.loader.grid.each_group(tile, groups, |group, range| {
            elements[group].0.extend(held[range.clone()].iter().map(|x| x.to_f64()));
            elements[group].1.extend(range.map(|i| self.loader.weight(tile, i)));
        });
        let best = |((values, weights), extent): (&(Vec<f64>, Vec<u32>), &Extent)| {
            let mut search = searcher.search(extent, self.whole.global);
            search.add(values, |i| weights[i]);
            search.best()
        };
        elements.iter().zip(extents).map(best).collect()
    }
}
