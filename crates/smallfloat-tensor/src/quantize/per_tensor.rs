//! [`PerTensor`]: a tensor with one bias, or none, into native codes, through the kernels for its
//! element type.
//!
//! Pieces of a size are worked on by all threads and written in order. The bias comes first, from
//! statistics of the whole tensor, which is why it is read twice where the bias is not given.

use std::sync::{Arc, Mutex, PoisonError};

use smallfloat::random::Philox;
use smallfloat::{F16, Format};
use smallfloat_kernels::{ClassSums, Decoder, Element, Encoder, ErrorSums, EventCounts, RandomWords};

use crate::error::{Result, refuse};
use crate::file::dtype::Dtype;
use crate::file::pipeline::ordered;
use crate::file::stream::StoredCode;
use crate::layout::container::Encoding;
use crate::layout::grid::index;
use crate::options::{Nonfinite, Options};
use crate::progress::{Progress, stream_of_name};
use crate::quantize::loader::{Loader, Room};
use crate::quantize::output::{Output, Part};
use crate::report::{BiasRange, TensorReport};
use crate::scale::bias::choose::{BiasLadder, MOST_CLASSES, MOST_SMALL, Rung};
use crate::scale::bias::magnitudes::{LARGEST, Magnitudes, SMALLEST, WeightedClassSums};
use crate::scale::bias::small_group::BiasDecision;
use crate::scale::range::{MagnitudeRange, gather_below};
use crate::scale::rule::Scale;
use crate::stored::numbers::Held;
use crate::stored::view::f64_decoder;

/// The work on one tensor.
pub(crate) struct PerTensor<'a> {
    pub(crate) loader: &'a Loader<'a>,
    pub(crate) options: &'a Options,
    pub(crate) decoders: &'a Decoders,
    /// Whether errors and events are counted.
    pub(crate) reports: bool,
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
                let decoder = Arc::new(f64_decoder(format, usize::MAX)?);
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

    fn count(elements: u64) -> u64 {
        elements.div_ceil(Self::ELEMENTS)
    }

    fn new(elements: u64, i: u64) -> Self {
        let first = i * Self::ELEMENTS;
        let elements = (elements - first).min(Self::ELEMENTS);
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

impl PerTensor<'_> {
    /// Writes codes and bias, and completes the report.
    pub(crate) fn run(
        &self,
        output: &mut dyn Output<'_>,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        match self.loader.numbers.dtype() {
            Some(Dtype::F64) => self.tensor::<f64>(output, report, progress),
            // As F32 its numbers are the same, subnormal ones included, and the kernels are at
            // their best.
            Some(Dtype::F32 | Dtype::BF16) => self.tensor::<f32>(output, report, progress),
            Some(Dtype::F16) => self.tensor::<F16>(output, report, progress),
            _ => Ok(ErrorSums::default()),
        }
    }

    fn tensor<T: Held>(
        &self,
        output: &mut dyn Output<'_>,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<ErrorSums> {
        let format = self.choose::<T>(report, progress)?;
        report.format = Some(Encoding::format_name(&format));
        report.biases = vec![format.bias()];
        report.bias_range = BiasRange::of(&report.biases);
        let length = usize::try_from(self.loader.elements()).unwrap_or(usize::MAX);
        let encoder =
            Encoder::<T>::for_length(&format, &self.options.projection(&format), length).map_err(refuse)?;
        let (events, sums) = if format.width() <= 8 {
            self.encode::<T, u8>(&encoder, output, progress)?
        } else {
            self.encode::<T, u16>(&encoder, output, progress)?
        };
        report.count(&events, &sums, self.options.saturates());
        if format.has_free_bias() {
            let bias = u8::try_from(format.bias()).map_err(refuse)?;
            output.write_at(Part::Scales, 0, &[bias])?;
        }
        Ok(sums)
    }

    /// Chooses the format's bias, and puts into the report what was seen on the way.
    fn choose<T: Held>(
        &self,
        report: &mut TensorReport,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Format> {
        let refused = |what: &dyn std::fmt::Display| self.loader.refused(what.to_string());
        let spec = &self.options.format;
        let weights = if spec.has_free_bias() { self.loader.weights() } else { None };
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
        let rung = ladder.rung(self.loader.elements(), || Self::classes::<T>(&ladder))?;
        let magnitudes = match (rung, weights, histogram) {
            (Rung::Given, ..) => return ladder.given().map_err(|e| refused(&e)),
            (_, Some(weights), _) => self.weighed::<T>(weights, progress)?,
            (_, None, Some(histogram)) => histogram,
            (Rung::Elements, ..) => {
                let mut all = Vec::new();
                self.in_order::<T>(progress, |values| all.extend_from_slice(values))?;
                return ladder.of_elements(&all).map_err(|e| refused(&e));
            }
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
    fn weighed<T: Held>(
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
    fn in_order<T: Held>(
        &self,
        progress: &mut dyn FnMut(Progress<'_>),
        mut add: impl FnMut(&[T]),
    ) -> Result<()> {
        ordered(
            Piece::count(self.loader.elements()),
            Room::<T>::default,
            |room, i| {
                let Piece { first, elements } = self.piece(i);
                self.loader.take(first, elements, room)
            },
            |values| {
                add(&values);
                progress(Progress::Bytes(self.loader.share(values.len() as u64)));
                Ok(())
            },
        )?;
        Ok(())
    }

    /// Returns how many rounding classes the elements have.
    fn classes<T: Held>(ladder: &BiasLadder) -> Result<usize> {
        Ok(ClassSums::<T>::new(ladder.precision()?).classes())
    }

    /// The bias by the tensor's ends and perhaps its lowest elements, for which parts of it are
    /// read again; `None` where these leave it open.
    fn by_range<T: Held>(
        &self,
        ladder: &BiasLadder,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<i32>> {
        let Some(small) = ladder.small() else { return Ok(None) };
        let mut pieces = Vec::<MagnitudeRange>::new();
        ordered(
            Piece::count(self.loader.elements()),
            Room::<T>::default,
            |room, i| {
                let values = self.read(self.piece(i), room)?;
                Ok((values.len(), T::range(values)))
            },
            |(elements, range)| {
                pieces.push(range);
                progress(Progress::Bytes(self.loader.share(elements as u64)));
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
            Room::<T>::default,
            |room, i| {
                let mut found = Vec::new();
                gather_below(self.read(self.piece(with_low[index(i)]), room)?, limit, &mut found);
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
    fn class_sums<T: Held>(
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
            Piece::count(self.loader.elements()),
            || (Room::<T>::default(), ClassSums::<T>::new(precision)),
            |(room, class_sums), i| {
                let values = self.read(self.piece(i), room)?;
                class_sums.add(values);
                Ok(values.len())
            },
            |elements| {
                progress(Progress::Bytes(self.loader.share(elements as u64)));
                Ok(())
            },
        )?;
        let parts = parts.into_iter().map(|(_, class_sums)| class_sums);
        // Sums are integers, so that it does not matter which thread has seen which elements.
        Ok(parts.reduce(ClassSums::joined).unwrap_or_else(|| ClassSums::new(precision)))
    }

    fn piece(&self, i: u64) -> Piece {
        Piece::new(self.loader.elements(), i)
    }

    fn read<'s, T: Held>(&'s self, piece: Piece, room: &'s mut Room<T>) -> Result<&'s [T]> {
        self.loader.read(piece.first, piece.elements, room)
    }

    fn encode<T: Held, C: StoredCode>(
        &self,
        encoder: &Encoder<T>,
        output: &mut dyn Output<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(EventCounts, ErrorSums)> {
        // 16-bit codes of all biases share a table, and the scale 2^−bias is multiplied in, which
        // is exact.
        let format = encoder.format();
        let shared = C::BITS > 8 && self.options.format.has_free_bias();
        let scale = if shared { Scale::of_bias(format.bias()).value } else { 1.0 };
        let decoder = match () {
            () if !self.reports => None,
            () if shared => Some(self.decoders.of(&self.options.format.with_bias(0).map_err(refuse)?)?),
            () if C::BITS > 8 => Some(self.decoders.of(format)?),
            () => Some(Arc::new(f64_decoder(format, usize::MAX)?)),
        };
        let infinities = match self.options.nonfinite {
            Nonfinite::Refuse => None,
            Nonfinite::Preset => self.options.infinities(encoder.format()),
        };
        let seed = self.options.seed.unwrap_or(0);
        let philox = Philox { seed, stream: stream_of_name(self.loader.name) };
        let counted = self.reports || self.options.rounds_randomly();
        let (mut events, mut sums, mut offset) = (EventCounts::default(), ErrorSums::default(), 0);
        ordered(
            Piece::count(self.loader.elements()),
            || (Room::<T>::default(), Vec::<C>::new(), Vec::new()),
            |(room, codes, decoded), i| {
                let piece = self.piece(i);
                let (mut events, mut sums) = (EventCounts::default(), ErrorSums::default());
                let mut bytes = Vec::with_capacity(piece.elements * size_of::<C>());
                for strip in piece.strips() {
                    let values = self.read(strip, room)?;
                    self.loader.check(values, |i| strip.first + i as u64)?;
                    codes.resize(values.len(), C::default());
                    let words = RandomWords { generator: philox.into(), first_element: strip.first };
                    events = events.merge(encoded(encoder, values, codes, words, counted));
                    if let Some(infinities) = infinities {
                        let infinite = |x: f64| x.is_infinite().then(|| infinities[usize::from(x < 0.0)]);
                        for (x, code) in values.iter().zip(&mut *codes) {
                            *code = infinite(x.to_f64()).map_or(*code, C::from_code);
                        }
                    }
                    if let Some(decoder) = &decoder {
                        decoded.resize(values.len(), 0.0);
                        decoder.decode(codes, decoded);
                        if shared {
                            for x in &mut *decoded {
                                *x *= scale;
                            }
                        }
                        sums = sums.then(errors(values, decoded));
                    }
                    C::append(codes, &mut bytes);
                }
                Ok((piece.elements as u64, events, sums, bytes))
            },
            |(elements, piece_events, piece_sums, bytes)| {
                events = events.merge(piece_events);
                sums = sums.then(piece_sums);
                progress(Progress::Bytes(self.loader.share(elements)));
                output.write_at(Part::Codes, offset, &bytes)?;
                offset += bytes.len() as u64;
                Ok(())
            },
        )?;
        Ok((events, sums))
    }
}

/// Encodes values; what happened is told if it is counted, which random words need.
pub(crate) fn encoded<T: Element, C: StoredCode>(
    encoder: &Encoder<T>,
    values: &[T],
    codes: &mut [C],
    words: RandomWords,
    counted: bool,
) -> EventCounts {
    if counted {
        return encoder.encode_random(values, codes, words);
    }
    encoder.encode_uncounted(values, codes);
    EventCounts::default()
}

/// How far values are from what was decoded.
pub(crate) fn errors<T: Element>(values: &[T], decoded: &[f64]) -> ErrorSums {
    let mut sums = ErrorSums::of(values, decoded);
    if sums.not_finite > 0 {
        // A finite value that became infinite counts too.
        let finite = values.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite());
        sums.amax = finite.fold(sums.amax, f64::max);
    }
    sums
}
