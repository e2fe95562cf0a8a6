//! How `quantize` stores what it computes: scheme, granularity, scales, packing, container,
//! sharing.

use std::ffi::OsStr;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use smallfloat::{Family, Format, FormatSpec, formats};
use smallfloat_tensor::{
    Container, GlobalScale, Granularity, Options, Packing, ScaleRule, ScaleSpec, Scheme, Share,
};

/// Scales, blocks and containers.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Storing")]
pub(crate) struct SchemeArgs {
    /// A scheme by name, instead of a format: elements, scales, blocks and names of tensors
    /// together
    #[arg(long, value_name = "NAME", conflicts_with = "format", value_parser = SchemeParser, ignore_case = true)]
    scheme: Option<String>,

    /// What shares a bias or a scale: tensor, channel, block:N or block:RxC [default: tensor, or
    /// the scheme's]
    #[arg(long, value_name = "WHAT")]
    granularity: Option<String>,

    /// The format of the scales, for elements without a free bias [default: none, or the scheme's]
    #[arg(long, value_name = "FORMAT")]
    scale_format: Option<String>,

    /// How a scale follows from the largest magnitude [default: the scheme's, or the custom of the
    /// scale format]
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(ScaleRule::ALL.iter().map(|rule| rule.name())))]
    pub(super) scale_rule: Option<String>,

    /// The F32 number that divides NVFP4's block scales: a power of two not above 2688 / amax,
    /// which keeps all values exact, or 2688 / amax itself, as NVIDIA has it [default:
    /// power-of-two]
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(GlobalScale::ALL.iter().map(|rule| rule.name())))]
    global_scale: Option<String>,

    /// Which half of a byte has the first of two 4-bit codes [default: low]
    #[arg(long, value_name = "HALF", value_parser = ["low", "high"])]
    nibble_order: Option<String>,

    /// In what form CFloat8 codes are stored: as they are, as FP8 with F32 scales (vLLM reads them
    /// with one scale per tensor, transformers by channel or block), or as bfloat16 values
    #[arg(long, value_name = "KIND", default_value = "native", value_parser = ["native", "fp8", "bf16"])]
    container: String,

    /// With --container fp8: round groups again that FP8 can't hold exactly, instead of refusing
    /// them
    #[arg(long)]
    requantize: bool,

    /// Which tensors share one scale: auto (query, key, value; gate, up), none, or parts of names
    /// between commas; may be given several times [default: auto where the readers of the scheme
    /// need it, else none]
    #[arg(long, value_name = "SET")]
    share: Vec<String>,
}

/// Names of schemes; the name of a format is answered with the option for formats.
#[derive(Clone, Copy)]
struct SchemeParser;

fn schemes() -> PossibleValuesParser {
    PossibleValuesParser::new(Scheme::all().iter().map(|scheme| scheme.name))
}

impl TypedValueParser for SchemeParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        schemes().parse_ref(command, arg, value).map_err(|error| {
            let text = value.to_string_lossy();
            let what = match text.parse::<Scheme>() {
                _ if text.parse::<FormatSpec>().is_ok() => {
                    format!("`{text}` is a format, not a scheme: write --format {text}")
                }
                Err(unknown) if Scheme::variants(&text).next().is_some() => unknown.to_string(),
                _ => return error,
            };
            clap::Error::raw(ErrorKind::InvalidValue, what + "\n").with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = |scheme: &Scheme| PossibleValue::new(scheme.name).help(scheme.what);
        Some(Box::new(Scheme::all().iter().map(values)))
    }
}

impl SchemeArgs {
    /// What the result is called.
    pub(crate) fn name<'a>(&'a self, format: &'a str) -> &'a str {
        self.scheme.as_deref().unwrap_or(format)
    }

    /// The options that the scheme or the format gives.
    pub(crate) fn options(&self, format: &str) -> Result<Options> {
        let scheme = self.scheme.as_deref().unwrap_or(format).parse::<Scheme>().ok();
        let mut options = match scheme {
            Some(scheme) => scheme.options(),
            None => Options::new(format.parse::<FormatSpec>().context("--format")?),
        };
        if let Some(text) = &self.granularity {
            options.granularity = text.parse::<Granularity>().context("--granularity")?;
            if let Some(scheme) = scheme {
                scheme.check_granularity(options.granularity).context("--granularity")?;
            }
        }
        self.scales(&mut options, scheme.as_ref())?;
        self.packing(&mut options, scheme.as_ref())?;
        options.container = match &*self.container {
            "fp8" => Container::Fp8 { requantize: self.requantize },
            "bf16" => Container::Bf16,
            _ => Container::Native,
        };
        ensure!(!self.requantize || self.container == "fp8", "--requantize is for --container fp8");
        ensure!(
            scheme.is_none() || self.container != "fp8",
            "--container fp8 stores CFloat8 codes; the scheme {} has a form of its own",
            scheme.map_or("", |scheme| scheme.name)
        );
        options.share = self.share(&options)?;
        Ok(options)
    }

    fn scales(&self, options: &mut Options, scheme: Option<&Scheme>) -> Result<()> {
        if let Some(name) = &self.scale_format {
            if let Some(scheme) = scheme {
                let scales = scheme
                    .scale
                    .map_or_else(|| "no scales".to_owned(), |scale| format!("scales in {}", scale.format));
                bail!("--scale-format: the scheme {} has {scales}", scheme.name);
            }
            let format: Format = name.parse().context("--scale-format")?;
            options.scale = Some(ScaleSpec { format, rule: customary(&format), global: None });
        }
        if let Some(rule) = &self.global_scale {
            let rule: GlobalScale = rule.parse().context("--global-scale")?;
            match options.scale.as_mut().and_then(|scale| scale.global.as_mut()) {
                Some(global) => *global = rule,
                None => {
                    bail!("--global-scale {}: only NVFP4 has one; name --scheme nvfp4", rule.name())
                }
            }
        }
        let Some(rule) = &self.scale_rule else { return Ok(()) };
        let rule: ScaleRule = rule.parse().context("--scale-rule")?;
        let Some(scale) = &mut options.scale else {
            bail!("--scale-rule {rule}: there are no scales; name a --scheme or a --scale-format")
        };
        let of_floats =
            [ScaleRule::Amax, ScaleRule::MaxAbsFinite, ScaleRule::FourOverSix, ScaleRule::LeastError];
        let power_of_two = !of_floats.contains(&rule);
        ensure!(
            scale.global.is_none() || !power_of_two,
            "--scale-rule {rule}: the E4M3 scales of NVFP4 follow the rule amax, four-over-six or least-error"
        );
        scale.rule = rule;
        Ok(())
    }

    fn packing(&self, options: &mut Options, scheme: Option<&Scheme>) -> Result<()> {
        if scheme.is_none() && options.scale.is_some() {
            let element = options.format.format().context("--format")?;
            options.packing = match element.width() {
                4 => Packing::NibblesLow,
                6 => Packing::SixBit,
                _ => Packing::Bytes,
            };
        }
        let Some(order) = &self.nibble_order else { return Ok(()) };
        ensure!(
            options.packing == Packing::NibblesLow,
            "--nibble-order is for 4-bit elements with scales, such as --scheme mxfp4"
        );
        if order == "high" {
            let name = scheme.map_or("", |scheme| scheme.name);
            ensure!(
                options.layout.is_native(),
                "--nibble-order high: readers of {name} take the low half first"
            );
            options.packing = Packing::NibblesHigh;
        }
        Ok(())
    }

    fn share(&self, options: &Options) -> Result<Share> {
        let fused = !options.layout.is_native()
            || matches!(options.container, Container::Fp8 { .. })
            || options.scale.is_some_and(|scale| scale.global.is_some());
        if self.share.is_empty() {
            return Ok(if fused { Share::known() } else { Share::none() });
        }
        let mut share = Share::none();
        for set in &self.share {
            share = match &**set {
                "none" => {
                    ensure!(self.share.len() == 1, "--share none excludes others");
                    Share::none()
                }
                "auto" => share.with_known(),
                set => share.with_set(set).context("--share")?,
            };
        }
        Ok(share)
    }
}

/// The rule that goes with a scale format where none is named.
fn customary(format: &Format) -> ScaleRule {
    if *format == formats::E8M0FNU {
        ScaleRule::Floor
    } else if format.family() == Family::P3109 {
        ScaleRule::MaxAbsFinite
    } else {
        ScaleRule::Amax
    }
}
