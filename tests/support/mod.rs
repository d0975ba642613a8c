//! Shared parts of the integration tests.

pub mod assembly;
pub mod fixture;
pub mod fixtures;
pub mod interpret;
pub mod naive;
pub mod phases;
pub mod presets;
pub mod programs;
pub mod random;
pub mod reach;
