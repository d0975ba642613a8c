//! What allocation comes to: statistics, comparisons, and how they are shown.

pub mod compare;
pub mod count;
pub mod diff;
pub mod meter;
pub mod report;
pub mod stats;
