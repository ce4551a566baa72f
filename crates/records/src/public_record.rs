//! What a record must say before it is published, and what it must not.

use std::fmt;

use serde_json::Value;

use crate::{Host, RepositoryState, ResultLine, write_result};

/// A record that is not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRecord {
    /// The field, as in `host.cores`.
    pub field: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl fmt::Display for RefusedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

impl std::error::Error for RefusedRecord {}

/// The name of the repository that a record is about; `None` for a record about none.
pub fn repository_of(line: &ResultLine) -> Option<&str> {
    match line {
        ResultLine::Run(run) => Some(&run.repository.name),
        ResultLine::Estimate(estimate) => Some(&estimate.repository.name),
        ResultLine::FleetTry(event) => Some(&event.name),
        ResultLine::Fleet(end) => Some(&end.name),
        _ => None,
    }
}

/// Checks that `line` says on which machine, by which version and on which commit it was measured, and that it names no
/// path of that machine. Only what `fleet` writes can be published.
///
/// # Errors
/// The first field that is missing or has a path.
pub fn check_public(line: &ResultLine) -> Result<(), RefusedRecord> {
    match line {
        ResultLine::Run(run) => {
            version(&run.program_version)?;
            host(Some(&run.host))?;
            commit(&run.repository)?;
        }
        ResultLine::Estimate(estimate) => {
            version(&estimate.program_version)?;
            host(estimate.host.as_ref())?;
            commit(&estimate.repository)?;
        }
        ResultLine::FleetRun(run) => {
            version(&run.program_version)?;
            host(Some(&run.host))?;
        }
        ResultLine::FleetTry(event) => version(&event.program_version)?,
        ResultLine::Fleet(end) => version(&end.program_version)?,
        _ => return Err(refused("record", "a kind of record that `fleet` does not write")),
    }
    no_path(line)
}

fn refused(field: impl Into<String>, why: &'static str) -> RefusedRecord {
    RefusedRecord { field: field.into(), why }
}

fn version(version: &str) -> Result<(), RefusedRecord> {
    if version.is_empty() { Err(refused("program_version", "the version of the program is missing")) } else { Ok(()) }
}

/// A machine is known by its cores and its processor or kernel: not every kernel gives the name of the processor.
fn host(host: Option<&Host>) -> Result<(), RefusedRecord> {
    let host = host.ok_or_else(|| refused("host", "the machine is missing"))?;
    if host.cores.is_none() {
        return Err(refused("host.cores", "the machine's number of cores is missing"));
    }
    if host.cpu_model.is_none() && host.kernel.is_none() {
        return Err(refused("host.cpu_model", "the machine's processor is missing"));
    }
    Ok(())
}

fn commit(repository: &RepositoryState) -> Result<(), RefusedRecord> {
    match &repository.tip {
        Some(tip) if !tip.is_empty() => Ok(()),
        _ => Err(refused("repository.tip", "the commit is missing")),
    }
}

/// Fails if any text in `line` has an absolute path in it.
fn no_path(line: &ResultLine) -> Result<(), RefusedRecord> {
    let mut text = Vec::new();
    let value = write_result(&mut text, line).ok().and_then(|()| serde_json::from_slice::<Value>(&text).ok());
    let found = value.and_then(|value| field_with_path(&value));
    found.map_or(Ok(()), |field| Err(refused(field, "it names a path of the machine; use relative paths")))
}

/// The name of the first field below `value` with an absolute path.
fn field_with_path(value: &Value) -> Option<String> {
    let below = |name: &str, value: &Value| {
        let field = field_with_path(value)?;
        Some(if field.is_empty() { name.to_owned() } else { format!("{name}.{field}") })
    };
    match value {
        Value::String(text) => has_path(text).then(String::new),
        Value::Array(values) => values.iter().enumerate().find_map(|(at, value)| below(&at.to_string(), value)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| below(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Whether a word of `text` is an absolute path, or one below a user's home. Addresses are none.
fn has_path(text: &str) -> bool {
    let separates = |character: char| character.is_whitespace() || "='\"`:,(".contains(character);
    let is_path = |word: &str| word.starts_with("~/") || (word.starts_with('/') && !word.starts_with("//"));
    text.split(separates).any(|word| is_path(word) && word.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FleetEnd, FleetRecord, FleetRun, FleetTry, FleetTryEvent, Record, SCHEMA_VERSION, fixtures};

    fn known_host() -> Host {
        Host { cores: Some(2), cpu_model: Some("CPU".into()), ..Host::default() }
    }

    fn run() -> Record {
        let mut run = fixtures::record("traverse", crate::Role::Baseline, 1, 0, 1);
        run.host = known_host();
        run.repository.tip = Some("0123".into());
        run
    }

    fn field(line: ResultLine) -> Option<String> {
        check_public(&line).err().map(|refused| refused.field)
    }

    fn changed(change: impl Fn(&mut Record)) -> Option<String> {
        let mut run = run();
        change(&mut run);
        field(ResultLine::Run(Box::new(run)))
    }

    #[test]
    fn records_without_machine_version_or_commit_are_refused() {
        assert_eq!(changed(|_| ()), None);
        assert_eq!(changed(|run| run.program_version.clear()).as_deref(), Some("program_version"));
        assert_eq!(changed(|run| run.host = Host::default()).as_deref(), Some("host.cores"));
        assert_eq!(changed(|run| run.host.cpu_model = None).as_deref(), Some("host.cpu_model"));
        assert_eq!(changed(|run| run.repository.tip = None).as_deref(), Some("repository.tip"));
        assert_eq!(changed(|run| run.repository.tip = Some(String::new())).as_deref(), Some("repository.tip"));
        let fleet = FleetRun {
            schema: SCHEMA_VERSION,
            program_version: "1".into(),
            command: None,
            host: known_host(),
            settings: String::new(),
            shard: 1,
            shards: 1,
            repositories: 1,
        };
        assert_eq!(field(ResultLine::FleetRun(Box::new(fleet.clone()))), None);
        let unknown = FleetRun { host: Host::default(), ..fleet };
        assert_eq!(field(ResultLine::FleetRun(Box::new(unknown))).as_deref(), Some("host.cores"));
    }

    #[test]
    fn absolute_paths_are_refused_wherever_they_are() {
        let command = |command: &str| changed(|run| run.command = Some(command.to_owned()));
        assert_eq!(command("repackbench bench --git git sharkdp/fd"), None);
        assert_eq!(command("repackbench bench https://example.org/fd 1/3"), None);
        for private in
            ["repackbench bench /srv/fd", "repackbench bench --git=/usr/bin/git fd", "bench '/a b'", "b ~/fd"]
        {
            assert_eq!(command(private).as_deref(), Some("command"), "{private}");
        }
        let end = |path: &str, message: &str| {
            field(ResultLine::Fleet(Box::new(FleetRecord {
                schema: SCHEMA_VERSION,
                program_version: "1".into(),
                name: "fd".into(),
                path: path.into(),
                seconds: 1.0,
                end: FleetEnd::Failed { message: message.into() },
            })))
        };
        let begun = |name: &str| {
            field(ResultLine::FleetTry(Box::new(FleetTry {
                schema: SCHEMA_VERSION,
                program_version: "1".into(),
                name: name.into(),
                event: FleetTryEvent::Begun,
            })))
        };
        assert_eq!(begun("sharkdp/fd"), None);
        assert_eq!(begun("/srv/fd").as_deref(), Some("name"));
        assert_eq!(end("sharkdp/fd", "no HEAD"), None);
        assert_eq!(end("/srv/fd", "no HEAD").as_deref(), Some("path"));
        assert_eq!(end("sharkdp/fd", "cannot read /srv/fd: no HEAD").as_deref(), Some("end.message"));
    }
}
