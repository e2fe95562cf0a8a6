//! Options that several commands share: rounding, saturation, preset, random bits.

use anyhow::{Result, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use smallfloat::random::Philox;
use smallfloat::{Error, Format, Preset, Projection, RandomBits, Rounding, Saturation};

/// The seed where none is given.
pub(crate) const SEED: u64 = 0;

/// How values are rounded and what happens beyond the range.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Rounding")]
pub(crate) struct ProjectionArgs {
    /// The policy for overflow, infinities, NaN and negatives [default: the format's own]
    #[arg(long, value_name = "NAME", value_parser = preset(), ignore_case = true, hide_possible_values = false)]
    pub(crate) preset: Option<Preset>,

    /// The rounding mode [default: the preset's, to nearest even almost everywhere]
    #[arg(long, value_name = "MODE", value_parser = rounding(), ignore_case = true)]
    pub(crate) rounding: Option<Rounding>,

    /// What finite overflow gives [default: as the preset says]
    #[arg(long, value_name = "MODE", value_parser = saturation(), ignore_case = true)]
    pub(crate) saturation: Option<Saturation>,

    /// How many random bits stochastic rounding takes: up to 32 with --seed, up to 60 with given
    /// words
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) random_bits: u32,

    /// The key of the random words of stochastic rounding (Philox4x32-10, one word per value)
    /// [default: 0; `verify` has none]
    #[arg(long, value_name = "S", value_parser = integer)]
    pub(crate) seed: Option<u64>,
}

impl ProjectionArgs {
    pub(crate) fn preset_for(&self, format: &Format) -> Preset {
        self.preset.unwrap_or_else(|| Preset::default_for(format))
    }

    /// The projection into a format; a stochastic mode still lacks its random bits.
    pub(crate) fn projection(&self, format: &Format) -> Projection {
        let mut projection = self.preset_for(format).projection(format);
        if let Some(rounding) = self.rounding {
            projection = projection.with_rounding(rounding);
        }
        if let Some(saturation) = self.saturation {
            projection = projection.with_saturation(saturation);
        }
        projection
    }

    pub(crate) fn is_stochastic(&self) -> bool {
        self.rounding.is_some_and(Rounding::is_stochastic)
    }

    /// Refuses a seed where nothing is random.
    pub(crate) fn check_seed(&self) -> Result<()> {
        ensure!(
            self.seed.is_none() || self.is_stochastic(),
            "--seed is for stochastic rounding; add --rounding stochastic-a"
        );
        Ok(())
    }

    /// The random words that `--seed` names.
    pub(crate) fn generator(&self) -> Philox {
        Philox { seed: self.seed.unwrap_or(SEED), stream: 0 }
    }

    /// The random bits of one element from a generator.
    pub(crate) fn bits_of(&self, generator: Philox, element: u64) -> Result<RandomBits, Error> {
        RandomBits::from_word32(self.random_bits, generator.word(element))
    }
}

/// An unsigned integer, decimal or `0x…`.
pub(crate) fn integer(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "write an integer from 0 to 2^64 − 1, decimal or 0x…".into())
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.iter().copied().map(Preset::name))
        .try_map(|name| name.parse::<Preset>())
}

pub(crate) fn saturation() -> impl TypedValueParser<Value = Saturation> {
    PossibleValuesParser::new(Saturation::ALL.iter().copied().map(Saturation::name))
        .try_map(|name| name.parse::<Saturation>())
}

pub(crate) fn rounding() -> impl TypedValueParser<Value = Rounding> {
    PossibleValuesParser::new(rounding_modes().map(Rounding::name)).try_map(|name| {
        rounding_modes().find(|mode| mode.name().eq_ignore_ascii_case(&name)).ok_or("not a rounding mode")
    })
}

/// The modes that need no random bits.
pub(crate) fn deterministic() -> impl TypedValueParser<Value = Rounding> {
    PossibleValuesParser::new(Rounding::DETERMINISTIC.iter().copied().map(Rounding::name))
        .try_map(|name| name.parse::<Rounding>())
}

/// All nine modes, the stochastic ones with a bit to be replaced.
fn rounding_modes() -> impl Iterator<Item = Rounding> {
    let bits = RandomBits::new(1, 0).expect("one bit that is 0");
    let stochastic = [Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)];
    Rounding::DETERMINISTIC.iter().copied().chain(stochastic)
}
