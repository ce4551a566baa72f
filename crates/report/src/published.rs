//! What others have published, to stand beside what was measured. The figures lie in a data file with their sources.

use serde::Deserialize;

const DATA: &str = include_str!("../data/published.json");

/// A published measurement.
#[derive(Debug, Deserialize)]
struct Published {
    date: String,
    source: String,
    set_up: String,
    baseline: String,
    codec: String,
    commands: Vec<PublishedCommand>,
}

#[derive(Debug, Deserialize)]
struct PublishedCommand {
    workload: String,
    command: String,
    baseline_seconds: f64,
    seconds: f64,
}

/// A line for each measurement of some of these workloads by stock clients or patched ones.
pub(crate) fn notes(workloads: &[&str]) -> Vec<String> {
    let published: Vec<Published> = serde_json::from_str(DATA).unwrap_or_default();
    published.iter().filter_map(|published| note(published, workloads)).collect()
}

fn note(published: &Published, workloads: &[&str]) -> Option<String> {
    let of = published.commands.iter().filter(|command| workloads.contains(&command.workload.as_str()));
    let shares: Vec<String> = of
        .map(|command| {
            let percent = (command.seconds / command.baseline_seconds - 1.0) * 100.0;
            let change = if percent < 0.0 { "less" } else { "more" };
            format!("{} took {:.0} % {change} time", command.command, percent.abs())
        })
        .collect();
    let Published { date, source, set_up, baseline, codec, .. } = published;
    (!shares.is_empty())
        .then(|| format!("Published on {date}, {codec} beside {baseline}: {} ({set_up}; {source}).", shares.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_is_told_of_the_workloads_that_were_measured() {
        let all: Vec<Published> = serde_json::from_str(DATA).unwrap();
        assert!(all.iter().all(|published| published.source.contains("message ")));
        let [line] = notes(&["traverse", "cat-all"]).try_into().unwrap();
        assert_eq!(
            line,
            "Published on 2016-10-23, zstd:3 beside zlib: git rev-list --objects --all took 6 % less time (linux.git, git patched to \
             use zstd in packs, elapsed time; message 20161023080552.lma2v6zxmyaiiqz5 to the git mailing list)."
        );
        assert!(notes(&["cat-all"]).is_empty());
    }
}
