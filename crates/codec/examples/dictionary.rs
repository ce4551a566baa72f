//! Trains a dictionary on every second file, and encodes and decodes the others with it and without: `cargo run -p
//! repackbench-codec --example dictionary -- zstd:9 FILE...`, such as the files that `repackbench payloads` wrote.

use std::error::Error;
use std::path::PathBuf;

use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, Dictionaries, Dictionary, TrainingSamples};

/// The length of the dictionary in bytes: the longest that zlib takes.
const DICTIONARY_LEN: usize = 32 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let spec = arguments.next().and_then(|spec| spec.into_string().ok()).ok_or("expected SPEC FILE...")?;
    let spec: CodecSpec = spec.parse()?;
    let mut payloads = Vec::new();
    for path in arguments.map(PathBuf::from) {
        payloads.push(std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    }

    let mut samples = TrainingSamples::default();
    payloads.iter().step_by(2).for_each(|payload| samples.push(payload));
    let dictionary = Dictionary::new(samples.train(DICTIONARY_LEN, 9)?);

    // Chunks name their dictionary by its number in the table that the decoder has.
    let table = Dictionaries::new([dictionary.clone()]);
    let mut decoder = ChunkDecoder::for_spec(&spec).with_dictionaries(&table);
    let mut plain = ChunkEncoder::for_choice(spec.default_choice(), None)?;
    let mut trained = ChunkEncoder::for_choice(spec.default_choice(), Some((0, &dictionary)))?;
    let (mut bytes, mut without, mut with) = (0, 0, 0);
    let (mut stored, mut decoded) = (Vec::new(), Vec::new());
    for payload in payloads.iter().skip(1).step_by(2) {
        bytes += payload.len();
        for (encoder, sum) in [(&mut plain, &mut without), (&mut trained, &mut with)] {
            stored.clear();
            *sum += encoder.encode(payload, &mut stored)?;
            decoded.clear();
            decoded.resize(payload.len(), 0);
            // This also checks the length and the checksum of the payload.
            decoder.decode(&stored, &mut decoded)?;
            assert_eq!(&decoded, payload, "the codec is broken");
        }
    }
    println!("payloads {bytes}, chunks {without}, with a dictionary of {} bytes {with}", dictionary.bytes().len());
    Ok(())
}
