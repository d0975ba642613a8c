//! Many modules under many allocators: runs them and sums up what they came to.

pub mod engine;
pub mod identity;
pub mod journal;
pub mod record;
pub mod summary;
pub mod worker;
