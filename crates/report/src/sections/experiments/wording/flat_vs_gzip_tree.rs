//! Statements of the experiment of 2005 on trees of compressed files.

use super::Wording;

pub(super) const WORDING: Wording = &[
    // Subjects and measured figures.
    ("compressed-tree", "the compressed tree"),
    ("tree-compressed-in-place", "the tree compressed in place"),
    ("copies", "the layout error of copies"),
    ("checkouts-by-git", "the checkout by git"),
    ("largest-layout-error", "at most {most}: {copies} {ratio}"),
    ("seeks", "seeks"),
    ("bytes", "bytes"),
    ("seeks-of-whole-trees", "seeks of trees written as a whole"),
    ("waiting", "waiting"),
    ("of-the-time", "which is {part} of the time"),
    ("checkouts", "checkouts"),
    ("reading-trees", "trees"),
    // Reasons.
    ("inodes-in-memory", "folders and inodes were in memory, so reading them takes no time here."),
    ("copies-without-intervals", "copies have no intervals: those take six runs."),
    (
        "copies-differ",
        "{differing} of {pairs} pairs of like copies differ by more than their runs do, none by more than twice the published {published}.",
    ),
    (
        "copies-differ-more",
        "{differing} of {pairs} pairs of like copies differ, by up to {most}, which is more than twice the published {published}.",
    ),
    ("copies-agree", "all like copies agree within {within}."),
    ("copies-undecided", "no pair of like copies differs by more than its runs do, and not all agree within {within}."),
    ("seeks-differ", "the compressed trees take {seeks} times as many seeks, which is not within {same}."),
    (
        "seeks-of-whole-trees-differ",
        "where trees were written as a whole, like the published ones, the compressed one takes {seeks} times as many seeks, which is not within \
         {same}. Side by side nearly every file takes a seek, so that their number is the same.",
    ),
    ("extents-unknown", "the file system does not report where files lie, so seeks cannot be counted."),
    (
        "seeks-same-no-interval",
        "the number of seeks is almost the same; whether seeks bind takes an interval of times.",
    ),
    (
        "seeks-do-not-bind",
        "the number of seeks is almost the same, but readings waited for only {part} of their time. Neither seeks nor bytes bind: opening and \
         reading files does.",
    ),
    (
        "waiting-like-seeks",
        "the number of seeks is almost the same, and the ratio of waiting is nearer to that of seeks than to that of bytes: wholly above {middle}.",
    ),
    (
        "waiting-like-bytes",
        "the number of seeks is almost the same, but the ratio of waiting is nearer to that of bytes: wholly below {middle}.",
    ),
    (
        "waiting-undecided",
        "the number of seeks is almost the same; the interval of waiting reaches across {middle}, half-way to the ratio of bytes.",
    ),
    ("caveat-without-interval", "one of the ratios has no interval: that takes runs of two copies."),
    ("checkouts-close", "every ratio in the interval of checkouts is within {close} of every ratio in that of trees."),
    (
        "checkouts-slower",
        "the interval of checkouts lies more than {close} above that of trees: git decompresses the files that it checks out.",
    ),
    ("checkouts-faster", "the interval of checkouts lies more than {close} below that of trees."),
    (
        "checkouts-undecided",
        "the intervals of checkouts and of trees lie neither wholly within {close} of each other nor wholly further apart.",
    ),
    // Tables.
    ("reading-every-file", "reading every file of a cold tree; nothing is decompressed"),
    ("compressed-to-flat", "compressed as a multiple of flat; nothing is decompressed"),
    ("layout-errors", "layout error: copies made the same way"),
    ("reading-and-decompressing", "reading and decompressing, cold: run r reads copy r of each kind"),
    ("checking-out-by-git", "Git: checking the revision out of loose objects, cold: run r reads copy r of each"),
    ("trees", "the trees"),
    // Differences from the published set-up.
    (
        "another-tree",
        "the tree is revision {revision} of this repository, {files:file/files} of {bytes} in all; the published one was linux 2.6.10.",
    ),
    (
        "caches-dropped",
        "instead of a reboot, every file was evicted and each of its pages verified to be gone; then the kernel dropped its caches of folders and \
         inodes (drop_caches).",
    ),
    (
        "files-evicted",
        "instead of a reboot, every file was evicted and each of its pages verified to be gone. Folders and inodes stay in memory, because \
         dropping them takes privileges and the absence of --keep-caches; the published times include seeks to them, and these do not.",
    ),
    (
        "caches-of-the-device",
        "caches of the device, and of a hypervisor where there is one, cannot be emptied, and may answer instead of the disk.",
    ),
    (
        "copies-in-turn",
        "{copies} copies of each kind were written file by file in turn, in an order of kinds that was drawn for each copy, so that hardly any two \
         files that are read one after the other lie side by side. The published trees were each written as a whole with cp -a, as only \
         {whole} are here.",
    ),
    (
        "read-by-this-program",
        "this program reads the files, on one thread, in the order in which folders list them, like find and cat; the published command also ran \
         once, with names that end in a NUL byte.",
    ),
    (
        "gzip-by-stock-zlib",
        "gzip -9 is stock zlib at level 9 in files of gzip's format without a name; zstd -5, which is in no published row, is libzstd.",
    ),
    ("mount-options", "mount options are those of this machine; the published file system had noatime and nodiratime."),
    // Notes.
    (
        "seeks-counted",
        "seeks are counted from the places of files that the file system reports (fiemap), in the order of reading: one for each extent that does \
         not begin where the last one ended. Folders and inodes are not included.",
    ),
    (
        "seeks-modelled",
        "modelled times are those seeks times one latency for all, plus bytes divided by bandwidth: short seeks of a disk take less.",
    ),
    ("trees-leave-out", "the trees leave out {files}."),
    ("symbolic-links", "{count:symbolic link/symbolic links}"),
    ("other-commits", "{count:commit of another repository/commits of other repositories}"),
    ("missing-files", "{count:file that this partial clone lacks/files that this partial clone lacks}"),
];
