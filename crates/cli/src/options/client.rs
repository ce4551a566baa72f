//! Who runs the workloads of a benchmark: this program, or the user's own git or hg.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use repackbench_client::Zlib;
use repackbench_records::Vcs;
use repackbench_timing::{
    arms::stock::{Caches, NoStockWorkload, StockPlan, StockWorkload},
    workloads::WorkloadSpec,
};

use super::{ProgramArguments, meter};
use crate::failure::{Failure, USAGE};

/// Who runs the workloads.
#[derive(Debug, Args)]
pub(crate) struct ClientArguments {
    /// Who runs them.
    ///
    /// Workloads are run by this program or by your own git or hg: in-process, this program replays them; stock,
    /// commands of your own git or hg, unpatched, with a library preloaded into git, or the extension that
    /// --hg-extension names (see `exec`), and their CPU time is compared, for checkout that in user mode; both, one
    /// after the other in one session, with a table that compares them. Stock clients read the baseline without
    /// library and extension, and a row shows what those cost.
    #[arg(long, value_enum, value_name = "WHO", default_value_t = ClientChoice::InProcess, conflicts_with = "self_test")]
    #[arg(help_heading = super::WHAT)]
    client: ClientChoice,

    /// Also let stock git read the baseline with another zlib: stock, zlib-rs, libdeflate, or zlib-ng in builds that
    /// have it; several after commas, a row for each.
    #[arg(long = "zlib", value_enum, value_name = "NAME", value_delimiter = ',', help_heading = super::EXPERT)]
    zlibs: Vec<Implementation>,

    /// Caches of stock clients that do part of the work beforehand: off, none; forge, the commit-graph and bitmaps of
    /// git or all caches of hg, written into copies of the variants. Both, after a comma, are two workloads.
    #[arg(long, value_enum, value_name = "STATE", value_delimiter = ',', default_value = "off", help_heading = super::EXPERT)]
    caches: Vec<CachesChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClientChoice {
    InProcess,
    Stock,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CachesChoice {
    Off,
    Forge,
}

impl From<CachesChoice> for Caches {
    fn from(choice: CachesChoice) -> Self {
        match choice {
            CachesChoice::Off => Caches::Off,
            CachesChoice::Forge => Caches::Forge,
        }
    }
}

/// A workload of either client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BenchWorkload {
    /// A workload that this program replays.
    Replay(WorkloadSpec),
    /// A workload that only commands of git or hg run.
    Command(StockWorkload),
}

impl FromStr for BenchWorkload {
    type Err = NoStockWorkload;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(spec) => Ok(BenchWorkload::Replay(spec)),
            Err(_) => text.parse().map(BenchWorkload::Command),
        }
    }
}

/// Every implementation once, without that of git, which always has a row.
pub(crate) fn other_zlibs(typed: &[Implementation]) -> Vec<Zlib> {
    let mut zlibs = Vec::new();
    for zlib in typed.iter().filter(|zlib| **zlib != Implementation::Host) {
        if !zlibs.contains(&(*zlib).into()) {
            zlibs.push((*zlib).into());
        }
    }
    zlibs
}

impl ClientArguments {
    /// The workloads to replay and those that commands run, on a repository of `vcs`. `named` are those that the user
    /// names.
    pub(crate) fn plans(
        &self,
        named: &[BenchWorkload],
        vcs: Vcs,
        programs: &ProgramArguments,
    ) -> Result<(Vec<WorkloadSpec>, Option<StockPlan>), Failure> {
        let usage = |error: &dyn std::fmt::Display| Failure::new(USAGE, error);
        let replays = || -> Result<Vec<WorkloadSpec>, Failure> {
            let replay = |workload: &BenchWorkload| match workload {
                BenchWorkload::Replay(spec) => Ok(spec.clone()),
                BenchWorkload::Command(command) => {
                    Err(usage(&format!("{command}: only commands of stock git or hg can do that; use --client stock")))
                }
            };
            if named.is_empty() { Ok(WorkloadSpec::all()) } else { named.iter().map(replay).collect() }
        };
        let commands = || -> Result<Vec<StockWorkload>, Failure> {
            let command = |workload: &BenchWorkload| {
                let command = match workload {
                    BenchWorkload::Replay(spec) => {
                        StockWorkload::try_from(spec.clone()).map_err(|error| usage(&error))?
                    }
                    BenchWorkload::Command(command) => command.clone(),
                };
                if command.is_of(vcs) { Ok(command) } else { Err(usage(&NoStockWorkload::NotOf(command, vcs))) }
            };
            if named.is_empty() { Ok(StockWorkload::all(vcs)) } else { named.iter().map(command).collect() }
        };
        match self.client {
            ClientChoice::InProcess if !self.zlibs.is_empty() => {
                Err(usage(&"--zlib is for --client stock; --decoder lets another implementation read in-process"))
            }
            ClientChoice::InProcess => Ok((replays()?, None)),
            ClientChoice::Stock => Ok((Vec::new(), Some(self.stock(commands()?, programs)))),
            ClientChoice::Both => {
                // Only workloads that both clients have can be compared.
                let both: Vec<StockWorkload> = match named.is_empty() {
                    true => {
                        let all = StockWorkload::all(vcs).into_iter();
                        all.filter(|command| command.replay().is_some_and(|spec| WorkloadSpec::all().contains(spec)))
                            .collect()
                    }
                    false => commands()?,
                };
                let replayed = both.iter().filter_map(|workload| workload.replay().cloned()).collect();
                Ok((replayed, Some(self.stock(both, programs))))
            }
        }
    }

    fn stock(&self, workloads: Vec<StockWorkload>, programs: &ProgramArguments) -> StockPlan {
        let zlibs = other_zlibs(&self.zlibs);
        let mut caches: Vec<Caches> = Vec::new();
        for choice in &self.caches {
            if !caches.contains(&(*choice).into()) {
                caches.push((*choice).into());
            }
        }
        let ProgramArguments { git, hg, hg_extension } = programs;
        StockPlan {
            git: git.into(),
            hg: hg.into(),
            hg_extension: hg_extension.folder(),
            zlibs,
            features: Vec::new(),
            caches,
            workloads,
            meter: meter(),
        }
    }
}

/// The zlib that the preloaded library hands zlib streams to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Implementation {
    /// The zlib that git is linked with.
    Host,
    /// Stock zlib.
    Stock,
    /// zlib-rs, a zlib written in Rust.
    ZlibRs,
    /// zlib-ng, a faster zlib in C; only in builds with the feature zlib-ng, which need cmake.
    ZlibNg,
    /// libdeflate for streams that are read at once, otherwise the zlib that git is linked with.
    Libdeflate,
}

impl From<Implementation> for Zlib {
    fn from(implementation: Implementation) -> Self {
        match implementation {
            Implementation::Host => Zlib::Host,
            Implementation::Stock => Zlib::Stock,
            Implementation::ZlibRs => Zlib::ZlibRs,
            Implementation::ZlibNg => Zlib::ZlibNg,
            Implementation::Libdeflate => Zlib::Libdeflate,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        client: ClientArguments,
        #[command(flatten)]
        programs: ProgramArguments,
        #[arg(long)]
        self_test: bool,
    }

    fn plans(words: &[&str], named: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let line = Line::try_parse_from([&["bench"], words].concat()).map_err(|error| error.to_string())?;
        assert!(!line.self_test);
        let named: Vec<BenchWorkload> = named.iter().map(|name| name.parse().unwrap()).collect();
        let (replays, stock) =
            line.client.plans(&named, Vcs::Git, &line.programs).map_err(|failure| failure.to_string())?;
        let commands = stock.iter().flat_map(|stock| &stock.workloads).map(ToString::to_string).collect();
        Ok((replays.iter().map(ToString::to_string).collect(), commands))
    }

    #[test]
    fn each_client_has_its_workloads() {
        let (replays, commands) = plans(&[], &[]).unwrap();
        assert!(replays.contains(&"checkout:sink".to_owned()) && commands.is_empty());
        let (replays, commands) = plans(&["--client", "stock"], &[]).unwrap();
        assert!(replays.is_empty() && commands.contains(&"fsck".to_owned()));
        assert!(!commands.iter().any(|name| name.contains("repack") || name.contains("clone")));
        let (replays, commands) = plans(&["--client", "both"], &[]).unwrap();
        assert_eq!(replays, commands);
        assert_eq!(plans(&["--client", "both"], &["traverse", "fsck"]).unwrap().0, ["traverse"]);
    }

    #[test]
    fn rejects_workloads_that_a_client_lacks() {
        assert!(plans(&[], &["fsck"]).unwrap_err().starts_with("fsck: only commands"));
        let refused = plans(&["--client", "stock"], &["checkout:sink"]).unwrap_err();
        assert!(refused.starts_with("checkout:sink: git and hg have no command"), "{refused}");
        assert!(plans(&["--zlib", "zlib-rs"], &[]).unwrap_err().starts_with("--zlib is for"));
        assert!("nothing".parse::<BenchWorkload>().is_err());
    }
}
