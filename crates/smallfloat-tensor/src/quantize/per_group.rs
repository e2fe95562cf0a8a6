//! [`PerGroup`]: one tensor into codes with a scale or a bias for each group of its elements.
//!
//! The work goes tile by tile ([`Grid::tile`]), on all threads: load, choose the scales of its
//! groups, divide, encode, pack; then the results are written and added up in order. A value is
//! divided by its scale so that the encoder's rounding is the only one (`quotients.rs`). Elements
//! of F32, F16 and BF16 are held as f32, all others as f64. Memory is that of a few tiles a thread;
//! a group larger than a tile is read twice, and its parts are what threads share.

use std::ops::Range;

use smallfloat::random::Philox;
use smallfloat::{Flags, Format};
use smallfloat_kernels::{Decoder, ErrorSums, EventCounts, Lanes, Level, RandomWords};

use crate::error::{Result, refuse};
use crate::file::dtype::Dtype;
use crate::file::pipeline::ordered;
use crate::file::stream::StoredCode;
use crate::layout::fp8_remap::{Counts, Fp8Remap, Table};
use crate::layout::grid::{Grid, PIECE_ELEMENTS, TILE_ELEMENTS, Tile, index};
use crate::options::{Container, Nonfinite, Options};
use crate::progress::{Progress, stream_of_name};
use crate::quantize::divide::{Division, Quotients};
use crate::quantize::floats::{FloatScales, Steps};
use crate::quantize::global::{Statistics, TensorScale};
use crate::quantize::loader::{Loader, Room};
use crate::quantize::output::{Output, Part};
use crate::quantize::per_tensor::errors;
use crate::quantize::powers::PowerScales;
use crate::quantize::search::Searcher;
use crate::report::{BiasRange, ScaleReport, TensorReport};
use crate::scale::bias::choose::BiasLadder;
use crate::scale::range::MagnitudeRange;
use crate::scale::rule::{Divisor, Extent, Scale, ScaleSpec, ScaledElement, power};
use crate::stored::numbers::Held;
use crate::stored::view::f64_decoder;

/// The work on one tensor: what it depends on, and nothing that it changes.
pub(crate) struct PerGroup<'a> {
    loader: Loader<'a>,
    options: &'a Options,
    element: Format,
    quotients: Quotients,
    /// Of codes, where errors are counted.
    decoder: Option<Decoder<f64>>,
    /// Whether all elements are numbers of f32.
    is_short: bool,
    /// Tables and the decoder of FP8 codes, where those are stored.
    relabel: Option<(Fp8Remap, Decoder<f64>)>,
    infinities: Option<[u32; 2]>,
    searcher: Option<Searcher>,
    powers: Option<PowerScales>,
    floats: Option<FloatScales>,
    philox: Philox,
    whole: TensorScale,
    ladder: BiasLadder,
    /// Whether errors and events are counted.
    reports: bool,
}

/// The scales that elements of a tile are divided by.
#[derive(Clone, Copy)]
enum Scales<'a> {
    /// Codes of E8M0, for elements of f32.
    Powers(&'a [u8]),
    /// Codes of a small float, for elements of f32.
    Floats(&'a FloatScales, &'a [u8]),
    Any(&'a [Scale]),
}

/// What a thread holds.
#[derive(Default)]
struct Scratch<T, C> {
    room: Room<T>,
    work: Work<C>,
}

/// What is made of the elements of a tile.
#[derive(Default)]
struct Work<C> {
    codes: Vec<C>,
    division: Division,
    decoded: Vec<f64>,
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
struct Outcome<'a> {
    output: &'a mut dyn Output,
    events: EventCounts,
    sums: ErrorSums,
    scales: ScaleReport,
    biases: Vec<i32>,
    bias_range: Option<BiasRange>,
    rounded_again: u64,
}

impl Outcome<'_> {
    /// Writes what became of a tile and adds it to what became of those before.
    fn take(&mut self, done: TileResult) -> Result<()> {
        for (part, offset, bytes) in &done.writes {
            self.output.write_at(*part, *offset, bytes)?;
        }
        self.events = self.events.merge(done.events);
        self.sums = self.sums.then(done.sums);
        self.rounded_again += done.rounded_again;
        done.scales.into_iter().for_each(|scale| self.scales.add(scale));
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

/// Elements whose errors are added up at once.
const SUMMED_ELEMENTS: u64 = 1 << 14;

impl<'a> PerGroup<'a> {
    pub(crate) fn new(
        loader: Loader<'a>,
        options: &'a Options,
        whole: TensorScale,
        reports: bool,
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
                let decoder = f64_decoder(&relabel.to)?;
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
        let quotients = Quotients::new(&element, &projection, length, is_short)?;
        let (mut powers, mut floats) = (None, None);
        if let (Quotients::Short(encoder), Some(spec)) = (&quotients, &options.scale)
            && element.is_signed()
            && whole.scale.is_none()
        {
            powers = PowerScales::new(spec, &ScaledElement::new(&element));
            floats = FloatScales::new(spec, encoder, whole.global, length)?;
        }
        Ok(Self {
            powers,
            floats,
            quotients,
            decoder: if reports { Some(f64_decoder(&element)?) } else { None },
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
            reports,
        })
    }

    /// Writes codes and scales, and completes the report.
    pub(crate) fn run(
        self,
        output: &mut dyn Output,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        #[expect(clippy::cast_possible_truncation, reason = "a number of F32")]
        let global = self.whole.global as f32;
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
        report.scales = self.options.scale.is_some().then_some(outcome.scales);
        report.rounded_again = self.relabel.is_some().then_some(outcome.rounded_again);
        report.count(&outcome.events, &outcome.sums, self.options.saturates());
        Ok(outcome.sums)
    }

    /// The work on all tiles, with elements held as `T`.
    fn all<T: Held, C: StoredCode>(
        &self,
        outcome: &mut Outcome<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        let grid = self.loader.grid;
        if grid.rows * grid.columns == 0 {
            // Without elements there are scales even so.
            let none = Tile { row: 0, rows: grid.rows, column: 0, columns: grid.columns };
            return outcome.take(self.tile(&mut Scratch::<T, C>::default(), none)?);
        }
        if grid.block_rows.saturating_mul(grid.block_columns) <= TILE_ELEMENTS {
            ordered(
                grid.tile_count(),
                Scratch::<T, C>::default,
                |scratch, i| self.tile(scratch, grid.tile(i)),
                |done| {
                    progress(Progress::Bytes(done.bytes_in));
                    outcome.take(done)
                },
            )?;
            return Ok(());
        }
        for i in 0..grid.tile_count() {
            self.large::<T, C>(grid.tile(i), outcome, progress)?;
        }
        Ok(())
    }

    /// The work on whole groups.
    fn tile<T: Held, C: StoredCode>(&self, scratch: &mut Scratch<T, C>, tile: Tile) -> Result<TileResult> {
        let groups = self.groups(&tile);
        let mut done = self.begun(&tile);
        let Scratch { room, work } = scratch;
        let held = self.loader.tile(&tile, room)?;
        if let Some(codes) = self.quick_codes(&tile, &groups, held) {
            let scales = match &self.floats {
                Some(floats) => Scales::Floats(floats, &codes),
                None => Scales::Powers(&codes),
            };
            done.events = self.encode(held, work, &tile, &groups, scales);
            if self.reports {
                let value = |&code: &u8| match &self.floats {
                    Some(floats) => floats.scale(code).value,
                    None => power(i32::from(code) - 127),
                };
                done.scales = codes.iter().map(value).collect();
            }
            self.write_scale_bytes(&groups, &codes, 1, &mut done);
            let scales = std::mem::take(&mut done.scales);
            self.write(held, work, (&tile, &groups), &scales, &[], &mut done)?;
            return Ok(TileResult { scales, ..done });
        }
        self.loader.check_tile(&tile, held)?;
        let scales = self.scales_of(&tile, &groups, held)?;
        done.events = self.encode(held, work, &tile, &groups, Scales::Any(&scales));
        let mut tables = Vec::new();
        if self.relabel.is_some() {
            let mut counts: Vec<Counts> = scales.iter().map(|_| Box::new([0; 256])).collect();
            self.count(work, &tile, &groups, &mut counts);
            tables = self.tables(&groups, &counts, &mut done)?;
        }
        let stored = self.write_scales(&groups, &scales, &tables, &mut done);
        self.write(held, work, (&tile, &groups), &stored, &tables, &mut done)?;
        if self.reports {
            done.scales = stored;
        }
        Ok(done)
    }

    /// The codes of the scales of groups where that is quick: all elements then are what the options
    /// take.
    fn quick_codes<T: Held>(&self, tile: &Tile, groups: &Tile, held: &[T]) -> Option<Vec<u8>> {
        let Lanes::F32(held) = T::lanes(held) else { return None };
        let (grid, count) = (&self.loader.grid, index(groups.elements()));
        match (&self.floats, self.powers) {
            (Some(floats), _) => floats.codes(grid, (tile, groups), count, held),
            (None, powers) => powers?.codes(grid, (tile, groups), count, held),
        }
    }

    /// The result of a tile on which work begins.
    fn begun(&self, tile: &Tile) -> TileResult {
        TileResult { bytes_in: self.loader.share(tile.elements()), ..TileResult::default() }
    }

    /// The work on one group that is too large to be held.
    fn large<T: Held, C: StoredCode>(
        &self,
        tile: Tile,
        outcome: &mut Outcome<'_>,
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
                |Scratch { room, work }, i| {
                    let held = self.loader.load(&piece(i), room)?;
                    self.encode(held, work, &piece(i), &groups, Scales::Any(&scales));
                    let mut counts: Vec<Counts> = vec![Box::new([0; 256])];
                    self.count(work, &piece(i), &groups, &mut counts);
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
        ordered(
            count,
            Scratch::<T, C>::default,
            |Scratch { room, work }, i| {
                let mut done = self.begun(&piece(i));
                let held = self.loader.load(&piece(i), room)?;
                done.events = self.encode(held, work, &piece(i), &groups, Scales::Any(&scales));
                self.write(held, work, (&piece(i), &groups), &stored, &tables, &mut done)?;
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
            let mut extents = vec![Extent::default(); count];
            Level::detected().vectorize(
                #[inline(always)]
                || {
                    self.loader.grid.each_group(
                        tile,
                        groups,
                        #[inline(always)]
                        |group, range| extents[group].merge(&Extent::of(&held[range])),
                    );
                },
            );
            if let Some(searcher) = &self.searcher {
                return Ok(self.searched(searcher, tile, groups, held, &extents));
            }
            let element = ScaledElement::new(&self.element);
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

    /// The codes of a tile, and what happened.
    fn encode<T: Held, C: StoredCode>(
        &self,
        held: &[T],
        work: &mut Work<C>,
        tile: &Tile,
        groups: &Tile,
        scales: Scales<'_>,
    ) -> EventCounts {
        let Work { codes, division, .. } = work;
        codes.resize(held.len(), C::default());
        if let (Scales::Floats(floats, of_groups), Lanes::F32(held)) = (scales, T::lanes(held))
            && let Some(steps) = floats.steps().filter(|_| !self.reports)
        {
            self.encode_by_steps(steps, of_groups, held, codes, (tile, groups));
            return EventCounts::default();
        }
        let mut events = EventCounts::default();
        for (strip, range) in Self::strips(tile, ENCODED_ELEMENTS) {
            let (values, codes) = (&held[range.clone()], &mut codes[range]);
            self.quotients.begin(division, values.len());
            Level::detected().vectorize(
                #[inline(always)]
                || {
                    self.loader.grid.each_group(
                        &strip,
                        groups,
                        #[inline(always)]
                        |group, range| {
                            let values = &values[range.clone()];
                            match (scales, T::lanes(values)) {
                                (Scales::Powers(codes), Lanes::F32(values)) => {
                                    let quotients = Quotients::short(division, range);
                                    PowerScales::divide(codes[group], values, quotients);
                                }
                                (Scales::Powers(_), _) => {}
                                (Scales::Floats(floats, codes), _) => {
                                    let divisor = self.divisor(floats.scale(codes[group]));
                                    self.quotients.divide(division, range, values, divisor);
                                }
                                (Scales::Any(scales), _) => {
                                    let divisor = self.divisor(&scales[group]);
                                    self.quotients.divide(division, range, values, divisor);
                                }
                            }
                        },
                    );
                },
            );
            // Random words belong to places in the tensor, and only whole rows follow each other
            // there.
            let columns = self.loader.grid.columns;
            let run = if strip.columns == columns { values.len() } else { index(strip.columns) };
            for (i, codes) in codes.chunks_mut(run.max(1)).enumerate() {
                let first_element = (strip.row + i as u64) * columns + strip.column;
                let words = RandomWords { generator: self.philox.into(), first_element };
                let counted = self.reports || self.options.rounds_randomly();
                events = events.merge(self.quotients.encode(division, i * run, codes, words, counted));
            }
        }
        if let Some(infinities) = self.infinities {
            let held = held.iter().map(|x| x.to_f64());
            for (x, code) in held.zip(&mut *codes).filter(|(x, _)| x.is_infinite()) {
                *code = C::from_code(infinities[usize::from(x < 0.0)]);
            }
        }
        if !self.reports {
            return events;
        }
        // The encoder sees quotients; whether an operand is subnormal is a matter of the source.
        events.flags = events.flags & Flags::from_bits_truncate(!Flags::DENORMAL.bits());
        if T::any_positive_below(held, smallest_normal(self.loader.numbers.dtype())) {
            events.flags |= Flags::DENORMAL;
        }
        events
    }

    /// The codes of a tile of finite elements, of which nothing is counted.
    fn encode_by_steps<C: StoredCode>(
        &self,
        steps: &Steps,
        scales: &[u8],
        held: &[f32],
        codes: &mut [C],
        (tile, groups): (&Tile, &Tile),
    ) {
        Level::detected().vectorize(
            #[inline(always)]
            || {
                self.loader.grid.each_group(
                    tile,
                    groups,
                    #[inline(always)]
                    |group, range| steps.encode(scales[group], &held[range.clone()], &mut codes[range]),
                );
            },
        );
    }

    /// How often each code occurs in the groups of a tile.
    fn count<C: StoredCode>(&self, work: &Work<C>, tile: &Tile, groups: &Tile, counts: &mut [Counts]) {
        self.loader.grid.each_group(tile, groups, |group, range| {
            work.codes[range].iter().for_each(|&code| counts[group][code.code() & 255] += 1);
        });
    }

    #[inline(always)]
    fn divisor(&self, scale: &Scale) -> Divisor {
        if scale.value.is_nan() && !self.element.has_nan() {
            // The scale alone says NaN; the elements are zeros.
            return Divisor::Silent;
        }
        Divisor::of(scale)
    }

    fn tables(&self, groups: &Tile, counts: &[Counts], done: &mut TileResult) -> Result<Vec<bool>> {
        let Some((relabel, _)) = &self.relabel else { return Ok(Vec::new()) };
        let mut tables = Vec::new();
        for (i, counts) in counts.iter().enumerate() {
            let (second, changed) = relabel.choose(counts);
            if changed > 0 && self.options.container != (Container::Fp8 { requantize: true }) {
                let (row, column) = (i as u64 / groups.columns, i as u64 % groups.columns);
                let group = Tile { row: groups.row + row, column: groups.column + column, ..*groups };
                return Err(self.loader.refused(relabel.refusal(&group, changed)));
            }
            done.rounded_again += changed;
            tables.push(second);
        }
        Ok(tables)
    }

    /// The scales of a tile's groups as bytes, and what elements are multiplied by when they are
    /// read.
    fn write_scales(
        &self,
        groups: &Tile,
        scales: &[Scale],
        tables: &[bool],
        done: &mut TileResult,
    ) -> Vec<f64> {
        let scale_bytes = match &self.options.scale {
            _ if self.relabel.is_some() => 4,
            scale => scale.as_ref().map_or(1, ScaleSpec::code_size),
        };
        let mut bytes = Vec::with_capacity(scales.len() * scale_bytes);
        let mut stored = Vec::with_capacity(scales.len());
        let by_bias = self.options.scale.is_none() && self.options.format.has_free_bias();
        for (i, scale) in scales.iter().enumerate() {
            if by_bias {
                done.biases.push(i32::try_from(scale.code).expect("a bias has 6 bits"));
            }
            let value = match (&self.relabel, tables.get(i)) {
                (Some((relabel, _)), Some(&second)) => {
                    relabel.table(second).scale(i32::try_from(scale.code).expect("a bias has 6 bits"))
                }
                _ => scale.value,
            };
            stored.push(value);
            match (&self.relabel, &self.options.scale) {
                #[expect(clippy::cast_possible_truncation, reason = "a power of two within F32's range")]
                (Some(_), _) => bytes.extend((value as f32).to_le_bytes()),
                (None, None) => bytes.push(scale.code.to_le_bytes()[0]),
                (None, Some(_)) if scale_bytes == 1 => bytes.push(scale.code.to_le_bytes()[0]),
                (None, Some(spec)) => {
                    bytes.extend(&scale.code.to_le_bytes()[..spec.code_size()]);
                }
            }
        }
        self.write_scale_bytes(groups, &bytes, scale_bytes, done);
        stored
    }

    /// The bytes of a tile's scales, `size` each, where they go.
    fn write_scale_bytes(&self, groups: &Tile, bytes: &[u8], size: usize, done: &mut TileResult) {
        let across = self.loader.grid.group_columns;
        // Scales of whole rows of groups follow each other.
        let row = if groups.columns == across { bytes.len() } else { index(groups.columns) * size };
        for (i, row) in bytes.chunks(row.max(1)).enumerate() {
            let group = (groups.row + i as u64) * across + groups.column;
            done.writes.push((Part::Scales, group * size as u64, row.to_vec()));
        }
    }

    /// The codes of a tile in the form that the container asks for, and the errors.
    fn write<T: Held, C: StoredCode>(
        &self,
        held: &[T],
        work: &mut Work<C>,
        (tile, groups): (&Tile, &Tile),
        scales: &[f64],
        tables: &[bool],
        done: &mut TileResult,
    ) -> Result<()> {
        let Work { codes, decoded, .. } = work;
        for (strip, range) in Self::strips(tile, SUMMED_ELEMENTS) {
            let (values, codes) = (&held[range.clone()], &mut codes[range]);
            if let Some((relabel, _)) = &self.relabel {
                self.loader.grid.each_group(&strip, groups, |group, range| {
                    let table: &Table = relabel.table(tables[group]);
                    codes[range].iter_mut().for_each(|code| {
                        let (fp8, _) = table.code(u16::try_from(code.code()).expect("at most 16 bits"));
                        *code = C::from_code(fp8.into());
                    });
                });
            }
            let relabeled = self.relabel.as_ref().map(|(_, decoder)| decoder);
            let Some(decoder) = relabeled.or(self.decoder.as_ref()) else { continue };
            decoded.resize(values.len(), 0.0);
            decoder.decode(codes, decoded);
            self.loader.grid.each_group(&strip, groups, |group, range| {
                let scale = scales[group];
                decoded[range].iter_mut().for_each(|value| *value *= scale);
            });
            done.sums = done.sums.then(errors(values, decoded));
            if self.options.container == Container::Bf16 {
                self.write_bf16(&strip, decoded, done)?;
            }
        }
        if self.options.container != Container::Bf16 {
            self.write_codes(tile, codes, done);
        }
        Ok(())
    }

    fn write_codes<C: StoredCode>(&self, tile: &Tile, codes: &[C], done: &mut TileResult) {
        let element = self.relabel.as_ref().map_or(self.element, |(relabel, _)| relabel.to);
        let packing = self.options.packing;
        let columns = self.loader.grid.columns;
        let (unit, unit_bytes) = packing.unit(&element);
        let whole = tile.columns == columns && columns.is_multiple_of(unit);
        let run = if whole { codes.len() } else { index(tile.columns) };
        for (i, codes) in codes.chunks(run.max(1)).enumerate() {
            let mut bytes = Vec::new();
            packing.pack(codes, &mut bytes);
            let row = (tile.row + i as u64) * packing.row_bytes(&element, columns);
            done.writes.push((Part::Codes, row + tile.column / unit * unit_bytes, bytes));
        }
    }

    fn write_bf16(&self, strip: &Tile, decoded: &[f64], done: &mut TileResult) -> Result<()> {
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
        let run = if strip.columns == columns { bytes.len() } else { 2 * index(strip.columns) };
        for (i, bytes) in bytes.chunks(run.max(1)).enumerate() {
            let first = (strip.row + i as u64) * columns + strip.column;
            done.writes.push((Part::Codes, 2 * first, bytes.to_vec()));
        }
        Ok(())
    }
}

fn smallest_normal(dtype: Option<Dtype>) -> f64 {
    match dtype {
        Some(Dtype::F64) => f64::MIN_POSITIVE,
        Some(Dtype::F32 | Dtype::BF16) => f64::from(f32::MIN_POSITIVE),
        Some(Dtype::F16) => f64::from_bits((1023 - 14) << 52),
        _ => 0.0,
    }
}
