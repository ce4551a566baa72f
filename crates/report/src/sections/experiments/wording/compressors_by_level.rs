//! Statements of the experiment of 2005 on compressors and levels.

use super::Wording;

pub(super) const WORDING: Wording = &[
    // Subjects.
    ("decompressing", "decompressing {codec}"),
    ("decompressing-lzo-9", "decompressing lzo -9 instead of lzo -3 from memory to memory"),
    ("writing-and-reading-twice", "writing the files and reading them twice with little memory"),
    // Measured figures.
    ("beside-level-6", "level {level} takes {size:size} of the disk and {time} of the time of level 6"),
    ("beside-gzip-6", "{size:size} of the size of gzip -6, {time} of its time"),
    ("to-empty-files", "{ratio} times as long as empty files"),
    ("open-and-close-to-write", "opening and closing takes {ratio} of the time of writing"),
    ("of-commits", "{ratio} of the CPU time of commits, without that of writing files"),
    ("of-compressing-only", "{ratio} of the CPU time of compressing only"),
    ("own-b-tree-size", "{ratio:size} of the files, by this program's own B-tree"),
    ("own-b-tree-time", "{ratio} of the time, by this program's own B-tree"),
    ("own-b-tree-with-files", "{ratio} of the time, by this program's own B-tree, with {files:file/files}"),
    ("times-as-long", "{ratio} times as long with little memory"),
    ("times-for-reading-again", "{ratio} times for reading again only"),
    ("times-for-gzip-6", "{ratio} times for files compressed by gzip -6"),
    // Reasons.
    (
        "another-engine",
        "the published store was Berkeley DB's, which this program does not include: another engine says nothing about it.",
    ),
    ("own-lzo", "lzo is this project's own encoder at lzop's levels."),
    ("interval-takes-six-runs", "there is no interval: that takes six runs."),
    ("level-9-smaller", "level 9 is smaller by more than {little}."),
    ("level-3-as-small", "level 3 is as small, within {little}."),
    ("level-9-faster", "level 9 takes less time."),
    ("level-9-perhaps-slower", "whether level 9 takes longer is not clear."),
    (
        "level-6-best",
        "level 9 saves no more than {little} and takes longer; level 3 is larger by more than that, and saves at most half of the time.",
    ),
    (
        "level-3-saves-time",
        "level 9 saves no more than {little} and takes longer; but level 3, larger by {larger}, saves more than half of the time.",
    ),
    ("level-3-perhaps-saves-time", "whether level 3 saves more than half of the time is not clear."),
    ("perhaps-several-times", "whether it takes {times} times as long is not clear."),
    (
        "bzip2-saves",
        "bzip2 -9 saves {saves} of the disk space of gzip -6; at most {published} was published, as far as rounded sizes show.",
    ),
    ("takes-several-times", "it takes {times} times as long or more."),
    ("takes-not-several-times", "it does not take {times} times as long."),
    ("phases-not-measured", "the phases were not measured."),
    ("empty-files-gain-more", "empty files gain more than a factor of {limit}."),
    ("empty-files-perhaps-gain-more", "whether empty files gain more than a factor of {limit} is not clear."),
    (
        "opening-takes-as-long",
        "empty files gain less than a factor of {limit}, and opening and closing takes as long as writing, within a factor of {factor}.",
    ),
    (
        "opening-takes-another-time",
        "empty files gain less than a factor of {limit}, but opening and closing takes {ratio} of the time of writing.",
    ),
    ("commits-not-measured", "commits were not measured."),
    ("commits-take-less-than-half", "writing commits takes less than {half} of the time."),
    ("commits-take-less", "writing commits takes less time, but not less than {half} of it."),
    ("commits-take-longer", "writing commits takes longer."),
    (
        "commits-take-half-or-more",
        "writing commits does not take less than {half} of the time, and perhaps takes just as long.",
    ),
    ("commits-perhaps-take-half", "the interval reaches across {half}."),
    ("with-the-file-system", "with the file system, as in the published table, the ratio is {ratio}."),
    ("no-limit-on-the-page-cache", "the claim takes a limit on the page cache, and none could be set: {why}."),
    ("files-stay-in-memory", "{folder}: files there stay in memory"),
    ("all-files-empty", "all files are empty"),
    (
        "little-memory-without-a-limit",
        "memory was little even without a limit: {cached} of the files' pages were cached after reading them twice.",
    ),
    ("limit-never-reached", "the limit was never reached: the set is not large compared with it."),
    ("takes-times-or-more", "{what} takes {times} times as long or more."),
    ("group-could-hold", "the group could hold {part} of the files' pages."),
    // What was left out.
    ("few-files-failed", "{what}: {files:file was/files were} left out: {error}."),
    ("fewer-files", "{what}: {files} instead of {wanted} files, because the share of the budget was {share}."),
    ("corpus-leaves-out", "the corpora leave out {files}."),
    // Tables.
    ("compressing-in-place", "compressing in place, warm: {files:file/files}, {bytes}"),
    ("from-memory-to-memory", "from memory to memory, and then to files: {files:file/files}, {bytes}"),
    ("corpora", "the corpora"),
    ("open-write-close", "opening, writing and closing new files"),
    ("level-3-to-level-9", "level 3 as a multiple of level 9"),
    ("objects-of-the-revision", "the revision's objects"),
    ("objects-of-few-files", "the objects of {files:file/files} of it"),
    ("files-and-b-tree", "{what}, uncompressed: loose files, and one B-tree"),
    ("little-memory-not-measured", "with little memory, files written and read twice: not measured"),
    ("little-memory", "with little memory, files written and read twice: {files:file/files}, {bytes} in pages"),
    // Differences from the published set-up.
    (
        "another-corpus",
        "the files are those of revision {revision} of this repository, not /usr/src/sys and /usr/src of FreeBSD. Where there are more files than \
         those had, as many are taken, evenly.",
    ),
    (
        "own-compressors",
        "the compressors are this program's: stock zlib for gzip, libbz2-rs for bzip2, and its own encoder at lzop's levels for lzop, whose files are \
         in this program's container. No process is started, and no mode or time is set.",
    ),
    (
        "sizes-on-disk",
        "sizes are the files' disk space, as du counts it, without the folders that du includes; lengths stand beside them.",
    ),
    (
        "own-b-tree",
        "the B-tree is this program's own in LMDB's format, written from left to right in the order of keys; the published one was Berkeley DB with a \
         put for each file in the order of their names.",
    ),
    (
        "memory-group",
        "the original describes a machine with little memory. Here a memory group limits only this process to {limit}, for files that take {bytes} of \
         the page cache; the device and the rest of the machine's memory are unchanged.",
    ),
    ("files-several-times", "the set for little memory holds each file {copies} times, to be a large one."),
    ("phases-with-fewer-files", "phases are timed with {files} files instead of {published}."),
    (
        "phases-by-system-call",
        "each phase is timed around its system call; the published figures come from a sampling profiler (gprof).",
    ),
    // Notes.
    (
        "times-in-place",
        "times in place are elapsed, with a warm page cache: reading, compressing, writing the new file, removing the old one. Nothing is synced while \
         the clock runs, and nothing is subtracted.",
    ),
    (
        "cpu-from-memory-to-memory",
        "CPU times are those of compressing from memory to memory, on one thread, with contexts that are kept from file to file; a program makes new \
         ones for each.",
    ),
    (
        "phases-measured",
        "phases are timed with {length} bytes a file and with none, with {many} files and with {few}, all in one folder; removing them is not timed.",
    ),
    (
        "b-tree-is-read-back",
        "the time of the B-tree includes reading all of the new tree, which is compared with what was encoded; loose files are verified in memory only.",
    ),
    (
        "memory-groups-of-runs",
        "with little memory, the memory that this process needs was allocated before it entered the group. Both kinds of run are in a group, one of them \
         without a limit. Nothing is dirty when a run begins, and both end writing when all is on the device. Empty files, which take no pages, are \
         not included.",
    ),
];
