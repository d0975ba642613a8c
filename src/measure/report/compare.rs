//! Writes a comparison as tables, CSV, JSON, and the JSON of LLVM's test suite.

use super::counters;
use super::names::Names;
use super::table::{Cell, Style, Table};
use crate::measure::compare::record::{Record, SCHEMA};
use crate::measure::compare::summary::{FunctionCounts, Group, Kind, LeftOut, METRICS, Metric, OVERHEAD, Summary};
use crate::measure::stats::Counts;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// How many of the functions that were left out are named, in each group.
const NAMED: usize = 10;

/// A comparison to be written: the sums, and the detail below them.
pub struct Comparison<'c> {
    pub summary: &'c Summary,
    pub detail: Detail<'c>,
    /// How tables name functions.
    pub names: Names,
}

/// The detail below the sums of a group.
#[derive(Clone, Copy)]
pub enum Detail<'c> {
    None,
    Modules,
    /// The functions of each group of the summary, and how many of them are shown.
    Functions(&'c [Vec<FunctionCounts<'c>>], usize),
}

/// The cells that say what a row is about, and its counts.
type TableRow<'c> = (Vec<Cell>, &'c Counts);

impl<'c> Comparison<'c> {
    /// A section for each target and register list, for people.
    pub fn tables(&self, style: Style) -> String {
        let mut text = String::new();
        for (index, group) in self.summary.groups.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            self.section(&mut text, index, group, style);
        }
        text
    }

    fn section(&self, text: &mut String, index: usize, group: &Group, style: Style) {
        let heading = if style == Style::Markdown { "### " } else { "" };
        let _ = write!(text, "{heading}{}, {} registers", group.target, group.registers);
        if group.modules.is_empty() {
            text.push('\n');
        } else {
            let functions: u64 = group.modules.iter().map(|module| module.functions).sum();
            let sums = table(&["allocator"], totals(group)).render(style);
            let _ = write!(text, ": {} modules, {functions} functions\n\n{sums}", group.modules.len());
            if let Some(ratios) = ratios(group) {
                let _ = writeln!(text, "\nGeometric means of the modules' ratios to {}:\n", self.summary.baseline);
                text.push_str(&ratios.render(style));
            }
            let below = table(self.detail.columns(), self.detail.rows(index, group, self.names));
            if !below.is_empty() {
                let _ = write!(text, "\n{}:\n\n{}", self.detail.title(), below.render(style));
            }
            if let more @ 1.. = self.detail.not_shown(index) {
                let _ = writeln!(text, "\nand {more} more: `--top` says how many are shown, `--format csv` has all");
            }
        }
        text.push_str(&notes(group, self.names));
    }

    /// One table with every counter, for programs.
    pub fn csv(&self) -> String {
        let mut rows = Vec::new();
        for (index, group) in self.summary.groups.iter().enumerate() {
            let below = match self.detail {
                Detail::None => totals(group),
                detail => detail.rows(index, group, Names::Mangled),
            };
            let about = |(about, counts): TableRow<'c>| {
                ([vec![group.target.as_str().into(), group.registers.as_str().into()], about].concat(), counts)
            };
            rows.extend(below.into_iter().map(about));
        }
        counters::csv(&[&["target", "registers"], self.detail.columns()].concat(), rows)
    }
}

impl<'c> Detail<'c> {
    fn title(self) -> &'static str {
        match self {
            Detail::None | Detail::Modules => "By module",
            Detail::Functions(..) => "The functions that differ most in their share of overhead, by their size",
        }
    }

    /// The columns that say what a row is about.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Detail::None => &["allocator"],
            Detail::Modules => &["module", "allocator"],
            Detail::Functions(..) => &["module", "function", "allocator"],
        }
    }

    /// The rows below the sums of a group.
    fn rows(self, index: usize, group: &'c Group, names: Names) -> Vec<TableRow<'c>> {
        let mut rows = Vec::new();
        match self {
            Detail::None => {}
            Detail::Modules => {
                for module in &group.modules {
                    rows.extend(each_allocator(group, vec![module.source.as_str().into()], &module.sums));
                }
            }
            Detail::Functions(functions, shown) => {
                for function in functions[index].iter().take(shown) {
                    let about = vec![function.source.into(), names.of(function.function).into()];
                    rows.extend(each_allocator(group, about, function.counts.iter().copied()));
                }
            }
        }
        rows
    }

    /// How many functions of a group have no row.
    fn not_shown(self, index: usize) -> usize {
        match self {
            Detail::None | Detail::Modules => 0,
            Detail::Functions(functions, shown) => functions[index].len().saturating_sub(shown),
        }
    }
}

fn each_allocator<'c>(
    group: &'c Group,
    about: Vec<Cell>,
    counts: impl IntoIterator<Item = &'c Counts>,
) -> impl Iterator<Item = TableRow<'c>> {
    let about = move |allocator: &String| [about.clone(), vec![allocator.as_str().into()]].concat();
    group.allocators.iter().map(about).zip(counts)
}

fn totals(group: &Group) -> Vec<TableRow<'_>> {
    group.rows.iter().map(|row| (vec![row.allocator.as_str().into()], &row.total)).collect()
}

/// A table of those counts that people are shown.
fn table(about: &[&'static str], rows: Vec<TableRow<'_>>) -> Table {
    let mut table = Table::new(about.iter().copied().chain(columns()));
    for (about, counts) in rows {
        table.row(about.into_iter().chain(counted(counts)));
    }
    table
}

fn columns() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|metric| metric.title).chain(["ms", "KiB"])
}

fn counted(counts: &Counts) -> impl Iterator<Item = Cell> {
    let time = counts.allocation_ns().map_or(Cell::Missing, |time| Cell::Amount(time as f64 / 1e6, 1));
    let memory = counts.memory_bytes.map_or(Cell::Missing, |bytes| Cell::Amount(bytes as f64 / 1024.0, 0));
    let cell = |metric: &Metric| match metric.kind {
        Kind::Count => Cell::Amount((metric.of)(counts), 0),
        Kind::Share => Cell::Share((metric.of)(counts)),
    };
    METRICS.iter().map(cell).chain([time, memory])
}

/// The ratios of all allocators, if the baseline is among them and not alone.
fn ratios(group: &Group) -> Option<Table> {
    if group.rows.len() < 2 {
        return None;
    }
    let mut table = Table::new(["allocator"].into_iter().chain(columns()));
    for row in &group.rows {
        let shown = |ratio: Option<f64>| ratio.map_or(Cell::Missing, |ratio| Cell::Amount(ratio, 3));
        let of = row.ratios.as_ref()?;
        let ratios = METRICS.iter().map(|metric| shown(of[metric.name]));
        let ratios = ratios.chain([shown(row.time_ratio), shown(row.memory_ratio)]);
        table.row([row.allocator.as_str().into()].into_iter().chain(ratios));
    }
    Some(table)
}

/// The notes below the tables: functions and runs that are in no sum, with reasons, and rows of which some functions were
/// allocated in another way than the name of the row says.
fn notes(group: &Group, names: Names) -> String {
    let mut text = String::new();
    if !group.passed_over.is_empty() {
        let _ = writeln!(text, "\nPassed over:\n");
        for (reason, allocators) in by_reason(&group.passed_over) {
            let _ = writeln!(text, "- {}: {reason}", allocators.join(", "));
        }
    }
    if !group.left_out.is_empty() {
        let _ = writeln!(text, "\nLeft out of all sums, since not every allocator compiled them:\n");
        let functions = by_function(&group.left_out);
        for ((source, function), left_out) in functions.iter().take(NAMED) {
            let allocators: Vec<&str> = left_out.iter().map(|left_out| left_out.allocator.as_str()).collect();
            let who = if allocators.len() == group.allocators.len() { "all".into() } else { allocators.join(", ") };
            let _ = writeln!(text, "- {} ({source}): {who}: {}", names.of(function), left_out[0].reason);
        }
        if functions.len() > NAMED {
            let _ = writeln!(text, "- and {} more: `--format json` names all", functions.len() - NAMED);
        }
    }
    let degraded: Vec<_> = group.rows.iter().filter(|row| row.total.degraded_functions > 0).collect();
    if !degraded.is_empty() {
        let _ = writeln!(
            text,
            "\nAllocated in another way than asked for, in some functions (`degraded` in the JSON says how and why):\n"
        );
        for row in degraded {
            let _ = writeln!(text, "- {}: {} functions", row.allocator, row.total.degraded_functions);
        }
    }
    if !group.missing.is_empty() {
        let _ = writeln!(text, "\nNothing came of:\n");
        for missing in &group.missing {
            let _ = writeln!(text, "- {}: {}: {}: {}", missing.source, missing.allocator, missing.outcome, missing.message);
        }
    }
    text
}

/// The allocators that did not compile a function, by module and function.
fn by_function(left_out: &[LeftOut]) -> IndexMap<(&str, &str), Vec<&LeftOut>> {
    let mut functions: IndexMap<(&str, &str), Vec<&LeftOut>> = IndexMap::new();
    for left_out in left_out {
        functions.entry((&left_out.source, &left_out.function)).or_default().push(left_out);
    }
    functions
}

/// The allocators that share a reason.
fn by_reason(passed_over: &IndexMap<String, String>) -> IndexMap<&str, Vec<&str>> {
    let mut reasons: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (allocator, reason) in passed_over {
        reasons.entry(reason).or_default().push(allocator);
    }
    reasons
}

/// The JSON document: the sums and the records.
#[derive(Serialize)]
struct Document<'c> {
    schema: &'static str,
    summary: &'c Summary,
    modules: &'c [Record],
}

/// The comparison as a JSON document.
///
/// # Errors
/// None in practice: all of it can be written as JSON.
pub fn json(summary: &Summary, records: &[Record]) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&Document { schema: SCHEMA, summary, modules: records })? + "\n")
}

/// The records in the format of results of LLVM's test suite. A test is a module, or a function if the records have
/// functions. Its name includes the allocator and the registers only if there are several, so that files of one allocator
/// each can be compared.
///
/// # Errors
/// None in practice: all of it can be written as JSON.
pub fn lit(records: &[Record]) -> serde_json::Result<String> {
    let runs = || records.iter().flat_map(|record| &record.runs);
    let several = |key: fn(&crate::measure::compare::record::Run) -> &str| {
        let first = runs().next().map(key);
        runs().any(|run| Some(key(run)) != first)
    };
    let (allocators, lists) = (several(|run| &run.allocator), several(|run| &run.registers));
    let mut tests = Vec::new();
    for record in records {
        for run in &record.runs {
            let Some(statistics) = run.statistics() else { continue };
            let mut name = record.source.clone();
            if allocators {
                name = format!("{name} {}", run.allocator);
            }
            if lists {
                name = format!("{name} {}", run.registers);
            }
            if statistics.functions.is_empty() {
                tests.push(test(&name, &statistics.total));
            }
            for function in &statistics.functions {
                tests.push(test(&format!("{name} {}", function.name), &function.counts));
            }
        }
    }
    Ok(serde_json::to_string_pretty(&json!({ "tests": tests }))? + "\n")
}

/// One result, with LLVM's names where LLVM counts the same, and chordal's for the rest.
fn test(name: &str, counts: &Counts) -> Value {
    let mut metrics = Map::new();
    metrics.insert("regalloc.NumSpills".into(), counts.spill.stores.into());
    metrics.insert("regalloc.NumReloads".into(), counts.spill.reloads.into());
    metrics.insert("asm-printer.EmittedInsts".into(), counts.fixed.instructions.into());
    for metric in METRICS.iter().chain([&OVERHEAD]) {
        metrics.insert(format!("chordal.{}", metric.name), (metric.of)(counts).into());
    }
    if let Some(bytes) = counts.memory_bytes {
        metrics.insert("chordal.memory_bytes".into(), bytes.into());
    }
    if let Some(time) = counts.allocation_ns() {
        metrics.insert("chordal.allocation_seconds".into(), (time as f64 / 1e9).into());
    }
    json!({ "name": name, "code": "PASS", "metrics": metrics })
}
