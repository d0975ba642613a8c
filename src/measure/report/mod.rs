//! How results are shown: tables for people, Markdown, CSV, and annotations of a workflow, charts.

pub mod annotations;
pub mod chart;
pub mod compare;
pub mod counters;
pub mod diff;
pub mod names;
mod table;
pub mod workflow;

pub use names::Names;
pub use table::{Cell, Style, Table};
