//! The access map: where in its files a workload reads, and when, coarse enough to be drawn.

use std::collections::BTreeMap;

use repackbench_reader::{AccessTrace, FileRole};
use repackbench_records::{AccessMap, MapCell};

use super::pages::{PageSpace, role_name};

/// The columns of a map. With [`ROWS`], enough for a picture and few enough for a line of JSON.
const COLUMNS: u64 = 128;

/// The rows of a map.
const ROWS: u64 = 80;

/// A map for each role of the files of `trace`.
pub fn access_maps(trace: &AccessTrace) -> Vec<AccessMap> {
    let space = PageSpace::new(trace);
    let mut pages_of_role: BTreeMap<FileRole, u64> = BTreeMap::new();
    // Where each file's pages begin among those of its role.
    let mut starts = Vec::with_capacity(space.files().len());
    for file in space.files() {
        let pages = pages_of_role.entry(file.role).or_default();
        starts.push(*pages);
        *pages += file.pages.len() as u64;
    }
    let mut touches = 0_u64;
    space.for_each_touch(trace, |_, _| touches += 1);
    let mut maps: BTreeMap<FileRole, BTreeMap<(u32, u32), u64>> = BTreeMap::new();
    let mut number = 0;
    space.for_each_touch(trace, |file, page| {
        let column = part_of(number, touches, COLUMNS);
        number += 1;
        let (Some(extent), Some(start)) = (space.files().get(file), starts.get(file)) else { return };
        let pages = pages_of_role.get(&extent.role).copied().unwrap_or_default();
        let row = part_of(start + (page - extent.pages.start) as u64, pages, ROWS);
        *maps.entry(extent.role).or_default().entry((column, row)).or_default() += 1;
    });
    let map = |(role, pages): (&FileRole, &u64)| AccessMap {
        role: role_name(*role).to_owned(),
        pages: *pages,
        touches,
        columns: COLUMNS as u32,
        rows: ROWS as u32,
        cells: maps
            .remove(role)
            .unwrap_or_default()
            .into_iter()
            .map(|((column, row), touches)| MapCell { column, row, touches })
            .collect(),
    };
    pages_of_role.iter().map(map).collect()
}

/// The part that item `at` of `whole` items is in, if they are divided into `parts` equal parts.
fn part_of(at: u64, whole: u64, parts: u64) -> u32 {
    let part = u128::from(at) * u128::from(parts) / u128::from(whole.max(1));
    u32::try_from(part.min(u128::from(parts - 1))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{
        pages::PAGE_LEN,
        tests::{chunk, trace},
    };

    #[test]
    fn touches_count_in_the_cell_of_order_and_place() {
        // 160 pages of packs, 2 to a row: the second file begins in row 40.
        let accesses =
            vec![chunk(0, 0, 1), chunk(0, 3 * PAGE_LEN, 1), chunk(1, 0, 1), chunk(1, 79 * PAGE_LEN, PAGE_LEN)];
        let maps = access_maps(&trace(&[80 * PAGE_LEN, 80 * PAGE_LEN], accesses));
        let [pack] = maps.as_slice() else { panic!("{maps:?}") };
        assert_eq!((&*pack.role, pack.pages, pack.touches, pack.columns, pack.rows), ("pack", 160, 4, 128, 80));
        assert_eq!(pack.cells, [(0, 0, 1), (32, 1, 1), (64, 40, 1), (96, 79, 1)].map(MapCell::from));
    }

    #[test]
    fn touches_of_one_cell_are_added_up() {
        let accesses = (0..256).map(|number| chunk(0, number % 2 * PAGE_LEN, 1)).collect();
        let maps = access_maps(&trace(&[2 * PAGE_LEN], accesses));
        let cells = &maps[0].cells;
        assert_eq!(cells.len(), 256);
        assert_eq!([cells[0], cells[1], cells[255]], [(0, 0, 1), (0, 40, 1), (127, 40, 1)].map(MapCell::from));
        assert_eq!(cells.iter().map(|cell| cell.touches).sum::<u64>(), 256);
    }
}
