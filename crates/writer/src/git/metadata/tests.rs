//! Tests with repositories that real git makes and reads back.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::{ReaderError, git::GitRepository};

use super::{MetadataReport, write_metadata};
use crate::{StoreKind, error::WriterError};

/// Runs git in `folder`, without the user's configuration.
fn try_git(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .current_dir(folder)
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_NAME", "C")
        .env("GIT_COMMITTER_EMAIL", "c@example.com")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000")
        .output()
        .unwrap()
}

/// As [`try_git`], but has to succeed. Returns the output.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = try_git(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with the repository `source`: two commits, refs of many kinds, a remote and reflogs.
fn scratch(init_options: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    git(folder.path(), &[&["init", "-q", "-b", "main"], init_options, &["source"]].concat());
    for word in ["first", "second"] {
        fs::write(source.join(word), word).unwrap();
        git(&source, &["add", word]);
        git(&source, &["commit", "-q", "-m", word]);
        git(&source, &["tag", "-a", "-m", word, &format!("v-{word}")]);
    }
    git(&source, &["branch", "packed"]);
    git(&source, &["pack-refs", "--all"]);
    git(&source, &["branch", "-f", "packed", "HEAD~"]);
    git(&source, &["notes", "add", "-m", "a note"]);
    git(&source, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main"]);
    git(&source, &["remote", "add", "origin", "https://example.com/a;b#c"]);
    git(&source, &["config", "core.worktree", source.to_str().unwrap()]);
    git(&source, &["config", "alias.x", "!true"]);
    fs::write(source.join(".git/FETCH_HEAD"), "").unwrap();
    (folder, source)
}

fn convert(source: &Path, spec: &str, out: &Path) -> Result<MetadataReport, WriterError> {
    let spec: CodecSpec = spec.parse().unwrap();
    fs::create_dir_all(out).unwrap();
    write_metadata(&GitRepository::open(source)?, &spec, StoreKind::AsFound, out)
}

/// Writes the metadata and copies the objects unchanged, so that stock git can read the result.
fn convert_with_objects(source: &Path, spec: &str, out: &Path) -> MetadataReport {
    let report = convert(source, spec, out).unwrap();
    let objects = GitRepository::open(source).unwrap().common_dir().join("objects");
    assert!(Command::new("cp").arg("-r").arg(objects).arg(out).status().unwrap().success());
    report
}

/// Every file below `root` with its content, sorted by path. The content of a symbolic link is its text.
fn content(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(root).sort_by_file_name();
    entries
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| !entry.file_type().is_dir())
        .map(|entry| {
            let content = match fs::read_link(entry.path()) {
                Ok(link) => link.into_os_string().into_encoded_bytes(),
                Err(_) => fs::read(entry.path()).unwrap(),
            };
            (entry.path().strip_prefix(root).unwrap().to_owned(), content)
        })
        .collect()
}

#[test]
fn stock_git_reads_the_same_refs_reflogs_and_remotes() {
    for init_options in [
        &["--object-format=sha1"][..],
        &["--object-format=sha256"],
        &["--ref-format=reftable"],
        &["--ref-format=reftable", "--object-format=sha256"],
    ] {
        let (folder, source) = scratch(init_options);
        let out = folder.path().join("out");
        let report = convert_with_objects(&source, "zlib:6", &out);
        assert!(report.left_out.is_empty());
        for arguments in [
            ["for-each-ref", "--format=%(refname) %(objectname) %(symref)"].as_slice(),
            &["symbolic-ref", "HEAD"],
            &["reflog", "show", "--all"],
            &["config", "--local", "--get-regexp", "^remote"],
            &["rev-parse", "--show-object-format"],
            &["rev-parse", "--show-ref-format"],
            &["rev-list", "--objects", "--all"],
            &["fsck", "--full", "--strict"],
        ] {
            assert_eq!(git(&out, arguments), git(&source, arguments), "{arguments:?}");
        }
        assert_eq!(git(&out, &["rev-parse", "--is-bare-repository"]), "true\n");
        assert!(try_git(&out, &["config", "core.worktree"]).stdout.is_empty());
        for dropped in ["FETCH_HEAD", "index", "hooks", "ORIG_HEAD"] {
            assert!(!out.join(dropped).exists(), "{dropped}");
        }
    }
}

#[test]
fn report_matches_the_output_and_runs_are_identical() {
    for init_options in [&[][..], &["--ref-format=reftable"]] {
        let (folder, source) = scratch(init_options);
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let report = convert(&source, "zlib:6", &first).unwrap();
        assert_eq!(convert(&source, "zlib:6", &second).unwrap(), report);
        let files = content(&first);
        assert_eq!(files, content(&second));
        assert_eq!(report.files, files.len() as u64);
        assert_eq!(report.bytes, files.iter().map(|(_, content)| content.len() as u64).sum::<u64>());
    }
}

#[test]
fn stock_git_refuses_variants_and_reads_them_converted_back() {
    let (folder, source) = scratch(&[]);
    let [variant, back, direct] = ["variant", "back", "direct"].map(|name| folder.path().join(name));
    convert(&source, "zstd:5", &variant).unwrap();
    let spec: CodecSpec = "zstd:5".parse().unwrap();
    let opened = GitRepository::open(&variant).unwrap();
    assert_eq!(opened.extension_spec(), Some(spec.canonical().as_str()));
    let refused = try_git(&variant, &["rev-parse", "HEAD"]);
    assert_eq!(refused.status.code(), Some(128));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(message, "fatal: unknown repository extension found:\n\trepackbench\n");
    // git itself reads the whole value, including the semicolon.
    let config = variant.join("config");
    let value = git(folder.path(), &["config", "--file", config.to_str().unwrap(), "extensions.repackbench"]);
    assert_eq!(value, format!("{};{}\n", repackbench_codec::FORMAT_VERSION, spec.canonical()));
    convert(&variant, "libdeflate:6", &back).unwrap();
    convert(&source, "libdeflate:6", &direct).unwrap();
    assert_eq!(content(&back), content(&direct));
    assert!(fs::read_to_string(back.join("config")).unwrap().contains("repositoryformatversion = 0"));
}

#[test]
fn linked_work_tree_gives_its_own_head_refs_and_log() {
    for init_options in [&[][..], &["--ref-format=reftable"], &["--ref-format=reftable", "--object-format=sha256"]] {
        let (folder, source) = scratch(init_options);
        git(&source, &["worktree", "add", "-q", "-b", "side", "../linked"]);
        let linked = folder.path().join("linked");
        git(&linked, &["commit", "-q", "--allow-empty", "-m", "on the side"]);
        git(&linked, &["update-ref", "refs/bisect/bad", "main"]);
        git(&source, &["update-ref", "refs/bisect/good", "main"]);
        let out = folder.path().join("out");
        convert_with_objects(&linked, "zlib:6", &out);
        for arguments in [
            ["for-each-ref", "--format=%(refname) %(objectname) %(symref)"].as_slice(),
            &["symbolic-ref", "HEAD"],
            &["reflog", "show", "HEAD"],
            &["reflog", "show", "main"],
        ] {
            assert_eq!(git(&out, arguments), git(&linked, arguments), "{arguments:?}");
        }
        let [bad, good] = ["bad", "good"].map(|name| format!("refs/bisect/{name}"));
        assert!(try_git(&out, &["rev-parse", "-q", "--verify", &bad]).status.success());
        assert!(!try_git(&out, &["rev-parse", "-q", "--verify", &good]).status.success());
        assert!(!out.join("worktrees").exists());
        // git goes on from there.
        git(&out, &["update-ref", "--create-reflog", "-m", "later", "HEAD", "main"]);
        assert!(git(&out, &["reflog", "show", "HEAD"]).lines().next().unwrap().ends_with(" HEAD@{0}: later"));
        git(&out, &["pack-refs", "--all"]);
        git(&out, &["fsck", "--strict"]);
    }
}

#[test]
fn tables_are_copied_byte_for_byte_with_their_list() {
    let (folder, source) = scratch(&["--ref-format=reftable"]);
    let [variant, back] = ["variant", "back"].map(|name| folder.path().join(name));
    fs::write(source.join(".git/reftable/not-listed.ref"), "left by a writer that was stopped").unwrap();
    convert(&source, "zstd:5", &variant).unwrap();
    convert(&variant, "zlib:6", &back).unwrap();
    let mut expected = content(&source.join(".git/reftable"));
    expected.retain(|(name, _)| name != Path::new("not-listed.ref"));
    assert!(expected.len() > 1);
    for out in [&variant, &back] {
        assert_eq!(content(&out.join("reftable")), expected);
        for stub in ["HEAD", "refs/heads"] {
            assert_eq!(fs::read(out.join(stub)).unwrap(), fs::read(source.join(".git").join(stub)).unwrap(), "{stub}");
        }
    }
    let config = fs::read_to_string(variant.join("config")).unwrap();
    assert!(config.contains("repositoryformatversion = 1"), "{config}");
    assert!(config.contains("refStorage = reftable"), "{config}");
}

#[test]
fn long_reflogs_of_a_linked_work_tree_are_kept() {
    let (folder, source) = scratch(&["--ref-format=reftable"]);
    git(&source, &["worktree", "add", "-q", "-b", "side", "../linked"]);
    let linked = folder.path().join("linked");
    let [first, second] = ["v-first", "v-second"].map(|name| git(&source, &["rev-parse", &format!("{name}^{{}}")]));
    let ids = [first.trim(), second.trim()];
    let updates: String = (0..300)
        .map(|number| {
            let id = ids[number % 2];
            format!("start\nupdate refs/worktree/x-{} {id}\ncommit\n", number % 7)
        })
        .collect();
    let mut command = Command::new("git");
    command.arg("-C").arg(&linked).args(["-c", "core.logAllRefUpdates=always"]);
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.com", "update-ref", "--stdin"]);
    let input = folder.path().join("updates");
    fs::write(&input, updates).unwrap();
    assert!(
        command.stdin(fs::File::open(&input).unwrap()).stdout(std::process::Stdio::null()).status().unwrap().success()
    );
    let out = folder.path().join("out");
    convert_with_objects(&linked, "zlib:6", &out);
    for number in 0..7 {
        let arguments = ["reflog", "show", &format!("refs/worktree/x-{number}")];
        let reflog = git(&linked, &arguments);
        assert!(reflog.lines().count() > 40);
        assert_eq!(git(&out, &arguments), reflog);
    }
}

#[test]
fn shallow_grafted_and_partial_clones_are_preserved() {
    let (folder, source) = scratch(&[]);
    git(&source, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", source.display());
    git(folder.path(), &["clone", "-q", "--depth=1", "--filter=blob:none", &url, "clone"]);
    let clone = folder.path().join("clone");
    let head = git(&clone, &["rev-parse", "HEAD"]);
    fs::create_dir_all(clone.join(".git/info")).unwrap();
    fs::write(clone.join(".git/info/grafts"), &head).unwrap();
    let out = folder.path().join("out");
    convert_with_objects(&clone, "zlib:6", &out);
    for (copied, original) in [("shallow", ".git/shallow"), ("info/grafts", ".git/info/grafts")] {
        assert_eq!(fs::read(out.join(copied)).unwrap(), fs::read(clone.join(original)).unwrap());
    }
    assert_eq!(git(&out, &["rev-parse", "--is-shallow-repository"]), "true\n");
    assert!(GitRepository::open(&out).unwrap().is_partial_clone());
    let keys = ["config", "--local", "--get-regexp", "^remote"];
    assert_eq!(git(&out, &keys), git(&clone, &keys));
}

#[test]
fn stores_without_packs_record_partial_clones_in_the_config() {
    let (folder, source) = scratch(&[]);
    git(&source, &["repack", "-q", "-a", "-d"]);
    let spec: CodecSpec = "zlib:6".parse().unwrap();
    let partial = |name: &str, store: StoreKind| {
        let out = folder.path().join(name);
        fs::create_dir_all(&out).unwrap();
        write_metadata(&GitRepository::open(&source).unwrap(), &spec, store, &out).unwrap();
        GitRepository::open(&out).unwrap().format().partial_clone.as_ref().map(ToString::to_string)
    };
    for store in StoreKind::ALL {
        assert_eq!(partial(&format!("whole-{store}"), store), None, "{store}");
    }
    let pack = GitRepository::open(&source).unwrap().packs()[0].pack.clone();
    fs::write(pack.with_extension("promisor"), "").unwrap();
    for store in StoreKind::ALL {
        let expected = (store != StoreKind::AsFound).then(|| "origin".to_owned());
        assert_eq!(partial(store.name(), store), expected, "{store}");
    }
    // A setting that exists already is not added again.
    git(&source, &["config", "remote.origin.promisor", "true"]);
    for store in StoreKind::ALL {
        assert_eq!(partial(&format!("configured-{store}"), store), None, "{store}");
    }
}

#[test]
fn work_tree_extensions_are_dropped_and_others_kept() {
    let (folder, source) = scratch(&[]);
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.noop", "x"),
        ("extensions.noop-v1", "x"),
        ("extensions.partialClone", "origin"),
        ("extensions.preciousObjects", "true"),
        ("extensions.worktreeConfig", "true"),
        ("core.useReplaceRefs", "false"),
        // This has to be the last one: git before 2.45 does not know it and refuses to set more.
        ("extensions.refStorage", "files"),
    ] {
        git(&source, &["config", key, value]);
    }
    let out = folder.path().join("out");
    convert_with_objects(&source, "zlib:6", &out);
    let kept = git(&out, &["config", "--local", "--name-only", "--get-regexp", "^extensions"]);
    let expected = ["noop", "noop-v1", "partialclone", "preciousobjects"].map(|name| format!("extensions.{name}\n"));
    assert_eq!(kept, expected.concat());
    assert_eq!(git(&out, &["config", "core.useReplaceRefs"]), "false\n");
    git(&out, &["log", "--oneline"]);
}

#[test]
fn symbolic_links_are_kept_or_resolved() {
    let (folder, source) = scratch(&[]);
    let git_dir = source.join(".git");
    let heads = git_dir.join("refs/heads");
    symlink(heads.join("packed"), heads.join("absolute")).unwrap();
    symlink("packed", heads.join("sibling")).unwrap();
    symlink("../../../.git/refs/heads/packed", heads.join("climbing")).unwrap();
    fs::remove_file(git_dir.join("HEAD")).unwrap();
    symlink("refs/heads/packed", git_dir.join("HEAD")).unwrap();
    symlink("main", git_dir.join("logs/refs/heads/linked")).unwrap();
    let out = folder.path().join("out");
    let report = convert_with_objects(&source, "zlib:6", &out);
    assert_eq!(fs::read_link(out.join("refs/heads/sibling")).unwrap(), Path::new("packed"));
    assert_eq!(fs::read_link(out.join("HEAD")).unwrap(), Path::new("refs/heads/packed"));
    for replaced in ["refs/heads/absolute", "refs/heads/climbing"] {
        assert!(fs::read_link(out.join(replaced)).is_err(), "{replaced}");
    }
    let arguments = ["for-each-ref", "--format=%(refname) %(objectname) %(symref)"];
    assert_eq!(git(&out, &arguments), git(&source, &arguments));
    assert!(matches!(report.left_out.as_slice(), [note] if note.contains("logs/refs/heads/linked")));
    // A link that leads outside is not followed, whatever its target is.
    let outside = folder.path().join("outside");
    fs::copy(heads.join("packed"), &outside).unwrap();
    symlink(&outside, heads.join("out")).unwrap();
    let refused = convert(&source, "zlib:6", &folder.path().join("refused"));
    assert!(matches!(refused, Err(WriterError::Reader(ReaderError::Unsupported { .. }))));
}

#[test]
fn existing_files_are_not_overwritten() {
    let (folder, source) = scratch(&[]);
    let out = folder.path().join("out");
    convert(&source, "zlib:6", &out).unwrap();
    assert!(matches!(convert(&source, "zlib:6", &out), Err(WriterError::Io { action: "create", .. })));
}
