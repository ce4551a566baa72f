//! The tests of git that are expected to fail on variants, each with its reason.

use std::collections::BTreeMap;

use crate::process::{Failure, Outcome};

/// Lines `SCRIPT: TITLE`, one for each test. A line that begins with `#` is the reason for the tests below it.
const TEXT: &str = include_str!("explained.txt");

/// The reasons, by script and title.
#[derive(Debug)]
pub(super) struct Explained {
    reasons: BTreeMap<(String, String), String>,
}

impl Explained {
    /// The list of this checkout.
    pub(super) fn known() -> Outcome<Self> {
        Explained::of(TEXT)
    }

    fn of(text: &str) -> Outcome<Self> {
        let mut reasons = BTreeMap::new();
        let mut reason = None;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(text) = line.strip_prefix("# ") {
                reason = Some(text.to_owned());
                continue;
            }
            let found = line.split_once(": ").zip(reason.clone());
            let ((script, title), reason) = found.ok_or_else(|| {
                Failure(format!("explained.txt: expected `SCRIPT: TITLE` below a reason, found {line:?}"))
            })?;
            reasons.insert((script.to_owned(), title.to_owned()), reason);
        }
        Ok(Explained { reasons })
    }

    /// Whether a test is expected to fail.
    pub(super) fn has(&self, script: &str, test: &str) -> bool {
        self.reasons.contains_key(&(script.to_owned(), test.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_follow_their_reason() {
        let explained = Explained::of("# A reason.\nt1-a.sh: title: more\n\n# Another.\nt2-b.sh: other\n").unwrap();
        assert!(explained.has("t1-a.sh", "title: more"));
        assert!(!explained.has("t2-b.sh", "title: more"));
        assert!(Explained::of("t1-a.sh: title\n").is_err(), "without a reason");
        assert!(Explained::of("# A reason.\nno title\n").is_err());
        assert!(Explained::known().is_ok());
    }
}
