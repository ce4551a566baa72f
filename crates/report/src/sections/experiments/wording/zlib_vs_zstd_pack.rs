//! Statements of the experiment of 2016, zstd in packs.

use super::Wording;

pub(super) const WORDING: Wording = &[
    // Subjects.
    ("incremental-repack", "an incremental repack under {spec}"),
    ("incremental-repack-and-fetch", "an incremental repack and a fetch by git"),
    ("replay-of", "the replay of {command}"),
    ("serving", "serving"),
    ("serving-a-clone", "serving a clone"),
    ("serving-zlib-clients", "serving a clone from {spec} to a client that only knows zlib"),
    // Measured figures.
    ("of-the-bytes", "{ratio:size} of the bytes"),
    ("of-serving-zlib", "{ratio} of the CPU time of serving stored zlib"),
    // Reasons.
    ("replay-takes", "the replay, which does less around decoding than git, takes {ratio}."),
    ("packs-differ", "the packs differ by {change}, with the deltas of the source in both."),
    ("packs-larger", "the packs are larger by {change}, with the deltas of the source in both."),
    ("packs-smaller", "the packs are smaller by {change}, with the deltas of the source in both."),
    ("levels-9-and-11-not-measured", "zstd:9 and zstd:11 were not both measured."),
    ("past-9-shrinks", "from level 9 to 11 the packs shrink by {gain}."),
    ("past-9-repack-takes", "a full repack then takes {ratio} of the CPU time."),
    ("reads-not-measured", "neither rev-list nor log -S was measured under both zstd:1 and zstd:3."),
    ("packs-have", "the packs of {spec} have {ratio:size} of the bytes of those of {of}."),
    ("another-wrapper", "the wrapper of 2016 was linked into git; here a preloaded library was measured in its place."),
    ("one-thread-packs", "one thread packs here, so the comparison is with the published user times."),
    ("not-faster-under", "it is not faster under {codecs}."),
    ("undecided-under", "the intervals of {codecs} decide nothing."),
    ("not-measured-under", "{codecs} were not measured."),
    ("full-does-not-differ", "{what} does not differ by more than the noise floor, so nothing can differ by less."),
    ("differs-by-less-than-half", "{what} differs from zlib's by less than half as much as a full one."),
    ("differs-by-less", "{what} differs from zlib's by less than a full one, but not by less than half as much."),
    ("differs-by-more", "{what} differs from zlib's by more than a full one."),
    ("differs-undecided", "the intervals do not show how much less than a full one {what} differs."),
    (
        "fetch-takes",
        "a fetch between unpatched gits, which can only send zlib, takes {ratio}; stored zstd cannot be sent as it is.",
    ),
    ("takes-more-than-twice", "{what} takes more than twice as long."),
    ("takes-longer-not-surely-twice", "{what} takes longer, but not certainly twice as long."),
    ("does-not-take-longer", "{what} does not take longer."),
    ("serving-same-codec-takes", "to a client that accepts zstd it takes {ratio}."),
    // Tables.
    ("commands-of-stock-git", "commands of stock git, and packs"),
    ("cpu-time-to-zlib", "CPU time as a multiple of zlib's"),
    ("cpu-time-of-daily-work", "CPU time of the daily work of people and servers"),
    ("peak-memory-of-stock-git", "peak resident memory of stock git"),
    // Differences from the published set-up.
    (
        "preloaded-library",
        "git is unpatched here, and a preloaded library stands in for the functions of zlib; the published git was built with a wrapper around \
         them. Chunks are in this program's containers, each with a checksum of four bytes, and stored where compression would not shrink \
         them.",
    ),
    (
        "deltas-of-the-source",
        "all variants have the deltas of the source here, so that their sizes differ by the codec only; each published pack was repacked from \
         scratch.",
    ),
    ("zstd-of-today", "zstd is a current one here ({version}), and was one of 2016 then."),
    (
        "one-thread-writes-packs",
        "one thread writes packs here, and four cores did then: compare the published user time, not the elapsed time.",
    ),
    (
        "log-s-options",
        "git log -S prints commit ids here, and printed the changes as well then (--raw). Here it detects no renames and converts no text \
         (--no-renames, --no-textconv); then it detected renames, as git does by default. Commit-graphs, bitmaps and multi-pack-indexes are \
         off.",
    ),
    // Notes.
    (
        "times-of-commands",
        "times of commands are elapsed time, and user time of the process and all its children: medians, except the best of five for rev-list. \
         Ratios are of CPU time, from pairs of runs in the same block, with 95 % intervals.",
    ),
];
