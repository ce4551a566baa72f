//! In-process replays and the same jobs by a stock client.

use repackbench_records::{Client, ComparedTime, Role, VariantComparison, WorkloadComparison, WorkloadLabel};

/// The name in records of the zlib that a client is linked with.
const HOST_ZLIB: &str = "host";

/// One workload by a stock client, and its replay in-process.
#[derive(Debug, Clone, Copy)]
pub struct ClientPair<'a> {
    /// The replay.
    pub in_process: &'a WorkloadComparison,
    /// The stock client's job.
    pub stock: &'a WorkloadComparison,
}

/// Each workload that was both replayed and run by a stock client. All comparisons must be of one repository and
/// machine.
pub fn client_pairs<'a>(comparisons: &[&'a WorkloadComparison]) -> Vec<ClientPair<'a>> {
    let of_stock = |stock: &&'a WorkloadComparison| {
        stock.workload.client()?;
        let in_process = comparisons.iter().copied().find(|of| is_replay_of(of, stock))?;
        Some(ClientPair { in_process, stock })
    };
    comparisons.iter().filter_map(of_stock).collect()
}

fn is_replay_of(of: &WorkloadComparison, stock: &WorkloadComparison) -> bool {
    of.workload.client().is_none()
        && of.jobs == 1
        && (of.compared_time == ComparedTime::CpuWithoutWriting) == (stock.compared_time == ComparedTime::UserOfCommand)
        && of.workload.name == stock.workload.name
        && shared_parameters(&of.workload) == shared_parameters(&stock.workload)
}

/// The parameters that do not concern the client.
fn shared_parameters(workload: &WorkloadLabel) -> Vec<(&String, &String)> {
    let is_of_client = |name: &str| [WorkloadLabel::CLIENT, WorkloadLabel::CACHES].contains(&name);
    workload.parameters.iter().filter(|(name, _)| !is_of_client(name)).collect()
}

impl<'a> ClientPair<'a> {
    /// The row of the replay that reads the same files with the same codec as the stock client's `row`; `None` for a
    /// row with another zlib.
    pub fn replay_of(&self, row: &VariantComparison) -> Option<&'a VariantComparison> {
        let has_own_zlib = |client: &Client| client.zlib == HOST_ZLIB;
        let client = row.variant.client.as_ref().filter(|client| has_own_zlib(client))?;
        // The baseline's row with the library shows the cost of the library, which no replay has.
        let is_baseline_again = |of: &VariantComparison| of.variant.role == Role::Baseline && client.library;
        self.in_process.rows.iter().find(|of| {
            let (one, other) = (of.variant.identity(), row.variant.identity());
            (one.spec, one.deltas, one.decoder, one.delta_cache)
                == (other.spec, other.deltas, other.decoder, other.delta_cache)
                && !is_baseline_again(of)
                && (of.variant.role == Role::AsFound) == (row.variant.role == Role::AsFound)
        })
    }
}
