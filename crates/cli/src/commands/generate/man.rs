//! Man pages: one of the program, one for each subcommand, and one for `git help repackbench`.

use std::path::PathBuf;

use clap::{Args, Command, builder::StyledStr};
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::Generated;
use crate::{
    failure::{Failure, USAGE},
    help::{GROUPS, commands_of},
};

const PROGRAM: &str = env!("CARGO_BIN_NAME");
/// The section of programs.
const SECTION: &str = "1";
/// The name of the page that `git help repackbench` shows.
const GIT: &str = "git-repackbench";
/// The line of a help text that starts its examples.
const EXAMPLES: &str = "Examples:";

/// Print a man page
///
/// The page is in the format that `man` reads: repackbench man bench > bench.1; man ./bench.1
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Command whose page to print, such as bench or cache list [default: the program].
    command: Vec<String>,
}

impl ManArguments {
    /// The page.
    pub(crate) fn page(&self, program: &Command) -> Result<Vec<u8>, Failure> {
        let program = built(program);
        let mut command = &program;
        for name in &self.command {
            let unknown = || Failure::new(USAGE, format!("man: there is no command `{}`", self.command.join(" ")));
            command = command.find_subcommand(name).ok_or_else(unknown)?;
        }
        page(command)
    }
}

/// The program with the full names of its commands.
fn built(program: &Command) -> Command {
    let mut program = program.clone().disable_help_subcommand(true);
    program.build();
    program
}

/// Every page.
pub(super) fn pages(program: &Command) -> Result<Vec<Generated>, Failure> {
    let program = built(program);
    let mut pages = vec![file(GIT, git_page(&program)?)];
    let mut left = vec![program];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        pages.push(file(name_of(&command), page(&command)?));
    }
    Ok(pages)
}

fn file(name: &str, page: Vec<u8>) -> Generated {
    (PathBuf::from(format!("man/man{SECTION}/{name}.{SECTION}")), page)
}

/// `repackbench-cache-list`.
fn name_of(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn manual(command: &Command) -> Man {
    // Without a date, so that the same program has the same pages.
    Man::new(command.clone()).source(format!("{PROGRAM} {}", env!("CARGO_PKG_VERSION"))).manual(PROGRAM)
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let man = manual(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(command).to_writer(&mut page)?;
    described(command.get_long_about().or(command.get_about())).to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_name() == PROGRAM {
        groups(command).to_writer(&mut page)?;
    } else if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    ending(command).to_writer(&mut page)?;
    Ok(page)
}

/// The page of the program as a command of git. Each subcommand has its own page.
fn git_page(program: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    manual(program).title(GIT).render_title(&mut page)?;
    let mut roff = Roff::new();
    let about = program.get_about().map(StyledStr::to_string).unwrap_or_default();
    roff.control("SH", ["NAME"]).text([roman(format!("{GIT} - {about}"))]);
    roff.control("SH", ["SYNOPSIS"]).text([bold("git repackbench"), roman(" <subcommand> [<argument>...]")]);
    roff.to_writer(&mut page)?;
    described(program.get_long_about()).to_writer(&mut page)?;
    let mut roff = Roff::new();
    roff.control("PP", []).text([
        bold("git repackbench"),
        roman(" is "),
        bold("repackbench"),
        roman(", which git finds under the name "),
        bold(GIT),
        roman(
            ". Repositories are arguments; a single dot is the repository around the current folder, so that -C works \
             as for the commands of git. Settings of -c are passed to the git that exec runs.",
        ),
    ]);
    roff.to_writer(&mut page)?;
    groups(program).to_writer(&mut page)?;
    ending(program).to_writer(&mut page)?;
    Ok(page)
}

/// The synopsis, from the usage line of the help.
fn synopsis(command: &Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    match usage.strip_prefix(name) {
        Some(rest) => roff.text([bold(name), roman(rest)]),
        None => roff.text([roman(usage)]),
    };
    roff
}

/// The description, with the examples under their own heading.
fn described(text: Option<&StyledStr>) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    let text = text.map(StyledStr::to_string).unwrap_or_default();
    let mut as_typed = false;
    for line in text.lines() {
        // Tables and command lines are indented, and keep their line breaks.
        let indented = line.starts_with(' ');
        if indented != as_typed {
            roff.control(if indented { "nf" } else { "fi" }, []);
            as_typed = indented;
        }
        match line.trim_end() {
            "" => roff.control("PP", []),
            EXAMPLES => roff.control("SH", ["EXAMPLES"]),
            line => roff.text([roman(line)]),
        };
    }
    if as_typed {
        roff.control("fi", []);
    }
    roff
}

/// The commands of the program in their groups, each as a reference to its page.
fn groups(program: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SUBCOMMANDS"]);
    for (group, names) in GROUPS {
        roff.control("SS", [group]);
        for (name, about) in commands_of(program, names) {
            roff.control("TP", []).text([roman(format!("{PROGRAM}-{name}({SECTION})"))]).text([roman(about)]);
        }
    }
    roff
}

/// The exit codes, if the help has them, and a reference to the main page.
fn ending(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let end = command.get_after_long_help().map(StyledStr::to_string).unwrap_or_default();
    if let Some((_, codes)) = end.split_once("Exit codes: ") {
        roff.control("SH", ["EXIT STATUS"]).text([roman(codes)]);
    }
    if name_of(command) != PROGRAM {
        roff.control("SH", ["SEE ALSO"]).text([bold(PROGRAM), roman(format!("({SECTION})"))]);
    }
    roff
}
