//! Writes results: tables for people, Markdown, CSV, annotations of a workflow, and charts.

pub mod annotations;
pub mod chart;
pub mod compare;
pub mod counters;
pub mod diff;
pub mod diff_page;
pub mod link;
pub mod names;
pub mod plots;
mod table;
pub mod workflow;

pub use names::Names;
pub use table::{Cell, Style, Table};

/// The style of simple pages: headings, tables and lists.
pub const PAGE_STYLE: &str = "
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.4; }
main { max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; }
table { border-collapse: collapse; }
th, td { padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid; }
tbody th, tbody td { font-weight: normal; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
";
