//! Times our allocation against the LLVM passes that it replaces, on the same modules in the same run.
//!
//! Each repetition compiles a module once with each allocator, so that disturbances by other processes affect both alike;
//! the two take turns in going first. Ratios are taken within each such pair.

use anyhow::{Context as _, Result, bail, ensure};
use chordal::cli::allocators::{self, Configured};
use chordal::llvm::{
    self, Algorithm, CompileOptions, Compiled, Module, Output, Pace, Relocation, Sections, Source, Stock, Tables,
};
use chordal::measure::stats::{CHECKER, Counts, Times};
use clap::Parser;
use std::path::{Path, PathBuf};
use std::time::Instant;

const DEFAULT_MODULE: &str = "corpus/sqlite.bc";
/// The name of LLVM's time among the phases.
const LLVM: &str = "llvm";

/// Time allocation against the LLVM passes that it replaces
#[derive(Parser)]
struct Arguments {
    /// Modules to compile besides SQLite
    modules: Vec<PathBuf>,

    /// How many times each module is compiled with each allocator
    #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// The allocator that is timed, followed by its own options
    #[arg(long, default_value = allocators::DEFAULT, value_parser = allocators::configured)]
    allocator: Configured,

    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let default = PathBuf::from(DEFAULT_MODULE);
    for path in std::iter::once(&default).chain(&arguments.modules) {
        bench(path, &arguments.allocator, arguments.repetitions).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Prints the table of one module.
fn bench(path: &Path, allocator: &Configured, repetitions: u32) -> Result<()> {
    let source = Source::read(path)?;
    let greedy = Configured::Llvm(Stock { algorithm: Algorithm::Greedy, schedule: true });
    let mut series = Series::default();
    let mut instructions = 0;
    for repetition in 0..repetitions {
        let ours_first = repetition % 2 == 0;
        for ours in [ours_first, !ours_first] {
            let allocator = if ours { allocator } else { &greedy };
            let (counts, whole) = compile(&source, allocator, Pace::InTurn)?;
            series.whole[usize::from(ours)].push(whole);
            if ours {
                instructions = counts.fixed.instructions;
                series.ahead.push(compile(&source, allocator, Pace::default())?.1);
            }
            series.add(counts.time_ns.context("the compiler keeps times")?, ours)?;
        }
    }
    println!("{}: {instructions} instructions, {repetitions} repetitions", path.display());
    series.print();
    Ok(())
}

/// Compiles the module. Returns the sums over its functions, and the nanoseconds that it took.
fn compile(source: &Source, allocator: &Configured, pace: Pace) -> Result<(Counts, u64)> {
    let start = Instant::now();
    let module = Module::parse(source)?;
    let options = CompileOptions {
        allocator: allocator.allocator(true, false),
        output: Output::Assembly,
        sections: Sections::default(),
        relocation: Relocation::default(),
        tables: Tables::default(),
        verify: false,
        registers: None,
        fallback: false,
        sizes: false,
        pace,
        list: false,
        remarks: false,
        progress: &|_| (),
    };
    let Compiled { functions, .. } = llvm::compile(module, &options)?;
    ensure!(!functions.is_empty(), "there is no function in it");
    Ok((Counts::total(&functions), start.elapsed().as_nanos() as u64))
}

/// The times of all repetitions, in nanoseconds.
#[derive(Default)]
struct Series {
    /// By phase, in the order in which they run.
    phases: Vec<(String, Vec<u64>)>,
    /// Allocation as a whole, without the checker.
    ours: Vec<u64>,
    llvm: Vec<u64>,
    /// From the module to assembly, with LLVM's allocator and with ours; the checker is included.
    whole: [Vec<u64>; 2],
    /// As `whole` with ours, on all processors.
    ahead: Vec<u64>,
}

impl Series {
    fn add(&mut self, times: Times, ours: bool) -> Result<()> {
        if !ours {
            let Some(&time) = times.phases.get(LLVM).filter(|&&time| time > 0) else { bail!("LLVM's passes were not timed") };
            self.llvm.push(time);
            return Ok(());
        }
        for (phase, &time) in &times.phases {
            match self.phases.iter_mut().find(|(name, _)| name == phase) {
                Some((_, series)) => series.push(time),
                None => self.phases.push((phase.clone(), vec![time])),
            }
        }
        self.ours.push(times.total - times.phases.get(CHECKER).copied().unwrap_or(0));
        Ok(())
    }

    fn print(&self) {
        let row = |name: &str, series: &[u64]| {
            let (median, min, max) = spread(series.iter().map(|&time| time as f64 / 1e6));
            println!("  {name:<24} {median:>9.1} {min:>9.1} {max:>9.1}");
        };
        println!("  {:<24} {:>9} {:>9} {:>9}", "milliseconds", "median", "min", "max");
        for (phase, series) in self.phases.iter().filter(|(phase, _)| phase != CHECKER) {
            row(&format!("  {phase}"), series);
        }
        row("chordal", &self.ours);
        row("LLVM's passes", &self.llvm);
        let (median, min, max) = spread(self.ours.iter().zip(&self.llvm).map(|(&ours, &llvm)| ours as f64 / llvm as f64));
        println!("  {:<24} {median:>9.2} {min:>9.2} {max:>9.2}", "chordal / LLVM, by pair");
        for (_, series) in self.phases.iter().filter(|(phase, _)| phase == CHECKER) {
            row("checker (not included)", series);
        }
        let [llvm, ours] = &self.whole;
        row("compilation, chordal", ours);
        row("compilation, LLVM", llvm);
        row("chordal, beside LLVM", &self.ahead);
        let (median, min, max) = spread(self.ahead.iter().zip(llvm).map(|(&ours, &llvm)| ours as f64 / llvm as f64));
        println!("  {:<24} {median:>9.2} {min:>9.2} {max:>9.2}", "the latter / LLVM");
    }
}

/// Median, minimum and maximum of at least one number.
fn spread(series: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut sorted: Vec<f64> = series.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
    (median, sorted[0], sorted[sorted.len() - 1])
}
