//! The cost of long delta chains.

use std::time::Duration;

use repackbench_analysis::{ChainBucket, ChainComparison};

use crate::{
    document::{Article, Block, Column, Table},
    number::{TimeScale, megabytes, or_dash, ratio_cell, size_ratio, thousands},
};

/// Objects by the length of their delta chains: their number and, for each repository, their stored bytes and the CPU
/// time to read one, with ratios to the first repository.
pub fn chains(comparison: &ChainComparison) -> Article {
    let mut table = Table::new([
        Column::words("deltas"),
        Column::numbers("objects"),
        Column::words("repository"),
        Column::points("stored MB"),
        Column::numbers("ratio"),
        Column::numbers("CPU for one"),
        Column::words("CPU ratio"),
    ]);
    for (number, bucket) in comparison.buckets.iter().enumerate() {
        if number > 0 && comparison.repositories.len() > 1 {
            table.group(None);
        }
        bucket_rows(&mut table, bucket, &comparison.repositories);
    }
    Article::of([Block::Table(table.spaced()), Block::Notes(notes(comparison))])
}

fn bucket_rows(table: &mut Table, bucket: &ChainBucket, repositories: &[String]) {
    let medians = bucket.costs.iter().filter_map(|cost| cost.cpu_median).filter(|time| !time.is_zero());
    let scale = TimeScale::for_smallest(medians.min().unwrap_or(Duration::ZERO));
    let first = bucket.costs.first().map_or(0, |cost| cost.stored_bytes);
    for (number, (cost, repository)) in bucket.costs.iter().zip(repositories).enumerate() {
        let is_first = number == 0;
        // Only the first row names the bucket.
        let (deltas, objects) =
            if is_first { (deltas(bucket), thousands(bucket.objects)) } else { (String::new(), String::new()) };
        let ratio = if is_first { String::new() } else { size_ratio(cost.stored_bytes, first) };
        let cpu = or_dash(cost.cpu_median, |time| scale.show(time));
        let cpu_ratio = if is_first { String::new() } else { or_dash(cost.ratio.as_ref(), ratio_cell) };
        table.row([deltas, objects, repository.clone(), megabytes(cost.stored_bytes), ratio, cpu, cpu_ratio]);
    }
}

/// The numbers of deltas: `0`, `2-4`, `50+`.
fn deltas(bucket: &ChainBucket) -> String {
    match bucket.most {
        Some(most) if most == bucket.least => most.to_string(),
        Some(most) => format!("{}-{most}", bucket.least),
        None => format!("{}+", bucket.least),
    }
}

fn notes(comparison: &ChainComparison) -> Vec<String> {
    let most = comparison.buckets.iter().map(|bucket| bucket.sampled).max().unwrap_or(0);
    if most == 0 {
        return vec!["No object was read: packs and revlogs have none.".to_owned()];
    }
    let mut notes = vec![format!(
        "Stored bytes do not include those of bases. CPU is the user plus system time to read one object with its whole chain\n\
         from empty caches: the median over at most {most} objects per line."
    )];
    if comparison.repositories.len() > 1 {
        notes.push("CPU ratios are to the first repository for the same object: median [95 % interval].".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use repackbench_analysis::ChainCost;
    use repackbench_records::{RatioEstimate, RatioInterval};

    use super::*;
    use crate::fixtures::plain;

    fn cost(stored_bytes: u64, micros: u64, ratio: Option<f64>) -> ChainCost {
        let interval = |ratio| Some(RatioInterval { low: ratio - 0.01, high: ratio + 0.02, coverage: 0.96 });
        ChainCost {
            stored_bytes,
            cpu_median: Some(Duration::from_micros(micros)),
            ratio: ratio.map(|ratio| RatioEstimate { ratio, interval: interval(ratio), pairs: 500 }),
        }
    }

    fn sample() -> ChainComparison {
        ChainComparison {
            repositories: vec!["repo".into(), "repo.zstd-9".into()],
            buckets: vec![
                ChainBucket {
                    least: 0,
                    most: Some(0),
                    objects: 12_345,
                    sampled: 500,
                    costs: vec![cost(8_000_000, 12, None), cost(7_200_000, 9, Some(0.75))],
                },
                ChainBucket {
                    least: 50,
                    most: None,
                    objects: 3,
                    sampled: 3,
                    costs: vec![cost(120_000, 1500, None), ChainCost { cpu_median: None, ..cost(100_000, 0, None) }],
                },
            ],
        }
    }

    #[test]
    fn each_bucket_has_a_row_per_repository() {
        let text = plain(&[chains(&sample())]);
        let table: Vec<&str> = text.lines().collect();
        assert_eq!(table[0], "deltas  objects  repository   stored MB  ratio  CPU for one  CPU ratio");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(words(table[2]), "0 12,345 repo 8.00 12.00 us");
        assert_eq!(words(table[3]), "repo.zstd-9 7.20 0.900 9.00 us 0.75 [0.74, 0.77]");
        assert_eq!(table[4], "");
        assert_eq!(words(table[5]), "50+ 3 repo 0.120 1.50 ms");
        assert_eq!(words(table[6]), "repo.zstd-9 0.100 0.833 - -");
        assert!(text.contains("at most 500 objects") && text.contains("[95 % interval]"), "{text}");
    }

    #[test]
    fn one_repository_has_no_ratios() {
        let mut one = sample();
        one.repositories.truncate(1);
        one.buckets.iter_mut().for_each(|bucket| bucket.costs.truncate(1));
        let text = plain(&[chains(&one)]);
        assert!(!text.contains("interval") && !text.contains("\n\n0"), "{text}");
        assert_eq!(text.lines().count(), 2 + 2 + 1 + 2, "{text}");
        assert!(plain(&[chains(&ChainComparison::default())]).contains("No object was read"));
    }
}
