//! Comparing an output with its snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use insta::Settings;
use similar::TextDiff;

use super::folder;

/// The number of digits that are compared of a number in CSV or JSON.
const DIGITS: usize = 13;

/// Fails the test unless `text` equals `snapshots/FOLDER/NAME.snap`, which has `␛` for escape characters and `␃` for
/// the end of the text, as insta ignores line feeds at the end.
#[track_caller]
pub(crate) fn assert_text(folder: &str, name: &str, text: &str) {
    assert!(!text.contains(['\r', '␛', '␃']), "{folder}/{name}: a character that a snapshot does not distinguish");
    assert!(!text.starts_with('\n'), "{folder}/{name}: a line feed that insta ignores");
    settings(folder).bind(|| insta::assert_snapshot!(name, text.replace('\u{1b}', "␛") + "␃"));
}

/// `text` with its decimal numbers rounded to [`DIGITS`].
///
/// The last bit of a logarithm depends on whether the processor has a fused multiply-add, and the last bits of a ratio
/// depend on the logarithm. Only CSV and JSON print enough digits to show the difference.
pub(crate) fn rounded(text: &str) -> String {
    let is_of_word = |character: char| character.is_ascii_alphanumeric() || "+-._".contains(character);
    let words = text.split_inclusive(|character| !is_of_word(character));
    words
        .map(|word| {
            let (number, end) = word.split_at(word.trim_end_matches(|character| !is_of_word(character)).len());
            format!("{}{end}", rounded_number(number).as_deref().unwrap_or(number))
        })
        .collect()
}

/// A number with more digits than are compared, rounded to those.
fn rounded_number(word: &str) -> Option<String> {
    let is_long = word.contains('.') && word.bytes().filter(u8::is_ascii_digit).count() > DIGITS;
    let number: f64 = word.parse().ok().filter(|_| is_long)?;
    let shorter: f64 = format!("{number:.*e}", DIGITS - 1).parse().ok()?;
    Some(shorter.to_string())
}

#[test]
fn rounds_only_long_numbers() {
    let text = "{\"ratio\": 1.0125897419871885},-0.000012345678901234567,0.5,12345678901234567,3e5c.12345678901234\n";
    let expected = "{\"ratio\": 1.012589741987},-0.00001234567890123,0.5,12345678901234567,3e5c.12345678901234\n";
    assert_eq!(rounded(text), expected);
}

/// Fails the test unless `content` equals the file `snapshots/FOLDER/NAME.snap.EXTENSION`, which can be opened on its
/// own.
#[track_caller]
pub(crate) fn assert_file(folder: &str, (name, extension): (&str, &str), content: String) {
    show_changes(&snapshots(folder).join(format!("{name}.snap.{extension}")), &content);
    settings(folder).bind(|| insta::assert_binary_snapshot!(&format!("{name}.{extension}"), content.into_bytes()));
}

/// The folder with the snapshots of a report or a comparison.
pub(crate) fn snapshots(name: &str) -> PathBuf {
    folder().join("snapshots").join(name)
}

fn settings(folder: &str) -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(snapshots(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Prints the changes of a file, as insta only reports that it changed.
fn show_changes(file: &Path, new: &str) {
    let Ok(old) = fs::read_to_string(file) else { return };
    if old != new {
        let changes = TextDiff::from_lines(old.as_str(), new);
        println!("{}:\n{}", file.display(), changes.unified_diff().context_radius(1));
    }
}
