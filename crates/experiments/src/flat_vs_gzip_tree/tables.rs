//! The figures beside the published ones, and where the set-up differs.

use repackbench_analysis::CopyRatio;
use repackbench_records::{Estimate, ExperimentRow, ExperimentTable, Published, PublishedTable, Unit};
use repackbench_timing::trace::Device;

use super::{
    Figures, Readings, git_arm,
    reading::How,
    trees::{ALONE, COPIES, Kind, Trees},
    verdicts::{fair_ratio, layout_errors, ratio_between},
};
use crate::{
    ExperimentError,
    estimates::median_estimate,
    tables::column,
    text::{count, megabytes},
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

/// The published table: every file of every tree, as it is.
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
            readings.and_then(|readings| median_estimate(readings.elapsed.clone())),
            figures.by_command.get(&label).and_then(|readings| median_estimate(readings.elapsed.clone())),
            readings.and_then(|readings| median_estimate(readings.cpu.clone())),
            disk.and_then(|reads| reads.seeks).map(|seeks| Estimate::exact(seeks as f64)),
        ];
        measured.extend(devices.iter().map(|device| disk.map(|reads| Estimate::exact(reads.modelled(device)))));
        let mut row = vec![None; measured.len()];
        if let (Some(first), Some(table)) = (row.first_mut(), published) {
            *first = table.value(&label, "elapsed");
        }
        ExperimentRow { label, published: row, measured }
    });
    let title = "Reading every file of a cold tree; nothing is decompressed".to_owned();
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
    let alone = |kind: Kind| format!("{}-{ALONE}", kind.name());
    for (one, other, how) in [
        (alone(Kind::Gzip), alone(Kind::Flat), "one tree after the other"),
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
    let title = "Compressed as a multiple of flat; nothing is decompressed".to_owned();
    ExperimentTable { title, columns: vec![column("elapsed", Unit::Ratio)], rows }
}

fn layout_table(reading: Option<&PublishedTable>, figures: &Figures) -> ExperimentTable {
    let rows = layout_errors(&figures.raw).into_iter().map(|(label, found)| {
        let published = label.split_once(" / ").and_then(|(one, other)| published_ratio(reading, one, other));
        ratio_row(label, published, Some(found.estimate))
    });
    let title = "Layout error: copies that were made alike".to_owned();
    ExperimentTable { title, columns: vec![column("elapsed", Unit::Ratio)], rows: rows.collect() }
}

fn ratio_row(label: String, published: Option<f64>, measured: Option<Estimate>) -> ExperimentRow {
    ExperimentRow { label, published: vec![published], measured: vec![measured] }
}

/// What the published command leaves out: decompressing.
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
        let to_flat = readings.zip(flat).filter(|_| kind != Kind::Flat).and_then(|(one, flat)| by_copy(one, flat));
        let measured = vec![
            readings.and_then(|readings| median_estimate(readings.elapsed.clone())),
            readings.and_then(|readings| median_estimate(readings.cpu.clone())),
            to_flat,
        ];
        ExperimentRow { label: label.to_owned(), published: vec![None; 3], measured }
    });
    let columns =
        vec![column("elapsed", Unit::Seconds), column("CPU", Unit::Seconds), column("elapsed / flat", Unit::Ratio)];
    let title = "Reading and decompressing, cold: run r reads copy r of each kind".to_owned();
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// The Git arm: what the published text leaves open.
fn git_table(figures: &Figures) -> ExperimentTable {
    let rows = git_arm::ARMS.iter().enumerate().map(|(number, arm)| {
        let readings = figures.git.get(number);
        let measured = vec![
            readings.and_then(|readings| median_estimate(readings.elapsed.clone())),
            readings.and_then(|readings| median_estimate(readings.cpu.clone())),
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
    let title = "Git: checking the revision out of loose objects, cold: run r reads copy r of each".to_owned();
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// One reading as a multiple of another in the same runs, over the copies that were read in them.
pub(super) fn by_copy(one: &Readings, other: &Readings) -> Option<Estimate> {
    let logs = one.elapsed.iter().zip(&other.elapsed).map(|(one, other)| (one / other).ln());
    let ratio = |(block, log_ratio): (u32, f64)| CopyRatio { block, copy: block % COPIES, log_ratio };
    let values: Vec<CopyRatio> = (0..).zip(logs).map(ratio).collect();
    let found = repackbench_analysis::hierarchical_interval(&values);
    let samples: Vec<f64> = values.iter().map(|value| value.log_ratio.exp()).collect();
    let found = found?;
    let interval = found.interval.map(|interval| [interval.low, interval.high]);
    Some(Estimate { value: found.ratio, interval, samples })
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
    Ok(ExperimentTable { title: "The trees".to_owned(), columns, rows })
}

/// Where the set-up differs from the published one.
pub(super) fn differences(trees: &Trees, figures: &Figures) -> Result<Vec<String>, ExperimentError> {
    let mut differences = Vec::new();
    if let Some(flat) = trees.get(Kind::Flat, 1) {
        let descriptor = flat.descriptor()?;
        differences.push(format!(
            "The tree is revision {} of this repository, {} files of {} in all, and not linux 2.6.10.",
            descriptor.revision,
            descriptor.files,
            megabytes(descriptor.content_bytes as f64)
        ));
    }
    differences.push(match figures.drops_all {
        true => "Instead of a reboot, every file was evicted and each of its pages found to be gone, and then the kernel dropped its \
                 caches of folders and inodes (drop_caches)."
            .to_owned(),
        false => "Instead of a reboot, every file was evicted and each of its pages found to be gone; folders and inodes stay in memory, \
                  as dropping them takes privileges and no --keep-caches, so that the seeks to them, which the published times have, are not in these."
            .to_owned(),
    });
    differences.push(
        "Caches of the device, and of a hypervisor where there is one, cannot be emptied, and may answer in place of the disk.".to_owned(),
    );
    differences.push(format!(
        "{COPIES} copies of each kind were written file by file in turn, in an order of kinds that was drawn for each copy, so that \
         hardly any two files of one tree that are read one after the other lie side by side; with cp -a each tree was written as a whole, \
         as of these copies only flat-{ALONE} and gzip-{ALONE} were."
    ));
    differences.push(
        "Files are read by this program, on one thread, in the order in which folders list them, as find and cat do; the command itself ran once \
         beside it, with names that end in a NUL byte."
            .to_owned(),
    );
    differences.push(
        "gzip -9 is stock zlib at level 9 in files of gzip's format without a name; zstd -5, which is in no published row, is libzstd."
            .to_owned(),
    );
    differences.push(
        "Mount options are those of this machine; the published file system had noatime and nodiratime.".to_owned(),
    );
    Ok(differences)
}

/// What else is worth knowing.
pub(super) fn notes(trees: &Trees) -> Result<Vec<String>, ExperimentError> {
    let mut notes = vec![
        "Seeks are counted from where the file system says that files lie (fiemap), in the order of reading: one for each stretch that does \
         not begin where the last one ended. Folders and inodes are not among them."
            .to_owned(),
        "Modelled times are those seeks times a latency that is the same for each, and bytes by bandwidth: a disk's short seeks take less."
            .to_owned(),
    ];
    if let Some(flat) = trees.get(Kind::Flat, 1) {
        let descriptor = flat.descriptor()?;
        let left_out = [
            (descriptor.symlinks, "symbolic link", "symbolic links"),
            (descriptor.gitlinks, "commit of another repository", "commits of other repositories"),
            (descriptor.missing, "file that this partial clone lacks", "files that this partial clone lacks"),
        ];
        let named = left_out.into_iter().filter(|(number, ..)| *number > 0);
        let named: Vec<String> = named.map(|(number, one, many)| count(number, one, many)).collect();
        if !named.is_empty() {
            notes.push(format!("Left out of the trees: {}.", crate::text::list(&named)));
        }
    }
    Ok(notes)
}
