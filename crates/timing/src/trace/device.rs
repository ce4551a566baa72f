//! The time of reading a trace from a cold device, by a model with three numbers.
//!
//! `docs/method.md` defines the model and lists its limits.

use std::{fmt, ops::Range, str::FromStr, time::Duration};

use repackbench_codec::parse_size;
use repackbench_reader::AccessTrace;
use repackbench_records::{DeviceRecord, ModelledCold, ModelledDevice, ModelledReads};

use super::{
    memory::PageCache,
    pages::{FileExtent, PAGE_LEN, PageSpace},
};

/// The default readahead of Linux, in bytes.
pub(crate) const COMMON_READAHEAD: u64 = 128 << 10;

/// A device in the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Its name for people.
    pub name: String,
    /// The time before the first byte of a read, unless the read continues where the last one ended.
    pub latency: Duration,
    /// Bytes a second after that.
    pub bytes_per_second: f64,
    /// Bytes that one read brings in; at least one page.
    pub readahead: u64,
}

impl Device {
    fn new(name: &str, latency: Duration, bytes_per_second: f64) -> Self {
        Device { name: name.to_owned(), latency, bytes_per_second, readahead: COMMON_READAHEAD }
    }

    /// A hard disk: 8 ms, 200 MB/s.
    pub fn hdd() -> Self {
        Device::new("hdd", Duration::from_millis(8), 200e6)
    }

    /// A SATA SSD: 0.1 ms, 550 MB/s.
    pub fn sata_ssd() -> Self {
        Device::new("sata-ssd", Duration::from_micros(100), 550e6)
    }

    /// An NVMe SSD: 0.02 ms, 7 GB/s.
    pub fn nvme() -> Self {
        Device::new("nvme", Duration::from_micros(20), 7e9)
    }

    /// The devices that are modelled by default.
    pub fn defaults() -> Vec<Device> {
        vec![Device::hdd(), Device::sata_ssd(), Device::nvme()]
    }

    /// The modelled cost of `trace`, with a page cache of `cache_pages` pages that starts empty.
    pub fn replay(&self, trace: &AccessTrace, cache_pages: usize) -> ModelledReads {
        let space = PageSpace::new(trace);
        let mut replay = self.replay_in(PageCache::new(space.len(), cache_pages));
        space.for_each_touch(trace, |file, page| {
            if !replay.cache.touch(page)
                && let Some(file) = space.files().get(file)
            {
                replay.miss(file, page);
            }
        });
        let bytes = replay.pages * PAGE_LEN;
        ModelledReads {
            device: self.to_record(),
            reads: replay.reads,
            seeks: replay.seeks,
            bytes,
            time: self.time_of(replay.seeks, replay.pages),
        }
    }

    /// The modelled time of each first touch of a page, with a page cache that starts empty and keeps everything, in
    /// the order of [`PageSpace::first_touches`]; zero if the page came with an earlier one.
    pub fn first_touches(&self, trace: &AccessTrace) -> Vec<Duration> {
        let space = PageSpace::new(trace);
        let mut replay = self.replay_in(PageCache::new(space.len(), usize::MAX));
        let mut cost = |(file, page)| {
            let (seeks, pages) = (replay.seeks, replay.pages);
            if !replay.cache.touch(page)
                && let Some(file) = space.files().get(file)
            {
                replay.miss(file, page);
            }
            self.time_of(replay.seeks - seeks, replay.pages - pages)
        };
        space.first_touches(trace).into_iter().map(&mut cost).collect()
    }

    fn replay_in(&self, cache: PageCache) -> Replay {
        let window = usize::try_from(self.readahead / PAGE_LEN).unwrap_or(usize::MAX).max(1);
        Replay { cache, window, head: None, reads: 0, seeks: 0, pages: 0 }
    }

    /// The time of `seeks` reads that do not continue the previous one, and of `pages` pages.
    fn time_of(&self, seeks: u64, pages: u64) -> Duration {
        let latency = self.latency.as_secs_f64() * seeks as f64;
        let transfer = (pages * PAGE_LEN) as f64 / self.bytes_per_second;
        Duration::try_from_secs_f64(latency + transfer).unwrap_or(Duration::MAX)
    }

    /// The modelled cost of `trace` for the record of a run, with a page cache that starts empty and keeps everything.
    pub fn cold(&self, trace: &AccessTrace) -> ModelledCold {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let ModelledReads { reads, seeks, bytes, time, .. } = self.replay(trace, usize::MAX);
        let device = ModelledDevice {
            name: self.name.clone(),
            latency_ns: nanoseconds(self.latency),
            // A float that does not fit saturates.
            bytes_per_second: self.bytes_per_second.round() as u64,
            readahead_bytes: self.readahead,
        };
        ModelledCold { device, reads, seeks, bytes, time_ns: nanoseconds(time) }
    }

    /// The device in the form of records.
    pub fn to_record(&self) -> DeviceRecord {
        DeviceRecord {
            name: self.name.clone(),
            latency: self.latency,
            bytes_per_second: self.bytes_per_second,
            readahead_bytes: self.readahead,
        }
    }
}

/// A replay in progress.
struct Replay {
    cache: PageCache,
    /// Pages that one read brings in.
    window: usize,
    /// The page after the last read.
    head: Option<usize>,
    reads: u64,
    seeks: u64,
    pages: u64,
}

impl Replay {
    /// Reads `page` of `file`, together with the uncached pages around or after it that one read brings in.
    fn miss(&mut self, file: &FileExtent, page: usize) {
        let window = window(file, page, self.window);
        // The wanted page must stay even if the cache is smaller than the window.
        let wanted = window.clone().filter(|page| !self.cache.holds(*page));
        let missing: Vec<usize> = wanted.collect();
        self.reads += 1;
        self.seeks += u64::from(missing.first().copied() != self.head);
        self.pages += missing.len() as u64;
        self.head = missing.last().map(|last| last + 1);
        missing.into_iter().for_each(|page| self.cache.put(page));
        self.cache.put(page);
    }
}

/// The pages that one read brings in if `page` is missing: the pages around it in a mapped file, as Linux does, and
/// those from it on in other files.
fn window(file: &FileExtent, page: usize, len: usize) -> Range<usize> {
    let start = if file.role.is_mapped() { page.saturating_sub(len / 2).max(file.pages.start) } else { page };
    start..start.saturating_add(len).min(file.pages.end)
}

/// Why a device cannot be modelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found}: expected hdd, sata-ssd, nvme, or latency=8ms,bandwidth=200MB/s, optionally with readahead=128k")]
pub struct BadDevice {
    /// The typed text.
    found: String,
}

impl FromStr for Device {
    type Err = BadDevice;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let bad = || BadDevice { found: typed.to_owned() };
        match typed {
            "hdd" => return Ok(Device::hdd()),
            "sata-ssd" => return Ok(Device::sata_ssd()),
            "nvme" => return Ok(Device::nvme()),
            _ => {}
        }
        let (mut latency, mut bandwidth, mut readahead) = (None, None, None);
        for part in typed.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let is_new = match name {
                "latency" => latency.replace(parse_latency(value).ok_or_else(bad)?).is_none(),
                "bandwidth" => bandwidth.replace(parse_bandwidth(value).ok_or_else(bad)?).is_none(),
                "readahead" => readahead.replace(parse_size(value).ok_or_else(bad)? as u64).is_none(),
                _ => false,
            };
            if !is_new {
                return Err(bad());
            }
        }
        let (latency, bytes_per_second) = latency.zip(bandwidth).ok_or_else(bad)?;
        let readahead = readahead.unwrap_or(COMMON_READAHEAD);
        Ok(Device { name: typed.to_owned(), latency, bytes_per_second, readahead })
    }
}

/// `8ms`, `0.1ms`, `20us`, `1s`.
fn parse_latency(typed: &str) -> Option<Duration> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("s", 1.0)];
    let (number, seconds) = units.iter().find_map(|(unit, seconds)| Some((typed.strip_suffix(unit)?, seconds)))?;
    Duration::try_from_secs_f64(parse_number(number)? * seconds).ok()
}

/// `200MB/s`, `7GB/s`, `550M`, `1.5G`: decimal units, as manufacturers of devices count.
fn parse_bandwidth(typed: &str) -> Option<f64> {
    let typed = typed.strip_suffix("/s").unwrap_or(typed);
    let typed = typed.strip_suffix('B').unwrap_or(typed);
    let units = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
    let scaled = units.iter().find_map(|(unit, factor)| Some((typed.strip_suffix(unit)?, *factor)));
    let (number, factor) = scaled.unwrap_or((typed, 1.0));
    let bandwidth = parse_number(number)? * factor;
    (bandwidth >= 1.0).then_some(bandwidth)
}

/// A number of digits with at most one point; no sign, exponent or infinity.
fn parse_number(typed: &str) -> Option<f64> {
    let is_plain = typed.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    typed.parse().ok().filter(|_| is_plain)
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use repackbench_reader::FileRole;

    use super::*;
    use crate::trace::tests::{chunk, trace};

    fn device(readahead: u64) -> Device {
        Device {
            name: "test".into(),
            latency: Duration::from_millis(1),
            bytes_per_second: PAGE_LEN as f64 * 1000.0,
            readahead,
        }
    }

    fn pages(numbers: &[u64]) -> AccessTrace {
        trace(&[100 * PAGE_LEN], numbers.iter().map(|page| chunk(0, page * PAGE_LEN, PAGE_LEN)).collect())
    }

    /// Reads, seeks and pages read, with a cache of `cache` pages and a readahead of `readahead` pages.
    fn counts(trace: &AccessTrace, readahead: u64, cache: usize) -> (u64, u64, u64) {
        let modelled = device(readahead * PAGE_LEN).replay(trace, cache);
        let milliseconds = modelled.seeks + modelled.bytes / PAGE_LEN;
        assert!(modelled.time.abs_diff(Duration::from_millis(milliseconds)) < Duration::from_micros(1), "{modelled:?}");
        (modelled.reads, modelled.seeks, modelled.bytes / PAGE_LEN)
    }

    #[test]
    fn only_seeks_pay_the_latency() {
        assert_eq!(counts(&pages(&[0, 1, 2, 3]), 1, 100), (4, 1, 4));
        assert_eq!(counts(&pages(&[3, 2, 1, 0]), 1, 100), (4, 4, 4));
        assert_eq!(counts(&pages(&[5, 9, 5, 9, 10]), 1, 100), (3, 2, 3), "what was read stays");
    }

    #[test]
    fn files_are_not_contiguous() {
        let both = trace(&[PAGE_LEN, PAGE_LEN], vec![chunk(0, 0, PAGE_LEN), chunk(1, 0, PAGE_LEN)]);
        assert_eq!(counts(&both, 8, 100), (2, 2, 2));
    }

    #[test]
    fn readahead_saves_seeks_and_reads_more_bytes() {
        // Around page 50: 48 to 51.
        assert_eq!(counts(&pages(&[50, 51, 48, 49]), 4, 100), (1, 1, 4));
        // Pages 48 to 51, then 53 needs 51 to 54, of which 51 is cached and 52 continues the last read.
        assert_eq!(counts(&pages(&[50, 53]), 4, 100), (2, 1, 7));
        let mut read_by_calls = pages(&[50, 49]);
        read_by_calls.files[0].role = FileRole::RevlogData;
        assert_eq!(counts(&read_by_calls, 4, 100), (2, 2, 5), "from 50 on, and then 49 alone");
        assert_eq!(counts(&pages(&[99, 0]), 8, 100), (2, 2, 5 + 8), "windows end with the file");
    }

    #[test]
    fn first_touches_add_up_to_the_whole() {
        // Readahead of 4 pages: 48 to 51; then 51 to 54, of which 51 is cached and 52 continues the read; then 8 to 11.
        let trace = pages(&[50, 51, 53, 50, 10]);
        let device = device(4 * PAGE_LEN);
        let milliseconds: Vec<u128> =
            device.first_touches(&trace).iter().map(|time| (time.as_micros() + 500) / 1000).collect();
        assert_eq!(milliseconds, [1 + 4, 0, 3, 1 + 4], "a seek is 1 ms, and so is a page");
        let sum: Duration = device.first_touches(&trace).iter().sum();
        assert!(sum.abs_diff(device.replay(&trace, usize::MAX).time) < Duration::from_micros(1));
    }

    #[test]
    fn small_caches_read_again() {
        let round = [0, 10, 20, 0, 10, 20];
        assert_eq!(counts(&pages(&round), 1, 3), (3, 3, 3));
        assert_eq!(counts(&pages(&round), 1, 2), (6, 6, 6));
        assert_eq!(counts(&pages(&[0, 10, 0, 20, 0]), 1, 2), (3, 3, 3), "what is used stays longer");
    }

    #[test]
    fn devices_are_parsed_with_units() {
        assert_eq!("nvme".parse(), Ok(Device::nvme()));
        let typed = "latency=0.1ms,bandwidth=550MB/s,readahead=64k";
        let parsed: Device = typed.parse().unwrap();
        assert_eq!(parsed.latency, Duration::from_micros(100));
        assert_eq!((parsed.bytes_per_second, parsed.readahead), (550e6, 64 << 10));
        assert_eq!(parsed.to_string(), typed);
        assert_eq!("latency=20us,bandwidth=1.5G".parse::<Device>().unwrap().readahead, COMMON_READAHEAD);
        for bad in [
            "ssd",
            "",
            "latency=8ms",
            "latency=8,bandwidth=1M",
            "latency=-1ms,bandwidth=1M",
            "latency=1ms,bandwidth=0",
            "latency=1ms,latency=2ms,bandwidth=1M",
            "latency=1ms,bandwidth=inf",
            "latency=1ms,bandwidth=1M,speed=3",
        ] {
            let error = bad.parse::<Device>().unwrap_err().to_string();
            assert!(error.contains("expected hdd, sata-ssd"), "{error}");
        }
    }
}
