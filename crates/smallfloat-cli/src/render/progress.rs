//! Progress bars on standard error, where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use smallfloat_tensor::Progress;

use crate::render::text as words;

/// The bar of one job; it disappears with it.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        Self(bar(0, "{bar:25.cyan/dim} {percent:>3}%  {decimal_bytes_per_sec:>12}  {eta:>4} left  {msg}"))
    }

    pub(crate) fn update(&self, progress: Progress<'_>) {
        match progress {
            Progress::Start(bytes) => self.0.set_length(bytes),
            Progress::Tensor(name) => self.0.set_message(words::tensor_name(name, 40)),
            Progress::Bytes(bytes) => self.0.inc(bytes),
            Progress::Verify => {
                self.0.set_message("verifying");
                self.0.enable_steady_tick(Duration::from_millis(200));
            }
            _ => {}
        }
    }
}

/// Hidden by itself where standard error is no terminal.
fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    bar.with_style(style(template))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a template of ours").progress_chars("━╸─")
}

/// The template of things that are counted.
const INPUTS: &str = "{bar:25.cyan/dim} {percent:>3}%  {per_sec:>16}  {eta:>4} left";

/// The bar of a sweep over calls; any thread may count. It disappears with the sweep.
pub(crate) struct Counter(ProgressBar);

impl Counter {
    pub(crate) fn new(calls: u64) -> Self {
        Self(bar(calls, INPUTS))
    }

    pub(crate) fn add(&self, calls: u64) {
        self.0.inc(calls);
    }
}

/// What a proof is at: how long a solver has worked, then how many inputs are simulated. It
/// disappears with the proof.
pub(crate) struct ProofBar(ProgressBar);

impl ProofBar {
    /// A solver works for at most this long.
    pub(crate) fn new(timeout: Duration) -> Self {
        let bar = bar(0, "{spinner} solving, {elapsed} of at most {msg}");
        bar.set_message(format!("{} s", timeout.as_secs()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// So many inputs of so many are simulated.
    pub(crate) fn simulated(&self, inputs: u64, of: u64) {
        if self.0.length() != Some(of) {
            self.0.disable_steady_tick();
            self.0.set_length(of);
            self.0.reset_elapsed();
            self.0.set_style(style(INPUTS));
        }
        self.0.set_position(inputs);
    }
}

/// The bar of a training run; it disappears with it.
#[cfg(feature = "train")]
pub(crate) struct Ticker(ProgressBar);

#[cfg(feature = "train")]
impl Ticker {
    pub(crate) fn new(steps: u64, done: u64) -> Self {
        let bar = bar(steps, "{bar:25.cyan/dim} {pos}/{len}  {eta:>4} left  {msg}").with_position(done);
        bar.reset_eta();
        Self(bar)
    }

    pub(crate) fn update(&self, step: u64, message: &str) {
        self.0.set_position(step);
        self.0.set_message(message.to_owned());
    }
}

#[cfg(feature = "train")]
impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
