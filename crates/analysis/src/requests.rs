//! Runs that answer many requests: how long each takes, and what maintenance writes.

use std::time::Duration;

use repackbench_records::{Record, RequestPercentiles, WrittenBytes};

use crate::percentile;

/// The elapsed time of the requests of all `runs`; `None` if they have none.
pub(crate) fn percentiles(runs: &[&Record]) -> Option<RequestPercentiles> {
    let requests = runs.iter().filter_map(|run| run.requests.as_ref());
    let mut times: Vec<u64> = requests.flat_map(|requests| requests.elapsed_ns.iter().copied()).collect();
    let mut of = |share| percentile(&mut times, share).map(Duration::from_nanos);
    let (median, p90, p99) = (of(0.5)?, of(0.9)?, of(0.99)?);
    Some(RequestPercentiles { count: times.len(), median, p90, p99 })
}

/// What a run wrote into the store.
pub(crate) fn written(run: &Record) -> Option<WrittenBytes> {
    let count = |name| run.extra.get(name).copied();
    let (day, pushed) = (count(WrittenBytes::DAY), count(WrittenBytes::PUSHED));
    Some(WrittenBytes { run: count(WrittenBytes::RUN)?, day, pushed, sent: count(WrittenBytes::SENT) })
}

#[cfg(test)]
mod tests {
    use repackbench_records::{RequestTimes, Role, fixtures::record};

    use super::*;

    #[test]
    fn percentiles_are_over_the_requests_of_all_runs() {
        let run = |elapsed_ns: Vec<u64>| {
            let requests = Some(RequestTimes { elapsed_ns, drawn: Vec::new() });
            Record { requests, ..record("web:file", Role::Baseline, 1, 0, 1) }
        };
        let runs = [run((1..=150).collect()), run((151..=200).rev().collect())];
        let nanos = Duration::from_nanos;
        let expected = RequestPercentiles { count: 200, median: nanos(100), p90: nanos(180), p99: nanos(198) };
        assert_eq!(percentiles(&runs.iter().collect::<Vec<_>>()), Some(expected));
        let one = RequestPercentiles { count: 1, median: nanos(7), p90: nanos(7), p99: nanos(7) };
        assert_eq!(percentiles(&[&run(vec![7])]), Some(one));
        assert_eq!(percentiles(&[&run(Vec::new()), &record("fsck", Role::Baseline, 1, 0, 1)]), None);
    }

    #[test]
    fn only_maintenance_writes() {
        let mut run = record("repack:cruft", Role::Baseline, 1, 0, 1);
        assert_eq!(written(&run), None);
        run.extra.insert(WrittenBytes::RUN.to_owned(), 30);
        assert_eq!(written(&run), Some(WrittenBytes { run: 30, day: None, pushed: None, sent: None }));
        run.extra.insert(WrittenBytes::DAY.to_owned(), 3);
        run.extra.insert(WrittenBytes::PUSHED.to_owned(), 15);
        run.extra.insert(WrittenBytes::SENT.to_owned(), 28);
        assert_eq!(written(&run), Some(WrittenBytes { run: 30, day: Some(3), pushed: Some(15), sent: Some(28) }));
    }
}
