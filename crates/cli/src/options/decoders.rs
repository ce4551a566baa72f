//! Which implementation decodes which format.

use repackbench_codec::{DecoderChoice, Decoders, SharedFormat};
use repackbench_reader::{Chunk, LeftOut, ReaderError, Repository};

use crate::failure::{Failure, USAGE};

/// The decoders of stock git and hg, except for the user's choices. Rejects two choices for one format and choices for
/// absent formats.
pub(crate) fn chosen_decoders(repository: &Repository, choices: &[DecoderChoice]) -> Result<Decoders, Failure> {
    let mut decoders = Decoders::default();
    for (number, choice) in choices.iter().enumerate() {
        if choices.iter().take(number).any(|earlier| earlier.format() == choice.format()) {
            let message = format!("{choice}: another decoder for {} is given before", choice.format().description());
            return Err(Failure::new(USAGE, message));
        }
        if !has_format(repository, choice.format())? {
            let chunks = choice.format().description();
            let message = format!("{choice}: the repository has no {chunks} without a dictionary");
            return Err(Failure::new(USAGE, message));
        }
        decoders = choice.apply(decoders);
    }
    Ok(decoders)
}

/// Whether some chunk of `repository` has `format`. The search stops at the first.
fn has_format(repository: &Repository, format: SharedFormat) -> Result<bool, ReaderError> {
    /// Why the search ended.
    enum End {
        Found,
        Failed(ReaderError),
    }
    impl From<ReaderError> for End {
        fn from(error: ReaderError) -> Self {
            End::Failed(error)
        }
    }
    let mut wanted = |chunk: &Chunk<'_>| repository.shared_format(chunk) == Some(format);
    match repository.for_each_payload(Decoders::default(), &mut wanted, &mut |_, _| Err(End::Found)) {
        Ok(LeftOut { payloads, .. }) => Ok(payloads > 0),
        Err(End::Found) => Ok(true),
        Err(End::Failed(error)) => Err(error),
    }
}
