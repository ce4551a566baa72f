//! Variants served by git's own servers under `exec` to ordinary clients: they receive zlib, and pushes succeed without
//! any message about guards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::dictionary::convert_with_dictionary;
use crate::support::fixture::Fixture;
use crate::support::program::{self, Outcome, Scratch, exit, isolate};
use crate::support::{executable, git, preload};

/// An HTTP server that runs `git http-backend` for each request. It prints its port and ends with its standard input.
const HTTP_SERVER: &str = include_str!("serving.py");

/// A variant, `served`, in a folder of its own, and a clone of its source.
struct Served {
    scratch: Scratch,
}

impl Served {
    fn new() -> Self {
        let scratch = Scratch::new();
        let source = Fixture::get("history").repo();
        convert_with_dictionary(&source, "zstd:9,dict=file", &[], &scratch.join("served"));
        git::output(scratch.path(), ["clone", "-q", "--no-local", source.to_str().unwrap(), "own"]);
        let served = Served { scratch };
        served.exec(&["git", "repack", "-adbq"]).exits(exit::OK);
        served.exec(&["git", "config", "http.receivepack", "true"]).exits(exit::OK);
        served
    }

    fn variant(&self) -> PathBuf {
        self.scratch.join("served")
    }

    /// `repackbench exec`, quoted for a shell.
    fn exec_words() -> String {
        format!("REPACKBENCH_PRELOAD='{}' '{}' exec", preload::stand_in().display(), env!("CARGO_BIN_EXE_repackbench"))
    }

    #[track_caller]
    fn exec(&self, words: &[&str]) -> Outcome {
        program::run(&mut preload::exec(&self.variant(), &[], words))
    }

    /// Writes a program beside the repositories.
    fn program(&self, name: &str, text: &str) -> String {
        let path = self.scratch.join(name);
        executable::write(&path, text);
        path.to_str().unwrap().to_owned()
    }

    /// Clones from `url`, pushes to it and fetches from it, by plain git with these settings and options of its
    /// commands.
    #[track_caller]
    fn is_served(&self, url: &str, settings: &[&str], options: &[(&str, String)]) {
        let plain = |place: &Path, words: &[&str]| -> Outcome {
            let mut command = Command::new("git");
            isolate(&mut command);
            git::pin(&mut command);
            command.env("GIT_ALLOW_PROTOCOL", "file:git:ssh:http:ext").current_dir(place);
            for setting in settings {
                command.args(["-c", setting]);
            }
            let (name, operands) = words.split_first().unwrap();
            let options = options.iter().filter(|(of, _)| of == name).map(|(_, option)| option);
            let outcome = program::run(command.arg(name).args(options).args(operands)).exits(exit::OK);
            assert!(!outcome.stderr.contains("repackbench"), "{words:?}: {}", outcome.stderr);
            outcome
        };
        let clone = self.scratch.join("clone");
        plain(self.scratch.path(), &["clone", "-q", "--mirror", url, clone.to_str().unwrap()]);
        assert_eq!(plain(&clone, &["fsck", "--full", "--no-dangling"]).text(), "");
        let reachable = |repo: &Path| plain(repo, &["rev-list", "--objects", "--all"]).text();
        assert_eq!(reachable(&clone), reachable(&Fixture::get("history").repo()));
        // A push and a fetch in the same way.
        let own = self.scratch.join("own");
        plain(&own, &["commit", "-q", "--allow-empty", "-m", "pushed"]);
        plain(&own, &["push", "-q", url, "HEAD:refs/heads/pushed"]);
        plain(&clone, &["fetch", "-q", url, "refs/heads/pushed:refs/heads/fetched"]);
        let pushed = plain(&own, &["rev-parse", "HEAD"]).text();
        assert_eq!(plain(&clone, &["rev-parse", "fetched"]).text(), pushed);
        assert_eq!(self.exec(&["git", "rev-parse", "pushed"]).text(), pushed);
        self.exec(&["git", "fsck", "--full"]).exits(exit::OK);
        git::assert_refuses_plainly(&self.variant());
    }
}

#[test]
fn by_path_with_named_programs() {
    let served = Served::new();
    let exec = Served::exec_words();
    let programs = [("clone", "upload-pack"), ("fetch", "upload-pack"), ("push", "receive-pack")];
    let options = programs.map(|(command, program)| (command, format!("--{program}={exec} -- git-{program}")));
    served.is_served(&format!("file://{}", served.variant().display()), &[], &options);
}

#[test]
fn by_git_daemon() {
    let served = Served::new();
    let daemon = format!(
        "#!/bin/sh\nexec env {} -- git daemon --inetd --export-all --enable=receive-pack --base-path='{}' 2> /dev/null\n",
        Served::exec_words(),
        served.scratch.path().display()
    );
    // A proxy in place of a connection, so that no port is needed.
    let proxy = served.program("proxy", &daemon);
    served.is_served("git://nowhere.invalid/served", &[&format!("core.gitProxy={proxy}")], &[]);
}

#[test]
fn by_forced_command_of_ssh() {
    let served = Served::new();
    let ssh = format!(
        "#!/bin/sh\nfor word; do :; done\nexport SSH_ORIGINAL_COMMAND=\"$word\"\n\
         exec env {} -- sh -c 'exec git shell -c \"$SSH_ORIGINAL_COMMAND\"'\n",
        Served::exec_words()
    );
    let ssh = served.program("ssh", &ssh);
    served.is_served(
        &format!("ssh://nowhere.invalid{}", served.variant().display()),
        &[&format!("core.sshCommand={ssh}"), "ssh.variant=simple"],
        &[],
    );
}

#[test]
fn by_smart_http_only() {
    let served = Served::new();
    let backend = format!(
        "#!/bin/sh\nexec env GIT_PROJECT_ROOT='{}' GIT_HTTP_EXPORT_ALL=1 {} -- git http-backend\n",
        served.scratch.path().display(),
        Served::exec_words()
    );
    let backend = served.program("backend", &backend);
    fs::write(served.scratch.join("server.py"), HTTP_SERVER).unwrap();
    let mut server = Command::new("python3");
    isolate(&mut server);
    git::pin(&mut server);
    server.arg(served.scratch.join("server.py")).arg(&backend);
    server.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut server = server.spawn().expect("python3");
    let mut port = String::new();
    let said = server.stdout.as_mut().expect("its port");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/served", port.trim());
    served.is_served(&url, &[], &[]);

    let pack = git_pack_name(&served.variant());
    // git also finds a repository without `.git` at the end of its name.
    fs::rename(served.variant(), served.scratch.join("other.git")).unwrap();
    let url = format!("{}/other", url.strip_suffix("/served").unwrap());
    for file in ["objects/info/packs", &format!("objects/pack/{pack}"), "HEAD"] {
        let script = "import sys, urllib.request, urllib.error\n\
                      try: print(urllib.request.urlopen(sys.argv[1]).status)\n\
                      except urllib.error.HTTPError as error: print(error.code)\n";
        let mut asked = Command::new("python3");
        isolate(&mut asked);
        let answer = program::run(asked.args(["-c", script, &format!("{url}/{file}")])).exits(exit::OK).text();
        assert_eq!(answer.trim(), "403", "{file}");
    }
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
}

fn git_pack_name(variant: &Path) -> String {
    let packs = fs::read_dir(variant.join("objects/pack")).unwrap();
    let mut names = packs.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.find(|name| name.ends_with(".pack")).expect("a pack")
}
