//! Statements of the experiment of 2007 on the pages that a checkout reads.

use super::Wording;

pub(super) const WORDING: Wording = &[
    // Subjects.
    ("looking-for-gitignore", "looking for .gitignore in every folder"),
    ("checkout-from-loose-objects", "the checkout from loose objects"),
    ("in-repacked-pack", "in a pack that git has written again"),
    ("in-recency-order", "in a pack of the same entries in the order that git would write them in now"),
    ("with-files", "with all that is checked out, files included"),
    ("unknown-length", "an unknown length"),
    ("range-of-cycles", "{least} to {most}"),
    ("processor-name", "the processor's name"),
    ("cpu-mhz-line", "the line cpu MHz of /proc/cpuinfo"),
    ("all-commits", "all"),
    ("newest-commits", "the newest {commits}"),
    // Measured figures.
    ("times-reading-trees", "{ratio} times reading the trees from the pack"),
    ("times-the-checkout", "{ratio} times the checkout with its files"),
    ("go-forward", "{share:part} go forward"),
    ("part-of-touches", "{share:part} of the touches"),
    ("part-of-pages", "{share:part} of the pages"),
    ("costs-of-touches", "a hit {hit} and a miss {miss}"),
    ("costs-in-cycles", "{hit} and {miss} cycles"),
    ("many-times-as-long", "{ratio} times as long"),
    ("go-back-and-to-the-next", "{back:part} go back, {next:part} to the very next page"),
    (
        "places-of-trees",
        "the {trees:tree/trees} of the revision and their bases ({deltas} of them deltas, {bytes}) are in {stretches:stretch/stretches} of \
         {pages:page/pages}",
    ),
    // Reasons.
    ("too-few-rounds", "{rounds:round/rounds} instead of {wanted} cannot decide the claim."),
    ("surely-much-longer", "the whole interval is at {much} or more."),
    ("longer-not-surely-much", "it takes longer, but not certainly {much} times as long."),
    ("shorter", "it takes less time."),
    ("perhaps-longer", "the interval includes 1, or there are too few rounds for an interval."),
    (
        "claim-about-a-cold-start",
        "folders and inodes were in memory: dropping them takes privileges on the whole machine, and the claim is about a cold start.",
    ),
    (
        "lookups-compared",
        "with all caches dropped, opening .gitignore in {folders:folder/folders} was compared with reading and decoding the trees of the checkout.",
    ),
    ("trees-on-one-page", "the trees of the checkout touch at most one page of the pack."),
    ("steps-of-trees", "reading only the trees takes {steps:step/steps} from page to page, {back} of them backwards."),
    ("pages-touched-between", "{share:part} of the pages from the first to the last are touched."),
    ("order-elsewhere", "{which}, {share:part} go forward."),
    ("no-page-waited-for", "no page was waited for, or nothing was measured."),
    (
        "share-depends-on-readahead",
        "the kernel reads {ahead:kib} ahead on this file system; a share within {tolerance} of the published one would count as the same.",
    ),
    ("modelled-hits", "with {ahead:kib}, the model comes to {share:part}."),
    ("hits-with-files", "with all that is checked out, files included, it is {share:part}."),
    ("one-kind-of-touches", "there are no two kinds of touches to tell apart."),
    ("miss-to-hit", "a miss costs {times} times as much as a hit."),
    ("claimed-costs", "the claim is about hits of {hits} cycles and misses of {misses} cycles."),
    ("published-costs", "in the published lines, the medians are {hit} and {miss} cycles: {times} times as much."),
    (
        "pages-read-cold",
        "with all caches dropped, the same checkout read {loose:page/pages} of {files:file/files}, and {pack:page/pages} of the pack and its index.",
    ),
    (
        "pages-read-with-inodes-in-memory",
        "with folders and inodes in memory, which favours loose objects, the same checkout read {loose:page/pages} of {files:file/files}, and \
         {pack:page/pages} of the pack and its index.",
    ),
    ("only-longer-times-count", "the claim is about a cold start, so only longer times would count."),
    ("index-on-one-page", "the checkout touches at most one page of the index."),
    (
        "rule-of-random",
        "these are the first {steps:step/steps} of git's own search. They count as random if a quarter to three quarters go back and fewer than half \
         go to the next page.",
    ),
    ("no-index-measured", "no index was measured."),
    ("fewest-by-mincore", "this is what mincore reported in the round with the fewest pages."),
    ("searches-touch", "the searches themselves touch {share:part} of the pages; the others came by reading ahead."),
    ("trees-together", "they are together."),
    ("no-order-with-trees-first", "no order with the trees first was tried."),
    (
        "trees-first-modelled",
        "in the order {order}, reading them takes {share:part} of the time in the source's order, by the model of a hard disk.",
    ),
    ("trees-first-measured", "cold on this device, it takes {ratio} of that time."),
    ("trees-first-not-measured", "it was not measured cold on this device."),
    ("too-little-gain", "that is too little to call the places of the trees a fault of the order."),
    ("order-is-better", "so the order could be better here, too."),
    ("device-is-slower", "this device is slower in that order."),
    (
        "perhaps-better",
        "this device decides nothing: the interval includes 1, or there are too few rounds for an interval.",
    ),
    ("trees-in-order", "in the order {order}, they are in {stretches:stretch/stretches}."),
    // Tables.
    ("first-touches-of-pages", "first touches of pages in a cold checkout"),
    ("lookups-with-all-caches-dropped", "failed lookups beside the checkout, all caches dropped"),
    ("lookups-with-inodes-in-memory", "failed lookups beside the checkout, folders and inodes in memory"),
    ("cold-in-each-order", "cold, in each order"),
    ("pack-line-by-line", "the pack's first touches, line by line"),
    ("index-line-by-line", "the index's first touches, line by line"),
    ("index-at-the-end", "the index's first touches at the end"),
    ("orders-of-job", "orders: {job}"),
    ("orders-trees", "orders: the trees that the checkout reads, bases included"),
    ("orders-size", "orders: size"),
    // Differences from the published set-up.
    (
        "disk-caches-stay",
        "caches of the device, and of a hypervisor where there is one, cannot be emptied and may answer instead of the disk: each round writes its \
         copies shortly before it reads them.",
    ),
    (
        "machine-of-2007",
        "the repository, machine, kernel and disk are those of this run; the ones of 2007 are not named.",
    ),
    (
        "published-read-trees",
        "the published checkout read trees and hardly any files, so it is compared with reading only the trees of the revision. The checkout with its \
         files stands beside it, and loose objects are compared with that.",
    ),
    (
        "costs-are-elapsed-time",
        "the published costs are the CPU cycles that the kernel took to handle a page fault. Here they are the elapsed time of reading one byte of a \
         map, including the cost of the clock; cycles are that time by the processor's nominal clock.",
    ),
    (
        "neighbours-are-mapped",
        "today's kernels map a page together with neighbours that are in memory: touching those takes no page fault, and they would not be in a \
         published trace. They count as hits, and have a column of their own.",
    ),
    (
        "touches-without-work",
        "pages are touched one right after another, in the order in which this program's reader first touches them, without the work in between. The \
         ends of packs, which git reads by calls, are left out.",
    ),
    (
        "index-searched-like-git",
        "this program's reader computes the place of an id in the index. The touches of the index are not those, but those of git's own search, by \
         fan-out and halving, for the same ids in the same order. Cold and modelled times of whole jobs are this program's reader's.",
    ),
    (
        "packs-written-again",
        "the packs hold the same entries as the repository's, compressed as {spec} and in new files, because the packs as found could not be evicted \
         or put in another order.",
    ),
    (
        "readahead-here",
        "the kernel reads {ahead:kib} ahead on this file system; 128 KiB are common, in 2007 as today. This decides the share of hits.",
    ),
    ("checkout-of-revision", "the checkout is of {revision}; the orders checkout and trees-first are made for HEAD."),
    // Notes.
    (
        "threshold-of-hits",
        "a touch is a hit below {time}, half-way on a logarithmic scale between the medians of the faults that the kernel counts as minor and as \
         major. A page has {page:kib}.",
    ),
    ("mapped-page", "touching a page that is mapped takes {time}, most of which is the cost of the clock."),
    ("cycles-computed", "cycles are elapsed time at {megahertz} MHz, according to {source}; they were not counted."),
    (
        "trees-of-the-checkout",
        "the checkout reads {trees:tree/trees}, {deltas:part} of them deltas, in {stretches:stretch/stretches} of the pack.",
    ),
    (
        "best-order",
        "of all orders, {order} is best for the checkout by the model of a hard disk: {share:part} of the time in the source's order. It \
         moves more than the trees.",
    ),
    (
        "best-order-cold",
        "cold on this device, the checkout in the order {order} takes {ratio} of the time in the source's order.",
    ),
    ("best-order-not-measured", "cold on this device, the checkout in the order {order} was not measured."),
    (
        "all-caches-dropped",
        "for the failed lookups and the checkouts beside them, the caches of the whole machine were dropped, which is the only way to make folders and \
         inodes cold. Unlike with pages, whether they are cold cannot be looked up.",
    ),
    (
        "inodes-stayed-in-memory",
        "folders and inodes were in memory for the failed lookups and the checkouts beside them: this process may not write to \
         /proc/sys/vm/drop_caches, or --keep-caches forbade it.",
    ),
    (
        "blame-of",
        "the blame is of {path}, the file that changed most often: in {changes:commit/commits} of {of}. Each commit is compared with its first parent \
         at that path, without merges, and each version is read. No lines are compared.",
    ),
    (
        "copies-of-each-round",
        "each round reads new copies of all arms, written and read in an order of its own. Intervals are Student's t on the logarithms, with one value \
         from each round.",
    ),
    // What was left out.
    ("nothing-measured-cold", "nothing was measured cold: {error}."),
    ("budget-ended-rounds", "the budget was used up in round {round} of {rounds}: {left_out}."),
    ("round-left-out", "it and what would have followed were left out"),
    ("cold-runs-left-out", "{left} of its {of} cold runs were left out, and what would have followed"),
    ("dropped-caches-runs-left-out", "{left} of its {of} runs with all caches dropped were left out"),
];
