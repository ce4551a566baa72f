//! Untrusted repositories: no program that they name runs, no link leads out of them, and no named pipe in them blocks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::hg::Version;
use crate::support::program::{self, Outcome, Scratch, bench, cached, exit, text, words};
use crate::support::{executable, git, preload};

/// A program that creates a file, the mark, when it runs.
struct Trap {
    program: PathBuf,
    mark: PathBuf,
}

impl Trap {
    fn new(scratch: &Scratch) -> Self {
        let trap = Trap { program: scratch.join("trap"), mark: scratch.join("mark") };
        executable::write(&trap.program, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trap.mark.display()));
        trap
    }

    #[track_caller]
    fn is_untouched(&self, what: &str) {
        assert!(!self.mark.exists(), "{what} ran {}", fs::read_to_string(&self.mark).unwrap_or_default());
    }
}

/// Runs repackbench, and ends it if it hangs.
#[track_caller]
fn run(scratch: &Scratch, words: &[&str], places: &[&Path]) -> Outcome {
    let mut limited = Command::new("timeout");
    program::isolate(&mut limited);
    limited.env("XDG_CACHE_HOME", scratch.join("cache")).env("REPACKBENCH_PRELOAD", preload::stand_in());
    limited.args(["900", env!("CARGO_BIN_EXE_repackbench")]).args(words).args(places);
    program::run(&mut limited)
}

/// Names the trap in every place where the files of a git repository can name a program.
fn set_traps(repo: &Path, trap: &Trap) {
    let program = text(&trap.program);
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.alternateRefsCommand",
        "core.gitProxy",
        "credential.helper",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "filter.trap.clean",
        "filter.trap.smudge",
        "gpg.program",
        "merge.trap.driver",
        "remote.origin.receivepack",
        "remote.origin.uploadpack",
        "uploadpack.packObjectsHook",
    ] {
        git::output(repo, ["config", key, program]);
    }
    for (key, value) in [
        ("alias.log", format!("!{program}")),
        ("alias.rev-list", format!("!{program}")),
        ("log.showSignature", "true".to_owned()),
        ("remote.origin.url", format!("ext::{program}")),
        ("remote.origin.vcs", "ext".to_owned()),
        ("remote.second.url", "https://example.com/repository".to_owned()),
        ("remote.second.fetch", "+refs/heads/*:refs/remotes/second/*".to_owned()),
        ("protocol.ext.allow", "always".to_owned()),
        ("url.ext::x.insteadOf", "file://".to_owned()),
    ] {
        git::output(repo, ["config", key, &value]);
    }
    let included = trap.program.with_extension("config");
    fs::write(&included, format!("[pager]\n\tlog = {program}\n[alias]\n\tlog = !{program}\n")).unwrap();
    git::output(repo, ["config", "include.path", text(&included)]);
    let hooks = git::path(repo, "hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction", "post-rewrite"] {
        symlink(&trap.program, hooks.join(hook)).unwrap();
    }
    fs::create_dir_all(git::path(repo, "info")).unwrap();
    fs::write(git::path(repo, "info/attributes"), "* filter=trap diff=trap merge=trap\n").unwrap();
}

/// A repository whose files all have the attribute of the filter.
fn trapped(scratch: &Scratch, trap: &Trap) -> PathBuf {
    let repo = Fixture::copy("work-tree", scratch).repo();
    fs::write(repo.join(".gitattributes"), "* filter=trap diff=trap merge=trap\n").unwrap();
    git::output(&repo, ["add", ".gitattributes"]);
    git::output(&repo, ["commit", "--quiet", "--message", "attributes"]);
    set_traps(&repo, trap);
    repo
}

#[test]
fn git_repository_runs_no_program() {
    let scratch = Scratch::new();
    let trap = Trap::new(&scratch);
    let repo = trapped(&scratch, &trap);
    let before = fs::read(repo.join(".git/config")).unwrap();
    let variant = scratch.join("variant");
    let stock = "bench --client stock --blocks 1 --min-run-time 1ms --codec zstd:3 --commits 2 --workload checkout \
                 --workload traverse --workload diff:patch --workload diff:pickaxe=a --workload fsck --workload clone:zlib --quiet";
    let helped =
        "alternatives --blocks 1 --min-run-time 1ms --codec zstd:3 --workload traverse --workload clone:zlib --quiet";
    for words in [stock, helped, "convert --quiet --codec zstd:3 -o VARIANT"] {
        let words: Vec<&str> =
            words.split_whitespace().map(|word| if word == "VARIANT" { text(&variant) } else { word }).collect();
        run(&scratch, &words, &[&repo]).exits(exit::OK);
        trap.is_untouched(&format!("{words:?}"));
    }
    run(&scratch, &["replay", "--workload", "checkout", "--output", text(&scratch.join("tree"))], &[&repo])
        .exits(exit::OK);
    trap.is_untouched("replay");
    let rechosen = ["convert", "--quiet", "--rechosen", "--codec", "zstd:3", "-o", text(&scratch.join("rechosen"))]
        .map(str::to_owned);
    run(&scratch, &rechosen.each_ref().map(String::as_str), &[&repo]).exits(exit::OK);
    trap.is_untouched("convert --rechosen");
    assert_eq!(fs::read(repo.join(".git/config")).unwrap(), before);
    // Only the URL of the harmless remote is kept.
    let config = fs::read_to_string(variant.join("config")).unwrap();
    assert!(!config.contains("trap") && !config.contains("ext::"), "{config}");
    let remotes = git::output(&variant, ["config", "--file", text(&variant.join("config")), "--get-regexp", "^remote"]);
    let expected = "remote.second.url https://example.com/repository\n\
                    remote.second.fetch +refs/heads/*:refs/remotes/second/*\n";
    assert_eq!(remotes, expected);
    for name in ["hooks", "info/attributes"] {
        assert!(!variant.join(name).exists(), "{name}");
    }
}

/// Otherwise the traps would prove nothing.
#[test]
fn git_itself_runs_the_traps() {
    let scratch = Scratch::new();
    let trap = Trap::new(&scratch);
    let repo = trapped(&scratch, &trap);
    git::git(&repo, ["checkout", "--force", "HEAD", "--", "."]);
    assert!(trap.mark.exists());
}

#[test]
fn commands_that_start_git_check_ownership() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let on = |words: &[&str]| {
        let mut command = cached(&scratch);
        command.env("REPACKBENCH_PRELOAD", preload::stand_in());
        // For git's own tests: the files here belong to the user who runs them.
        command.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1").args(words);
        program::run(&mut command)
    };
    let bench =
        ["bench", "--client", "stock", "--blocks", "1", "--workload", "traverse", "--codec", "zlib:1", "--quiet"];
    for words in [&[&bench[..], &[text(&repo)]].concat()[..], &["exec", text(&repo), "--", "git", "log"]] {
        let refused = on(words).exits(exit::FAILURE);
        assert!(refused.error_line().contains("another user owns it"), "{}", refused.stderr);
        assert!(refused.stderr.contains("safe.directory"), "{}", refused.stderr);
    }
    // Commands that do not start git run nothing.
    on(&["size", text(&repo)]).exits(exit::OK);
}

/// git looks at this setting before it looks at the owner.
#[test]
fn ownership_is_checked_where_bare_repositories_are_named() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let config = scratch.join("gitconfig");
    fs::write(&config, "[safe]\n\tbareRepository = explicit\n").expect("a file");
    let mut command = cached(&scratch);
    command.env("REPACKBENCH_PRELOAD", preload::stand_in());
    command.env("GIT_CONFIG_GLOBAL", &config).env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    command.args(["exec", text(&repo), "--", "git", "log"]);
    let refused = program::run(&mut command).exits(exit::FAILURE);
    assert!(refused.error_line().contains("another user owns it"), "{}", refused.stderr);
}

/// The content of a file outside of the repository.
const SECRET: &str = "0123456789 the user's own";

/// The files and folders that the program reads in a git repository.
const GIT_FILES: [&str; 14] = [
    "HEAD",
    "config",
    "packed-refs",
    "shallow",
    "info",
    "info/grafts",
    "logs",
    "logs/HEAD",
    "objects",
    "objects/info",
    "objects/info/alternates",
    "objects/pack",
    "refs",
    "refs/heads/other",
];

/// Moves `file` aside and puts a link to `target` in its place. A folder becomes the target.
fn replace_by_link(file: &Path, target: &Path) {
    if file.symlink_metadata().is_ok() {
        let aside = target.with_extension("aside");
        fs::rename(file, &aside).unwrap();
        if aside.is_dir() {
            fs::remove_file(target).ok();
            fs::rename(&aside, target).unwrap();
        }
    }
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    symlink(target, file).unwrap();
}

#[test]
fn git_repository_follows_no_link_out_of_it() {
    let source = Fixture::get("history").repo();
    let loose = {
        let scratch = Scratch::new();
        let repo = Fixture::copy("work-tree", &scratch).repo();
        git::output(&repo, ["hash-object", "-w", ".git/HEAD"]).trim_end().to_owned()
    };
    let loose = format!("objects/{}/{}", &loose[..2], &loose[2..]);
    let pack = |repo: &Path, extension: &str| {
        let file = git::pack_files(repo, extension).remove(0);
        file.strip_prefix(git::path(repo, "")).unwrap().to_str().unwrap().to_owned()
    };
    let of_packs = ["pack", "idx"].map(|extension| pack(&source, extension));
    let others = [loose.as_str(), &of_packs[0], &of_packs[1]];
    for name in GIT_FILES.iter().chain(&others) {
        let scratch = Scratch::new();
        let repo = Fixture::copy("history", &scratch).repo();
        let secret = scratch.join("secret");
        fs::write(&secret, SECRET).unwrap();
        replace_by_link(&git::path(&repo, name), &secret);
        assert_not_followed(&scratch, &repo, name);
    }
}

/// Fails the test unless the error names the link `name` and shows nothing of its target.
#[track_caller]
fn assert_not_followed(scratch: &Scratch, repo: &Path, name: &str) {
    let out = scratch.join("out");
    for words in commands(&out, name) {
        let refused = run(scratch, &words, &[repo]);
        assert_eq!(refused.code, Some(exit::BAD_INPUT), "{name}: {words:?}: {}", refused.stderr);
        let line = refused.error_line();
        assert!(line.contains(name) && line.contains("outside the repository"), "{name}: {line}");
        assert!(!refused.stderr.contains(SECRET), "{}", refused.stderr);
    }
    assert!(!out.exists(), "{name}");
}

/// Commands that read the file `name` of a repository. Only a conversion reads logs.
fn commands<'w>(out: &'w Path, name: &str) -> Vec<Vec<&'w str>> {
    let mut commands = vec![vec!["convert", "--quiet", "--codec", "store", "-o", text(out)]];
    if !name.contains("logs/") {
        commands.push(vec!["size"]);
    }
    commands
}

#[test]
fn git_repository_with_a_named_pipe_does_not_block() {
    let source = Fixture::get("history").repo();
    let index = git::pack_files(&source, "idx").remove(0);
    let index = index.strip_prefix(git::path(&source, "")).unwrap().to_str().unwrap().to_owned();
    // A repository needs these.
    let needed = ["objects", "refs"];
    let named = ["commondir", "objects/ab/cdef", "objects/pack/other", "objects/info/anything", "refs/heads/new"];
    for name in GIT_FILES.iter().filter(|name| !needed.contains(*name)).chain(&named) {
        let scratch = Scratch::new();
        let repo = Fixture::copy("history", &scratch).repo();
        assert_does_not_wait(&scratch, &repo, &git::path(&repo, name));
    }
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    assert_does_not_wait(&scratch, &repo, &git::path(&repo, &index));
}

/// Puts a named pipe in the place of `file`, which must be an error at once.
#[track_caller]
fn assert_does_not_wait(scratch: &Scratch, repo: &Path, file: &Path) {
    match file.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(file).unwrap(),
        Ok(_) => fs::remove_file(file).unwrap(),
        Err(_) => fs::create_dir_all(file.parent().unwrap()).unwrap(),
    }
    program::run(Command::new("mkfifo").arg(file)).exits(exit::OK);
    let out = scratch.join("out");
    for words in commands(&out, text(file)) {
        let outcome = run(scratch, &words, &[repo]);
        assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{}: {words:?}: {}", file.display(), outcome.stderr);
        let line = outcome.error_line();
        assert!(line.contains("found a named pipe"), "{}: {line}", file.display());
    }
    assert!(!out.exists());
}

/// A configuration of hg whose extension, hooks and aliases leave the mark.
fn hgrc(trap: &Trap, scratch: &Scratch) -> String {
    let extension = scratch.join("trap.py");
    fs::write(&extension, format!("open({:?}, 'w').write('extension')\n", text(&trap.mark))).unwrap();
    let program = text(&trap.program);
    let hooks =
        ["pre-update", "update", "pre-log", "pre-clone", "pre-version", "outgoing", "preoutgoing", "precheckout"];
    let hooks: String = hooks.iter().map(|hook| format!("{hook}.trap = {program}\n")).collect();
    format!(
        "[extensions]\ntrap = {}\n[hooks]\n{hooks}[alias]\nlog = !{program}\n[ui]\nssh = {program}\n[encode]\n** = pipe: {program}\n\
         [decode]\n** = pipe: {program}\n",
        text(&extension)
    )
}

#[test]
fn hg_repository_runs_no_program() {
    let scratch = Scratch::new();
    let trap = Trap::new(&scratch);
    let repo = Fixture::hg_copy("default", &scratch).repo();
    for name in ["hgrc", "hgrc-not-shared"] {
        fs::write(repo.join(".hg").join(name), hgrc(&trap, &scratch)).unwrap();
    }
    let (variant, rechosen) = (scratch.join("variant"), scratch.join("rechosen"));
    let hg = Version::V72.program();
    let programs = ["--hg", text(&hg)];
    let stock = "bench --client stock --blocks 1 --min-run-time 1ms --codec zlib:1 --workload checkout --quiet";
    let stock: Vec<&str> = words(stock).into_iter().chain(programs).collect();
    let rechoose: Vec<&str> =
        ["convert", "--rechosen", "--codec", "zlib:6", "-o", text(&rechosen)].into_iter().chain(programs).collect();
    for words in [&stock[..], &rechoose, &["convert", "--codec", "zstd:3", "-o", text(&variant)]] {
        let outcome = run(&scratch, words, &[&repo]).exits(exit::OK);
        trap.is_untouched(&format!("{words:?}"));
        assert!(words[0] == "bench" || outcome.text().contains("hgrc: ignored"), "{}", outcome.text());
    }
    for (made, name) in
        [&variant, &rechosen].into_iter().flat_map(|made| ["hgrc", "hgrc-not-shared"].map(|name| (made, name)))
    {
        assert!(!made.join(".hg").join(name).exists(), "{}", made.display());
    }
    // hg is asked for its version in the current folder, which may be the repository.
    let mut bench = bench(&scratch);
    bench.env("PATH", format!("{}:{}", hg.parent().unwrap().display(), std::env::var("PATH").unwrap()));
    bench.current_dir(&repo).args(words("--blocks 1 --codec zstd:3 --workload traverse ."));
    program::run(&mut bench).exits(exit::OK);
    trap.is_untouched("bench in the repository");
}

#[test]
fn hg_repository_follows_no_link_out_of_it() {
    let names =
        ["bookmarks", "localtags", "requires", "store", "store/phaseroots", "store/fncache", "store/00changelog.i"];
    for name in names.into_iter().chain(["largefiles", "store/requires", "store/data"]) {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy("default", &scratch).repo();
        let secret = scratch.join("secret");
        fs::write(&secret, SECRET).unwrap();
        replace_by_link(&repo.join(".hg").join(name), &secret);
        assert_not_followed(&scratch, &repo, name);
    }
}

#[test]
fn hg_repository_with_a_named_pipe_does_not_block() {
    let names = ["requires", "bookmarks", "localtags", "store/phaseroots", "store/fncache", "store/data/pipe.i"];
    for name in names.into_iter().chain(["store/00manifest.i", "largefiles/pipe"]) {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy("default", &scratch).repo();
        assert_does_not_wait(&scratch, &repo, &repo.join(".hg").join(name));
    }
}
