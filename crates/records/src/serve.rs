//! The cost of a server while clients upgrade to another codec one by one.

use serde::{Deserialize, Serialize};

use crate::{Host, SpecText, Vcs};

/// The cost of serving the same objects from each store to each kind of client, and what follows for a mix of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// Version of this form.
    pub schema: u32,
    /// The program's version.
    pub program_version: String,
    /// The machine.
    pub host: Host,
    /// The repository, as typed.
    pub repository: String,
    /// Its version-control system; `None` in older files.
    #[serde(default)]
    pub vcs: Option<Vcs>,
    /// The codec that clients upgrade to.
    pub spec: SpecText,
    /// The number of commits that are fetched; `None` for a clone.
    pub commits: Option<u64>,
    /// The revision that they are counted from.
    pub revision: String,
    /// The seed of the order of runs.
    pub seed: u64,
    /// The measured exchanges.
    pub exchanges: Vec<ServedExchange>,
    /// The resulting cost for each share of upgraded clients.
    pub steps: Vec<RolloutStep>,
}

/// The version of [`Rollout`]'s form.
pub const ROLLOUT_SCHEMA_VERSION: u32 = 1;

/// How the entries of a server's packs are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerStore {
    /// All under zlib: before the upgrade.
    Zlib,
    /// All under the codec.
    Converted,
    /// Every second entry, in Mercurial every second revlog, under the codec, the others under zlib.
    Mixed,
}

/// The formats that a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServedClient {
    /// Only zlib.
    Old,
    /// The codec, and zlib.
    Upgraded,
}

/// One kind of exchange, measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServedExchange {
    /// What the server holds.
    pub store: ServerStore,
    /// The client.
    pub client: ServedClient,
    /// Objects that were sent.
    pub entries: u64,
    /// Those whose stored bytes were sent unchanged.
    pub reused: u64,
    /// Those that were encoded again.
    pub encoded: u64,
    /// The length of the pack and of the dictionaries sent with it.
    pub wire_bytes: u64,
    /// The length of those dictionaries.
    pub dictionary_bytes: u64,
    /// CPU time of each run, user and system, in nanoseconds.
    pub cpu_ns: Vec<u64>,
    /// Their median.
    pub median_cpu_ns: u64,
}

/// The mean cost of a client while some are upgraded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RolloutStep {
    /// The share of upgraded clients, in percent.
    pub upgraded_percent: u32,
    /// What the server holds.
    pub store: ServerStore,
    /// The server's CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes on the wire.
    pub wire_bytes: u64,
}

impl Rollout {
    /// The measured exchange of `store` with `client`.
    pub fn exchange(&self, store: ServerStore, client: ServedClient) -> Option<&ServedExchange> {
        self.exchanges.iter().find(|exchange| exchange.store == store && exchange.client == client)
    }

    /// The steps from 0 to 100 percent for the stores that serve both kinds of clients.
    pub fn steps_of(exchanges: &[ServedExchange]) -> Vec<RolloutStep> {
        let find = |store, client| exchanges.iter().find(|found| found.store == store && found.client == client);
        let mut steps = Vec::new();
        for store in [ServerStore::Converted, ServerStore::Mixed] {
            let both = find(store, ServedClient::Old).zip(find(store, ServedClient::Upgraded));
            let Some((old, upgraded)) = both else { continue };
            for upgraded_percent in (0..=100).step_by(10) {
                let mean = |old: u64, upgraded: u64| {
                    let share = u128::from(upgraded_percent);
                    let sum = u128::from(old) * (100 - share) + u128::from(upgraded) * share;
                    u64::try_from((sum + 50) / 100).unwrap_or(u64::MAX)
                };
                steps.push(RolloutStep {
                    upgraded_percent,
                    store,
                    cpu_ns: mean(old.median_cpu_ns, upgraded.median_cpu_ns),
                    wire_bytes: mean(old.wire_bytes, upgraded.wire_bytes),
                });
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(store: ServerStore, client: ServedClient, cpu: u64, wire_bytes: u64) -> ServedExchange {
        ServedExchange {
            store,
            client,
            entries: 2,
            reused: 1,
            encoded: 1,
            wire_bytes,
            dictionary_bytes: 0,
            cpu_ns: vec![cpu],
            median_cpu_ns: cpu,
        }
    }

    #[test]
    fn costs_are_weighted_means_of_both_kinds_of_clients() {
        let exchanges = [
            exchange(ServerStore::Zlib, ServedClient::Old, 10, 1000),
            exchange(ServerStore::Converted, ServedClient::Old, 1000, 1000),
            exchange(ServerStore::Converted, ServedClient::Upgraded, 10, 901),
        ];
        let steps = Rollout::steps_of(&exchanges);
        assert_eq!(steps.len(), 11, "the mixed store was not measured");
        let figures: Vec<_> = steps.iter().map(|step| (step.upgraded_percent, step.cpu_ns, step.wire_bytes)).collect();
        assert_eq!(figures[0], (0, 1000, 1000));
        assert_eq!(figures[1], (10, 901, 990));
        assert_eq!(figures[5], (50, 505, 951));
        assert_eq!(figures[10], (100, 10, 901));
    }
}
