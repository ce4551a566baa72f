//! Where the examples that are run differ from those that are printed: less is measured, and nothing outside the test's
//! folder is written to.

/// What is asked of a subcommand in every example.
pub(super) struct Limit {
    /// The words that the command begins with.
    pub(super) command: &'static str,
    pub(super) option: &'static str,
    /// Empty where the option takes none.
    pub(super) value: &'static str,
    /// What an example that has the option keeps.
    pub(super) unless_given: bool,
}

const fn always(command: &'static str, option: &'static str, value: &'static str) -> Limit {
    Limit { command, option, value, unless_given: false }
}

const fn unless_given(command: &'static str, option: &'static str, value: &'static str) -> Limit {
    Limit { command, option, value, unless_given: true }
}

/// Measurements go on until they are precise or until a number of blocks that the example names. Here each is made
/// once: the examples promise that a command runs and what its output looks like, and no figure.
pub(super) const LIMITS: &[Limit] = &[
    always("repackbench bench", "--blocks", "1"),
    always("repackbench explain", "--blocks", "1"),
    always("repackbench alternatives", "--blocks", "1"),
    always("repackbench bench", "--min-run-time", "1ms"),
    always("repackbench explain", "--min-run-time", "1ms"),
    always("repackbench alternatives", "--min-run-time", "1ms"),
    always("repackbench experiment", "--min-run-time", "1ms"),
    always("repackbench serve", "--runs", "1"),
    always("repackbench experiment", "--runs", "1"),
    // Of an experiment the jobs that do not fit are left out.
    always("repackbench experiment", "--budget", "1s"),
    // The caches of the whole machine are those of other tests, too.
    unless_given("repackbench experiment", "--keep-caches", ""),
    // Other tests run every workload.
    unless_given("repackbench bench", "--workload", "diff:raw"),
    unless_given("repackbench alternatives", "--workload", "diff:raw"),
];

/// Words that an example is run without.
pub(super) struct LeftOut {
    /// How the command begins.
    pub(super) command: &'static str,
    pub(super) words: &'static str,
}

/// Each of ten rows would check out until that took half a second. Examples of help texts check out, too.
pub(super) const LEFT_OUT: &[LeftOut] =
    &[LeftOut { command: "repackbench bench jj --client stock", words: " --workload checkout" }];

/// An example that cannot do its work here, or would take minutes. It must be understood.
pub(super) struct OnlyUnderstood {
    /// The whole command, but for a comment.
    pub(super) command: &'static str,
    /// What the program says instead of doing it.
    pub(super) because: &'static str,
}

pub(super) const ONLY_UNDERSTOOD: &[OnlyUnderstood] = &[
    // The repository is too small, and a user may not make such groups.
    OnlyUnderstood {
        command: "repackbench trace . --workload traverse --memory 25%,50% --check-memory /var/tmp",
        because: "memory cgroup",
    },
    // The examples of EXPERIMENTS.md run each of these experiments. Here a file is where the folder would be made, or a
    // repository is missing.
    OnlyUnderstood { command: "repackbench experiment zlib-vs-lz4-revlog small large --out lz4", because: OCCUPIED },
    OnlyUnderstood { command: "repackbench experiment all ripgrep hgrepo --out results", because: OCCUPIED },
    OnlyUnderstood { command: "repackbench experiment all gitrepo hgrepo --out results", because: OCCUPIED },
    OnlyUnderstood {
        command: "repackbench experiment zlib-vs-lz4-revlog small large --hg-extension DIR",
        because: "small: not a repository: there is no such file or folder",
    },
];

const OCCUPIED: &str = "File exists";

impl LeftOut {
    pub(super) fn concerns(&self, command: &str) -> bool {
        command.starts_with(self.command) && command.contains(self.words)
    }

    fn apply(&self, command: &str) -> String {
        if self.concerns(command) { command.replace(self.words, "") } else { command.to_owned() }
    }
}

impl OnlyUnderstood {
    pub(super) fn is(&self, command: &str) -> bool {
        command.split("  #").next().is_some_and(|command| command == self.command)
    }
}

impl Limit {
    /// Whether an example has such a command.
    pub(super) fn concerns(&self, command: &str) -> bool {
        let Some(end) = self.end_of_subcommand(command) else { return false };
        !(self.unless_given && self.is_given(&command[end..]))
    }

    /// The command with the option set to the value: in place of the one that it has, or before all others.
    pub(super) fn apply(&self, command: &str) -> String {
        let Some(end) = self.end_of_subcommand(command).filter(|_| self.concerns(command)) else {
            return command.to_owned();
        };
        let (before, after) = command.split_at(end);
        if !self.is_given(after) {
            return format!("{before} {}{after}", format!("{} {}", self.option, self.value).trim_end());
        }
        let mut words: Vec<&str> = after.split(' ').collect();
        let option = words.iter().position(|word| *word == self.option).expect("the option");
        words[option + 1] = self.value;
        format!("{before}{}", words.join(" "))
    }

    fn end_of_subcommand(&self, command: &str) -> Option<usize> {
        let end = command.find(self.command)? + self.command.len();
        command[end..].starts_with(' ').then_some(end)
    }

    fn is_given(&self, options: &str) -> bool {
        options.split_whitespace().any(|word| word == self.option)
    }
}

/// The commands of an example with every limit that concerns them.
pub(super) fn limited(command: &str) -> String {
    let command = LEFT_OUT.iter().fold(command.to_owned(), |command, left_out| left_out.apply(&command));
    LIMITS.iter().fold(command, |command, limit| limit.apply(&command))
}

#[test]
fn a_limit_takes_the_place_of_the_value_or_comes_first() {
    let limit = always("repackbench bench", "--blocks", "1");
    assert_eq!(limit.apply("repackbench bench . --blocks 12 --html x"), "repackbench bench . --blocks 1 --html x");
    assert_eq!(limit.apply("hg repackbench bench . | sort"), "hg repackbench bench --blocks 1 . | sort");
    assert_eq!(limit.apply("repackbench benches ."), "repackbench benches .");
    let limit = unless_given("repackbench experiment", "--keep-caches", "");
    assert_eq!(limit.apply("repackbench experiment all"), "repackbench experiment --keep-caches all");
    assert_eq!(limit.apply("repackbench experiment all --keep-caches"), "repackbench experiment all --keep-caches");
}
