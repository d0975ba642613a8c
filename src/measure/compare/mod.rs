//! Compares allocators: runs many modules under each and sums their statistics up.
//!
//! The [`engine`] has [`worker`]s run each module under each allocator in a process of its own, whose outcome goes into a
//! [`record`]. The [`journal`] keeps the records in a file, so that a comparison can be continued; [`identity`] tells
//! whether they are still those of this compiler. The [`summary`] is computed from records alone.
//!
//! Requires: an executable of chordal that writes `chordal-stats/1`.
//! Ensures: every run has an outcome, even one that crashes or takes too long; a sum contains only functions that every
//! allocator of its group compiled.

pub mod engine;
pub mod identity;
pub mod journal;
pub mod record;
pub mod summary;
pub mod worker;
