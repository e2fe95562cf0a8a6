//! Where the results of a quantization go: a report, a picture, standard output.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use smallfloat_tensor::{Granularity, Options, Report, write_file_durably, write_json_durably};

use crate::arguments::quantize::bias_in_words;
use crate::charts::checkpoint::CheckpointPicture;
use crate::render::text as words;

#[derive(clap::Args)]
pub(crate) struct ResultArgs {
    /// Write the report as JSON
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,

    /// Draw every tensor's error, and its exponents or the range of its scales or biases
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long, visible_alias = "force")]
    pub(crate) overwrite: bool,

    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ResultArgs {
    /// The files that will be written, with their options.
    pub(crate) fn outputs(&self) -> [(&'static str, Option<&Path>); 2] {
        [("--report", self.report.as_deref()), ("--plot", self.plot.as_deref())]
    }

    /// Returns whether a picture is wanted.
    pub(crate) fn has_plot(&self) -> bool {
        self.plot.is_some()
    }

    /// Writes the report and the picture; its title names the file or folder `of`.
    pub(crate) fn write(&self, of: &Path, format: &str, options: &Options, report: &Report) -> Result<()> {
        if let Some(path) = &self.report {
            write_json_durably(path, report, self.overwrite).context("--report")?;
        }
        if let Some(path) = &self.plot {
            let name = of.file_name().unwrap_or(of.as_os_str()).to_string_lossy();
            let (name, bias) = (words::tensor_name(&name, 60), bias_in_words(options));
            let granularity = match options.granularity {
                Granularity::Tensor => String::new(),
                granularity => format!(", by {granularity}"),
            };
            let title = format!("{name} as {format}{bias}{granularity}");
            let svg = CheckpointPicture::new(title, report, &options.format)?.svg()?;
            write_file_durably(path, svg.as_bytes(), self.overwrite).context("--plot")?;
        }
        Ok(())
    }
}
