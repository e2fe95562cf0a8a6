//! [`Decoder`]: codes → wide floats.

pub(crate) mod simd;

use std::sync::OnceLock;

use smallfloat::formats::BINARY32;
use smallfloat::{Format, Projection, convert};

use crate::arch::level::Level;
use crate::break_even::BreakEven;
use crate::decode::simd::SimdDecoder;
use crate::element::{Code, Element, check_lengths, check_operand};
use crate::encode::streams;
use crate::error::Error;
use crate::event_counts::EventCounts;
use crate::parallel;
use crate::plan::decode::{DecodePlan, DecodePlans, NAN};
use crate::plan::nibbles::NibblePlan;

/// How many bytes there are.
const BYTES: usize = 1 << 8;

/// Converts codes of one format into slices of `T`: a table of all codes, or vector kernels to the
/// same values. Bytes have kernels to every `T`, half-words to f32 and f64.
///
/// The table costs as much as decoding all codes one by one. For formats of at most 8 bits it is
/// made at once; for wider ones, of up to 65,536 codes, once a quarter as many elements have gone
/// through the core, so keep the decoder; [`for_length`](Self::for_length) decides at once.
#[derive(Clone, Debug)]
pub struct Decoder<T> {
    format: Format,
    projection: Projection,
    level: Level,
    /// All values, where they were made at once.
    values: Option<Values<T>>,
    /// All values, where they wait for elements, and when they are made; never, without.
    later: OnceLock<Values<T>>,
    waiting: Option<BreakEven>,
}

/// The values of all codes, or of all bytes if there are fewer codes, and how vectors compute them.
#[derive(Clone, Debug)]
struct Values<T> {
    table: Vec<T>,
    plans: Option<DecodePlans>,
    fast: Option<SimdDecoder>,
}

impl<T: Element> Decoder<T> {
    /// Returns a decoder for a format of at most 16 bits. NaN becomes the canonical quiet NaN.
    ///
    /// With `projection` = `None` every finite value must be exact in `T`; otherwise values are
    /// rounded as it says.
    ///
    /// # Errors
    /// A wider format, or one with values that `T` can't hold and no rounding given.
    pub fn new(format: &Format, projection: Option<&Projection>) -> Result<Self, Error> {
        let is_small = format.width() <= 8;
        let decoder = Self::for_length(format, projection, if is_small { usize::MAX } else { 0 })?;
        Ok(Self { waiting: Some(BreakEven::default()), ..decoder })
    }

    /// Returns a decoder for about this many elements: where these are fewer than codes, they go
    /// through the core one by one, to the same values.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn for_length(
        format: &Format,
        projection: Option<&Projection>,
        length: usize,
    ) -> Result<Self, Error> {
        if format.is_wide() {
            return Err(Error::TooWide { format: *format });
        }
        let projection = match projection {
            Some(projection) if projection.rounding.is_stochastic() => {
                return Err(Error::NoRandomWords { mode: projection.rounding.name() });
            }
            Some(projection) => *projection,
            None if format.fits_in(&T::FORMAT) => T::FORMAT.default_projection(),
            None => return Err(Error::Inexact { format: *format, destination: T::FORMAT }),
        };
        let level = Level::detected();
        let (values, later) = (None, OnceLock::new());
        let decoder = Self { format: *format, projection, level, values, later, waiting: None };
        let values = (length as u64 > format.max_code()).then(|| decoder.all_values());
        Ok(Self { values, ..decoder })
    }

    /// Makes all values.
    #[inline(never)]
    fn all_values(&self) -> Values<T> {
        let value = |code| T::from_bits(convert(code, &self.format, &T::FORMAT, &self.projection).value);
        let table: Vec<T> = self.format.codes().map(value).collect();
        let plans = words_of(&table).map(|words| DecodePlans::new(&self.format, &words));
        let fast = plans.as_ref().and_then(|plans| SimdDecoder::new(self.level, plans));
        // Any byte is an index then.
        let table = table.iter().copied().cycle().take(table.len().max(BYTES)).collect();
        Values { table, plans, fast }
    }

    /// All values, if they are there, or if so many more elements make them worthwhile.
    #[inline(never)]
    fn worthwhile(&self, elements: usize) -> Option<&Values<T>> {
        let is_time = |waiting: &BreakEven| waiting.is_reached(elements, 1 << self.format.width());
        self.values.as_ref().or_else(|| match self.later.get() {
            None if self.waiting.as_ref().is_some_and(is_time) => {
                Some(self.later.get_or_init(|| self.all_values()))
            }
            values => values,
        })
    }

    /// The value of a code where values wait for elements.
    #[cold]
    fn later_value(&self, code: usize) -> T {
        match self.worthwhile(1) {
            Some(Values { table, .. }) => table[code & (table.len() - 1)],
            None => self.by_core(code),
        }
    }

    /// The value of a code without the table.
    fn by_core(&self, code: usize) -> T {
        let code = code as u64 & self.format.max_code();
        T::from_bits(convert(code, &self.format, &T::FORMAT, &self.projection).value)
    }

    /// Returns this decoder with the kernels of another level; of a level that the machine can't
    /// run, with those of the highest it can. The results are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level.at_most_available();
        for values in self.values.iter_mut().chain(self.later.get_mut()) {
            values.fast = values.plans.as_ref().and_then(|plans| SimdDecoder::new(self.level, plans));
        }
        self
    }

    /// Returns the format decoded from.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Returns the level of the kernels this decoder uses.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Decodes a slice. Bits of a code above the format's width are ignored.
    ///
    /// # Panics
    /// If the slices differ in length, or the codes are scalars of another format.
    pub fn decode<C: Code>(&self, codes: &[C], values: &mut [T]) {
        check_lengths((codes.len(), "codes"), (values.len(), "values"));
        check_operand::<C>(&self.format);
        let stream = streams(codes, values);
        parallel::zip(codes, values, &|_, codes, values| {
            let Some(Values { table, fast, .. }) = self.worthwhile(codes.len()) else {
                let pairs = codes.iter().zip(values);
                pairs.for_each(|(code, value)| *value = self.by_core(code.code()));
                return EventCounts::default();
            };
            if fast.as_ref().and_then(|fast| fast.decode(codes, values, stream)).is_some() {
                return EventCounts::default();
            }
            if let (Some(codes), Some(table)) = (C::as_codes(codes).bytes(), table.first_chunk::<BYTES>()) {
                codes.iter().zip(values).for_each(|(code, value)| *value = table[usize::from(*code)]);
            } else {
                let last = table.len() - 1;
                let pairs = codes.iter().zip(values);
                pairs.for_each(|(code, value)| *value = table[code.code() & last]);
            }
            EventCounts::default()
        });
    }

    /// The values of all bytes for a format of at most 8 bits. Bits above its width are ignored.
    pub(crate) fn of_bytes(&self) -> &[T; BYTES] {
        let values = self.values.as_ref().expect("values of narrow formats are made at once");
        values.table.first_chunk().expect("tables have a value for every byte")
    }

    /// The constants of the vector kernels for bytes, if they can describe the format.
    pub(crate) fn plan(&self) -> Option<&DecodePlan> {
        self.values.as_ref()?.plans.as_ref()?.bytes.as_ref()
    }

    /// The constants of products with a vector, if they can describe the format.
    pub(crate) fn nibbles(&self) -> Option<&NibblePlan> {
        self.values.as_ref()?.plans.as_ref()?.nibbles.as_ref()
    }

    /// Returns the value of one code. Bits above the format's width are ignored.
    pub fn value(&self, code: usize) -> T {
        match &self.values {
            Some(Values { table, .. }) => table[code & (table.len() - 1)],
            None => self.later_value(code),
        }
    }
}

/// All values as words of binary32, if they are exact in it; kernels convert from there, so that
/// subnormals and other NaNs than the canonical one are none of these words unless the type has
/// binary32's exponents.
fn words_of<T: Element>(table: &[T]) -> Option<Vec<u32>> {
    let same_exponents = T::FORMAT.exponent_bits() == BINARY32.exponent_bits();
    let quiet = T::FORMAT.default_projection();
    let quiet = convert(u64::from(NAN), &BINARY32, &T::FORMAT, &quiet).value;
    let word = |value: &T| {
        let wide = value.to_f64();
        if wide.is_nan() {
            return (value.bits() == quiet).then_some(NAN);
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked to be exact")]
        let narrow = wide as f32;
        let usable = same_exponents || !narrow.is_subnormal();
        (usable && f64::from(narrow).to_bits() == wide.to_bits()).then_some(narrow.to_bits())
    };
    table.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BFLOAT16, E4M3FN, E5M2};
    use smallfloat::{Bf16, F16};

    use super::{Decoder, Element, Format};

    /// Where vectors can decode: values are those of binary32, with no subnormals of it but in its
    /// own exponents.
    /// The values of a wide format are made when a quarter as many codes have been decoded.
    #[test]
    fn values_wait_for_codes() {
        let narrow = Decoder::<f32>::new(&E4M3FN, None).expect("a decoder");
        assert!(narrow.values.is_some());
        let waiting = Decoder::<f32>::new(&BFLOAT16, None).expect("a decoder");
        let mut found = [0.0; 1 << 12];
        for i in 0..4 {
            assert!(waiting.values.is_none() && waiting.later.get().is_none(), "{i}");
            let codes: [u16; 1 << 12] = std::array::from_fn(|j| u16::try_from(16 * j + i).expect("16 bits"));
            waiting.decode(&codes, &mut found);
            assert_eq!(waiting.value(usize::from(codes[99])).to_bits(), u32::from(codes[99]) << 16);
            assert!(codes.iter().zip(found).all(|(&code, x)| {
                x.to_bits() == u32::from(code) << 16 || x.is_nan() && Bf16::from_bits(code).to_f32().is_nan()
            }));
        }
        assert!(waiting.later.get().is_some());
    }

    #[test]
    fn which_values_are_words() {
        fn has_plans<T: Element>(format: &Format) -> bool {
            Decoder::<T>::new(format, None).is_ok_and(|decoder| decoder.all_values().plans.is_some())
        }
        for format in [E4M3FN, E5M2] {
            let all = [
                has_plans::<f32>(&format),
                has_plans::<f64>(&format),
                has_plans::<F16>(&format),
                has_plans::<Bf16>(&format),
            ];
            assert_eq!(all, [true; 4], "{format}");
        }
        assert_eq!([has_plans::<f32>(&BFLOAT16), has_plans::<Bf16>(&BFLOAT16)], [true; 2]);
        assert!(!has_plans::<f64>(&BFLOAT16), "its subnormals are those of binary32");
        for (bias, expected) in [(124, true), (125, false)] {
            // The smallest values are 2^-126 and 2^-127.
            let format = format!("minifloat:k=8,p=4,bias={bias},specials=ieee").parse().expect("a format");
            assert_eq!(has_plans::<f64>(&format), expected, "{format}");
        }
        let decoder = Decoder::<f32>::new(&E4M3FN, None).expect("a decoder");
        assert!(decoder.plan().is_some() && decoder.nibbles().is_some());
        let below = "minifloat:k=8,p=2,bias=200,specials=finite".parse().expect("a format");
        assert!(!has_plans::<f64>(&below), "its smallest values are none of binary32");
    }
}
