//! A page cache, unlimited or with eviction of the least recently used page.

/// No page.
const NONE: usize = usize::MAX;

/// The cached pages out of a fixed number of pages.
#[derive(Debug)]
pub struct PageCache {
    /// The neighbours of each page in the order of use; `None` if it is not cached.
    links: Vec<Option<Links>>,
    capacity: usize,
    cached: usize,
    newest: usize,
    oldest: usize,
}

#[derive(Debug, Clone, Copy)]
struct Links {
    newer: usize,
    older: usize,
}

impl PageCache {
    /// An empty cache for at most `capacity` of `pages` pages, but at least one.
    pub fn new(pages: usize, capacity: usize) -> Self {
        PageCache { links: vec![None; pages], capacity: capacity.max(1), cached: 0, newest: NONE, oldest: NONE }
    }

    /// Whether `page` is cached.
    pub fn holds(&self, page: usize) -> bool {
        self.links.get(page).is_some_and(Option::is_some)
    }

    /// Marks `page` as the most recently used; `false` if it is not cached.
    pub fn touch(&mut self, page: usize) -> bool {
        if !self.holds(page) {
            return false;
        }
        if page != self.newest {
            self.unlink(page);
            self.link_newest(page);
        }
        true
    }

    /// Inserts `page` as the most recently used. If the cache is full, evicts the least recently used page.
    pub fn put(&mut self, page: usize) {
        if self.touch(page) || page >= self.links.len() {
            return;
        }
        if self.cached >= self.capacity {
            self.unlink(self.oldest);
            self.cached -= 1;
        }
        self.cached += 1;
        self.link_newest(page);
    }

    fn set(&mut self, page: usize, change: impl FnOnce(&mut Links)) {
        if let Some(Some(links)) = self.links.get_mut(page) {
            change(links);
        }
    }

    fn unlink(&mut self, page: usize) {
        let Some(Links { newer, older }) = self.links.get_mut(page).and_then(Option::take) else { return };
        if newer == NONE {
            self.newest = older;
        }
        if older == NONE {
            self.oldest = newer;
        }
        self.set(newer, |links| links.older = older);
        self.set(older, |links| links.newer = newer);
    }

    fn link_newest(&mut self, page: usize) {
        let older = std::mem::replace(&mut self.newest, page);
        if let Some(links) = self.links.get_mut(page) {
            *links = Some(Links { newer: NONE, older });
        }
        self.set(older, |links| links.newer = page);
        if older == NONE {
            self.oldest = page;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn least_recently_used_pages_are_evicted_first() {
        let mut cache = PageCache::new(10, 3);
        (0..3).for_each(|page| cache.put(page));
        assert!(cache.touch(0));
        cache.put(3);
        let held: Vec<usize> = (0..10).filter(|page| cache.holds(*page)).collect();
        assert_eq!(held, [0, 2, 3]);
        assert!(!cache.touch(1));
    }

    proptest! {
        /// A reference implementation with linear search.
        #[test]
        fn it_holds_what_a_plain_list_would(capacity in 1usize..6, used: Vec<(u8, bool)>) {
            let mut cache = PageCache::new(16, capacity);
            let mut list: VecDeque<usize> = VecDeque::new();
            for (page, puts) in used {
                let page = usize::from(page % 16);
                let known = list.iter().position(|held| *held == page);
                if let Some(at) = known {
                    list.remove(at);
                }
                if puts || known.is_some() {
                    list.push_back(page);
                }
                if puts { cache.put(page) } else { prop_assert_eq!(cache.touch(page), known.is_some()) }
                if list.len() > capacity {
                    list.pop_front();
                }
                for page in 0..16 {
                    prop_assert_eq!(cache.holds(page), list.contains(&page));
                }
            }
        }
    }
}
