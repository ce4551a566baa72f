//! `diff`: the output for two files of results.

use super::command;
use super::golden_file::assert_text;
use super::program::{exit, run};

/// Makes a test of each comparison.
macro_rules! comparisons {
    ($($name:ident: $words:expr, $code:expr;)+) => {
        /// Every comparison.
        pub(crate) const COMPARISONS: &[&str] = &[$(stringify!($name)),+];

        $(
            #[test]
            fn $name() {
                let outcome = run(command().arg("diff").args($words)).exits($code);
                assert_eq!(outcome.stderr, "");
                assert_text(stringify!($name), "plain", &outcome.text());
            }
        )+
    };
}

comparisons! {
    compared_ratios: &["schema_1_git.jsonl", "git_later.jsonl"], exit::OK;
    compared_times: &["--absolute", "schema_1_git.jsonl", "git_later.jsonl"], exit::OK;
    compared_for_a_gate: &["--gate", "1%", "schema_1_git.jsonl", "git_later.jsonl"], exit::REGRESSION;
    compared_with_itself: &["--gate", "1%", "git_verdicts.jsonl", "git_verdicts.jsonl"], exit::OK;
}
