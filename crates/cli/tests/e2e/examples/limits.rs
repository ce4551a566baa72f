//! How the examples that run differ from those in the documents: they measure less, and write only to the folder of the
//! test.

/// An option that every example of a subcommand gets.
pub(super) struct Limit {
    /// The start of the command.
    pub(super) command: &'static str,
    pub(super) option: &'static str,
    /// Empty if the option takes no value.
    pub(super) value: &'static str,
    when: When,
}

/// Which examples of the subcommand get the option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Those that have it keep their value.
    UnlessGiven,
    /// Those that have it get this value.
    IfGiven,
}

const fn always(command: &'static str, option: &'static str, value: &'static str) -> Limit {
    Limit { command, option, value, when: When::Always }
}

const fn unless_given(command: &'static str, option: &'static str, value: &'static str) -> Limit {
    Limit { command, option, value, when: When::UnlessGiven }
}

const fn if_given(command: &'static str, option: &'static str, value: &'static str) -> Limit {
    Limit { command, option, value, when: When::IfGiven }
}

/// Measurements end when they are precise or after the blocks that an example names. Here each is made once: the
/// examples show that a command runs and what its output looks like, not figures.
pub(super) const LIMITS: &[Limit] = &[
    always("repackbench bench", "--blocks", "1"),
    always("repackbench explain", "--blocks", "1"),
    always("repackbench alternatives", "--blocks", "1"),
    always("repackbench bench", "--min-run-time", "1ms"),
    always("repackbench explain", "--min-run-time", "1ms"),
    always("repackbench alternatives", "--min-run-time", "1ms"),
    always("repackbench experiment", "--min-run-time", "1ms"),
    always("repackbench serve", "--blocks", "1"),
    always("repackbench experiment", "--blocks", "1"),
    // An experiment leaves out jobs that exceed the budget.
    always("repackbench experiment", "--time", "1s"),
    // Other tests use the caches of the machine too.
    unless_given("repackbench experiment", "--keep-caches", ""),
    always("repackbench estimate", "--time", "1s"),
    if_given("repackbench fleet", "--time", "1s"),
    // Other tests run every workload.
    unless_given("repackbench bench", "--workload", "diff:raw"),
    unless_given("repackbench alternatives", "--workload", "diff:raw"),
];

/// Words that an example runs without.
pub(super) struct LeftOut {
    /// The start of the command.
    pub(super) command: &'static str,
    pub(super) words: &'static str,
}

pub(super) const LEFT_OUT: &[LeftOut] = &[
    // Each of ten rows would check out for half a second. Other examples also check out.
    LeftOut { command: "repackbench bench jj --client stock", words: " --workload checkout" },
    // Clients are served for a given time. Other tests do that, on a smaller repository.
    LeftOut { command: "repackbench serve", words: " --clients 1,8,32" },
    LeftOut { command: "repackbench serve", words: " --clients 1,8" },
    LeftOut { command: "repackbench serve", words: " --time 7m" },
    LeftOut { command: "repackbench serve", words: " --time 5m" },
    LeftOut { command: "repackbench serve", words: " --time 4m" },
    LeftOut { command: "repackbench bench ripgrep --client stock", words: " --time 4m" },
];

/// An example that cannot work here or would take minutes. It must be understood.
pub(super) struct OnlyUnderstood {
    /// The whole command without its comment.
    pub(super) command: &'static str,
    /// A part of the error that it gives here.
    pub(super) because: &'static str,
}

pub(super) const ONLY_UNDERSTOOD: &[OnlyUnderstood] = &[
    // The repository is too small, and an ordinary user may not make such groups.
    OnlyUnderstood {
        command: "repackbench trace . --workload traverse --memory 25%,50% --check-memory /var/tmp",
        because: "memory cgroup",
    },
    // The examples of docs/experiments.md run each of these experiments. Here a file is in the place of the folder, or
    // a repository is missing.
    OnlyUnderstood { command: "repackbench experiment zlib-vs-lz4-revlog small large --output lz4", because: OCCUPIED },
    OnlyUnderstood { command: "repackbench experiment all ripgrep hgrepo --output results", because: OCCUPIED },
    OnlyUnderstood { command: "repackbench experiment all gitrepo hgrepo --output results", because: OCCUPIED },
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
    /// Whether the limit applies to an example.
    pub(super) fn concerns(&self, command: &str) -> bool {
        let Some(end) = self.end_of_subcommand(command) else { return false };
        match self.when {
            When::Always => true,
            When::UnlessGiven => !self.is_given(&command[end..]),
            When::IfGiven => self.is_given(&command[end..]),
        }
    }

    /// The command with the option: its value is replaced, or the option is added before all others.
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

/// An example with every limit that applies.
pub(super) fn limited(command: &str) -> String {
    let command = LEFT_OUT.iter().fold(command.to_owned(), |command, left_out| left_out.apply(&command));
    LIMITS.iter().fold(command, |command, limit| limit.apply(&command))
}

#[test]
fn limit_replaces_the_value_or_comes_first() {
    let limit = always("repackbench bench", "--blocks", "1");
    assert_eq!(limit.apply("repackbench bench . --blocks 12 --html x"), "repackbench bench . --blocks 1 --html x");
    assert_eq!(limit.apply("hg repackbench bench . | sort"), "hg repackbench bench --blocks 1 . | sort");
    assert_eq!(limit.apply("repackbench benches ."), "repackbench benches .");
    let limit = unless_given("repackbench experiment", "--keep-caches", "");
    assert_eq!(limit.apply("repackbench experiment all"), "repackbench experiment --keep-caches all");
    assert_eq!(limit.apply("repackbench experiment all --keep-caches"), "repackbench experiment all --keep-caches");
    let limit = if_given("repackbench fleet", "--time", "1s");
    assert_eq!(limit.apply("repackbench fleet forge --time 10s"), "repackbench fleet forge --time 1s");
    assert_eq!(limit.apply("repackbench fleet summarize x"), "repackbench fleet summarize x");
}
