//! What runs, and the folders that it fills: all that an interrupted process has to end and remove.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

#[derive(Default)]
struct Running {
    /// The processes, each the leader of a group, so that what it has started ends with it.
    leaders: Vec<u32>,
    folders: Vec<PathBuf>,
    is_stopped: bool,
}

static RUNNING: Mutex<Running> =
    Mutex::new(Running { leaders: Vec::new(), folders: Vec::new(), is_stopped: false });

fn running() -> MutexGuard<'static, Running> {
    // The lists are whole after every step.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all tools that run, with the processes that they have started, and removes their temporary
/// folders. No tool is started after that: it is for a process that is about to end.
pub fn stop() {
    let mut running = running();
    running.is_stopped = true;
    for leader in &running.leaders {
        kill_group(*leader);
    }
    for folder in std::mem::take(&mut running.folders) {
        // What is being killed may still write a file.
        for _ in 0..50 {
            if std::fs::remove_dir_all(&folder).is_ok() || !folder.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A tool that runs; it is killed where it is no longer waited for.
pub(crate) struct Process {
    pub(crate) child: Child,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut running = running();
        if running.is_stopped {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the process is ending"));
        }
        let child = command.spawn()?;
        running.leaders.push(child.id());
        Ok(Self { child })
    }

    /// Kills the process and those that it has started.
    pub(crate) fn kill(&mut self) {
        kill_group(self.child.id());
        // One that has ended by itself can't be killed, which is as good.
        let _ = self.child.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut running = running();
        running.leaders.retain(|leader| *leader != self.child.id());
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.child.wait();
        }
        if running.is_stopped {
            // What a killed tool has said is no news: the process ends meanwhile.
            drop(running);
            thread::sleep(Duration::from_secs(5));
        }
    }
}

#[cfg(unix)]
fn kill_group(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // A group that has ended can't be killed, which is as good.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_leader: u32) {}

/// A temporary folder, removed at the end or by [`stop`].
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        let mut running = running();
        let folder = tempfile::Builder::new().prefix("smallfloat-").tempdir()?;
        running.folders.push(folder.path().to_owned());
        Ok(Self(folder))
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        running().folders.retain(|folder| folder != self.0.path());
    }
}
