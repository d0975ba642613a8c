//! Times the algorithms for join sets, with and without reuse [FA05], on the variables of modules before SSA form.
//!
//! A repetition computes the join sets of all variables of a module by every algorithm, one function after the other, so
//! that disturbances by other processes affect all alike.

use anyhow::{Context as _, Result, ensure};
use chordal::analysis::{DjGraph, Dominators, JoinSet, JoinSets, Order, Worklist};
use chordal::llvm::{Module, Source, unpromoted};
use chordal::machine::{Block, Unpromoted};
use clap::Parser;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DEFAULT_MODULE: &str = "corpus/O0/sqlite.bc";

/// Time the computation of join sets, with and without reuse
#[derive(Parser)]
struct Arguments {
    /// Modules before SSA form [default: SQLite of the corpus at -O0]
    modules: Vec<PathBuf>,

    /// How many times everything is computed
    #[arg(short = 'n', long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.modules.is_empty() {
        arguments.modules.push(DEFAULT_MODULE.into());
    }
    for path in &arguments.modules {
        bench(path, arguments.repetitions).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The algorithms that are timed, in the order of the table. The others are compared with the first.
const WAYS: [&str; 6] = ["worklist", "worklist, reuse", "worklist, pruned", "DJ-graph", "DJ-graph, reuse", "DJ-graph, pruned"];

fn bench(path: &Path, repetitions: u32) -> Result<()> {
    let source = Source::read(path)?;
    let functions = unpromoted(&Module::parse(&source)?);
    let functions: Vec<Subject> = functions.iter().filter(|function| !function.variables.is_empty()).map(Subject::new).collect();
    ensure!(!functions.is_empty(), "no function has variables in memory: it is not before SSA form");
    let mut series: [Vec<Duration>; WAYS.len()] = Default::default();
    for _ in 0..repetitions {
        let mut sums = [Duration::ZERO; WAYS.len()];
        for (way, sum) in sums.iter_mut().enumerate() {
            let start = Instant::now();
            functions.iter().for_each(|function| function.join_sets(way));
            *sum += start.elapsed();
        }
        series.iter_mut().zip(sums).for_each(|(series, sum)| series.push(sum));
    }
    println!("{}: {} functions, {repetitions} repetitions", path.display(), functions.len());
    print(&mut series);
    Ok(())
}

/// A function before SSA form, whose variables need φs.
struct Subject<'f> {
    function: &'f Unpromoted,
    order: Order,
    dominators: Dominators,
    assigned: Vec<&'f [Block]>,
}

impl<'f> Subject<'f> {
    fn new(function: &'f Unpromoted) -> Self {
        let order = Order::new(&function.graph);
        let dominators = Dominators::new(&function.graph, &order);
        let assigned = function.variables.iter().map(|variable| &variable.assigned[..]).collect();
        Subject { function, order, dominators, assigned }
    }

    /// Computes all join sets, starting from the control-flow graph.
    fn join_sets(&self, way: usize) {
        match way {
            0..3 => self.by(way, &mut Worklist::new(&self.function.graph, &self.order, &self.dominators)),
            _ => self.by(way - 3, &mut DjGraph::new(&self.function.graph, &self.order, &self.dominators)),
        }
    }

    fn by(&self, way: usize, algorithm: &mut impl JoinSet) {
        match way {
            0 => self.assigned.iter().for_each(|assigned| one(assigned, |_| true, algorithm)),
            1 => drop(black_box(JoinSets::new(&self.assigned, algorithm))),
            _ => {
                for variable in &self.function.variables {
                    let live = self.function.live_in(variable);
                    one(&variable.assigned, |block| live.contains(block), algorithm);
                }
            }
        }
    }
}

fn one(assigned: &[Block], wanted: impl Fn(Block) -> bool, algorithm: &mut impl JoinSet) {
    let mut joins = Vec::new();
    algorithm.append(assigned, wanted, &mut joins);
    joins.sort_unstable();
    black_box(joins);
}

fn print(series: &mut [Vec<Duration>; WAYS.len()]) {
    let first: Vec<f64> = series[0].iter().map(Duration::as_secs_f64).collect();
    println!("  {:<20} {:>12} {:>12}", "", "milliseconds", "to the first");
    for (way, series) in WAYS.iter().zip(series) {
        let ratios = series.iter().zip(&first).map(|(time, first)| time.as_secs_f64() / first);
        let milliseconds = series.iter().map(|time| time.as_secs_f64() * 1e3);
        println!("  {way:<20} {:>12.2} {:>12.2}", median(milliseconds), median(ratios));
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}
