//! How results are shown: tables for people, Markdown, CSV, and annotations of a workflow.

pub mod annotations;
pub mod compare;
pub mod diff;
mod table;
pub mod workflow;

pub use table::{Cell, Style, Table};
