//! Keyword arguments → a projection and random words.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use smallfloat::random::Philox;
use smallfloat::{FlagPolicy, Format, Preset, Projection, RandomBits, Rounding, Saturation};
use smallfloat_kernels::{Ars5, Generator, RandomWords};
use smallfloat_tensor::stream_of_name;

use crate::integers::Stream;
use crate::value_error;

const GENERATORS: [&str; 2] = ["philox", "ars5"];

/// The rounding modes; the stochastic ones with these random bits.
fn modes(bits: RandomBits) -> impl Iterator<Item = Rounding> {
    let stochastic = [Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)];
    Rounding::DETERMINISTIC.iter().copied().chain(stochastic)
}

/// N random bits, to be filled element by element.
fn random_bits(count: u32) -> PyResult<RandomBits> {
    RandomBits::from_word32(count, 0).map_err(value_error)
}

/// One of named things, or an error that lists the names.
pub(crate) fn named<T>(
    what: &str,
    text: &str,
    all: impl Iterator<Item = T> + Clone,
    name: impl Fn(&T) -> &'static str,
) -> PyResult<T> {
    if let Some(found) = all.clone().find(|one| name(one) == text) {
        return Ok(found);
    }
    let names: Vec<_> = all.map(|one| format!("'{}'", name(&one))).collect();
    Err(PyValueError::new_err(format!("{what}='{text}' is not known: write one of {}", names.join(", "))))
}

/// A rounding mode by name.
pub(crate) fn rounding(text: &str, bits: u32) -> PyResult<Rounding> {
    let all: Vec<_> = modes(random_bits(bits)?).collect();
    named("rounding", text, all.into_iter(), |mode| mode.name())
}

/// What happens to values that a format does not have, from its preset, and the parts that replace
/// the preset's.
pub(crate) fn projection(
    format: &Format,
    preset: Option<&str>,
    rounding: Option<Rounding>,
    saturation: Option<&str>,
) -> PyResult<Projection> {
    let mut projection = match preset {
        None => format.default_projection(),
        Some(text) => named("preset", text, Preset::ALL.iter().copied(), |p| p.name())?.projection(format),
    };
    if let Some(rounding) = rounding {
        projection = projection.with_rounding(rounding);
    }
    if let Some(text) = saturation {
        projection =
            projection
                .with_saturation(named("saturation", text, Saturation::ALL.iter().copied(), |s| s.name())?);
    }
    Ok(projection)
}

/// Whose rules decide when flags are raised.
pub(crate) fn flags(text: &str) -> PyResult<FlagPolicy> {
    text.parse().map_err(value_error)
}

/// A stream: a number, or the name of a tensor.
fn stream(stream: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    let Some(stream) = stream else { return Ok(0) };
    if let Ok(name) = stream.cast::<PyString>() {
        return Ok(stream_of_name(&name.to_cow()?));
    }
    let Stream(number) = stream.extract()?;
    Ok(number)
}

/// Where the random words come from; `None` if the rounding needs none.
pub(crate) fn words(
    projection: Rounding,
    seed: Option<u64>,
    stream_argument: Option<&Bound<'_, PyAny>>,
    generator: &str,
    first_element: u64,
) -> PyResult<Option<RandomWords>> {
    let stream = stream(stream_argument)?;
    match (seed, projection.is_stochastic()) {
        (None, false) => {
            if generator == GENERATORS[0] {
                return Ok(None);
            }
            named("generator", generator, GENERATORS.into_iter(), |g| g).map(|_| None)
        }
        (Some(_), false) => Err(PyValueError::new_err(format!(
            "seed is for stochastic rounding, and this rounding is '{}': leave it out, or give rounding='stochastic-a'",
            projection.name()
        ))),
        (None, true) => Err(PyValueError::new_err(format!(
            "rounding='{}' needs a seed, an integer in 0..2**64: nothing is random by accident",
            projection.name()
        ))),
        (Some(seed), true) => {
            let generator = match named("generator", generator, GENERATORS.into_iter(), |g| g)? {
                "ars5" => Generator::Ars5(Ars5 { seed, stream }),
                _ => Generator::Philox(Philox { seed, stream }),
            };
            Ok(Some(RandomWords { generator, first_element }))
        }
    }
}

/// The names of the presets.
#[pyfunction]
pub(crate) fn presets() -> Vec<&'static str> {
    Preset::ALL.iter().copied().map(Preset::name).collect()
}

/// The names of the rounding modes.
#[pyfunction]
pub(crate) fn roundings() -> PyResult<Vec<&'static str>> {
    Ok(modes(random_bits(32)?).map(Rounding::name).collect())
}

/// The names of the saturation modes.
#[pyfunction]
pub(crate) fn saturations() -> Vec<&'static str> {
    Saturation::ALL.iter().copied().map(Saturation::name).collect()
}

/// The names of the policies for flags and NaN results.
#[pyfunction]
pub(crate) fn flag_policies() -> Vec<&'static str> {
    FlagPolicy::NAMED.iter().map(|&(name, _)| name).collect()
}

/// The names of the generators of random words.
#[pyfunction]
pub(crate) fn generators() -> Vec<&'static str> {
    GENERATORS.to_vec()
}
