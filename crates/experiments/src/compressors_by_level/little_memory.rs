//! The cost of little memory: files are written and read twice, without a limit and in a memory group that may hold a part of them.
//!
//! The original describes a machine whose file system's cache is too small for the set. A group limits the part of the page cache that this
//! process may hold, so that the machine's memory does not have to be filled. The memory that the process needs itself is allocated before it
//! enters the group.
//!
//! Writing ends when all is on the device, with a limit and without one; otherwise runs with enough memory would not count that work.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use repackbench_pagecache::{
    GroupUsage, MemoryGroups, NoGroup, bytes_read, evict, page_len, residency, sync_file_system,
};
use repackbench_records::{Statement, StatementValue};
use repackbench_timing::clock::measure;
use repackbench_writer::WriterError;

use super::{
    arms::{Coder, clock_error},
    corpus::Corpus,
};
use crate::{
    Context, ExperimentError,
    interleaved::{Runs, interleaved},
    samples::Samples,
};

/// The name of this part in messages.
pub(super) const WHAT: &str = "files with little memory";

/// The part of the pages of flat files that a group may hold.
pub(super) const PART: u64 = 4;

/// The least limit for each file, in bytes. The kernel's own data on it (inode, name, buffers, index of pages) takes up to 2 KiB of the
/// group's memory and stays until a journal has been written; where nothing can be reclaimed the kernel kills the process.
const RECORDS: u64 = 3 << 10;

/// The least size of a set, in bytes of pages. Smaller ones are written several times over: a group that holds a part of less has no room for
/// the kernel's own data.
const LEAST_SET: u64 = 64 << 20;

/// The number of files that are written to predict the time of all.
const SAMPLE: usize = 200;

/// Finds the memory groups of this process.
pub(super) type FindGroups = fn() -> Result<MemoryGroups, NoGroup>;

/// The arms, each with its codec and whether memory is limited. The arm without a limit precedes the limited one of the same codec.
pub(super) const ARMS: [(&str, &str, bool); 4] = [
    ("files", "store", false),
    ("files, little memory", "store", true),
    ("gzip 6", "zlib:6", false),
    ("gzip 6, little memory", "zlib:6", true),
];

/// The seconds of the passes of an arm.
pub(super) const WRITE: &str = "write";
pub(super) const READ: &str = "read";
pub(super) const READ_AGAIN: &str = "read again";
/// All passes.
pub(super) const PASSES: [&str; 3] = [WRITE, READ, READ_AGAIN];
/// The bytes read from the device.
pub(super) const FROM_DEVICE: &str = "from device";
/// The part of the files' pages that was cached at the end.
pub(super) const CACHED: &str = "cached";
/// The most that the group held, in bytes.
pub(super) const PEAK: &str = "peak";
/// The number of times that the limit was reached.
pub(super) const LIMIT_HITS: &str = "limit hits";

/// Adds a run. The kernel does not report all counters everywhere.
fn push(samples: &mut Samples, passes: &Passes, cached: f64, usage: GroupUsage) {
    for (pass, time) in [WRITE, READ, READ_AGAIN].into_iter().zip(passes.times) {
        samples.push(pass, time.as_secs_f64());
    }
    let counters = [(FROM_DEVICE, passes.from_device), (PEAK, usage.peak_bytes), (LIMIT_HITS, usage.limit_hits)];
    for (counter, value) in counters {
        value.into_iter().for_each(|value| samples.push(counter, value as f64));
    }
    samples.push(CACHED, cached);
}

/// The measured figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LittleMemory {
    /// The number of files written.
    pub(super) files: u64,
    /// The number of copies of each file of the revision among them.
    pub(super) copies: u64,
    /// Their pages when flat, in bytes.
    pub(super) set_bytes: u64,
    /// The limit of the limited groups, in bytes.
    pub(super) limit: u64,
    /// One for each of [`ARMS`]; empty if nothing was measured.
    pub(super) arms: Vec<Samples>,
    /// Why nothing could be measured.
    pub(super) refused: Option<StatementValue>,
}

/// Writes the files of `corpus` and reads them twice, each arm `wanted` times, in a new folder at `root`.
pub(super) fn measure_little_memory(
    context: &Context<'_>,
    corpus: &Corpus,
    root: &Path,
    groups: FindGroups,
    wanted: u32,
    share: Option<Duration>,
) -> Result<(LittleMemory, Runs), ExperimentError> {
    let refused = |why: StatementValue| {
        let runs = Runs::left_out(Statement::new("left-out-because").with("what", WHAT).with("why", why.clone()));
        Ok((LittleMemory { refused: Some(why), ..LittleMemory::default() }, runs))
    };
    // Where the group cannot reclaim written pages, the kernel would kill this process.
    if !can_be_forgotten(root)? {
        return refused(Statement::new("files-stay-in-memory").with("folder", root.display().to_string()).into());
    }
    let groups = match groups() {
        Ok(groups) => groups,
        Err(error) => return refused(error.to_string().into()),
    };
    let page_len = page_len().map_err(|error| ExperimentError::io("read", "the length of a page", error))?;
    let Some(mut set) = Set::new(corpus, root, LEAST_SET, page_len) else {
        return refused(Statement::new("all-files-empty").into());
    };
    if let Some(share) = share
        && let Some(why) = super::does_not_fit(set.predicted(context)?, share)
    {
        let runs = Runs::left_out(why.clone().with("what", WHAT));
        let refused = Some(Statement { id: "would-not-fit".to_owned(), ..why }.into());
        return Ok((LittleMemory { refused, ..LittleMemory::default() }, runs));
    }
    let mut found = LittleMemory {
        files: set.names.len() as u64,
        copies: set.copies,
        set_bytes: set.bytes,
        limit: set.limit(),
        arms: vec![Samples::default(); ARMS.len()],
        refused: None,
    };
    let limit = found.limit;
    let runs = interleaved(context, WHAT, ARMS.len(), wanted, share, &mut |_, arm| {
        let (Some((_, spec, is_limited)), Some(times)) = (ARMS.get(arm), found.arms.get_mut(arm)) else {
            return Ok(());
        };
        let mut coder = Coder::new(spec)?;
        set.prepare(&mut coder)?;
        let entered = groups.limited(is_limited.then_some(limit), || set.passes(context, &mut coder));
        let (passes, usage) =
            entered.map_err(|error| ExperimentError::Refused { experiment: super::NAME, why: error.to_string() })?;
        push(times, &passes?, set.cached()?, usage);
        set.remove()
    })?;
    found.arms.iter_mut().for_each(|times| times.truncate(runs.done));
    if runs.done == 0 {
        // Tables and differences mention a limit only where something was measured under it.
        found.arms.clear();
    }
    Ok((found, runs))
}

/// Whether the page cache can evict a file in the folder `root`, as it can if a device holds it.
fn can_be_forgotten(root: &Path) -> Result<bool, ExperimentError> {
    let path = root.join("page");
    let failed = |action| move |error| ExperimentError::io(action, root, error);
    fs::create_dir_all(root).map_err(failed("make"))?;
    fs::write(&path, [1; 100]).map_err(failed("write into"))?;
    let left = evict(&path).map_err(failed("look up the pages of a file in"))?;
    fs::remove_dir_all(root).map_err(failed("remove"))?;
    Ok(left.is_cold())
}

/// The times of the three passes, and the bytes read from the device.
struct Passes {
    times: [Duration; 3],
    from_device: Option<u64>,
}

/// The files of a corpus, as many times as needed, and the memory for coding them.
struct Set<'a> {
    /// The files that take at least one page each, which bounds the number of copies.
    contents: Vec<&'a [u8]>,
    root: &'a Path,
    names: Vec<PathBuf>,
    copies: u64,
    /// The pages of flat files, in bytes.
    bytes: u64,
    stored: Vec<u8>,
    content: Vec<u8>,
}

impl<'a> Set<'a> {
    /// Repeats every file that is not empty until all take `least` bytes of pages, of `page_len` bytes each; `None` if all are empty.
    fn new(corpus: &'a Corpus, root: &'a Path, least: u64, page_len: u64) -> Option<Self> {
        let contents = corpus.files.iter().map(|(_, content)| content.as_slice());
        let contents: Vec<&[u8]> = contents.filter(|content| !content.is_empty()).collect();
        let pages: u64 = contents.iter().map(|content| (content.len() as u64).div_ceil(page_len)).sum();
        let once = Some(pages.saturating_mul(page_len)).filter(|bytes| *bytes > 0)?;
        let copies = least.div_ceil(once).max(1);
        let folders = (0..copies).map(|copy| root.join(format!("copy{copy}")));
        let names =
            folders.flat_map(|folder| (0..contents.len()).map(move |number| folder.join(format!("file{number}"))));
        let names = names.collect();
        let (stored, content) = (Vec::new(), Vec::new());
        Some(Set { contents, root, names, copies, bytes: once.saturating_mul(copies), stored, content })
    }

    /// The limit of a group with little memory, in bytes.
    fn limit(&self) -> u64 {
        (self.bytes / PART).max(self.names.len() as u64 * RECORDS)
    }

    /// The least time of one run of all arms, extrapolated from writing a sample of the files.
    fn predicted(&mut self, context: &Context<'_>) -> Result<Duration, ExperimentError> {
        let mut coder = Coder::new("store")?;
        self.prepare(&mut coder)?;
        let sample = self.names.len().min(SAMPLE);
        let (written, taken) =
            measure(context.clock, || self.write_first(sample, context, &mut coder)).map_err(clock_error)?;
        written?;
        self.remove()?;
        let times = self.names.len() as f64 / sample.max(1) as f64 * ARMS.len() as f64;
        Ok(Duration::try_from_secs_f64(taken.wall.as_secs_f64() * times).unwrap_or(Duration::MAX))
    }

    /// Makes the folders, allocates all memory that `coder` and the files need, and leaves nothing dirty.
    fn prepare(&mut self, coder: &mut Coder) -> Result<(), ExperimentError> {
        for folder in (0..self.copies).map(|copy| self.root.join(format!("copy{copy}"))) {
            fs::create_dir_all(&folder).map_err(|error| ExperimentError::io("make", &folder, error))?;
        }
        if let Some(longest) = self.contents.iter().max_by_key(|content| content.len()) {
            self.stored.clear();
            self.content.clear();
            coder.encoder.encode(longest, &mut self.stored).map_err(WriterError::from)?;
            coder.decoder.decode(&self.stored, longest.len(), &mut self.content).map_err(WriterError::from)?;
            // Touched now, with room for incompressible files: later pages would be charged to the group.
            self.stored.resize(longest.len() + longest.len() / 64 + (64 << 10), 1);
        }
        sync_file_system(self.root).map_err(|error| ExperimentError::io("write out", self.root, error))
    }

    /// Writes all files, until they are on the device, and reads them twice.
    fn passes(&mut self, context: &Context<'_>, coder: &mut Coder) -> Result<Passes, ExperimentError> {
        let start = bytes_read();
        let (written, write) = measure(context.clock, || self.write(context, coder)).map_err(clock_error)?;
        written?;
        let (read, first) = measure(context.clock, || self.read(context, coder)).map_err(clock_error)?;
        read?;
        let (read, second) = measure(context.clock, || self.read(context, coder)).map_err(clock_error)?;
        read?;
        let from_device = bytes_read().zip(start).and_then(|(end, start)| end.checked_sub(start));
        Ok(Passes { times: [write.wall, first.wall, second.wall], from_device })
    }

    fn write(&mut self, context: &Context<'_>, coder: &mut Coder) -> Result<(), ExperimentError> {
        self.write_first(self.names.len(), context, coder)?;
        sync_file_system(self.root).map_err(|error| ExperimentError::io("write out", self.root, error))
    }

    fn write_first(&mut self, count: usize, context: &Context<'_>, coder: &mut Coder) -> Result<(), ExperimentError> {
        for (name, content) in self.names.iter().zip(self.contents.iter().cycle()).take(count) {
            stop_if_asked(context)?;
            self.stored.clear();
            coder.encoder.encode(content, &mut self.stored).map_err(WriterError::from)?;
            let written = File::create_new(name).and_then(|mut file| file.write_all(&self.stored));
            written.map_err(|error| ExperimentError::io("write", name, error))?;
        }
        Ok(())
    }

    fn read(&mut self, context: &Context<'_>, coder: &mut Coder) -> Result<(), ExperimentError> {
        for (name, content) in self.names.iter().zip(self.contents.iter().cycle()) {
            stop_if_asked(context)?;
            self.stored.clear();
            let read = File::open(name).and_then(|mut file| file.read_to_end(&mut self.stored));
            read.map_err(|error| ExperimentError::io("read", name, error))?;
            self.content.clear();
            let len = coder.decoder.decode(&self.stored, content.len(), &mut self.content);
            if len.map_err(WriterError::from)? != content.len() {
                let why =
                    format!("{}: expected {} bytes of content, found another number", name.display(), content.len());
                return Err(ExperimentError::Refused { experiment: super::NAME, why });
            }
        }
        Ok(())
    }

    /// The part of the files' pages that is cached.
    fn cached(&self) -> Result<f64, ExperimentError> {
        let (mut pages, mut resident) = (0, 0);
        for name in &self.names {
            let found = residency(name).map_err(|error| ExperimentError::io("look up the pages of", name, error))?;
            pages += found.pages;
            resident += found.resident;
        }
        Ok(resident as f64 / pages.max(1) as f64)
    }

    /// Removes the files, so that nothing of them is left in memory or dirty.
    fn remove(&self) -> Result<(), ExperimentError> {
        fs::remove_dir_all(self.root).map_err(|error| ExperimentError::io("remove", self.root, error))
    }
}

fn stop_if_asked(context: &Context<'_>) -> Result<(), ExperimentError> {
    if context.progress.is_cancelled() { Err(ExperimentError::Interrupted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::atomic::{AtomicU64, Ordering},
    };

    use repackbench_timing::clock::{Clock, ClockReading};

    use super::*;
    use crate::tests::{Setting, files_of, words};

    /// Each reading is a second after the one before.
    struct SteppingClock(AtomicU64);

    impl Clock for SteppingClock {
        fn read(&self) -> io::Result<ClockReading> {
            let wall = Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed));
            Ok(ClockReading { wall, user: Duration::ZERO, sys: Duration::ZERO })
        }

        fn read_cpu(&self) -> io::Result<Duration> {
            Ok(Duration::ZERO)
        }

        fn read_children(&self) -> io::Result<ClockReading> {
            self.read()
        }
    }

    fn corpus(lengths: &[usize]) -> Corpus {
        let files = lengths.iter().enumerate().map(|(number, len)| (PathBuf::from(number.to_string()), vec![7; *len]));
        Corpus { files: files.collect() }
    }

    #[test]
    fn small_sets_are_written_several_times() {
        let root = Path::new("/r");
        let three = corpus(&[1, 4096, 0, 4097]);
        let set = Set::new(&three, root, 40_000, 4096).unwrap();
        assert_eq!((set.copies, set.bytes, set.names.len()), (3, 3 * 4 * 4096, 9));
        assert_eq!(
            (set.names[0].as_path(), set.names[8].as_path()),
            (Path::new("/r/copy0/file0"), Path::new("/r/copy2/file2"))
        );
        assert_eq!(set.limit(), 9 * 3072, "small files have more records than a quarter of their pages takes");
        let set = Set::new(&three, root, 100, 4096).unwrap();
        assert_eq!((set.copies, set.bytes), (1, 4 * 4096), "what is large enough is written once");
        let set = Set::new(&three, root, 100, 65_536).unwrap();
        assert_eq!(set.bytes, 3 * 65_536, "pages are longer elsewhere");
        assert!(Set::new(&corpus(&[0, 0]), root, 100, 4096).is_none(), "nothing to hold");
    }

    #[test]
    fn empty_files_are_not_repeated() {
        let mut lengths = vec![0; 5_000];
        lengths.push(1);
        let corpus = corpus(&lengths);
        let set = Set::new(&corpus, Path::new("/r"), LEAST_SET, 4096).unwrap();
        assert_eq!((set.copies, set.names.len() as u64), (LEAST_SET / 4096, LEAST_SET / 4096));
    }

    /// The passes without a group: files are written, read back, cached and removed.
    #[test]
    fn files_are_written_read_twice_and_removed() {
        let outcome = Setting::new(&files_of(30), 1).run(|context| {
            let corpora = Corpus::choose(context)?;
            let scratch = crate::on_disk::folder();
            let root = scratch.path().join("set");
            let mut set = Set::new(&corpora.all[0], &root, 1 << 18, 4096).unwrap();
            assert!(set.copies > 1 && set.names.len() as u64 == 30 * set.copies);
            let mut times = Samples::default();
            for (_, spec, _) in &ARMS[1..3] {
                let mut coder = Coder::new(spec)?;
                set.prepare(&mut coder)?;
                let passes = set.passes(context, &mut coder)?;
                // All of it as a rule; a machine that is short of memory may evict some.
                assert!(set.cached()? > 0.0);
                let usage = GroupUsage { peak_bytes: Some(9), ..GroupUsage::default() };
                push(&mut times, &passes, 1.0, usage);
                // Compares contents as well as lengths.
                for (name, (_, content)) in set.names.iter().zip(corpora.all[0].files.iter().cycle()) {
                    let mut back = Vec::new();
                    coder.decoder.decode(&fs::read(name).unwrap(), content.len(), &mut back).unwrap();
                    assert_eq!(back, *content);
                }
                set.remove()?;
                assert!(!root.exists());
            }
            let runs = |times: &Samples, quantity: &str| times.get(quantity).len();
            assert_eq!((times.sum(&PASSES).len(), runs(&times, PEAK), runs(&times, LIMIT_HITS)), (2, 2, 0));
            let parts = times.get(WRITE).iter().zip(times.get(READ)).zip(times.get(READ_AGAIN));
            assert!(times.sum(&PASSES).iter().zip(parts).all(|(all, ((a, b), c))| *all == a + b + c));
            times.truncate(1);
            assert_eq!((times.sum(&PASSES).len(), runs(&times, CACHED)), (1, 1));
            Err(ExperimentError::Interrupted)
        });
        assert!(outcome.is_err_and(|error| error.is_interruption()));
    }

    #[test]
    fn missing_groups_are_named_in_the_result() {
        let outcome = Setting::new(&files_of(3), 1).run(|context| {
            let corpora = Corpus::choose(context)?;
            let none: FindGroups = || Err(NoGroup::because("no such controller"));
            let folder = crate::on_disk::folder();
            let root = folder.path().join("set");
            let (found, runs) = measure_little_memory(context, &corpora.all[0], &root, none, 6, None)?;
            assert!(!root.exists());
            let StatementValue::Name(why) = found.refused.unwrap() else { panic!("not an error") };
            assert!(why.contains("no memory cgroup can be made here: no such controller"), "{why}");
            assert!(words(&runs.left_out).concat().contains(&why) && found.arms.is_empty());
            Err(ExperimentError::Interrupted)
        });
        assert!(outcome.is_err_and(|error| error.is_interruption()));
    }

    /// The least set has sixteen thousand files here.
    #[test]
    fn set_that_exceeds_its_share_is_not_started() {
        let outcome = Setting::new(&files_of(3), 1).run(|context| {
            let corpora = Corpus::choose(context)?;
            let folder = crate::on_disk::folder();
            let root = folder.path().join("set");
            let clock = SteppingClock(AtomicU64::new(0));
            let context = &Context { clock: &clock, ..*context };
            // Without a group, which would contain all of this process, including its other tests.
            let mut set = Set::new(&corpora.all[0], &root, LEAST_SET, 4096).unwrap();
            // Each of the four arms takes the time of the sample, a second by this clock, times the ratio of sizes.
            let samples = set.names.len() as f64 / SAMPLE as f64;
            let predicted = set.predicted(context)?;
            assert!(samples > 1.0 && predicted == Duration::from_secs_f64(samples * 4.0) && !root.exists());
            assert!(super::super::does_not_fit(predicted, Duration::from_secs(1)).is_some());
            assert!(super::super::does_not_fit(predicted, predicted).is_none());
            Err(ExperimentError::Interrupted)
        });
        assert!(outcome.is_err_and(|error| error.is_interruption()));
    }

    /// The kernel kills a process in a group that is full of pages that it cannot reclaim.
    #[test]
    fn rejects_file_systems_in_memory() {
        let outcome = Setting::new(&files_of(3), 1).run(|context| {
            let corpora = Corpus::choose(context)?;
            // glibc's shm_open(3) takes a tmpfs there.
            let folder = tempfile::tempdir_in("/dev/shm").unwrap();
            let root = folder.path().join("set");
            let none: FindGroups = || panic!("a group is looked for");
            let (_, runs) = measure_little_memory(context, &corpora.all[0], &root, none, 6, None)?;
            let why = words(&runs.left_out).concat();
            assert!(why.ends_with("/set: files there stay in memory.") && !root.exists(), "{why}");
            Err(ExperimentError::Interrupted)
        });
        assert!(outcome.is_err_and(|error| error.is_interruption()));
    }
}
