//! Documents and results in the forms that people and programs read.

pub(crate) mod csv;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod text;
