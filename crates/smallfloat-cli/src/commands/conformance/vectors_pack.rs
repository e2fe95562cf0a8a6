//! `smallfloat vectors pack`: frozen sets of vectors, with what checks an implementation against
//! them.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use serde_json::json;
use smallfloat_conformance::vectors::LineLayout;
use smallfloat_tensor::{write_file_durably, write_folder_durably};

use crate::commands::conformance::vectors::{GenArgs, set, unwrapped};
use crate::render::output::{Output, table};
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat vectors pack
  smallfloat vectors pack ofp8 -o ofp8
    cd ofp8 && python3 check.py unit.py
    cc -O2 check.c unit.c -o check && ./check
    iverilog -g2012 -s check -Pcheck.NAME='\"e4m3-to-binary32\"' check.sv unit.sv -o check \\
      && vvp check

A pack is a folder with a file of vectors for each operation, in the testfloat layout; pack.txt,
which names them with their SHA-256; and a checker in Python, C and SystemVerilog. The vectors are
frozen: this command writes nothing but those whose digests it was released with.";

/// Write a frozen pack of vectors with its checkers.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The pack; without it they are listed
    #[arg(value_name = "NAME", requires = "output")]
    name: Option<String>,

    /// The folder to write, which must not exist
    #[arg(short, long, value_name = "DIR", requires = "name")]
    output: Option<PathBuf>,

    /// List the packs as JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// A pack: a comment that says what it holds, and a row for each file.
struct Pack {
    name: &'static str,
    text: &'static str,
}

const PACKS: [Pack; 4] = [
    Pack { name: "ofp8", text: include_str!("../../../packs/ofp8.txt") },
    Pack { name: "mx", text: include_str!("../../../packs/mx.txt") },
    Pack { name: "p3109", text: include_str!("../../../packs/p3109.txt") },
    Pack { name: "riscv-fp8", text: include_str!("../../../packs/riscv-fp8.txt") },
];
/// SHA-256 of the lines of each file: `digest pack/file`.
const DIGESTS: &str = include_str!("../../../packs/digests.txt");
const CHECKERS: [(&str, &str); 3] = [
    ("check.py", include_str!("../../../packs/check.py")),
    ("check.c", include_str!("../../../packs/check.c")),
    ("check.sv", include_str!("../../../packs/check.sv")),
];

/// A row of a pack: a file's name, how results are compared, and the options of `vectors gen`.
struct Row {
    file: &'static str,
    nan: &'static str,
    flags: &'static str,
    options: Vec<&'static str>,
}

/// The options of a row.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct RowArgs {
    #[command(flatten)]
    vectors: GenArgs,
}

impl Pack {
    /// What the pack holds, on one line.
    fn about(&self) -> String {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("# "));
        lines.collect::<Vec<_>>().join(" ")
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        self.text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let mut parts = line.split_whitespace();
            let mut part = || parts.next().expect("a row has a name, a NaN, flags and options");
            let (file, nan, flags) = (part(), part(), part());
            Row { file, nan, flags, options: parts.collect() }
        })
    }

    /// The frozen digest of a file.
    fn digest(&self, file: &str) -> Option<&'static str> {
        let name = format!("{}/{file}", self.name);
        DIGESTS
            .lines()
            .filter_map(|line| line.split_once("  "))
            .find(|(_, of)| *of == name)
            .map(|(sha, _)| sha)
    }

    /// Writes all files into an empty folder; returns how many vectors they have.
    fn write(&self, folder: &Path) -> Result<u64> {
        let mut index = format!("# smallfloat pack {} 1\n", self.name);
        for line in self.text.lines().filter(|line| line.starts_with('#')) {
            writeln!(index, "{line}")?;
        }
        writeln!(
            index,
            "# columns: SHA-256 of the lines, lines, operands, results, flags, largest magnitude, file"
        )?;
        let mut all = 0;
        for row in self.rows() {
            let args = RowArgs::try_parse_from(&row.options).context(row.file)?;
            let set = set(&args.vectors).context(row.file)?;
            let mut bytes = Vec::new();
            set.write(LineLayout::TestFloat, &mut bytes).map_err(unwrapped).context(row.file)?;
            let digest = trailer(&bytes);
            if self.digest(row.file) != Some(digest) {
                bail!(
                    "{}/{}: the vectors have the SHA-256 {digest}, and those that were frozen {}: this build of smallfloat \
                     computes other results than its release",
                    self.name,
                    row.file,
                    self.digest(row.file).unwrap_or("none")
                );
            }
            write_file_durably(folder.join(format!("{}.txt", row.file)), &bytes, false)?;
            let (operands, results) = (set.unit().operands().len(), set.unit().results().len());
            let lines = set.plan().lines();
            let (flags, nan, file) = (row.flags, row.nan, row.file);
            writeln!(index, "{digest} {lines} {operands} {results} {flags} {nan} {file}")?;
            all += lines;
        }
        write_file_durably(folder.join("pack.txt"), index.as_bytes(), false)?;
        for (name, text) in CHECKERS {
            write_file_durably(folder.join(name), text.as_bytes(), false)?;
        }
        Ok(all)
    }
}

/// The digest in the last line of a file of vectors.
fn trailer(bytes: &[u8]) -> &str {
    let text = std::str::from_utf8(bytes).expect("vectors are ASCII");
    let last = text.trim_end().rsplit('\n').next().expect("a text has a last line");
    last.rsplit(' ').next().expect("the last line ends with the digest")
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let (Some(name), Some(folder)) = (&args.name, &args.output) else { return list(args.json, out) };
    let Some(pack) = PACKS.iter().find(|pack| pack.name.eq_ignore_ascii_case(name)) else {
        let names: Vec<_> = PACKS.iter().map(|pack| pack.name).collect();
        bail!("no pack is called `{}`; there are {}", words::excerpt(name), names.join(", "));
    };
    if fs::symlink_metadata(folder).is_ok() {
        bail!("{}: it exists; name a folder that does not", folder.display());
    }
    let lines = write_folder_durably(folder, |unfinished| pack.write(unfinished))?;
    let files = words::plural(pack.rows().count() as u64, "file");
    writeln!(
        out,
        "{}: {} in {files}; check.py, check.c and check.sv",
        folder.display(),
        words::plural(lines, "vector")
    )?;
    Ok(())
}

fn list(json: bool, out: &mut Output) -> Result<()> {
    if json {
        let row = |pack: &Pack| {
            let files: Vec<_> = pack.rows().map(|row| row.file).collect();
            json!({ "name": pack.name, "about": pack.about(), "files": files })
        };
        serde_json::to_writer_pretty(&mut *out, &PACKS.iter().map(row).collect::<Vec<_>>())?;
        writeln!(out)?;
        return Ok(());
    }
    let mut printed = table(&["pack", "files", "what it holds"], &[1]);
    for pack in &PACKS {
        printed.add_row([pack.name, &pack.rows().count().to_string(), &pack.about()]);
    }
    Ok(out.rows(&printed)?)
}
