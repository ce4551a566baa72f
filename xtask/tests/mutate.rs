//! Tests `cargo xtask mutate` on small fixtures: with the program itself, and with programs that are wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../fixtures/built.rs"]
mod built;
#[path = "../../fixtures/executable.rs"]
mod executable;

/// The result of running the chore.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Outcome {
    fn text(&self) -> String {
        format!("{:?}\n{}{}", self.code, self.stdout, self.stderr)
    }
}

/// Makes a fixture in `folder`. Returns the repository.
fn fixture(name: &str, folder: &Path) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name);
    let made = Command::new("bash").arg(script).arg(folder.join(name)).output().expect("bash");
    assert!(made.status.success(), "{name}: {}", String::from_utf8_lossy(&made.stderr));
    folder.join(name).join("repo")
}

fn mutate(repository: &Path, program: &Path, line: &str) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("mutate").arg(repository).arg("--program").arg(program).args(line.split(' '));
    let output = command.output().expect("the chore");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Outcome { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Writes a program that does what `program` does, but does `lie` with the output in `$to` where `convert` refuses a
/// repository, and lets `verify` say that nothing differs.
fn liar(path: &Path, program: &Path, lie: &str) {
    let program = program.display();
    let script = format!(
        "#!/bin/sh\n\
         [ \"$1\" = convert ] || exit 0\n\
         '{program}' \"$@\" 2> /dev/null && exit\n\
         for to; do :; done\n\
         {lie}\n"
    );
    executable::write(path, &script);
}

#[test]
fn damaged_repositories_are_refused_or_read_as_stock_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = built::file("repackbench");
    for (name, line) in [
        ("git-derived-files.sh", "--cases 16 --seed 5 --target source --target zstd:3,checksum=no"),
        ("hg-history.sh", "--cases 16 --seed 5"),
    ] {
        let repository = fixture(name, folder.path());
        let outcome = mutate(&repository, &program, line);
        assert_eq!(outcome.code, Some(0), "{}", outcome.text());
        assert_eq!(outcome.stdout.matches(": 16 cases in ").count(), 2, "{}", outcome.text());
        assert!(outcome.stdout.lines().any(|line| line.starts_with("all files")), "{}", outcome.text());
    }
}

#[test]
fn programs_that_are_wrong_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = built::file("repackbench");
    let repository = fixture("git-work-tree.sh", folder.path());
    let copy = format!("cp -R '{}' \"$to\"", repository.join(".git").display());
    let two_objects = "set -- $(find \"$to\"/objects/?? -type f)";
    for (lie, why) in [
        (format!("{copy}; {two_objects}; cp -f \"$1\" \"$2\""), "wrong object accepted"),
        (
            format!("{copy}; echo new | git --git-dir \"$to\" hash-object -w --stdin > /dev/null"),
            "unknown object accepted",
        ),
        (format!("{copy}; rm -r \"$to\"/objects/??"), "stock"),
        ("exit 65".to_owned(), "expected one line with the error"),
        ("mkdir \"$to\"; echo repackbench: bad >&2; exit 65".to_owned(), "not removed: converted"),
        ("kill -ABRT $$".to_owned(), "signal: 6"),
        ("exit 101".to_owned(), "exit code 101"),
    ] {
        let liar_path = folder.path().join("liar");
        liar(&liar_path, &program, &lie);
        let outcome = mutate(&repository, &liar_path, "--cases 5 --target source --seed 2");
        assert_eq!(outcome.code, Some(1), "{lie}: {}", outcome.text());
        assert!(outcome.stderr.contains(why) && outcome.stderr.contains("seed 2: "), "{lie}: {}", outcome.text());
        let failed: u64 = outcome.stderr.lines().filter(|line| line.starts_with("case ")).count() as u64;
        assert!(outcome.stdout.contains(&format!("{failed} wrong")) && failed > 0, "{lie}: {}", outcome.text());
    }
}

#[test]
fn a_case_runs_again_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = built::file("repackbench");
    let repository = fixture("git-bare.sh", folder.path());
    let liar_path = folder.path().join("liar");
    liar(&liar_path, &program, "exit 101");
    let outcome = mutate(&repository, &liar_path, "--cases 4 --target source");
    let line = outcome.stderr.lines().find(|line| line.starts_with("case ")).expect("a failed case");
    let (place, what) = line.split_once(", seed 1: ").expect("its seed");
    let number = place.split(' ').nth(1).expect("its number");
    let again = mutate(&repository, &liar_path, &format!("--target source --case {number}"));
    assert!(again.stderr.contains(what), "{line}: {}", again.text());
    let (_, kept) = again.stdout.split_once("the damaged repository is ").expect("the path of the repository");
    let kept = Path::new(kept.lines().next().unwrap_or_default());
    assert!(kept.join("objects").is_dir(), "{}", again.text());
    fs::remove_dir_all(kept.ancestors().nth(2).expect("the chore's folder")).expect("the folder");
}
