//! How results are shown: tables for people, Markdown and CSV.

mod table;

pub use table::{Cell, Style, Table};
