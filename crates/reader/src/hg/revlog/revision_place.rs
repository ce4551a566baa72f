//! A revision by its place in its revlog, for callers that need its base.

use super::Revlog;
use crate::{DeltaLinks, Result};

/// A revision of a revlog.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RevisionPlace<'a> {
    pub(crate) revlog: &'a Revlog,
    pub(crate) revision: usize,
}

impl RevisionPlace<'_> {
    /// The numbers of the revision and its base; `None` if the revision is no delta, or if no hash guards its text.
    ///
    /// # Errors
    /// There is no such revision.
    pub(crate) fn links(&self) -> Result<Option<DeltaLinks>> {
        let is_guarded = self.revlog.entry(self.revision)?.is_hashed();
        let chain_len = self.revlog.chain_length(self.revision);
        let links = |base| DeltaLinks { base: base as u64, object: self.revision as u64, chain_len };
        Ok(self.revlog.delta_base(self.revision).filter(|_| is_guarded).map(links))
    }

    /// The lengths in bytes of the base's text, 0 without a base, and of the revision's text.
    ///
    /// # Errors
    /// There is no such revision.
    pub(crate) fn content_lens(&self) -> Result<(u64, u64)> {
        let base = self.revlog.delta_base(self.revision).map(|base| self.revlog.entry(base)).transpose()?;
        let object = self.revlog.entry(self.revision)?;
        Ok((base.map_or(0, |base| base.text_len.into()), object.text_len.into()))
    }
}
