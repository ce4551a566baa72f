//! `repackbench generate`: man pages and completions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::program::{self, Scratch, exit};
use crate::support::{repackbench, snapshot};

/// Man pages and completions in a scratch folder.
fn generated() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let share = scratch.join("share");
    repackbench(["generate".as_ref(), share.as_os_str()]).exits(exit::OK);
    (scratch, share)
}

/// Every subcommand in the help of the program, as a list of words.
pub(crate) fn subcommands() -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut left = vec![Vec::new()];
    while let Some(words) = left.pop() {
        let help = repackbench(words.iter().map(String::as_str).chain(["-h"])).exits(exit::OK).text();
        // Options and continued descriptions start with other characters.
        let listed = help.lines().filter_map(|line| line.strip_prefix("  "));
        let names = listed.filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
        for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
            let own = [words.as_slice(), &[name.to_owned()]].concat();
            left.push(own.clone());
            found.push(own);
        }
    }
    assert!(found.len() > 10, "{found:?}");
    found
}

/// Every long option that a help text lists.
pub(crate) fn options(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = lines.flat_map(|line| line.split([' ', ',']).filter(|word| word.starts_with("--")));
    words.map(|word| word.trim_end_matches(|letter: char| !letter.is_ascii_lowercase()).to_owned()).collect()
}

/// A man page without its escapes.
fn page(share: &Path, name: &str) -> String {
    let path = share.join("man/man1").join(format!("{name}.1"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.replace("\\-", "-")
}

#[test]
fn man_pages_list_every_subcommand_and_option() {
    let (_scratch, share) = generated();
    let [program, git] = ["repackbench", "git-repackbench"].map(|name| page(&share, name));
    for code in [exit::FAILURE, exit::USAGE, exit::REGRESSION, exit::BAD_INPUT, exit::TRY_AGAIN, 130] {
        assert!(program.contains(&format!("{code} ")), "exit code {code} is not in\n{program}");
    }
    for words in subcommands() {
        let name = format!("repackbench-{}", words.join("-"));
        let own = page(&share, &name);
        assert!(own.contains(&format!("repackbench {}", words.join(" "))), "no synopsis in\n{own}");
        if words.len() == 1 {
            let reference = format!("{name}(1)");
            assert!(program.contains(&reference) && git.contains(&reference), "{reference}");
        }
        let help = repackbench(words.iter().map(String::as_str).chain(["--help"])).exits(exit::OK).text();
        let options = options(&help);
        assert!(options.contains(&"--help".to_owned()), "{help}");
        for option in options {
            assert!(own.contains(&option), "{option} is not in the page of {name}:\n{own}");
        }
    }
    for (name, text) in [("repackbench", &program), ("git-repackbench", &git)] {
        assert!(text.contains(&format!("{name} - ")), "the line that `whatis` reads:\n{text}");
        assert!(!text.contains("generate"), "a command for packagers, not for users:\n{text}");
    }
}

#[test]
fn commands_print_what_generate_writes() {
    let (_scratch, share) = generated();
    for (words, place) in [
        (&["completions", "bash"][..], "bash-completion/completions/repackbench"),
        (&["completions", "fish"], "fish/vendor_completions.d/repackbench.fish"),
        (&["man"], "man/man1/repackbench.1"),
        (&["man", "cache", "list"], "man/man1/repackbench-cache-list.1"),
    ] {
        let printed = repackbench(words).exits(exit::OK);
        assert_eq!(printed.text(), fs::read_to_string(share.join(place)).expect("a file"), "{words:?}");
    }
    repackbench(["man", "no-such"]).exits(exit::USAGE);
}

#[test]
fn output_is_reproducible() {
    let [(_one, first), (_two, second)] = [generated(), generated()];
    let first = snapshot::content(&first);
    assert!(first.len() > 30);
    snapshot::assert_same(&first, &snapshot::content(&second));
}

/// The completions that bash offers: `setting` puts the words in place, and `function` is called with them.
fn offered(share: &Path, setting: &str, function: &str) -> Vec<String> {
    let script = share.join("bash-completion/completions/repackbench");
    let asked = format!("source \"$0\"\n{setting}\n{function}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n");
    let mut bash = Command::new("bash");
    program::isolate(&mut bash);
    bash.args(["--norc", "--noprofile", "-c", &asked]).arg(script).current_dir(share);
    let outcome = program::run(&mut bash).exits(exit::OK);
    assert_eq!(outcome.stderr, "", "{asked}");
    outcome.text().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_subcommands_options_and_values() {
    let (_scratch, share) = generated();
    let folder = share.join("bash-completion/completions");
    for name in ["repackbench", "git-repackbench"] {
        program::run(Command::new("bash").arg("-n").arg(folder.join(name))).exits(exit::OK);
    }
    let words = |line: &str| {
        let last = line.rsplit(' ').next().unwrap();
        let before = line.split(' ').rev().nth(1).unwrap();
        let setting = format!("COMP_WORDS=({line} {}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))", quoted_if_empty(last));
        // Called as `complete -F` calls it. Which function that is, bash itself reports.
        let call = format!(
            "set -- $(complete -p repackbench); while [[ $1 != -F ]]; do shift; done; $2 repackbench \"{last}\" {before}"
        );
        offered(&share, &setting, &call)
    };
    assert_eq!(words("repackbench ben"), ["bench"]);
    assert_eq!(words("repackbench exec --zlib zlib-r"), ["zlib-rs"]);
    assert_eq!(words("repackbench cache pr"), ["prune"]);
    assert!(words("repackbench convert --").contains(&"--codec".to_owned()));

    // Called as git's completion calls it: with its words and the position of the subcommand.
    let in_git = |line: &str, index: usize| {
        let last = line.rsplit(' ').next().unwrap();
        let setting =
            format!("words=({line} {}); cword=$((${{#words[@]}} - 1)); cur=\"{last}\"", quoted_if_empty(last));
        let setting = format!("{setting}; prev=\"${{words[cword-1]}}\"; __git_cmd_idx={index}");
        offered(&share, &setting, "_git_repackbench")
    };
    assert_eq!(in_git("git repackbench ben", 1), ["bench "]);
    assert_eq!(in_git("git -C man repackbench exec --zlib zlib-r", 3), ["zlib-rs "]);
    assert_eq!(in_git("git repackbench cache pr", 1), ["prune "]);
    // A folder ends without a space.
    assert_eq!(in_git("git repackbench exec --hg-extension ma", 1), ["man"]);
}

/// Quotes for an empty word, which a shell would not see otherwise.
fn quoted_if_empty(word: &str) -> &'static str {
    if word.is_empty() { "''" } else { "" }
}
