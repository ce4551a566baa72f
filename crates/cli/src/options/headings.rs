//! The headings of options in help texts. Every command has the same ones, in this order.

/// What a command works on: codecs, workloads, revisions.
pub(crate) const WHAT: &str = "What";
/// How long it measures.
pub(crate) const HOW_LONG: &str = "How long";
/// Where results go, and in which form.
pub(crate) const OUTPUT: &str = "Output";
/// What few users need. Commands with many options leave these out of `-h`.
pub(crate) const EXPERT: &str = "Expert";
