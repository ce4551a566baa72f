//! Tests how object files are recognized by their paths.

// The stand-in itself cannot be linked with tests, because its functions have zlib's names.
#[path = "../../src/objects/path.rs"]
mod path;

use path::{ObjectFile, is_lock_of_tables, split};

#[test]
fn object_files_are_recognized_by_path() {
    fn found(path: &str) -> Option<(&[u8], bool)> {
        ObjectFile::at(path.as_bytes()).map(|file| (file.store, file.is_new))
    }
    let name = "26abf0f72e58d7a153368ba57db4c673c0e171";
    for (path, folder, is_new) in [
        ("/r/objects/pack/pack-12.pack", "/r/objects", false),
        ("objects/pack/pack-12.pack", "objects", false),
        ("pack/pack-12.pack", "", false),
        ("/r/objects//pack/pack-12.pack", "/r/objects", false),
        ("/r/objects/pack/tmp_pack_aB3x", "/r/objects", true),
        ("/r/objects/tmp_objdir-incoming-x/pack/tmp_pack_1", "/r/objects/tmp_objdir-incoming-x", true),
        (&format!("/r/objects/56/{name}"), "/r/objects", false),
        (&format!("/r/objects/56/{name}{}", "a".repeat(24)), "/r/objects", false),
        ("/r/objects/56/tmp_obj_Zz", "/r/objects", true),
    ] {
        assert_eq!(found(path), Some((folder.as_bytes(), is_new)), "{path}");
    }
    for path in [
        "",
        "/",
        "config",
        "/r/objects/pack/pack-12.idx",
        "/r/pack-12.pack",
        "/elsewhere/pack-12.pack",
        "/r/objects/info/packs",
        "/r/objects/5/tmp_obj_1",
        "/r/objects/xy/tmp_obj_1",
        &format!("/r/objects/567/{name}"),
        "/r/objects/56/26abf0",
    ] {
        assert_eq!(found(path), None, "{path}");
    }
}

#[test]
fn lock_of_tables_is_recognized_by_path() {
    for path in ["/r/.git/reftable/tables.list.lock", "reftable//tables.list.lock", "reftable/tables.list.lock"] {
        assert!(is_lock_of_tables(path.as_bytes()), "{path}");
    }
    for path in
        ["tables.list.lock", "/r/reftable/tables.list", "/r/reftable/x-tables.list.lock", "/r/table/tables.list.lock"]
    {
        assert!(!is_lock_of_tables(path.as_bytes()), "{path}");
    }
}

#[test]
fn split_gives_folder_and_name() {
    let split = |path: &'static str| {
        let (folder, name) = split(path.as_bytes());
        [folder, name].map(|part| std::str::from_utf8(part).unwrap())
    };
    assert_eq!(split("a"), ["", "a"]);
    assert_eq!(split("/a"), ["/", "a"]);
    assert_eq!(split("a//b"), ["a", "b"]);
    assert_eq!(split("//a"), ["/", "a"]);
    assert_eq!(split("a/"), ["a", ""]);
}
