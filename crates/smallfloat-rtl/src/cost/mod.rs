//! What a unit costs in gates, by Yosys: a figure to compare units with each other, before any
//! technology.

use std::fs;
use std::io;
use std::process::Command;

use crate::tools::{Folder, YOSYS, run};

/// The size and depth of a module mapped to NAND, NOR, NOT, AOI and OAI gates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Gates.
    pub cells: u64,
    /// Transistors of these gates in static CMOS, as Yosys counts them.
    pub transistors: u64,
    /// Gates on the longest path.
    pub depth: u64,
}

/// The reason why no gates were counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of a temporary folder.
    #[error("a temporary file: {0}")]
    File(#[from] io::Error),
    /// Yosys that can't be run.
    #[error("`yosys` can't be run ({0}); Debian has it in the package yosys")]
    Missing(io::Error),
    /// Yosys that refuses a unit, or says something else than it does.
    #[error("yosys: {0}")]
    Yosys(String),
}

/// The script after the file is read; `TOP` is the module.
const SCRIPT: &str = "synth -flatten -top TOP; abc -g cmos4; opt_clean; tee -o stat.txt stat -tech cmos; \
                      tee -o path.txt ltp -noff";

/// Synthesizes a module with Yosys and counts its gates.
///
/// # Errors
/// Yosys that is missing or refuses the text.
pub fn cost(text: &str, top: &str) -> Result<Cost, Error> {
    let folder = Folder::new()?;
    let path = |name: &str| folder.join(name);
    fs::write(path("unit.sv"), text)?;
    let script = format!("read_verilog -sv unit.sv; {}", SCRIPT.replace("TOP", top));
    let mut command = Command::new(YOSYS.name);
    command.args(["-q", "-p", &script]).current_dir(&*folder);
    let run = run(command, None).map_err(Error::Missing)?;
    if !run.succeeded {
        return Err(Error::Yosys(run.error()));
    }
    let number = |file: &str, label: &str| -> Result<u64, Error> {
        let text = fs::read_to_string(path(file))?;
        let found = text.lines().find_map(|line| {
            let (_, after) = line.split_once(label)?;
            after.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        found.ok_or_else(|| Error::Yosys(format!("its report has no `{label}`")))
    };
    Ok(Cost {
        cells: number("stat.txt", "Number of cells:")?,
        transistors: number("stat.txt", "Estimated number of transistors:")?,
        depth: number("path.txt", "(length=")?,
    })
}

/// Returns the version of Yosys, as it says it.
///
/// # Errors
/// Yosys that is missing.
pub fn yosys_version() -> Result<String, Error> {
    let output = Command::new("yosys").arg("-V").output().map_err(Error::Missing)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}
