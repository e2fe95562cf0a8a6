//! [`Recipe`]: the [`Options`] that decide bytes and reports, as words in a plan.
//!
//! Everything is written as the command line and the containers spell it, so that a plan can be
//! read by people and a name keeps its meaning from one version of the program to the next.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use smallfloat::{Codebook, Format, FormatSpec, Preset, RandomBits, Rounding, Saturation};

use crate::error::{Error, Result, refuse};
use crate::layout::container::rounding;
use crate::layout::grid::Granularity;
use crate::layout::packing::Packing;
use crate::layout::scheme::Layout;
use crate::layout::share::Share;
use crate::options::{Container, Negative, Nonfinite, Options};
use crate::scale::bias::policy::BiasPolicy;
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec};
use crate::stored::calibration::Calibration;

/// [`Options`] in words.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    #[serde(with = "text")]
    format: FormatSpec,
    /// Plans from before there were lists read as they always did.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_text")]
    codebook: Option<Codebook>,
    #[serde(with = "text")]
    bias: BiasPolicy,
    /// A plan without activations reads as it always did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Activations>,
    #[serde(with = "text")]
    granularity: Granularity,
    scale: Option<Scale>,
    #[serde(with = "text")]
    packing: Packing,
    #[serde(with = "text")]
    pub(crate) layout: Layout,
    #[serde(with = "text")]
    pub(crate) container: Container,
    share: Vec<String>,
    /// The name alone; the number of random bits stands beside it.
    rounding: Option<String>,
    random_bits: Option<u32>,
    pub(crate) seed: Option<u64>,
    #[serde(with = "optional_text")]
    saturation: Option<Saturation>,
    #[serde(with = "optional_text")]
    preset: Option<Preset>,
    #[serde(with = "text")]
    nonfinite: Nonfinite,
    #[serde(with = "text")]
    negative: Negative,
    histograms: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lossless: bool,
}

/// The file of a calibration, which must stay what it was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Activations {
    path: PathBuf,
    sha256: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    #[serde(with = "text")]
    format: Format,
    #[serde(with = "text")]
    rule: ScaleRule,
    #[serde(with = "optional_text")]
    global: Option<GlobalScale>,
}

/// Values as the text that `Display` writes and `FromStr` reads.
mod text {
    use super::{Deserialize, Deserializer, Display, FromStr, Serializer, de};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Values that may be missing as their text or null.
mod optional_text {
    use super::{Deserialize, Deserializer, Display, FromStr, Serialize, Serializer, de};

    #[expect(clippy::ref_option, reason = "what serde calls")]
    pub(super) fn serialize<T, S>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Display,
        S: Serializer,
    {
        value.as_ref().map(ToString::to_string).serialize(serializer)
    }

    pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let word = Option::<String>::deserialize(deserializer)?;
        word.map(|word| word.parse()).transpose().map_err(de::Error::custom)
    }
}

impl Recipe {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            format: options.format,
            codebook: options.codebook,
            bias: options.bias,
            calibration: options.calibration.as_ref().map(|calibration| Activations {
                path: calibration.path().to_path_buf(),
                sha256: calibration.sha256().to_owned(),
            }),
            granularity: options.granularity,
            scale: options.scale.map(|ScaleSpec { format, rule, global }| Scale { format, rule, global }),
            packing: options.packing,
            layout: options.layout,
            container: options.container,
            share: options.share.sets().collect(),
            rounding: options.rounding.map(|rounding| rounding.name().to_owned()),
            random_bits: options.rounding.and_then(Rounding::random_bits).map(RandomBits::count),
            seed: options.seed,
            saturation: options.saturation,
            preset: options.preset,
            nonfinite: options.nonfinite,
            negative: options.negative,
            histograms: options.histograms,
            lossless: options.lossless,
        }
    }

    /// The options again. Those that decide no bytes, [`verify`](Options::verify) and
    /// [`overwrite`](Options::overwrite), have their defaults.
    ///
    /// # Errors
    /// A rounding mode that is not known, activations that changed, and options that contradict
    /// each other.
    pub(crate) fn options(&self) -> Result<Options> {
        let rounding = self.rounding.as_deref().map(|name| {
            let unknown = || refuse(format!("rounding mode `{name}` is not known"));
            rounding(name, self.random_bits)?.ok_or_else(unknown)
        });
        let calibration = self.calibration.as_ref().map(Activations::open).transpose()?;
        let options = Options {
            codebook: self.codebook,
            bias: self.bias,
            calibration: calibration.map(Arc::new),
            granularity: self.granularity,
            scale: self.scale.map(|Scale { format, rule, global }| ScaleSpec { format, rule, global }),
            packing: self.packing,
            layout: self.layout,
            container: self.container,
            share: self.share.iter().try_fold(Share::none(), |share, set| share.with_set(set))?,
            rounding: rounding.transpose()?,
            saturation: self.saturation,
            preset: self.preset,
            seed: self.seed,
            nonfinite: self.nonfinite,
            negative: self.negative,
            histograms: self.histograms,
            lossless: self.lossless,
            ..Options::new(self.format)
        };
        options.check()?;
        Ok(options)
    }
}

impl Activations {
    fn open(&self) -> Result<Calibration> {
        let calibration = Calibration::open(&self.path)?;
        if calibration.sha256() == self.sha256 {
            return Ok(calibration);
        }
        let what = "has changed since the plan was made: make a new plan";
        Err(Error::refused(Some(&self.path), None, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::scheme::Scheme;

    /// What came back says the same in all its fields, and the same again in words.
    #[track_caller]
    fn survives(options: &Options) {
        let recipe = Recipe::of(options);
        let json = serde_json::to_string(&recipe).unwrap();
        let read: Recipe = serde_json::from_str(&json).unwrap();
        let plain = Options { verify: true, overwrite: false, ..options.clone() };
        assert_eq!(format!("{:?}", read.options().unwrap()), format!("{plain:?}"));
    }

    #[test]
    fn options_survive_their_words() {
        for scheme in Scheme::all() {
            survives(&scheme.options());
        }
        for format in [
            "cfloat8_1_4_3",
            "cfloat8_1_5_2:bias=9",
            "shp",
            "e4m3fn",
            "binary8p3se",
            "cfloat8_1_4_3:subnormals=gradual",
        ] {
            survives(&Options::new(format.parse().unwrap()));
        }
        let base = Options::new("cfloat8_1_4_3".parse().unwrap());
        let bits = RandomBits::from_word32(11, 0).unwrap();
        survives(&Options {
            bias: BiasPolicy::Percentile(99.9),
            granularity: "block:2x4".parse().unwrap(),
            share: Share::known().with_set("a,b").unwrap(),
            rounding: Some(Rounding::StochasticC(bits)),
            seed: Some(u64::MAX),
            saturation: Some(Saturation::SatPropagate),
            preset: Some(Preset::ALL[2]),
            nonfinite: Nonfinite::Preset,
            histograms: true,
            ..base.clone()
        });
        for container in Container::ALL {
            survives(&Options { container, ..base.clone() });
        }
        survives(&Options { lossless: true, ..base.clone() });
        for negative in Negative::ALL {
            survives(&Options { negative, ..base.clone() });
        }
        for &rounding in Rounding::DETERMINISTIC {
            survives(&Options { rounding: Some(rounding), ..base.clone() });
        }
    }

    #[test]
    fn words_that_are_not_known() {
        let whole = serde_json::to_value(Recipe::of(&Options::new("e4m3fn".parse().unwrap()))).unwrap();
        for (field, word, part) in [
            ("format", "e9m9", "e9m9"),
            ("packing", "loose", "packing `loose`"),
            ("layout", "gguf", "layout `gguf`"),
            ("container", "zip", "one of native, fp8"),
            ("rounding", "up", "rounding mode `up`"),
            ("rounding", "stochastic-a", "needs a seed"),
            ("preset", "none", "none"),
            ("bias", "some", "bias `some`"),
            ("negative", "drop", "negative values `drop`"),
        ] {
            let mut recipe = whole.clone();
            recipe[field] = word.into();
            let read = serde_json::from_value::<Recipe>(recipe).map_err(refuse);
            let message = read.and_then(|recipe| recipe.options()).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        let mut recipe = whole;
        (recipe["rounding"], recipe["random_bits"]) = ("stochastic-a".into(), 33.into());
        let recipe: Recipe = serde_json::from_value(recipe).unwrap();
        assert!(recipe.options().unwrap_err().to_string().contains("33"));
    }
}
