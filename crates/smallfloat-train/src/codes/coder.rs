//! [`Coders`] and [`EncodedTensor`]: encoders and decoders that are built once, and tensors as
//! codes in memory.

use std::borrow::Cow;
use std::sync::Arc;

use smallfloat::{Format, Projection};
use smallfloat_kernels::{Code, Decoder, Encoder, EventCounts, RandomWords};

use crate::codes::blocks::Blocks;
use crate::error::Result;

/// Encoder and decoder of a format at one bias.
#[derive(Debug)]
pub struct Coder {
    /// The format, with its bias.
    pub format: Format,
    projection: Projection,
    encoder: Encoder<f32>,
    decoder: Decoder<f32>,
}

/// All coders of a run; tensors of one format, bias and projection share one.
#[derive(Debug, Default)]
pub struct Coders(Vec<Arc<Coder>>);

impl Coders {
    /// Returns the coder of a format and a projection into it.
    ///
    /// # Errors
    /// A format of more than 16 bits, stochastic rounding by more than 32 random bits.
    pub fn get(&mut self, format: &Format, projection: &Projection) -> Result<Arc<Coder>> {
        let same = |coder: &&Arc<Coder>| coder.projection == *projection && coder.format == *format;
        if let Some(coder) = self.0.iter().find(same) {
            return Ok(Arc::clone(coder));
        }
        let coder = Arc::new(Coder {
            format: *format,
            projection: *projection,
            encoder: Encoder::for_length(format, projection, usize::MAX)?,
            decoder: Decoder::new(format, None)?,
        });
        self.0.push(Arc::clone(&coder));
        Ok(coder)
    }
}

/// A tensor's elements: codes, or binary32 where the class has no format.
#[derive(Clone, Debug)]
pub struct EncodedTensor {
    /// Who wrote the codes; none for plain elements.
    pub coder: Option<Arc<Coder>>,
    /// The exponent s of the scale: codes are those of x·2^s.
    pub exponent: i32,
    /// The elements.
    pub data: Elements,
}

/// Elements as they lie in memory.
#[derive(Clone, PartialEq, Debug)]
pub enum Elements {
    /// Codes of at most 8 bits.
    Bytes(Vec<u8>),
    /// Codes of at most 16 bits.
    Halves(Vec<u16>),
    /// Values.
    Plain(Vec<f32>),
    /// Codes of at most 8 bits with scales for blocks.
    Blocks(Box<Blocks>),
}

impl Elements {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(codes) => codes.len(),
            Self::Halves(codes) => codes.len(),
            Self::Plain(values) => values.len(),
            Self::Blocks(blocks) => blocks.len(),
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of memory that the elements take.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Bytes(codes) => codes.len(),
            Self::Halves(codes) => size_of_val(&codes[..]),
            Self::Plain(values) => size_of_val(&values[..]),
            Self::Blocks(blocks) => blocks.bytes(),
        }
    }
}

impl EncodedTensor {
    /// Returns a coder that leaves values as they are.
    pub fn plain(values: Vec<f32>) -> Self {
        Self { coder: None, exponent: 0, data: Elements::Plain(values) }
    }

    /// Returns the codes of values·2^exponent; `words` are for stochastic rounding.
    pub fn encode(
        coder: Arc<Coder>,
        values: &[f32],
        exponent: i32,
        words: Option<RandomWords>,
    ) -> (Self, EventCounts) {
        let mut values = Cow::Borrowed(values);
        if exponent != 0 {
            let scale = power_of_two(exponent);
            for value in values.to_mut() {
                *value *= scale;
            }
        }
        let encoder = &coder.encoder;
        let (data, events) = if coder.format.width() <= 8 {
            let mut codes = vec![0_u8; values.len()];
            let events = match words {
                Some(words) => encoder.encode_random(&values, &mut codes, words),
                None => encoder.encode(&values, &mut codes),
            };
            (Elements::Bytes(codes), events)
        } else {
            let mut codes = vec![0_u16; values.len()];
            let events = match words {
                Some(words) => encoder.encode_random(&values, &mut codes, words),
                None => encoder.encode(&values, &mut codes),
            };
            (Elements::Halves(codes), events)
        };
        (Self { coder: Some(coder), exponent, data }, events)
    }

    /// Returns what the codes mean, times 2^exponent of the scale: the scale itself is still in. A
    /// scheme's are those of the blocks along rows.
    ///
    /// # Panics
    /// If there is no coder of codes that need one.
    pub fn scaled_values(&self) -> Cow<'_, [f32]> {
        match &self.data {
            Elements::Plain(values) => Cow::Borrowed(values),
            Elements::Blocks(blocks) => Cow::Owned(blocks.rows().to_vec()),
            Elements::Bytes(codes) => Cow::Owned(self.decoded(codes)),
            Elements::Halves(codes) => Cow::Owned(self.decoded(codes)),
        }
    }

    fn decoded<C: Code>(&self, codes: &[C]) -> Vec<f32> {
        let coder = self.coder.as_ref().expect("codes without blocks have a coder");
        let mut values = vec![0.0; codes.len()];
        coder.decoder.decode(codes, &mut values);
        values
    }

    /// Leaves out what the backward pass does not want: blocks along rows.
    pub(crate) fn for_backward(&mut self) {
        if let Elements::Blocks(blocks) = &mut self.data {
            blocks.rows = None;
        }
    }

    /// Returns what the codes mean.
    pub fn values(&self) -> Vec<f32> {
        let mut values = self.scaled_values().into_owned();
        if self.exponent != 0 {
            let scale = power_of_two(-self.exponent);
            for value in &mut values {
                *value *= scale;
            }
        }
        values
    }
}

/// 2^exponent, for exponents of binary32's normal numbers.
pub(crate) fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((127 + exponent.clamp(-126, 127)).cast_unsigned() << 23)
}
