//! Rewrites loose objects under another codec, each in its own file as before.

use std::{
    fs::{self, File},
    io::{BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use repackbench_codec::{ChunkDecoder, ChunkKind, Dictionaries, KindEncoders, ZlibReader};
use repackbench_reader::{
    git::{
        chunk::decode_to_vec,
        loose::{self, LargeLoose, LooseFile, LooseHeader},
        repository::{LooseObject, LooseObjects},
    },
    memory::TurnTaker,
    threads,
};

use super::{
    stream::{self, SourceChunk},
    whole_objects::check_all_written,
};
use crate::{
    Encoding, JobControl, Progress, Result, WriterError,
    new_file::{create_read_only, write_read_only},
};

/// The number of bytes of a large new object that are read at a time to verify it.
const BUFFER: usize = 128 << 10;

/// Rewrites every object of `objects`, whose chunks may name `dictionaries`, under `encoding` into the object directory
/// `out`.
pub(crate) fn convert_loose(
    objects: &LooseObjects,
    dictionaries: &Dictionaries,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<()> {
    let JobControl { threads, progress } = control;
    let (next, written) = (AtomicUsize::new(0), AtomicU64::new(0));
    // The failure at the lowest position, so that the same input gives the same message.
    let failure: Mutex<Option<(usize, WriterError)>> = Mutex::new(None);
    let work = || -> std::result::Result<(), (usize, WriterError)> {
        let mut converter = LooseConverter::new(dictionaries, encoding);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((object, path)) = objects.as_slice().get(at).zip(objects.path(at)) else { return Ok(()) };
            let result = match progress.is_cancelled() {
                true => Err(WriterError::Interrupted),
                false => converter.convert(object, &path, out, progress),
            };
            if let Err(error) = result {
                next.store(objects.len(), Ordering::Relaxed);
                return Err((at, error));
            }
            written.fetch_add(1, Ordering::Relaxed);
            progress.advance(1);
        }
    };
    threads::share(threads.min(objects.len()), || {
        if let Err((at, error)) = work() {
            let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(earlier, _)| at < *earlier) {
                *first = Some((at, error));
            }
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => check_all_written(out, objects.len() as u64, written.into_inner()),
    }
}

/// The contexts and buffers of one thread.
struct LooseConverter<'a> {
    encoding: &'a Encoding,
    encoders: KindEncoders,
    decoder: ChunkDecoder,
    /// Decodes the new chunks.
    verifier: ChunkDecoder,
    stored: Vec<u8>,
    payload: Vec<u8>,
    encoded: Vec<u8>,
    again: Vec<u8>,
    turn: TurnTaker,
}

impl<'a> LooseConverter<'a> {
    fn new(dictionaries: &Dictionaries, encoding: &'a Encoding) -> Self {
        LooseConverter {
            encoding,
            encoders: encoding.encoders(),
            decoder: ChunkDecoder::new(ZlibReader::Libdeflate).with_dictionaries(dictionaries),
            verifier: encoding.decoder(),
            stored: Vec::new(),
            payload: Vec::new(),
            encoded: Vec::new(),
            again: Vec::new(),
            turn: TurnTaker::default(),
        }
    }

    fn convert(&mut self, object: &LooseObject, path: &Path, out: &Path, progress: &dyn Progress) -> Result<()> {
        let LooseFile { header, large, .. } = LooseFile::open(path, &mut self.decoder, &mut self.stored)?;
        let target = target_path(object, out)?;
        let kind = ChunkKind { object: header.kind, is_delta: false };
        if let Some(large) = large {
            return self.stream(path, kind, large, &target, progress);
        }
        self.turn.reserve(header.content_len);
        let converted = self.convert_held(kind, path, &header, &target);
        self.turn.finish([&mut self.stored, &mut self.payload, &mut self.encoded, &mut self.again]);
        converted
    }

    fn convert_held(&mut self, kind: ChunkKind, path: &Path, header: &LooseHeader, target: &Path) -> Result<()> {
        loose::decode_payload(path, header, &self.stored, &mut self.decoder, &mut self.payload)?;
        self.encoded.clear();
        let length = self.encoders.for_kind(kind)?.encode(&self.payload, &mut self.encoded)?;
        let payload_len = self.payload.len() as u64;
        let detail = match decode_to_vec(&mut self.verifier, &self.encoded, payload_len, &mut self.again) {
            Ok(consumed) if consumed != length as u64 => format!("{consumed} of {length} stored bytes"),
            Ok(_) if self.again != self.payload => "same length, different content".to_string(),
            Ok(_) => return write_read_only(target, &self.encoded),
            Err(error) => error.to_string(),
        };
        Err(unfaithful(path, detail))
    }

    fn stream(
        &mut self,
        path: &Path,
        kind: ChunkKind,
        mut large: LargeLoose,
        target: &Path,
        progress: &dyn Progress,
    ) -> Result<()> {
        let payload_len = large.payload_len();
        let mut encoder = self.encoding.streaming_encoder(kind)?;
        let mut file = BufWriter::new(create_read_only(target)?);
        let source = SourceChunk::new(&mut self.decoder, large.stored(), payload_len);
        let streamed = stream::convert(source, &mut encoder, &mut file, progress)?;
        // An error of the source explains an error of the encoder.
        large.check_consumed(path, streamed.consumed)?;
        let length = streamed.encoded?;
        file.flush().map_err(|e| WriterError::io("write", target, e))?;
        let written = File::open(target).map_err(|e| WriterError::io("open", target, e))?;
        match stream::digest(&mut self.decoder, BufReader::with_capacity(BUFFER, written), payload_len) {
            Ok((consumed, digest)) if consumed == length && digest == streamed.digest => Ok(()),
            Ok(_) => Err(unfaithful(path, "same length, different content".into())),
            Err(error) => Err(unfaithful(path, error.to_string())),
        }
    }
}

fn target_path(object: &LooseObject, out: &Path) -> Result<PathBuf> {
    let hex = object.id.to_hex().to_string();
    let (fan_out, rest) = hex.split_at(2);
    let folder = out.join(fan_out);
    fs::create_dir_all(&folder).map_err(|e| WriterError::io("create", &folder, e))?;
    Ok(folder.join(rest))
}

fn unfaithful(path: &Path, detail: String) -> WriterError {
    WriterError::Unfaithful { path: path.to_owned(), what: "loose object".into(), detail }
}
