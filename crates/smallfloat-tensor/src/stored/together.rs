//! [`open_together`]: the files of a checkpoint, where codes may have their scales in another file
//! than their own, as shards of DeepSeek V3 do.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use crate::file::formats::source::Source;
use crate::file::input::TensorInfo;
use crate::layout::configured::ConfiguredEntries;
use crate::stored::view::View;

/// A tensor that belongs to another one.
#[derive(Clone, Copy)]
pub(crate) struct Neighbour<'a> {
    pub(crate) info: &'a TensorInfo,
    /// The file that has it, where that is not the file of the other.
    pub(crate) elsewhere: Option<&'a Arc<Source>>,
}

/// The tensors of all files by name, and what configurations say of them. Names that two files have
/// are of neither.
pub(crate) struct Neighbours<'a> {
    parts: HashMap<&'a str, Option<Neighbour<'a>>>,
    pub(crate) configured: ConfiguredEntries,
}

impl<'a> Neighbours<'a> {
    pub(crate) fn of(sources: &'a [Arc<Source>]) -> Self {
        let mut parts = HashMap::new();
        for source in sources {
            for info in source.tensors() {
                let part = Neighbour { info, elsewhere: Some(source) };
                parts.entry(&*info.name).and_modify(|other| *other = None).or_insert(Some(part));
            }
        }
        Self { parts, configured: ConfiguredEntries::default() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Neighbour<'a>> {
        self.parts.get(name).copied().flatten()
    }
}

/// Opens files that belong together.
///
/// # Errors
/// The first of those of the files.
pub(crate) fn open_files(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<View>> {
    let sources = paths.map(|path| Source::open(path).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    open_together(&sources, &Neighbours::of(&sources)).into_iter().collect()
}

/// Views files that belong together. What belongs to a tensor of another file is in no view.
pub(crate) fn open_together(sources: &[Arc<Source>], neighbours: &Neighbours<'_>) -> Vec<Result<View>> {
    let mut views: Vec<Result<View>> =
        sources.iter().map(|source| View::with_neighbours(source, neighbours)).collect();
    let taken = views.iter().flatten().flat_map(View::elsewhere);
    let taken: HashSet<String> = taken.cloned().collect();
    views.iter_mut().flatten().for_each(|view| view.hide(&taken));
    views
}
