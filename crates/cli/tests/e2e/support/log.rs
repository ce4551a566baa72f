//! Lines that workloads and logs print.

/// Fails the test unless both are the same; names the first line that differs.
#[track_caller]
pub(crate) fn assert_same_lines(seen: &[String], expected: &[String], what: &str) {
    let first = seen.iter().zip(expected).position(|(seen, expected)| seen != expected);
    let place = first.unwrap_or(seen.len().min(expected.len()));
    assert!(
        seen == expected,
        "{what}: {} lines seen, {} expected; the first that differs is {place}: {:?} instead of {:?}",
        seen.len(),
        expected.len(),
        seen.get(place),
        expected.get(place),
    );
}

pub(crate) fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// The patches of a log, each with the id of its commit.
#[track_caller]
pub(crate) fn split_patches(log: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut patches: Vec<(String, Vec<u8>)> = Vec::new();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"commit ") {
            Some(id) => patches.push((String::from_utf8_lossy(id).trim_end().to_owned(), Vec::new())),
            None => patches.last_mut().expect("a commit before its patch").1.extend_from_slice(line),
        }
    }
    patches
}
