//! `smallfloat verify`: is a quantized file what it says, and what its source gives?

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use smallfloat::{FormatSpec, RandomBits};
use smallfloat_tensor::{
    Agreement, Certificate, Negative, QuantizedAs, SIDE_FILE_BYTES, Verified, check_certificate,
    read_limited, verify_against, verify_with,
};

use crate::arguments::files::Input;
use crate::arguments::quantize::{NEGATIVE, ThreadArgs, negative};
use crate::arguments::rounding::ProjectionArgs;
use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat verify model.cf8.safetensors
  smallfloat verify model.cf8.safetensors --source model.safetensors
  smallfloat verify checkpoint-cf8/ --source checkpoint/ --json
  smallfloat verify checkpoint-fp8/ --source checkpoint/ --rounding toward-zero
  smallfloat verify comfy/ --certificate certificate.json --source checkpoint-fp8/

The exit status is 1 at the first fault: a broken structure, a missing or illegal bias, codes
beyond the format, codes that are not those of the digest, or anything else about the tensors
(names, shapes, biases, scales, copies) that is not as the file's record says; of a folder also
a name in two files or one that is not where the index says. Codes that are legal but that no
encoder writes are warnings, and files from before there were records have none.

With --source each code must be the one that the source's number gives at the bias or scale
that the file has, rounded once, and copied tensors the same bytes; the exit status is 1 if
anything is not, and every tensor of which that is true is told with its first element.
Native files say how they were rounded, with the seed. What no file says, --preset,
--saturation and --negative, and for files in the layouts of other programs also --rounding
and --seed, is given here as it was to `quantize`; without its seed a stochastic rounding may
have taken either neighbour. --format is for --container fp8: the format whose values the FP8
codes stand for. BF16 values (--container bf16) are no codes: see `smallfloat compare`.";

/// Check a quantized file: structure, digests, codes, the source.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The quantized file or checkpoint folder; `-` is standard input
    file: PathBuf,

    /// The file or folder that it was made from: hold every code against it
    #[arg(long, value_name = "SRC")]
    source: Option<PathBuf>,

    /// A certificate that `quantize --certificate` wrote: check the digests of all values, and with
    /// --source everything it says, instead of the codes
    #[arg(long, value_name = "FILE.json")]
    certificate: Option<PathBuf>,

    /// The format whose values are stored as FP8 codes (--container fp8)
    #[arg(long, value_name = "FORMAT", requires = "source")]
    format: Option<FormatSpec>,

    /// What was said of negative values in an unsigned format
    #[arg(long, value_name = "RULE", value_parser = NEGATIVE, requires = "source")]
    negative: Option<String>,

    #[command(flatten)]
    threads: ThreadArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    projection: ProjectionArgs,
}

impl Args {
    fn declared(&self) -> Result<QuantizedAs> {
        let projection = &self.projection;
        let any = projection.preset.is_some()
            || projection.rounding.is_some()
            || projection.saturation.is_some()
            || projection.seed.is_some();
        ensure!(
            self.source.is_some() || !any,
            "--preset, --rounding, --saturation and --seed say how the source was rounded; name it with --source"
        );
        let bits = RandomBits::from_word32(projection.random_bits, 0).context("--random-bits")?;
        Ok(QuantizedAs {
            format: self.format,
            rounding: projection.rounding.map(|rounding| rounding.with_random_bits(bits)),
            seed: projection.seed,
            preset: projection.preset,
            saturation: projection.saturation,
            negative: self.negative.as_deref().map_or(Negative::Refuse, negative),
        })
    }
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let declared = args.declared()?;
    args.threads.take()?;
    let input = Input::open(&args.file)?;
    if let Some(path) = &args.certificate {
        return certificate(args, path, &input, out);
    }
    let verified = {
        let bar = Bar::new();
        input.named(verify_with(input.path(), &mut |progress| bar.update(progress)))?
    };
    let agreement = match &args.source {
        None => None,
        Some(source) => {
            let (source, bar) = (Input::open(source)?, Bar::new());
            let mut progress = |progress: smallfloat_tensor::Progress<'_>| bar.update(progress);
            let found = verify_against(input.path(), source.path(), &declared, &mut progress);
            // Only one of the two can be standard input.
            Some(if args.file == Path::new("-") { input.named(found)? } else { source.named(found)? })
        }
    };
    if args.json {
        let mut object = json!({
            "tensors": verified.tensors,
            "codes": verified.codes,
            "digests": verified.digests,
            "scales": verified.scales,
            "copied": verified.copied,
            "files": verified.files,
            "records": verified.records,
            "without_record": verified.without_record,
            "warnings": verified.warnings,
        });
        if let Some(agreement) = &agreement {
            object["source"] = serde_json::to_value(agreement)?;
        }
        serde_json::to_writer_pretty(&mut *out, &object)?;
        writeln!(out)?;
    } else {
        tell(args, &verified, agreement.as_ref(), out)?;
    }
    let Some(found) = agreement.filter(|agreement| !agreement.disagreements.is_empty()) else {
        return Ok(());
    };
    let (wrong, source) = (&found.disagreements, args.source.as_deref().unwrap_or(&args.file));
    let tensors = words::plural(wrong.len() as u64, "tensor");
    let what = match found.wrong_codes {
        0 => format!("other names, shapes or scales in {tensors}"),
        codes => format!("{} in {tensors}", words::plural(codes, "wrong code")),
    };
    bail!(
        "`{}` is not what `{}` gives: {what}, the first of which is `{}`",
        args.file.display(),
        source.display(),
        words::tensor_name(&wrong[0].tensor, 60),
    )
}

/// Checks a certificate.
fn certificate(args: &Args, path: &Path, input: &Input, out: &mut Output) -> Result<()> {
    let text = read_limited(path, SIDE_FILE_BYTES)?;
    let said: Certificate =
        serde_json::from_slice(&text).with_context(|| format!("`{}` is no certificate", path.display()))?;
    let source = args.source.as_deref().map(Input::open).transpose()?;
    let bar = Bar::new();
    let mut progress = |progress: smallfloat_tensor::Progress<'_>| bar.update(progress);
    let checked = check_certificate(&said, input.path(), source.as_ref().map(Input::path), &mut progress);
    let tensors = input.named(checked)?;
    drop(bar);
    if args.json {
        let object = json!({
            "tensors": tensors, "exact": said.exact, "rounded": said.rounded, "source": args.source.is_some(),
        });
        serde_json::to_writer_pretty(&mut *out, &object)?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(out, "{}: {}", args.file.display(), out.bold("as its certificate says"))?;
    writeln!(
        out,
        "  values     of {} have the digests of {}",
        words::plural(tensors, "tensor"),
        path.display()
    )?;
    let (exact, rounded) = (words::plural(said.exact, "tensor"), words::plural(said.rounded, "value"));
    match &args.source {
        Some(source) => {
            writeln!(
                out,
                "  source     {exact} exact, {rounded} rounded: checked against {}",
                source.display()
            )?;
        }
        None => {
            writeln!(out, "  source     not checked (--source): {exact} exact, {rounded} rounded, it says")?;
        }
    }
    Ok(())
}

/// Says what was found to be right, and then what was not.
fn tell(args: &Args, verified: &Verified, agreement: Option<&Agreement>, out: &mut Output) -> Result<()> {
    /// Longer lists are cut.
    const MOST: usize = 20;
    for warning in &verified.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    let (tensors, codes) = (words::plural(verified.tensors, "tensor"), words::plural(verified.codes, "code"));
    let wrong = agreement.map_or(&[][..], |agreement| &agreement.disagreements);
    let verdict = if wrong.is_empty() { "verified" } else { "not what its source gives" };
    writeln!(out, "{}: {}", args.file.display(), out.bold(verdict))?;
    writeln!(
        out,
        "  structure  {tensors} quantized, {} copied, each bias legal",
        words::count(verified.copied)
    )?;
    if verified.digests > 0 || verified.tensors == 0 {
        let digests = words::plural(verified.digests, "tensor");
        writeln!(out, "  digests    {digests}, SHA-256 as the metadata says")?;
    } else {
        writeln!(out, "  digests    none: the file is in a layout that has none")?;
    }
    if verified.records > 0 {
        let whole = "names, shapes, and data of all tensors are as they were written";
        let of = if verified.files > 1 { format!(" in {} files", verified.records) } else { String::new() };
        writeln!(out, "  record     {whole}{of}")?;
    }
    if verified.without_record > 0 {
        let files = words::plural(verified.without_record, "native file");
        writeln!(out, "  no record  {files}: of names, biases and copies the structure alone was checked")?;
    }
    writeln!(out, "  codes      {codes}, each one of its format")?;
    if verified.scales > 0 {
        writeln!(
            out,
            "  scales     {}, as many as the shapes ask for",
            words::plural(verified.scales, "scale")
        )?;
    }
    let (Some(agreement), Some(source)) = (agreement, &args.source) else { return Ok(()) };
    let elements = words::count(agreement.elements - agreement.wrong_codes.min(agreement.elements));
    let of =
        if wrong.is_empty() { String::new() } else { format!(" of {}", words::count(agreement.elements)) };
    writeln!(out, "  source     {elements}{of} codes are those that {} gives", source.display())?;
    for found in wrong.iter().take(MOST) {
        let (name, count) = (words::tensor_name(&found.tensor, 60), words::plural(found.count, "wrong code"));
        let count = if found.kind == "code" { format!("{count}: ") } else { String::new() };
        writeln!(out, "  tensor `{name}`: {count}{}", found.what)?;
    }
    if wrong.len() > MOST {
        writeln!(
            out,
            "  and {} (--json has all)",
            words::plural((wrong.len() - MOST) as u64, "more tensor")
        )?;
    }
    Ok(())
}
