//! [`Plain`]: a tensor with one bias, or none, into native codes, through the kernels for its element type.
//!
//! Pieces of a size are worked on by all threads and written in order. The bias comes first, from statistics of the whole
//! tensor, which is why it is read twice where the bias is not given.

use std::sync::{Arc, Mutex, PoisonError};

use smallfloat::Format;
use smallfloat::random::Philox;
use smallfloat_kernels::{ClassSums, Decoder, Element, Encoder, ErrorSums, EventCounts, RandomWords, f16};

use crate::bias::{LARGEST, MANY, Magnitudes, SMALLEST, WeightedClassSums};
use crate::container::Entry;
use crate::ends::{Ends, Look, gather_below};
use crate::few::{Few, Verdict};
use crate::loader::index;
use crate::options::{Negative, Nonfinite, Options, refuse};
use crate::pipeline::ordered;
use crate::quantize::stream_of_name;
use crate::report::TensorReport;
use crate::scale::Scale;
use crate::stream::{StoredCode, code_at, from_bytes};
use crate::view::f64_decoder;
use crate::{Dtype, Error, Progress, Result, Sink, Source, TensorInfo};

/// Larger tables of statistics are not held by every thread: those of 8-bit formats are smaller.
const MOST_CLASSES: usize = 1 << 15;

/// More low elements of a tensor are not held, and go into such a table.
const MOST_LOW: usize = 1 << 18;

/// The work on one tensor.
pub(crate) struct Plain<'a> {
    pub(crate) source: &'a Source,
    pub(crate) info: &'a TensorInfo,
    pub(crate) options: &'a Options,
    pub(crate) decoders: &'a Decoders,
}

/// The last decoder of 16-bit codes that tensors of a job have used: its table takes longer to fill than most tensors have
/// elements.
#[derive(Debug, Default)]
pub(crate) struct Decoders(Mutex<Option<(Format, Arc<Decoder<f64>>)>>);

impl Decoders {
    /// The decoder of a format.
    fn of(&self, format: &Format) -> Result<Arc<Decoder<f64>>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((of, decoder)) if of == format => Ok(Arc::clone(decoder)),
            _ => {
                let decoder = Arc::new(f64_decoder(format)?);
                *last = Some((*format, Arc::clone(&decoder)));
                Ok(decoder)
            }
        }
    }
}

/// Elements that a thread works on at once.
#[derive(Clone, Copy)]
struct Piece {
    first: u64,
    elements: usize,
}

impl Piece {
    const ELEMENTS: u64 = 1 << 16;

    /// A block of the sums, so that these are the same bits however the work is parted: what is made of its elements on the
    /// way stays in the cache.
    const STRIP: usize = ErrorSums::BLOCK;

    fn count(info: &TensorInfo) -> u64 {
        info.elements().div_ceil(Self::ELEMENTS)
    }

    fn new(info: &TensorInfo, i: u64) -> Self {
        let first = i * Self::ELEMENTS;
        let elements = (info.elements() - first).min(Self::ELEMENTS);
        Self { first, elements: index(elements) }
    }

    /// Its parts that are encoded at once.
    fn strips(self) -> impl Iterator<Item = Self> {
        (0..self.elements).step_by(Self::STRIP).map(move |at| Self {
            first: self.first + at as u64,
            elements: (self.elements - at).min(Self::STRIP),
        })
    }
}

/// What a thread holds of a tensor.
#[derive(Default)]
struct Buffers<T> {
    bytes: Vec<u8>,
    values: Vec<T>,
}

impl Plain<'_> {
    /// Writes codes and bias, and completes the report.
    pub(crate) fn run(
        &self,
        sink: &Sink,
        slot: usize,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        match self.info.dtype {
            Dtype::F64 => self.tensor::<f64>(sink, slot, report, progress),
            // As F32 its numbers are the same, subnormal ones included, and the kernels are at their best.
            Dtype::F32 | Dtype::BF16 => self.tensor::<f32>(sink, slot, report, progress),
            Dtype::F16 => self.tensor::<f16>(sink, slot, report, progress),
            _ => Ok(ErrorSums::default()),
        }
    }

    fn tensor<T: Look>(
        &self,
        sink: &Sink,
        slot: usize,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        let refused = |what: String| Error::refused(Some(self.source.path()), Some(&self.info.name), what);
        let spec = &self.options.format;
        let weights = if spec.has_free_bias() { self.options.weights(self.info)? } else { None };
        report.calibrated = weights.is_some();
        let look = self.options.needs_a_look() && weights.is_none();
        let few = !self.options.histograms && self.info.elements() <= MANY as u64;
        let large = look && !few && !self.options.histograms && self.has_large_table::<T>()?;
        let by_ends = if large { self.by_ends::<T>(progress)? } else { None };
        let with_cells = self.options.histograms || (look && !few && by_ends.is_none());
        // The tensor's bytes were counted when its ends were looked at.
        let counting: &mut dyn FnMut(Progress<'_>) = if large { &mut |_| () } else { &mut *progress };
        let cells = if with_cells { Some(self.statistics::<T>(counting)?) } else { None };
        let format = if let Some(bias) = by_ends {
            spec.with_bias(bias).map_err(|e| refused(e.to_string()))?
        } else if spec.has_free_bias() {
            let magnitudes = match &weights {
                Some(weights) => Some(self.weighed::<T>(weights, progress)?),
                None if look && few => Some(self.few::<T>(progress)?),
                None => cells.as_ref().map(Magnitudes::from),
            };
            self.options.bias.choose(spec, magnitudes.as_ref()).map_err(|e| refused(e.to_string()))?
        } else {
            spec.format().map_err(refuse)?
        };
        report.format = Some(Entry::format_name(&format));
        report.biases = vec![format.bias()];
        if let Some(cells) = cells.filter(|_| self.options.histograms) {
            report.exponents = cells.exponents();
        }
        let length = usize::try_from(self.info.elements()).unwrap_or(usize::MAX);
        let encoder =
            Encoder::<T>::for_length(&format, &self.options.projection(&format), length).map_err(refuse)?;
        let (events, sums) = if format.width() <= 8 {
            self.encode::<T, u8>(&encoder, sink, slot, progress)?
        } else {
            self.encode::<T, u16>(&encoder, sink, slot, progress)?
        };
        report.count(&events, &sums);
        if format.has_free_bias() {
            let bias = u8::try_from(format.bias()).map_err(refuse)?;
            sink.append(slot + 1, &[bias])?;
        }
        Ok(sums)
    }

    /// Statistics in which errors weigh as much as their columns.
    fn weighed<T: Element>(
        &self,
        weights: &[u32],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Magnitudes> {
        let mut cells = WeightedClassSums::new(self.options.layout()?.precision());
        let mut columns = weights.iter().cycle();
        self.in_order::<T>(progress, |values| {
            values.iter().zip(&mut columns).for_each(|(x, &weight)| cells.add(x.to_f64(), weight));
        })?;
        Ok(cells.magnitudes())
    }

    /// Loads all elements on all threads and calls `add` with piece after piece.
    fn in_order<T: Element>(
        &self,
        progress: &mut dyn FnMut(Progress<'_>),
        mut add: impl FnMut(&[T]),
    ) -> Result<()> {
        ordered(
            Piece::count(self.info),
            Buffers::<T>::default,
            |buffers, piece| {
                let bytes = self.load(Piece::new(self.info, piece), buffers)?;
                Ok((bytes, std::mem::take(&mut buffers.values)))
            },
            |(bytes, values)| {
                add(&values);
                progress(Progress::Bytes(bytes));
                Ok(())
            },
        )?;
        Ok(())
    }

    fn precision(&self) -> Result<u32> {
        let format = &self.options.format;
        Ok(format.with_bias(format.bias().unwrap_or(0)).map_err(refuse)?.precision())
    }

    /// What the choice of a bias needs to know of a tensor of few elements, for which no table is filled.
    fn few<T: Element>(&self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Magnitudes> {
        let mut all = Vec::new();
        self.in_order::<T>(progress, |values| all.extend_from_slice(values))?;
        Ok(Magnitudes::of(&all, self.precision()?))
    }

    /// Is the table of classes too large for every thread to have one?
    fn has_large_table<T: Element>(&self) -> Result<bool> {
        Ok(ClassSums::<T>::new(self.precision()?).classes() > MOST_CLASSES)
    }

    /// The bias by the tensor's ends and perhaps its lowest elements, for which parts of it are read again; `None` where
    /// these leave it open.
    fn by_ends<T: Look>(&self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Option<i32>> {
        let Some(few) = Few::new(&self.options.format, self.options.bias) else { return Ok(None) };
        let (mut pieces, load) = (Vec::<Ends>::new(), |buffers: &mut Buffers<T>, piece| {
            self.load(Piece::new(self.info, piece), buffers)
        });
        ordered(
            Piece::count(self.info),
            Buffers::<T>::default,
            |buffers, piece| Ok((load(buffers, piece)?, T::ends(&buffers.values))),
            |(bytes, ends)| {
                pieces.push(ends);
                progress(Progress::Bytes(bytes));
                Ok(())
            },
        )?;
        let all = pieces.iter().copied().fold(Ends::NONE, Ends::and);
        let limit = match few.by_ends(&all) {
            Verdict::Known(bias) => return Ok(Some(bias)),
            Verdict::Low(limit) => limit,
            Verdict::Open => return Ok(None),
        };
        let with_low = (0_u64..).zip(&pieces).filter(|(_, ends)| ends.least < limit);
        let with_low: Vec<u64> = with_low.map(|(piece, _)| piece).collect();
        let mut low: Vec<f64> = Vec::new();
        ordered(
            with_low.len() as u64,
            Buffers::<T>::default,
            |buffers, i| {
                load(buffers, with_low[index(i)])?;
                let mut found = Vec::new();
                gather_below(&buffers.values, limit, &mut found);
                Ok(found)
            },
            |found| {
                if low.len() <= MOST_LOW {
                    low.extend(found.iter().map(|x| x.clamp(SMALLEST, LARGEST)));
                }
                Ok(())
            },
        )?;
        Ok(if low.len() <= MOST_LOW { few.by_low(&all, &low) } else { None })
    }

    fn statistics<T: Element>(&self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<ClassSums<T>> {
        let precision = self.precision()?;
        if self.has_large_table::<T>()? {
            let mut cells = ClassSums::<T>::new(precision);
            self.in_order::<T>(progress, |values| cells.add(values))?;
            return Ok(cells);
        }
        let parts = ordered(
            Piece::count(self.info),
            || (Buffers::<T>::default(), ClassSums::<T>::new(precision)),
            |(buffers, cells), piece| {
                let bytes = self.load(Piece::new(self.info, piece), buffers)?;
                cells.add(&buffers.values);
                Ok(bytes)
            },
            |bytes| {
                progress(Progress::Bytes(bytes));
                Ok(())
            },
        )?;
        let parts = parts.into_iter().map(|(_, cells)| cells);
        // Sums are integers, so that it does not matter which thread has seen which elements.
        Ok(parts.reduce(ClassSums::joined).unwrap_or_else(|| ClassSums::new(precision)))
    }

    /// Reads a piece and tells how many bytes it has.
    fn load<T: Element>(&self, piece: Piece, buffers: &mut Buffers<T>) -> Result<u64> {
        let Buffers { bytes, values } = buffers;
        let half = self.info.dtype == Dtype::BF16;
        bytes.resize(piece.elements * if half { 2 } else { T::SIZE }, 0);
        self.source.read_range(self.info, piece.first, bytes)?;
        if half {
            values.clear();
            values.extend(bytes.chunks_exact(2).map(|half| T::from_bits(u64::from(code_at(half)) << 16)));
        } else {
            from_bytes::<T>(bytes, values);
        }
        Ok(bytes.len() as u64)
    }

    fn encode<T: Look, C: StoredCode>(
        &self,
        encoder: &Encoder<T>,
        sink: &Sink,
        slot: usize,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(EventCounts, ErrorSums)> {
        // 16-bit codes of all biases share a table, and the scale 2^−bias is multiplied in, which is exact.
        let format = encoder.format();
        let shared = C::BITS > 8 && self.options.format.has_free_bias();
        let (decoder, scale) = if shared {
            let at_zero = self.options.format.with_bias(0).map_err(refuse)?;
            (self.decoders.of(&at_zero)?, Scale::of_bias(format.bias()).value)
        } else if C::BITS > 8 {
            (self.decoders.of(format)?, 1.0)
        } else {
            (Arc::new(f64_decoder(format)?), 1.0)
        };
        let infinities = match self.options.nonfinite {
            Nonfinite::Refuse => None,
            Nonfinite::Preset => self.options.infinities(encoder.format()),
        };
        let philox = Philox { seed: self.options.seed.unwrap_or(0), stream: stream_of_name(&self.info.name) };
        let (mut events, mut sums) = (EventCounts::default(), ErrorSums::default());
        ordered(
            Piece::count(self.info),
            || (Buffers::<T>::default(), Vec::<C>::new(), Vec::new()),
            |(buffers, codes, decoded), piece| {
                let piece = Piece::new(self.info, piece);
                let (mut bytes_in, mut events, mut sums) = (0, EventCounts::default(), ErrorSums::default());
                let mut bytes_out = Vec::with_capacity(piece.elements * size_of::<C>());
                for strip in piece.strips() {
                    bytes_in += self.load(strip, buffers)?;
                    let values = &buffers.values;
                    self.check_values(encoder.format(), strip.first, values)?;
                    codes.resize(values.len(), C::default());
                    decoded.resize(values.len(), 0.0);
                    let words = RandomWords { generator: philox.into(), first_element: strip.first };
                    events = events.merge(encoder.encode_random(values, codes, words));
                    if let Some(infinities) = infinities {
                        let infinite = |x: f64| x.is_infinite().then(|| infinities[usize::from(x < 0.0)]);
                        for (x, code) in values.iter().zip(&mut *codes) {
                            *code = infinite(x.to_f64()).map_or(*code, C::from_code);
                        }
                    }
                    decoder.decode(codes, decoded);
                    if shared {
                        for x in &mut *decoded {
                            *x *= scale;
                        }
                    }
                    let mut part = ErrorSums::of(values, decoded);
                    if part.not_finite > 0 {
                        // A finite value that became infinite counts too.
                        let finite = values.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite());
                        part.amax = finite.fold(part.amax, f64::max);
                    }
                    sums = sums.then(part);
                    C::append(codes, &mut bytes_out);
                }
                Ok((bytes_in, events, sums, bytes_out))
            },
            |(bytes_in, piece_events, piece_sums, bytes_out)| {
                events = events.merge(piece_events);
                sums = sums.then(piece_sums);
                progress(Progress::Bytes(bytes_in));
                sink.append(slot, &bytes_out)
            },
        )?;
        Ok((events, sums))
    }

    /// Refuses what the options say must not be in the data, naming the first element.
    fn check_values<T: Look>(&self, format: &Format, first: u64, values: &[T]) -> Result<()> {
        let refuse = |i: usize, value: f64, advice: &str| {
            let what = format!("element {} is {value}: {advice}", first + i as u64);
            Err(Error::refused(Some(self.source.path()), Some(&self.info.name), what))
        };
        // A look at all is faster than a search that may stop anywhere.
        if self.options.nonfinite == Nonfinite::Refuse
            && !T::all_finite(values)
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
