//! What is installed beside the program: man pages, completions, and the name by which git finds it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::program::{self, Outcome, Scratch, command, convert, exit};
use crate::support::{git, preload, repackbench, snapshot};

/// Man pages and completions in a folder of their own.
fn generated() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let share = scratch.join("share");
    repackbench(["generate".as_ref(), share.as_os_str()]).exits(exit::OK);
    (scratch, share)
}

/// Every subcommand, as a list of words, that the program's help names.
pub(crate) fn subcommands() -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut left = vec![Vec::new()];
    while let Some(words) = left.pop() {
        let help = repackbench(words.iter().map(String::as_str).chain(["-h"])).exits(exit::OK).text();
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // Descriptions that go on are indented further.
        let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
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

/// A page as one reads it, without its escapes.
fn page(share: &Path, name: &str) -> String {
    let path = share.join("man/man1").join(format!("{name}.1"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.replace("\\-", "-")
}

#[test]
fn man_pages_tell_every_subcommand_and_option() {
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
        assert!(text.contains(&format!("{name} - ")), "what `whatis` looks for:\n{text}");
        assert!(!text.contains("generate"), "what packagers call is not for users:\n{text}");
    }
}

#[test]
fn the_same_program_writes_the_same_bytes() {
    let [(_one, first), (_two, second)] = [generated(), generated()];
    let first = snapshot::content(&first);
    assert!(first.len() > 30);
    snapshot::assert_same(&first, &snapshot::content(&second));
}

/// What bash offers after these words; `setting` comes before, and `function` is what is called with the words in place.
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
        // Called as `complete -F` has it called; which function that is, bash itself is asked.
        let call = format!(
            "set -- $(complete -p repackbench); while [[ $1 != -F ]]; do shift; done; $2 repackbench \"{last}\" {before}"
        );
        offered(&share, &setting, &call)
    };
    assert_eq!(words("repackbench ben"), ["bench"]);
    assert_eq!(words("repackbench exec --zlib zlib-r"), ["zlib-rs"]);
    assert_eq!(words("repackbench cache pr"), ["prune"]);
    assert!(words("repackbench convert --").contains(&"--codec".to_owned()));

    // As git's completion calls it: with its words, and where among them the subcommand is.
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
    // A folder may go on.
    assert_eq!(in_git("git repackbench exec --hg-extension ma", 1), ["man"]);
}

/// A word that a shell would not see otherwise.
fn quoted_if_empty(word: &str) -> &'static str {
    if word.is_empty() { "''" } else { "" }
}

/// git, which finds the program by its other name; what it is told comes behind `git`.
fn git_with_us(scratch: &Scratch, words: &[&str]) -> Outcome {
    let programs = scratch.join("programs");
    if !programs.exists() {
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_repackbench"), programs.join("git-repackbench")).unwrap();
    }
    let mut command = Command::new("git");
    program::isolate(&mut command);
    git::pin(&mut command);
    let path = std::env::var_os("PATH").expect("a PATH");
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).unwrap();
    command.env("PATH", path).env("REPACKBENCH_PRELOAD", preload::stand_in()).args(words);
    program::run(&mut command)
}

#[test]
fn git_runs_it_as_one_of_its_own() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let name = repo.to_str().unwrap();
    // Not the first line, which names the repository, nor the columns' width, which depends on it.
    let sizes = |outcome: Outcome| -> Vec<String> {
        let text = outcome.exits(exit::OK).text();
        text.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let plain = sizes(repackbench(["size", name]));
    assert!(plain.iter().any(|line| line.starts_with("commit, whole")), "{plain:?}");
    assert_eq!(sizes(git_with_us(&scratch, &["repackbench", "size", name])), plain);
    assert_eq!(sizes(git_with_us(&scratch, &["-C", name, "repackbench", "size", "."])), plain);
    // Also from a folder in it, as git finds it.
    let inside = repo.join("in/side");
    fs::create_dir_all(&inside).unwrap();
    assert_eq!(sizes(git_with_us(&scratch, &["-C", inside.to_str().unwrap(), "repackbench", "size", "."])), plain);
    // Another repository, named for git, is not the one that was named for us.
    let other = scratch.join("other");
    git::output(scratch.path(), ["init", "-q", "--bare", other.to_str().unwrap()]);
    let git_dir = format!("--git-dir={}", other.display());
    assert_eq!(sizes(git_with_us(&scratch, &[&git_dir, "repackbench", "size", name])), plain);

    let usage = git_with_us(&scratch, &["repackbench", "size"]);
    assert!(usage.stderr.contains("Usage: git repackbench size"), "{}", usage.stderr);
    assert_eq!(usage.code, Some(exit::USAGE));
    let help = git_with_us(&scratch, &["repackbench", "bench", "-h"]).exits(exit::OK).text();
    assert!(help.contains("Usage: git repackbench bench"), "{help}");
    assert_eq!(git_with_us(&scratch, &["repackbench", "size", "/nonexistent"]).code, Some(exit::BAD_INPUT));
}

#[test]
fn exec_under_an_outer_git_is_led_astray_by_nothing() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let variant = scratch.join("variant");
    convert(&repo, "zstd:5", &variant);
    let other = scratch.join("other");
    git::output(scratch.path(), ["init", "-q", other.to_str().unwrap()]);
    let (name, head) = (variant.to_str().unwrap(), git::output(&repo, ["rev-parse", "HEAD"]));
    let outer = format!("--git-dir={}/.git", other.display());
    let work_tree = format!("--work-tree={}", other.display());
    let exec = ["repackbench", "exec", name, "--", "git"];
    let ask = |outer: &[&str], question: &[&str]| git_with_us(&scratch, &[outer, &exec, question].concat());
    let outer_git: [&[&str]; 3] = [&[], &[&outer], &[&outer, &work_tree, "--namespace=elsewhere"]];
    for outer in outer_git {
        assert_eq!(ask(outer, &["rev-parse", "HEAD"]).exits(exit::OK).text(), head, "{outer:?}");
        ask(outer, &["fsck", "--full"]).exits(exit::OK);
    }
    // What -c sets is for every git that is started, also here.
    let set = ask(&["-c", "repackbench.test=heard"], &["config", "repackbench.test"]);
    assert_eq!(set.exits(exit::OK).text(), "heard\n");
    assert_eq!(ask(&["-c", "alias.there=rev-parse HEAD"], &["there"]).exits(exit::OK).text(), head);

    // In a hook of another repository git exports that one's index.
    let index = scratch.join("index");
    let mut hooked = command();
    git::pin(&mut hooked);
    hooked.env("REPACKBENCH_PRELOAD", preload::stand_in()).env("GIT_DIR", other.join(".git"));
    hooked.env("GIT_INDEX_FILE", &index).env("GIT_PREFIX", "some/").env("GIT_SHALLOW_FILE", "/nonexistent");
    hooked.args(["exec", name, "--", "git", "read-tree", "HEAD"]);
    program::run(&mut hooked).exits(exit::OK);
    assert!(!index.exists() && variant.join("index").exists());
}
