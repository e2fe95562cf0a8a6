//! Ctrl-C and its relatives: what is half written goes before the process does.

use std::fs;
#[cfg(feature = "explore")]
use std::sync::atomic::{AtomicBool, Ordering};
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
        let ends = signals.forever().find(|signal| !is_left_to_the_command(*signal));
        if let Some(signal) = ends {
            thread::spawn(move || {
                if let Some(second) = signals.forever().next() {
                    let _ = emulate_default_handler(second);
                }
            });
            smallfloat_rtl::stop();
            remove_temporaries();
            // As if there were no handler, so that the shell sees what ended the process.
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Whether the command itself ends at Ctrl-C, its work done.
#[cfg(feature = "explore")]
static INTERRUPTS_ARE_THE_COMMANDS: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C is no reason to stop here: the command has a handler of its own.
#[cfg(feature = "explore")]
pub(crate) fn leave_interrupts_to_the_command() {
    INTERRUPTS_ARE_THE_COMMANDS.store(true, Ordering::SeqCst);
}

#[cfg(feature = "explore")]
fn is_left_to_the_command(signal: i32) -> bool {
    signal == SIGINT && INTERRUPTS_ARE_THE_COMMANDS.load(Ordering::SeqCst)
}

#[cfg(not(feature = "explore"))]
fn is_left_to_the_command(_signal: i32) -> bool {
    false
}

/// The signals that whoever started the process has it ignore, as `nohup` does: a bit for each,
/// from signal 1 on. They stay ignored. Only Linux tells.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
