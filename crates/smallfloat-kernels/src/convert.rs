//! Conversions in one call, which give a `Vec`.
//!
//! Each makes its encoder or decoder anew; for many slices of one format keep an
//! [`Encoder`](crate::Encoder) or a [`Decoder`](crate::Decoder).

use smallfloat::{Flags, Format, FromExact, Projection, ScalarSlice, SmallFloat};

use crate::decode::Decoder;
use crate::dot::{Accumulate, Dot};
use crate::element::{Code, Element};
use crate::encode::Encoder;
use crate::error::Error;
use crate::event_counts::EventCounts;
use crate::random::{Generator, RandomWords};

/// A typed scalar whose slices the functions of this crate take: every type of `smallfloat`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no typed scalar",
    label = "not a type of `smallfloat`, such as `E4M3Fn`",
    note = "codes in integers are decoded by `decode`, with their `Format`; `define_format!` makes a type of a format"
)]
pub trait Scalar: SmallFloat + Code {}

impl<S: SmallFloat + Code> Scalar for S {}

fn zeros<C: Code>(length: usize) -> Vec<C> {
    vec![C::from_code(0); length]
}

fn encoded<T: Element, C: Code>(
    values: &[T],
    format: &Format,
    projection: &Projection,
    words: Option<RandomWords>,
) -> Result<(Vec<C>, EventCounts), Error> {
    let encoder = match words {
        Some(words) => Encoder::for_length(format, projection, values.len())?.with_words(words),
        None if projection.rounding.is_stochastic() => {
            return Err(Error::NoRandomWords { mode: projection.rounding.name() });
        }
        None => Encoder::for_length(format, projection, values.len())?,
    };
    let mut codes = zeros(values.len());
    let counts = encoder.encode(values, &mut codes);
    Ok((codes, counts))
}

/// Refuses formats whose codes need more than a byte.
fn in_bytes(format: &Format) -> Result<(), Error> {
    if format.width() > 8 { Err(Error::NotBytes { format: *format }) } else { Ok(()) }
}

/// Encodes a slice into a format of at most 8 bits.
///
/// ```
/// use smallfloat::formats::E4M3FN;
/// let x = [1.0_f32, 1.1, -0.3, 1e9];
/// let (codes, counts) = smallfloat_kernels::encode(&x, &E4M3FN, &E4M3FN.default_projection())?;
/// assert_eq!(codes, [0x38, 0x39, 0xaa, 0x7f]);
/// assert_eq!((counts.elements, counts.overflowed), (4, 1));
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
///
/// # Errors
/// A wider format, or a stochastic rounding: see [`encode_u16`] and [`encode_seeded`].
pub fn encode(
    values: &[impl Element],
    format: &Format,
    projection: &Projection,
) -> Result<(Vec<u8>, EventCounts), Error> {
    in_bytes(format)?;
    encoded(values, format, projection, None)
}

/// Encodes a slice into a format of at most 16 bits.
///
/// ```
/// use smallfloat::Format;
/// let shp = Format::shp(15)?;
/// let (codes, _) = smallfloat_kernels::encode_u16(&[1.0_f32, -2.5], &shp, &shp.default_projection())?;
/// assert_eq!(codes, [0x3c00, 0xc100]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A wider format, or a stochastic rounding.
pub fn encode_u16(
    values: &[impl Element],
    format: &Format,
    projection: &Projection,
) -> Result<(Vec<u16>, EventCounts), Error> {
    encoded(values, format, projection, None)
}

/// Encodes a slice into a format of at most 8 bits with a stochastic rounding, whose i-th element
/// takes the generator's i-th word.
///
/// ```
/// use smallfloat::{Rounding, formats::E5M2, random::Philox};
/// let projection = E5M2.default_projection().with_rounding(Rounding::stochastic_a(16)?);
/// let seed = Philox::new(42);
/// let (codes, _) = smallfloat_kernels::encode_seeded(&[1.125_f32; 100], &E5M2, &projection, seed)?;
/// assert!(codes.contains(&0x3c) && codes.contains(&0x3d));
///
/// let nearest = E5M2.default_projection();
/// let error = smallfloat_kernels::encode_seeded(&[1.125_f32], &E5M2, &nearest, seed).unwrap_err();
/// assert!(error.to_string().contains("takes no random words"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A wider format, a rounding that is not stochastic, or more than 32 random bits.
pub fn encode_seeded(
    values: &[impl Element],
    format: &Format,
    projection: &Projection,
    generator: impl Into<Generator>,
) -> Result<(Vec<u8>, EventCounts), Error> {
    in_bytes(format)?;
    if !projection.rounding.is_stochastic() {
        return Err(Error::NotStochastic { mode: projection.rounding.name() });
    }
    let words = RandomWords { generator: generator.into(), first_element: 0 };
    encoded(values, format, projection, Some(words))
}

/// Like [`encode`], with the flags of each element.
///
/// ```
/// use smallfloat::{Flags, formats::E4M3FN};
/// let projection = E4M3FN.default_projection();
/// let (codes, flags, _) =
///     smallfloat_kernels::encode_with_flags(&[1.5_f32, 1.1, f32::NAN], &E4M3FN, &projection)?;
/// assert_eq!(codes, [0x3c, 0x39, 0x7f]);
/// assert_eq!(flags, [Flags::NONE, Flags::INEXACT, Flags::INVALID]);
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
///
/// # Errors
/// As [`encode`].
pub fn encode_with_flags<T: Element>(
    values: &[T],
    format: &Format,
    projection: &Projection,
) -> Result<(Vec<u8>, Vec<Flags>, EventCounts), Error> {
    in_bytes(format)?;
    if projection.rounding.is_stochastic() {
        return Err(Error::NoRandomWords { mode: projection.rounding.name() });
    }
    let encoder = Encoder::<T>::for_length(format, projection, values.len())?;
    let (mut codes, mut flags) = (zeros(values.len()), vec![Flags::NONE; values.len()]);
    let counts = encoder.encode_with_flags(values, &mut codes, &mut flags);
    Ok((codes, flags, counts))
}

/// Encodes a slice into typed scalars, by their format's default projection.
///
/// ```
/// use smallfloat::{CFloat8_1_4_3, E4M3Fn};
/// let x = smallfloat_kernels::encode_as::<E4M3Fn>(&[1.0_f32, 1.1, -0.3]);
/// assert_eq!(x.iter().sum::<E4M3Fn>().to_f32(), 1.75);
/// let y = smallfloat_kernels::encode_as::<CFloat8_1_4_3<7>>(&[1e9_f64]);
/// assert_eq!(y[0].to_f32(), 480.0);
/// ```
///
/// # Panics
/// Never: a typed scalar has a format of at most 16 bits, whose default rounding is deterministic.
pub fn encode_as<S: Scalar>(values: &[impl Element]) -> Vec<S> {
    let (scalars, _) = encode_as_with(values, &S::FORMAT.default_projection()).expect("a scalar's default");
    scalars
}

/// Encodes a slice into typed scalars, by a projection of the caller's.
///
/// ```
/// use smallfloat::{E4M3Fn, Rounding, SmallFloat};
/// let up = E4M3Fn::FORMAT.default_projection().with_rounding(Rounding::TowardPositive);
/// let (x, counts) = smallfloat_kernels::encode_as_with::<E4M3Fn>(&[1.01_f32, 1e-9], &up)?;
/// assert_eq!(x, [1.125, 0.001953125].map(E4M3Fn::from_f32));
/// assert_eq!(counts.zeros, 0);
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
///
/// # Errors
/// A stochastic rounding.
pub fn encode_as_with<S: Scalar>(
    values: &[impl Element],
    projection: &Projection,
) -> Result<(Vec<S>, EventCounts), Error> {
    encoded(values, &S::FORMAT, projection, None)
}

/// Decodes a slice of codes of a format.
///
/// ```
/// use smallfloat::formats::E4M3FN;
/// let x = smallfloat_kernels::decode::<f32>(&[0x38_u8, 0xaa], &E4M3FN)?;
/// assert_eq!(x, [1.0, -0.3125]);
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
///
/// # Errors
/// A format of more than 16 bits, or one with values that `T` can't hold exactly.
///
/// # Panics
/// If the codes are scalars of another format.
pub fn decode<T: Element>(codes: &[impl Code], format: &Format) -> Result<Vec<T>, Error> {
    let mut values = vec![T::default(); codes.len()];
    Decoder::new(format, None)?.decode(codes, &mut values);
    Ok(values)
}

/// Decodes a slice of typed scalars.
///
/// ```
/// use smallfloat::{Bf16, E4M3Fn};
/// let x = [1.5, -448.0].map(E4M3Fn::from_f32);
/// assert_eq!(smallfloat_kernels::decode_scalars::<f64>(&x)?, [1.5, -448.0]);
/// assert_eq!(smallfloat_kernels::decode_scalars::<Bf16>(&x)?, [1.5, -448.0].map(Bf16::from_f32));
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
///
/// # Errors
/// Values that `T` can't hold exactly: `f32` and `f64` hold all.
pub fn decode_scalars<T: Element>(scalars: &[impl Scalar]) -> Result<Vec<T>, Error> {
    fn format_of<S: Scalar>(_: &[S]) -> Format {
        <S as SmallFloat>::FORMAT
    }
    decode(scalars, &format_of(scalars))
}

/// Returns Σ xᵢ·yᵢ of typed scalars in another type, exact until it is rounded once.
///
/// ```
/// use smallfloat::{E4M3Fn, E5M2, F16};
/// let x = [1.5, -448.0, 448.0].map(E4M3Fn::from_f32);
/// let y = [2.0, 1024.0, 1024.0].map(E5M2::from_f32);
/// assert_eq!(smallfloat_kernels::dot::<f32>(&x, &y), 3.0);
/// assert_eq!(smallfloat_kernels::dot::<F16>(&x, &y), F16::from_f32(3.0));
/// ```
///
/// # Panics
/// If the slices differ in length.
pub fn dot<T: FromExact>(x: &[impl Scalar], y: &[impl Scalar]) -> T {
    fn of<X: Scalar, Y: Scalar, T: FromExact>(x: &[X], y: &[Y]) -> T {
        match Dot::between::<X, Y>(Accumulate::Exact) {
            Ok(dot) => T::rounded_from(dot.sum(x, y).0),
            // Codes of more than 8 bits.
            Err(_) => x.exact_dot(y),
        }
    }
    of(x, y)
}
