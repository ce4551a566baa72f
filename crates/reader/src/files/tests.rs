use std::os::unix::fs::symlink;

use repackbench_codec::{CodecSpec, FileEncoder, FileForm};

use super::*;

fn descriptor(form: FileForm) -> Descriptor {
    Descriptor {
        spec: "zlib:9".to_owned(),
        form,
        revision: "8e285bebf0a2b36a8e285bebf0a2b36a8e285beb".to_owned(),
        files: 1,
        content_bytes: 1_000,
        stored_bytes: 1_000,
        symlinks: 2,
        gitlinks: 1,
        missing: 0,
    }
}

/// A tree with one file, `sub/a.c`.
fn tree(spec: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let spec: CodecSpec = spec.parse().unwrap();
    let mut encoder = FileEncoder::new(spec.default_choice()).unwrap();
    fs::write(folder.path().join(DESCRIPTOR_FILE), descriptor(encoder.form()).to_text()).unwrap();
    let place = FileTree::open(folder.path()).unwrap().place(Path::new("sub/a.c")).unwrap();
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let mut stored = Vec::new();
    encoder.encode(content, &mut stored).unwrap();
    fs::write(&place, stored).unwrap();
    (folder, place)
}

#[test]
fn descriptor_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!FileTree::is_at(folder.path()));
    for form in FileForm::ALL {
        fs::write(folder.path().join(DESCRIPTOR_FILE), descriptor(form).to_text()).unwrap();
        assert_eq!(Descriptor::read(folder.path()).unwrap(), descriptor(form));
    }
    assert!(FileTree::is_at(folder.path()));
}

#[test]
fn damaged_descriptor_error_names_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(DESCRIPTOR_FILE);
    let good = descriptor(FileForm::Gzip).to_text();
    let refused = |text: &[u8]| {
        fs::write(&path, text).unwrap();
        let error = Descriptor::read(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        error
    };
    for (from, to, expected) in [
        ("repackbench-files 1", "repackbench-files 2", "version 2 of the format is not supported"),
        ("repackbench-files 1", "something 1", "line 1: expected a line that begins with \"repackbench-files \""),
        ("spec zlib:9", "spec zlib:99", "line 2: expected a codec spec"),
        ("form gzip", "form zip", "line 3: expected one of flat, gzip"),
        ("revision 8e", "revision ../", "line 4: expected a hexadecimal id"),
        ("\nfiles 1\n", "\nfiles 01\n", "line 5: expected a decimal number"),
        ("\nfiles 1\n", "\nfiles -1\n", "line 5: expected a decimal number"),
        ("content-bytes 1000", "content-bytes 18446744073709551616", "line 6: expected a decimal number"),
        ("symlinks 2\n", "", "line 8: expected a line that begins with \"symlinks \""),
        ("missing 0\n", "missing 0\nmore 1\n", "expected the end of the file"),
        ("missing 0\n", "missing 0", "expected the end of the file"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = refused(good.replace(from, to).as_bytes());
        assert!(error.contains(expected), "{error}");
    }
    assert!(refused(b"\xff\xfe").contains("UTF-8"));
    assert!(refused(&[b'x'; 5_000]).contains("at most 4096 bytes"));
    for len in 0..good.len() {
        refused(&good.as_bytes()[..len]);
    }
    fs::remove_file(&path).unwrap();
    assert!(Descriptor::read(folder.path()).unwrap_err().to_string().contains("cannot read"));
}

#[test]
fn files_are_decoded_with_their_codec() {
    let content = b"int main(void) { return 0; }\n".repeat(10);
    for spec in ["store", "zlib:9", "zstd:5", "bzip2:9", "xz:6", "lzo:9", "lz4"] {
        let (folder, place) = tree(spec, &content);
        let opened = FileTree::open(folder.path()).unwrap();
        let mut reader = opened.reader(Decoders::default());
        for _ in 0..2 {
            assert_eq!(reader.read(Path::new("sub/a.c")).unwrap(), content, "{spec}");
        }
        assert!(place.starts_with(folder.path().join("files/sub")), "{}", place.display());
        let error = reader.read(Path::new("sub/b.c")).unwrap_err().to_string();
        assert!(error.contains("sub/b.c") && error.contains("cannot read"), "{error}");
    }
}

#[test]
fn paths_cannot_leave_the_tree() {
    let (folder, _) = tree("store", b"x");
    let opened = FileTree::open(folder.path()).unwrap();
    for path in ["../repackbench-files", "/etc/passwd", "sub/../../x", ".", ""] {
        assert_eq!(opened.place(Path::new(path)), None, "{path}");
        assert!(opened.reader(Decoders::default()).read(Path::new(path)).is_err(), "{path}");
    }
}

#[test]
fn damaged_file_error_names_the_file() {
    let content = b"int main(void) { return 0; }\n".repeat(10);
    for spec in ["zlib:9", "zstd:5", "bzip2:9", "xz:6", "lzo:9"] {
        let (folder, place) = tree(spec, &content);
        let opened = FileTree::open(folder.path()).unwrap();
        let good = fs::read(&place).unwrap();
        let mut reader = opened.reader(Decoders::default());
        for damaged in [&good[..good.len() / 2], &good[1..], b"", b"nonsense that is no file of any form"] {
            fs::write(&place, damaged).unwrap();
            let error = reader.read(Path::new("sub/a.c")).unwrap_err().to_string();
            assert!(error.contains(&place.display().to_string()), "{spec}: {error}");
        }
        fs::write(&place, &good).unwrap();
        assert_eq!(reader.read(Path::new("sub/a.c")).unwrap(), content, "{spec}: the reader still works");
    }
}

#[test]
fn rejects_file_with_more_content_than_the_tree() {
    let (folder, _) = tree("zlib:9", &vec![b'a'; 100_000]);
    let opened = FileTree::open(folder.path()).unwrap();
    let error = opened.reader(Decoders::default()).read(Path::new("sub/a.c")).unwrap_err().to_string();
    assert!(error.contains("at most 1000 payload bytes"), "{error}");
    let (folder, _) = tree("store", &vec![b'a'; 100_000]);
    let opened = FileTree::open(folder.path()).unwrap();
    let error = opened.reader(Decoders::default()).read(Path::new("sub/a.c")).unwrap_err().to_string();
    assert!(error.contains("at most 1000 bytes"), "{error}");
}

/// A descriptor may be a link to anything. Only a regular file of limited length is read.
#[test]
fn rejects_endless_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/dev/zero", folder.path().join(DESCRIPTOR_FILE)).unwrap();
    assert!(!FileTree::is_at(folder.path()));
    assert!(Descriptor::read(folder.path()).is_err());
}
