//! [`Plan`]: a quantization in shards, as JSON that any number of machines can carry out.
//!
//! A plan is made from headers alone. It has all options that decide bytes, the inputs with their
//! sizes and the digests of their headers, every tensor with what becomes of it and where it goes,
//! and the names of the files that will be written. [`apply`](crate::shard::apply) writes one
//! shard, [`finalize`](crate::shard::finalize) what goes with all of them. The same input and
//! options give the same plan, byte for byte.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, quoted, refuse};
use crate::file::folder::{CONFIG, INCOMPLETE, INDEX, SAFETENSORS, check_empty};
use crate::file::side::{SIDE_FILE_BYTES, read_limited, read_optional};
use crate::layout::scheme::Layout;
use crate::options::recipe::Recipe;
use crate::options::{Container, Options};
use crate::quantize::checkpoint::{Checkpoint, TensorPosition};
use crate::quantize::config::quantization_config;
use crate::quantize::folder::json_text;
use crate::shard::partition::{Sharding, Unit, by_count, by_size};
use crate::stored::open::Opened;
use crate::stored::view::View;

/// The version of the JSON.
const VERSION: u64 = 1;

/// What a shard's report ends with, in the place of `.safetensors`.
const REPORT: &str = ".report.json";

/// A quantization in shards. [`plan`] makes it, [`Plan::from_json`] reads it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name tells what the JSON is.
    #[serde(rename = "smallfloat_plan")]
    version: u64,
    /// The folder of the inputs, absolute.
    pub(crate) input: PathBuf,
    /// The folder of the outputs, absolute.
    pub(crate) output: PathBuf,
    pub(crate) inputs: Vec<InputFile>,
    /// SHA-256 of the inputs' `config.json`, which tells the blocks of foreign layouts and becomes
    /// the output's.
    pub(crate) config_sha256: Option<String>,
    /// Whether `config.json` is written to the output.
    pub(crate) writes_config: bool,
    /// Whether an index is written even for one shard.
    pub(crate) writes_index: bool,
    /// Files of the input folder that are copied.
    pub(crate) copies: Vec<String>,
    /// What else the input folder has, each with the reason why it is not copied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_copied: Vec<String>,
    pub(crate) recipe: Recipe,
    pub(crate) quantization_config: Option<Value>,
    pub(crate) shards: Vec<Shard>,
    /// Every tensor, in the order of the inputs.
    pub(crate) tensors: Vec<PlannedTensor>,
}

/// A file with tensors.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) header_sha256: String,
}

/// One output file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shard {
    pub(crate) output: String,
    /// The inputs whose tensors and free text it has.
    pub(crate) inputs: Vec<usize>,
    /// Bytes of its tensors in the inputs.
    pub(crate) bytes_in: u64,
    /// Bytes of its tensors in the output.
    bytes_out: u64,
}

/// What becomes of a tensor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedTensor {
    pub(crate) name: String,
    pub(crate) input: usize,
    pub(crate) quantized: bool,
    pub(crate) shard: usize,
}

/// Plans to quantize a `.safetensors` or `.npy` file, or the `.safetensors` files of a checkpoint
/// folder, into the folder `output`: what [`quantize`](crate::quantize) does, in shards. Only
/// headers are read and nothing is written.
///
/// Whole tensors go into shards, as [`Sharding`] says; those that share a scale stay together
/// unless the input's files are kept. Shards are named after the inputs, or
/// `model-00001-of-00003.safetensors` where they are counted or measured.
///
/// # Errors
/// What [`quantize`](crate::quantize) refuses before it reads data; an output folder that has
/// something in it (unless [`Options::overwrite`]) or is the folder of the input; names that would
/// meet there.
///
/// ```no_run
/// use smallfloat_tensor::{Options, Sharding, apply, finalize, plan};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options::new("cfloat8_1_4_3".parse()?);
/// let plan = plan("checkpoint", "small", &options, &|_| true, Sharding::Files)?;
/// for shard in 0..plan.shards() {
///     // On any machine, in any order, as often as it takes.
///     apply(&plan, shard, true, &mut |_| ())?;
/// }
/// let report = finalize(&plan, true, &mut |_| ())?;
/// # Ok(())
/// # }
/// ```
pub fn plan(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    sharding: Sharding,
) -> Result<Plan> {
    plan_path(input.as_ref(), output.as_ref(), options, select, sharding)
}

fn plan_path(
    input: &Path,
    output: &Path,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    sharding: Sharding,
) -> Result<Plan> {
    options.check()?;
    if options.layout.is_gguf() {
        return Err(Error::option("a GGUF file is one file: quantize writes it".to_owned()));
    }
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| Error::io("find", path, e));
    let (input, output) = (absolute(input)?, absolute(output)?);
    let opened = Opened::new(&input)?;
    opened.check_output(&output)?;
    check_empty(&output, options.overwrite)?;
    let checkpoint = Checkpoint::new(&opened.views, options, select)?;
    checkpoint.check_names(&opened.files)?;
    let places = checkpoint.places();
    let parts = parts(&checkpoint, &places, sharding)?;
    let count = parts.iter().map(|part| part + 1).max().unwrap_or(1).max(match sharding {
        Sharding::Files => opened.files.len(),
        Sharding::Count(_) | Sharding::Bytes(_) => 1,
    });
    let mut shards = Vec::new();
    for shard in 0..count {
        let of_shard: Vec<TensorPosition> =
            places.iter().zip(&parts).filter(|&(_, &part)| part == shard).map(|(&place, _)| place).collect();
        let mut inputs: Vec<usize> = of_shard.iter().map(|&(file, _)| file).collect();
        inputs.dedup();
        let output = match sharding {
            Sharding::Files => {
                inputs = vec![shard];
                named_after(&opened.files[shard])
            }
            _ if count == 1 => format!("model{SAFETENSORS}"),
            _ => format!("model-{:05}-of-{count:05}{SAFETENSORS}", shard + 1),
        };
        if inputs.is_empty() {
            // Without tensors there is free text even so.
            inputs = (0..opened.files.len()).collect();
        }
        let sizes = of_shard.iter().map(|&place| checkpoint.bytes_out(place)).collect::<Result<Vec<_>>>()?;
        let bytes_out = sizes.into_iter().fold(0, u64::saturating_add);
        let bytes_in = of_shard.iter().map(|&place| checkpoint.tensor(place).info.len);
        let bytes_in = bytes_in.fold(0, u64::saturating_add);
        shards.push(Shard { output, inputs, bytes_in, bytes_out });
    }
    let tensors = places.iter().zip(&parts).map(|(&place, &shard)| PlannedTensor {
        name: checkpoint.tensor(place).info.name.clone(),
        input: place.0,
        quantized: checkpoint.is_chosen(place),
        shard,
    });
    let inputs = opened.files.iter().zip(&opened.views).map(|(name, view)| InputFile::of(name, view));
    let (copies, writes_index) = match &opened.extra_files {
        Some(extra_files) => (extra_files.others.clone(), extra_files.has_index),
        None => (Vec::new(), false),
    };
    let plan = Plan {
        version: VERSION,
        config_sha256: config_digest(&opened.folder)?,
        input: opened.folder.clone(),
        output,
        inputs: inputs.collect::<Result<_>>()?,
        writes_config: opened.extra_files.is_some(),
        writes_index,
        copies,
        not_copied: opened.not_copied().to_vec(),
        recipe: Recipe::of(options),
        quantization_config: quantization_config(options, &checkpoint.layout, &checkpoint.ignored()),
        tensors: tensors.collect(),
        shards,
    };
    plan.check()?;
    Ok(plan)
}

/// The shard of each tensor.
fn parts(checkpoint: &Checkpoint<'_>, places: &[TensorPosition], sharding: Sharding) -> Result<Vec<usize>> {
    let mut unit_of = Vec::with_capacity(places.len());
    let mut units: Vec<Unit> = Vec::new();
    let mut of_company = HashMap::new();
    for &place in places {
        let fresh = units.len();
        let unit = checkpoint
            .scale_group(place)
            .map_or(fresh, |scale_group| *of_company.entry(scale_group).or_insert(fresh));
        if unit == fresh {
            units.push(Unit { work: 0, size: 0 });
        }
        units[unit].work = units[unit].work.saturating_add(checkpoint.bytes(&[place]));
        units[unit].size = units[unit].size.saturating_add(checkpoint.bytes_out(place)?);
        unit_of.push(unit);
    }
    let of_units = match sharding {
        Sharding::Files => return Ok(places.iter().map(|place| place.0).collect()),
        Sharding::Count(count) => by_count(&units, count.get()),
        Sharding::Bytes(limit) => by_size(&units, limit.get()),
    };
    Ok(unit_of.into_iter().map(|unit| of_units[unit]).collect())
}

/// The safetensors file for an input file.
fn named_after(input: &str) -> String {
    if input.ends_with(SAFETENSORS) {
        return input.to_owned();
    }
    format!("{}{SAFETENSORS}", input.strip_suffix(".npy").unwrap_or(input))
}

/// The SHA-256 of the `config.json` in a folder, if there is one.
fn config_digest(folder: &Path) -> Result<Option<String>> {
    let path = folder.join(CONFIG);
    let text = read_optional(&path)?;
    Ok(text.map(|text| format!("{:x}", Sha256::digest(text))))
}

impl InputFile {
    fn of(name: &str, view: &View) -> Result<Self> {
        let source = view.source();
        let header_sha256 = source.header_sha256()?;
        Ok(Self { name: name.to_owned(), bytes: source.file_len(), header_sha256 })
    }
}

impl Plan {
    /// Returns the plan as JSON.
    ///
    /// # Errors
    /// Paths that are not Unicode text.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        json_text(self)
    }

    /// Reads a plan; `path` is what errors call it.
    ///
    /// # Errors
    /// Text that is no plan, a plan of another version, and one that contradicts itself or names
    /// files elsewhere.
    pub fn from_json(json: &[u8], path: impl AsRef<Path>) -> Result<Self> {
        Self::parse(json, path.as_ref())
    }

    fn parse(json: &[u8], path: &Path) -> Result<Self> {
        let malformed = |what: String| Error::malformed(path, None, what);
        let value: Value = serde_json::from_slice(json).map_err(|e| malformed(format!("is no plan: {e}")))?;
        // Before anything else, since nothing else may be as it is here.
        match value.get("smallfloat_plan").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(version) => {
                let what = format!(
                    "is a plan of version {version}, this program reads version {VERSION}: apply it with the program \
                     that made it, or make a new plan"
                );
                return Err(Error::unsupported(path, what));
            }
            None => {
                return Err(malformed("is no plan: it has no number `smallfloat_plan`".to_owned()));
            }
        }
        let plan: Self = serde_json::from_value(value).map_err(|e| malformed(format!("is no plan: {e}")))?;
        plan.check().map_err(|e| malformed(e.to_string()))?;
        plan.recipe.options().map_err(|e| malformed(e.to_string()))?;
        Ok(plan)
    }

    /// Reads a plan from a file.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json), and a file that can't be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::parse(&read_limited(path, SIDE_FILE_BYTES)?, path)
    }

    /// Returns how tensors are quantized; what decides no bytes has its default.
    ///
    /// # Errors
    /// None for a plan that was made or read by this library.
    pub fn options(&self) -> Result<Options> {
        self.recipe.options()
    }

    /// Returns the form in which codes are stored.
    pub fn container(&self) -> Container {
        self.recipe.container
    }

    /// Names and types of the tensors that are written.
    pub fn layout(&self) -> Layout {
        self.recipe.layout
    }

    /// Returns the number of shards; they are counted from 0.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Returns the number of tensors.
    pub fn tensors(&self) -> usize {
        self.tensors.len()
    }

    /// The names of the files of all shards.
    pub(crate) fn files(&self) -> Vec<String> {
        self.shards.iter().map(|shard| shard.output.clone()).collect()
    }

    /// Returns what the input folder has and the output folder will not have, each as a quoted name
    /// and the reason.
    pub fn not_copied(&self) -> &[String] {
        &self.not_copied
    }

    /// Returns the length of the input files together, in bytes.
    pub fn bytes_in(&self) -> u64 {
        self.inputs.iter().fold(0, |sum, input| sum.saturating_add(input.bytes))
    }

    /// Returns what is quantized: a folder, or a file.
    pub fn source(&self) -> PathBuf {
        match &self.inputs[..] {
            [file] if !self.writes_config => self.input.join(&file.name),
            _ => self.input.clone(),
        }
    }

    /// Returns the folder of the outputs.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// Returns the file that a shard becomes; `None` beyond the last shard.
    pub fn shard_path(&self, shard: usize) -> Option<PathBuf> {
        self.shards.get(shard).map(|shard| self.output.join(&shard.output))
    }

    /// Returns the report that is written beside it.
    pub fn report_path(&self, shard: usize) -> Option<PathBuf> {
        self.shards.get(shard).map(|shard| self.output.join(shard.report()))
    }

    /// Returns the bytes of each shard's tensors in the output.
    pub fn shard_bytes(&self) -> impl Iterator<Item = u64> {
        self.shards.iter().map(|shard| shard.bytes_out)
    }

    /// What names the plan in the reports of its shards.
    pub(crate) fn sha256(&self) -> Result<String> {
        Ok(format!("{:x}", Sha256::digest(self.to_json()?)))
    }

    /// Refuses numbers without objects, and names that are paths or meet.
    fn check(&self) -> Result<()> {
        let refused = |what: String| Err(refuse(what));
        for tensor in &self.tensors {
            if tensor.input >= self.inputs.len() || tensor.shard >= self.shards.len() {
                return refused(format!("tensor {} is of no input or shard", quoted(&tensor.name)));
            }
        }
        if self.shards.iter().any(|shard| shard.inputs.iter().any(|&input| input >= self.inputs.len())) {
            return refused("a shard has an input that is not there".to_owned());
        }
        let is_name = |name: &str| Path::new(name).file_name().is_some_and(|file| file == name);
        let sources = self.inputs.iter().map(|input| &input.name).chain(&self.copies);
        if let Some(path) = sources.chain(self.shards.iter().map(|shard| &shard.output)).find(|n| !is_name(n))
        {
            return refused(format!("{} is no name of a file in a folder", quoted(path)));
        }
        let mut seen = HashSet::from([CONFIG, INDEX, INCOMPLETE].map(str::to_owned));
        let outputs = self.shards.iter().flat_map(|shard| [shard.output.clone(), shard.report()]);
        for name in outputs.chain(self.copies.iter().cloned()) {
            let name = name.to_lowercase();
            if seen.contains(&name) {
                return refused(format!("{} would be written twice to the output folder", quoted(&name)));
            }
            seen.insert(name);
        }
        Ok(())
    }

    /// Refuses inputs that are not those of the plan any more.
    pub(crate) fn check_inputs(&self, views: &[View]) -> Result<()> {
        for (planned, view) in self.inputs.iter().zip(views) {
            let (path, now) = (view.source().path(), InputFile::of(&planned.name, view)?);
            let changed = |what: String| {
                let what = format!("has changed since the plan was made: {what}; make a new plan");
                Err(Error::refused(Some(path), None, what))
            };
            if now.bytes != planned.bytes {
                return changed(format!("it had {} bytes and has {}", planned.bytes, now.bytes));
            }
            if now.header_sha256 != planned.header_sha256 {
                return changed("its header is another one".to_owned());
            }
        }
        self.check_config()
    }

    /// Refuses a `config.json` that is not that of the plan any more.
    pub(crate) fn check_config(&self) -> Result<()> {
        if config_digest(&self.input)? == self.config_sha256 {
            return Ok(());
        }
        let what = "has changed since the plan was made; make a new plan";
        Err(Error::refused(Some(&self.input.join(CONFIG)), None, what))
    }
}

impl Shard {
    pub(crate) fn report(&self) -> String {
        format!("{}{REPORT}", self.output.strip_suffix(SAFETENSORS).unwrap_or(&self.output))
    }
}
