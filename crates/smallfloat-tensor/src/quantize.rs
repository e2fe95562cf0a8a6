//! [`quantize`]: a file of wide floats → the native container.
//!
//! One direction: source → statistics → bias → codes → sink → verified → renamed. Memory is a few buffers of
//! [`CHUNK_BYTES`] and the statistics, whatever the size of the tensors.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use sha2::{Digest, Sha256};
use smallfloat::random::Philox;
use smallfloat::{Exact, FormatSpec, NegativeRule, Preset, Projection, Rounding, Saturation, project};
use smallfloat_kernels::{Cells, Element, Encoder, ErrorSums, Events, Random};

use crate::container::{Entry, GRANULARITY, bias_name, code_dtype, metadata, read_entries, refuse_container};
use crate::report::{Report, TensorReport, Totals};
use crate::stream::{StoredCode, from_bytes, with_element};
use crate::verify::verify_at;
use crate::view::f64_decoder;
use crate::{
    BiasPolicy, CHUNK_BYTES, Dtype, Error, Result, Sink, SinkOptions, Source, TensorInfo, TensorSpec,
};

/// What to do with NaN and infinities in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nonfinite {
    /// Refuse the tensor, naming the first.
    Refuse,
    /// Give them what the preset says, and count them.
    Preset,
}

/// What to do with negative values where the format is unsigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Negative {
    /// Refuse the tensor, naming the first.
    Refuse,
    /// Apply a rule.
    Apply(NegativeRule),
}

/// How to quantize.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format; its bias is left open where each tensor gets its own.
    pub format: FormatSpec,
    /// How biases are chosen.
    pub bias: BiasPolicy,
    /// The rounding mode; stochastic ones need a seed.
    pub rounding: Option<Rounding>,
    /// The saturation mode; by default finite overflow saturates, and infinities are what the preset makes them.
    pub saturation: Option<Saturation>,
    /// The preset; by default the format's own.
    pub preset: Option<Preset>,
    /// The seed of stochastic rounding.
    pub seed: Option<u64>,
    /// NaN and infinities.
    pub nonfinite: Nonfinite,
    /// Negative values in an unsigned format.
    pub negative: Negative,
    /// Replace an output that exists.
    pub overwrite: bool,
    /// Read the result back and check digests and codes before it appears under its name.
    pub verify: bool,
    /// Collect exponent histograms, which costs a pass over the data where the bias is fixed.
    pub histograms: bool,
}

impl Options {
    /// The defaults for a format: its preset, saturating, biases by least error or as named, verified.
    pub fn new(format: FormatSpec) -> Self {
        Self {
            format,
            bias: format.bias().map_or(BiasPolicy::LeastError, BiasPolicy::Fixed),
            rounding: None,
            saturation: None,
            preset: None,
            seed: None,
            nonfinite: Nonfinite::Refuse,
            negative: Negative::Refuse,
            overwrite: false,
            verify: true,
            histograms: false,
        }
    }

    fn projection(&self, format: &smallfloat::Format) -> Projection {
        let how = self.preset(format);
        // Finite values saturate; an infinity stays one, if the preset does not clamp it.
        let default = match how.saturation {
            Saturation::SatFinite => Saturation::SatFinite,
            _ => Saturation::SatPropagate,
        };
        let how = how.with_saturation(self.saturation.unwrap_or(default));
        let mut how = self.rounding.map_or(how, |rounding| how.with_rounding(rounding));
        if let Negative::Apply(rule) = self.negative {
            how.unrepresentable.negative = rule;
        }
        how
    }

    fn preset(&self, format: &smallfloat::Format) -> Projection {
        self.preset.unwrap_or(Preset::default_for(format)).projection(format)
    }

    /// The codes of +∞ and −∞ where the preset makes them NaN although finite values saturate.
    fn infinities(&self, format: &smallfloat::Format) -> Option<[u32; 2]> {
        let preset = self.preset(format);
        let by_nan = preset.saturation == Saturation::SatNone && !format.has_infinity() && format.has_nan();
        (self.saturation.is_none() && by_nan).then(|| {
            let how = self.projection(format).with_saturation(preset.saturation);
            #[expect(clippy::cast_possible_truncation, reason = "codes have at most 16 bits")]
            [false, true].map(|negative| project(Exact::Infinite { negative }, format, &how).value as u32)
        })
    }

    /// Refuses contradictions before anything is read.
    fn check(&self) -> Result<()> {
        let refused = |what: String| Err(Error::refused(None, None, what));
        if self.rounding.is_some_and(Rounding::is_stochastic) && self.seed.is_none() {
            return refused("stochastic rounding needs a seed, so that it can be reproduced".to_owned());
        }
        let BiasPolicy::Fixed(bias) = self.bias else { return Ok(()) };
        match self.format.bias() {
            Some(named) if named != bias => {
                refused(format!("the format {} has the bias {named}, {bias} was asked for", self.format))
            }
            _ => self.format.with_bias(bias).map(|_| ()).map_err(refuse),
        }
    }
}

/// What [`quantize`] is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress<'a> {
    /// It begins; this many bytes will be read.
    Start(u64),
    /// A tensor begins.
    Tensor(&'a str),
    /// This many bytes more have been read.
    Bytes(u64),
    /// The output is being verified.
    Verify,
}

/// The stream of a tensor's random words: the first 8 bytes, little-endian, of SHA-256 of its name.
pub fn stream_of_name(name: &str) -> u64 {
    let digest = Sha256::digest(name.as_bytes());
    digest.iter().take(8).rev().fold(0, |stream, &byte| stream << 8 | u64::from(byte))
}

/// Quantizes the wide floats of a `.safetensors` or `.npy` file into a native container; `select` says which tensors.
/// All others are copied byte for byte.
///
/// The output appears under its name only when it is whole. The same input and options give the same bytes.
///
/// # Errors
/// A source that is refused, values that are (NaN, infinities, negatives: see [`Options`]), an output that exists, a
/// disk that fills; the old output stays as it was.
pub fn quantize(
    input: &Path,
    output: &Path,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    let start = Instant::now();
    options.check()?;
    let source = Source::open(input)?;
    refuse_container(input, read_entries(&source)?.as_ref())?;
    let job = Job { source: &source, options };
    let mut entries = BTreeMap::new();
    let mut specs = Vec::new();
    let mut jobs = Vec::new();
    // Any bias gives the layout; each tensor's own is chosen when its turn comes.
    let layout = options.format.with_bias(options.format.bias().unwrap_or(0)).map_err(refuse)?;
    if layout.is_wide() {
        let what = format!("{layout} is no small format: codes have at most 16 bits");
        return Err(Error::refused(None, None, what));
    }
    for info in source.tensors() {
        let quantized = info.dtype.is_wide_float() && select(&info.name);
        jobs.push((info, quantized, specs.len()));
        if quantized {
            specs.push(TensorSpec::new(&info.name, code_dtype(&layout), info.shape.clone()));
            if layout.has_free_bias() {
                specs.push(TensorSpec::new(bias_name(&info.name), Dtype::U8, Vec::new()));
            }
            entries.insert(info.name.clone(), job.entry(info, &layout));
        } else {
            specs.push(TensorSpec::new(&info.name, info.dtype, info.shape.clone()));
        }
    }
    let sink_options = SinkOptions { overwrite: options.overwrite, digests: true, ..SinkOptions::default() };
    let sink = Sink::create(output, specs, metadata(source.metadata(), &entries)?, sink_options)?;

    let passes = 1 + u64::from(job.analyses());
    let bytes =
        jobs.iter().map(|(info, quantized, _)| if *quantized { passes * info.len } else { info.len }).sum();
    progress(Progress::Start(bytes));
    let (mut reports, mut all) = (Vec::new(), ErrorSums::default());
    for (info, quantized, slot) in jobs {
        progress(Progress::Tensor(&info.name));
        let mut report = TensorReport::copied(&info.name, &info.shape);
        if quantized {
            let sums = with_element!(
                info.dtype,
                T => job.tensor::<T>(info, &sink, slot, &mut report, progress)?,
                else ErrorSums::default()
            );
            all = all.then(sums);
            if let Some(entry) = entries.get_mut(&info.name) {
                entry.sha256 = sink.sha256(slot)?;
            }
        } else {
            let mut buffer = vec![0; CHUNK_BYTES];
            source.read_chunks(info, &mut buffer, |_, bytes| {
                progress(Progress::Bytes(bytes.len() as u64));
                sink.append(slot, bytes)
            })?;
        }
        reports.push(report);
    }
    let bytes_out = sink.file_len();
    let sealed = sink.seal(Some(&metadata(source.metadata(), &entries)?))?;
    if options.verify {
        progress(Progress::Verify);
        verify_at(sealed.temporary_path(), output)?;
    }
    sealed.commit()?;
    Ok(Report {
        totals: Totals::of(&reports, &all),
        tensors: reports,
        seconds: start.elapsed().as_secs_f64(),
        bytes_in: source.file_len(),
        bytes_out,
    })
}

fn refuse(error: impl std::fmt::Display) -> Error {
    Error::refused(None, None, error.to_string())
}

struct Job<'a> {
    source: &'a Source,
    options: &'a Options,
}

impl Job<'_> {
    /// Does every tensor get a look before it is encoded?
    fn analyses(&self) -> bool {
        let free = self.options.format.has_free_bias() && self.options.bias.needs_statistics();
        free || self.options.histograms
    }

    fn entry(&self, info: &TensorInfo, layout: &smallfloat::Format) -> Entry {
        let rounding = self.options.projection(layout).rounding;
        let random_bits = rounding.random_bits().map(smallfloat::RandomBits::count);
        Entry {
            format: Entry::format_name(layout),
            subnormals: layout.subnormals().name().to_owned(),
            source_dtype: info.dtype.name().to_owned(),
            granularity: GRANULARITY.to_owned(),
            rounding: rounding.name().to_owned(),
            random_bits,
            seed: random_bits.and(self.options.seed),
            generator: random_bits.map(|_| "philox".to_owned()),
            // The digest's room; its value is known when the codes are.
            sha256: "0".repeat(64),
        }
    }

    fn tensor<T: Element>(
        &self,
        info: &TensorInfo,
        sink: &Sink,
        slot: usize,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        let refused = |what: String| Error::refused(Some(self.source.path()), Some(&info.name), what);
        let cells = if self.analyses() { Some(self.statistics::<T>(info, progress)?) } else { None };
        let spec = &self.options.format;
        let format = if spec.has_free_bias() {
            self.options.bias.choose(spec, cells.as_ref()).map_err(|e| refused(e.to_string()))?
        } else {
            spec.format().map_err(refuse)?
        };
        report.format = Some(Entry::format_name(&format));
        report.biases = vec![format.bias()];
        if let Some(cells) = cells.filter(|_| self.options.histograms) {
            report.exponents = cells.exponents();
        }
        let length = usize::try_from(info.elements()).unwrap_or(usize::MAX);
        let encoder =
            Encoder::<T>::for_length(&format, &self.options.projection(&format), length).map_err(refuse)?;
        let (events, sums) = if format.width() <= 8 {
            self.encode::<T, u8>(info, &encoder, sink, slot, progress)?
        } else {
            self.encode::<T, u16>(info, &encoder, sink, slot, progress)?
        };
        report.count(&events, &sums);
        if format.has_free_bias() {
            let bias = u8::try_from(format.bias()).map_err(refuse)?;
            sink.append(slot + 1, &[bias])?;
        }
        Ok(sums)
    }

    fn statistics<T: Element>(
        &self,
        info: &TensorInfo,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Cells<T>> {
        let precision = self
            .options
            .format
            .with_bias(self.options.format.bias().unwrap_or(0))
            .map_err(refuse)?
            .precision();
        let mut cells = Cells::<T>::new(precision);
        let (mut buffer, mut values) = (vec![0; CHUNK_BYTES], Vec::new());
        self.source.read_chunks(info, &mut buffer, |_, bytes| {
            from_bytes::<T>(bytes, &mut values);
            cells.add(&values);
            progress(Progress::Bytes(bytes.len() as u64));
            Ok(())
        })?;
        Ok(cells)
    }

    fn encode<T: Element, C: StoredCode>(
        &self,
        info: &TensorInfo,
        encoder: &Encoder<T>,
        sink: &Sink,
        slot: usize,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Events, ErrorSums)> {
        let decoder = f64_decoder(encoder.format())?;
        let infinities = match self.options.nonfinite {
            Nonfinite::Refuse => None,
            Nonfinite::Preset => self.options.infinities(encoder.format()),
        };
        let philox = Philox { seed: self.options.seed.unwrap_or(0), stream: stream_of_name(&info.name) };
        let (mut buffer, mut values) = (vec![0; CHUNK_BYTES], Vec::new());
        let (mut codes, mut decoded, mut bytes_out) = (Vec::new(), Vec::new(), Vec::new());
        let (mut events, mut sums) = (Events::default(), ErrorSums::default());
        self.source.read_chunks(info, &mut buffer, |first_element, bytes| {
            from_bytes::<T>(bytes, &mut values);
            self.check_values(info, encoder.format(), first_element, &values)?;
            codes.resize(values.len(), C::default());
            decoded.resize(values.len(), 0.0);
            events =
                events.merge(encoder.encode_random(&values, &mut codes, Random { philox, first_element }));
            if let Some(infinities) = infinities {
                let infinite = |x: f64| x.is_infinite().then(|| infinities[usize::from(x < 0.0)]);
                for (x, code) in values.iter().zip(&mut codes) {
                    *code = infinite(x.to_f64()).map_or(*code, C::from_code);
                }
            }
            decoder.decode(&codes, &mut decoded);
            let mut part = ErrorSums::of(&values, &decoded);
            if part.not_finite > 0 {
                // A finite value that became infinite counts too.
                let finite = values.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite());
                part.amax = finite.fold(part.amax, f64::max);
            }
            sums = sums.then(part);
            C::bytes(&codes, &mut bytes_out);
            progress(Progress::Bytes(bytes.len() as u64));
            sink.append(slot, &bytes_out)
        })?;
        Ok((events, sums))
    }

    /// Refuses what the options say must not be in the data, naming the first element.
    fn check_values<T: Element>(
        &self,
        info: &TensorInfo,
        format: &smallfloat::Format,
        first: u64,
        values: &[T],
    ) -> Result<()> {
        let refuse = |i: usize, value: f64, advice: &str| {
            let what = format!("element {} is {value}: {advice}", first + i as u64);
            Err(Error::refused(Some(self.source.path()), Some(&info.name), what))
        };
        if self.options.nonfinite == Nonfinite::Refuse
            && let Some(i) = values.iter().position(|x| !x.to_f64().is_finite())
        {
            let advice = "ask for the preset's rule (--nonfinite preset) or mend the data";
            return refuse(i, values[i].to_f64(), advice);
        }
        if !format.is_signed()
            && self.options.negative == Negative::Refuse
            && let Some(i) = values.iter().position(|x| x.to_f64() < 0.0)
        {
            let advice = format!("{format} is unsigned; choose a rule (--negative nan, zero or magnitude)");
            return refuse(i, values[i].to_f64(), &advice);
        }
        Ok(())
    }
}
