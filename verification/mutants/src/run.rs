//! Runs the tests: each alone to learn which mutants it meets, then each mutant with those that
//! meet it, quickest first, until one fails.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use crate::list::Mutant;

/// A test, and what it takes.
pub(crate) struct Test {
    executable: PathBuf,
    folder: PathBuf,
    name: String,
    pub(crate) seconds: f64,
    met: Vec<u32>,
}

/// What became of a mutant.
pub(crate) enum Outcome {
    /// A test fails.
    Caught(String),
    /// A test does not end.
    Hangs(String),
    /// So many tests meet it and pass.
    Missed(usize),
    /// No test meets it at run time.
    Unmet,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(test) => write!(f, "caught by {test}"),
            Self::Hangs(test) => write!(f, "hangs {test}"),
            Self::Missed(tests) => write!(f, "missed by {tests}"),
            Self::Unmet => f.write_str("unmet"),
        }
    }
}

/// The tests of all executables whose paths contain one of some parts (all tests without parts),
/// with the mutants that they meet.
pub(crate) fn tests(
    executables: &[(PathBuf, PathBuf)],
    parts: &[String],
    scratch: &Path,
    jobs: usize,
) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for (executable, folder) in executables {
        let listed = Command::new(executable)
            .args(["--list", "--format=terse"])
            .args(parts)
            .current_dir(folder)
            .output()?;
        let listed = String::from_utf8(listed.stdout)?;
        for name in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
            let (executable, folder) = (executable.clone(), folder.clone());
            tests.push(Test { executable, folder, name: name.to_owned(), seconds: 0.0, met: Vec::new() });
        }
    }
    let bar = ProgressBar::new(tests.len() as u64);
    let learnt = parallel(tests.len(), jobs, |index| {
        let record = scratch.join(format!("met-{index}"));
        let _ = fs::remove_file(&record);
        let start = Instant::now();
        let status = tests[index].command().env("MUTANTS_MET", &record).status()?;
        if !status.success() {
            bail!("{} fails without a mutant", tests[index].name);
        }
        bar.inc(1);
        let met = fs::read_to_string(&record).unwrap_or_default();
        let met = met.lines().map(str::parse).collect::<Result<Vec<u32>, _>>()?;
        let _ = fs::remove_file(&record);
        Ok((start.elapsed().as_secs_f64(), met))
    })?;
    bar.finish_and_clear();
    for (test, (seconds, met)) in tests.iter_mut().zip(learnt) {
        (test.seconds, test.met) = (seconds, met);
    }
    tests.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(tests)
}

/// What becomes of `mutants`, in their order; `log` takes a line for each as soon as it is known.
pub(crate) fn outcomes(mutants: &[&Mutant], tests: &[Test], jobs: usize, log: &Path) -> Result<Vec<Outcome>> {
    let mut meet: BTreeMap<u32, Vec<&Test>> = BTreeMap::new();
    for test in tests {
        for &id in &test.met {
            meet.entry(id).or_default().push(test);
        }
    }
    let log = File::create(log).with_context(|| log.display().to_string())?;
    let bar = ProgressBar::new(mutants.len() as u64);
    let all = parallel(mutants.len(), jobs, |index| {
        let id = mutants[index].id;
        let outcome = match meet.get(&id) {
            None => Outcome::Unmet,
            Some(tests) => first_failure(id, tests)?,
        };
        writeln!(&log, "{outcome}\t{}", mutants[index].name)?;
        bar.inc(1);
        Ok(outcome)
    });
    bar.finish_and_clear();
    all
}

fn first_failure(id: u32, tests: &[&Test]) -> Result<Outcome> {
    for test in tests {
        match test.passes(id)? {
            Some(true) => {}
            Some(false) => return Ok(Outcome::Caught(test.name.clone())),
            None => return Ok(Outcome::Hangs(test.name.clone())),
        }
    }
    Ok(Outcome::Missed(tests.len()))
}

impl Test {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.args(["--exact", &self.name, "--test-threads=1"]).current_dir(&self.folder);
        command.env("CARGO_MANIFEST_DIR", &self.folder).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns whether it passes with a mutant. Nothing where it takes twenty times as long as it
    /// should.
    fn passes(&self, id: u32) -> Result<Option<bool>> {
        let limit = Duration::from_secs_f64(self.seconds * 20.0 + 5.0);
        let start = Instant::now();
        let mut child = self.command().env("MUTANT", id.to_string()).spawn().context("starting a test")?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status.success()));
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The results of `work` for 0..count, by so many threads.
fn parallel<T: Send>(count: usize, jobs: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = work(index);
                    results.lock().expect("no thread panics with it").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics with it");
    results.sort_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}
