//! What a result says, as an identifier and figures. The words belong to whoever shows it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Estimate, Unit};

/// A statement without its words: which one it is, and what it says it of.
///
/// `{"id": "within-noise-floor", "values": {"what": {"id": "full-repack"}, "floor": {"value": 0.01, "unit": "share"}}}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Names the statement; unique among all statements of a version of results.
    pub id: String,
    /// Its figures and names, each by the name that the wording uses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, StatementValue>,
}

/// A figure or a name in a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StatementValue {
    /// A number.
    Figure(Figure),
    /// A phrase with figures of its own, such as the subject of a sentence.
    Phrase(Statement),
    /// Several values.
    List(Vec<StatementValue>),
    /// A name that is the same in every language: a codec spec, a command, a path, another program's message.
    Name(String),
}

/// A number with its unit, and its interval where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The bounds of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// A statement, or the finished text that results of version 1 hold in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StoredStatement {
    /// A statement.
    Statement(Statement),
    /// Its text, as stored by an older version.
    Text(String),
}

impl Statement {
    /// The statement `id` without values.
    pub fn new(id: &str) -> Self {
        Statement { id: id.to_owned(), values: BTreeMap::new() }
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<StatementValue>) -> Self {
        self.values.insert(name.to_owned(), value.into());
        self
    }
}

impl Figure {
    /// An exact number.
    pub fn exact(value: f64, unit: Unit) -> Self {
        Figure { value, unit, interval: None }
    }

    /// The value and the interval of `estimate`, without its samples.
    pub fn estimated(estimate: &Estimate, unit: Unit) -> Self {
        Figure { value: estimate.value, unit, interval: estimate.interval }
    }

    /// A ratio.
    pub fn ratio(value: f64) -> Self {
        Figure::exact(value, Unit::Ratio)
    }

    /// A part of 1.
    pub fn share(value: f64) -> Self {
        Figure::exact(value, Unit::Share)
    }

    /// Seconds.
    pub fn seconds(value: f64) -> Self {
        Figure::exact(value, Unit::Seconds)
    }

    /// Bytes.
    pub fn bytes(value: f64) -> Self {
        Figure::exact(value, Unit::Bytes)
    }

    /// A count.
    pub fn count(value: impl TryInto<u64>) -> Self {
        Figure::exact(value.try_into().unwrap_or(u64::MAX) as f64, Unit::Count)
    }
}

impl From<&Estimate> for Figure {
    /// The ratio that was estimated.
    fn from(estimate: &Estimate) -> Self {
        Figure::estimated(estimate, Unit::Ratio)
    }
}

impl From<Figure> for StatementValue {
    fn from(figure: Figure) -> Self {
        StatementValue::Figure(figure)
    }
}

impl From<&Estimate> for StatementValue {
    /// The ratio that was estimated.
    fn from(estimate: &Estimate) -> Self {
        StatementValue::Figure(estimate.into())
    }
}

impl From<Statement> for StatementValue {
    fn from(statement: Statement) -> Self {
        StatementValue::Phrase(statement)
    }
}

impl From<&str> for StatementValue {
    fn from(name: &str) -> Self {
        StatementValue::Name(name.to_owned())
    }
}

impl From<String> for StatementValue {
    fn from(name: String) -> Self {
        StatementValue::Name(name)
    }
}

impl<V: Into<StatementValue>> From<Vec<V>> for StatementValue {
    fn from(values: Vec<V>) -> Self {
        StatementValue::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<Statement> for StoredStatement {
    fn from(statement: Statement) -> Self {
        StoredStatement::Statement(statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_read_back_as_written() {
        let floor = Figure { interval: Some([0.1, 0.2]), ..Figure::share(0.15) };
        let statement = Statement::new("sample")
            .with("what", Statement::new("subject").with("spec", "zstd:3"))
            .with("floor", floor)
            .with("missing", vec!["zstd:5", "zstd:7"]);
        let text = serde_json::to_string(&statement).unwrap();
        assert_eq!(serde_json::from_str::<Statement>(&text).unwrap(), statement, "{text}");
        let old: StoredStatement = serde_json::from_str("\"A sentence.\"").unwrap();
        assert_eq!(old, StoredStatement::Text("A sentence.".to_owned()));
        let new: StoredStatement = serde_json::from_str(&text).unwrap();
        assert_eq!(new, StoredStatement::Statement(statement));
    }
}
