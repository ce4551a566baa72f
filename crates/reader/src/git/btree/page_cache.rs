//! A cache of the pages of a B-tree file. It is small and has a fixed size, the same for every variant.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::layout::{PAGE_BYTES, PAGE_LEN};

/// Number of places in which a page may be cached.
const WAYS: usize = 4;
/// Number of such sets of places.
const SETS: usize = 512;

/// A cache of 2048 pages, 8 MiB.
pub(super) struct PageCache {
    places: Vec<CacheSlot>,
    bytes: Vec<u8>,
    clock: u64,
}

#[derive(Debug, Clone, Copy)]
struct CacheSlot {
    page: u64,
    /// When it was last used; 0 if it is empty.
    used: u64,
}

impl PageCache {
    const EMPTY: CacheSlot = CacheSlot { page: 0, used: 0 };

    pub(super) fn new() -> Self {
        PageCache { places: vec![Self::EMPTY; WAYS * SETS], bytes: vec![0; WAYS * SETS * PAGE_LEN], clock: 0 }
    }

    /// Removes all pages.
    pub(super) fn clear(&mut self) {
        self.places.fill(Self::EMPTY);
        self.clock = 0;
    }

    /// The page `number` of `file`, and whether it had to be read.
    pub(super) fn page(&mut self, file: &File, number: u64) -> io::Result<(&[u8], bool)> {
        self.clock += 1;
        let set = usize::try_from(number % SETS as u64).unwrap_or(0) * WAYS;
        let places = self.places.get_mut(set..set + WAYS).unwrap_or_default();
        let is_known = |place: &CacheSlot| place.page == number && place.used != 0;
        let known = places.iter().position(is_known);
        let oldest = || places.iter().enumerate().min_by_key(|(_, place)| place.used).map_or(0, |(way, _)| way);
        let way = known.unwrap_or_else(oldest);
        let start = (set + way) * PAGE_LEN;
        let bytes = self.bytes.get_mut(start..start + PAGE_LEN).unwrap_or_default();
        let Some(place) = places.get_mut(way) else { return Err(io::ErrorKind::OutOfMemory.into()) };
        if known.is_none() {
            *place = Self::EMPTY;
            file.read_exact_at(bytes, number.saturating_mul(PAGE_BYTES))?;
        }
        *place = CacheSlot { page: number, used: self.clock };
        Ok((bytes, known.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_page_is_evicted() {
        let file = tempfile::tempfile().unwrap();
        let sets = SETS as u64;
        for number in 0..6 * sets {
            file.write_all_at(&number.to_le_bytes(), number * PAGE_BYTES).unwrap();
        }
        file.set_len(6 * sets * PAGE_BYTES).unwrap();
        let mut cache = PageCache::new();
        let read = |cache: &mut PageCache, number: u64| {
            let (bytes, was_read) = cache.page(&file, number).unwrap();
            assert_eq!(bytes[..8], number.to_le_bytes());
            was_read
        };
        // All pages are in one set, which has room for four.
        let page = |number: u64| 3 + number * sets;
        assert!((0..4).all(|number| read(&mut cache, page(number))));
        assert!((0..4).all(|number| !read(&mut cache, page(number))));
        assert!(!read(&mut cache, page(0)));
        assert!(read(&mut cache, page(4)), "replaces page 1");
        assert!(!read(&mut cache, page(0)));
        assert!(read(&mut cache, page(1)));
        cache.clear();
        assert!(read(&mut cache, page(0)));
        let end = cache.page(&file, 6 * sets).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert!(cache.page(&file, 6 * sets).is_err(), "a page that could not be read is not cached");
    }
}
