//! [`Recipe`]: the [`Options`] that decide bytes and reports, as words in a plan.
//!
//! Everything is written as the command line and the containers spell it, so that a plan can be
//! read by people and a name keeps its meaning from one version of the program to the next.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallfloat::{FormatSpec, NegativeRule, RandomBits, Rounding};

use crate::error::{Error, Result, refuse};
use crate::layout::share::Share;
use crate::options::{Container, Negative, Nonfinite, Options};
use crate::scale::rule::ScaleSpec;
use crate::stored::calibration::Calibration;

/// [`Options`] in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    format: String,
    bias: String,
    /// A plan without activations reads as it always did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Activations>,
    granularity: String,
    scale: Option<Scale>,
    packing: String,
    layout: String,
    container: String,
    share: Vec<String>,
    rounding: Option<String>,
    random_bits: Option<u32>,
    seed: Option<u64>,
    saturation: Option<String>,
    preset: Option<String>,
    nonfinite: String,
    negative: String,
    histograms: bool,
}

/// The file of a calibration, which must stay what it was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Activations {
    path: PathBuf,
    sha256: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    format: String,
    rule: String,
    global: Option<String>,
}

const CONTAINERS: [(&str, Container); 4] = [
    ("native", Container::Native),
    ("fp8", Container::Fp8 { requantize: false }),
    ("fp8-requantize", Container::Fp8 { requantize: true }),
    ("bf16", Container::Bf16),
];
const NONFINITE: [(&str, Nonfinite); 2] = [("refuse", Nonfinite::Refuse), ("preset", Nonfinite::Preset)];
const NEGATIVE: [(&str, Negative); 4] = [
    ("refuse", Negative::Refuse),
    ("nan", Negative::Apply(NegativeRule::Nan)),
    ("zero", Negative::Apply(NegativeRule::Zero)),
    ("magnitude", Negative::Apply(NegativeRule::Magnitude)),
];

fn word<T: PartialEq>(table: &[(&str, T)], value: &T) -> String {
    table.iter().find(|(_, known)| known == value).map_or_else(String::new, |(word, _)| (*word).to_owned())
}

fn value<T: Copy>(what: &str, table: &[(&str, T)], word: &str) -> Result<T> {
    table.iter().find(|(known, _)| *known == word).map(|(_, value)| *value).ok_or_else(|| {
        let known = table.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        Error::option(format!("{what} `{word}` is not known: one of {known}"))
    })
}

impl Recipe {
    pub(crate) fn of(options: &Options) -> Self {
        let text = |name: &'static str| name.to_owned();
        Self {
            format: options.format.to_string(),
            bias: options.bias.to_string(),
            calibration: options.calibration.as_ref().map(|calibration| Activations {
                path: calibration.path().to_path_buf(),
                sha256: calibration.sha256().to_owned(),
            }),
            granularity: options.granularity.to_string(),
            scale: options.scale.map(|scale| Scale {
                format: scale.format.to_string(),
                rule: scale.rule.to_string(),
                global: scale.global.map(|global| text(global.name())),
            }),
            packing: text(options.packing.name()),
            layout: text(options.layout.name()),
            container: word(&CONTAINERS, &options.container),
            share: options.share.sets().collect(),
            rounding: options.rounding.map(|rounding| text(rounding.name())),
            random_bits: options.rounding.and_then(Rounding::random_bits).map(RandomBits::count),
            seed: options.seed,
            saturation: options.saturation.map(|saturation| text(saturation.name())),
            preset: options.preset.map(|preset| text(preset.name())),
            nonfinite: word(&NONFINITE, &options.nonfinite),
            negative: word(&NEGATIVE, &options.negative),
            histograms: options.histograms,
        }
    }

    /// The options again. Those that decide no bytes, [`verify`](Options::verify) and
    /// [`overwrite`](Options::overwrite), have their defaults.
    ///
    /// # Errors
    /// A word that is not known, and options that contradict each other.
    pub(crate) fn options(&self) -> Result<Options> {
        let scale = match &self.scale {
            Some(scale) => Some(ScaleSpec {
                format: scale.format.parse().map_err(refuse)?,
                rule: scale.rule.parse()?,
                global: scale.global.as_deref().map(str::parse).transpose()?,
            }),
            None => None,
        };
        let unknown = |what: &str, word: &str| refuse(format!("{what} `{word}` is not known"));
        let rounding = match &self.rounding {
            Some(name) => {
                Some(rounding(name, self.random_bits)?.ok_or_else(|| unknown("rounding mode", name))?)
            }
            None => None,
        };
        let share = self.share.iter().try_fold(Share::none(), |share, set| share.with_set(set))?;
        let calibration = match &self.calibration {
            Some(activations) => Some(Arc::new(activations.open()?)),
            None => None,
        };
        let options = Options {
            bias: self.bias.parse()?,
            calibration,
            granularity: self.granularity.parse()?,
            scale,
            packing: self.packing.parse()?,
            layout: self.layout.parse()?,
            container: value("container", &CONTAINERS, &self.container)?,
            share,
            rounding,
            saturation: parsed(self.saturation.as_deref())?,
            preset: parsed(self.preset.as_deref())?,
            seed: self.seed,
            nonfinite: value("the rule for non-finite values", &NONFINITE, &self.nonfinite)?,
            negative: value("the rule for negative values", &NEGATIVE, &self.negative)?,
            histograms: self.histograms,
            ..Options::new(self.format.parse::<FormatSpec>().map_err(refuse)?)
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

fn parsed<T: std::str::FromStr<Err = smallfloat::Error>>(word: Option<&str>) -> Result<Option<T>> {
    word.map(str::parse).transpose().map_err(refuse)
}

/// The rounding mode of a name, a stochastic one with so many random bits.
pub(crate) fn rounding(name: &str, random_bits: Option<u32>) -> Result<Option<Rounding>> {
    let bits = RandomBits::from_word32(random_bits.unwrap_or(1), 0).map_err(refuse)?;
    let stochastic = [Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)];
    Ok(Rounding::DETERMINISTIC.into_iter().chain(stochastic).find(|rounding| rounding.name() == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::scheme::Scheme;
    use crate::scale::bias::policy::BiasPolicy;
    use smallfloat::{Preset, Saturation};

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
        for (_, container) in CONTAINERS {
            survives(&Options { container, ..base.clone() });
        }
        for (_, negative) in NEGATIVE {
            survives(&Options { negative, ..base.clone() });
        }
        for rounding in Rounding::DETERMINISTIC {
            survives(&Options { rounding: Some(rounding), ..base.clone() });
        }
    }

    #[test]
    fn words_that_are_not_known() {
        let base = Recipe::of(&Options::new("e4m3fn".parse().unwrap()));
        let text = |s: &str| Some(s.to_owned());
        for (recipe, part) in [
            (Recipe { format: "e9m9".into(), ..base.clone() }, "e9m9"),
            (Recipe { packing: "loose".into(), ..base.clone() }, "packing `loose`"),
            (Recipe { layout: "gguf".into(), ..base.clone() }, "layout `gguf`"),
            (Recipe { container: "zip".into(), ..base.clone() }, "one of native, fp8"),
            (Recipe { rounding: text("up"), ..base.clone() }, "rounding mode `up`"),
            (Recipe { rounding: text("stochastic-a"), random_bits: Some(33), ..base.clone() }, "33"),
            (Recipe { rounding: text("stochastic-a"), random_bits: Some(8), ..base.clone() }, "needs a seed"),
            (Recipe { preset: text("none"), ..base.clone() }, "none"),
            (Recipe { bias: "some".into(), ..base.clone() }, "bias `some`"),
        ] {
            let message = recipe.options().unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
