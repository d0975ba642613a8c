//! How results are shown: tables for people, Markdown and CSV.

pub mod compare;
mod table;

pub use table::{Cell, Style, Table};
