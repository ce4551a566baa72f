//! Progress on stderr, if that is a terminal.

use std::{
    io::IsTerminal,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use indicatif::{ProgressBar, ProgressStyle};
use repackbench_writer::{Progress, ProgressUnit};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::failure::{INTERRUPTED, print_note};

/// A progress bar with rate and remaining time, or none. It also handles the signals that interrupt a job.
pub(crate) struct Bar {
    bar: Option<Mutex<ProgressBar>>,
    quiet: bool,
    interrupted: Arc<AtomicBool>,
}

impl Bar {
    pub(crate) fn new(quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        let interrupted = Arc::new(AtomicBool::new(false));
        // The first signal ends the job in an orderly way, so that no half of a variant is left. The second ends the
        // program at once: its handler is registered first and sees the flag that the first signal set. If no handler
        // can be set, the first signal ends the program.
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let _ = flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&interrupted))
                .and_then(|_| flag::register(signal, Arc::clone(&interrupted)));
        }
        Bar { quiet, bar: shown.then(|| Mutex::new(ProgressBar::hidden())), interrupted }
    }

    fn with(&self, act: impl FnOnce(&mut ProgressBar)) {
        if let Some(bar) = &self.bar
            && let Ok(mut bar) = bar.lock()
        {
            act(&mut bar);
        }
    }
}

impl Progress for Bar {
    fn start(&self, step: &str, total: u64, unit: ProgressUnit) {
        self.with(|bar| {
            *bar = ProgressBar::new(total);
            let template = match unit {
                ProgressUnit::Bytes => "{msg} [{bar:30}] {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left",
                ProgressUnit::Items => "{msg} [{bar:30}] {pos}/{len} {eta} left",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message(step.to_owned());
        });
    }

    fn advance(&self, amount: u64) {
        self.with(|bar| bar.inc(amount));
    }

    fn finish(&self) {
        self.with(|bar| bar.finish_and_clear());
    }

    fn note(&self, note: &str) {
        if self.quiet {
            return;
        }
        // The note would break the line of the bar.
        self.with(|bar| bar.finish_and_clear());
        print_note(note);
    }

    fn is_cancelled(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
