//! `chordal stats`: adds up the statistics of many modules.

use super::tables::{self, TableOptions};
use super::{Failure, keep_apart};
use crate::input;
use crate::measure::report::{Cell, Names, Style, Table, counters};
use crate::measure::stats::names::{Named, names};
use crate::measure::stats::{self, Counts, Function, SCHEMA, Static, Statistics};
use crate::output::{self, Destination};
use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use indexmap::IndexSet;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  CHORDAL_STATS=$PWD/stats make CC=\"chordal cc\" && chordal stats stats
      what was counted in all that a build made
  chordal stats stats --per function --top 10
      the ten functions with most spill code
  chordal stats a.json b.json --format json
      both as one file

Columns: functions, those of them left to LLVM's greedy allocator, and of the fields of statistics
static.*, spill.stores, spill.reloads and overhead_share (in a sum, the mean, each function weighted
by its selected instructions). CSV has every counter, by its name in the statistics.

Exit status:
  0  done
  1  a file cannot be read, or the files are of several allocators: one message says which and why
  2  wrong usage";

/// Add up the statistics of many modules
///
/// Reads what `chordal compile --stats` and `chordal cc` with CHORDAL_STATS write (chordal-stats/1), of one allocator with
/// one list of registers. Of a folder, all files in it and below it that end in .json.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Files, and folders of them; `-` is standard input
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,

    /// What each row of the table stands for
    #[arg(long, value_enum, default_value_t = Per::File)]
    per: Per,

    /// Show only the K rows with most spill stores and reloads; the total still covers all
    #[arg(long, value_name = "K")]
    top: Option<usize>,

    /// The output format; JSON (chordal-stats/1) always has everything
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,

    #[command(flatten)]
    tables: TableOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Per {
    /// Only the total
    Total,
    /// Each file
    File,
    /// Each function
    Function,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

/// Adds the statistics up and shows the sums.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Destination::new(&arguments.output);
    keep_apart(&[("the result", output.clone())], &arguments.inputs)?;
    let modules = read_all(&arguments.inputs)?;
    let text = match arguments.format {
        Format::Table => table(&modules, arguments).render(tables::plain(&output)),
        Format::Csv => csv(&modules, arguments),
        Format::Markdown => table(&modules, arguments).render(Style::Markdown),
        Format::Json => serde_json::to_string_pretty(&together(arguments, modules))? + "\n",
    };
    Ok(output::write_all(&[(output, text.into_bytes())])?)
}

/// A file of statistics.
struct Module {
    /// The name of the file, relative to the folder if a single folder was given.
    place: String,
    statistics: Statistics,
}

/// Reads all files, which must be of one allocator and one list of registers.
fn read_all(inputs: &[PathBuf]) -> Result<Vec<Module>> {
    let (mut paths, mut modules) = (Vec::new(), Vec::<Module>::new());
    for input in inputs {
        let folder = if inputs.len() == 1 && input.is_dir() { input } else { Path::new("") };
        let found = stats::read::files(input).with_context(|| input.display().to_string())?;
        if found.is_empty() {
            bail!("{}: no statistics are in it (files that end in .json)", input.display());
        }
        for file in found {
            let statistics = read(&file).with_context(|| file.display().to_string())?;
            if let Some(Module { place, statistics: first }) = modules.first()
                && (&first.allocator, &first.registers) != (&statistics.allocator, &statistics.registers)
            {
                bail!("{}: is of {}, and {place} of {}", file.display(), held(&statistics), held(first));
            }
            modules.push(Module { place: file.strip_prefix(folder).unwrap_or(&file).display().to_string(), statistics });
            paths.push(file);
        }
    }
    tell_of_gone_sources(&paths, &modules);
    Ok(modules)
}

/// Warns of statistics whose sources are gone, since nobody removes old statistics from a folder. If all sources are gone,
/// the folder comes from another machine.
fn tell_of_gone_sources(paths: &[PathBuf], modules: &[Module]) {
    let is_gone = |module: &Statistics| {
        module.source != "-"
            && module.directory.as_ref().is_some_and(|directory| !Path::new(directory).join(&module.source).exists())
    };
    let statistics = modules.iter().map(|module| &module.statistics);
    let gone: Vec<_> = paths.iter().zip(statistics).filter(|(_, module)| is_gone(module)).collect();
    if let [(path, module), rest @ ..] = &gone[..]
        && gone.len() < modules.len()
    {
        let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
        super::warn(&format!("{}: counts although its source {} is gone{more}", path.display(), module.source));
    }
}

fn read(path: &Path) -> Result<Statistics> {
    Ok(stats::read::parse(&input::text(path)?)?)
}

/// The allocator and its registers, for messages.
fn held(module: &Statistics) -> String {
    match &module.registers {
        Some(registers) => format!("{} with {}", module.allocator, registers.join(",")),
        None => format!("{} with all registers", module.allocator),
    }
}

/// The statistics of all modules as those of one.
fn together(arguments: &Arguments, modules: Vec<Module>) -> Statistics {
    let modules: Vec<Statistics> = modules.into_iter().map(|module| module.statistics).collect();
    let sources: Vec<String> = arguments.inputs.iter().map(|input| input.display().to_string()).collect();
    let targets: IndexSet<&str> = modules.iter().map(|module| module.target.as_str()).collect();
    let target = targets.into_iter().collect::<Vec<_>>().join(" ");
    let compilation_ns = modules.iter().map(|module| module.compilation_ns).sum();
    let first = &modules[0];
    let (allocator, registers) = (first.allocator.clone(), first.registers.clone());
    let options = first.options.clone().filter(|_| modules.iter().all(|module| module.options == first.options));
    let functions: Vec<Function> = modules.into_iter().flat_map(|module| module.functions).collect();
    Statistics {
        schema: SCHEMA.into(),
        chordal: env!("CARGO_PKG_VERSION").into(),
        allocator,
        options,
        registers,
        source: sources.join(" "),
        directory: None,
        target,
        compilation_ns,
        total: Counts::total(&functions),
        functions,
    }
}

/// The requested rows, and their total unless there is exactly one row.
fn rows(modules: &[Module], arguments: &Arguments) -> Vec<StatsRow> {
    let named: Vec<Named<'_>> =
        modules.iter().map(|module| Named { place: &module.place, source: &module.statistics.source }).collect();
    let names = names(&named);
    let modules = || names.iter().zip(modules.iter().map(|module| &module.statistics.functions));
    let functions = || modules().flat_map(|(name, functions)| functions.iter().map(move |function| (name, function)));
    let mut rows: Vec<StatsRow> = match arguments.per {
        Per::Total => Vec::new(),
        Per::File => modules().map(|(name, functions)| StatsRow::new(name, None, functions)).collect(),
        Per::Function => functions().map(|(module, f)| StatsRow::new(module, Some(&f.name), std::slice::from_ref(f))).collect(),
    };
    let several = rows.len() != 1;
    if let Some(top) = arguments.top {
        rows.sort_by_key(|row| Reverse(row.counts.spill.stores + row.counts.spill.reloads));
        rows.truncate(top);
    }
    if several {
        let all: Vec<Function> = functions().map(|(_, function)| function.clone()).collect();
        rows.push(StatsRow::new("total", None, &all));
    }
    rows
}

fn table(modules: &[Module], arguments: &Arguments) -> Table {
    let first = if arguments.per == Per::Function { "function" } else { "module" };
    let of_static = ["loads", "stores", "moves", "xors", "instructions", "bytes"];
    let columns = [first, "functions", "left"].into_iter().chain(of_static).chain(["spill stores", "reloads", "overhead share"]);
    let mut table = Table::new(columns);
    rows(modules, arguments).into_iter().for_each(|row| table.row(row.cells(arguments.tables.names())));
    table
}

/// Every counter, with columns that say what a row is about.
fn csv(modules: &[Module], arguments: &Arguments) -> String {
    let rows = rows(modules, arguments);
    let second = if arguments.per == Per::Function { "function" } else { "functions" };
    let about = |row: &StatsRow| match arguments.per {
        Per::Function => vec![row.module.as_str().into(), row.function.as_deref().unwrap_or_default().into()],
        Per::Total | Per::File => vec![row.module.as_str().into(), row.functions.into()],
    };
    counters::csv(&["module", second], rows.iter().map(|row| (about(row), &row.counts)))
}

/// A row of the table: its module or function, and its counts.
struct StatsRow {
    module: String,
    function: Option<String>,
    functions: u64,
    counts: Counts,
}

impl StatsRow {
    fn new(module: &str, function: Option<&str>, functions: &[Function]) -> Self {
        let counts = Counts::total(functions);
        StatsRow { module: module.to_owned(), function: function.map(str::to_owned), functions: functions.len() as u64, counts }
    }

    fn cells(self, names: Names) -> Vec<Cell> {
        let module = self.module;
        let name = self.function.map_or(module.clone(), |function| format!("{module}: {}", names.of(&function)));
        let Counts { fixed, spill, fallbacks, overhead_share, .. } = self.counts;
        let Static { loads, stores, moves, xors, instructions, bytes } = fixed;
        let mut cells = vec![name.into(), self.functions.into(), fallbacks.into()];
        cells.extend([loads, stores, moves, xors, instructions].map(Cell::Count));
        cells.extend([bytes.into(), spill.stores.into(), spill.reloads.into(), Cell::Amount(overhead_share, 4)]);
        cells
    }
}
