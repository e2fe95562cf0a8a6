//! Files as arguments: `-` as standard input, outputs that may not exist yet.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use smallfloat_tensor::{CONFIG, INDEX, Spool, check_output, leftovers};

use crate::render::output::{Message, message};
use crate::render::text::tensor_name;

/// An input file; `-` is standard input, kept in a temporary file because tensors are read at
/// positions.
pub(crate) enum Input {
    File(PathBuf),
    /// Removed with the input.
    Stream(Spool),
}

/// What messages call standard input.
pub(crate) const STDIN: &str = "standard input";

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path != Path::new("-") {
            return Ok(Self::File(path.to_path_buf()));
        }
        Ok(Self::Stream(Spool::read(&mut io::stdin().lock(), Path::new(STDIN))?))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Stream(spool) => spool.path(),
        }
    }

    /// Returns what a path is called that may be the temporary file.
    pub(crate) fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        match self {
            Self::Stream(spool) if spool.path() == path => Path::new(STDIN),
            _ => path,
        }
    }

    /// A result whose error names standard input, where it named the temporary file.
    pub(crate) fn named<T>(&self, result: smallfloat_tensor::Result<T>) -> Result<T> {
        Ok(result.map_err(|error| match self {
            Self::File(_) => error,
            Self::Stream(spool) => error.renamed(spool.path(), Path::new(STDIN)),
        })?)
    }
}

/// Characters of a path in a note.
const LONGEST_PATH: usize = 1000;

/// Refuses outputs that can't be written, before any work is done, and tells what killed runs left
/// beside them. A report or a picture must not replace one of the `inputs`, nor a file of a
/// folder that is one, but for an earlier report or picture.
pub(crate) fn check_outputs<'a>(
    outputs: &[(&str, Option<&Path>)],
    inputs: impl IntoIterator<Item = &'a Path>,
    overwrite: bool,
) -> Result<()> {
    let outputs: Vec<_> =
        outputs.iter().filter_map(|(option, path)| path.map(|path| (option, path))).collect();
    let inputs: Vec<PathBuf> = inputs.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
    for (i, (option, path)) in outputs.iter().enumerate() {
        let place = place_of(path);
        if let Some((other, _)) = outputs[..i].iter().find(|(_, other)| place_of(other) == place) {
            bail!("{other} and {option} name the same file, `{}`", path.display());
        }
        ensure!(*path != Path::new("-"), "{option}: a result is written as a whole; name a file, not `-`");
        if **option == "--plot" {
            check_picture(path)?;
        }
        // What reports and pictures are named as may be an earlier one.
        let is_report = place.extension().is_some_and(|extension| extension == "json" || extension == "svg");
        let is_part =
            place.exists() && !is_report || [CONFIG, INDEX].iter().any(|name| place.ends_with(name));
        let replaces = |input: &PathBuf| place == *input || (is_part && place.starts_with(input));
        if **option != "-o" && inputs.iter().any(replaces) {
            bail!("{option}: `{}` is an input, which it would replace; name another file", path.display());
        }
        if let Err(error) = check_output(path, overwrite) {
            if error.is_exists() {
                let name = tensor_name(&path.display().to_string(), LONGEST_PATH);
                bail!("{option}: `{name}` exists already; choose another name or add --overwrite");
            }
            bail!("{option}: {error}");
        }
        note_leftovers(path);
    }
    Ok(())
}

/// Endings of pictures and documents that are no SVG.
const OTHER_PICTURES: &[&str] =
    &["avif", "bmp", "eps", "gif", "jpeg", "jpg", "pdf", "png", "ps", "tif", "tiff", "webp"];

/// Refuses a name that promises another kind of picture than the one that is written.
fn check_picture(path: &Path) -> Result<()> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = tensor_name(&path.display().to_string(), LONGEST_PATH);
    ensure!(
        !OTHER_PICTURES.contains(&&*ending),
        "--plot: `{name}`: pictures are written as SVG, not as {}; end the name in .svg",
        ending.to_ascii_uppercase()
    );
    Ok(())
}

/// Where a file is or will be, without links.
fn place_of(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// Tells what of an input folder the output folder does not have.
pub(crate) fn note_not_copied(not_copied: &[String]) {
    /// Longer lists are cut.
    const MOST: usize = 20;
    if not_copied.is_empty() {
        return;
    }
    let (shown, rest) = not_copied.split_at(not_copied.len().min(MOST));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    message(Message::Note, &format!("not copied: {}{more}", shown.join(", ")));
}

/// Tells what killed runs left beside an output.
pub(crate) fn note_leftovers(path: &Path) {
    // What can't be listed is no reason to stop: writing will tell.
    for leftover in leftovers(path).unwrap_or_default() {
        let name = tensor_name(&leftover.display().to_string(), LONGEST_PATH);
        message(
            Message::Note,
            &format!("a run that was killed left `{name}`; `smallfloat clean` removes it"),
        );
    }
}
