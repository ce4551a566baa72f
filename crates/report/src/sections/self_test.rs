//! The result of a self-test.

use repackbench_records::{SelfTest, SpuriousEffects};

use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{or_dash, percent, share},
};

/// The rate at which identical variants look different, in random blocks and one after another.
pub fn self_test(test: &SelfTest) -> Article {
    let mut table =
        Table::new([Column::words(""), Column::numbers("random blocks"), Column::numbers("one after another")]);
    let both = [&test.interleaved, &test.one_after_another];
    let mut row = |name: &str, cell: fn(&SpuriousEffects) -> String| {
        let [blocks, sequence] = both.map(cell);
        table.row([name.to_owned(), blocks, sequence]);
    };
    row("intervals that leave out 1", |effects| rate(effects.intervals_without_1, effects.cells));
    row("verdicts faster or slower", |effects| or_dash(effects.differences, |count| rate(count, effects.cells)));
    row("spurious effect, median", |effects| effect(effects.median));
    row("spurious effect, 95th percentile", |effects| effect(effects.percentile_95));
    Article { heading: heading(test), ..Article::of([Block::Table(table), Block::note(NOTE)]) }
}

const NOTE: &str = "\
All names are the same files, so every difference is false. The right column compares the same runs as if all runs of one name had
been made before those of the next. 5 % of the intervals may leave out 1.";

fn heading(test: &SelfTest) -> String {
    let repository = test.repository.as_ref().map_or_else(String::new, |repository| plain_text(&repository.name));
    let names: Vec<String> = test.workloads.iter().map(|label| plain_text(&label.to_string())).collect();
    let blocks = match test.blocks {
        None => "no blocks".to_owned(),
        Some((least, most)) if least == most => format!("{least} blocks"),
        Some((least, most)) => format!("{least} to {most} blocks"),
    };
    format!("{repository}: the baseline under {} other names, {blocks}: {}", test.names, names.join(", "))
}

/// `2 of 24 (8.3 %)`.
fn rate(count: usize, of: usize) -> String {
    if of == 0 { "-".to_owned() } else { format!("{count} of {of} ({})", share(count as f64 / of as f64)) }
}

fn effect(part: Option<f64>) -> String {
    or_dash(part, |part| percent(part, 2))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use repackbench_records::{RepositoryState, WorkloadLabel};

    use super::*;
    use crate::fixtures::plain;

    #[test]
    fn both_ways_of_comparing_have_a_column() {
        let effects = |without_1, differences, median| SpuriousEffects {
            cells: 8,
            intervals_without_1: without_1,
            differences,
            median: Some(median),
            percentile_95: Some(2.0 * median),
        };
        let label = |name: &str| WorkloadLabel { name: name.into(), parameters: BTreeMap::new() };
        let test = SelfTest {
            repository: Some(RepositoryState { name: "jq".into(), ..RepositoryState::default() }),
            workloads: vec![label("traverse"), label("diff:raw")],
            names: 4,
            blocks: Some((11, 14)),
            interleaved: effects(0, Some(0), 0.002),
            one_after_another: effects(3, None, 0.0213),
        };
        let text = plain(&[self_test(&test)]);
        let expected = "\
jq: the baseline under 4 other names, 11 to 14 blocks: traverse, diff:raw

                                   random blocks  one after another
---------------------------------------------------------------------
intervals that leave out 1        0 of 8 (0.0 %)      3 of 8 (38 %)
verdicts faster or slower         0 of 8 (0.0 %)                  -
spurious effect, median                   0.20 %             2.13 %
spurious effect, 95th percentile          0.40 %             4.26 %
";
        assert!(text.starts_with(expected), "{text}");
        assert!(plain(&[self_test(&SelfTest::default())]).contains("no blocks"));
    }
}
