//! The figures beside the published ones, and where the set-up differs.

use repackbench_records::{
    Estimate, ExperimentRow, ExperimentTable, Figure, Published, PublishedTable, Statement, StatementValue,
    StoredStatement, Unit,
};
use repackbench_timing::trace::Device;

use super::{
    copies::by_copy,
    figures::{Figures, LayoutError, fair_ratio, layout_errors, ratio_between},
    git_arm,
    reading::How,
    trees::{ALONE, COPIES, Kind, Trees},
};
use crate::{
    ExperimentError,
    samples::{CPU, ELAPSED},
    tables::column,
};

/// All tables.
pub(super) fn tables(
    published: &Published,
    trees: &Trees,
    figures: &Figures,
) -> Result<Vec<ExperimentTable>, ExperimentError> {
    let reading = published.table("reading");
    Ok(vec![
        reading_table(reading, trees, figures),
        ratio_table(published, reading, figures),
        layout_table(reading, figures),
        decoding_table(figures),
        git_table(figures),
        tree_table(published.table("tree"), trees, figures)?,
    ])
}

/// The published table: reading every file of every tree.
fn reading_table(published: Option<&PublishedTable>, trees: &Trees, figures: &Figures) -> ExperimentTable {
    let devices = Device::defaults();
    let mut columns = vec![
        column("elapsed", Unit::Seconds),
        column("find | xargs cat", Unit::Seconds),
        column("CPU", Unit::Seconds),
        column("seeks", Unit::Count),
    ];
    columns.extend(devices.iter().map(|device| column(&format!("{}, modelled", device.name), Unit::Seconds)));
    let rows = trees.all.iter().filter(|tree| tree.kind != Kind::Zstd).map(|tree| {
        let label = tree.label();
        let readings = figures.raw.get(&label);
        let disk = figures.disk.get(&label);
        let mut measured = vec![
            readings.and_then(|readings| readings.median(ELAPSED)),
            figures.by_command.get(&label).and_then(|readings| readings.median(ELAPSED)),
            readings.and_then(|readings| readings.median(CPU)),
            disk.and_then(|reads| reads.seeks).map(|seeks| Estimate::exact(seeks as f64)),
        ];
        measured.extend(devices.iter().map(|device| disk.map(|reads| Estimate::exact(reads.modelled(device)))));
        let mut row = vec![None; measured.len()];
        if let (Some(first), Some(table)) = (row.first_mut(), published) {
            *first = table.value(&label, "elapsed");
        }
        ExperimentRow { label, published: row, measured }
    });
    let title = Statement::new("reading-every-file").into();
    ExperimentTable { title, rows: rows.collect(), columns }
}

/// The published figures of two trees as a ratio.
fn published_ratio(published: Option<&PublishedTable>, one: &str, other: &str) -> Option<f64> {
    let table = published?;
    Some(table.value(one, "elapsed")? / table.value(other, "elapsed")?)
}

fn ratio_table(published: &Published, reading: Option<&PublishedTable>, figures: &Figures) -> ExperimentTable {
    let mut rows = Vec::new();
    for number in 2..COPIES + 2 {
        let (gzip, flat) = (format!("gzip-{number}"), format!("flat-{number}"));
        rows.push(ratio_row(
            format!("{gzip} / {flat}"),
            published_ratio(reading, &gzip, &flat),
            ratio_between(figures, &gzip, &flat).map(|found| found.estimate),
        ));
    }
    rows.push(ratio_row(
        "gzip / flat, over all of these copies".to_owned(),
        published.claim("compressed-faster").and_then(|claim| claim.value),
        fair_ratio(&figures.raw, Kind::Gzip, Kind::Flat).map(|found| found.estimate),
    ));
    for (one, other, how) in [
        (Kind::Gzip.copy(ALONE), Kind::Flat.copy(ALONE), "one tree after the other"),
        ("gzip-1".to_owned(), "flat-1".to_owned(), "compressed in place"),
        ("gzip-1".to_owned(), "gzip-2".to_owned(), "compressed in place"),
    ] {
        let (one, other) = (one.as_str(), other.as_str());
        rows.push(ratio_row(
            format!("{one} / {other}, {how}"),
            published_ratio(reading, one, other),
            ratio_between(figures, one, other).map(|found| found.estimate),
        ));
    }
    let title = Statement::new("compressed-to-flat").into();
    ExperimentTable { title, columns: vec![column("elapsed", Unit::Ratio)], rows }
}

fn layout_table(reading: Option<&PublishedTable>, figures: &Figures) -> ExperimentTable {
    let rows = layout_errors(&figures.raw).into_iter().map(|found: LayoutError| {
        let published = published_ratio(reading, &found.copy, &found.of);
        ratio_row(found.label(), published, Some(found.ratio.estimate))
    });
    let title = Statement::new("layout-errors").into();
    ExperimentTable { title, columns: vec![column("elapsed", Unit::Ratio)], rows: rows.collect() }
}

fn ratio_row(label: String, published: Option<f64>, measured: Option<Estimate>) -> ExperimentRow {
    ExperimentRow { label, published: vec![published], measured: vec![measured] }
}

/// Decompressing, which the published command leaves out.
fn decoding_table(figures: &Figures) -> ExperimentTable {
    let flat = figures.beside_decoded.get(&Kind::Flat);
    let arms = [
        (Kind::Flat, How::Raw, "flat"),
        (Kind::Gzip, How::Raw, "gzip -9, not decompressed"),
        (Kind::Gzip, How::Decoded, "gzip -9, decompressed"),
        (Kind::Zstd, How::Raw, "zstd -5, not decompressed"),
        (Kind::Zstd, How::Decoded, "zstd -5, decompressed"),
    ];
    let rows = arms.into_iter().map(|(kind, how, label)| {
        let of = if how == How::Decoded { &figures.decoded } else { &figures.beside_decoded };
        let readings = of.get(&kind);
        let to_flat = readings
            .zip(flat)
            .filter(|_| kind != Kind::Flat)
            .and_then(|(one, flat)| by_copy(one.get(ELAPSED), flat.get(ELAPSED)));
        let measured = vec![
            readings.and_then(|readings| readings.median(ELAPSED)),
            readings.and_then(|readings| readings.median(CPU)),
            to_flat,
        ];
        ExperimentRow { label: label.to_owned(), published: vec![None; 3], measured }
    });
    let columns =
        vec![column("elapsed", Unit::Seconds), column("CPU", Unit::Seconds), column("elapsed / flat", Unit::Ratio)];
    let title = Statement::new("reading-and-decompressing").into();
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// The checkouts, a question that the published text leaves open.
fn git_table(figures: &Figures) -> ExperimentTable {
    let rows = git_arm::ARMS.iter().enumerate().map(|(number, arm)| {
        let readings = figures.git.get(number);
        let measured = vec![
            readings.and_then(|readings| readings.median(ELAPSED)),
            readings.and_then(|readings| readings.median(CPU)),
            figures.git.to_flat(number),
            figures.git.bytes.get(number).map(|bytes| Estimate::exact(*bytes as f64)),
        ];
        ExperimentRow { label: arm.label.to_owned(), published: vec![None; measured.len()], measured }
    });
    let columns = vec![
        column("elapsed", Unit::Seconds),
        column("CPU", Unit::Seconds),
        column("elapsed / flat", Unit::Ratio),
        column("objects", Unit::Bytes),
    ];
    let title = Statement::new("checking-out-by-git").into();
    ExperimentTable { title, columns, rows: rows.collect() }
}

fn tree_table(
    published: Option<&PublishedTable>,
    trees: &Trees,
    figures: &Figures,
) -> Result<ExperimentTable, ExperimentError> {
    let columns = vec![
        column("files", Unit::Count),
        column("bytes", Unit::Bytes),
        column("average", Unit::Bytes),
        column("on disk", Unit::Bytes),
        column("average on disk", Unit::Bytes),
    ];
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        let Some(tree) = trees.get(kind, 2) else { continue };
        let descriptor = tree.descriptor()?;
        let value = |name: &str| published.and_then(|table| table.value(kind.name(), name));
        let average = descriptor.stored_bytes as f64 / descriptor.files.max(1) as f64;
        let allocated = figures.disk.get(&tree.label()).map(|reads| reads.allocated as f64);
        rows.push(ExperimentRow {
            label: format!("{} ({})", kind.name(), descriptor.spec),
            published: ["files", "bytes", "average", "on disk", "average on disk"].map(value).to_vec(),
            measured: vec![
                Some(Estimate::exact(descriptor.files as f64)),
                Some(Estimate::exact(descriptor.stored_bytes as f64)),
                Some(Estimate::exact(average)),
                allocated.map(Estimate::exact),
                allocated.map(|bytes| Estimate::exact(bytes / descriptor.files.max(1) as f64)),
            ],
        });
    }
    Ok(ExperimentTable { title: Statement::new("trees").into(), columns, rows })
}

/// Where the set-up differs from the published one.
pub(super) fn differences(trees: &Trees, figures: &Figures) -> Result<Vec<StoredStatement>, ExperimentError> {
    let mut differences = Vec::new();
    if let Some(flat) = trees.get(Kind::Flat, 1) {
        let descriptor = flat.descriptor()?;
        let tree = Statement::new("another-tree").with("revision", descriptor.revision);
        let tree = tree.with("files", Figure::count(descriptor.files));
        differences.push(tree.with("bytes", Figure::bytes(descriptor.content_bytes as f64)));
    }
    differences.push(Statement::new(if figures.drops_all { "caches-dropped" } else { "files-evicted" }));
    differences.push(Statement::new("caches-of-the-device"));
    let copies = Statement::new("copies-in-turn").with("copies", Figure::count(COPIES));
    differences.push(copies.with("whole", Kind::PUBLISHED.map(|kind| kind.copy(ALONE)).to_vec()));
    differences.extend(["read-by-this-program", "gzip-by-stock-zlib", "mount-options"].map(Statement::new));
    Ok(differences.into_iter().map(StoredStatement::from).collect())
}

/// How figures were measured, and what the trees leave out.
pub(super) fn notes(trees: &Trees) -> Result<Vec<StoredStatement>, ExperimentError> {
    let mut notes = vec![Statement::new("seeks-counted"), Statement::new("seeks-modelled")];
    if let Some(flat) = trees.get(Kind::Flat, 1) {
        let descriptor = flat.descriptor()?;
        let left_out = [
            ("symbolic-links", descriptor.symlinks),
            ("other-commits", descriptor.gitlinks),
            ("missing-files", descriptor.missing),
        ];
        let named = left_out.into_iter().filter(|(_, count)| *count > 0);
        let named: Vec<StatementValue> =
            named.map(|(id, count)| Statement::new(id).with("count", Figure::count(count)).into()).collect();
        if !named.is_empty() {
            notes.push(Statement::new("trees-leave-out").with("files", named));
        }
    }
    Ok(notes.into_iter().map(StoredStatement::from).collect())
}
