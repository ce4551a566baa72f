//! Statements that several experiments make.

use super::Wording;

pub(super) const WORDING: Wording = &[
    // Measured figures.
    ("ratio", "{ratio}"),
    ("size-ratio", "{ratio:size}"),
    ("named-ratio", "{what} {ratio}"),
    ("ratio-range", "{least} to {most}"),
    ("size-range", "{least:size} to {most:size}"),
    // Subjects.
    ("under", "{what} under {spec}"),
    ("compressing", "compressing with {codec}"),
    ("full-repack", "a full repack under {spec}"),
    // Verdicts on times: the rules are in the crate of analysis.
    ("not-measured", "{what} was not measured."),
    ("no-published-figure", "no figure was published."),
    (
        "no-interval",
        "{what} has no interval: that takes six runs, on a machine quiet enough that two runs of the same files agree.",
    ),
    ("across-floor", "the interval of {what} reaches across the noise floor of {floor}."),
    ("effect-excluded", "it excludes the published {figure}, and all but a quarter of that effect."),
    (
        "floor-includes-figure",
        "the interval of {what} lies within the noise floor of {floor}, which is too wide to exclude the published {figure}.",
    ),
    ("within-floor", "{what} takes equally long, within the noise floor of {floor}."),
    ("takes-longer", "{what} takes longer: {ratio}."),
    ("takes-less-time", "{what} takes less time: {ratio}."),
    (
        "too-wide-to-confirm",
        "the direction holds, and the published {figure} is possible, but the interval of {what} also includes half or twice that effect.",
    ),
    ("figure-in-interval", "the published {figure} lies in the interval of {what}, or at most {tolerance} outside it."),
    ("effect-is-more", "the direction holds, and the effect is more than the published {figure}."),
    ("effect-is-less", "the direction holds, and the effect is less than the published {figure}."),
    ("not-the-same", "the interval of {what} lies more than {same} from 1."),
    ("floor-wider-than-same", "the noise floor of {what}, {floor}, is wider than {same}."),
    ("the-same", "the interval of {what} lies within {same} of 1."),
    ("perhaps-the-same", "the interval of {what} lies neither wholly within {same} of 1 nor wholly outside."),
    // Verdicts on sizes.
    ("size-unknown", "the size of {what} is not known."),
    ("as-large", "{what} is as large as published, {figure}, within {tolerance}."),
    ("smaller-than-published", "the direction holds; {what} is smaller than the published {figure}."),
    ("larger-than-published", "the direction holds; {what} is larger than the published {figure}."),
    ("size-on-other-side", "the ratio of {what} lies on the other side of 1 than the published {figure}."),
    // Differences from the published set-up.
    ("another-repository", "the repository is {name} with {objects} objects; published was {published}."),
    // Notes.
    (
        "peak-memory-of-commands",
        "peak memory of a command is that of its largest process, in one run before the timed ones; mapped pages of files count.",
    ),
    // What was left out.
    ("user-stopped", "the user stopped the experiment: what would have followed is missing."),
    ("user-stopped-part", "{what}: stopped by the user."),
    ("user-stopped-after", "{what}: stopped by the user after {runs} of {wanted} runs."),
    ("part-failed", "{what}: left out because it failed: {error}."),
    ("left-out-failed", "{what} was left out: {error}."),
    ("left-out-budget-used", "{what} was left out: the budget was already used up."),
    (
        "left-out-too-long",
        "{what} was left out: one run takes {one}, the smallest useful measurement about {least}, and its share of the budget was {share}.",
    ),
    (
        "fewer-runs-planned",
        "{what}: {runs} instead of {wanted} runs, because one takes {one} and the share of the budget was {share}.",
    ),
    (
        "without-codecs",
        "{what}: without {codecs}, because one run takes {one} and the share of the budget was {share}.",
    ),
    ("fewer-runs", "{what}: {runs} instead of {wanted} runs, because its share of the budget was used up."),
    (
        "fewer-runs-of-all-arms",
        "{what}: {runs} instead of {wanted} runs, because one of all arms takes {one} and the share of the budget was {share}.",
    ),
    ("unknown-time", "an unknown time"),
    ("about", "about {time}"),
    ("more-than", "more than {time}"),
    ("failure", "{message}."),
    ("left-out-because", "{what} was left out: {why}."),
    (
        "left-out-does-not-fit",
        "{what} was left out: one run of all arms would take about {predicted} and the share of the budget was {share}.",
    ),
    ("would-not-fit", "one run of all arms would take about {predicted} and the share of the budget was {share}"),
    ("left-out-not-git", "{what} was left out: this is not a Git repository."),
    ("left-out-no-command", "{what} was left out: find, xargs or cat is not available on this machine."),
    // Deltas that are searched for again.
    ("deltas-table", "deltas as found, and after a new search"),
    (
        "new-search-saves",
        "a new search for deltas (git repack -adF, hg debugupgraderepo) saves {change} of all bytes under {spec}; zlib's levels 1, 6 and 9 span {span}.",
    ),
    (
        "new-search-costs",
        "a new search for deltas (git repack -adF, hg debugupgraderepo) costs {change} of all bytes under {spec}; zlib's levels 1, 6 and 9 span {span}.",
    ),
    (
        "nothing-repacked",
        "--repack has no effect here: this experiment is about single files, not about the deltas of packs and revlogs.",
    ),
    (
        "slow-after-removals",
        "files were created on ext4 without a journal. There it takes many times as long for minutes after other files were removed, as happens \
         between runs. Set XDG_CACHE_HOME and TMPDIR to another file system for more reliable times.",
    ),
];
