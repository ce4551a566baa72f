//! Patches compared with their expected text, and applied by a small program.

use gix_hash::{Kind, ObjectId};
use proptest::prelude::*;
use repackbench_reader::{FileVersion, traits::FileMode};

use super::{FileContent, PatchWriter, Style, lines::LineDiff, lines::part};

/// Two different ids. The patch writer does not hash.
fn id(digit: char) -> ObjectId {
    ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap()
}

fn file(digit: char, mode: FileMode, content: &[u8]) -> FileContent<'_> {
    FileContent { version: FileVersion { id: id(digit), mode }, content }
}

fn written(path: &str, old: Option<FileContent<'_>>, new: Option<FileContent<'_>>) -> String {
    let mut writer = PatchWriter::default();
    writer.add(path.as_bytes(), &[old, new], Style::Git);
    String::from_utf8_lossy(writer.patch()).into_owned()
}

/// The patch between two texts without its header, which ends with the lines of names.
fn hunks(old: &str, new: &str) -> String {
    let patch = written(
        "f",
        Some(file('1', FileMode::Regular, old.as_bytes())),
        Some(file('2', FileMode::Regular, new.as_bytes())),
    );
    let header = format!("diff --git a/f b/f\nindex {}..{} 100644\n--- a/f\n+++ b/f\n", id('1'), id('2'));
    patch.strip_prefix(&header).unwrap_or_else(|| panic!("{patch}")).to_owned()
}

/// `count` numbered lines; those in `changed` are marked.
fn numbered(count: usize, changed: &[usize]) -> String {
    (1..=count).map(|n| format!("{}{n}\n", if changed.contains(&n) { "=" } else { "." })).collect()
}

#[test]
fn new_and_deleted_texts_are_one_hunk() {
    assert_eq!(hunks("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_eq!(hunks("a\nb\n", ""), "@@ -1,2 +0,0 @@\n-a\n-b\n");
    assert_eq!(hunks("", "a"), "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
}

#[test]
fn counts_of_one_are_left_out() {
    assert_eq!(hunks("a\n", "b\n"), "@@ -1 +1 @@\n-a\n+b\n");
    assert_eq!(hunks("a\n", "a\nb\n"), "@@ -1 +1,2 @@\n a\n+b\n");
    assert_eq!(hunks("a\nb\n", "b\n"), "@@ -1,2 +1 @@\n-a\n b\n");
}

#[test]
fn missing_newlines_are_marked_on_their_side() {
    const NONE: &str = "\\ No newline at end of file\n";
    assert_eq!(hunks("a", "b"), format!("@@ -1 +1 @@\n-a\n{NONE}+b\n{NONE}"));
    assert_eq!(hunks("a", "a\n"), format!("@@ -1 +1 @@\n-a\n{NONE}+a\n"));
    assert_eq!(hunks("a\n", "a"), format!("@@ -1 +1 @@\n-a\n+a\n{NONE}"));
    assert_eq!(hunks("a\nz", "b\nz"), format!("@@ -1,2 +1,2 @@\n-a\n+b\n z\n{NONE}"));
    // A line without a newline differs from the same text with one.
    assert_eq!(hunks("a\nb", "a\nb\nc"), format!("@@ -1,2 +1,3 @@\n a\n-b\n{NONE}+b\n+c\n{NONE}"));
}

#[test]
fn edits_up_to_six_lines_apart_share_a_hunk() {
    let near = hunks(&numbered(30, &[]), &numbered(30, &[10, 17]));
    assert_eq!(near.matches("@@ -").count(), 1, "{near}");
    assert!(near.starts_with("@@ -7,14 +7,14 @@\n .7\n .8\n .9\n-.10\n+=10\n .11\n"), "{near}");
    assert!(near.ends_with("\n-.17\n+=17\n .18\n .19\n .20\n"), "{near}");
    let far = hunks(&numbered(30, &[]), &numbered(30, &[10, 18]));
    let heads: Vec<&str> = far.lines().filter(|line| line.starts_with("@@")).collect();
    assert_eq!(heads, ["@@ -7,7 +7,7 @@", "@@ -15,7 +15,7 @@"]);
}

#[test]
fn context_ends_with_the_file() {
    let text = hunks(&numbered(9, &[]), &numbered(9, &[2]));
    assert!(text.starts_with("@@ -1,5 +1,5 @@\n .1\n-.2\n+=2\n .3\n"), "{text}");
    let text = hunks(&numbered(9, &[]), &numbered(9, &[8]));
    assert!(text.starts_with("@@ -5,5 +5,5 @@\n"), "{text}");
}

#[test]
fn lines_of_long_files_are_numbered_from_the_start() {
    // More common lines on both sides than take part in the comparison.
    let text = hunks(&numbered(2000, &[]), &numbered(2000, &[1000]));
    assert!(text.starts_with("@@ -997,7 +997,7 @@\n .997\n"), "{text}");
}

#[test]
fn headers_show_the_nearest_function_line() {
    let body: String = (0..20).map(|n| format!("    {n};\n")).collect();
    let old = format!("fn first() {{ \t\n{body}}}\n// {}\n_second:\n{body}", "x".repeat(100));
    let heading = |at: usize| {
        let mut lines: Vec<&str> = old.lines().collect();
        lines[at] = "    changed";
        let text = hunks(&old, &(lines.join("\n") + "\n"));
        text.lines().next().unwrap().split_once(" @@").unwrap().1.to_owned()
    };
    assert_eq!(heading(2), "", "the line itself is shown");
    assert_eq!(heading(10), " fn first() {");
    assert_eq!(heading(40), " _second:");
    let long = format!("{}\n{body}", "ab".repeat(60));
    assert!(hunks(&long, &long.replace("10;", "x")).contains(&format!("@@ {}\n", "ab".repeat(40))));
}

#[test]
fn edits_slide_by_indentation() {
    let old = "fn a() {\n    one;\n}\n\nfn z() {\n    two;\n}\n";
    let new = "fn a() {\n    one;\n}\n\nfn m() {\n    mid;\n}\n\nfn z() {\n    two;\n}\n";
    let expected =
        "@@ -2,6 +2,10 @@ fn a() {\n     one;\n }\n \n+fn m() {\n+    mid;\n+}\n+\n fn z() {\n     two;\n }\n";
    assert_eq!(hunks(old, new), expected);
}

#[test]
fn modes_and_ids_are_in_the_header() {
    use FileMode::{Executable, Gitlink, Regular, Symlink};
    let (one, two, none) = (id('1'), id('2'), ObjectId::null(Kind::Sha1));
    let old = |mode| Some(file('1', mode, b"a\n"));
    let new = |mode| Some(file('2', mode, b"b\n"));
    let added = written("f", None, new(Executable));
    let labels = "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n";
    assert_eq!(added, format!("diff --git a/f b/f\nnew file mode 100755\nindex {none}..{two}\n{labels}"));
    let deleted = written("f", old(Symlink), None);
    let labels = "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    assert_eq!(deleted, format!("diff --git a/f b/f\ndeleted file mode 120000\nindex {one}..{none}\n{labels}"));
    let modes = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n";
    let labels = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(written("f", old(Regular), new(Executable)), format!("{modes}index {one}..{two}\n{labels}"));
    let same_content = Some(file('1', Executable, b""));
    assert_eq!(written("f", old(Regular), same_content), modes, "ids are the same, so content is not looked at");
    let submodule = written("f", old(Gitlink), new(Gitlink));
    assert!(submodule.contains(&format!("index {one}..{two} 160000\n")), "{submodule}");
}

#[test]
fn patches_of_hg_have_no_ids() {
    let mut writer = PatchWriter::default();
    let versions = [file('1', FileMode::Regular, b"a\n"), file('2', FileMode::Regular, b"b\n")].map(Some);
    writer.add(b"f", &versions, Style::Hg);
    assert_eq!(writer.patch(), b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n");
    writer.clear();
    // Mercurial's ids depend on history too: the same content can have two.
    let versions = [file('1', FileMode::Regular, b"a\n"), file('2', FileMode::Regular, b"a\n")].map(Some);
    writer.add(b"f", &versions, Style::Hg);
    assert_eq!(writer.patch(), b"");
}

#[test]
fn names_are_quoted_with_marked_end() {
    let text = Some(file('1', FileMode::Regular, b"a\n"));
    let patch = written("a b", text, None);
    assert!(
        patch.starts_with("diff --git a/a b b/a b\n") && patch.contains("\n--- a/a b\t\n+++ /dev/null\n"),
        "{patch}"
    );
    let patch = written("t\té\"", text, None);
    assert!(patch.starts_with(r#"diff --git "a/t\t\303\251\"" "b/t\t\303\251\"""#), "{patch}");
}

#[test]
fn binary_and_empty_files_have_no_hunks() {
    let index = format!("index {}..{}", ObjectId::null(Kind::Sha1), id('1'));
    let added = |content| written("a b", None, Some(file('1', FileMode::Regular, content)));
    let header = format!("diff --git a/a b b/a b\nnew file mode 100644\n{index}\n");
    assert_eq!(added(b""), header);
    assert_eq!(added(b"a\0b\n"), format!("{header}Binary files /dev/null and b/a b differ\n"));
    let mut late = vec![b'a'; 8000];
    late.extend_from_slice(b"\0\n");
    assert!(added(&late).contains("@@ -0,0 +1 @@"), "git searches the first 8000 bytes only");
    for (old, new) in [(None, Some(late.as_slice())), (Some(late.as_slice()), None), (Some(b"a\n"), Some(&late))] {
        let mut writer = PatchWriter::default();
        let version = |digit, content: Option<_>| content.map(|content| file(digit, FileMode::Regular, content));
        writer.add(b"f", &[version('1', old), version('2', new)], Style::Hg);
        let patch = String::from_utf8_lossy(writer.patch());
        assert!(patch.contains("\nBinary files ") && !patch.contains("@@"), "hg searches all of it: {patch}");
    }
}

/// Applies the hunks of `patch` to `old`: an independent implementation of the format.
fn apply(old: &[u8], patch: &str) -> Vec<u8> {
    let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut new = Vec::new();
    let mut at = 0;
    let mut lines = patch.lines().skip_while(|line| !line.starts_with("@@ -")).peekable();
    while let Some(head) = lines.next() {
        let ranges: Vec<&str> = head.split(' ').collect();
        let [start, count] = range(ranges[1]);
        let from = if count == 0 { start } else { start - 1 };
        new.extend_from_slice(&old[at..from].concat());
        at = from;
        let mut added = 0;
        while let Some(line) = lines.next_if(|line| !line.starts_with("@@ -")) {
            let has_newline = lines.next_if(|next| next.starts_with('\\')).is_none();
            let text = [&line.as_bytes()[1..], if has_newline { b"\n" } else { b"" }].concat();
            if !line.starts_with('+') {
                assert_eq!(old[at], text, "{patch}");
                at += 1;
            }
            if !line.starts_with('-') {
                added += 1;
                new.extend_from_slice(&text);
            }
        }
        assert_eq!([at - from, added], [count, range(ranges[2])[1]], "{patch}");
    }
    new.extend_from_slice(&old[at..].concat());
    new
}

/// `-start,count` or `+start`.
fn range(text: &str) -> [usize; 2] {
    let (start, count) = text[1..].split_once(',').unwrap_or((&text[1..], "1"));
    [start.parse().unwrap(), count.parse().unwrap()]
}

#[track_caller]
fn applies(old: &str, new: &str) {
    let patch = written(
        "f",
        Some(file('1', FileMode::Regular, old.as_bytes())),
        Some(file('2', FileMode::Regular, new.as_bytes())),
    );
    assert_eq!(String::from_utf8(apply(old.as_bytes(), &patch)).unwrap(), new, "{patch}");
    assert_eq!(patch.is_empty(), old == new);
}

/// Lines from a small alphabet, so that many are equal. One text in ten lacks its last newline.
fn text(lines: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["", "}", "    x;", "fn f() {", "\t\ty", "a", "b", "c"]);
    (prop::collection::vec(line, lines), 0..10u8).prop_map(|(lines, end)| {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        if end == 0 { text.trim_end_matches('\n').to_owned() } else { text }
    })
}

/// A text, and the same text after edits that each replace some lines.
fn edited(lines: usize) -> impl Strategy<Value = (String, String)> {
    let edits = prop::collection::vec((0..lines, 0..12usize, text(0..12)), 0..5);
    (text(lines..lines + 1), edits).prop_map(|(old, edits)| {
        let mut new: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
        for (at, removed, added) in edits {
            let at = at.min(new.len());
            let end = (at + removed).min(new.len());
            new.splice(at..end, added.split_inclusive('\n').map(str::to_owned));
        }
        (old, new.concat())
    })
}

proptest! {
    #[test]
    fn patches_of_unrelated_texts_apply(old in text(0..40), new in text(0..40)) {
        applies(&old, &new);
    }

    #[test]
    fn patches_of_edited_texts_apply((old, new) in edited(60)) {
        applies(&old, &new);
    }

    #[test]
    fn patches_of_long_edited_texts_apply((old, new) in edited(700)) {
        applies(&old, &new);
    }

    /// A reused value gives the same patches as a new one.
    #[test]
    fn memory_of_earlier_files_does_not_show(pairs in prop::collection::vec(edited(30), 1..6)) {
        let mut reused = LineDiff::default();
        for (old, new) in &pairs {
            reused.compare(old.as_bytes(), new.as_bytes());
            let mut fresh = LineDiff::default();
            fresh.compare(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(reused.edits(), fresh.edits());
        }
    }

    /// Comparing bytes works for arbitrary bytes.
    #[test]
    fn edits_of_bytes_leave_equal_lines(
        old in prop::collection::vec(prop::sample::select(vec![b'\n', b'a', 0, 0xff, b'\r']), 0..200),
        new in prop::collection::vec(prop::sample::select(vec![b'\n', b'a', 0, 0xff, b'\r']), 0..200),
    ) {
        let mut diff = LineDiff::default();
        diff.compare(&old, &new);
        let [old_lines, new_lines] = [&old, &new].map(|text| text.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>());
        let (mut old_at, mut new_at) = (0, 0);
        for edit in diff.edits() {
            prop_assert_eq!(&old_lines[old_at..edit.old.start], &new_lines[new_at..edit.new.start]);
            for number in edit.old.clone() {
                prop_assert_eq!(part(&old, diff.old_lines().place(number)), old_lines[number]);
            }
            (old_at, new_at) = (edit.old.end, edit.new.end);
        }
        prop_assert_eq!(&old_lines[old_at..], &new_lines[new_at..]);
    }
}
