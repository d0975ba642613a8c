//! Writes results: tables for people, Markdown, CSV, annotations of a workflow, and charts.

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
