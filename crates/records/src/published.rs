//! Published figures of others. One data file holds them with their sources.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::ExperimentColumn;

const DATA: &str = include_str!("../data/published.json");

static PUBLISHED: LazyLock<Vec<Published>> = LazyLock::new(|| serde_json::from_str(DATA).unwrap_or_default());

/// A published experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Its name here, as in `flat-vs-gzip-tree`.
    pub name: String,
    /// The author.
    pub author: String,
    /// The date, as in `2005-04-22`, or only the year.
    pub date: String,
    /// Where it was published.
    pub source: String,
    /// The machine, the data and the programs, in a sentence.
    pub set_up: String,
    /// Its question, in a sentence.
    pub asked: String,
    /// Its result, in a sentence.
    pub found: String,
    /// The requirements of running it again, in a sentence.
    pub needs: String,
    /// The figures.
    pub tables: Vec<PublishedTable>,
    /// The claims.
    pub claims: Vec<PublishedClaim>,
    /// Contradictions in the text, and figures restored from elsewhere, a sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
}

impl Published {
    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&PublishedTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The claim of this name.
    pub fn claim(&self, id: &str) -> Option<&PublishedClaim> {
        self.claims.iter().find(|claim| claim.id == id)
    }
}

/// Published figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTable {
    /// Its name here.
    pub name: String,
    /// Its quantities.
    pub columns: Vec<ExperimentColumn>,
    /// Its arms.
    pub rows: Vec<PublishedRow>,
}

impl PublishedTable {
    /// The figure of an arm in a column.
    pub fn value(&self, row: &str, column: &str) -> Option<f64> {
        let at = self.columns.iter().position(|found| found.name == column)?;
        self.rows.iter().find(|found| found.label == row)?.values.get(at).copied().flatten()
    }
}

/// An arm of a published experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Its name here.
    pub label: String,
    /// Its figures, one for each column.
    pub values: Vec<Option<f64>>,
    /// The raw values, if they were published.
    #[serde(default)]
    pub samples: Vec<f64>,
}

/// A claim that can be tested.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedClaim {
    /// Its name here.
    pub id: String,
    /// The claim, in a sentence.
    pub claim: String,
    /// Its figure as a number, if it has one.
    #[serde(default)]
    pub value: Option<f64>,
    /// Its figure as text with its unit; empty if it has none.
    #[serde(default)]
    pub figure: String,
}

/// Every published experiment, by date.
pub fn published() -> &'static [Published] {
    &PUBLISHED
}

/// The published experiment of this name.
pub fn published_experiment(name: &str) -> Option<&'static Published> {
    published().iter().find(|published| published.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program ignores mistakes in the file; this test finds them.
    #[test]
    fn data_file_is_complete() {
        let all: Vec<Published> = serde_json::from_str(DATA).unwrap();
        let names: Vec<&str> = all.iter().map(|published| published.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "flat-vs-gzip-tree",
                "compressors-by-level",
                "checkout-page-trace",
                "zlib-vs-lz4-revlog",
                "zlib-vs-zstd-pack",
                "zlib-vs-zstd-revlog"
            ]
        );
        for published in &all {
            for table in &published.tables {
                for row in &table.rows {
                    assert_eq!(
                        row.values.len(),
                        table.columns.len(),
                        "{}, {}, {}",
                        published.name,
                        table.name,
                        row.label
                    );
                }
            }
        }
    }

    #[test]
    fn raw_values_of_2005_average_to_published_figures() {
        let reading =
            published_experiment("flat-vs-gzip-tree").and_then(|published| published.table("reading")).unwrap();
        assert_eq!(reading.rows.iter().map(|row| row.samples.len()).sum::<usize>(), 72);
        for row in &reading.rows {
            let average = row.samples.iter().sum::<f64>() / row.samples.len() as f64;
            assert!((average - row.values[0].unwrap()).abs() < 0.1, "{}: {average}", row.label);
        }
    }

    /// The description of the change has ranges over levels, and percentages without decimals.
    #[test]
    fn ranges_of_2019_agree_with_published_percentages() {
        let published = published_experiment("zlib-vs-zstd-revlog").unwrap();
        for (name, rows) in [("reading", 4), ("writing", 2)] {
            let table = published.table(name).unwrap();
            let row = |row: &PublishedRow| {
                let [fastest_zlib, slowest_zlib, fastest_zstd, slowest_zstd, defaults, extremes] = row.values[..]
                else {
                    panic!("{row:?}")
                };
                let extremes = extremes?;
                let found = slowest_zstd? / fastest_zlib?;
                assert!((found - extremes).abs() < 0.01, "{name}, {}: {found} and {extremes}", row.label);
                let possible = fastest_zstd? / slowest_zlib? - 0.005..=found + 0.005;
                assert!(possible.contains(&defaults?), "{name}, {}: {possible:?}", row.label);
                Some(())
            };
            assert_eq!(table.rows.iter().filter_map(row).count(), rows, "{name}");
        }
    }
}
