//! The functions of a module in which allocation costs most: where to begin to look.

use crate::measure::report::{Cell, PAGE_STYLE, Style, Table};
use crate::measure::stats::{Function, Place};
use maud::{DOCTYPE, html};
use serde::Serialize;

/// The name of the schema.
pub const SCHEMA: &str = "chordal-explain-index/1";

/// Functions, those that cost most first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Index {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the input file, as given.
    pub module: String,
    /// Target triple of the module.
    pub target: String,
    /// The allocator that is explained, and the one that it is compared with, if any.
    pub allocators: Vec<String>,
    pub functions: Vec<Entry>,
    /// How many more functions the module has.
    pub left_out: usize,
}

/// One function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub name: String,
    pub place: Option<Place>,
    /// What allocation costs, in executions for each execution of the function, and divided by what the selected code executes.
    pub overhead: f64,
    pub share: f64,
    pub reloads: f64,
    pub stores: f64,
    /// The overhead by the allocator that it is compared with.
    pub against: Option<f64>,
    /// The file name of its page.
    pub page: String,
}

impl Entry {
    /// A function as two allocators have allocated it, or one.
    pub fn new(function: &Function, against: Option<&Function>) -> Self {
        let counts = &function.counts;
        Entry {
            name: function.name.clone(),
            place: function.place.clone(),
            overhead: counts.overhead,
            share: counts.overhead_share,
            reloads: counts.overhead_parts.reloads,
            stores: counts.overhead_parts.stores,
            against: against.map(|other| other.counts.overhead),
            page: file_name(&function.name),
        }
    }
}

/// A file name for a function's page. Symbols may have any characters, and be longer than file names.
fn file_name(function: &str) -> String {
    const LONGEST: usize = 150;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.$-".contains(c);
    let plain: String = function.chars().take(LONGEST).map(|c| if is_plain(c) { c } else { '_' }).collect();
    if plain == function && !plain.starts_with('.') && plain != "index" {
        return format!("{plain}.html");
    }
    format!("{plain}-{:016x}.html", xxhash_rust::xxh3::xxh3_64(function.as_bytes()))
}

impl Index {
    pub fn new(module: String, target: String, allocators: Vec<String>, mut functions: Vec<Entry>, top: usize) -> Self {
        functions.sort_by(|a, b| b.overhead.total_cmp(&a.overhead));
        let left_out = functions.len().saturating_sub(top);
        functions.truncate(top);
        Index { schema: SCHEMA.into(), module, target, allocators, functions, left_out }
    }

    fn header(&self) -> Vec<String> {
        let header = ["function", "place", "overhead", "share", "reloads", "stores"].map(str::to_owned);
        header.into_iter().chain(self.allocators.get(1).cloned()).collect()
    }

    /// A table for a terminal.
    pub fn text(&self, style: Style) -> String {
        let mut table = Table::new(self.header());
        for entry in &self.functions {
            let place = entry.place.as_ref().map_or(Cell::Missing, |place| Cell::from(format!("{}:{}", place.file, place.line)));
            let amount = |cost: f64| Cell::Amount(cost, 3);
            let cells = [entry.name.as_str().into(), place, amount(entry.overhead), Cell::Share(entry.share)];
            let parts = [amount(entry.reloads), amount(entry.stores)];
            table.row(cells.into_iter().chain(parts).chain(entry.against.map(amount)));
        }
        let more = if self.left_out > 0 { format!("and {} more functions\n", self.left_out) } else { String::new() };
        let first = self.functions.first().map_or("F", |entry| entry.name.as_str());
        format!(
            "{}, {}: what allocation by {} costs, in executions a call\n\n{}{more}\nchordal explain {} --function '{first}' says why.\n",
            self.module,
            self.target,
            self.allocators[0],
            table.render(style),
            self.module
        )
    }

    /// A start page, with links.
    pub fn html(&self) -> String {
        let title = format!("{}: what allocation costs", self.module);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) }
                    style { (maud::PreEscaped(PAGE_STYLE)) }
                }
                body {
                    main {
                        h1 { (title) }
                        p {
                            "Functions for " (self.target) ", allocated by " (self.allocators[0])
                            ", those that cost most first. Costs are executions of instructions for each call of the function: a reload \
                             counts 4, a store 1, a copy 0.2. The share divides them by what the selected code executes."
                        }
                        table {
                            thead { tr { @for name in self.header() { th scope="col" { (name) } } } }
                            tbody {
                                @for entry in &self.functions {
                                    tr {
                                        th scope="row" { a href=(entry.page) { (entry.name) } }
                                        td { @if let Some(place) = &entry.place { (place.file) ":" (place.line) } }
                                        td class="number" { (format!("{:.3}", entry.overhead)) }
                                        td class="number" { (format!("{:.2}%", 100.0 * entry.share)) }
                                        td class="number" { (format!("{:.3}", entry.reloads)) }
                                        td class="number" { (format!("{:.3}", entry.stores)) }
                                        @if let Some(against) = entry.against { td class="number" { (format!("{against:.3}")) } }
                                    }
                                }
                            }
                        }
                        @if self.left_out > 0 { p { "And " (self.left_out) " more functions, which cost less." } }
                    }
                }
            }
        };
        page.into_string()
    }
}
