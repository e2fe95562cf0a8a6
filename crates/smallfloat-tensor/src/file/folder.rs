//! [`OutputFolder`]: a checkpoint folder whose files belong together, or which says that they do
//! not.
//!
//! All files of a checkpoint are written and flushed under temporary names first; until then the
//! old folder is as it was. Then [`OutputFolder::publish`] replaces the old files by renames alone:
//!
//! 1. the marker [`INCOMPLETE`] appears, and `config.json` and the index go away, so that neither
//!    this library nor loaders of other programs take the folder for a checkpoint;
//! 2. shards of the old checkpoint that the new one does not have are removed;
//! 3. every file is renamed into place, the configuration last;
//! 4. the marker goes away.
//!
//! A run that is killed during the renames leaves the marker, and every reader of this library says
//! `incomplete`. Shards that several machines write into one folder are held together in the same
//! way: the first of them puts the marker, and the end of the job takes it away.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use crate::error::{Error, Result, quoted};
use crate::file::durable::{DurableFile, sync_folder, write_file_durably};
use crate::file::side::read_json;
use crate::file::temporaries;

/// The name of the index of a checkpoint folder: which file has which tensor.
pub const INDEX: &str = "model.safetensors.index.json";

/// The name of a model's configuration in a checkpoint folder.
pub const CONFIG: &str = "config.json";

/// The file that says that the others do not belong together.
pub(crate) const INCOMPLETE: &str = "smallfloat.incomplete";

const MARKER_TEXT: &[u8] =
    b"smallfloat is writing this folder, or was stopped while it did: its files do not belong\n\
together. Run the command again with --overwrite; of a plan, apply the shards that are missing\n\
and finalize it.\n";

pub(crate) const SAFETENSORS: &str = ".safetensors";

/// A folder that receives a checkpoint. Dropped before anything was published, a folder that was
/// made for it is removed again.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    path: PathBuf,
    made: bool,
}

impl OutputFolder {
    /// Makes the folder unless it is there, for a checkpoint with these files of tensors.
    ///
    /// # Errors
    /// A folder that has something in it without leave to overwrite, or files of tensors that are
    /// no part of a checkpoint and would be lost among those of the new one.
    pub(crate) fn create(path: &Path, files: &[String], overwrite: bool) -> Result<Self> {
        check_empty(path, overwrite)?;
        stale_files(path, files)?;
        let made = match fs::create_dir(path) {
            Ok(()) => true,
            // Another process may make it at the same time.
            Err(_) if path.is_dir() => false,
            Err(e) => return Err(Error::io("make the folder", path, e)),
        };
        Ok(Self { path: path.to_path_buf(), made })
    }

    /// Says in the folder that it is incomplete, for every kind of reader.
    pub(crate) fn mark_incomplete(&mut self) -> Result<()> {
        self.made = false;
        write_file_durably(self.path.join(INCOMPLETE), MARKER_TEXT, true)?;
        for name in [CONFIG, INDEX] {
            remove(&self.path.join(name))?;
        }
        self.sync()
    }

    /// Puts finished files in place, in their order, and makes the folder complete. `files` are all
    /// files with tensors, those included that are in place already.
    pub(crate) fn publish(mut self, files: &[String], finished: Vec<DurableFile>) -> Result<()> {
        // Everything slow comes before the first change.
        for file in &finished {
            file.sync()?;
        }
        let stale = stale_files(&self.path, files)?;
        let _publishing = temporaries::publishing();
        self.mark_incomplete()?;
        for name in stale {
            remove(&self.path.join(name))?;
        }
        for file in finished {
            file.commit()?;
        }
        remove(&self.path.join(INCOMPLETE))?;
        self.sync()
    }

    fn sync(&self) -> Result<()> {
        sync_folder(&self.path).map_err(|e| Error::io("flush to disk the folder", &self.path, e))
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if self.made {
            // Only an empty folder goes.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, e)),
        _ => Ok(()),
    }
}

/// Refuses a folder that has something in it, unless it may be overwritten.
pub(crate) fn check_empty(output: &Path, overwrite: bool) -> Result<()> {
    match fs::read_dir(output) {
        Ok(mut entries) => match entries.next() {
            Some(_) if !overwrite => Err(Error::exists(output)),
            _ => Ok(()),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) if output.is_file() => {
            Err(Error::unsupported(output, "this is a file; the output is a folder: name one"))
        }
        Err(e) => Err(Error::io("write into", output, e)),
    }
}

/// Refuses a folder that is being written, or whose writing was stopped.
pub(crate) fn check_complete(folder: &Path) -> Result<()> {
    if fs::symlink_metadata(folder.join(INCOMPLETE)).is_err() {
        return Ok(());
    }
    Err(incomplete(
        folder,
        &format!("`{INCOMPLETE}` in it says that a run is writing it, or was stopped; run it again"),
    ))
}

/// The error for a folder whose files do not belong together.
pub(crate) fn incomplete(folder: &Path, what: &str) -> Error {
    Error::refused(Some(folder), None, format!("the checkpoint is incomplete: {what}"))
}

/// The shards of an old checkpoint, and their reports, that are not among the new files: those that
/// the old index names, and those that are named as shards are. Other files of tensors are not ours
/// to remove.
fn stale_files(folder: &Path, files: &[String]) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("list", folder, e)),
    };
    let indexed = indexed_files(folder);
    let mut stale = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("list", folder, e))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(stem) = name.strip_suffix(SAFETENSORS) else { continue };
        if name.starts_with('.') || files.contains(&name) {
            continue;
        }
        if !indexed.contains(&name) && stem != "model" && shard_number(&name).is_none() {
            let what = format!(
                "has {}, which is no part of the checkpoint that is written: move it away, or name another folder",
                quoted(&name)
            );
            return Err(Error::refused(Some(folder), None, what));
        }
        stale.push(format!("{stem}.report.json"));
        stale.push(name);
    }
    stale.sort();
    Ok(stale)
}

/// The files that an index names; none where there is no index that can be read.
pub(crate) fn indexed_files(folder: &Path) -> HashSet<String> {
    let Ok(Some(index)) = read_json(&folder.join(INDEX)) else { return HashSet::new() };
    let map = index.get("weight_map").and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(_, file)| file.as_str().map(str::to_owned)).collect()
}

/// The number and the count of a file named as `model-00002-of-00003.safetensors` is.
pub(crate) fn shard_number(name: &str) -> Option<(u64, u64)> {
    let (rest, count) = name.strip_suffix(SAFETENSORS)?.rsplit_once("-of-")?;
    let (_, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| {
        let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| text.parse().ok()).flatten()
    };
    Some((digits(number)?, digits(count)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_known_by_their_names() {
        assert_eq!(shard_number("model-00002-of-00163.safetensors"), Some((2, 163)));
        assert_eq!(shard_number("a-b-1-of-2.safetensors"), Some((1, 2)));
        for name in [
            "model.safetensors",
            "model-of-2.safetensors",
            "model-x-of-2.safetensors",
            "model-+1-of-2.safetensors",
            "model-1-of-.safetensors",
            "a-1-of-2.json",
        ] {
            assert_eq!(shard_number(name), None, "{name}");
        }
    }

    #[test]
    fn only_files_of_a_checkpoint_are_stale() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let stale = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|&name| name.to_owned()).collect();
            stale_files(dir.path(), &files).map_err(|e| e.to_string())
        };
        put("model-00001-of-00002.safetensors", "");
        put("notes.txt", "mine");
        assert_eq!(
            stale(&["model.safetensors"]).unwrap(),
            ["model-00001-of-00002.report.json", "model-00001-of-00002.safetensors"]
        );
        assert!(stale(&["model-00001-of-00002.safetensors"]).unwrap().is_empty());
        put("weights.safetensors", "");
        assert!(stale(&["model.safetensors"]).unwrap_err().contains("`weights.safetensors`"));
        put(INDEX, r#"{"weight_map": {"w": "weights.safetensors"}}"#);
        assert_eq!(stale(&["model.safetensors"]).unwrap().len(), 4);
    }

    /// Only what is not there is no error: a file is no folder that could be made or listed.
    #[test]
    fn folders_that_can_not_be() {
        let dir = tempfile::tempdir().unwrap();
        let (file, absent) = (dir.path().join("file"), dir.path().join("absent"));
        fs::write(&file, "").unwrap();
        let below = file.join("below");
        check_empty(&absent, false).unwrap();
        assert!(check_empty(&below, true).unwrap_err().to_string().contains("write into"));
        assert!(check_empty(&file, true).unwrap_err().to_string().contains("this is a file"));
        assert_eq!(stale_files(&absent, &[]).unwrap(), [""; 0]);
        assert!(stale_files(&below, &[]).unwrap_err().to_string().contains("list"));
        assert!(OutputFolder::create(&absent.join("below"), &[], false).is_err());
        remove(&absent).unwrap();
        assert!(remove(dir.path()).unwrap_err().to_string().contains("remove"));
        let folder = OutputFolder::create(&absent, &[], false).unwrap();
        folder.sync().unwrap();
        fs::remove_dir(&absent).unwrap();
        assert!(folder.sync().unwrap_err().to_string().contains("flush to disk"));
    }

    #[test]
    fn a_folder_is_complete_only_after_all_of_its_files_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        drop(OutputFolder::create(&out, &[], false).unwrap());
        assert!(!out.exists(), "nothing was published");
        let mut folder = OutputFolder::create(&out, &[], false).unwrap();
        fs::write(out.join(CONFIG), "{}").unwrap();
        folder.mark_incomplete().unwrap();
        assert!(!out.join(CONFIG).exists());
        assert!(check_complete(&out).unwrap_err().to_string().contains("incomplete"));
        let mut file = DurableFile::create(out.join("model.safetensors"), false).unwrap();
        file.append(b"whole").unwrap();
        folder.publish(&["model.safetensors".to_owned()], vec![file]).unwrap();
        check_complete(&out).unwrap();
        assert_eq!(fs::read(out.join("model.safetensors")).unwrap(), b"whole");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }
}
