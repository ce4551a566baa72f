//! Published times of the commands that stock clients ran.

use repackbench_records::{Published, PublishedTable, published};

/// The published baseline and the codec compared with it.
const BASELINE: &str = "zlib";
const ARM: &str = "zstd:3";

/// A command whose time was published.
struct PublishedCommand {
    workload: &'static str,
    /// The column of its time.
    column: &'static str,
    command: &'static str,
}

const COMMANDS: [PublishedCommand; 3] = [
    PublishedCommand { workload: "traverse", column: "rev-list", command: "git rev-list --objects --all" },
    PublishedCommand { workload: "diff:pickaxe", column: "log -S", command: "git log -Sfoo --raw" },
    PublishedCommand { workload: "repack", column: "repack", command: "git repack" },
];

/// A line for each published measurement of these workloads by git's own commands.
pub(crate) fn notes(workloads: &[&str]) -> Vec<String> {
    let commands = |published: &'static Published| Some((published, published.table("commands")?));
    published().iter().filter_map(commands).filter_map(|(published, table)| note(published, table, workloads)).collect()
}

fn note(published: &Published, table: &PublishedTable, workloads: &[&str]) -> Option<String> {
    let measured = COMMANDS.iter().filter(|of| workloads.contains(&of.workload));
    let shares: Vec<String> = measured
        .filter_map(|PublishedCommand { column, command, .. }| {
            let percent = (table.value(ARM, column)? / table.value(BASELINE, column)? - 1.0) * 100.0;
            let change = if percent < 0.0 { "less" } else { "more" };
            Some(format!("{command} took {:.0} % {change} time", percent.abs()))
        })
        .collect();
    let Published { date, source, set_up, .. } = published;
    (!shares.is_empty())
        .then(|| format!("Published on {date}, {ARM} beside {BASELINE}: {} ({set_up}; {source}).", shares.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_times_of_measured_workloads_are_listed() {
        let [line] = notes(&["traverse", "cat-all"]).try_into().unwrap();
        assert_eq!(
            line,
            "Published on 2016-10-23, zstd:3 beside zlib: git rev-list --objects --all took 6 % less time (linux.git, git patched to \
             use zstd in packs, a quad-core machine, elapsed time, the best of five for rev-list; message \
             20161023080552.lma2v6zxmyaiiqz5 to the git mailing list)."
        );
        assert!(notes(&["cat-all"]).is_empty());
    }
}
