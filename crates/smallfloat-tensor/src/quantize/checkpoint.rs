//! [`Checkpoint`]: the tensors of one or more files, which of them are quantized, which share a
//! scale, and the writing of each output file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use smallfloat_kernels::ErrorSums;

use crate::error::{Error, Result, quoted, refuse};
use crate::file::dtype::Dtype;
use crate::file::formats::safetensors::byte_len;
use crate::file::formats::source::{Source, SourceKind};
use crate::file::input::{TensorInfo, chunk_buffer};
use crate::file::stream::TensorDigest;
use crate::file::write::gguf::Pairs;
use crate::file::write::sink::{Sealed, Sink, SinkOptions, TensorSpec};
use crate::layout::blocks::Blocks;
use crate::layout::container::{bias_name, foreign_metadata, metadata};
use crate::layout::convention::{Companion, Order};
use crate::layout::grid::{Granularity, Grid};
use crate::layout::scheme::{Config, FLOAT_QUANTIZED, FP8, Layout};
use crate::options::tensors::Tensors;
use crate::options::{Container, Options};
use crate::progress::Progress;
use crate::quantize::floats::SharedScales;
use crate::quantize::global::TensorScale;
use crate::quantize::loader::Loader;
use crate::quantize::output::{BlockOutput, OutputSlots, Tiles};
use crate::quantize::per_group::PerGroup;
use crate::quantize::per_tensor::{Decoders, PerTensor};
use crate::report::TensorReport;
use crate::stored::view::{Stored, TensorView, View};
use crate::verify::certificate::compare;
use crate::verify::verify_at;

/// A tensor of a checkpoint: which file, and which tensor in it.
pub(crate) type TensorPosition = (usize, usize);

/// One or more files whose tensors belong together.
pub(crate) struct Checkpoint<'a> {
    views: &'a [View],
    options: &'a Options,
    /// The names and types of what is written.
    pub(crate) layout: Layout,
    /// For each file, for each tensor: is it quantized?
    chosen: Vec<Vec<bool>>,
    /// The tensors that share a scale with others, and their company.
    shared: HashMap<TensorPosition, usize>,
    groups: Vec<ScaleGroup>,
    decoders: Decoders,
}

/// Tensors that share a scale, as file and place, and what they have decided once it is known.
pub(crate) struct ScaleGroup {
    members: Vec<TensorPosition>,
    whole: Option<TensorScale>,
}

/// A tensor of the input, its parts in the output if it is quantized, and the first of what it
/// becomes there.
type Job = (TensorPosition, Option<OutputSlots>, usize);

/// The entries of a container, made one at a time when they are written, since there may be very
/// many.
struct Entries<'a> {
    options: &'a Options,
    /// With the place of their codes in the output, sorted by their names.
    tensors: Vec<(&'a TensorView, usize)>,
    digests: Option<&'a [TensorDigest]>,
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.tensors.len()))?;
        for &(tensor, codes) in &self.tensors {
            let entry = self.options.entry(&tensor.info.shape, tensor.source_dtype());
            let mut entry = entry.map_err(S::Error::custom)?;
            if let Some(digests) = self.digests {
                entry.sha256 = Some(digests[codes]);
            }
            map.serialize_entry(&tensor.info.name, &entry)?;
        }
        map.end()
    }
}

/// What became of the tensors of one output file.
pub(crate) struct FileOutcome {
    pub(crate) reports: Vec<TensorReport>,
    /// Of each tensor, so that they add up in the input's order however the tensors are parted.
    pub(crate) sums: Vec<ErrorSums>,
    pub(crate) bytes_out: u64,
}

impl<'a> Checkpoint<'a> {
    pub(crate) fn new(
        views: &'a [View],
        options: &'a Options,
        select: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let layout = match (options.container, options.granularity) {
            (Container::Fp8 { .. }, Granularity::Tensor) => FP8,
            (Container::Fp8 { .. }, _) => FLOAT_QUANTIZED,
            _ => options.layout,
        };
        let mut chosen = Vec::new();
        for view in views {
            let mut of_file = Vec::new();
            // One array alone is what its file is for.
            let tensors = match view.source().kind() {
                SourceKind::Npy => Tensors::All,
                SourceKind::SafeTensors | SourceKind::Gguf => options.tensors,
            };
            for tensor in view.tensors() {
                let (name, shape) = (&tensor.info.name, &tensor.info.shape);
                // Few bits with one scale per block are for matrices; biases and norms stay as
                // they are.
                let fits = layout.holds(name, shape) && (options.scale.is_none() || shape.len() >= 2);
                let takes = tensor.has_numbers() && fits && tensors.take(name, shape) && select(name);
                // Codes without scales are copied with their dtype.
                let alone = tensor.scaled().is_some_and(|scaled| !scaled.has_scales());
                if !takes && tensor.format().is_some() && !alone {
                    let what = "is quantized already and was not selected: include it (vectors: with all tensors), or dequantize the file first";
                    return Err(Error::refused(Some(view.source().path()), Some(name), what));
                }
                if takes {
                    let path = Some(view.source().path());
                    let grid = Grid::new(&layout.order.of_elements(shape), options.granularity);
                    layout
                        .check_rows(shape, options.granularity, options.packing)
                        .and_then(|()| grid.check_scales())
                        .map_err(|what| Error::refused(path, Some(name), what))?;
                }
                of_file.push(takes);
            }
            chosen.push(of_file);
        }
        let mut checkpoint = Self {
            views,
            options,
            layout,
            chosen,
            shared: HashMap::new(),
            groups: Vec::new(),
            decoders: Decoders::default(),
        };
        checkpoint.check_calibration()?;
        checkpoint.find_shared();
        Ok(checkpoint)
    }

    /// Activations that are for none of the tensors are a mistake.
    fn check_calibration(&self) -> Result<()> {
        let Some(calibration) = &self.options.calibration else { return Ok(()) };
        let mut used = false;
        for place in self.places().into_iter().filter(|&place| self.is_chosen(place)) {
            let info = &self.tensor(place).info;
            used |= calibration.weights(&info.name, &info.shape)?.is_some();
        }
        if used {
            return Ok(());
        }
        let what = "has activations for none of the tensors that are quantized: they are named as these tensors, or as \
                    their modules without `.weight`; an .npy file is for all tensors with as many columns";
        Err(Error::refused(Some(calibration.path()), None, what))
    }

    fn find_shared(&mut self) {
        if !self.options.decides_whole() {
            return;
        }
        let mut places = Vec::new();
        for (file, view) in self.views.iter().enumerate() {
            places.extend((0..view.tensors().len()).filter(|&i| self.chosen[file][i]).map(|i| (file, i)));
        }
        let names = places.iter().map(|&(file, i)| &*self.views[file].tensors()[i].info.name);
        for group in self.options.share.groups(names) {
            let members: Vec<_> = group.into_iter().map(|i| places[i]).collect();
            self.shared.extend(members.iter().map(|&member| (member, self.groups.len())));
            self.groups.push(ScaleGroup { members, whole: None });
        }
    }

    /// The tensors of a file.
    pub(crate) fn places_of(&self, file: usize) -> Vec<TensorPosition> {
        (0..self.views[file].tensors().len()).map(|i| (file, i)).collect()
    }

    /// The tensors of all files.
    pub(crate) fn places(&self) -> Vec<TensorPosition> {
        (0..self.views.len()).flat_map(|file| self.places_of(file)).collect()
    }

    pub(crate) fn tensor(&self, (file, i): TensorPosition) -> &'a TensorView {
        &self.views[file].tensors()[i]
    }

    pub(crate) fn is_chosen(&self, (file, i): TensorPosition) -> bool {
        self.chosen[file][i]
    }

    /// The number of the company that a tensor shares a scale with.
    pub(crate) fn scale_group(&self, place: TensorPosition) -> Option<usize> {
        self.shared.get(&place).copied()
    }

    /// Names must be unique in all files together, those that are written beside codes included;
    /// `files` names the files.
    pub(crate) fn check_names(&self, files: &[String]) -> Result<()> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for place in self.places() {
            for spec in self.outputs(place)? {
                let name = spec.name.clone();
                if let Some(other) = seen.insert(spec.name, place.0) {
                    let what = format!(
                        "would be written for {} and for {}; names are unique in a checkpoint",
                        quoted(&files[other]),
                        quoted(&files[place.0])
                    );
                    return Err(Error::refused(None, Some(&name), what));
                }
            }
        }
        Ok(())
    }

    /// The tensors that a tensor becomes.
    fn outputs(&self, place: TensorPosition) -> Result<Vec<TensorSpec>> {
        let mut specs = Vec::new();
        if self.is_chosen(place) {
            self.specs(self.tensor(place), &mut specs)?;
        } else {
            let info = &self.tensor(place).info;
            specs.push(TensorSpec::new(&info.name, info.dtype, info.shape.clone()));
        }
        Ok(specs)
    }

    /// How many bytes a tensor becomes.
    pub(crate) fn bytes_out(&self, place: TensorPosition) -> Result<u64> {
        let outputs = self.outputs(place)?;
        let lens = outputs.iter().map(|spec| byte_len(spec.dtype, &spec.shape).map_err(refuse));
        lens.sum()
    }

    /// How many bytes quantizing these tensors reads, roughly.
    pub(crate) fn bytes(&self, places: &[TensorPosition]) -> u64 {
        let bytes = |&place: &TensorPosition| {
            let tensor = self.tensor(place);
            let whole = || !self.is_plain(tensor, place) && self.options.decides_whole();
            let twice = self.is_chosen(place) && (self.options.needs_scan() || whole());
            tensor.info.len.saturating_mul(1 + u64::from(twice))
        };
        places.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// The free text of some files; of values under one key the first.
    fn kept(&self, files: &[usize]) -> Vec<(String, String)> {
        let (mut kept, mut keys): (Vec<(String, String)>, _) = (Vec::new(), HashSet::new());
        for (key, value) in files.iter().flat_map(|&file| foreign_metadata(self.views[file].source())) {
            if keys.insert(key.clone()) {
                kept.push((key, value));
            }
        }
        // Some loaders refuse files that do not say which framework's names they have.
        if !self.layout.is_native() && !self.layout.is_gguf() && !keys.contains("format") {
            kept.push(("format".to_owned(), "pt".to_owned()));
        }
        kept
    }

    /// The keys of a GGUF file that is made of some files.
    fn pairs(&self, files: &[usize], is_quantized: bool) -> Result<Pairs> {
        let Config::Gguf(file_type) = self.layout.config else { panic!("a GGUF file is written") };
        let sources: Vec<&Source> = files.iter().map(|&file| self.views[file].source()).collect();
        let pairs = Pairs::for_output(&sources, &self.kept(files))?;
        Ok(pairs.with_file_type(file_type, is_quantized))
    }

    /// The modules whose matrices are not quantized: readers of configurations want them named.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (view, chosen) in self.views.iter().zip(&self.chosen) {
            for (tensor, chosen) in view.tensors().iter().zip(chosen) {
                let module = tensor.info.name.strip_suffix(".weight");
                if let (Some(module), false, 2) = (module, *chosen, tensor.info.shape.len()) {
                    names.push(module.to_owned());
                }
            }
        }
        names.sort();
        names
    }

    /// What is decided for a whole tensor, alone or with those that it shares with.
    fn whole(
        &mut self,
        place: TensorPosition,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<TensorScale> {
        let group = self.shared.get(&place).copied();
        if let Some(whole) = group.and_then(|group| self.groups[group].whole) {
            return Ok(whole);
        }
        let members = group.map_or_else(|| vec![place], |group| self.groups[group].members.clone());
        let loaders = members.iter().map(|&(file, i)| {
            let view = &self.views[file];
            Loader::of_file(view, &view.tensors()[i], self.options)
        });
        let whole = TensorScale::decide(self.options, &loaders.collect::<Result<Vec<_>>>()?, progress)?;
        if let Some(group) = group {
            self.groups[group].whole = Some(whole);
        }
        Ok(whole)
    }

    /// Writes some tensors, with the free text of `files`, into one file that is whole, verified
    /// and not yet in place.
    pub(crate) fn write(
        &mut self,
        files: &[usize],
        places: &[TensorPosition],
        output: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(FileOutcome, Sealed)> {
        let options = self.options;
        let native = self.layout.is_native() && options.container == Container::Native;
        let mut specs = Vec::with_capacity(2 * places.len());
        let mut jobs = Vec::with_capacity(places.len());
        for &place in places {
            let (tensor, first) = (self.tensor(place), specs.len());
            let slots = if self.is_chosen(place) {
                Some(self.specs(tensor, &mut specs)?)
            } else {
                specs.extend(self.outputs(place)?);
                None
            };
            jobs.push((place, slots, first));
        }
        let is_quantized = jobs.iter().any(|(_, slots, _)| slots.is_some());
        // Once in a checkpoint: its index names one file for each tensor.
        let first = self.places().into_iter().find(|&place| self.is_chosen(place));
        let has_first = first.is_some_and(|first| places.contains(&first));
        let mut whole_signs = Vec::new();
        for (companion, sign) in self.layout.signs.into_iter().flatten().filter(|_| has_first) {
            if let Companion::Whole(name) = companion {
                whole_signs.push((specs.len(), sign.bytes((&[], ""))));
                specs.push(sign.spec(name.to_owned(), (&[], "")));
            }
        }
        let kept = self.kept(files);
        let sink_options =
            SinkOptions { overwrite: options.overwrite, digests: native, ..SinkOptions::default() };
        let sink = if self.layout.is_gguf() {
            let mut tensors: Vec<_> = specs.into_iter().map(|spec| (spec, None)).collect();
            for slots in jobs.iter().filter_map(|(_, slots, _)| *slots) {
                tensors[slots.codes].1 = self.layout.blocks;
            }
            let in_blocks = is_quantized && self.layout.blocks.is_some();
            Sink::gguf(output, tensors, &self.pairs(files, in_blocks)?, sink_options)?
        } else {
            let draft =
                if native { metadata(&kept, &self.entries(&jobs, None), None)? } else { kept.clone() };
            Sink::with_draft(output, specs, &draft, sink_options)?
        };
        for (slot, bytes) in &whole_signs {
            sink.append(*slot, bytes)?;
        }
        let (mut reports, mut sums) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
        for &(place, slots, first) in &jobs {
            let info = &self.tensor(place).info;
            progress(Progress::Tensor(&info.name));
            let mut report = TensorReport::copied(&info.name, &info.shape);
            if let Some(slots) = slots {
                sums.push(self.encode(place, slots, &sink, &mut report, progress)?);
            } else {
                let mut buffer = chunk_buffer(info.len);
                self.views[place.0].source().read_chunks(info, &mut buffer, |_, bytes| {
                    progress(Progress::Bytes(bytes.len() as u64));
                    sink.append(first, bytes)
                })?;
                sums.push(ErrorSums::default());
            }
            reports.push(report);
        }
        let bytes_out = sink.file_len();
        let text = if native {
            let digests = sink.digests()?;
            let mut order: Vec<usize> = (0..sink.len()).collect();
            order.sort_unstable_by_key(|&slot| &*sink.spec(slot).name);
            let mut written = order.iter().map(|&slot| {
                let TensorSpec { name, dtype, shape } = sink.spec(slot);
                (&**name, *dtype, &**shape, digests[slot])
            });
            metadata(&kept, &self.entries(&jobs, Some(&digests)), Some(&mut written))?
        } else {
            kept
        };
        drop(jobs);
        let sealed = sink.seal(Some(&text))?;
        drop(text);
        // Values in wide floats are no codes.
        let wide = self.layout.code_dtype(&options.layout()?, options.packing).is_wide_float();
        let has_codes = options.container != Container::Bf16
            && !wide
            && reports.iter().any(|report| report.format.is_some());
        if options.verify && (native || has_codes) {
            progress(Progress::Verify);
            verify_at(sealed.temporary_path(), output, Some(options.granularity))?;
        }
        if options.lossless {
            self.check_lossless(places, output, &sealed, progress)?;
        }
        Ok((FileOutcome { reports, sums, bytes_out }, sealed))
    }

    /// The container's entries of what is quantized, with digests once they are known.
    fn entries<'s>(&'s self, jobs: &[Job], digests: Option<&'s [TensorDigest]>) -> Entries<'s> {
        let codes = |&(place, slots, _): &Job| Some((self.tensor(place), slots?.codes));
        let mut tensors: Vec<_> = jobs.iter().filter_map(codes).collect();
        tensors.sort_unstable_by_key(|(tensor, _)| &*tensor.info.name);
        Entries { options: self.options, tensors, digests }
    }

    /// Refuses what was written if a value of a tensor changed, naming all such tensors.
    fn check_lossless(
        &self,
        places: &[TensorPosition],
        output: &Path,
        sealed: &Sealed,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        const MOST: usize = 20;
        let written = View::open_as(sealed.temporary_path(), Some(self.options.granularity))?;
        let (mut changed, mut first) = (Vec::new(), None);
        for &place in places.iter().filter(|&&place| self.is_chosen(place)) {
            let tensor = self.tensor(place);
            let Some(result) = written.tensor(&tensor.info.name) else { continue };
            let (certified, value) = compare((&self.views[place.0], tensor), (&written, result), progress)?;
            let Some((element, before, after)) = value else { continue };
            let (format, rounded) = (result.format_name().unwrap_or_default(), certified.rounded);
            changed.push(format!(
                "{} ({rounded} of {} values: element {element} is {before:e}, no number of {format} at its scale, and \
                 would be {after:e})",
                quoted(&tensor.info.name),
                tensor.info.elements()
            ));
            first = first.or(Some(tensor.info.name.clone()));
        }
        let Some(first) = first else { return Ok(()) };
        let more = changed.len().saturating_sub(MOST);
        changed.truncate(MOST);
        let more = if more > 0 { format!("; and {more} more tensors") } else { String::new() };
        let what = format!(
            "values would change, and only a lossless output is allowed: {}{more}",
            changed.join("; ")
        );
        Err(Error::refused(Some(output), Some(&first), what))
    }

    /// Writes the codes of one tensor and what goes with them.
    fn encode(
        &mut self,
        place: TensorPosition,
        slots: OutputSlots,
        sink: &Sink,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        let (view, tensor, options) = (&self.views[place.0], self.tensor(place), self.options);
        report.format = Some(options.element_name()?);
        let loader = Loader::of_file(view, tensor, options)?;
        for (slot, (_, sign)) in (slots.signs..).zip(self.layout.signs_of_tensors()) {
            sink.append(slot, &sign.bytes((&tensor.info.shape, tensor.source_dtype())))?;
        }
        let output = &mut (sink, slots);
        if self.is_plain(tensor, place) {
            let job = PerTensor { loader: &loader, options, decoders: &self.decoders, reports: true };
            return job.run(output, report, progress);
        }
        let whole = self.whole(place, progress)?;
        let grid = loader.grid;
        let job = PerGroup::new(loader, options, whole, true, &SharedScales::default())?;
        if let Some(blocks) = self.layout.blocks {
            return job.run(&mut BlockOutput::new((sink, slots), Blocks::of(blocks)), report, progress);
        }
        if self.layout.order == Order::Tiles {
            let mut tiles = Tiles::new((sink, slots), &grid);
            let sums = job.run(&mut tiles, report, progress)?;
            tiles.finish()?;
            return Ok(sums);
        }
        job.run(output, report, progress)
    }

    /// Returns whether a tensor has one bias, without scales, tensors that share them, or other
    /// containers.
    fn is_plain(&self, tensor: &TensorView, place: TensorPosition) -> bool {
        let options = self.options;
        options.scale.is_none()
            && options.granularity == Granularity::Tensor
            && options.container == Container::Native
            && options.layout.is_native()
            && tensor.stored == Stored::Wide
            && !self.shared.contains_key(&place)
    }

    /// Adds the tensors that a quantized tensor becomes.
    fn specs(&self, tensor: &TensorView, specs: &mut Vec<TensorSpec>) -> Result<OutputSlots> {
        let (name, shape, options, layout) =
            (&tensor.info.name, &tensor.info.shape, self.options, &self.layout);
        let codes = specs.len();
        let mut slots = OutputSlots { codes, scale: None, global: None, signs: 0 };
        let element = options.layout()?;
        match options.container {
            Container::Bf16 => specs.push(TensorSpec::new(name, Dtype::BF16, shape.clone())),
            Container::Fp8 { .. } => {
                let dtype = layout
                    .code_dtype(&crate::layout::fp8_remap::Fp8Remap::target(&element)?, options.packing);
                specs.push(TensorSpec::new(name, dtype, shape.clone()));
                slots.scale = Some(specs.len());
                let shape = layout.scale_shape(options.granularity, shape);
                specs.push(TensorSpec::new(layout.scale.of(name), Dtype::F32, shape));
            }
            Container::Native => {
                let dtype = layout.code_dtype(&element, options.packing);
                let stored = options.stored_shape(&element, shape);
                specs.push(TensorSpec::new(format!("{name}{}", layout.codes), dtype, stored));
                let shape = layout.scale_shape(options.granularity, shape);
                if let Some(scale) = options.scale.as_ref().filter(|_| layout.blocks.is_none()) {
                    slots.scale = Some(specs.len());
                    let name = layout.scale.of(name);
                    specs.push(TensorSpec::new(name, layout.scale_dtype(&scale.format), shape));
                } else if element.has_free_bias() {
                    slots.scale = Some(specs.len());
                    specs.push(TensorSpec::new(bias_name(name), Dtype::U8, shape));
                }
                if options.scale.is_some_and(|scale| scale.global.is_some()) {
                    slots.global = Some(specs.len());
                    let shape = layout.scale_shape(Granularity::Tensor, shape_of(&tensor.info));
                    specs.push(TensorSpec::new(layout.global.of(name), Dtype::F32, shape));
                }
                slots.signs = specs.len();
                for (companion, sign) in layout.signs_of_tensors() {
                    specs.push(sign.spec(companion.of(name), (&tensor.info.shape, tensor.source_dtype())));
                }
            }
        }
        Ok(slots)
    }
}

pub(crate) fn shape_of(info: &TensorInfo) -> &[u64] {
    &info.shape
}
