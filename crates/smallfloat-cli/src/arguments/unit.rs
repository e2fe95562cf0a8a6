//! What is under test, as every command that tests hardware reads it.

use anyhow::{Context, Result, bail};
use smallfloat::ops::Integer;
use smallfloat::{Codebook, FormatSpec, RandomBits, Rounding};
use smallfloat_conformance::vectors::{Accumulate, BlockScales, FixedUnit, Ports, UnitUnderTest, VectorUnit};

use crate::arguments::flags::FlagArgs;
use crate::arguments::operands;
use crate::arguments::rounding::ProjectionArgs;

/// What is under test.
#[derive(clap::Args, Clone)]
pub(crate) struct UnitArgs {
    /// The operation: `convert`, a name with --format, or `Name<formats…, (rounding, saturation)>`
    #[arg(long, value_name = "OPERATION")]
    op: Option<String>,

    /// The source format of `convert`
    #[arg(long, value_name = "FORMAT", requires = "to")]
    from: Option<String>,

    /// The destination format of `convert`
    #[arg(long, value_name = "FORMAT", requires = "from")]
    to: Option<String>,

    /// The format of all operands and of the result of a named operation
    #[arg(long, value_name = "FORMAT", conflicts_with = "from", requires = "op")]
    format: Option<String>,

    #[command(flatten)]
    pub(crate) flags: FlagArgs,

    #[command(flatten)]
    pub(crate) projection: ProjectionArgs,
}

/// The products of a sum, and of one with block scales, if they are not said.
const LENGTH: usize = 32;
const SCALED_LENGTH: usize = 64;

/// What is under test by vectors, whose first columns may be ports.
#[derive(clap::Args, Clone)]
pub(crate) struct PortedUnitArgs {
    #[command(flatten)]
    pub(crate) unit: UnitArgs,

    /// Columns that hardware has as ports: bias, rounding, saturation, of each all values or those
    /// named, as in `bias=0-15/63,rounding=nearest-even/toward-zero`
    #[arg(long, value_name = "PORTS")]
    ports: Option<Ports>,

    /// How `dot` accumulates: f32, exact, a GPU's matrix unit (hopper, hopper:output=f16), its
    /// parameters (fused:k=32,fraction=13,output=e8m13) or a format
    #[arg(long, value_name = "NAME", requires = "format")]
    accumulate: Option<Accumulate>,

    /// How many products `dot` adds, 1 to 1024 [default: 32, with scales 64]
    #[arg(long, value_name = "N", requires = "accumulate")]
    length: Option<usize>,

    /// The format of the block scales that `dot` takes: e8m0fnu or e4m3fn, with blackwell or
    /// rtx-blackwell
    #[arg(long, value_name = "FORMAT", requires = "accumulate")]
    scales: Option<String>,

    /// How many elements share a scale [default: 16 with e4m3fn, else 32]
    #[arg(long, value_name = "N", requires = "scales")]
    block: Option<usize>,
}

impl PortedUnitArgs {
    /// The unit, if the arguments name one.
    pub(crate) fn unit(&self) -> Result<Option<VectorUnit>> {
        if let Some(unit) = self.fixed()? {
            return Ok(Some(unit.into()));
        }
        let Some(ports) = &self.ports else { return Ok(self.unit.unit()?.map(VectorUnit::from)) };
        let unit = match self.unit.unit_with_bias_port()? {
            Some((unit, true)) if ports.have_bias() => unit,
            Some(_) => self.unit.unit()?.expect("the same arguments name one"),
            None => bail!("--ports needs --op, or --from and --to; a file's header names its own ports"),
        };
        Ok(Some(unit.with_ports(ports).context("--ports")?.into()))
    }

    /// The unit that takes no policies, if the arguments name one: a conversion of a list, or a sum
    /// of products.
    fn fixed(&self) -> Result<Option<FixedUnit>> {
        let unit = match (&self.unit.from, &self.unit.to, &self.unit.op) {
            (Some(from), Some(to), _) if self.unit.is_convert() => {
                // By itself `int8` is the type of integers, whose conversions have policies.
                let is_list =
                    |name: &str| name.parse::<Codebook>().is_ok() && name.parse::<Integer>().is_err();
                if is_list(from) || is_list(to) { FixedUnit::convert(from, to) } else { None }
            }
            (None, None, Some(op)) if op.eq_ignore_ascii_case("dot") => {
                let (Some(format), Some(accumulate)) = (&self.unit.format, self.accumulate) else {
                    bail!(
                        "--op dot needs --format FORMAT and --accumulate NAME, such as hopper, f32 or exact"
                    );
                };
                let format = operands::format(format).context("--format")?;
                Some(match &self.scales {
                    None => FixedUnit::dot(self.length.unwrap_or(LENGTH), &format, &format, accumulate),
                    Some(scales) => {
                        let scales = BlockScales::new(&operands::format(scales).context("--scales")?);
                        let scales = BlockScales { block: self.block.unwrap_or(scales.block), ..scales };
                        let length = self.length.unwrap_or(SCALED_LENGTH);
                        FixedUnit::scaled_dot(length, &format, &format, accumulate, scales)
                    }
                })
            }
            _ if self.accumulate.is_some() => bail!("--accumulate is for --op dot"),
            (None, None, Some(op)) => {
                let unit = FixedUnit::named(op);
                if unit.is_some() && self.unit.format.is_some() {
                    bail!("--op: `{op}`: formats in <…> and --format; give one of them");
                }
                unit
            }
            _ => None,
        };
        let Some(unit) = unit.transpose()? else { return Ok(None) };
        let ProjectionArgs { preset, rounding, saturation, .. } = &self.unit.projection;
        let has_policy = preset.is_some() || rounding.is_some() || saturation.is_some();
        if has_policy || self.ports.is_some() || self.unit.flags.policy().is_some() {
            bail!(
                "{unit} is computed in one way: it takes no rounding, saturation, preset or ports, and of --flags \
                 idou, iouxz, all or none"
            );
        }
        Ok(Some(unit))
    }
}

impl UnitArgs {
    /// The unit with bias 0 where formats whose bias can be chosen name none, for commands for
    /// which the bias is an operand then; and whether that is so.
    pub(crate) fn unit_with_bias_port(&self) -> Result<Option<(UnitUnderTest, bool)>> {
        let mut args = self.clone();
        let mut is_open = false;
        for name in [&mut args.from, &mut args.to, &mut args.format].into_iter().flatten() {
            // What is wrong with a name is said where it is read.
            let Ok(spec) = name.parse::<FormatSpec>() else { continue };
            if spec.bias().is_none() && matches!(spec.or_default_bias().bias_range(), Some((0, _))) {
                *name = spec.with_bias(0)?.to_string();
                is_open = true;
            }
        }
        Ok(args.unit()?.map(|unit| (unit, is_open)))
    }

    /// Returns whether the operation is `convert`, which need not be said.
    fn is_convert(&self) -> bool {
        self.op.as_deref().is_none_or(|op| op.eq_ignore_ascii_case("convert"))
    }

    /// The unit, if the arguments name one.
    pub(crate) fn unit(&self) -> Result<Option<UnitUnderTest>> {
        let rounding = self.rounding()?;
        let (preset, saturation) = (self.projection.preset, self.projection.saturation);
        let is_convert = self.is_convert();
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            if !is_convert {
                bail!("--from and --to go with --op convert; other operations have their formats in <…>");
            }
            let integer = |name: &str| name.parse::<Integer>().ok();
            if integer(from).is_some() || integer(to).is_some() {
                let operation = self.flags.apply(operands::integers(from, to)?, "");
                let unit = UnitUnderTest::new(operation, None)?;
                return Ok(Some(unit.with_policy(preset, rounding, saturation)?));
            }
            let from = operands::format(from).context("--from")?;
            let to = operands::format(to).context("--to")?;
            let unit = UnitUnderTest::convert(&from, &to, preset, rounding, saturation)?;
            return Ok(Some(match self.flags.policy() {
                Some(policy) => unit.with_flag_policy(policy, true),
                None => unit,
            }));
        }
        let Some(op) = &self.op else {
            if preset.is_some() || rounding.is_some() || saturation.is_some() {
                bail!("a rounding, saturation or preset needs --op, or --from and --to");
            }
            return Ok(None);
        };
        if self.format.is_none() && is_convert {
            bail!("--op convert needs --from and --to");
        }
        let operation = operands::operation(op, self.format.as_deref());
        // What is wrong with --format has its name already.
        let operation =
            operation.map_err(|e| if e.to_string() == "--format" { e } else { e.context("--op") })?;
        let operation = self.flags.apply(operation, op);
        Ok(Some(UnitUnderTest::new(operation, None)?.with_policy(preset, rounding, saturation)?))
    }

    /// The rounding mode with its number of random bits.
    fn rounding(&self) -> Result<Option<Rounding>> {
        let Some(rounding) = self.projection.rounding else { return Ok(None) };
        let bits = RandomBits::new(self.projection.random_bits, 0).context("--random-bits")?;
        Ok(Some(rounding.with_random_bits(bits)))
    }
}
