//! Where stored bytes go, and the payload that they unpack to.

use repackbench_analysis::{ResultSource, Results, by_source};
use repackbench_records::{ChunkForm, ObjectKind, Role, SizeRecord};

use super::{
    ChartKind, Figure, common,
    rows::{Axis, LegendEntry, Panel, Row, RowChart, RowMark, Shape, Sign},
    scale::{Spacing, tick_text},
};
use crate::{
    document::{Column, Table},
    number::{megabytes, or_dash, share, size_ratio},
};

/// A variant or a repository, and its bytes.
struct Sized<'a> {
    label: String,
    size: &'a SizeRecord,
    is_baseline: bool,
}

/// One part of the bytes.
struct BarPart {
    name: String,
    /// A name for short bars.
    short_name: &'static str,
    class: &'static str,
    /// `fill`, or `pale` for deltas.
    look: &'static str,
    bytes: u64,
}

/// A payload that exceeds the stored bytes by this factor gets its own scale.
const DWARFS: f64 = 1.6;

/// One figure for each compared repository, and one for results of the command `size`.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let mut figures = Vec::new();
    for (place, comparisons) in by_source(&results.comparisons) {
        let mut sized: Vec<Sized<'_>> = Vec::new();
        for row in comparisons.iter().flat_map(|comparison| &comparison.rows) {
            // Decoder, cache and client do not change the files.
            let variant =
                repackbench_records::Variant { decoder: None, delta_cache: None, client: None, ..row.variant.clone() };
            let label = variant.label().into_owned();
            if row.size.total_bytes > 0 && !sized.iter().any(|other| other.label == label) {
                sized.push(Sized { label, size: &row.size, is_baseline: row.variant.role == Role::Baseline });
            }
        }
        figures.extend(figure(Some(place), is_alone, &sized));
    }
    let lines = results.sizes.iter().filter(|line| line.size.total_bytes > 0).enumerate();
    let sized: Vec<Sized<'_>> = lines
        .map(|(number, line)| Sized { label: line.size.label.clone(), size: &line.size, is_baseline: number == 0 })
        .collect();
    figures.extend(figure(None, is_alone, &sized));
    figures
}

fn figure(place: Option<ResultSource<'_>>, is_alone: bool, sized: &[Sized<'_>]) -> Option<Figure> {
    let largest = sized.iter().map(|of| of.size.total_bytes).max()?;
    let payload = sized.iter().map(|of| of.size.objects.sum().payload_bytes).max()?;
    let dwarfs = payload as f64 > DWARFS * largest as f64;
    let baseline = sized.iter().find(|of| of.is_baseline);
    // Sizes have no baseline, only a first repository.
    let first = if place.is_some() { "baseline" } else { "the first" };
    let rows = sized.iter().map(|of| stored_row(of, baseline, first)).collect();
    let stored = Panel { heading: "On disk".to_owned(), rows, ..Panel::default() };
    let heading = if dwarfs { "Payload, uncompressed (own scale)" } else { "Payload, uncompressed" };
    let unpacked = Panel { heading: heading.to_owned(), own_scale: dwarfs, rows: payload_rows(sized), band: None };
    let chart = RowChart { panels: vec![stored, unpacked], axis: AXIS, legend: legend(sized) };
    let (id, of) = match &place {
        Some(place) => (common::id(ChartKind::StoredBytes, place.repository, is_alone, ""), common::place_name(place)),
        None => (format!("{}-side-by-side", ChartKind::StoredBytes.slug()), "side by side".to_owned()),
    };
    let mut notes = vec![
        "Bars add up to all files that belong to the stored repository; paler parts are deltas.".to_owned(),
        "Headers are those of pack entries and of packs; indexes include reverse indexes and those of revlogs."
            .to_owned(),
    ];
    if dwarfs {
        notes.push(
            "The payload is so much larger that it has its own scale: its bars cannot be compared with the others."
                .to_owned(),
        );
    }
    let figure = Figure {
        id,
        section: ChartKind::StoredBytes,
        title: format!("Stored bytes by kind of object, {of}"),
        description: description(sized, baseline, first),
        notes,
        workload: None,
        repository: place.map(|place| place.repository.name.clone()),
        table: table(sized, baseline),
        ..Figure::default()
    };
    Some(figure.drawn(|width| chart.draw(width)))
}

const AXIS: Axis = Axis {
    spacing: Spacing::Linear,
    title: "MB (10^6 bytes)",
    short_title: "MB (10^6 bytes)",
    text: tick_text,
    reference: None,
    starts_at_reference: false,
};

/// The colour of a kind, shared by Mercurial's counterpart.
fn class(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Commit | ObjectKind::Changelog => "k0",
        ObjectKind::Tree | ObjectKind::Manifest => "k1",
        ObjectKind::Blob | ObjectKind::Filelog => "k2",
        ObjectKind::Tag => "k3",
    }
}

impl BarPart {
    fn of_chunks(kind: ObjectKind, form: ChunkForm, bytes: u64) -> Self {
        let look = if form == ChunkForm::Whole { "fill" } else { "pale" };
        BarPart { name: kind.with_form(form), short_name: kind.name(), class: class(kind), look, bytes }
    }
}

/// The non-empty parts of the stored bytes, in the order of a bar.
fn parts(size: &SizeRecord) -> Vec<BarPart> {
    let mut parts: Vec<BarPart> =
        size.objects.iter().map(|(kind, form, sizes)| BarPart::of_chunks(kind, form, sizes.stored_bytes)).collect();
    let indexes = [size.index_bytes, size.reverse_index_bytes, size.revlog_index_bytes, size.btree_bytes];
    let indexes = indexes.into_iter().fold(0, u64::saturating_add);
    for (name, class, bytes) in [
        ("indexes", "k4", indexes),
        ("headers", "k5", size.entry_header_bytes.saturating_add(size.pack_frame_bytes)),
        ("dictionaries", "k6", size.dictionary_bytes),
        ("other files", "k7", size.other_bytes.saturating_add(size.fncache_bytes)),
    ] {
        parts.push(BarPart { name: name.to_owned(), short_name: name, class, look: "fill", bytes });
    }
    let (name, short_name) = ("B-tree, unused".to_owned(), "B-tree");
    parts.push(BarPart { name, short_name, class: "k7", look: "pale", bytes: size.btree_unused_bytes });
    parts.retain(|part| part.bytes > 0);
    parts
}

fn payload_parts(size: &SizeRecord) -> Vec<BarPart> {
    let parts = size.objects.iter().map(|(kind, form, sizes)| BarPart::of_chunks(kind, form, sizes.payload_bytes));
    parts.filter(|part| part.bytes > 0).collect()
}

/// The parts of a bar as adjacent marks.
fn marks(label: &str, what: &str, parts: Vec<BarPart>, total: u64, is_thin: bool) -> Vec<RowMark> {
    let mut from = 0_u64;
    let mut mark = |part: BarPart| {
        let to = from.saturating_add(part.bytes);
        let ends = [from, to].map(|bytes| bytes as f64 / 1e6);
        from = to;
        let part_of = share(part.bytes as f64 / total.max(1) as f64);
        let tip = vec![format!("{label}: {}{what}", part.name), format!("{} MB, {part_of}", megabytes(part.bytes))];
        let [from, to] = ends;
        let shape = match is_thin {
            true => Shape::ThinBar { from, to, class: part.look },
            false => Shape::Bar { from, to, class: part.look, text: [part.name, part.short_name.to_owned()] },
        };
        RowMark { variant: label.to_owned(), tip, class: part.class, shapes: vec![shape] }
    };
    parts.into_iter().map(&mut mark).collect()
}

fn stored_row(of: &Sized<'_>, baseline: Option<&Sized<'_>>, first: &str) -> Row {
    let total = of.size.total_bytes;
    let ratio = match baseline {
        Some(baseline) if std::ptr::eq(baseline, of) => format!(", {first}"),
        Some(baseline) => format!(", × {}", size_ratio(total, baseline.size.total_bytes)),
        None => String::new(),
    };
    Row {
        label: of.label.clone(),
        right: format!("{} MB{ratio}", megabytes(total)),
        is_muted: false,
        marks: marks(&of.label, "", parts(of.size), total, false),
    }
}

/// Equal payloads are shown once.
fn payload_rows(sized: &[Sized<'_>]) -> Vec<Row> {
    let payloads = |of: &Sized<'_>| of.size.objects.iter().map(|(_, _, sizes)| sizes.payload_bytes).collect::<Vec<_>>();
    let mut distinct: Vec<(&Sized<'_>, usize)> = Vec::new();
    for of in sized {
        match distinct.iter_mut().find(|(other, _)| payloads(other) == payloads(of)) {
            Some((_, count)) => *count += 1,
            None => distinct.push((of, 1)),
        }
    }
    let is_one = distinct.len() == 1;
    let row = |(of, count): (&Sized<'_>, usize)| {
        let total = of.size.objects.sum().payload_bytes;
        let label = match count {
            _ if is_one && sized.len() > 1 => "all of them".to_owned(),
            1 => of.label.clone(),
            _ => format!("{} and {} more", of.label, count - 1),
        };
        let marks = marks(&of.label, ", payload", payload_parts(of.size), total, true);
        Row { label, right: format!("{} MB", megabytes(total)), is_muted: true, marks }
    };
    distinct.into_iter().map(row).collect()
}

fn legend(sized: &[Sized<'_>]) -> Vec<LegendEntry> {
    let mut legend: Vec<LegendEntry> = Vec::new();
    for part in sized.iter().flat_map(|of| parts(of.size).into_iter().chain(payload_parts(of.size))) {
        let entry = LegendEntry { class: part.class, sign: Sign::Swatch(part.look), text: part.name };
        if !legend.contains(&entry) {
            legend.push(entry);
        }
    }
    legend.sort_by_key(|entry| entry.class);
    legend
}

fn description(sized: &[Sized<'_>], baseline: Option<&Sized<'_>>, first: &str) -> String {
    let mut text = "Each bar is a variant; its parts are kinds of objects, whole and as deltas, then indexes, headers and other files.".to_owned();
    let shown = |of: &Sized<'_>| {
        let ratio = baseline
            .map(|baseline| format!(", {} times {first}", size_ratio(of.size.total_bytes, baseline.size.total_bytes)));
        format!("{} ({} MB{})", of.label, megabytes(of.size.total_bytes), ratio.unwrap_or_default())
    };
    let smallest = sized.iter().min_by_key(|of| of.size.total_bytes);
    let largest = sized.iter().max_by_key(|of| of.size.total_bytes);
    if let (Some(smallest), Some(largest)) = (smallest, largest) {
        text.push_str(&format!(" Smallest: {}. Largest: {}.", shown(smallest), shown(largest)));
        if let Some(part) = parts(largest.size).into_iter().max_by_key(|part| part.bytes) {
            text.push_str(&format!(" The largest part of {}: {}.", largest.label, part.name));
        }
    }
    text
}

fn table(sized: &[Sized<'_>], baseline: Option<&Sized<'_>>) -> Table {
    let mut table = Table::new([
        Column::words("variant"),
        Column::words("part"),
        Column::numbers("stored MB"),
        Column::numbers("ratio to the baseline or the first"),
        Column::numbers("payload MB"),
    ]);
    for of in sized {
        let of_baseline = |name: &str| {
            let parts = baseline.map(|baseline| parts(baseline.size)).unwrap_or_default();
            parts.into_iter().find(|part| part.name == name).map_or(0, |part| part.bytes)
        };
        let payloads = payload_parts(of.size);
        for part in parts(of.size) {
            let payload = payloads.iter().find(|payload| payload.name == part.name);
            table.variant_row(
                &*of.label,
                [
                    of.label.clone(),
                    part.name.clone(),
                    megabytes(part.bytes),
                    size_ratio(part.bytes, of_baseline(&part.name)),
                    or_dash(payload, |payload| megabytes(payload.bytes)),
                ],
            );
        }
        table.variant_row(
            &*of.label,
            [
                of.label.clone(),
                "total".to_owned(),
                megabytes(of.size.total_bytes),
                size_ratio(of.size.total_bytes, baseline.map_or(0, |baseline| baseline.size.total_bytes)),
                megabytes(of.size.objects.sum().payload_bytes),
            ],
        );
    }
    table
}
