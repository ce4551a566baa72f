//! Sizes of repositories, compared.

use repackbench_records::{ChunkForm, ObjectKind, SizeRecord, StoredForm};

use crate::{
    document::{Article, Block, Column, ColumnSplit, Table, plain_text},
    number::{megabytes, size_ratio, thousands},
};

/// A line of the table: a name and the bytes in each repository, `None` where they were not counted.
struct SizeLine {
    name: String,
    bytes: Vec<Option<u64>>,
}

impl SizeLine {
    /// The line of a part that was counted in each repository.
    fn counted(name: &str, bytes: Vec<u64>) -> Self {
        SizeLine { name: name.to_owned(), bytes: bytes.into_iter().map(Some).collect() }
    }

    /// The name, the bytes of the first repository, then those of each other one with their ratio to the first.
    fn cells(self) -> Vec<String> {
        let first = self.bytes.first().copied().flatten();
        let none = || "-".to_owned();
        let mut cells = vec![self.name];
        for (number, bytes) in self.bytes.into_iter().enumerate() {
            cells.push(bytes.map_or_else(none, megabytes));
            let ratio = || bytes.zip(first).map_or_else(none, |(bytes, first)| size_ratio(bytes, first));
            cells.extend((number > 0).then(ratio));
        }
        cells
    }
}

/// Where the bytes of each repository go: payloads by object kind, stored bytes by object kind, framing and indexes, and
/// the total, each with its ratio to the first repository. Lines that are empty in all repositories are left out, except
/// for the total.
pub fn sizes(sizes: &[SizeRecord]) -> Article {
    let growth: Vec<String> = match sizes.split_first() {
        Some((first, others)) => others.iter().filter_map(|other| manifest_growth(first, other)).collect(),
        None => Vec::new(),
    };
    let forms = stored_forms(sizes).map(Block::Table);
    let notes: Vec<String> = growth.into_iter().chain(sizes.iter().filter_map(id_note)).collect();
    let notes = (!notes.is_empty()).then_some(Block::Notes(notes));
    // The totals come last, where a terminal shows them.
    let totals = (sizes.len() > 2).then(|| Block::Table(totals(sizes)));
    Article::of(forms.into_iter().chain(notes).chain([Block::Table(bytes_by_kind(sizes))]).chain(totals))
}

/// A line for each of several repositories: the total, and its ratio to the first.
fn totals(sizes: &[SizeRecord]) -> Table {
    let columns = [Column::words("repository"), Column::points("total MB"), Column::numbers("ratio")];
    let mut table = Table::new(columns).captioned("Total bytes; ratios are to the first repository");
    let first = sizes.first().map_or(0, |size| size.total_bytes);
    for size in sizes {
        table.row([size.label.clone(), megabytes(size.total_bytes), size_ratio(size.total_bytes, first)]);
    }
    table
}

/// The bytes of each repository: payloads, then stored bytes with their total.
fn bytes_by_kind(sizes: &[SizeRecord]) -> Table {
    let mut columns = vec![Column::words("")];
    for (number, size) in sizes.iter().enumerate() {
        columns.push(Column::points(format!("{} MB", size.label)));
        columns.extend((number > 0).then(|| Column::numbers("ratio")));
    }
    let mut table =
        Table::new(columns).captioned("Bytes by what they hold; ratios are to the first repository").spaced();
    table.split = Some(ColumnSplit { fixed: 2, together: 2 });
    for part in [payload_lines(sizes), stored_lines(sizes)] {
        table.group(None);
        part.into_iter().for_each(|line| table.row(line.cells()));
    }
    table
}

/// The stored forms of the chunks of each repository. Forms that no repository has are left out; `None` if no chunk was
/// counted.
pub(super) fn stored_forms(sizes: &[SizeRecord]) -> Option<Table> {
    let forms: Vec<StoredForm> =
        StoredForm::ALL.into_iter().filter(|form| sizes.iter().any(|size| size.forms.get(*form).chunks > 0)).collect();
    if forms.is_empty() {
        return None;
    }
    let mut columns = vec![Column::words("form")];
    for size in sizes {
        let name = if sizes.len() == 1 { "MB".to_owned() } else { format!("{} MB", size.label) };
        columns.extend([Column::numbers("chunks"), Column::points(name)]);
    }
    let mut table = Table::new(columns);
    table.split = Some(ColumnSplit { fixed: 1, together: 2 });
    for form in forms {
        let cells = sizes.iter().map(|size| size.forms.get(form));
        let cells = cells.flat_map(|of| [thousands(of.chunks), megabytes(of.stored_bytes)]);
        table.row(std::iter::once(form.name().to_owned()).chain(cells));
    }
    Some(table)
}

/// The part of the growth from `first` to `other` that is in the manifest; `None` for Git.
fn manifest_growth(first: &SizeRecord, other: &SizeRecord) -> Option<String> {
    let manifest = |size: &SizeRecord| {
        let bytes = ChunkForm::ALL.map(|form| size.objects.get(ObjectKind::Manifest, form).stored_bytes);
        bytes.into_iter().fold(0, u64::saturating_add)
    };
    let growth = i128::from(other.total_bytes) - i128::from(first.total_bytes);
    let of_manifest = i128::from(manifest(other)) - i128::from(manifest(first));
    if manifest(first) == 0 || growth == 0 {
        return None;
    }
    let signed = |bytes: i128| {
        let sign = if bytes < 0 { "-" } else { "+" };
        format!("{sign}{} MB", megabytes(u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX)))
    };
    let label = plain_text(&other.label);
    Some(format!("growth of {label}: {}, {} of it in the manifest", signed(growth), signed(of_manifest)))
}

/// How many names of objects commits, trees and tags hold, if they were counted.
fn id_note(size: &SizeRecord) -> Option<String> {
    let ids = size.ids?;
    let payload = [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Tag]
        .into_iter()
        .flat_map(|kind| ChunkForm::ALL.map(|form| size.objects.get(kind, form).payload_bytes));
    let share = 100.0 * ids.payload_bytes as f64 / payload.fold(0, u64::saturating_add).max(1) as f64;
    let label = plain_text(&size.label);
    let names = thousands(ids.references);
    let escaped = match ids.escaped {
        0 => String::new(),
        escaped => format!("; {} are full ids among numbers", thousands(escaped)),
    };
    Some(format!("ids of {label}: {names} take {share:.1} % of the payload of commits, trees and tags{escaped}"))
}

/// A line with the bytes from `bytes_of`, unless they are zero in all repositories.
fn line(name: &str, sizes: &[SizeRecord], bytes_of: impl Fn(&SizeRecord) -> u64) -> Option<SizeLine> {
    let bytes: Vec<u64> = sizes.iter().map(bytes_of).collect();
    bytes.iter().any(|&bytes| bytes > 0).then(|| SizeLine::counted(name, bytes))
}

fn stored_lines(sizes: &[SizeRecord]) -> Vec<SizeLine> {
    let mut lines: Vec<SizeLine> = kinds_and_forms()
        .filter_map(|(name, kind, form)| line(&name, sizes, |size| size.objects.get(kind, form).stored_bytes))
        .collect();
    lines.extend(line("pack entry headers", sizes, |size| size.entry_header_bytes));
    lines.extend(line("pack headers, trailers", sizes, |size| size.pack_frame_bytes));
    lines.extend(line("pack indexes", sizes, |size| size.index_bytes));
    lines.extend(line("reverse indexes", sizes, |size| size.reverse_index_bytes));
    lines.extend(line("revlog indexes", sizes, |size| size.revlog_index_bytes));
    lines.extend(line("fncache", sizes, |size| size.fncache_bytes));
    lines.extend(line("dictionaries", sizes, |size| size.dictionary_bytes));
    lines.extend(line("B-tree keys and pages", sizes, |size| size.btree_bytes));
    lines.extend(line("B-tree, unused", sizes, |size| size.btree_unused_bytes));
    lines.extend(line("other files", sizes, |size| size.other_bytes));
    let total = sizes.iter().map(|size| size.total_bytes).collect();
    lines.push(SizeLine::counted("total", total));
    lines.extend(line("  of which loose", sizes, |size| size.loose.stored_bytes));
    lines.extend(line("not counted: derived, unfinished", sizes, |size| size.derived_bytes));
    if sizes.iter().any(SizeRecord::is_allocated_otherwise) {
        lines.extend(line("total in disk blocks", sizes, |size| size.allocated_bytes));
    }
    lines
}

fn payload_lines(sizes: &[SizeRecord]) -> Vec<SizeLine> {
    let mut lines: Vec<SizeLine> = kinds_and_forms()
        .filter_map(|(name, kind, form)| {
            line(&format!("payload, {name}"), sizes, |size| size.objects.get(kind, form).payload_bytes)
        })
        .collect();
    lines.extend(line("payload, total", sizes, |size| size.objects.sum().payload_bytes));
    let ids: Vec<Option<u64>> = sizes.iter().map(|size| size.ids.map(|ids| ids.payload_bytes)).collect();
    if ids.iter().any(Option::is_some) {
        lines.push(SizeLine { name: "  of which ids".to_owned(), bytes: ids });
    }
    lines
}

fn kinds_and_forms() -> impl Iterator<Item = (String, ObjectKind, ChunkForm)> {
    let forms = |kind: ObjectKind| ChunkForm::ALL.map(|form| (kind.with_form(form), kind, form));
    ObjectKind::ALL.into_iter().flat_map(forms)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{IdBytes, LooseSizes};

    use super::*;
    use crate::fixtures::plain;

    fn size_table(sizes: &[SizeRecord]) -> String {
        plain(&[super::sizes(sizes)])
    }

    fn sample(label: &str, scale: u64) -> SizeRecord {
        let mut size = SizeRecord {
            label: label.into(),
            entry_header_bytes: 1_234_000,
            pack_frame_bytes: 32,
            index_bytes: 7_000_000,
            ..SizeRecord::default()
        };
        size.objects.get_mut(ObjectKind::Commit, ChunkForm::Whole).add(scale * 8_090_000, 16_000_000);
        size.objects.get_mut(ObjectKind::Blob, ChunkForm::Delta).add(scale * 20_000_000, 400_000_000);
        size.loose = LooseSizes { objects: 1, stored_bytes: 250_000 };
        size.total_bytes = size.sum_of_parts();
        size
    }

    #[test]
    fn repositories_have_columns_and_ratios_to_the_first() {
        let text = size_table(&[sample("as found", 10), sample("zstd:5", 9)]);
        let expected = "
                        as found MB  zstd:5 MB  ratio
-------------------------------------------------------
payload, commit, whole       16.0       16.0    1.000
payload, blob, delta        400        400      1.000
payload, total              416        416      1.000

commit, whole                80.9       72.8    0.900
blob, delta                 200        180      0.900
pack entry headers            1.23       1.23   1.000
pack headers, trailers       <0.001     <0.001  1.000
pack indexes                  7.00       7.00   1.000
total                       289        261      0.903
  of which loose              0.250      0.250  1.000
";
        assert_eq!(format!("\n{text}"), expected, "{text}");
    }

    #[test]
    fn several_repositories_end_in_a_line_for_each_total() {
        let text = size_table(&[sample("as found", 10), sample("zstd:5", 9), sample("lz4", 12)]);
        let expected = "
repository  total MB  ratio
-----------------------------
as found         289  1.000
zstd:5           261  0.903
lz4              345  1.194
";
        assert!(text.ends_with(expected), "{text}");
        let style = crate::Style { width: Some(60), ..crate::Style::PLAIN };
        let text = crate::articles_text(&[sizes(&[sample("a", 1), sample("b", 1), sample("c", 1)])], style);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert_eq!(text.matches("\ntotal  ").count(), 2, "{text}");
    }

    #[test]
    fn manifest_is_first_with_its_share_of_growth() {
        let sample = |label: &str, manifest, filelog| {
            let mut size = SizeRecord { label: label.into(), revlog_index_bytes: 640, ..SizeRecord::default() };
            size.objects.get_mut(ObjectKind::Filelog, ChunkForm::Delta).add(filelog, 9_000_000);
            size.objects.get_mut(ObjectKind::Manifest, ChunkForm::Whole).add(manifest, 8_000_000);
            size.total_bytes = size.sum_of_parts();
            size
        };
        let text = size_table(&[sample("a", 2_000_000, 4_000_000), sample("b", 5_000_000, 5_000_000)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.first(), Some(&"growth of b: +4.00 MB, +3.00 MB of it in the manifest"));
        let stored = lines.iter().position(|line| line.starts_with("manifest, snapshot")).unwrap();
        assert!(lines[stored + 1].starts_with("filelog, delta"), "{text}");
        assert!(lines.last().unwrap().starts_with("total "), "{text}");
    }

    #[test]
    fn stored_forms_are_shown_if_counted() {
        let (mut first, mut second) = (sample("as found", 1), sample("zstd:5", 1));
        assert!(!size_table(&[first.clone()]).contains("form"), "an older record");
        for _ in 0..1234 {
            first.forms.add(StoredForm::Plain, 10_000);
            second.forms.add(StoredForm::Dictionary, 1_000);
        }
        second.forms.add(StoredForm::Stored, 30_000_000);
        second.dictionary_bytes = 250_000;
        let text = size_table(&[first, second.clone()]);
        assert!(text.contains("\ndictionaries"), "{text}");
        let expected = "
form        chunks  as found MB  chunks  zstd:5 MB
----------------------------------------------------
plain        1,234         12.3       0       0
dictionary       0          0     1,234       1.23
stored           0          0         1      30.0
";
        assert!(format!("\n{text}").starts_with(expected), "{text}");
        assert!(size_table(&[second]).starts_with("form        chunks     MB\n"), "one repository needs no name");
    }

    #[test]
    fn ids_are_a_part_of_the_payload_where_they_were_counted() {
        let ids = IdBytes { references: 123_456, payload_bytes: 4_000_000, escaped: 0 };
        let first = SizeRecord { ids: Some(ids), ..sample("as found", 1) };
        let numbers = IdBytes { references: 123_456, payload_bytes: 1_000_000, escaped: 2_345 };
        let text = size_table(&[first, SizeRecord { ids: Some(numbers), ..sample("numbers", 1) }, sample("other", 1)]);
        let note = "ids of as found: 123,456 take 25.0 % of the payload of commits, trees and tags\n";
        assert!(text.starts_with(note), "{text}");
        let note = "trees and tags; 2,345 are full ids among numbers\n";
        assert!(text.contains(note), "{text}");
        let row = text.lines().find(|line| line.starts_with("  of which ids")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>()[3..], ["4.00", "1.00", "0.250", "-", "-"]);
        assert!(!size_table(&[sample("a", 1)]).contains("ids"));
    }

    #[test]
    fn disk_blocks_and_btree_are_shown_if_relevant() {
        let (mut loose, mut btree) = (sample("loose", 1), sample("btree", 1));
        loose.allocated_bytes = loose.total_bytes + loose.total_bytes / 200;
        assert!(!size_table(&[loose.clone()]).contains("disk blocks"), "half a percent");
        (btree.btree_bytes, btree.btree_unused_bytes) = (1_000_000, 3_000_000);
        btree.total_bytes = btree.sum_of_parts();
        loose.allocated_bytes = 2 * loose.total_bytes;
        btree.allocated_bytes = btree.total_bytes;
        let text = size_table(&[loose, btree]);
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
            line[name.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("B-tree keys and pages"), ["0", "1.00", "-"]);
        assert_eq!(row("B-tree, unused"), ["0", "3.00", "-"]);
        assert_eq!(row("total in disk blocks"), ["72.6", "40.3", "0.555"]);
    }

    #[test]
    fn one_repository_has_no_ratio() {
        assert!(!size_table(&[sample("only", 1)]).contains("ratio"));
        assert_eq!(size_table(&[]).lines().count(), 4);
    }

    #[test]
    fn kind_missing_in_first_repository_has_no_ratio() {
        let mut later = sample("later", 1);
        later.objects.get_mut(ObjectKind::Tag, ChunkForm::Whole).add(3_000_000, 6_000_000);
        let text = size_table(&[sample("first", 1), later]);
        let tag = text.lines().find(|line| line.starts_with("tag, whole")).unwrap();
        assert_eq!(tag.split_whitespace().collect::<Vec<_>>(), ["tag,", "whole", "0", "3.00", "-"]);
    }
}
