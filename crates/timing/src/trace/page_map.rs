//! The page map: every page that a trace touches, for programs that draw.

use std::{
    io::{self, Write},
    path::Path,
};

use repackbench_reader::AccessTrace;

use super::pages::{PageSpace, role_name};

/// The names of the columns, tab-separated: the variant's label, the file, its role, the number of the page in the
/// file, and the number of its first touch over all files, both from 0.
pub const PAGE_MAP_HEADER: &str = "variant\tfile\trole\tpage\tfirst_touch\n";

/// Writes a line for each page that `trace` touches, in the order of first touches. Files are named by their path below
/// `folder`; control characters and backslashes in names are escaped.
///
/// # Errors
/// `out` cannot be written.
pub fn write_page_map(out: &mut dyn Write, label: &str, folder: &Path, trace: &AccessTrace) -> io::Result<()> {
    let space = PageSpace::new(trace);
    let name = |path: &Path| escaped(&path.strip_prefix(folder).unwrap_or(path).to_string_lossy());
    let names: Vec<String> = trace.files.iter().map(|file| name(&file.path)).collect();
    let label = escaped(label);
    for (order, (file, page)) in space.first_touches(trace).into_iter().enumerate() {
        let (Some(extent), Some(name)) = (space.files().get(file), names.get(file)) else { continue };
        writeln!(out, "{label}\t{name}\t{}\t{}\t{order}", role_name(extent.role), page - extent.pages.start)?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    let escape = |character: char| character.is_control() || character == '\\';
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, character| {
        if escape(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{
        pages::PAGE_LEN,
        tests::{chunk, trace},
    };

    #[test]
    fn pages_are_numbered_within_their_file() {
        let accesses = vec![chunk(1, PAGE_LEN, 1), chunk(0, 0, PAGE_LEN + 1), chunk(1, PAGE_LEN, 1)];
        let mut trace = trace(&[3 * PAGE_LEN, 3 * PAGE_LEN], accesses);
        trace.files[0].path = "/repo/objects/pack/a.pack".into();
        trace.files[1].path = "/elsewhere/b\t.pack".into();
        let mut out = Vec::new();
        write_page_map(&mut out, "zlib:6", Path::new("/repo"), &trace).unwrap();
        let expected = "zlib:6\t/elsewhere/b\\t.pack\tpack\t1\t0\n\
                        zlib:6\tobjects/pack/a.pack\tpack\t0\t1\n\
                        zlib:6\tobjects/pack/a.pack\tpack\t1\t2\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
