//! Statements of the experiment of 2019, zstd in revlogs.

use super::Wording;

pub(super) const WORDING: Wording = &[
    // Subjects.
    ("reading-in-process", "reading in-process"),
    ("compressing-in-process", "compressing in-process"),
    ("reading-all-revisions", "reading all revisions"),
    ("writing-all-revisions", "writing all revisions by hg debugupgraderepo"),
    ("under-instead-of", "{what} under {spec} instead of {of}"),
    // Measured figures.
    ("span-of-levels", "{codec} {span}"),
    // Reasons.
    ("only-decoding-takes", "only decoding takes {ratio}."),
    ("reading-history-takes", "reading only changelog and manifests takes {ratio}."),
    ("hg-verify-takes", "hg verify, which also reads all revisions, takes {ratio}, including its start."),
    ("only-compressing-takes", "only compressing, of deltas as they are, takes {ratio}."),
    (
        "size-differs-from",
        "the repository under {spec} differs in size by {change} from that under {of}; the levels of zlib differed by about {small} then.",
    ),
    (
        "widest-span",
        "from the smallest to the largest of its levels, the size changes by {span} for one of the codecs, and by no more for the other; \
         about {small} was published.",
    ),
    // Tables.
    ("zstd-to-zlib-by-default", "zstd:3 as a multiple of zlib:6, both the defaults"),
    ("slowest-zstd-to-fastest-zlib", "zstd at its slowest level as a multiple of zlib at its fastest"),
    ("levels-of-zlib-and-zstd", "bytes and CPU time by level"),
    // Differences from the published set-up.
    (
        "another-repository-of-unknown-size",
        "the repository is {name} of {bytes} under zlib:6; published were {published}, of sizes that are not in the part of the source that \
         could be read.",
    ),
    (
        "read-in-process",
        "this program reads every revision of all revlogs once, in-process and without Python; then it was hg perfrevlogrevisions, which \
         runs hg's own functions.",
    ),
    (
        "written-by-upgrade",
        "hg debugupgraderepo writes here: it chooses all deltas of all revlogs again, and its time includes the start of hg. Then it was hg \
         perfrevlogwrite, without that start, and of two repositories only for the last 5,000 revisions.",
    ),
    (
        "revlogs-keep-their-deltas",
        "sizes and reading are those of the source's deltas under each codec, so that only the codec differs; then deltas were chosen again, \
         which depends on the size of compressed chunks.",
    ),
    (
        "levels-of-this-program",
        "the levels are {levels}; then there were several of both codecs, whose numbers are not in the part of the source that could be read.",
    ),
    (
        "hg-and-zstd-since-2019",
        "this is today's hg, unpatched, without Rust, extension and worker processes, and today's zstd (in-process {version}).",
    ),
    // Notes.
    (
        "times-of-levels",
        "times are CPU time, medians; published were times of hg's perf extension. Ratios come from pairs of runs in the same block, with \
         95 % intervals.",
    ),
];
