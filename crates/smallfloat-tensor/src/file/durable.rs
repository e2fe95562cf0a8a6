//! Files that are either the old one or the new one, whole.
//!
//! A [`DurableFile`] is written under a temporary name in the folder of its destination.
//! [`DurableFile::commit`] flushes it to the disk, gives it its permissions, renames it over the
//! destination in one step and flushes the folder. Until then, whatever happens, the destination is
//! untouched; an error or a drop removes the temporary. A killed process leaves it behind under a
//! name that [`leftovers`] finds. While a process works on a temporary it holds the system's lock
//! on it, so that work in progress is not taken for a leftover.
//!
//! Details that are easy to get wrong: permissions are those of the file that is replaced, and
//! otherwise what the process's umask leaves (temporary files by default are for the owner alone);
//! a symbolic link stays a link and its target is replaced; without leave to overwrite, a file that
//! appeared in the meantime is not replaced either; the rename disturbs nobody who still reads the
//! old file, so that an input may be its own output.

use std::ffi::OsString;
#[cfg(unix)]
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;
use tempfile::{Builder, NamedTempFile};

use crate::error::{Error, Result, quoted_path};
use crate::file::input::{read_exact_at, write_all_at};
use crate::file::temporaries;
use crate::file::temporaries::Registered;

/// What marks a temporary of ours, between the destination's name and the random part.
const MARK: &str = ".smallfloat-";

/// How the name of a temporary ends.
const SUFFIX: &str = ".tmp";

/// Bytes of the destination's name that its temporary's name keeps; file systems allow 255 in all.
const KEPT_NAME: usize = 200;

/// A file that appears whole or not at all.
#[derive(Debug)]
pub struct DurableFile {
    temporary: NamedTempFile,
    registered: Registered,
    /// Where the file goes, symbolic links followed.
    target: PathBuf,
    /// The path as given, for messages.
    path: PathBuf,
    overwrite: bool,
    /// Where [`append`](Self::append) goes on.
    end: u64,
}

impl DurableFile {
    /// Begins a file that will stand at `path`.
    ///
    /// # Errors
    ///
    /// If the path exists and `overwrite` is false, if it is something other than a regular file,
    /// if its folder does not exist, or if a temporary can't be made there.
    pub fn create(path: impl AsRef<Path>, overwrite: bool) -> Result<Self> {
        let path = path.as_ref();
        let target = resolve(path)?;
        check_target(path, &target, overwrite)?;
        let folder = folder_of(&target);
        let name = target.file_name().unwrap_or_default();
        let mut builder = Builder::new();
        let prefix = temporary_prefix(&name.to_string_lossy());
        builder.prefix(&prefix).suffix(SUFFIX);
        // What a plain file would get: the kernel takes the umask off.
        #[cfg(unix)]
        builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
        let (temporary, registered) =
            temporaries::make(|| builder.tempfile_in(folder), |file| file.path().to_path_buf())
                .map_err(|e| Error::io("make a temporary file beside", path, e))?;
        // The system lets go of it when we die. Where there are no locks, `leftovers` names live
        // files too.
        #[cfg(unix)]
        let _ = temporary.as_file().try_lock();
        Ok(Self { temporary, registered, target, path: path.to_path_buf(), overwrite, end: 0 })
    }

    /// Returns the path that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the file is until it is committed; it may be read there.
    pub fn temporary_path(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes after what was appended before.
    ///
    /// # Errors
    ///
    /// If writing fails; [`Error::is_no_space`] tells a full disk.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_at(self.end, bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Writes at a position. Shares no cursor: threads may write at once.
    ///
    /// # Errors
    ///
    /// If writing fails; [`Error::is_no_space`] tells a full disk.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        write_all_at(self.temporary.as_file(), bytes, offset).map_err(|e| Error::io("write", &self.path, e))
    }

    /// A writer that begins at a byte.
    pub(crate) fn writer_at(&self, offset: u64) -> impl io::Write + '_ {
        struct WriterAt<'a>(&'a fs::File, u64);
        impl io::Write for WriterAt<'_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                write_all_at(self.0, bytes, self.1)?;
                self.1 += bytes.len() as u64;
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        WriterAt(self.temporary.as_file(), offset)
    }

    /// Reads back what was written.
    ///
    /// # Errors
    ///
    /// If there are not so many bytes there, or reading fails.
    pub fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        read_exact_at(self.temporary.as_file(), buf, offset)
            .map_err(|e| Error::io("read back", &self.path, e))
    }

    /// Sets the length; what was not written reads as zeros.
    ///
    /// # Errors
    ///
    /// If the file system refuses the length.
    pub fn set_len(&self, len: u64) -> Result<()> {
        self.temporary.as_file().set_len(len).map_err(|e| Error::io("set the length of", &self.path, e))
    }

    /// Flushes what was written to the disk.
    ///
    /// # Errors
    ///
    /// If the system can't promise that it is there.
    pub fn sync(&self) -> Result<()> {
        self.temporary.as_file().sync_all().map_err(|e| Error::io("flush to disk", &self.path, e))
    }

    /// Makes the file appear under its name: permissions, flush, rename, flush of the folder.
    ///
    /// # Errors
    ///
    /// If any of these fails. The old file then is untouched and the temporary is removed; only
    /// where the last step fails is the new file in place, without a promise that it outlives a
    /// power cut, and the message says so.
    pub fn commit(self) -> Result<()> {
        check_target(&self.path, &self.target, self.overwrite)?;
        if let Ok(old) = fs::metadata(&self.target) {
            self.inherit(&old)?;
        }
        self.sync()?;
        let folder = folder_of(&self.target).to_path_buf();
        let Self { temporary, registered, target, path, overwrite, .. } = self;
        let renamed = temporaries::uninterrupted(|| {
            if overwrite {
                replace(temporary, &target)
            } else {
                temporary.persist_noclobber(&target).map(drop).map_err(|e| e.error)
            }
        });
        drop(registered);
        renamed.map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => Error::exists(&path),
            _ => Error::io("rename the finished temporary file to", &path, e),
        })?;
        // No matter of room, even where the system calls it that: the file is there.
        sync_folder(&folder)
            .map_err(io::Error::other)
            .map_err(|e| Error::io("flush to disk the folder (the file itself is in place) of", &path, e))
    }

    /// Takes over the permissions of the file to be replaced, and its owner where the system lets
    /// us.
    fn inherit(&self, old: &fs::Metadata) -> Result<()> {
        let file = self.temporary.as_file();
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            let owners = |m: &fs::Metadata| (m.uid(), m.gid());
            let differs = file.metadata().map_or(true, |new| owners(&new) != owners(old));
            if differs {
                // Only root may give files away; for everybody else the new file is simply their
                // own.
                let _ = fchown(file, Some(old.uid()), Some(old.gid()));
            }
        }
        file.set_permissions(old.permissions())
            .map_err(|e| Error::io("set the permissions of", &self.path, e))
    }
}

/// Appends, as [`append`](DurableFile::append) does.
impl io::Write for DurableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a small file, such as a report or a picture, so that it appears whole or not at all.
///
/// # Errors
///
/// As [`DurableFile::create`] and [`DurableFile::commit`].
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("report.json");
/// smallfloat_tensor::write_file_durably(&path, b"{}", false)?;
/// assert!(smallfloat_tensor::write_file_durably(&path, b"[]", false).unwrap_err().is_exists());
/// assert_eq!(std::fs::read(&path).unwrap(), b"{}");
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
pub fn write_file_durably(path: impl AsRef<Path>, bytes: &[u8], overwrite: bool) -> Result<()> {
    let mut file = DurableFile::create(path, overwrite)?;
    file.append(bytes)?;
    file.commit()
}

/// Writes a folder that appears whole or not at all: `fill` writes its files into a temporary
/// folder beside `path`, which is removed if that fails, or if the process is [told to
/// stop](crate::remove_temporaries).
///
/// # Errors
///
/// If the path exists, if the folder can't be made beside it or renamed, and what `fill` returns.
pub fn write_folder_durably<T, E: From<Error>>(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&Path) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let path = path.as_ref();
    if fs::symlink_metadata(path).is_ok() {
        return Err(Error::exists(path).into());
    }
    let prefix = temporary_prefix(&path.file_name().unwrap_or_default().to_string_lossy());
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    // What a plain folder would get: the kernel takes the umask off.
    #[cfg(unix)]
    builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777));
    let make = || builder.tempdir_in(folder_of(path));
    let (folder, registered) = temporaries::make(make, |folder| folder.path().to_path_buf())
        .map_err(|e| Error::io("make a temporary folder beside", path, e))?;
    let filled = fill(folder.path())?;
    let renamed = temporaries::uninterrupted(|| {
        fs::rename(folder.path(), path)?;
        // Nothing is left to remove.
        let _ = folder.keep();
        Ok(())
    });
    drop(registered);
    renamed
        .and_then(|()| sync_folder(folder_of(path)))
        .map_err(|e| Error::io("rename the finished temporary folder to", path, e))?;
    Ok(filled)
}

/// Writes a value as indented JSON, as [`write_file_durably`] does bytes. The text, which may be
/// long, is never held as a whole.
///
/// # Errors
///
/// As for `write_file_durably`.
///
/// # Panics
///
/// If the value can't be JSON: a map whose keys are no text, or a `Serialize` that fails.
pub fn write_json_durably(path: impl AsRef<Path>, value: &impl Serialize, overwrite: bool) -> Result<()> {
    let file = DurableFile::create(path, overwrite)?;
    let mut out = io::BufWriter::with_capacity(1 << 16, file.writer_at(0));
    let io = |e| Error::io("write", file.path(), e);
    if let Err(error) = serde_json::to_writer_pretty(&mut out, value) {
        assert!(error.is_io(), "the value can't be JSON: {error}");
        return Err(io(error.into()));
    }
    out.write_all(b"\n").and_then(|()| out.flush()).map_err(io)?;
    drop(out);
    file.commit()
}

/// Returns the temporary files that killed runs left beside the output `path`, or, where that is a
/// folder, in it: sorted. Nobody works on them, they may be removed. On file systems without locks,
/// the file of a run that is still at work is among them.
///
/// # Errors
///
/// If the folder can't be listed.
pub fn leftovers(path: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let path = path.as_ref();
    let target = resolve(path)?;
    let (folder, prefix) = if target.is_dir() {
        (&*target, None)
    } else {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        (folder_of(&target), Some(temporary_prefix(&name)))
    };
    let listing = |e| Error::io("list the folder of", path, e);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(listing)? {
        let entry = entry.map_err(listing)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let of_ours = match &prefix {
            Some(prefix) => name.strip_prefix(&**prefix),
            None => name.strip_prefix('.').and_then(|rest| Some(rest.rsplit_once(MARK)?.1)),
        };
        // The random part has no dots, so the names of other outputs don't match.
        let random = of_ours.and_then(|rest| rest.strip_suffix(SUFFIX));
        if random
            .is_some_and(|random| !random.is_empty() && random.bytes().all(|b| b.is_ascii_alphanumeric()))
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && !is_locked(&entry.path())
        {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Renames a finished temporary over its target; removes it where that fails.
#[cfg(unix)]
fn replace(temporary: NamedTempFile, target: &Path) -> io::Result<()> {
    // The C library's rename and not the bare system call of `persist`: fault tests stand between
    // us and the library.
    let path = temporary.into_temp_path();
    fs::rename(&path, target)?;
    path.keep().map(drop).map_err(|e| e.error)
}

#[cfg(not(unix))]
fn replace(temporary: NamedTempFile, target: &Path) -> io::Result<()> {
    temporary.persist(target).map(drop).map_err(|e| e.error)
}

/// Returns whether a process that lives holds this temporary.
#[cfg(unix)]
fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

#[cfg(not(unix))]
fn is_locked(_path: &Path) -> bool {
    false
}

/// Whether an output may be begun at `path`: the checks of [`DurableFile::create`] without making
/// anything, so that a long job can refuse before it reads its input.
///
/// # Errors
///
/// If the path exists and `overwrite` is false, or if it is something other than a regular file.
pub fn check_output(path: impl AsRef<Path>, overwrite: bool) -> Result<()> {
    let path = path.as_ref();
    check_target(path, &resolve(path)?, overwrite)
}

fn temporary_prefix(name: &str) -> String {
    let mut room = KEPT_NAME;
    let kept: String = name
        .chars()
        .take_while(|c| {
            let fits = c.len_utf8() <= room;
            room = room.saturating_sub(c.len_utf8());
            fits
        })
        .collect();
    format!(".{kept}{MARK}")
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Follows a symbolic link, so that its target is replaced and not the link.
fn resolve(path: &Path) -> Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_symlink() => {
            fs::canonicalize(path).map_err(|e| Error::io("follow the symbolic link", path, e))
        }
        _ => Ok(path.to_path_buf()),
    }
}

fn check_target(path: &Path, target: &Path, overwrite: bool) -> Result<()> {
    let trailing: OsString = target.components().as_path().into();
    if target.file_name().is_none() || trailing.len() != target.as_os_str().len() {
        return Err(Error::unsupported(
            path,
            "the output must be named as a file, without a slash at the end",
        ));
    }
    match fs::metadata(target) {
        Ok(found) if found.is_dir() => Err(Error::unsupported(path, "this is a folder; name a file in it")),
        Ok(found) if !found.is_file() => Err(Error::unsupported(
            path,
            "the output is not a regular file; it is written by replacing it, so name a file",
        )),
        Ok(_) if !overwrite => Err(Error::exists(path)),
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let folder = folder_of(target);
            if folder.is_dir() {
                Ok(())
            } else {
                let what = format!("the folder {} does not exist; make it first", quoted_path(folder));
                Err(Error::refused(Some(path), None, what))
            }
        }
        Err(e) => Err(Error::io("look at", path, e)),
    }
}

#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems can't flush a folder and say so in one of these ways.
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_drop_removes_the_temporary_and_a_commit_renames_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.json");
        let mut file = DurableFile::create(&path, false).unwrap();
        file.append(b"half").unwrap();
        #[cfg(unix)]
        assert!(leftovers(&path).unwrap().is_empty(), "we are still at work");
        // What a killed process leaves: the file without the process.
        let temporary = file.temporary_path().to_path_buf();
        std::mem::forget(file.temporary.into_temp_path());
        assert_eq!(leftovers(&path).unwrap(), [&*temporary]);
        assert!(leftovers(dir.path().join("other.json")).unwrap().is_empty());
        fs::remove_file(temporary).unwrap();
        drop(DurableFile::create(&path, false).unwrap());
        assert!(names(dir.path()).is_empty());
        write_file_durably(&path, b"whole", false).unwrap();
        assert_eq!(names(dir.path()), ["out.json"]);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_folder_is_whole_or_absent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack");
        let fill = |folder: &Path| write_file_durably(folder.join("a"), b"1", false);
        let failed = write_folder_durably(&path, |folder| {
            fill(folder)?;
            assert!(!path.exists() && names(dir.path()).len() == 1);
            Err::<(), _>(Error::unsupported(folder, "no more"))
        });
        assert!(failed.unwrap_err().to_string().contains("no more") && names(dir.path()).is_empty());
        write_folder_durably(&path, fill).unwrap();
        assert_eq!((names(dir.path()), names(&path)), (vec!["pack".to_owned()], vec!["a".to_owned()]));
        assert!(write_folder_durably(&path, fill).unwrap_err().is_exists());
        #[cfg(unix)]
        {
            // As a plain folder has them, by the umask.
            let plain = dir.path().join("plain");
            fs::create_dir(&plain).unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions();
            assert_eq!(mode(&path), mode(&plain));
        }
    }

    #[test]
    fn an_existing_output_needs_leave() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        let error = write_file_durably(&path, b"new", false).unwrap_err();
        assert!(error.is_exists() && error.to_string().contains("exists already"), "{error}");
        assert!(check_output(&path, false).unwrap_err().is_exists());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write_file_durably(&path, b"new", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["out"]);
    }

    #[test]
    fn an_output_that_appears_in_the_meantime_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let file = DurableFile::create(&path, false).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(file.commit().unwrap_err().is_exists());
        assert_eq!(
            (names(dir.path()), fs::read(&path).unwrap()),
            (vec!["out".to_owned()], b"theirs".to_vec())
        );
    }

    #[test]
    fn folders_slashes_and_missing_folders_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let cases = [
            (dir.path().to_path_buf(), "this is a folder"),
            (dir.path().join("a/"), "without a slash"),
            (dir.path().join(".."), "named as a file"),
            (PathBuf::new(), "named as a file"),
            (dir.path().join("missing/out"), "does not exist; make it first"),
        ];
        for (path, part) in cases {
            let error = write_file_durably(&path, b"", true).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(names(dir.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_never_replaced() {
        let error = write_file_durably("/dev/full", b"x", true).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_full_disk_is_an_error_that_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        let mut file = DurableFile::create(&path, true).unwrap();
        // The same temporary name, but every write to the open file finds the disk full.
        let full = fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let (_, name) = file.temporary.into_parts();
        file.temporary = NamedTempFile::from_parts(full, name);
        let error = file.append(b"new").unwrap_err();
        assert!(error.is_no_space(), "{error:?}");
        assert!(
            error.to_string().contains("no room to write") && error.to_string().contains("out`"),
            "{error}"
        );
        drop(file);
        assert_eq!((names(dir.path()), fs::read(&path).unwrap()), (vec!["out".to_owned()], b"old".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_the_old_files_or_what_the_umask_leaves() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let (plain, ours) = (dir.path().join("plain"), dir.path().join("ours"));
        fs::write(&plain, "").unwrap();
        write_file_durably(&ours, b"1", false).unwrap();
        assert_eq!(mode(&ours), mode(&plain));
        for bits in [0o640, 0o400, 0o777] {
            fs::set_permissions(&ours, fs::Permissions::from_mode(bits)).unwrap();
            write_file_durably(&ours, b"2", true).unwrap();
            assert_eq!(mode(&ours), bits);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_stays_and_its_target_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("there")).unwrap();
        let (target, link) = (dir.path().join("there/real"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(write_file_durably(&link, b"new", false).unwrap_err().is_exists());
        write_file_durably(&link, b"new", true).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let dangling = dir.path().join("dangling");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &dangling).unwrap();
        let error = write_file_durably(&dangling, b"", true).unwrap_err();
        assert!(error.to_string().contains("follow the symbolic link"), "{error}");
    }

    #[test]
    fn long_and_odd_names_get_a_temporary_that_fits() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), "é".repeat(127), ".hidden".into(), "a b\nc".into()] {
            let path = dir.path().join(&name);
            write_file_durably(&path, b"1", false).unwrap();
            fs::remove_file(path).unwrap();
        }
    }
}
