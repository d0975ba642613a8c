//! Many modules under many allocators.

pub mod record;
