//! [`PerTensor`]: a tensor with one bias, or none, into native codes, through the kernels for its
//! element type.
//!
//! Pieces of a size are worked on by all threads and written in order. The bias comes first, from
//! statistics of the whole tensor, which is why it is read twice where the bias is not given.

use std::sync::{Arc, Mutex, PoisonError};

use smallfloat::Format;
use smallfloat::random::Philox;
use smallfloat_kernels::{ClassSums, Decoder, Element, Encoder, ErrorSums, EventCounts, RandomWords, f16};

use crate::error::{Error, Result, refuse};
use crate::file::dtype::Dtype;
use crate::file::input::TensorInfo;
use crate::file::pipeline::ordered;
use crate::file::sink::Sink;
use crate::file::source::Source;
use crate::file::stream::{StoredCode, code_at, from_bytes};
use crate::layout::container::Entry;
use crate::layout::grid::index;
use crate::options::{Negative, Nonfinite, Options};
use crate::progress::{Progress, stream_of_name};
use crate::report::{BiasRange, TensorReport};
use crate::scale::bias::choose::{BiasLadder, MOST_CLASSES, MOST_SMALL, Rung};
use crate::scale::bias::magnitudes::{LARGEST, Magnitudes, SMALLEST, WeightedClassSums};
use crate::scale::bias::small_group::BiasDecision;
use crate::scale::range::{MagnitudeRange, Scan, gather_below};
use crate::scale::rule::Scale;
use crate::stored::view::f64_decoder;

/// The work on one tensor.
pub(crate) struct PerTensor<'a> {
    pub(crate) source: &'a Source,
    pub(crate) info: &'a TensorInfo,
    pub(crate) options: &'a Options,
    pub(crate) decoders: &'a Decoders,
}

/// The last decoder of 16-bit codes that tensors of a job have used: its table takes longer to fill
/// than most tensors have elements.
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

    /// A block of the sums, so that these are the same bits however the work is parted: what is
    /// made of its elements on the way stays in the cache.
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

impl PerTensor<'_> {
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
            // As F32 its numbers are the same, subnormal ones included, and the kernels are at
            // their best.
            Dtype::F32 | Dtype::BF16 => self.tensor::<f32>(sink, slot, report, progress),
            Dtype::F16 => self.tensor::<f16>(sink, slot, report, progress),
            _ => Ok(ErrorSums::default()),
        }
    }

    fn tensor<T: Scan>(
        &self,
        sink: &Sink,
        slot: usize,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        let format = self.choose::<T>(report, progress)?;
        report.format = Some(Entry::format_name(&format));
        report.biases = vec![format.bias()];
        report.bias_range = BiasRange::of(&report.biases);
        let length = usize::try_from(self.info.elements()).unwrap_or(usize::MAX);
        let encoder =
            Encoder::<T>::for_length(&format, &self.options.projection(&format), length).map_err(refuse)?;
        let (events, sums) = if format.width() <= 8 {
            self.encode::<T, u8>(&encoder, sink, slot, progress)?
        } else {
            self.encode::<T, u16>(&encoder, sink, slot, progress)?
        };
        report.count(&events, &sums, self.options.saturates());
        if format.has_free_bias() {
            let bias = u8::try_from(format.bias()).map_err(refuse)?;
            sink.append(slot + 1, &[bias])?;
        }
        Ok(sums)
    }

    /// Chooses the format's bias, and puts into the report what was seen on the way.
    fn choose<T: Scan>(
        &self,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Format> {
        let refused = |what: &dyn std::fmt::Display| {
            Error::refused(Some(self.source.path()), Some(&self.info.name), what.to_string())
        };
        let spec = &self.options.format;
        let weights = if spec.has_free_bias() { self.options.weights(self.info)? } else { None };
        report.calibrated = weights.is_some();
        let ladder = BiasLadder::new(spec, self.options.bias, weights.is_some());
        // A histogram is made of class sums, and class sums give every bias too.
        let histogram = if self.options.histograms {
            let class_sums = self.class_sums::<T>(&ladder, progress)?;
            report.exponents = class_sums.exponents();
            Some(Magnitudes::from(&class_sums))
        } else {
            None
        };
        let rung = ladder.rung(self.info.elements(), || Self::classes::<T>(&ladder))?;
        let magnitudes = match (rung, weights, histogram) {
            (Rung::Given, ..) => return ladder.given().map_err(|e| refused(&e)),
            (_, Some(weights), _) => self.weighed::<T>(&weights, progress)?,
            (_, None, Some(histogram)) => histogram,
            (Rung::Elements, ..) => self.magnitudes::<T>(&ladder, progress)?,
            (Rung::Range, ..) => match self.by_range::<T>(&ladder, progress)? {
                Some(bias) => return spec.with_bias(bias).map_err(|e| refused(&e)),
                // The tensor's bytes were counted when its range was taken.
                None => Magnitudes::from(&self.class_sums::<T>(&ladder, &mut |_| ())?),
            },
            _ => Magnitudes::from(&self.class_sums::<T>(&ladder, progress)?),
        };
        ladder.by_magnitudes(&magnitudes).map_err(|e| refused(&e))
    }

    /// Statistics in which errors weigh as much as their columns.
    fn weighed<T: Element>(
        &self,
        weights: &[u32],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Magnitudes> {
        let mut class_sums = WeightedClassSums::new(self.options.layout()?.precision());
        let mut columns = weights.iter().cycle();
        self.in_order::<T>(progress, |values| {
            values.iter().zip(&mut columns).for_each(|(x, &weight)| class_sums.add(x.to_f64(), weight));
        })?;
        Ok(class_sums.magnitudes())
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

    /// Statistics of a tensor of few elements, for which no table of classes is filled.
    fn magnitudes<T: Element>(
        &self,
        ladder: &BiasLadder,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Magnitudes> {
        let mut all = Vec::new();
        self.in_order::<T>(progress, |values| all.extend_from_slice(values))?;
        Ok(Magnitudes::of(&all, ladder.precision()?))
    }

    /// Returns how many rounding classes the elements have.
    fn classes<T: Element>(ladder: &BiasLadder) -> Result<usize> {
        Ok(ClassSums::<T>::new(ladder.precision()?).classes())
    }

    /// The bias by the tensor's ends and perhaps its lowest elements, for which parts of it are
    /// read again; `None` where these leave it open.
    fn by_range<T: Scan>(
        &self,
        ladder: &BiasLadder,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<i32>> {
        let Some(small) = ladder.small() else { return Ok(None) };
        let (mut pieces, load) = (Vec::<MagnitudeRange>::new(), |buffers: &mut Buffers<T>, piece| {
            self.load(Piece::new(self.info, piece), buffers)
        });
        ordered(
            Piece::count(self.info),
            Buffers::<T>::default,
            |buffers, piece| Ok((load(buffers, piece)?, T::range(&buffers.values))),
            |(bytes, range)| {
                pieces.push(range);
                progress(Progress::Bytes(bytes));
                Ok(())
            },
        )?;
        let all = pieces.iter().copied().fold(MagnitudeRange::NONE, MagnitudeRange::and);
        let limit = match small.by_range(&all) {
            BiasDecision::Decided(bias) => return Ok(Some(bias)),
            BiasDecision::NeedsSmall(limit) => limit,
            BiasDecision::Undecided => return Ok(None),
        };
        let with_low = (0_u64..).zip(&pieces).filter(|(_, range)| range.least < limit);
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
                if low.len() <= MOST_SMALL {
                    low.extend(found.iter().map(|x| x.clamp(SMALLEST, LARGEST)));
                }
                Ok(())
            },
        )?;
        Ok(if low.len() <= MOST_SMALL { small.by_small(&all, &low) } else { None })
    }

    /// Class sums of all elements: by all threads where each may have a table, else in one table.
    fn class_sums<T: Element>(
        &self,
        ladder: &BiasLadder,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ClassSums<T>> {
        let precision = ladder.precision()?;
        if Self::classes::<T>(ladder)? > MOST_CLASSES {
            let mut class_sums = ClassSums::<T>::new(precision);
            self.in_order::<T>(progress, |values| class_sums.add(values))?;
            return Ok(class_sums);
        }
        let parts = ordered(
            Piece::count(self.info),
            || (Buffers::<T>::default(), ClassSums::<T>::new(precision)),
            |(buffers, class_sums), piece| {
                let bytes = self.load(Piece::new(self.info, piece), buffers)?;
                class_sums.add(&buffers.values);
                Ok(bytes)
            },
            |bytes| {
                progress(Progress::Bytes(bytes));
                Ok(())
            },
        )?;
        let parts = parts.into_iter().map(|(_, class_sums)| class_sums);
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

    fn encode<T: Scan, C: StoredCode>(
        &self,
        encoder: &Encoder<T>,
        sink: &Sink,
        slot: usize,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(EventCounts, ErrorSums)> {
        // 16-bit codes of all biases share a table, and the scale 2^−bias is multiplied in, which
        // is exact.
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
    fn check_values<T: Scan>(&self, format: &Format, first: u64, values: &[T]) -> Result<()> {
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
