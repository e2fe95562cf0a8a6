//! Names of [`Fused`] and of [`MatrixUnit`], which `Display` writes and `FromStr` reads.

use std::fmt;
use std::str::FromStr;

use smallfloat::{Rounding, Snippet};

use super::unit::{Gpu, MatrixUnit};
use super::{Fused, GroupSum, Output};
use crate::error::Error;

const PREFIX: &str = "fused:";

impl fmt::Display for Fused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}k={}", self.k)?;
        let (sum, fraction_bits) = match self.sum {
            GroupSum::Aligned { fraction_bits } => ("aligned", Some(fraction_bits)),
            GroupSum::Down { fraction_bits } => ("down", Some(fraction_bits)),
            GroupSum::DownInHalves { fraction_bits } => ("down-in-halves", Some(fraction_bits)),
            GroupSum::Pairwise => ("pairwise", None),
            GroupSum::Sequential => ("sequential", None),
        };
        if sum != "aligned" {
            write!(f, ",sum={sum}")?;
        }
        if let Some(bits) = fraction_bits {
            write!(f, ",fraction={bits},output={}", self.output.name())?;
            if self.rounding != Self::aligned(1, 1, self.output).rounding {
                write!(f, ",rounding={}", self.rounding.name())?;
            }
        }
        if self.flush {
            f.write_str(",flush")?;
        }
        match self.promote {
            Some(promote) => write!(f, ",promote={promote}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Fused {
    type Err = Error;

    /// Reads [`Fused`]'s text; `k`, and where sums are aligned `fraction`, must be given.
    fn from_str(text: &str) -> Result<Self, Error> {
        let fields = text.strip_prefix(PREFIX).ok_or_else(|| unknown(text))?;
        let (mut k, mut fraction, mut sum, mut output, mut rounding) = (None, None, None, None, None);
        let (mut flush, mut promote) = (false, None);
        for field in fields.split(',') {
            match field.split_once('=').unwrap_or((field, "")) {
                ("k", value) if k.is_none() => k = Some(number(value)?),
                ("fraction", value) if fraction.is_none() => fraction = Some(number(value)?),
                ("sum", value) if sum.is_none() => sum = Some(value),
                ("output", value) if output.is_none() => output = Some(output_of(value)?),
                ("rounding", value) if rounding.is_none() => {
                    let mode: Option<Rounding> = value.parse().ok();
                    rounding = Some(mode.ok_or(Error::Fused("rounding is toward-zero or nearest-even"))?);
                }
                ("promote", value) if promote.is_none() => promote = Some(number(value)?),
                ("flush", "") if !flush => flush = true,
                _ => {
                    let what =
                        "the parameters are k, sum, fraction, output, rounding, flush and promote, each once";
                    return Err(Error::Fused(what));
                }
            }
        }
        let k = k.ok_or(Error::Fused("k, the products of a group, must be given: fused:k=32,…"))?;
        let bits = || {
            let bits = fraction.ok_or(Error::Fused("the fraction bits must be given: fraction=13"))?;
            u32::try_from(bits).map_err(|_| Error::Fused("the fraction bits must be 1 to 40"))
        };
        let sum = match sum.unwrap_or("aligned") {
            "aligned" => GroupSum::Aligned { fraction_bits: bits()? },
            "down" => GroupSum::Down { fraction_bits: bits()? },
            "down-in-halves" => GroupSum::DownInHalves { fraction_bits: bits()? },
            "pairwise" | "sequential" if fraction.is_some() => {
                return Err(Error::Fused("trees and chains have no fraction bits: they round in binary32"));
            }
            "pairwise" => GroupSum::Pairwise,
            "sequential" => GroupSum::Sequential,
            _ => {
                return Err(Error::Fused("sum is aligned, down, down-in-halves, pairwise or sequential"));
            }
        };
        let output = output.unwrap_or(Output::Binary32);
        let default = match sum {
            GroupSum::Pairwise | GroupSum::Sequential => Rounding::NearestEven,
            _ => Self::aligned(1, 1, output).rounding,
        };
        let fused = Self { k, sum, output, rounding: rounding.unwrap_or(default), flush, promote };
        fused.check()?;
        Ok(fused)
    }
}

/// The error of a name that no accumulator has.
fn unknown(name: &str) -> Error {
    let names = ["f32", "exact"].into_iter().chain(Gpu::ALL.iter().map(|gpu| gpu.name()));
    let suggestion = smallfloat::__closest(name, names.map(|name| (name, name)));
    Error::Accumulate { name: Snippet::new(name), suggestion }
}

fn number(text: &str) -> Result<usize, Error> {
    text.parse().map_err(|_| Error::Fused("k, fraction and promote are whole numbers"))
}

fn output_of(text: &str) -> Result<Output, Error> {
    let found = Output::ALL.iter().find(|output| output.name() == text);
    found.copied().ok_or(Error::Fused("output is f32, e8m13 or f16"))
}

impl fmt::Display for MatrixUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.gpu.name())?;
        let mut separator = ':';
        if self.half {
            f.write_str(":output=f16")?;
            separator = ',';
        }
        match self.promote {
            Some(promote) => write!(f, "{separator}promote={promote}"),
            None => Ok(()),
        }
    }
}

impl FromStr for MatrixUnit {
    type Err = Error;

    /// Reads `hopper`, `hopper:output=f16`, `hopper:promote=128`, …, without regard to case.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, fields) = text.split_once(':').map_or((text, None), |(name, fields)| (name, Some(fields)));
        let gpu = Gpu::ALL.iter().find(|gpu| gpu.name().eq_ignore_ascii_case(name));
        let mut unit = Self::new(*gpu.ok_or_else(|| unknown(name))?);
        for field in fields.into_iter().flat_map(|fields| fields.split(',')) {
            match field.split_once('=').unwrap_or((field, "")) {
                ("output", "f16") => unit.half = true,
                ("output", "f32") => unit.half = false,
                ("promote", value) => unit.promote = Some(number(value)?),
                _ => return Err(Error::Fused("a matrix unit has the parameters output=f16 and promote=128")),
            }
        }
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for text in [
            "fused:k=32,fraction=13,output=e8m13",
            "fused:k=16,fraction=25,output=f32,promote=128",
            "fused:k=8,fraction=24,output=f16",
            "fused:k=8,sum=down,fraction=24,output=f32,rounding=nearest-even",
            "fused:k=16,sum=down-in-halves,fraction=24,output=f32,rounding=nearest-even",
            "fused:k=4,sum=pairwise,flush",
            "fused:k=1,sum=sequential,promote=128",
        ] {
            assert_eq!(text.parse::<Fused>().unwrap().to_string(), text);
        }
        for text in ["volta", "hopper:output=f16", "rtx-blackwell:promote=64", "ada:output=f16,promote=128"] {
            assert_eq!(text.parse::<MatrixUnit>().unwrap().to_string(), text);
        }
        assert_eq!("CDNA3".parse::<MatrixUnit>().unwrap(), MatrixUnit::new(Gpu::Cdna3));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| text.parse::<Fused>().unwrap_err().to_string();
        for (text, part) in [
            ("fused:fraction=13", "k, the products"),
            ("fused:k=0,fraction=13", "1 to 256"),
            ("fused:k=32", "fraction=13"),
            ("fused:k=32,fraction=41", "1 to 40"),
            ("fused:k=32,fraction=34,sum=down", "1 to 33"),
            ("fused:k=32,fraction=13,output=f8", "output is f32, e8m13 or f16"),
            ("fused:k=32,fraction=13,rounding=to-odd", "toward-zero or nearest-even"),
            ("fused:k=32,fraction=13,promote=100", "multiple of k"),
            ("fused:k=32,fraction=13,k=3", "each once"),
            ("fused:k=3,sum=pairwise", "power of two"),
            ("fused:k=4,sum=pairwise,fraction=3", "no fraction bits"),
            ("fused:k=4,sum=pairwise,output=f16", "round to nearest even in binary32"),
            ("fused:k=4,fraction=3,flush", "only trees flush"),
            ("fused:k=x", "whole numbers"),
            ("fuse", "volta, turing"),
        ] {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
        let error = |text: &str| text.parse::<MatrixUnit>().unwrap_err().to_string();
        assert!(error("pascal").contains("rtx-blackwell, cdna1"), "{}", error("pascal"));
        assert!(error("hopper:k=3").contains("output=f16 and promote=128"));
    }
}
