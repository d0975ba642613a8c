//! Sums records up: the same functions under every allocator, and ratios to one of the allocators.

use super::record::{Outcome, Record, Run};
use crate::measure::stats::{self, Counts, Function, Statistics};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use std::collections::HashMap;

/// A number by which allocators are compared.
pub struct Metric {
    /// Its path in the JSON of the statistics.
    pub name: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    pub of: fn(&Counts) -> f64,
    pub kind: Kind,
}

/// How a number is summed and averaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Count,
    /// A part of a whole: usually much smaller than one. Several give a mean, not a sum.
    Share,
}

impl Metric {
    const fn count(name: &'static str, title: &'static str, of: fn(&Counts) -> f64) -> Self {
        Metric { name, title, of, kind: Kind::Count }
    }
}

/// The metrics that tables show.
pub const METRICS: &[Metric] = &[
    Metric::count("static.loads", "loads", |counts| counts.fixed.loads as f64),
    Metric::count("static.stores", "stores", |counts| counts.fixed.stores as f64),
    Metric::count("static.moves", "moves", |counts| counts.fixed.moves as f64),
    Metric::count("static.xors", "xors", |counts| counts.fixed.xors as f64),
    Metric::count("static.instructions", "instructions", |counts| counts.fixed.instructions as f64),
    Metric::count("static.bytes", "bytes", |counts| counts.fixed.bytes.unwrap_or(0) as f64),
    Metric::count("spill.reloads", "reloads", |counts| counts.spill.reloads as f64),
    Metric::count("spill.stores", "spill stores", |counts| counts.spill.stores as f64),
    Metric { name: "overhead_share", title: "overhead share", of: |counts| counts.overhead_share, kind: Kind::Share },
];

/// The sum of overheads. A few functions decide it, so it is written for programs but not shown in tables.
pub const OVERHEAD: Metric = Metric::count("overhead", "overhead", |counts| counts.overhead);

/// All comparisons that the records allow: one for each target and register list.
#[derive(Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The allocator to which ratios are taken.
    pub baseline: String,
    pub groups: Vec<Group>,
}

/// The modules of one target with one register list.
#[derive(Debug, PartialEq, Serialize)]
pub struct Group {
    /// Architecture.
    pub target: String,
    /// As they were requested.
    pub registers: String,
    /// The allocators that exist with these registers.
    pub allocators: Vec<String>,
    /// Modules of which every allocator has statistics.
    pub modules: Vec<ModuleSums>,
    /// One for each allocator.
    pub rows: Vec<Row>,
    /// Functions that some allocator did not compile: they are in no sum.
    pub left_out: Vec<LeftOut>,
    /// Runs without statistics: their modules are in no sum.
    pub missing: Vec<Missing>,
    /// Allocators that do not exist with these registers, and the reason given for the first module.
    pub passed_over: IndexMap<String, String>,
}

/// One module in a comparison.
#[derive(Debug, PartialEq, Serialize)]
pub struct ModuleSums {
    pub source: String,
    /// Functions that every allocator compiled.
    pub functions: u64,
    /// Sums over them, one for each allocator.
    pub sums: Vec<Counts>,
}

/// One allocator in a comparison.
#[derive(Debug, PartialEq, Serialize)]
pub struct Row {
    pub allocator: String,
    /// Sum over all modules.
    pub total: Counts,
    /// Geometric means, over the modules, of this allocator's counts divided by those of the baseline, by the name of the
    /// metric; `None` if the baseline is not in the group. One is added to counts, since they may be zero; the mean of a
    /// share is `None` if no module has a positive one under every allocator.
    pub ratios: Option<IndexMap<&'static str, Option<f64>>>,
    /// As [`Self::ratios`], of the time of allocation; `None` if times were not measured.
    pub time_ratio: Option<f64>,
    /// As [`Self::time_ratio`], of the largest use of the heap.
    pub memory_ratio: Option<f64>,
}

/// A function that an allocator did not compile.
#[derive(Debug, PartialEq, Serialize)]
pub struct LeftOut {
    pub source: String,
    pub function: String,
    pub allocator: String,
    pub reason: String,
}

/// A run without statistics.
#[derive(Debug, PartialEq, Serialize)]
pub struct Missing {
    pub source: String,
    pub allocator: String,
    /// How it ended, as in the record.
    pub outcome: &'static str,
    pub message: String,
}

/// One function under every allocator of a comparison.
#[derive(Debug, PartialEq)]
pub struct FunctionCounts<'r> {
    pub source: &'r str,
    pub function: &'r str,
    /// One for each allocator.
    pub counts: Vec<&'r Counts>,
}

impl Summary {
    /// Sums up records that were all made by the same requests.
    pub fn new(records: &[Record], baseline: &str) -> Self {
        let groups = grouped(records).into_iter().map(|((target, registers), modules)| {
            let comparison = Comparison::new(modules);
            comparison.group(target, registers, baseline)
        });
        Summary { baseline: baseline.to_owned(), groups: groups.collect() }
    }
}

/// The functions of each group of [`Summary::groups`], those first in which an allocator's share of overhead differs most
/// from the baseline's, times the size of the function.
pub fn functions<'r>(records: &'r [Record], baseline: &str) -> Vec<Vec<FunctionCounts<'r>>> {
    grouped(records).into_values().map(|modules| Comparison::new(modules).functions(baseline)).collect()
}

type Modules<'r> = Vec<(&'r str, Vec<&'r Run>)>;

/// The runs of each target and register list, by module. Where all runs of a module failed, its target is unknown.
fn grouped(records: &[Record]) -> IndexMap<(String, String), Modules<'_>> {
    let mut groups: IndexMap<_, Modules<'_>> = IndexMap::new();
    for record in records {
        let triple = record.runs.iter().find_map(Run::statistics).map_or("unknown target", |statistics| &statistics.target);
        for run in &record.runs {
            let modules = groups.entry((stats::architecture(triple).to_owned(), run.registers.clone())).or_default();
            match modules.last_mut() {
                Some((source, runs)) if *source == record.source => runs.push(run),
                _ => modules.push((&record.source, vec![run])),
            }
        }
    }
    groups
}

/// The runs of one group that can be compared, and the reasons why the others cannot.
struct Comparison<'r> {
    allocators: Vec<&'r str>,
    /// Of each module, the statistics of each allocator, in the order of `allocators`.
    modules: Vec<(&'r str, Vec<&'r Statistics>)>,
    missing: Vec<Missing>,
    passed_over: IndexMap<String, String>,
}

impl<'r> Comparison<'r> {
    fn new(runs: Modules<'r>) -> Self {
        let (mut allocators, mut passed_over) = (IndexSet::new(), IndexMap::new());
        for run in runs.iter().flat_map(|(_, runs)| runs) {
            if let Outcome::NotApplicable { message } = &run.outcome {
                passed_over.entry(run.allocator.clone()).or_insert_with(|| message.clone());
            } else {
                allocators.insert(run.allocator.as_str());
            }
        }
        let allocators = allocators.into_iter().collect();
        let mut comparison = Comparison { allocators, modules: Vec::new(), missing: Vec::new(), passed_over };
        for (source, runs) in runs {
            comparison.add(source, &runs);
        }
        comparison
    }

    /// Adds a module if every allocator compiled it.
    fn add(&mut self, source: &'r str, runs: &[&'r Run]) {
        let mut statistics = Vec::new();
        for &allocator in &self.allocators {
            let Some(run) = runs.iter().find(|run| run.allocator == allocator) else { continue };
            match run.outcome.shortfall() {
                None => statistics.extend(run.statistics()),
                Some((outcome, message)) => self.missing.push(Missing {
                    source: source.to_owned(),
                    allocator: allocator.to_owned(),
                    outcome,
                    message: message.to_owned(),
                }),
            }
        }
        if statistics.len() == self.allocators.len() && !statistics.is_empty() {
            self.modules.push((source, statistics));
        }
    }

    fn group(self, target: String, registers: String, baseline: &str) -> Group {
        let mut left_out = Vec::new();
        let mut modules = Vec::new();
        for (source, statistics) in &self.modules {
            let compiled = Compiled::new(statistics);
            left_out.extend(compiled.left_out(source, &self.allocators));
            let sums = statistics.iter().map(|statistics| Counts::total(compiled.functions(statistics))).collect();
            modules.push(ModuleSums { source: (*source).to_owned(), functions: compiled.count(), sums });
        }
        let baseline = self.allocators.iter().position(|&allocator| allocator == baseline);
        Group {
            target,
            registers,
            rows: (0..self.allocators.len()).map(|index| row(&self.allocators, index, baseline, &modules)).collect(),
            allocators: self.allocators.into_iter().map(str::to_owned).collect(),
            modules,
            left_out,
            missing: self.missing,
            passed_over: self.passed_over,
        }
    }

    fn functions(&self, baseline: &str) -> Vec<FunctionCounts<'r>> {
        let baseline = self.allocators.iter().position(|&allocator| allocator == baseline).unwrap_or(0);
        let mut functions = Vec::new();
        for (source, statistics) in &self.modules {
            let compiled = Compiled::new(statistics);
            let mut counts: IndexMap<&str, Vec<&Counts>> = IndexMap::new();
            for function in statistics.iter().flat_map(|statistics| compiled.functions(statistics)) {
                counts.entry(&function.name).or_default().push(&function.counts);
            }
            functions.extend(counts.into_iter().map(|(function, counts)| FunctionCounts { source, function, counts }));
        }
        let difference = |counts: &[&Counts]| {
            let own = counts[baseline].overhead_share;
            let largest = counts.iter().map(|counts| (counts.overhead_share - own).abs()).fold(0.0, f64::max);
            largest * counts[baseline].selected.instructions as f64
        };
        // The sort is stable: equal functions stay in the order of the modules.
        functions.sort_by(|a, b| difference(&b.counts).total_cmp(&difference(&a.counts)));
        functions
    }
}

/// The functions of a module, with the number of allocators that compiled each.
struct Compiled<'s, 'r> {
    statistics: &'s [&'r Statistics],
    by_name: HashMap<&'s str, usize>,
}

impl<'s, 'r> Compiled<'s, 'r> {
    fn new(statistics: &'s [&'r Statistics]) -> Self {
        let mut by_name = HashMap::new();
        for function in statistics.iter().flat_map(|statistics| &statistics.functions) {
            *by_name.entry(function.name.as_str()).or_default() += usize::from(function.fallback.is_none());
        }
        Compiled { statistics, by_name }
    }

    fn everywhere(&self, name: &str) -> bool {
        self.by_name[name] == self.statistics.len()
    }

    fn count(&self) -> u64 {
        self.by_name.values().filter(|&&count| count == self.statistics.len()).count() as u64
    }

    /// The functions that every allocator compiled.
    fn functions(&self, statistics: &'r Statistics) -> impl Iterator<Item = &'r Function> {
        statistics.functions.iter().filter(|function| self.everywhere(&function.name))
    }

    fn left_out(&self, source: &str, allocators: &[&str]) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        for (statistics, &allocator) in self.statistics.iter().zip(allocators) {
            for function in &statistics.functions {
                left_out.extend(function.fallback.as_ref().map(|reason| LeftOut {
                    source: source.to_owned(),
                    function: function.name.clone(),
                    allocator: allocator.to_owned(),
                    reason: reason.clone(),
                }));
            }
        }
        left_out
    }
}

fn row(allocators: &[&str], index: usize, baseline: Option<usize>, modules: &[ModuleSums]) -> Row {
    let mut total = Counts::default();
    for module in modules {
        total += &module.sums[index];
    }
    let baseline = baseline.filter(|_| !modules.is_empty());
    let measured = baseline.filter(|_| total.time_ns.is_some());
    let mean = |baseline: usize, metric: &Metric| mean_ratio(modules, index, baseline, metric);
    let ratios = |baseline| METRICS.iter().chain([&OVERHEAD]).map(move |metric| (metric.name, mean(baseline, metric))).collect();
    Row {
        allocator: allocators[index].to_owned(),
        total,
        ratios: baseline.map(ratios),
        time_ratio: measured.and_then(|baseline| mean(baseline, &TIME)),
        memory_ratio: measured.and_then(|baseline| mean(baseline, &MEMORY)),
    }
}

const TIME: Metric = Metric::count("allocation_ns", "time", |counts| counts.allocation_ns().unwrap_or(0) as f64);
const MEMORY: Metric = Metric::count("memory_bytes", "memory", |counts| counts.memory_bytes.unwrap_or(0) as f64);

/// The geometric mean of an allocator's ratios to the baseline, over the modules where all allocators have a ratio. One is
/// added to counts, which may be zero; shares that are not positive have no ratio.
fn mean_ratio(modules: &[ModuleSums], index: usize, baseline: usize, metric: &Metric) -> Option<f64> {
    let added = if metric.kind == Kind::Count { 1.0 } else { 0.0 };
    let of = |counts: &Counts| (metric.of)(counts) + added;
    let comparable = modules.iter().filter(|module| module.sums.iter().all(|counts| of(counts) > 0.0));
    let logarithms: Vec<f64> = comparable.map(|module| (of(&module.sums[index]) / of(&module.sums[baseline])).ln()).collect();
    (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}
