//! Options that complete a codec spec: a dictionary, and a limit of chains.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use repackbench_codec::{CodecSpec, Dictionary, DictionarySource};
use repackbench_reader::dictionaries::{LONGEST_DICTIONARY, hash};

use crate::failure::{FAILED, Failure};

/// Options that complete a codec spec.
#[derive(Debug, Args)]
pub(crate) struct SpecArguments {
    /// Use the dictionary in FILE, from `zstd --train` or `repackbench train`, instead of trained ones: in the parts
    /// of a spec with dict=file, or in all that can have one.
    #[arg(long, value_name = "FILE", help_heading = super::EXPERT)]
    dict: Option<PathBuf>,

    /// Use prefix and patch only for deltas with a chain of at most N deltas.
    #[arg(long, value_name = "N", help_heading = super::EXPERT)]
    max_chain: Option<u32>,
}

impl SpecArguments {
    /// The number of digits of a dictionary's hash in a spec.
    const HASH_DIGITS: usize = 16;

    /// These options as words of a command line.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let dict = self.dict.iter().flat_map(|path| ["--dict".into(), path.clone().into_os_string()]);
        let max_chain = self.max_chain.iter().flat_map(|limit| ["--max-chain".into(), limit.to_string().into()]);
        dict.chain(max_chain).collect()
    }

    /// The spec with these options.
    pub(crate) fn apply(&self, spec: &CodecSpec) -> Result<CodecSpec, Failure> {
        let spec = self.max_chain.map_or_else(|| spec.clone(), |max_chain| spec.with_max_chain(max_chain));
        let Some(path) = &self.dict else { return Ok(spec) };
        let refuse = |why: String| Failure::new(FAILED, format!("{}: {why}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| refuse(format!("cannot read: {error}")))?;
        if bytes.len() > LONGEST_DICTIONARY {
            return Err(refuse(format!(
                "expected a dictionary of at most {LONGEST_DICTIONARY} bytes, found {}",
                bytes.len()
            )));
        }
        let mut digits = hash(&bytes);
        digits.truncate(Self::HASH_DIGITS);
        let len = bytes.len();
        let spec = spec.with_own_dictionary(Dictionary::new(bytes), &digits);
        for choice in spec.choices().filter(|choice| matches!(choice.dictionary(), Some(DictionarySource::File { .. })))
        {
            let (codec, longest) =
                (choice.algorithm().name(), choice.algorithm().longest_dictionary().unwrap_or_default());
            if len > longest {
                return Err(refuse(format!(
                    "expected a dictionary of at most {longest} bytes for {codec}, found {len}"
                )));
            }
        }
        Ok(spec)
    }
}
