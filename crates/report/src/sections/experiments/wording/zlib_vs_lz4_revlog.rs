//! Statements of the experiment of 2012, lz4 in revlogs.

use super::Wording;

pub(super) const WORDING: Wording = &[
    // Subjects.
    ("as-found", "as found"),
    ("in-the-layout-of-2012", "in the layout of 2012"),
    ("in-layout", "{what} {layout}"),
    ("decompressing-lz4hc", "decompressing lz4hc instead of lz4"),
    ("replays-of-update", "replays of update"),
    ("replays-of-update-and-codecs", "replays of update, and of only the codecs"),
    ("codecs-in-a-pull", "only the codecs in a pull"),
    ("repository-and-bytes", "{name} of {bytes}"),
    ("more-than-the-same", "more than {same} more"),
    ("no-more-than-the-same", "no more than {same} more"),
    ("too-near-to-the-same", "too near to {same} more, because peaks of one run may be off by {peak}"),
    ("hg-itself-takes-most", "where hg itself, with its Python, takes most: the repository is too small to decide"),
    // Measured figures.
    ("named-figure", "{name} {figure}"),
    ("zlib-share-of-command", "{command} {layout}: {figures}"),
    ("saved-part", "saved {share}"),
    ("alone-at-least", "alone at least {share}"),
    ("zlib-alone", "{codec} alone {share}"),
    ("by-another-binding", "by another binding {ratio} of the time"),
    ("share-in-layout", "{layout} {share}"),
    ("memory-of-clone", "{command} {layout} under zlib and lz4: the process {peaks}, files {files}"),
    ("memory-of-command", "{command} {layout} under zlib and lz4: the process {peaks}"),
    ("memory-of-replay", "the replay of update under zlib and lz4: {peaks}"),
    ("saved-in-repository", "{bytes} {layout}: {saved} saved"),
    // Reasons.
    (
        "commands-of-hg-not-compared",
        "the commands of hg were measured neither beside only the codec nor without compression.",
    ),
    ("zlib-in-replay", "in the replay of update, zlib takes at least {share}."),
    ("repository-too-small", "the repository is too small to decide."),
    ("zlib-takes-about-half", "in most of these commands, zlib takes {least} to {most} of the CPU time."),
    (
        "zlib-takes-half-or-more",
        "in most of these commands, zlib takes {least} of the CPU time or more, and in many more than {most}.",
    ),
    (
        "zlib-takes-less",
        "in most of these commands, hg without compression saves less than {least} of the CPU time, by more than the {bytes} that reading more \
         bytes may take, and the codec alone takes less, too.",
    ),
    (
        "zlib-share-unknown",
        "how much zlib takes is not decided by only a lower bound of {most} or less, by an interval across {least} or {most}, or by one below \
         {least} without a lower bound or by no more than {bytes}.",
    ),
    ("zlib-takes-at-least", "at least {share} of {command} is zlib's, and nothing shows how much more."),
    ("start-of-hg-takes", "the start of hg takes {share} of {command}."),
    (
        "binding-not-compared",
        "this takes hg update by plain hg, and by hg with the extension, whose zlib has another binding.",
    ),
    (
        "two-bindings",
        "the extension's zlib has a binding of its own to Python: two bindings are compared here, and neither with none.",
    ),
    ("times-as-fast", "it is {times} times as fast as zlib:6."),
    ("sizes-not-measured", "sizes were not measured."),
    ("sizes-in-layout", "{layout}: {sizes}."),
    (
        "update-not-measured-under-lz4",
        "an update by hg was not measured under lz4: --hg and --hg-extension name hg and the extension.",
    ),
    ("update-takes-user-time", "{layout}, it takes {ratio} of the user time."),
    ("update-replayed-takes", "{layout}, a replay takes {ratio} of the CPU time without writing files."),
    ("clone-takes-cpu-time", "{layout}, it takes of the CPU time: {ratios}."),
    ("lz4-adds-no-bytes", "no bytes are added by lz4 here."),
    ("manifest-has-most", "{layout}, the manifest holds more than half of the bytes that {codec} adds."),
    ("manifest-has-half-or-less", "{layout}, the manifest holds no more than half of the bytes that {codec} adds."),
    (
        "memory-grows",
        "the memory of the process and the files that the page cache has to hold for it come to {ratio} of those under zlib, {growth}. No run had a \
         limit of memory.",
    ),
    (
        "only-clones-read-all",
        "only clone --pull reads every chunk, and its memory was not measured under zlib and lz4 beside the sizes.",
    ),
    ("memory-of-hg-not-measured", "the memory of hg's commands was not measured under zlib and lz4."),
    ("replay-has-other-caches", "a replay's memory is this program's, which reads through other caches than hg."),
    ("one-repository", "one repository decides nothing: give several to one call."),
    (
        "repositories-too-alike",
        "the repositories are too much alike: one has to be {times} times as large as the other.",
    ),
    ("saving-without-interval", "the time that update saves has no interval in one of them: that takes six runs."),
    (
        "noticed-in-smallest",
        "in the smallest repository, too, the whole interval of the time that update saves is at {noticed} or more.",
    ),
    (
        "noticed-only-in-largest",
        "only in the largest repository, the whole interval of the time that update saves is at {noticed} or more, which people notice.",
    ),
    ("noticed-in-neither", "update saves {noticed} or more in neither repository."),
    ("perhaps-noticed", "an interval of the time that update saves reaches across {noticed}."),
    // Tables.
    ("bytes-in-layout", "bytes, {layout}"),
    ("commands-of-stock-hg", "commands of stock hg, {layout}"),
    ("cpu-time-in-process", "CPU time in-process, {layout}"),
    ("share-of-zlib", "{codec}'s share of CPU time, {layout}"),
    ("peak-memory-of-hg", "peak resident memory, {layout}"),
    // Differences from the published set-up.
    ("another-repository-of-bytes", "the repository is {name} of {bytes} under zlib; published were {published}."),
    (
        "hg-of-today",
        "this is today's hg, unpatched, without Rust and without worker processes; lz4 comes with an extension, and what hg writes besides revlogs has \
         changed since.",
    ),
    ("lz4-of-today", "today's lz4 and lz4hc are used, lz4hc at level 9."),
    ("warm-page-cache", "commands read with a warm page cache; update writes to a new work tree."),
    ("layout-of-the-repository", "the layout is the repository's own, not that of 2012."),
    // Notes.
    (
        "times-of-hg",
        "times of hg's commands are elapsed times, medians, and their ratios are of elapsed time, like the published ones. Ratios of replays are of \
         CPU time, for update without that of writing files. Ratios come from pairs of runs in the same block, with 95 % intervals.",
    ),
    (
        "share-of-a-command",
        "for zlib's share of a command, \"the codec alone\" is the CPU time of decoding, and compressing, the same chunks from memory: a lower bound. \
         \"Saved\" is what plain hg takes less in a repository without compression. That also spares hg calling the codec, but makes it read more \
         bytes, without which more would be saved.",
    ),
    // What was left out.
    ("old-layout-not-made", "the layout of 2012 was left out because hg did not make it: {error}."),
    (
        "old-layout-not-written",
        "the layout of 2012 was left out: this hg writes repositories with {requirement} all the same.",
    ),
];
