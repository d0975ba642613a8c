//! `chordal compare`: runs many allocators on many modules.

use super::choices;
use super::runs::{self, RunOptions, Runs};
use super::tables::{self, TableOptions};
use super::{Failure, allocators, keep_apart};
use crate::llvm::ALL_REGISTERS;
use crate::measure::compare::record::{Outcome, Record};
use crate::measure::compare::summary::{self, Summary};
use crate::measure::compare::worker::Request;
use crate::measure::report::Style;
use crate::measure::report::chart;
use crate::measure::report::compare::{self as report, Comparison, Detail};
use crate::measure::report::plots;
use crate::output::{self, Destination};
use anyhow::{Context as _, anyhow};
use clap::{ArgAction, Args, ValueEnum};
use indexmap::IndexSet;
use std::fs;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  chordal compare prog.bc
      every allocator with all registers: what is left in the code, and ratios to LLVM's greedy allocator
  chordal compare *.bc --allocators spill-free,linear-scan,llvm-greedy --registers 4,8,12,all
      some allocators with few registers and many, summed over all modules
  chordal compare prog.bc --allocators 'tuned,tuned --prepare none' --baseline tuned
      what an option is worth
  chordal compare prog.bc --per function --top 20 --registers 8
      the functions in which allocators differ most
  chordal compare corpus --records all.jsonl -j 2 --format json -o all.json
  chordal compare corpus --records all.jsonl --resume --format markdown
      a long run of all modules in a folder, to be stopped and continued; once it is complete, another view of it takes no time
  chordal compare prog.bc --registers 8,all --chart prog.svg
      overhead and time of every allocator as a picture, too
  chordal compare corpus --plot pictures --per function --format csv -o functions.csv
      pictures, and every counter of every function for pandas: pd.read_csv('functions.csv')
  chordal compare a.bc --allocators spill-free --format lit -o ours.json
      results that compare.py of LLVM's test suite reads (compare.py -m regalloc.NumReloads ours.json theirs.json)

Each module is compiled in a process of its own for each allocator and register list. Sums are over the functions that all
allocators compiled: what one of them cannot do with so few registers is named, and left out for all. A register list that
does not exist on a module's target, or for an allocator, is skipped.

Times are those of allocation alone: for LLVM's allocators, of all passes that chordal replaces. For times that can be
compared, use -j 1 and --repeat.

Exit status: 0 done, 1 a run failed (the others are shown), 2 wrong usage.";

/// Compare allocators on the same selected instructions
///
/// Compiles every module with every allocator and register list, and counts loads, stores, moves, xors and more in the final
/// instructions, in the same way for all.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The modules, as bitcode or textual IR, and folders of them (*.bc and *.ll, also below); `-` is standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,

    /// The allocators, separated by commas; each may be followed by options (whose values may have
    /// commas: NAME=VALUE,...) [default: all but optimal]
    #[arg(long, value_name = "A,B,...", value_parser = allocators::parse_list)]
    allocators: Vec<allocators::List>,

    /// Register lists, separated by commas: `all`, numbers of published lists, or names with spaces between them
    #[arg(long, value_name = "N,M,...", value_delimiter = ',', default_value = ALL_REGISTERS, value_parser = runs::parse_registers)]
    registers: Vec<String>,

    /// The allocator that ratios refer to [default: llvm-greedy if it takes part, otherwise the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,

    /// Whether LLVM's scheduler runs before LLVM's allocators, as it does in llc; chordal's have none
    #[arg(long, value_name = "on|off", hide_possible_values = true, default_value = "on", action = ArgAction::Set, value_parser = choices::parser::<bool>())]
    llvm_schedule: bool,

    /// What to show below the sums
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Per::Total)]
    per: Per,

    /// With `--per function`: how many functions to show, largest difference in overhead first [default: 10 in tables, all
    /// in CSV]
    #[arg(long, value_name = "K")]
    top: Option<usize>,

    /// The output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,

    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,

    /// Also draw each allocator's overhead and time by the baseline's, as an SVG file
    #[arg(long, value_name = "SVG")]
    chart: Option<PathBuf>,

    /// Also draw pictures (SVG) into this folder: overhead by part, time against overhead, differences function by function
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    tables: TableOptions,

    #[command(flatten)]
    runs: RunOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Per {
    /// Sums only
    Total,
    /// Every module
    Module,
    /// The functions in which allocators differ most; in JSON and lit, all functions
    Function,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// Everything, schema chordal-compare/1
    Json,
    /// For spreadsheets: every counter, by its name in the JSON
    Csv,
    /// For issues and documents
    Markdown,
    /// JSON in the format of LLVM's test suite, for its compare.py
    Lit,
}

/// Runs the comparison and writes its result.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Destination::new(&arguments.output);
    let chart = arguments.chart.iter().map(|path| ("the chart", Destination::new(path)));
    let outputs: Vec<_> = arguments.runs.outputs().chain([("the result", output.clone())]).chain(chart).collect();
    let inputs = runs::expanded(&arguments.inputs)?;
    keep_apart(&outputs, &inputs)?;
    let allocators = allocators(arguments);
    let baseline = baseline(arguments, &allocators)?;
    let mut requests = Vec::new();
    for registers in &distinct(&arguments.registers) {
        requests
            .extend(allocators.iter().map(|allocator| Request { allocator: allocator.clone(), registers: registers.clone() }));
    }
    let records = Runs::new(&arguments.runs)?.run(&inputs, &requests)?;
    let verdict = verdict(&records);
    let summary = Summary::new(&records, &baseline);
    let mut results = Vec::new();
    if let Some(path) = &arguments.chart {
        let nothing = || anyhow!("{}: there is nothing to draw: no ratio to {baseline}", path.display());
        results.push((Destination::new(path), chart::comparison(&summary).ok_or_else(nothing)?.into_bytes()));
    }
    if let Some(folder) = &arguments.plot {
        results.extend(plotted(folder, &summary, &records)?);
    }
    results.push((output, render(arguments, &summary, records)?.into_bytes()));
    output::write_all(&results)?;
    verdict
}

/// The pictures, as files of a folder.
fn plotted(folder: &Path, summary: &Summary, records: &[Record]) -> anyhow::Result<Vec<(Destination, Vec<u8>)>> {
    let plots = plots::plots(summary, &summary::functions(records, &summary.baseline));
    if plots.is_empty() {
        return Err(anyhow!("{}: there is nothing to draw: no module was compiled by all", folder.display()));
    }
    fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    Ok(plots.into_iter().map(|plot| (Destination::new(&folder.join(plot.file)), plot.svg.into_bytes())).collect())
}

/// The requested allocators; by default all that are quick.
fn allocators(arguments: &Arguments) -> Vec<String> {
    let mut allocators = distinct(arguments.allocators.iter().flat_map(|allocators::List(named)| named));
    if allocators.is_empty() {
        let quick = allocators::ALL.iter().filter(|entry| entry.name != allocators::OPTIMAL);
        allocators.extend(quick.map(|entry| entry.name.to_owned()));
    }
    if !arguments.llvm_schedule {
        allocators.iter_mut().for_each(|allocator| *allocator = allocators::without_schedule(allocator));
    }
    allocators
}

/// The names, each once.
fn distinct<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    let names: IndexSet<&String> = names.into_iter().collect();
    names.into_iter().cloned().collect()
}

/// The baseline: the allocator with this name and these options, or else the first with this name.
fn baseline(arguments: &Arguments, allocators: &[String]) -> Result<String, Failure> {
    let find = |name: &str| {
        let named = |allocator: &&String| allocator.split(' ').next() == Some(name);
        allocators.iter().find(|&allocator| allocator == name).or_else(|| allocators.iter().find(named)).cloned()
    };
    match &arguments.baseline {
        Some(name) => find(name).ok_or_else(|| Failure::Usage(format!("the baseline `{name}` is not among the allocators"))),
        None => Ok(find(allocators::LLVM_GREEDY).unwrap_or_else(|| allocators[0].clone())),
    }
}

/// How many functions a table shows by default.
const TOP: usize = 10;

fn render(arguments: &Arguments, summary: &Summary, mut records: Vec<Record>) -> Result<String, Failure> {
    let mut functions = Vec::new();
    if arguments.per == Per::Function {
        functions = summary::functions(&records, &summary.baseline);
    } else {
        records.iter_mut().for_each(forget_functions);
    }
    let top = if arguments.format == Format::Csv { usize::MAX } else { TOP };
    let detail = match arguments.per {
        Per::Total => Detail::None,
        Per::Module => Detail::Modules,
        Per::Function => Detail::Functions(&functions, arguments.top.unwrap_or(top)),
    };
    let comparison = Comparison { summary, detail, names: arguments.tables.names() };
    Ok(match arguments.format {
        Format::Table => comparison.tables(tables::plain(&Destination::new(&arguments.output))),
        Format::Markdown => comparison.tables(Style::Markdown),
        Format::Csv => comparison.csv(),
        Format::Json => report::json(summary, &records)?,
        Format::Lit => report::lit(&records)?,
    })
}

/// Removes the functions of a record, but not their totals.
fn forget_functions(record: &mut Record) {
    for run in &mut record.runs {
        if let Outcome::Done { statistics, .. } = &mut run.outcome {
            statistics.functions.clear();
        }
    }
}

/// An error if a run has no statistics, since scripts see only the exit status.
fn verdict(records: &[Record]) -> Result<(), Failure> {
    let mut failed = Vec::new();
    for record in records {
        for run in &record.runs {
            if matches!(run.outcome, Outcome::NotApplicable { .. }) {
                continue;
            }
            let Some((what, message)) = run.outcome.shortfall() else { continue };
            failed.push(format!("{}: {} with {} registers {what}: {message}", record.source, run.allocator, run.registers));
        }
    }
    match failed.split_first() {
        None => Ok(()),
        Some((first, [])) => Err(anyhow!("{first}").into()),
        Some((first, more)) => Err(anyhow!("{first} (and {} more)", more.len()).into()),
    }
}
