//! The JSON Schema of a record.

use crate::Record;

/// The JSON Schema (draft 2020-12) of one line of a file of records, made from the types themselves.
pub fn record_schema() -> serde_json::Value {
    schemars::schema_for!(Record).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that every property of `schema`, which may be a reference, has a description.
    fn check(root: &serde_json::Value, schema: &serde_json::Value) {
        let named = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        let schema = named.map_or(schema, |name| &root["$defs"][name]);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string() || property["$ref"].is_string(), "{name}: {property}");
        }
    }

    #[test]
    fn schema_describes_every_field() {
        let schema = record_schema();
        assert!(schema["$schema"].as_str().is_some_and(|url| url.contains("2020-12")), "{schema}");
        for name in ["schema", "host", "repository", "variant", "sample", "counts", "digest", "size"] {
            assert!(schema["properties"][name].is_object(), "{name}");
            assert!(schema["required"].as_array().is_some_and(|required| required.contains(&name.into())), "{name}");
        }
        check(&schema, &schema);
        for part in schema["$defs"].as_object().expect("the parts of a record").values() {
            check(&schema, part);
        }
    }
}
