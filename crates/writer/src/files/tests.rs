use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::{ffi::OsStrExt, fs::symlink},
    process::{Command, Stdio},
};

use repackbench_reader::files::FileTree;

use super::*;
use crate::NoProgress;

/// Runs git in `folder` with `input`, without the user's configuration. Returns its output.
fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "A")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "a@example.com")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The files of the test repository.
fn contents() -> Vec<(&'static [u8], Vec<u8>)> {
    vec![
        (b"README", b"# What it is\n".repeat(30)),
        (b"empty", Vec::new()),
        (b"src/main.c", b"int main(void) { return 0; }\n".repeat(100)),
        (b"src/deep/er/noise", (0..=255).cycle().map(|byte: u8| byte.wrapping_mul(197)).take(5_000).collect()),
        (b"src/a name with blanks", b"x".to_vec()),
        (b"src/not utf-8 \xff", b"y".repeat(1_000)),
        (b"src/main.c.gz", b"no gzip file\n".to_vec()),
    ]
}

fn repository(folder: &Path) -> Repository {
    let path = folder.join("source");
    fs::create_dir(&path).unwrap();
    git(&path, &["init", "-q", "-b", "main"], b"");
    for (name, content) in contents() {
        let file = path.join(OsStr::from_bytes(name));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    symlink("README", path.join("link")).unwrap();
    git(&path, &["add", "."], b"");
    let id = "8e285bebf0a2b36a8e285bebf0a2b36a8e285beb";
    git(&path, &["update-index", "--add", "--cacheinfo", &format!("160000,{id},module")], b"");
    git(&path, &["commit", "-q", "-m", "first"], b"");
    fs::write(path.join("README"), "changed\n").unwrap();
    git(&path, &["commit", "-q", "-a", "-m", "second"], b"");
    Repository::open(&path).unwrap()
}

fn write(source: &Repository, spec: &str, target: &Path) -> Result<WrittenFiles> {
    let (written, path) =
        write_files(source, &spec.parse().unwrap(), Some("HEAD~1"), &ConvertJob::new(target, JobControl::quiet(2)))?;
    assert_eq!(path.file_name(), target.file_name());
    Ok(written)
}

#[test]
fn all_files_of_the_revision_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = repository(folder.path());
    for (number, spec) in
        ["store", "zlib:9", "libdeflate:6", "zstd:5", "bzip2:9", "xz:6", "lzo:9", "lz4"].iter().enumerate()
    {
        let target = folder.path().join(format!("tree-{number}"));
        let written = write(&source, spec, &target).unwrap();
        let tree = FileTree::open(&target).unwrap();
        assert_eq!(*tree.descriptor(), written.descriptor);
        let Descriptor { files, content_bytes, stored_bytes, symlinks, gitlinks, missing, .. } = written.descriptor;
        assert_eq!((files, symlinks, gitlinks, missing), (7, 1, 1, 0), "{spec}");
        assert_eq!(content_bytes, contents().iter().map(|(_, content)| content.len() as u64).sum::<u64>());
        let mut reader = tree.reader(Decoders::default());
        let mut on_disk = 0;
        for (path, content) in contents() {
            let path = Path::new(OsStr::from_bytes(path));
            assert_eq!(reader.read(path).unwrap(), content, "{spec}, {}", path.display());
            on_disk += fs::metadata(tree.place(path).unwrap()).unwrap().len();
        }
        assert_eq!(stored_bytes, on_disk, "{spec}");
        assert_eq!(files_in_folder_order(&target.join(FILES_FOLDER)).unwrap().len(), 7);
        let summary = written.to_string();
        assert!(summary.contains("7 files of revision") && summary.contains("1 symbolic links"), "{summary}");
    }
}

/// The modules `gzip`, `bz2` and `lzma` of Python read each file. The content is compared with the flat file. Every
/// machine that runs these tests has Python.
#[test]
fn other_programs_read_the_files() {
    const SCRIPT: &[u8] = b"import bz2, gzip, lzma, os, sys\n\
        modules = {b'.gz': gzip, b'bz2': bz2, b'.xz': lzma}\n\
        names = sys.stdin.buffer.read().split(bytes(1))[:-1]\n\
        for name, flat in zip(names[::2], names[1::2]):\n\
        \x20   read = modules[name[-3:]].open(os.fsdecode(name)).read()\n\
        \x20   assert read == open(flat, 'rb').read(), name\n\
        print(len(names) // 2)\n";
    let folder = tempfile::tempdir().unwrap();
    let source = repository(folder.path());
    write(&source, "store", &folder.path().join("flat")).unwrap();
    let flat = FileTree::open(&folder.path().join("flat")).unwrap();
    let mut names = Vec::new();
    for spec in ["zlib:9", "deflate:1", "libdeflate:12", "zlib-rs:6", "bzip2:9", "bzip2:1", "xz:6"] {
        let target = folder.path().join(spec.replace(':', "-"));
        write(&source, spec, &target).unwrap();
        let tree = FileTree::open(&target).unwrap();
        for (path, _) in contents() {
            let path = Path::new(OsStr::from_bytes(path));
            for tree in [&tree, &flat] {
                names.extend_from_slice(tree.place(path).unwrap().as_os_str().as_bytes());
                names.push(0);
            }
        }
    }
    let script = folder.path().join("script.py");
    fs::write(&script, SCRIPT).unwrap();
    let mut python = Command::new("python3");
    let mut python = python.arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(&names).unwrap();
    let output = python.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), (7 * contents().len()).to_string());
}

#[test]
fn invalid_requests_are_refused_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let source = repository(folder.path());
    let target = folder.path().join("tree");
    for (spec, why) in [("zstd:5,dict=64k", "has no dictionaries"), ("zstd:5,prefix", "has no deltas")] {
        let error = write(&source, spec, &target).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let unknown = write_files(
        &source,
        &"store".parse().unwrap(),
        Some("nowhere"),
        &ConvertJob::new(&target, JobControl::quiet(1)),
    );
    assert!(unknown.unwrap_err().to_string().contains("nowhere"));
    let inside = write(&source, "store", &source.own_folder().join("tree")).unwrap_err().to_string();
    assert!(inside.contains("is inside the source"), "{inside}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something is left");
}

#[test]
fn default_output_is_beside_the_source() {
    let found = default_files_output(Path::new("/a/b.git"), &"zlib:9".parse().unwrap()).unwrap();
    assert_eq!(found, Path::new("/a/b.git.zlib-9.files"));
    let found = default_files_output(Path::new("/a/b/.git"), &"store".parse().unwrap()).unwrap();
    assert_eq!(found, Path::new("/a/b.store.files"));
}

#[test]
fn force_replaces_only_unchanged_trees_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let source = repository(folder.path());
    let target = folder.path().join("tree");
    let again = |force| {
        write_files(
            &source,
            &"zstd:3".parse().unwrap(),
            None,
            &ConvertJob { force, ..ConvertJob::new(&target, JobControl::quiet(2)) },
        )
    };
    again(false).unwrap();
    assert!(again(false).unwrap_err().to_string().contains("already exists"));
    again(true).unwrap();
    fs::write(target.join("notes"), "mine").unwrap();
    let error = again(true).unwrap_err().to_string();
    assert!(error.contains("contains notes, which no conversion wrote"), "{error}");
    assert_eq!(fs::read_to_string(target.join("notes")).unwrap(), "mine");
    fs::remove_file(target.join("notes")).unwrap();
    let more = target.join(FILES_FOLDER).join("mine");
    fs::write(&more, "mine").unwrap();
    let error = again(true).unwrap_err().to_string();
    assert!(error.contains("contains 8 files, but its repackbench-files says 7"), "{error}");
    fs::remove_file(&more).unwrap();
    symlink("README", &more).unwrap();
    let error = again(true).unwrap_err().to_string();
    assert!(error.contains("files/mine, which no conversion wrote"), "{error}");
    fs::remove_file(&more).unwrap();
    again(true).unwrap();
    // A file with the name of the descriptor that is not one.
    fs::write(target.join(DESCRIPTOR_FILE), "").unwrap();
    let error = again(true).unwrap_err().to_string();
    assert!(error.contains("is not a tree of files that convert wrote"), "{error}");
    assert_eq!(files_in_folder_order(&target.join(FILES_FOLDER)).unwrap().len(), 7);
}

/// git itself writes no such trees, but anyone can forge them.
#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for name in ["..", ".", ".git", ".GIT", "/a", "b/../.."] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("source");
        fs::create_dir(&path).unwrap();
        git(&path, &["init", "-q", "-b", "main"], b"");
        let blob = git(&path, &["hash-object", "-w", "--stdin"], b"evil\n");
        let inner = git(&path, &["mktree"], format!("100644 blob {blob}\tconfig\n").as_bytes());
        let of = |id: &str| -> Vec<u8> {
            (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect()
        };
        // This file comes first in the order of paths, and must not be visited either.
        let tree = [b"100644 !\0".as_slice(), &of(&blob), format!("40000 {name}\0").as_bytes(), &of(&inner)].concat();
        let tree = git(&path, &["hash-object", "-w", "-t", "tree", "--literally", "--stdin"], &tree);
        let commit = git(&path, &["commit-tree", "-m", "forged", &tree], b"");
        git(&path, &["update-ref", "refs/heads/main", &commit], b"");
        let source = Repository::open(&path).unwrap();
        let target = folder.path().join("tree");
        let error =
            write_files(&source, &"store".parse().unwrap(), None, &ConvertJob::new(&target, JobControl::quiet(1)))
                .unwrap_err();
        assert!(error.to_string().contains("its path leads outside of the tree"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}: something is left");
        let visited =
            RevisionFiles::open(&source, None).unwrap().for_each(&mut |path, _| panic!("{path:?} is visited"));
        let error = visited.unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{name}/config: cannot write: its path leads outside of the tree")),
            "{error}"
        );
    }
}

#[test]
fn files_are_compressed_in_place_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = repository(folder.path());
    let flat = folder.path().join("flat");
    let content_bytes = write(&source, "store", &flat).unwrap().descriptor.content_bytes;
    for spec in ["zlib:9", "bzip2:9", "lzo:3", "zstd:5"] {
        let spec: CodecSpec = spec.parse().unwrap();
        let target = folder.path().join(spec.file_stem());
        let tree = compressed_in_place(&flat, &spec, &target, &NoProgress).unwrap();
        assert_eq!(tree.descriptor().spec, spec.canonical());
        let mut reader = tree.reader(Decoders::default());
        for (path, content) in contents() {
            assert_eq!(reader.read(Path::new(OsStr::from_bytes(path))).unwrap(), content);
        }
        let root = target.join(FILES_FOLDER);
        assert_eq!(files_in_folder_order(&root).unwrap().len(), 7);
        let names: Vec<PathBuf> = contents().iter().map(|(path, _)| PathBuf::from(OsStr::from_bytes(path))).collect();
        let mut decoder = FileDecoder::new(tree.descriptor().form, Decoders::default());
        let back = in_place::uncompress(&root, &names, &mut decoder, 1 << 20, &NoProgress);
        assert_eq!(back.unwrap(), content_bytes);
        for (path, content) in contents() {
            assert_eq!(fs::read(root.join(OsStr::from_bytes(path))).unwrap(), content);
        }
    }
}

#[test]
fn copies_have_the_content_of_their_trees() {
    let folder = tempfile::tempdir().unwrap();
    let source = repository(folder.path());
    let trees: Vec<PathBuf> = ["store", "zlib:9", "zstd:5"]
        .iter()
        .map(|spec| {
            let target = folder.path().join(spec.replace(':', "-"));
            write(&source, spec, &target).unwrap();
            target
        })
        .collect();
    let sources: Vec<&Path> = trees.iter().map(PathBuf::as_path).collect();
    let copies: Vec<PathBuf> = (0..3).map(|number| folder.path().join(format!("copies/{number}"))).collect();
    let targets: Vec<&Path> = copies.iter().map(PathBuf::as_path).collect();
    copy_interleaved(&sources, &targets, &[2, 0, 1], &NoProgress).unwrap();
    for copy in targets {
        let tree = FileTree::open(copy).unwrap();
        let mut reader = tree.reader(Decoders::default());
        for (path, content) in contents() {
            assert_eq!(reader.read(Path::new(OsStr::from_bytes(path))).unwrap(), content);
        }
        assert_eq!(files_in_folder_order(&copy.join(FILES_FOLDER)).unwrap().len(), 7);
    }
}
