//! The results of allocation: statistics, comparisons of them, and how they are shown.
//!
//! A compilation fills in [`stats`], the schema that everything else reads: [`compare`] runs many modules under many
//! allocators and sums their statistics up, [`diff`] compares two files of them, [`report`] writes either for people and
//! programs. Two instruments stand beside: [`count`] counts the instructions of object files whoever compiled them,
//! [`meter`] the bytes in use on the heap.
//!
//! Requires: nothing of allocation but its counts; no phase of an allocator knows this module (tests/architecture.rs).
//! Ensures: numbers are compared only where both sides have them; whatever is left out of a sum is named.

pub mod compare;
pub mod count;
pub mod diff;
pub mod meter;
pub mod report;
pub mod stats;
