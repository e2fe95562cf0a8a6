//! `encode`, `decode` and `round`.

use std::sync::Arc;

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;
use smallfloat::formats::{BINARY32, BINARY64};
use smallfloat::{FlagPolicy, Flags, Format, Projection, RandomBits, Rounded, Rounding, convert_with};
use smallfloat_kernels::{Code, Decoder, Element, Encoder, RandomWords};

use crate::array::{Input, Kind, Output, code_dtype, flags_of_each, interop, is_typed, with_kind};
use crate::cache::{PIECE, decoder, encoder, with_threads};
use crate::events::{Counts, EventCounts, Wanted};
use crate::format::format_of;
use crate::integers::{FirstElement, RandomBitCount, Seed, Threads};
use crate::{policy, value_error};

/// Elements that are rounded at once: their codes stay in the first cache.
const CHUNK: usize = 1 << 13;

/// How elements are converted, apart from the format.
#[derive(Clone, Copy)]
struct Task<'a> {
    format: Format,
    projection: Projection,
    policy: FlagPolicy,
    words: Option<RandomWords>,
    /// The caller's random words, one for each element.
    given_words: Option<&'a [u64]>,
    /// Whether flags and counts are wanted.
    counted: bool,
    refuses_nonfinite: bool,
    threads: Option<usize>,
}

/// Keyword arguments of `encode` and `round`.
struct Keywords<'a, 'py> {
    preset: Option<&'a str>,
    rounding: Option<&'a str>,
    saturation: Option<&'a str>,
    seed: Option<u64>,
    stream: Option<&'a Bound<'py, PyAny>>,
    random_bits: u32,
    words: Option<&'a Bound<'py, PyAny>>,
    generator: &'a str,
    first_element: u64,
    nonfinite: Option<&'a str>,
    flush: Option<&'a str>,
    flags: Option<&'a str>,
    wanted: Wanted,
    threads: Option<Threads>,
}

impl<'py> Keywords<'_, 'py> {
    /// The numbers to be rounded: what is flushed before is zero.
    fn numbers(&self, x: &Bound<'py, PyAny>, fmt: &Bound<'py, PyAny>) -> PyResult<(Input<'py>, Kind)> {
        let (x, kind) = Input::numbers(x, "x")?;
        match self.flush {
            None => Ok((x, kind)),
            Some("before-rounding") if self.wanted == Wanted::Nothing => Ok((x.flushed(fmt)?, kind)),
            Some("before-rounding") => Err(PyValueError::new_err(
                "what is flushed raises no flags here: leave out flush or return_flags",
            )),
            Some(other) => Err(PyValueError::new_err(format!(
                "flush='{other}' is not known: write 'before-rounding', or leave it out"
            ))),
        }
    }

    /// The caller's random words for these elements.
    fn words_for(&self, x: &Input<'py>) -> PyResult<Option<Input<'py>>> {
        self.words.map(|words| Input::words(words, x, self.random_bits)).transpose()
    }
}

impl<'a> Task<'a> {
    fn new(
        format: &Format,
        keywords: &Keywords<'_, '_>,
        given_words: Option<&'a Input<'_>>,
    ) -> PyResult<Self> {
        let &Keywords { preset, saturation, seed, stream, generator, first_element, .. } = keywords;
        let rounding =
            keywords.rounding.map(|text| policy::rounding(text, keywords.random_bits)).transpose()?;
        let projection = policy::projection(format, preset, rounding, saturation)?;
        let refuses_nonfinite = match keywords.nonfinite {
            None | Some("preset") => false,
            Some("refuse") => true,
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "nonfinite='{other}' is not known: write 'preset' (the default) or 'refuse'"
                )));
            }
        };
        let given_words = given_words.map(Input::slice::<u64>).transpose()?;
        let words = match given_words {
            None => policy::words(projection.rounding, seed, stream, generator, first_element)?,
            Some(_) if seed.is_some() => {
                return Err(PyValueError::new_err("words and seed exclude each other: leave one out"));
            }
            Some(_) if !projection.rounding.is_stochastic() => {
                return Err(PyValueError::new_err(format!(
                    "words are for stochastic rounding, and this rounding is '{}'",
                    projection.rounding.name()
                )));
            }
            Some(_) => None,
        };
        // No type of numbers is Tesla's.
        let policy = keywords.flags.map(policy::flags).transpose()?;
        Ok(Self {
            format: *format,
            projection,
            policy: policy.unwrap_or_else(|| FlagPolicy::default_for([format])),
            words,
            given_words,
            counted: keywords.wanted != Wanted::Nothing || refuses_nonfinite,
            refuses_nonfinite,
            threads: Threads::check(keywords.threads)?,
        })
    }

    /// Returns whether the core does it, element by element: kernels have formats of up to 16 bits,
    /// Tesla's flags, from which those of `ieee-before` follow, and the projection's NaNs.
    fn is_for_core(&self) -> bool {
        let has_kernels = [FlagPolicy::TESLA, FlagPolicy::IEEE_BEFORE].contains(&self.policy)
            || !(self.counted || self.policy.is_of_hardware());
        self.format.is_wide() || self.given_words.is_some() || !has_kernels
    }

    /// The encoder, where kernels do it.
    fn encoder<T: Element>(&self, kind: Kind, length: usize) -> PyResult<Option<Arc<Encoder<T>>>> {
        if self.is_for_core() {
            return Ok(None);
        }
        encoder::<T>(&self.format, &self.projection, kind, length).map(Some)
    }

    /// Encodes by the encoder, or without one by the core.
    fn encode<T: Element, C: Code>(&self, encoder: Option<&Encoder<T>>, x: &[T], codes: &mut [C]) -> Counts {
        let Some(encoder) = encoder else { return self.encode_by_core(x, codes) };
        let size = piece_size(self.threads, x.len());
        let mut counts = Counts::default();
        for (start, (x, codes)) in (0..).step_by(size).zip(x.chunks(size).zip(codes.chunks_mut(size))) {
            match self.words_from(start) {
                Some(words) => {
                    let events = encoder.encode_random(x, codes, words);
                    if self.counted {
                        counts = counts.merge(Counts::of(events, &self.format, codes));
                    }
                }
                None if self.counted => {
                    let events = encoder.encode(x, codes);
                    counts = counts.merge(Counts::of(events, &self.format, codes));
                }
                None => encoder.encode_uncounted(x, codes),
            }
        }
        if self.policy != FlagPolicy::TESLA {
            counts.events.flags = self.ieee_before(counts.events.flags, x);
        }
        counts
    }

    /// The flags of `ieee-before` from Tesla's: none for subnormal operands, nor for quiet NaNs that
    /// the format has.
    fn ieee_before<T: Element>(&self, tesla: Flags, x: &[T]) -> Flags {
        let flags = tesla.without(Flags::DENORMAL);
        // Without NaNs all others are the same.
        let is_nan = |x: &T| T::FORMAT.decode(x.bits()).is_nan();
        if !flags.contains(Flags::INVALID) || !x.iter().any(is_nan) {
            return flags;
        }
        let invalid = |(i, &x): (usize, &T)| self.convert(i, x).flags.contains(Flags::INVALID);
        if x.iter().enumerate().any(invalid) { flags } else { flags.without(Flags::INVALID) }
    }

    /// One element by the core.
    fn convert<T: Element>(&self, i: usize, x: T) -> Rounded<u64> {
        let mut projection = self.projection;
        if let (Some(words), Some(bits)) = (self.given_words, projection.rounding.random_bits()) {
            let bits = RandomBits::new(bits.count(), words[i]).expect("words were checked against the count");
            projection = projection.with_rounding(projection.rounding.with_random_bits(bits));
        }
        if let (Some(words), Some(bits)) = (self.words_from(i), projection.rounding.random_bits()) {
            let word = words.generator.block(words.first_element / 4)[(words.first_element % 4) as usize];
            let bits = RandomBits::from_word32(bits.count(), word).expect("the count is at most 32");
            projection = projection.with_rounding(projection.rounding.with_random_bits(bits));
        }
        convert_with(x.bits(), &T::FORMAT, &self.format, &projection, self.policy)
    }

    /// Encodes by the core, with the flags of each element.
    fn encode_each<T: Element, C: Code>(&self, x: &[T], codes: &mut [C], each: &mut [Flags]) {
        let element = |(i, ((&x, code), flags)): (usize, ((&T, &mut C), &mut Flags))| {
            let Rounded { value, flags: raised } = self.convert(i, x);
            (*code, *flags) = (C::truncate(value), raised);
        };
        if runs_here(self.threads, x.len()) {
            return x.iter().zip(codes).zip(each).enumerate().for_each(element);
        }
        x.par_iter().zip(codes).zip(each).enumerate().for_each(element);
    }

    fn encode_by_core<T: Element, C: Code>(&self, x: &[T], codes: &mut [C]) -> Counts {
        let piece = |(i, (x, codes)): (usize, (&[T], &mut [C]))| {
            let mut events = smallfloat_kernels::EventCounts::new(x.len() as u64);
            for (at, (&x, code)) in (i * PIECE..).zip(x.iter().zip(&mut *codes)) {
                let Rounded { value, flags } = self.convert(at, x);
                *code = C::truncate(value);
                events.flags |= flags;
                let (given, result) = (T::FORMAT.decode(x.bits()), self.format.decode(value));
                events.overflowed += u64::from(flags.contains(Flags::OVERFLOW));
                events.zeros += u64::from(result.is_zero());
                events.underflowed += u64::from(result.is_zero() && given.is_finite() && !given.is_zero());
                events.nans += u64::from(given.is_nan());
                events.infinities += u64::from(!given.is_nan() && !given.is_finite());
            }
            Counts::of(events, &self.format, codes)
        };
        if runs_here(self.threads, x.len()) {
            let pieces = x.chunks(PIECE).zip(codes.chunks_mut(PIECE)).enumerate();
            return pieces.map(piece).fold(Counts::default(), Counts::merge);
        }
        let pieces = x.par_chunks(PIECE).zip(codes.par_chunks_mut(PIECE)).enumerate();
        pieces.map(piece).reduce(Counts::default, Counts::merge)
    }

    /// The random words of an element and those after it.
    fn words_from(&self, element: usize) -> Option<RandomWords> {
        self.words.map(|words| RandomWords {
            first_element: words.first_element.wrapping_add(element as u64),
            ..words
        })
    }

    /// Encodes and decodes, piece by piece.
    fn round<T: Element, C: Code + Default>(
        &self,
        (encoder, decoder): (Option<&Encoder<T>>, Option<&Decoder<T>>),
        x: &[T],
        results: &mut [T],
    ) -> Counts {
        let piece = |(i, (x, results)): (usize, (&[T], &mut [T]))| {
            let mut codes = [C::default(); CHUNK];
            let mut counts = Counts::default();
            let chunks = x.chunks(CHUNK).zip(results.chunks_mut(CHUNK));
            for (start, (x, results)) in (i * PIECE..).step_by(CHUNK).zip(chunks) {
                let codes = &mut codes[..x.len()];
                let given_words = self.given_words.map(|words| &words[start..start + x.len()]);
                let chunk = Self { words: self.words_from(start), given_words, ..*self };
                counts = counts.merge(chunk.encode(encoder, x, codes));
                match decoder {
                    Some(decoder) => decoder.decode(codes, results),
                    None => decode_by_core(&self.format, &T::FORMAT.default_projection(), codes, results),
                }
            }
            counts
        };
        if runs_here(self.threads, x.len()) {
            let pieces = x.chunks(PIECE).zip(results.chunks_mut(PIECE)).enumerate();
            return pieces.map(piece).fold(Counts::default(), Counts::merge);
        }
        let pieces = x.par_chunks(PIECE).zip(results.par_chunks_mut(PIECE));
        pieces.enumerate().map(piece).reduce(Counts::default, Counts::merge)
    }

    fn check(&self, counts: &Counts) -> PyResult<()> {
        let (nans, infinities) = (counts.events.nans, counts.events.infinities);
        if self.refuses_nonfinite && nans + infinities > 0 {
            return Err(PyValueError::new_err(format!(
                "x has {nans} NaN and {infinities} infinite elements, which nonfinite='refuse' refuses"
            )));
        }
        Ok(())
    }
}

/// Returns whether so little is to be done by one thread that it had better be this one. Beyond,
/// kernels write past the caches, which they decide from what they get at once.
fn runs_here(threads: Option<usize>, length: usize) -> bool {
    const LONGEST: usize = 1 << 22;
    length <= PIECE || (threads == Some(1) && length <= LONGEST)
}

/// How many elements a kernel gets at once: so few that it asks for no threads where this one is to
/// do it all.
fn piece_size(threads: Option<usize>, length: usize) -> usize {
    if runs_here(threads, length) { PIECE } else { length }
}

/// Runs a conversion of so many elements, which goes by [`piece_size`].
fn converted<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    length: usize,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    let here = length > PIECE && runs_here(threads, length);
    if here { Ok(py.detach(work)) } else { detached(py, threads, length, work) }
}

/// Runs a kernel on so many elements: without the interpreter, unless letting it go would cost more
/// than the work.
pub(crate) fn detached<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    length: usize,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    const WORTH: usize = 1 << 10;
    let work = || smallfloat_kernels::with_default_environment(work);
    if length < WORTH { Ok(work()) } else { py.detach(|| with_threads(threads, length, work)) }
}

/// A function of numbers and a format with the keyword arguments of `encode`.
macro_rules! conversion {
    ($(#[$doc:meta])* fn $name:ident($py:ident, $x:ident, $fmt:ident, $out:ident, $keywords:ident) $body:block) => {
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x, fmt, *, preset=None, rounding=None, saturation=None, seed=None, stream=None, random_bits=RandomBitCount(32),
            words=None, generator="philox", first_element=FirstElement(0), nonfinite=None, flush=None, flags=None, return_flags=None,
            out=None, threads=None),
            text_signature = "(x, fmt, *, preset=None, rounding=None, saturation=None, seed=None, stream=None, random_bits=32, \
                words=None, generator='philox', first_element=0, nonfinite=None, flush=None, flags=None, \
                return_flags=False, out=None, threads=None)")]
        #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
        pub(crate) fn $name<'py>(
            py: Python<'py>,
            x: &Bound<'py, PyAny>,
            fmt: &Bound<'py, PyAny>,
            preset: Option<&str>,
            rounding: Option<&str>,
            saturation: Option<&str>,
            seed: Option<Seed>,
            stream: Option<&Bound<'py, PyAny>>,
            random_bits: RandomBitCount,
            words: Option<&Bound<'py, PyAny>>,
            generator: &str,
            first_element: FirstElement,
            nonfinite: Option<&str>,
            flush: Option<&str>,
            flags: Option<&str>,
            return_flags: Option<&Bound<'py, PyAny>>,
            out: Option<&Bound<'py, PyAny>>,
            threads: Option<Threads>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let ($py, $x, $fmt, $out) = (py, x, fmt, out);
            let $keywords = Keywords {
                preset,
                rounding,
                saturation,
                seed: seed.map(|seed| seed.0),
                stream,
                random_bits: random_bits.0,
                words,
                generator,
                first_element: first_element.0,
                nonfinite,
                flush,
                flags,
                wanted: Wanted::of(return_flags)?,
                threads,
            };
            $body
        }
    };
}

/// Results, with what happened if that is wanted.
fn results<'py>(
    py: Python<'py>,
    result: Bound<'py, PyAny>,
    counts: Counts,
    wanted: Wanted,
) -> PyResult<Bound<'py, PyAny>> {
    if wanted == Wanted::Nothing {
        return Ok(result);
    }
    Ok((result, EventCounts(counts)).into_pyobject(py)?.into_any())
}

conversion! {
    /// Numbers → codes of a small format, each rounded once.
    ///
    /// Parameters
    /// ----------
    /// x : array_like of float16, float32, float64 or ml_dtypes.bfloat16
    ///     Any shape, strides and byte order; scalars, lists, torch tensors and `Array` too. Integers are
    ///     taken if they are exact as float64.
    /// fmt : Format or str
    ///     The format, or its name, or a dtype of ml_dtypes or torch that is one.
    /// preset, rounding, saturation : str, optional
    ///     `smallfloat.presets`, `smallfloat.roundings` and `smallfloat.saturations` list the names. By
    ///     default the format's own preset; an explicit rounding or saturation replaces that part of it.
    /// seed : int, optional
    ///     Stochastic rounding needs it, or ``words``; 0..2**64.
    /// stream : int or str, optional
    ///     Which of 2**64 sequences of random words, 0 by default; a name stands for the sequence of the
    ///     tensor with that name.
    /// random_bits : int
    ///     N of stochastic rounding, 1..=32.
    /// words : array_like of unsigned integers, optional
    ///     Instead of a seed, the random word R of each element, 0..2**random_bits, of ``x``'s shape or
    ///     broadcast to it. Slower than a seed.
    /// generator : str
    ///     Where random words come from: `smallfloat.generators`.
    /// first_element : int
    ///     The row-major index of ``x``'s first element in the whole tensor, so that pieces get the words
    ///     of the whole.
    /// nonfinite : str, optional
    ///     ``'preset'`` (default): NaN and infinities become what the preset makes of them. ``'refuse'``: a
    ///     ValueError.
    /// flush : str, optional
    ///     ``'before-rounding'``: numbers below the smallest normal one become zero, of their sign, before
    ///     they are rounded, so that none rounds up to it; as units without subnormals do it, and
    ///     microxcaling's ``allow_denorm=False``. Slower.
    /// flags : str, optional
    ///     Whose rules decide when flags are raised and which NaN a result is: one of
    ///     `smallfloat.flag_policies`, perhaps with changes. By default ``'tesla'`` for Tesla's formats,
    ///     else ``'ieee-before'``; others are slower.
    /// return_flags : bool or 'each'
    ///     Return `EventCounts` too; with ``'each'`` instead an array of uint8, the `Flags` of each element,
    ///     which is slower.
    /// out : array, optional
    ///     Where codes go: of ``x``'s shape and the codes' dtype.
    /// threads : int, optional
    ///     At most so many; by default one per core. Results never depend on it.
    ///
    /// Returns
    /// -------
    /// codes : uint8 (formats of up to 8 bits), uint16 (16) or uint32 (32), of ``x``'s shape
    ///     A scalar if ``x`` has no dimensions, a torch tensor if ``x`` is one.
    /// events : EventCounts
    ///     If ``return_flags``.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, smallfloat as sf
    /// >>> sf.encode(np.array([1.0, 1.1, -0.3, 1e9], np.float32), "cfloat8_1_4_3:bias=7")
    /// array([ 56,  57, 170, 127], dtype=uint8)
    /// >>> int(sf.encode(1.1, sf.formats.e5m2, rounding="toward-positive"))
    /// 61
    /// >>> sf.encode(np.array([1.1, -0.3], np.float32), "tf32")
    /// array([130150, 390349], dtype=uint32)
    fn encode(py, x, fmt, out, keywords) {
        let (format, typed) = (format_of(fmt)?, is_typed(x)?);
        if [BINARY32, BINARY64].contains(&format) {
            return Err(PyValueError::new_err(format!(
                "{format} has no codes here: its numbers are NumPy's own, which astype rounds to, and `round` in any mode"
            )));
        }
        let (x, kind) = keywords.numbers(x, fmt)?;
        let words = keywords.words_for(&x)?;
        let task = Task::new(&format, &keywords, words.as_ref())?;
        if let Some(out) = out {
            interop(py)?.call_method1("check_typed_output", (out, fmt))?;
        }
        let mut output = Output::new(py, out, x.shape(), code_dtype(py, &format), &[&x])?;
        let leave = |output: Output<'py>| match (output.finish(&x)?, typed && out.is_none()) {
            (codes, true) => interop(py)?.call_method1("typed", (codes, fmt)),
            (codes, false) => Ok(codes),
        };
        if keywords.wanted == Wanted::Each {
            if task.refuses_nonfinite {
                return Err(PyValueError::new_err(
                    "return_flags='each' tells of NaN and infinities itself: leave out nonfinite='refuse'",
                ));
            }
            let mut each = vec![Flags::NONE; x.len()];
            with_kind!(kind, T => {
                let x = x.slice::<T>()?;
                match format.width() {
                    ..=8 => {
                        let codes = output.slice::<u8>()?;
                        converted(py, task.threads, x.len(), || task.encode_each(x, codes, &mut each))
                    }
                    9..=16 => {
                        let codes = output.slice::<u16>()?;
                        converted(py, task.threads, x.len(), || task.encode_each(x, codes, &mut each))
                    }
                    _ => {
                        let codes = output.slice::<u32>()?;
                        converted(py, task.threads, x.len(), || task.encode_each(x, codes, &mut each))
                    }
                }
            })?;
            let flags = flags_of_each(py, x.shape(), &each)?;
            return Ok((leave(output)?, flags).into_pyobject(py)?.into_any());
        }
        let counts = with_kind!(kind, T => {
            let encoder = task.encoder::<T>(kind, x.len())?;
            let (encoder, x) = (encoder.as_deref(), x.slice::<T>()?);
            match format.width() {
                ..=8 => {
                    let codes = output.slice::<u8>()?;
                    converted(py, task.threads, x.len(), || task.encode(encoder, x, codes))
                }
                9..=16 => {
                    let codes = output.slice::<u16>()?;
                    converted(py, task.threads, x.len(), || task.encode(encoder, x, codes))
                }
                _ => {
                    let codes = output.slice::<u32>()?;
                    converted(py, task.threads, x.len(), || task.encode(encoder, x, codes))
                }
            }
        })?;
        task.check(&counts)?;
        results(py, leave(output)?, counts, keywords.wanted)
    }
}

conversion! {
    /// Numbers → the values of a small format nearest to them, or where else the rounding goes, in
    /// the numbers' own dtype.
    ///
    /// ``decode(encode(x, fmt, ...), fmt, dtype=x.dtype)`` in one pass: what a small format would
    /// do to ``x``, simulated.
    ///
    /// Parameters
    /// ----------
    /// x, fmt, preset, rounding, saturation, seed, stream, random_bits, words, generator, first_element,
    /// nonfinite, flush, flags, return_flags, threads
    ///     As of `encode`. Every value of ``fmt`` must be exact in ``x``'s dtype.
    /// out : array, optional
    ///     Where results go: of ``x``'s shape and dtype. It may be ``x`` itself.
    ///
    /// Returns
    /// -------
    /// rounded : array of ``x``'s shape and dtype
    /// events : EventCounts
    ///     If ``return_flags``.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, smallfloat as sf
    /// >>> sf.round(np.array([1.0, 1.1, 1e9], np.float32), "e4m3fn", preset="ocp-saturate")
    /// array([  1.   ,   1.125, 448.   ], dtype=float32)
    fn round(py, x, fmt, out, keywords) {
        let format = format_of(fmt)?;
        if is_typed(x)? {
            return Err(PyTypeError::new_err(format!(
                "x is an Array, whose numbers are rounded already: x.astype('{format}') rounds them again"
            )));
        }
        if keywords.wanted == Wanted::Each {
            return Err(PyValueError::new_err("return_flags='each' is for encode"));
        }
        if format == BINARY64 {
            return Err(PyValueError::new_err("binary64 is the widest dtype here: every number has been rounded to it"));
        }
        let (x, kind) = keywords.numbers(x, fmt)?;
        let words = keywords.words_for(&x)?;
        let task = Task::new(&format, &keywords, words.as_ref())?;
        let mut output = Output::new(py, out, x.shape(), x.array.dtype(), &[&x])?;
        let counts = with_kind!(kind, T => {
            let encoder = task.encoder::<T>(kind, x.len())?;
            let decoder = narrow_decoder::<T>(&format, None, kind).map_err(|error| {
                if format.fits_in(&T::FORMAT) {
                    return error;
                }
                PyValueError::new_err(format!(
                    "{format} has values that {} can't hold exactly, and results are of x's dtype: convert x to a wider one",
                    T::FORMAT
                ))
            })?;
            let both = (encoder.as_deref(), decoder.as_deref());
            let (x, results) = (x.slice::<T>()?, output.slice::<T>()?);
            match format.width() {
                ..=8 => converted(py, task.threads, x.len(), || task.round::<T, u8>(both, x, results)),
                9..=16 => converted(py, task.threads, x.len(), || task.round::<T, u16>(both, x, results)),
                _ => converted(py, task.threads, x.len(), || task.round::<T, u32>(both, x, results)),
            }
        })?;
        task.check(&counts)?;
        results(py, output.finish(&x)?, counts, keywords.wanted)
    }
}

/// Codes of a small format → numbers.
///
/// Parameters
/// ----------
/// codes : array_like of unsigned integers, or of a dtype of ml_dtypes or torch that is the format
///     Any shape and strides; an `Array` too.
/// fmt : Format or str, optional
///     The format; may be left out where the codes say it.
/// dtype : dtype
///     float16, float32 (default), float64 or ml_dtypes.bfloat16. Every value of ``fmt`` must be exact
///     in it, or a rounding given.
/// rounding : str, optional
///     A deterministic rounding for values that ``dtype`` does not have.
/// out : array, optional
///     Where numbers go: of the codes' shape and of ``dtype``.
/// threads : int, optional
///     At most so many; by default one per core.
///
/// Returns
/// -------
/// x : array of ``dtype`` of the codes' shape
///     NaN is the canonical quiet NaN.
///
/// Examples
/// --------
/// >>> import numpy as np, smallfloat as sf
/// >>> sf.decode(np.array([0x38, 0x39, 0xaa, 0x7f], np.uint8), "cfloat8_1_4_3:bias=7")
/// array([ 1.000e+00,  1.125e+00, -3.125e-01,  4.800e+02], dtype=float32)
#[pyfunction]
#[pyo3(signature = (codes, fmt=None, *, dtype=None, rounding=None, out=None, threads=None))]
pub(crate) fn decode<'py>(
    py: Python<'py>,
    codes: &Bound<'py, PyAny>,
    fmt: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    rounding: Option<&str>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<Threads>,
) -> PyResult<Bound<'py, PyAny>> {
    let own;
    let fmt = if let Some(fmt) = fmt {
        fmt
    } else {
        own = interop(py)?.call_method1("format_of_codes", (codes,))?;
        &own
    };
    let format = format_of(fmt)?;
    let (dtype, kind) = number_dtype(py, dtype)?;
    let threads = Threads::check(threads)?;
    let codes = Input::codes(codes, fmt, format.width())?;
    let mut output = Output::new(py, out, codes.shape(), dtype, &[&codes])?;
    with_kind!(kind, T => {
        let projection = rounding.map(decode_rounding::<T>).transpose()?;
        let decoder = narrow_decoder::<T>(&format, projection.as_ref(), kind)?;
        let projection = projection.unwrap_or_else(|| T::FORMAT.default_projection());
        let (decoder, x) = (decoder.as_deref(), output.slice::<T>()?);
        match format.width() {
            ..=8 => {
                let codes = codes.slice::<u8>()?;
                check_codes(&format, codes)?;
                converted(py, threads, x.len(), || decode_all((&format, &projection), decoder, threads, codes, x))?;
            }
            9..=16 => {
                let codes = codes.slice::<u16>()?;
                check_codes(&format, codes)?;
                converted(py, threads, x.len(), || decode_all((&format, &projection), decoder, threads, codes, x))?;
            }
            _ => {
                let codes = codes.slice::<u32>()?;
                check_codes(&format, codes)?;
                converted(py, threads, x.len(), || decode_all((&format, &projection), decoder, threads, codes, x))?;
            }
        }
    });
    output.finish(&codes)
}

/// The decoder of a format of up to 16 bits; without one the core decodes.
fn narrow_decoder<T: Element>(
    format: &Format,
    projection: Option<&Projection>,
    kind: Kind,
) -> PyResult<Option<Arc<Decoder<T>>>> {
    if !format.is_wide() {
        return decoder::<T>(format, projection, kind).map(Some);
    }
    if projection.is_none() && !format.fits_in(&T::FORMAT) {
        let error = smallfloat_kernels::Error::Inexact { format: *format, destination: T::FORMAT };
        return Err(value_error(error));
    }
    Ok(None)
}

fn decode_all<T: Element, C: Code>(
    (format, projection): (&Format, &Projection),
    decoder: Option<&Decoder<T>>,
    threads: Option<usize>,
    codes: &[C],
    values: &mut [T],
) {
    let size = piece_size(threads, codes.len());
    for (codes, values) in codes.chunks(size).zip(values.chunks_mut(size)) {
        match decoder {
            Some(decoder) => decoder.decode(codes, values),
            None => decode_by_core(format, projection, codes, values),
        }
    }
}

fn decode_by_core<T: Element, C: Code>(
    format: &Format,
    projection: &Projection,
    codes: &[C],
    values: &mut [T],
) {
    for (code, value) in codes.iter().zip(values) {
        *value = T::from_bits(smallfloat::convert(code.widen(), format, &T::FORMAT, projection).value);
    }
}

fn decode_rounding<T: Element>(text: &str) -> PyResult<Projection> {
    let rounding: Rounding = policy::rounding(text, 32)?;
    Ok(T::FORMAT.default_projection().with_rounding(rounding))
}

/// The dtype of numbers; float32 if nothing is said.
pub(crate) fn number_dtype<'py>(
    py: Python<'py>,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyArrayDescr>, Kind)> {
    let Some(dtype) = dtype else { return Ok((numpy::dtype::<f32>(py), Kind::F32)) };
    let dtype = interop(py)?.call_method1("number_dtype", (dtype,))?.cast_into::<PyArrayDescr>()?;
    match Kind::of(&dtype)? {
        Some(kind) if matches!(dtype.byteorder(), b'=' | b'|') => Ok((dtype, kind)),
        Some(_) => Err(PyTypeError::new_err(format!(
            "dtype {dtype} is in another byte order: give the native-endian dtype, and convert results with astype"
        ))),
        None => Err(PyTypeError::new_err(format!(
            "dtype {dtype} is not one of float16, float32, float64 and ml_dtypes.bfloat16"
        ))),
    }
}

/// Refuses codes that a format narrower than its storage does not have.
pub(crate) fn check_codes<C: Code>(format: &Format, codes: &[C]) -> PyResult<()> {
    if format.width() == C::BITS {
        return Ok(());
    }
    // One pass that the compiler turns into vectors; where the fault is matters only if there is
    // one.
    let all = codes.iter().fold(0, |all, code| all | code.widen());
    match codes.iter().position(|code| all > format.max_code() && code.widen() > format.max_code()) {
        None => Ok(()),
        Some(at) => match format.check_code(codes[at].widen()) {
            Ok(_) => Ok(()),
            Err(error) => Err(PyValueError::new_err(format!("element {at}: {error}"))),
        },
    }
}
