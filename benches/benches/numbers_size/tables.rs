//! The results in Markdown.

use std::time::Duration;

use repackbench_codec::{ChunkKind, ObjectKind};

use crate::{
    pack::NumberedPack,
    sizes::{BALANCED, CODECS, Numbering, PackSize, Sizes},
    times::{TIMED, Times},
};

/// The rows of the table of sizes: what is in them, and its kinds of chunks.
const ROWS: [(&str, &[ChunkKind]); 6] = [
    ("whole commits", &[whole(ObjectKind::Commit)]),
    ("deltas of commits", &[delta(ObjectKind::Commit)]),
    ("whole trees", &[whole(ObjectKind::Tree)]),
    ("deltas of trees", &[delta(ObjectKind::Tree)]),
    ("tags", &[whole(ObjectKind::Tag), delta(ObjectKind::Tag)]),
    ("blobs", &[whole(ObjectKind::Blob), delta(ObjectKind::Blob)]),
];

const fn whole(object: ObjectKind) -> ChunkKind {
    ChunkKind { object, is_delta: false }
}

const fn delta(object: ObjectKind) -> ChunkKind {
    ChunkKind { object, is_delta: true }
}

/// The bytes of a reverse index beside its four of each object: its head, and two checksums.
const REVERSE_INDEX_ENDS: u64 = 12 + 2 * 20;

fn megabytes(bytes: u64) -> String {
    format!("{:.3}", bytes as f64 / 1e6)
}

fn print_row(name: &str, cells: impl Iterator<Item = String>) {
    println!("| {name} |{}", cells.map(|cell| format!(" {cell} |")).collect::<String>());
}

fn print_head(columns: impl Iterator<Item = String> + Clone) {
    print_row("MB", columns.clone());
    print_row("---", columns.map(|_| "---".to_owned()));
}

/// Prints the sizes of `packs` by kind, codec and numbering. `escapes` are the references out of the packs, and all.
pub(crate) fn print_sizes(packs: &[NumberedPack], sizes: &Sizes, escapes: [u64; 2]) {
    let objects: usize = packs.iter().map(NumberedPack::len).sum();
    println!(
        "{objects} objects in {} packs; {} of {} references leave their pack\n",
        packs.len(),
        escapes[0],
        escapes[1]
    );
    let columns = || {
        let of_codec = |codec| Numbering::ALL.map(|numbering| (codec, numbering));
        (0..CODECS.len()).flat_map(of_codec)
    };
    let measured: Vec<PackSize> =
        columns().map(|(codec, numbering)| sizes.pack_size(packs, numbering, codec)).collect();
    print_head(columns().map(|(codec, numbering)| format!("{}: {}", CODECS[codec], numbering.name())));
    for (name, kinds) in ROWS {
        let of = |size: &PackSize| kinds.iter().filter_map(|kind| size.chunks.get(kind)).sum();
        print_row(name, measured.iter().map(|size| megabytes(of(size))));
    }
    print_row("heads of entries", measured.iter().map(|size| megabytes(size.framing)));
    print_row("dictionaries", measured.iter().map(|size| megabytes(size.dictionaries)));
    print_row("all", measured.iter().map(|size| megabytes(size.total())));
    let saved = |at: usize, extra: u64| {
        let before = measured[at - at % Numbering::ALL.len()].total() as f64;
        format!("{:.1} %", 100.0 * (before - (measured[at].total() + extra) as f64) / before)
    };
    print_row("saved", (0..measured.len()).map(|at| saved(at, 0)));
    let reverse = reverse_index(objects, packs.len());
    let extra = |numbering| if numbering == Numbering::PackOrder { reverse } else { 0 };
    print_row("saved, reverse index counted", columns().enumerate().map(|(at, (_, n))| saved(at, extra(n))));
    println!("\nThe reverse index has {} MB.\n", megabytes(reverse));
}

/// Prints all ways to write each kind, with their dictionaries.
pub(crate) fn print_arms(sizes: &Sizes) {
    print_head(CODECS.iter().map(|codec| (*codec).to_owned()));
    for (arm, encoded) in &sizes.encoded {
        if arm.kind.object == ObjectKind::Blob || arm.kind.object == ObjectKind::Tag {
            continue;
        }
        let columns = encoded.iter().map(|encoded| megabytes(encoded.len_with_dictionary()));
        let count = encoded.first().map_or(0, |encoded| encoded.chunks.len());
        print_row(&format!("{} ({count}), {}{}", arm.kind, arm.form.name(), arm.layout.name()), columns);
    }
    println!();
}

/// Prints the CPU times beside `encoding`, that of all chunks as found under `balanced`.
pub(crate) fn print_times(times: &Times, encoding: Duration) {
    println!("CPU time, encoding all chunks under {}: {:.3} s\n", CODECS[BALANCED], encoding.as_secs_f64());
    let heads = ["read and write, s", "of encoding", "decode and expand, s", "of before"];
    print_row("numbering", heads.iter().map(|head| (*head).to_owned()));
    print_row("---", heads.iter().map(|_| "---".to_owned()));
    for (at, numbering) in TIMED.iter().enumerate() {
        let [rewriting, expanding, before] =
            [times.rewriting[at], times.expanding[at], times.expanding[0]].map(|time| time.as_secs_f64());
        let cells = [
            format!("{rewriting:.3}"),
            format!("{:.3}", rewriting / encoding.as_secs_f64()),
            format!("{expanding:.3}"),
            format!("{:.3}", expanding / before),
        ];
        print_row(numbering.name(), cells.into_iter());
    }
}

/// Packs of the newest commits.
#[derive(Debug)]
pub(crate) struct Increment {
    pub(crate) packs: usize,
    pub(crate) objects: usize,
    /// The length of the packs as git wrote them.
    pub(crate) found: u64,
    /// Their length under `balanced` without dictionaries, in the order of [`Numbering::ALL`].
    pub(crate) sizes: [u64; 4],
    /// The references out of their pack, and all.
    pub(crate) escapes: [u64; 2],
}

/// Prints the sizes of increments.
pub(crate) fn print_increments(increments: &[Increment]) {
    let of_codec = Numbering::ALL.map(|numbering| format!("{}: {}", CODECS[BALANCED], numbering.name()));
    let last = ["saved: sorted", "saved: pack order", "and reverse index", "references out"].map(str::to_owned);
    let first = ["objects", "as git wrote"].map(str::to_owned);
    let columns = || first.iter().chain(&of_codec).chain(&last).cloned();
    print_row("packs", columns());
    print_row("---", columns().map(|_| "---".to_owned()));
    for increment in increments {
        let [before, _, sorted, pack_order] = increment.sizes;
        let saved = |after: u64| format!("{:.1} %", 100.0 * (1.0 - after as f64 / before as f64));
        let mut cells = vec![increment.objects.to_string(), megabytes(increment.found)];
        cells.extend(increment.sizes.map(megabytes));
        cells.extend([
            saved(sorted),
            saved(pack_order),
            saved(pack_order + reverse_index(increment.objects, increment.packs)),
        ]);
        cells.push(format!("{:.1} %", 100.0 * increment.escapes[0] as f64 / increment.escapes[1].max(1) as f64));
        print_row(&increment.packs.to_string(), cells.into_iter());
    }
}

/// The length of the reverse indexes of `packs` with `objects` together.
fn reverse_index(objects: usize, packs: usize) -> u64 {
    4 * objects as u64 + REVERSE_INDEX_ENDS * packs as u64
}
