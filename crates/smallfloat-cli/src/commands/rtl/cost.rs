//! `smallfloat rtl cost`: gates of units, counted by Yosys.

use std::io::Write;

use anyhow::{Context, Result};
use serde_json::json;
use smallfloat::{Flags, FormatSpec, RandomBits};
use smallfloat_conformance::vectors::UnitUnderTest;
use smallfloat_rtl::cost::{cost, yosys_version};
use smallfloat_rtl::{Cost, Specification, generate};

use crate::arguments::operands;
use crate::arguments::rounding::ProjectionArgs;
use crate::render::output::{Output, table};

const AFTER_HELP: &str = "\
Examples:
  smallfloat rtl cost e4m3fn e5m2 cfloat8_1_4_3:bias=7
  smallfloat rtl cost e4m3fn --op convert --from bfloat16 --rounding stochastic-a --random-bits 8
  smallfloat rtl cost cfloat8_1_4_3 cfloat8_1_4_3:bias=7,subnormals=gradual --json

Units are those of `smallfloat rtl gen`, without flags unless --flags asks for them, mapped to
NAND, NOR, NOT, AOI and OAI gates (`synth; abc -g cmos4`). The bias of a format of Tesla's
without one is a port. Cells are these gates, transistors
what they take in static CMOS, depth the gates on the longest path. These are figures to compare
units with, before any technology: no timing was asked for, and a synthesizer's choices move
them by a few per cent.";

/// Count the gates of converters, multipliers and adders of formats.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The formats
    #[arg(value_name = "FORMAT", required = true)]
    formats: Vec<String>,

    /// The operations: convert (from --from), decode (to --from), multiply, add [default: all]
    #[arg(long, value_name = "OPERATION", num_args = 1..)]
    op: Vec<Kind>,

    /// The wide format of convert and decode
    #[arg(long, value_name = "FORMAT", default_value = "binary32")]
    from: String,

    /// With the flags of the formats' default policy
    #[arg(long)]
    flags: bool,

    #[command(flatten)]
    projection: ProjectionArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a unit does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Kind {
    Convert,
    Decode,
    Multiply,
    Add,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Convert, Self::Decode, Self::Multiply, Self::Add];

    fn name(self) -> &'static str {
        match self {
            Self::Convert => "convert",
            Self::Decode => "decode",
            Self::Multiply => "multiply",
            Self::Add => "add",
        }
    }
}

/// The cost of one unit.
fn count(args: &Args, name: &str, kind: Kind) -> Result<Cost> {
    let spec: FormatSpec = name.parse()?;
    let format = spec.or_default_bias();
    let has_bias_port = spec.bias().is_none() && format.has_free_bias();
    let wide = operands::format(&args.from)?;
    let bits = RandomBits::new(args.projection.random_bits, 0).context("--random-bits")?;
    let rounding = args.projection.rounding.map(|rounding| rounding.with_random_bits(bits));
    let (preset, saturation) = (args.projection.preset, args.projection.saturation);
    let unit = match kind {
        Kind::Convert => UnitUnderTest::convert(&wide, &format, preset, rounding, saturation)?,
        // Exact, so that no rounding is asked for.
        Kind::Decode => UnitUnderTest::convert(&format, &wide, None, None, None)?,
        Kind::Multiply | Kind::Add => {
            let operation = operands::operation(
                if kind == Kind::Add { "Add" } else { "Multiply" },
                Some(&format.to_string()),
            )?;
            UnitUnderTest::new(operation, None)?.with_policy(preset, rounding, saturation)?
        }
    };
    let mut specification = Specification::new(unit)?;
    if !args.flags {
        specification = specification.with_flags(Flags::NONE);
    }
    if has_bias_port {
        specification = specification.with_bias_port()?;
    }
    Ok(cost(&generate(&specification, "unit")?.module, "unit")?)
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let kinds = if args.op.is_empty() { Kind::ALL.to_vec() } else { args.op.clone() };
    let mut rows = Vec::new();
    for name in &args.formats {
        for &kind in &kinds {
            rows.push((name, kind, count(args, name, kind)?));
        }
    }
    let yosys = yosys_version()?;
    if args.json {
        let units: Vec<_> = rows
            .iter()
            .map(|(name, kind, cost)| {
                json!({"format": name, "operation": kind.name(), "cells": cost.cells, "transistors": cost.transistors, "depth": cost.depth})
            })
            .collect();
        let answer = json!({"tool": yosys, "wide": args.from, "flags": args.flags, "units": units});
        writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
        return Ok(());
    }
    let mut lines = table(&["format", "operation", "cells", "transistors", "depth"], &[2, 3, 4]);
    for (name, kind, cost) in rows {
        lines.add_row([
            name.clone(),
            kind.name().into(),
            cost.cells.to_string(),
            cost.transistors.to_string(),
            cost.depth.to_string(),
        ]);
    }
    out.rows(&lines)?;
    writeln!(out, "\n{yosys}; convert is from {} and decode to it", args.from)?;
    Ok(())
}
