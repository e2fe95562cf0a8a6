//! Configurations with names.

use std::fmt;
use std::str::FromStr;

use crate::config::Config;
use crate::error::{Error, Result};

macro_rules! presets {
    ($($name:literal: $about:literal,)*) => {
        /// The presets: a name, what it shows, and its text.
        pub const PRESETS: &[ConfigPreset] = &[
            $(ConfigPreset { name: $name, about: $about, text: include_str!(concat!("../../presets/", $name, ".toml")) },)*
        ];
    };
}

/// A configuration with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigPreset {
    /// The name.
    pub name: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    /// The configuration as TOML.
    pub text: &'static str,
}

presets! {
    "f32": "nothing rounded: what the others are measured against",
    "bf16": "operands of products in bfloat16",
    "cfloat8": "1_4_3 forward, 1_5_2 backward, biases by amax of the last 16 steps",
    "cfloat8-143": "1_4_3 everywhere, biases by amax of the last 16 steps",
    "gradients-shp": "1_4_3 forward, gradients in SHP, biases by amax of the last 16 steps",
    "flag-driven": "1_4_3 forward, 1_5_2 backward, biases learnt from overflow flags and unused binades alone",
    "gradient-learnt": "as flag-driven, with biases of the products' operands learnt by the loss's own gradient",
    "all-dojo": "as cfloat8, with weights and first moment in SHP and the root of the second in UHP",
    "fixed-7-15": "1_4_3 with bias 7 forward, 1_5_2 with bias 15 backward",
    "fixed-143-7": "1_4_3 with bias 7 everywhere",
    "weights-143-sr": "as cfloat8, with weights kept in 1_4_3 alone, rounded stochastically",
    "weights-143-rne": "as cfloat8, with weights kept in 1_4_3 alone, rounded to nearest",
    "five-bytes": "as weights-143-sr, with moments as in all-dojo: five bytes a parameter",
    "uhp-v": "as all-dojo, with the second moment itself in UHP",
    "ocp-e4m3-e5m2": "OCP E4M3 forward, E5M2 backward, power-of-two scales by amax of the last 16 steps",
    "mxfp8": "OCP MXFP8 in E4M3, blocks along the sums",
    "mxfp8-rceil": "as mxfp8, with the least scales at which nothing saturates",
    "mxfp4": "OCP MXFP4, blocks along the sums, gradients rounded stochastically",
    "mxfp4-rceil": "as mxfp4, with the least scales at which nothing saturates",
    "mxfp4-rne": "as mxfp4, all rounded to nearest",
    "nvfp4": "NVFP4, blocks along the sums, gradients rounded stochastically",
    "nvfp4-rne": "as nvfp4, all rounded to nearest",
    "p3109": "binary8p4se forward, binary8p3se backward, power-of-two scales by amax of the last 16 steps",
}

impl fmt::Display for ConfigPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl FromStr for ConfigPreset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| {
            let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            Error::config(format!("no preset `{name}`: there are {}", names.join(", ")))
        })
    }
}

/// Returns the configuration of a preset.
///
/// # Errors
/// A name that there is not; says which there are.
pub fn preset(name: &str) -> Result<Config> {
    name.parse::<ConfigPreset>()?.text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_presets_are_read_and_written() {
        for ConfigPreset { name, .. } in PRESETS {
            let config = preset(name).unwrap();
            assert_eq!(config.to_string().parse::<Config>().unwrap(), config, "{name}");
        }
        assert!(preset("cfloat9").unwrap_err().to_string().contains("cfloat8-143"));
    }
}
