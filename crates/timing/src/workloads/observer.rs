//! What workloads report of what they see.

use std::{
    collections::BTreeMap,
    fmt, io,
    time::{Duration, Instant},
};

use gix_hash::oid;
use repackbench_reader::{Change, ObjectKind, hash::IdHasher};
use repackbench_records::ContentDigest;

use crate::clock::Clock;

/// Receives everything that a workload visits. Each method does nothing by default.
pub trait Observer {
    /// A traversal visited an object.
    fn object(&mut self, kind: ObjectKind, id: &oid) {
        let _ = (kind, id);
    }

    /// A traversal counted an object.
    fn counted(&mut self, kind: ObjectKind) {
        let _ = kind;
    }

    /// Only kind and size of an object were read.
    fn sized(&mut self, kind: ObjectKind, id: &oid, size: u64) {
        let _ = (kind, id, size);
    }

    /// An object was decoded.
    fn whole(&mut self, kind: ObjectKind, id: &oid, content: &[u8]) {
        let _ = (kind, id, content);
    }

    /// An object of `len` bytes, too large for memory, is decoded from now on: its content follows in pieces.
    fn start_large(&mut self, kind: ObjectKind, id: &oid, len: u64) {
        let _ = (kind, id, len);
    }

    /// The next piece of the large object.
    fn large_piece(&mut self, piece: &[u8]) {
        let _ = piece;
    }

    /// The large object is complete.
    fn end_large(&mut self) {}

    /// The store has `count` chunks.
    fn chunks(&mut self, chunks: u64) {
        let _ = chunks;
    }

    /// A log reached a commit.
    fn commit(&mut self, id: &oid) {
        let _ = id;
    }

    /// The current commit changed `path`, or a checkout reached it.
    fn change(&mut self, path: &[u8], change: &Change) {
        let _ = (path, change);
    }

    /// A file's content was decoded.
    fn content(&mut self, content: &[u8]) {
        let _ = content;
    }

    /// The patch of the current commit at `path`, in git's form; never empty.
    fn patch(&mut self, path: &[u8], change: &Change, patch: &[u8]) {
        let _ = (path, change, patch);
    }

    /// The workload was looking for this commit.
    fn hit(&mut self, id: &oid) {
        let _ = id;
    }

    /// A checkout wrote files and bytes.
    fn written(&mut self, files: u64, bytes: u64) {
        let _ = (files, bytes);
    }

    /// Distinct objects were needed and are missing.
    fn missing(&mut self, objects: u64) {
        let _ = objects;
    }

    /// The workload begins to answer one of several requests.
    fn start_request(&mut self) {}

    /// The request is answered.
    fn end_request(&mut self) {}

    /// The workload is about to write a file, or to create its directory. Nothing is decoded or encoded until
    /// [`end_writing`](Observer::end_writing).
    fn start_writing(&mut self) {}

    /// The file is written, as far as its content is known, or writing failed.
    fn end_writing(&mut self) {}

    /// Whether a workload that writes files should read them again, and report their content.
    fn wants_written_files(&self) -> bool {
        false
    }

    /// The content that a checkout wrote at `path`; reported only if
    /// [`wants_written_files`](Observer::wants_written_files).
    fn written_file(&mut self, path: &[u8], mode: u32, content: &[u8]) {
        let _ = (path, mode, content);
    }
}

impl dyn Observer + '_ {
    /// Writes a file, or a part of one, by calling `write`, and reports when that starts and ends.
    pub(super) fn writing<T>(&mut self, write: impl FnOnce() -> T) -> T {
        self.start_writing();
        let written = write();
        self.end_writing();
        written
    }
}

/// Named counts of one run.
pub type Counts = BTreeMap<String, u64>;

/// Only counts; the observer of timed runs. It may have a clock, which it reads only around the writing of files.
#[derive(Debug, Default, Clone)]
pub struct Counter<'c> {
    objects: [u64; 7],
    commits: u64,
    changes: u64,
    contents: u64,
    content_bytes: u64,
    patches: u64,
    patch_bytes: u64,
    hits: u64,
    files: u64,
    file_bytes: u64,
    missing: u64,
    sizes: u64,
    chunks: u64,
    writing: Option<WritingTimer<'c>>,
    /// The elapsed time of each request, and when the current one began.
    requests: Vec<Duration>,
    request_began: Option<Instant>,
}

/// Adds up the CPU time in which files are written.
#[derive(Clone)]
struct WritingTimer<'c> {
    clock: &'c dyn Clock,
    /// The start of the current write, on the clock.
    started: Option<Duration>,
    sum: Duration,
    /// The first error of the clock.
    failed: Option<io::ErrorKind>,
}

impl fmt::Debug for WritingTimer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WritingTimer").field("sum", &self.sum).field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl WritingTimer<'_> {
    fn read(&mut self) -> Option<Duration> {
        self.clock.read_cpu().map_err(|error| self.failed = Some(error.kind())).ok()
    }

    fn start(&mut self) {
        self.started = self.read();
    }

    fn end(&mut self) {
        if let Some((end, start)) = self.read().zip(self.started.take()) {
            self.sum = self.sum.saturating_add(end.saturating_sub(start));
        }
    }
}

impl<'c> Counter<'c> {
    /// A counter that also times the writing of files with `clock`.
    pub fn timing_writes(clock: &'c dyn Clock) -> Self {
        let writing = WritingTimer { clock, started: None, sum: Duration::ZERO, failed: None };
        Counter { writing: Some(writing), ..Counter::default() }
    }

    /// The CPU time in which files were written; `None` without a clock.
    ///
    /// # Errors
    /// The clock could not be read.
    pub fn writing(&self) -> io::Result<Option<Duration>> {
        match &self.writing {
            Some(WritingTimer { failed: Some(kind), .. }) => Err((*kind).into()),
            writing => Ok(writing.as_ref().map(|writing| writing.sum)),
        }
    }

    /// The elapsed time of each request, in their order.
    pub fn requests(&self) -> &[Duration] {
        &self.requests
    }

    /// The counts that are not zero, by name.
    pub fn counts(&self) -> Counts {
        let [commits, trees, blobs, tags, changesets, manifests, file_revisions] = self.objects;
        let all = [
            ("commits", commits + self.commits),
            ("trees", trees),
            ("blobs", blobs),
            ("tags", tags),
            ("changesets", changesets),
            ("manifests", manifests),
            ("file revisions", file_revisions),
            ("changes", self.changes),
            ("contents", self.contents),
            ("content bytes", self.content_bytes),
            ("patches", self.patches),
            ("patch bytes", self.patch_bytes),
            ("hits", self.hits),
            ("files", self.files),
            ("file bytes", self.file_bytes),
            ("missing", self.missing),
            ("sizes added up", self.sizes),
            ("chunks", self.chunks),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }
}

impl Observer for Counter<'_> {
    fn object(&mut self, kind: ObjectKind, _id: &oid) {
        self.counted(kind);
    }

    fn counted(&mut self, kind: ObjectKind) {
        let [commits, trees, blobs, tags, changesets, manifests, file_revisions] = &mut self.objects;
        *match kind {
            ObjectKind::Commit => commits,
            ObjectKind::Tree => trees,
            ObjectKind::Blob => blobs,
            ObjectKind::Tag => tags,
            ObjectKind::Changelog => changesets,
            ObjectKind::Manifest => manifests,
            ObjectKind::Filelog => file_revisions,
        } += 1;
    }

    fn sized(&mut self, kind: ObjectKind, id: &oid, size: u64) {
        self.object(kind, id);
        self.sizes = self.sizes.saturating_add(size);
    }

    fn whole(&mut self, kind: ObjectKind, id: &oid, content: &[u8]) {
        self.object(kind, id);
        self.content(content);
    }

    fn start_large(&mut self, kind: ObjectKind, id: &oid, len: u64) {
        self.object(kind, id);
        self.contents += 1;
        self.content_bytes += len;
    }

    fn chunks(&mut self, chunks: u64) {
        self.chunks += chunks;
    }

    fn commit(&mut self, _id: &oid) {
        self.commits += 1;
    }

    fn change(&mut self, _path: &[u8], _change: &Change) {
        self.changes += 1;
    }

    fn content(&mut self, content: &[u8]) {
        self.contents += 1;
        self.content_bytes += content.len() as u64;
    }

    fn patch(&mut self, _path: &[u8], _change: &Change, patch: &[u8]) {
        self.patches += 1;
        self.patch_bytes += patch.len() as u64;
    }

    fn start_request(&mut self) {
        self.request_began = Some(Instant::now());
    }

    fn end_request(&mut self) {
        self.requests.extend(self.request_began.take().map(|began| began.elapsed()));
    }

    fn hit(&mut self, _id: &oid) {
        self.hits += 1;
    }

    fn written(&mut self, files: u64, bytes: u64) {
        self.files += files;
        self.file_bytes += bytes;
    }

    fn missing(&mut self, objects: u64) {
        self.missing = objects;
    }

    fn start_writing(&mut self) {
        self.writing.iter_mut().for_each(WritingTimer::start);
    }

    fn end_writing(&mut self) {
        self.writing.iter_mut().for_each(WritingTimer::end);
    }
}

/// Hashes everything it receives, in order: variants of one repository have to give the same digest. Objects that are
/// read in the order on disk, which differs between layouts, count independently of their order.
#[derive(Debug, Clone)]
pub struct Digester {
    hasher: Hasher,
    /// The sum of the digests of whole objects, computed for each quarter of a digest.
    whole: Option<[u64; 4]>,
    /// Whether objects were only counted.
    counted: bool,
    /// The hash of the current large object.
    large: Option<Hasher>,
    counter: Counter<'static>,
}

impl Default for Digester {
    fn default() -> Self {
        Digester { hasher: Hasher::new(), whole: None, counted: false, large: None, counter: Counter::default() }
    }
}

/// Hashes pieces, each with a tag and its length, so that different sequences have different input.
#[derive(Debug, Clone)]
struct Hasher(IdHasher);

impl Hasher {
    fn new() -> Self {
        Hasher(IdHasher::new(gix_hash::Kind::Sha256))
    }

    fn of_object(kind: ObjectKind, id: &oid) -> Self {
        let mut hasher = Hasher::new();
        hasher.put(b'o', kind.name().as_bytes());
        hasher.put(b'i', id.as_bytes());
        hasher
    }

    fn put(&mut self, tag: u8, bytes: &[u8]) {
        self.start(tag, bytes.len() as u64);
        self.0.update(bytes);
    }

    /// The bytes before a piece of `len` bytes.
    fn start(&mut self, tag: u8, len: u64) {
        self.0.update(&[tag]);
        self.0.update(&len.to_le_bytes());
    }
}

impl Digester {
    /// The digest of everything seen.
    pub fn digest(mut self) -> ContentDigest {
        for quarter in self.whole.take().into_iter().flatten() {
            self.put_number(b'u', quarter);
        }
        if self.counted {
            for (name, count) in self.counter.counts() {
                self.put(b'k', name.as_bytes());
                self.put_number(b'n', count);
            }
        }
        ContentDigest { algorithm: "sha256".into(), hex: self.hasher.0.finish().to_string() }
    }

    /// The counts that a [`Counter`] would have.
    pub fn counts(&self) -> Counts {
        self.counter.counts()
    }

    fn put(&mut self, tag: u8, bytes: &[u8]) {
        self.hasher.put(tag, bytes);
    }

    /// Adds the digest of a whole object to the sum, which is independent of the order.
    fn add_whole(&mut self, object: Hasher) {
        let digest = object.0.finish();
        let sums = self.whole.get_or_insert_default();
        for (sum, quarter) in sums.iter_mut().zip(digest.as_bytes().as_chunks().0) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*quarter));
        }
    }

    fn put_number(&mut self, tag: u8, number: u64) {
        self.put(tag, &number.to_le_bytes());
    }
}

impl Observer for Digester {
    fn object(&mut self, kind: ObjectKind, id: &oid) {
        self.counter.object(kind, id);
        self.put(b'o', kind.name().as_bytes());
        self.put(b'i', id.as_bytes());
    }

    fn counted(&mut self, kind: ObjectKind) {
        self.counter.counted(kind);
        self.counted = true;
    }

    fn sized(&mut self, kind: ObjectKind, id: &oid, size: u64) {
        self.counter.sized(kind, id, size);
        self.put(b'o', kind.name().as_bytes());
        self.put(b'i', id.as_bytes());
        self.put_number(b's', size);
    }

    fn whole(&mut self, kind: ObjectKind, id: &oid, content: &[u8]) {
        self.counter.whole(kind, id, content);
        let mut hasher = Hasher::of_object(kind, id);
        hasher.put(b'b', content);
        self.add_whole(hasher);
    }

    fn start_large(&mut self, kind: ObjectKind, id: &oid, len: u64) {
        self.counter.start_large(kind, id, len);
        let mut hasher = Hasher::of_object(kind, id);
        hasher.start(b'b', len);
        self.large = Some(hasher);
    }

    fn large_piece(&mut self, piece: &[u8]) {
        self.large.iter_mut().for_each(|hasher| hasher.0.update(piece));
    }

    fn end_large(&mut self) {
        self.large.take().into_iter().for_each(|hasher| self.add_whole(hasher));
    }

    fn chunks(&mut self, chunks: u64) {
        self.counter.chunks(chunks);
        self.put_number(b'n', chunks);
    }

    fn commit(&mut self, id: &oid) {
        self.counter.commit(id);
        self.put(b'c', id.as_bytes());
    }

    fn change(&mut self, path: &[u8], change: &Change) {
        self.counter.change(path, change);
        self.put(b'p', path);
        for version in [&change.old, &change.new].into_iter().flatten() {
            self.put_number(b'm', u64::from(version.mode.bits()));
            self.put(b'v', version.id.as_bytes());
        }
    }

    fn content(&mut self, content: &[u8]) {
        self.counter.content(content);
        self.put(b'b', content);
    }

    fn patch(&mut self, path: &[u8], change: &Change, patch: &[u8]) {
        self.counter.patch(path, change, patch);
        self.put(b'd', patch);
    }

    fn hit(&mut self, id: &oid) {
        self.counter.hit(id);
        self.put(b'h', id.as_bytes());
    }

    fn written(&mut self, files: u64, bytes: u64) {
        self.counter.written(files, bytes);
        self.put_number(b'f', files);
        self.put_number(b'w', bytes);
    }

    fn missing(&mut self, objects: u64) {
        self.counter.missing(objects);
        self.put_number(b'x', objects);
    }

    fn wants_written_files(&self) -> bool {
        true
    }

    fn written_file(&mut self, path: &[u8], mode: u32, content: &[u8]) {
        self.put(b'F', path);
        self.put_number(b'm', u64::from(mode));
        self.put(b'b', content);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use gix_hash::ObjectId;

    use super::*;
    use crate::clock::ClockReading;

    /// A clock of CPU time that advances by a millisecond at each reading, and otherwise as a test says.
    #[derive(Debug, Default)]
    pub(in crate::workloads) struct MadeUpClock {
        millis: AtomicU64,
        readings: AtomicU64,
    }

    impl MadeUpClock {
        pub(in crate::workloads) fn pass(&self, millis: u64) {
            self.millis.fetch_add(millis, Ordering::Relaxed);
        }

        pub(in crate::workloads) fn readings(&self) -> u64 {
            self.readings.load(Ordering::Relaxed)
        }
    }

    impl Clock for MadeUpClock {
        fn read(&self) -> io::Result<ClockReading> {
            Err(io::Error::other("the whole run is timed elsewhere"))
        }

        fn read_cpu(&self) -> io::Result<Duration> {
            self.pass(1);
            self.readings.fetch_add(1, Ordering::Relaxed);
            Ok(Duration::from_millis(self.millis.load(Ordering::Relaxed)))
        }

        fn read_children(&self) -> io::Result<ClockReading> {
            self.read()
        }
    }

    #[test]
    fn time_of_writing_files_adds_up() {
        let clock = MadeUpClock::default();
        let mut counter = Counter::timing_writes(&clock);
        assert_eq!((counter.writing().unwrap(), clock.readings()), (Some(Duration::ZERO), 0));
        clock.pass(1000);
        for millis in [30, 4] {
            let observer: &mut dyn Observer = &mut counter;
            assert_eq!(observer.writing(|| clock.pass(millis)), ());
            clock.pass(500);
        }
        // The millisecond of the second reading each time.
        assert_eq!(counter.writing().unwrap(), Some(Duration::from_millis(30 + 1 + 4 + 1)));
        assert_eq!(clock.readings(), 4);
        counter.end_writing();
        assert_eq!(counter.writing().unwrap(), Some(Duration::from_millis(36)), "an end without a start is nothing");
    }

    #[test]
    fn writing_is_timed_only_with_a_working_clock() {
        let mut counter = Counter::default();
        (&mut counter as &mut dyn Observer).writing(|| ());
        assert_eq!(counter.writing().unwrap(), None);
        struct Stopped;
        impl Clock for Stopped {
            fn read(&self) -> io::Result<ClockReading> {
                Err(io::ErrorKind::Unsupported.into())
            }

            fn read_cpu(&self) -> io::Result<Duration> {
                Err(io::ErrorKind::Unsupported.into())
            }

            fn read_children(&self) -> io::Result<ClockReading> {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
        let mut counter = Counter::timing_writes(&Stopped);
        (&mut counter as &mut dyn Observer).writing(|| ());
        assert_eq!(counter.writing().unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn whole_objects_count_in_any_order_with_repeats() {
        let id = |byte| ObjectId::Sha1([byte; 20]);
        let digest = |objects: &[(u8, &str)]| {
            let mut digester = Digester::default();
            for (byte, content) in objects {
                digester.whole(ObjectKind::Blob, &id(*byte), content.as_bytes());
            }
            digester.digest().hex
        };
        assert_eq!(digest(&[(1, "a"), (2, "b")]), digest(&[(2, "b"), (1, "a")]));
        let others = [&[(1, "b"), (2, "a")][..], &[(1, "a")], &[(1, "a"), (2, "b"), (2, "b")], &[]];
        for other in others {
            assert_ne!(digest(&[(1, "a"), (2, "b")]), digest(other), "{other:?}");
        }
    }

    #[test]
    fn logs_count_in_order() {
        let digest = |contents: [&str; 2]| {
            let mut digester = Digester::default();
            contents.iter().for_each(|content| digester.content(content.as_bytes()));
            digester.digest().hex
        };
        assert_ne!(digest(["a", "b"]), digest(["b", "a"]));
    }
}
