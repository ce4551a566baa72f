//! The help of the program: commands in groups, and options under the same headings in the same order everywhere.

use std::fmt::Write;

use clap::{Arg, Command, builder::StyledStr};

use crate::options::{EXPERT, HOW_LONG, OUTPUT, WHAT};

/// The groups of commands, in the order in which a new user needs them.
pub(crate) const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["estimate", "bench", "convert", "size", "verify", "codecs"]),
    ("Results", &["report", "diff", "fleet"]),
    ("Your git and hg", &["exec", "env", "alternatives"]),
    ("Look closer", &["explain", "trace", "chains", "serve"]),
    ("Laboratory", &["experiment", "replay", "payloads", "train"]),
    ("Upkeep", &["cache", "schema", "completions", "man"]),
];

/// The last line of `-h` where it leaves out options.
const MORE: &str = "Options for experts are in --help.";

/// The program with its commands in groups, and the options of each command in order. `-h` leaves out the options for
/// experts.
pub(crate) fn arranged(program: Command) -> Command {
    let program = program.mut_subcommands(|command| arranged_command(command.clone()));
    let groups = groups_text(&program);
    program.help_template(format!("{{about-with-newline}}{{usage-heading}} {{usage}}\n\n{groups}{{after-help}}"))
}

fn arranged_command(command: Command) -> Command {
    let command = command.mut_subcommands(|command| arranged_command(command.clone()));
    let mut ids: Vec<_> = command.get_arguments().map(|arg| (rank(arg), arg.get_id().clone())).collect();
    ids.sort_by_key(|(rank, _)| *rank);
    let has_expert = command.get_arguments().any(is_expert);
    // A changed argument becomes the last one, so that all of them are in order at the end.
    let command = ids.into_iter().fold(command, |command, (_, id)| {
        command.mut_arg(id, |arg| if is_expert(&arg) { arg.hide_short_help(true) } else { arg })
    });
    if has_expert { command.after_help(MORE).after_long_help("") } else { command }
}

fn is_expert(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(EXPERT)
}

/// The place of the argument's section in the help.
fn rank(arg: &Arg) -> usize {
    [WHAT, HOW_LONG, OUTPUT, EXPERT]
        .iter()
        .position(|heading| arg.get_help_heading() == Some(heading))
        .map_or(0, |at| at + 1)
}

/// The commands of a group that the program has, each with its description.
pub(crate) fn commands_of<'p>(program: &'p Command, names: &[&str]) -> Vec<(&'p str, String)> {
    let found = names.iter().filter_map(|name| program.find_subcommand(name));
    found.map(|command| (command.get_name(), about(command))).collect()
}

fn about(command: &Command) -> String {
    command.get_about().map(StyledStr::to_string).unwrap_or_default()
}

/// The groups, for a help template.
fn groups_text(program: &Command) -> String {
    let header = program.get_styles().get_header();
    let literal = program.get_styles().get_literal();
    let width = program.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for (group, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{header}{group}:{header:#}");
        for (name, about) in commands_of(program, names) {
            let padding = width - name.len();
            let _ = writeln!(text, "  {literal}{name}{literal:#}{:padding$}  {about}", "");
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn every_command_is_in_one_group() {
        let program = Arguments::command();
        for command in program.get_subcommands() {
            let groups = GROUPS.iter().flat_map(|(_, names)| *names).filter(|name| **name == command.get_name());
            assert_eq!(groups.count(), 1, "{}", command.get_name());
        }
    }

    #[test]
    fn descriptions_fit_80_columns_and_no_template() {
        let text = StyledStr::from(groups_text(&Arguments::command())).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.contains(['{', '}']), "{line}");
        }
    }

    #[test]
    fn every_option_has_a_heading() {
        let mut left = vec![arranged(Arguments::command())];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands().cloned());
            for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
                assert!(rank(arg) > 0, "{}: {}", command.get_name(), arg.get_id());
            }
        }
    }

    /// A row for each command, with its options in the order of its help.
    fn table_of_options(command: &Command, name: &str) -> String {
        let options = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
        let options: Vec<String> = options.map(|option| format!("`--{option}`")).collect();
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        let below = commands.map(|command| table_of_options(command, format!("{name} {}", command.get_name()).trim()));
        let row = if options.is_empty() { String::new() } else { format!("| {name} | {} |\n", options.join(", ")) };
        row + &below.collect::<String>()
    }

    #[test]
    fn page_of_commands_lists_the_options_of_each() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md")).unwrap();
        let table =
            format!("| command | options |\n|---|---|\n{}", table_of_options(&arranged(Arguments::command()), ""));
        assert!(page.contains(&table), "docs/commands.md: expected this table:\n\n{table}");
    }
}
