//! What progress looks like.

use std::{
    collections::BTreeSet,
    fmt,
    io::IsTerminal,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use repackbench_writer::{ProgressUnit, SessionStatus};

use crate::failure::say;

/// How often the time left is shown again.
const TICK: Duration = Duration::from_secs(1);

/// How often the place of a session is printed where there is no terminal.
const LINE: Duration = Duration::from_secs(60);

/// What is shown on stderr.
pub(super) struct Display {
    form: Form,
    shown: Shown,
    /// The notes that were printed.
    notes: BTreeSet<String>,
}

enum Form {
    /// Nothing.
    Hidden,
    /// A line that changes.
    Terminal,
    /// Lines for a log.
    Lines(SessionLog),
}

enum Shown {
    Nothing,
    Step(ProgressBar),
    Session(ProgressBar, SessionPlace),
}

/// The place of a session, and when the session ends.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SessionPlace {
    place: String,
    detail: String,
    ends: Option<Instant>,
}

impl SessionPlace {
    /// The text for a line of a terminal: the most important first, as it may be cut off.
    fn text(&self, now: Instant) -> String {
        let SessionPlace { place, detail, ends } = self;
        let mut text = place.clone();
        if let Some(ends) = ends {
            text.push_str(", ");
            text.push_str(&time_left(ends.saturating_duration_since(now)));
        }
        if !detail.is_empty() {
            text.push_str(": ");
            text.push_str(detail);
        }
        text
    }
}

/// Writes how much time the step has left, which is unknown before its first progress.
fn write_left(state: &ProgressState, to: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        let _ = write!(to, ", {}", time_left(state.eta()));
    }
}

/// The lines that were printed of a session.
#[derive(Debug, Default)]
struct SessionLog {
    places: BTreeSet<String>,
    last: Option<Instant>,
}

impl SessionLog {
    /// Whether to print a line: for each place once, and once a minute.
    fn is_due(&mut self, place: &str, now: Instant) -> bool {
        let is_new = self.places.insert(place.to_owned());
        let is_due = is_new || self.last.is_none_or(|last| now.saturating_duration_since(last) >= LINE);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

impl Display {
    pub(super) fn new(quiet: bool) -> Self {
        let form = match quiet {
            true => Form::Hidden,
            false if std::io::stderr().is_terminal() => Form::Terminal,
            false => Form::Lines(SessionLog::default()),
        };
        Display { form, shown: Shown::Nothing, notes: BTreeSet::new() }
    }

    /// Whether `note` was not printed before.
    pub(super) fn is_first(&mut self, note: &str) -> bool {
        self.notes.insert(note.to_owned())
    }

    pub(super) fn start_step(&mut self, step: &str, total: u64, unit: ProgressUnit) {
        self.clear();
        if !matches!(self.form, Form::Terminal) {
            return;
        }
        let bar = ProgressBar::new(total);
        let template = match unit {
            ProgressUnit::Bytes => "{msg} [{bar:20}] {decimal_bytes}/{decimal_total_bytes}{left}",
            ProgressUnit::Items => "{msg} [{bar:20}] {pos}/{len}{left}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> ").with_key("left", write_left));
        }
        bar.set_message(step.to_owned());
        self.shown = Shown::Step(bar);
    }

    /// Advances the step. A session shows blocks and bytes in its own way.
    pub(super) fn advance(&mut self, amount: u64) {
        if let Shown::Step(bar) = &self.shown {
            bar.inc(amount);
        }
    }

    pub(super) fn show_session(&mut self, status: SessionStatus<'_>, now: Instant) {
        let SessionStatus { place, detail, left } = status;
        let ends = left.and_then(|left| now.checked_add(left));
        let place = SessionPlace { place: place.to_owned(), detail: detail.to_owned(), ends };
        let bar = match std::mem::replace(&mut self.shown, Shown::Nothing) {
            Shown::Session(bar, _) => bar,
            before => {
                self.shown = before;
                self.clear();
                let bar = ProgressBar::new_spinner();
                // The line is cut at the width of the terminal.
                if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                    bar.set_style(style);
                }
                bar
            }
        };
        self.shown = Shown::Session(bar, place);
        self.tick(now);
    }

    /// Shows how much time is left now.
    fn tick(&mut self, now: Instant) {
        let Shown::Session(bar, place) = &self.shown else { return };
        match &mut self.form {
            Form::Hidden => {}
            Form::Terminal => bar.set_message(place.text(now)),
            Form::Lines(log) => {
                if log.is_due(&place.place, now) {
                    say(format_args!("repackbench: progress: {}", place.text(now)));
                }
            }
        }
    }

    /// Removes what is shown.
    pub(super) fn clear(&mut self) {
        if let Shown::Step(bar) | Shown::Session(bar, _) = std::mem::replace(&mut self.shown, Shown::Nothing) {
            bar.finish_and_clear();
        }
    }

    /// Shows nothing more.
    pub(super) fn end(&mut self) {
        self.clear();
        self.form = Form::Hidden;
    }

    /// Lets `print` write to stderr: a line between would break the bar. What a session shows comes back.
    pub(super) fn interrupted_by(&mut self, print: impl FnOnce()) {
        match &self.shown {
            Shown::Session(bar, _) => bar.suspend(print),
            _ => {
                self.clear();
                print();
            }
        }
    }
}

/// A thread that shows the time left every second, until it is dropped.
pub(super) struct Ticker {
    /// Dropping it ends the thread.
    _end: Sender<()>,
}

impl Ticker {
    pub(super) fn start(display: &Arc<Mutex<Display>>) -> Self {
        let (end, has_ended) = mpsc::channel();
        let display = Arc::downgrade(display);
        // Without the thread, the time is only shown when something happens.
        let _ = thread::Builder::new().name("progress".to_owned()).spawn(move || {
            while has_ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let Some(display) = display.upgrade() else { return };
                display.lock().unwrap_or_else(PoisonError::into_inner).tick(Instant::now());
            }
        });
        Ticker { _end: end }
    }
}

/// How long the rest takes, rounded up; a time that is over is not "0 s".
fn time_left(left: Duration) -> String {
    let seconds = left.as_millis().div_ceil(1000);
    match seconds {
        0 => "almost done".to_owned(),
        1..120 => format!("{seconds} s left"),
        120..7200 => format!("{} min {} s left", seconds / 60, seconds % 60),
        _ => format!("{} h {} min left", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_never_zero() {
        let texts = [0, 1, 37_001, 119_000, 120_000, 7_300_000].map(|ms| time_left(Duration::from_millis(ms)));
        let expected = ["almost done", "1 s left", "38 s left", "119 s left", "2 min 0 s left", "2 h 1 min left"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn session_status_fits_80_columns() {
        let now = Instant::now();
        let place = SessionPlace {
            place: "workload 12 of 15".to_owned(),
            detail: "floor:diff:pickaxe, block 37".to_owned(),
            ends: now.checked_add(Duration::from_secs(3599)),
        };
        let text = place.text(now);
        assert_eq!(text, "workload 12 of 15, 59 min 59 s left: floor:diff:pickaxe, block 37");
        assert!(text.len() < 80);
        let step = SessionPlace { detail: String::new(), ..place.clone() };
        assert_eq!(step.text(now), "workload 12 of 15, 59 min 59 s left");
        let unknown = SessionPlace { ends: None, ..place };
        assert_eq!(unknown.text(now), "workload 12 of 15: floor:diff:pickaxe, block 37");
    }

    #[test]
    fn logs_have_a_line_a_place_and_minute() {
        let (mut log, start) = (SessionLog::default(), Instant::now());
        let mut is_due = |place: &str, seconds| log.is_due(place, start + Duration::from_secs(seconds));
        assert!(is_due("workload 1 of 2", 0) && is_due("workload 2 of 2", 10));
        assert!(!is_due("workload 1 of 2", 20) && !is_due("workload 2 of 2", 69));
        assert!(is_due("workload 1 of 2", 70) && !is_due("workload 1 of 2", 71));
    }
}
