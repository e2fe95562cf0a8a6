//! `smallfloat doctor`: does a file keep the convention that its names promise?

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use smallfloat_tensor::{FINDING_KINDS, FileFinding, Progress, Sure, View, examine, open_checkpoint};

use crate::arguments::files::{Input, STDIN};
use crate::render::output::{Message, Output, message};
use crate::render::progress::Bar;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat doctor model.safetensors
  smallfloat doctor checkpoint-nvfp4/ --source checkpoint/
  smallfloat doctor model.gguf --json

Readers of checkpoints go by names and shapes; a file that breaks their convention loads
without a word and is wrong. This finds, from the file alone: an F32 number of a tensor that
is inverted, missing or named as in another convention; exponents (E8M0) stored as numbers;
transposed scales; codes stored as numbers, or without scales; blocks of another length;
elements divided by a scale that was rounded afterwards; NaN among codes and scales; an
index, a config.json or shards that contradict the tensors. With --source also codes in
another order (swapped halves of bytes or blocks), scales of other blocks, another shape,
and numbers that are lost: too small for the format at their scale, or NaN in the file alone.

Of each tensor at most 1,048,576 elements are looked at. The exit status is 1 if anything is
found.";

/// Look for a wrong convention in quantized files.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Files or checkpoint folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What they were made from
    #[arg(long, value_name = "SRC")]
    source: Option<PathBuf>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The command that writes a file, or the folder that it was found in, anew.
    fn mend(&self, finding: &FileFinding) -> String {
        let given = self.files.iter().find(|path| finding.file.starts_with(path));
        // Standard input has no name that the command could write or read again.
        let output = match given.unwrap_or(&finding.file) {
            file if file == Path::new(STDIN) => "OUTPUT".to_owned(),
            file => shell_word(file),
        };
        let source = self.source.as_deref().filter(|source| *source != Path::new("-"));
        let source = source.map_or_else(|| "SOURCE".to_owned(), shell_word);
        let scheme = finding.scheme.unwrap_or("SCHEME");
        format!("smallfloat quantize {source} -o {output} --overwrite --scheme {scheme}")
    }
}

/// The file and the tensor of a finding, in one line whatever their names are.
fn place(finding: &FileFinding) -> String {
    let file = finding.file.display().to_string();
    let file = words::tensor_name(&file, 1000);
    match &finding.tensor {
        Some(name) => format!("{file} `{}`", words::tensor_name(name, 60)),
        None => file,
    }
}

/// A path as a word of a shell, in quotes where it has more than letters, digits and `-._/`.
fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Tells of quantized tensors that the source has not, with which nothing is compared.
fn note_tensors_beyond(files: &[&Path], source: &Path) {
    let Ok(sources) = open_checkpoint(source) else { return };
    // What can't be opened is a finding.
    let views: Vec<_> = files.iter().filter_map(|file| open_checkpoint(file).ok()).flatten().collect();
    let tensors = views.iter().flat_map(View::tensors).filter(|tensor| tensor.format().is_some());
    let has = |name: &str| sources.iter().any(|source| source.tensor(name).is_some());
    let beyond: Vec<_> = tensors.map(|tensor| &*tensor.info.name).filter(|name| !has(name)).collect();
    let Some(first) = beyond.first() else { return };
    let more = if beyond.len() > 1 { format!(" and {} more", beyond.len() - 1) } else { String::new() };
    let first = words::tensor_name(first, 60);
    message(Message::Note, &format!("not in the source, so compared with nothing: `{first}`{more}"));
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let inputs = args.files.iter().map(|file| Input::open(file)).collect::<Result<Vec<_>>>()?;
    let source = args.source.as_deref().map(Input::open).transpose()?;
    let files: Vec<_> = inputs.iter().map(Input::path).collect();
    let mut findings = {
        let bar = Bar::new();
        let mut update = |progress: Progress<'_>| bar.update(progress);
        let found = examine(&files, source.as_ref().map(Input::path), &mut update);
        // Only one of them can be standard input.
        let stream = inputs.iter().chain(&source).find(|input| matches!(input, Input::Stream(_)));
        stream.unwrap_or(&inputs[0]).named(found)?
    };
    for finding in &mut findings {
        let shown = inputs.iter().fold(&*finding.file, |file, input| input.shown(file)).to_path_buf();
        finding.file = shown;
    }
    if let Some(source) = &source {
        note_tensors_beyond(&files, source.path());
    }
    if args.json {
        let all = findings.iter().map(|finding| {
            let mut object = serde_json::to_value(finding)?;
            object["mend"] = args.mend(finding).into();
            Ok(object)
        });
        let all: Vec<Value> = all.collect::<Result<_>>()?;
        serde_json::to_writer_pretty(&mut *out, &json!({ "findings": all }))?;
        writeln!(out)?;
    } else {
        for finding in &findings {
            let said =
                FINDING_KINDS.iter().find(|(kind, _)| *kind == finding.kind).map_or("", |(_, said)| said);
            let sure = if finding.sure == Sure::Certain { "certain" } else { "likely" };
            writeln!(out, "{}: {} ({sure})", place(finding), out.bold(finding.kind))?;
            writeln!(out, "  {said}")?;
            writeln!(out, "  found  {}", words::tensor_name(&finding.what, 1000))?;
            writeln!(out, "  mend   {}", words::tensor_name(&args.mend(finding), 1000))?;
        }
        if findings.is_empty() {
            let files = words::plural(args.files.len() as u64, "file");
            writeln!(out, "{files}: {}", out.bold("nothing found"))?;
        }
    }
    if !findings.is_empty() {
        bail!("{}", words::plural(findings.len() as u64, "finding"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file of a folder has is mended by writing the folder; the command can be copied.
    #[test]
    fn commands_that_mend() {
        let finding = |file: &str, scheme| FileFinding {
            kind: "contradiction",
            file: file.into(),
            tensor: None,
            what: String::new(),
            sure: Sure::Certain,
            scheme,
        };
        assert_eq!(place(&finding("a\nb/\u{1b}[31m", None)), r"a\u000ab/\u001b[31m");
        let args = |source: Option<&str>| Args {
            files: vec!["it's".into(), "b.safetensors".into()],
            source: source.map(PathBuf::from),
            json: false,
        };
        assert_eq!(
            args(Some("source folder")).mend(&finding("it's/model-1.safetensors", Some("comfy-fp8"))),
            r"smallfloat quantize 'source folder' -o 'it'\''s' --overwrite --scheme comfy-fp8"
        );
        assert_eq!(
            args(None).mend(&finding("b.safetensors", None)),
            "smallfloat quantize SOURCE -o b.safetensors --overwrite --scheme SCHEME"
        );
        assert_eq!(
            args(Some("-")).mend(&finding(STDIN, None)),
            "smallfloat quantize SOURCE -o OUTPUT --overwrite --scheme SCHEME"
        );
    }
}
