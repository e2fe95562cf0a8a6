//! A progress bar on standard error, where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use smallfloat_tensor::Progress;

use crate::words;

/// The bar of one job; it disappears with it.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        // Hidden by itself where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = "{bar:25.cyan/dim} {percent:>3}%  {decimal_bytes_per_sec:>12}  {eta:>4} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self(bar)
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
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
