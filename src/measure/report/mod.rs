//! Writes results: tables for people, Markdown, CSV, and annotations of a workflow.

pub mod annotations;
pub mod compare;
pub mod counters;
pub mod diff;
pub mod names;
mod table;
pub mod workflow;

pub use names::Names;
pub use table::{Cell, Style, Table};
