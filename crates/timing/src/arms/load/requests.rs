//! The requests of clients, drawn by seed: the same ones in every arm.

use rand::{Rng, SeedableRng, rngs::SmallRng, seq::SliceRandom};
use repackbench_records::{LoadExchange, LoadRequest};

/// The numbers of commits that are fetched, by first parents.
const AGES: [u32; 3] = [1, 10, 100];

/// What a fetch wants is one of this many newest commits by first parents. git makes a bitmap for each of the newest
/// hundred commits, so that a server has one for each of them.
const WANTS: u32 = 4;

/// How many commits the draw needs.
pub(super) const COMMITS: u32 = AGES[2] + WANTS;

/// The order of requests is drawn for this many, and then repeats.
const DRAWN: usize = 3000;

/// The different requests, and the order in which clients send them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requests {
    /// The clone, and then the fetches, by age.
    pub(super) all: Vec<LoadRequest>,
    /// The numbers of fetches in the order of the draw.
    fetches: Vec<usize>,
}

impl Requests {
    /// Draws fetches among `commits`, the newest commits by first parents. Each age comes once in every three requests,
    /// so that an arm that serves fewer requests has the same mix. Ages that reach further than `commits` are left out.
    pub(super) fn draw(commits: &[String], seed: u64) -> Self {
        let mut all = vec![LoadRequest { exchange: LoadExchange::Clone, age: None, want: None, have: None }];
        let mut of_ages = Vec::new();
        for age in AGES {
            let first = all.len();
            all.extend((0..WANTS).filter_map(|newer| fetch(commits, newer, age)));
            of_ages.extend((first < all.len()).then_some(first..all.len()));
        }
        let mut random = SmallRng::seed_from_u64(seed);
        let mut fetches = Vec::with_capacity(DRAWN);
        while fetches.len() < DRAWN && !of_ages.is_empty() {
            of_ages.shuffle(&mut random);
            fetches.extend(of_ages.iter().map(|numbers| random.random_range(numbers.clone())));
        }
        Requests { all, fetches }
    }

    /// The number of the `at`th request of `exchange`.
    pub(super) fn number(&self, exchange: LoadExchange, at: usize) -> usize {
        match exchange {
            LoadExchange::Clone => 0,
            LoadExchange::Fetch => {
                at.checked_rem(self.fetches.len()).and_then(|at| self.fetches.get(at)).copied().unwrap_or_default()
            }
        }
    }

    /// What clients can ask for.
    pub(super) fn exchanges(&self) -> Vec<LoadExchange> {
        let fetch = (!self.fetches.is_empty()).then_some(LoadExchange::Fetch);
        [LoadExchange::Clone].into_iter().chain(fetch).collect()
    }
}

/// The fetch of the `newer`th newest commit by a client that has the one `age` commits before it.
fn fetch(commits: &[String], newer: u32, age: u32) -> Option<LoadRequest> {
    let commit = |at: u32| commits.get(usize::try_from(at).ok()?).cloned();
    let (want, have) = (commit(newer)?, commit(newer + age)?);
    Some(LoadRequest { exchange: LoadExchange::Fetch, age: Some(age), want: Some(want), have: Some(have) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(count: u32) -> Vec<String> {
        (0..count).map(|number| format!("{number:040}")).collect()
    }

    fn ages(requests: &Requests, from: usize, count: usize) -> Vec<u32> {
        let number = |at| requests.number(LoadExchange::Fetch, at);
        (from..from + count).filter_map(|at| requests.all[number(at)].age).collect()
    }

    #[test]
    fn draw_depends_on_the_seed_alone() {
        let commits = commits(COMMITS);
        let drawn = Requests::draw(&commits, 7);
        assert_eq!(drawn, Requests::draw(&commits, 7));
        assert_ne!(drawn.fetches, Requests::draw(&commits, 8).fetches);
        assert_eq!(drawn.all.len(), 1 + 3 * 4);
        assert!((1..drawn.all.len()).all(|number| drawn.fetches.contains(&number)), "each is drawn");
        assert_eq!(drawn.number(LoadExchange::Clone, 5), 0);
        assert_eq!(drawn.number(LoadExchange::Fetch, 5 + drawn.fetches.len()), drawn.fetches[5], "it repeats");
    }

    #[test]
    fn every_three_requests_have_every_age() {
        let drawn = Requests::draw(&commits(COMMITS), 1);
        let mut orders = Vec::new();
        for cycle in 0..DRAWN / 3 {
            let mut ages = ages(&drawn, 3 * cycle, 3);
            orders.push(ages.clone());
            ages.sort_unstable();
            assert_eq!(ages, AGES);
        }
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), 6, "in every order");
    }

    #[test]
    fn fetches_are_as_old_as_they_say() {
        let drawn = Requests::draw(&commits(COMMITS), 1);
        for request in &drawn.all[1..] {
            let place = |commit: &Option<String>| commit.as_ref().unwrap().parse::<u32>().unwrap();
            assert_eq!(place(&request.have) - place(&request.want), request.age.unwrap());
            assert!(place(&request.want) < WANTS);
        }
    }

    #[test]
    fn short_histories_have_fewer_ages() {
        let drawn = Requests::draw(&commits(12), 1);
        assert_eq!(drawn.all.iter().filter_map(|request| request.age).collect::<Vec<_>>(), [1, 1, 1, 1, 10, 10]);
        assert_eq!(drawn.exchanges(), [LoadExchange::Clone, LoadExchange::Fetch]);
        let single = Requests::draw(&commits(1), 1);
        assert_eq!((single.exchanges(), single.number(LoadExchange::Fetch, 9)), (vec![LoadExchange::Clone], 0));
    }
}
