//! Ctrl-C and its relatives: what is half written goes before the process does.

use std::fs;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use smallfloat_tensor::remove_temporaries;

/// Waits for signals in a thread of its own. A second signal ends the process at once.
pub(crate) fn remove_temporaries_when_told_to_stop() {
    let ignored = ignored_signals();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    // Without the thread a stopped run leaves its temporary, as a killed one does.
    let Ok(mut signals) = Signals::new(wanted) else { return };
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            thread::spawn(move || {
                if let Some(second) = signals.forever().next() {
                    let _ = emulate_default_handler(second);
                }
            });
            remove_temporaries();
            // As if there were no handler, so that the shell sees what ended the process.
            let _ = emulate_default_handler(signal);
        }
    });
}

/// The signals that whoever started the process has it ignore, as `nohup` does: a bit for each,
/// from signal 1 on. They stay ignored. Only Linux tells.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
