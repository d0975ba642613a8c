//! `chordal count`: counts the instructions of object files.

use super::Failure;
use super::tables::{self, TableOptions};
use crate::input;
use crate::measure::count::{self, CountError, Counted};
use crate::measure::report::{Cell, Names, Style, Table};
use crate::measure::stats::{Counts, Function, SCHEMA, Static, Statistics};
use crate::output::{self, Destination};
use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use indexmap::IndexSet;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Stands in place of an allocator's name in the statistics.
const ALLOCATOR: &str = "disassembly";

const AFTER_HELP: &str = "\
Examples:
  gcc -O2 -c prog.c && chordal count prog.o
      what is in the code that gcc made of a program
  chordal count build/*.o libz.a
      a row for each file and each member of an archive, and their sum
  chordal count prog --per function --top 10
      the ten largest functions of a program
  chordal count prog.o --format json > gcc.json
      statistics of every function, as `chordal compile --stats` writes them

What is counted, as in the field `static` of statistics:
  loads, stores  instructions that read or write memory, including folded operands, push and pop, but not calls and returns;
                 an instruction that does both counts as both
  moves          copies from register to register
  xors           exclusive-or instructions, including those that zero a register
  instructions   all of them, except padding (nop)
  bytes          machine code, including padding within functions

A disassembly cannot tell inline assembly from the rest: its instructions count like any others. Functions are what the
symbol table says; a part that the compiler moved away (main.cold) is a function of its own. Code outside all functions is
not counted, and a warning says how much there is.

Exit status:
  0  done, possibly with warnings (one of several files has no code, for instance)
  1  a file cannot be counted: one message says which and why
  2  wrong usage";

/// Count the instructions of object files, by disassembly
///
/// Counts what `chordal compile --stats` counts in the code that it generates, in any x86-64 or i386 ELF file: relocatable,
/// executable or shared, or an archive, whatever compiler made it. It needs the symbol table, so files must not be stripped.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Object files, executables, shared libraries, archives; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What each row of the table stands for [default: file]
    #[arg(long, value_enum)]
    per: Option<Per>,

    /// Show only the K rows with most instructions; the total still covers all
    #[arg(long, value_name = "K")]
    top: Option<usize>,

    /// The output format; JSON (chordal-stats/1) always has everything
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    #[command(flatten)]
    tables: TableOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Per {
    /// Only the total
    Total,
    /// Each file, and each member of an archive
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

/// The name of a file or of a member of an archive, and its counts.
type Named = (String, Counted);

/// Counts the files and shows the result.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let style = match arguments.format {
        Format::Table => Some(tables::plain(&Destination::Stdout)),
        Format::Csv => Some(Style::Csv),
        Format::Markdown => Some(Style::Markdown),
        Format::Json if arguments.per.is_some() || arguments.top.is_some() => {
            return Err(Failure::Usage("JSON always has everything: `--per` and `--top` are for tables".into()));
        }
        Format::Json => None,
    };
    let objects = count_all(&arguments.files)?;
    warn(&objects);
    let text = match style {
        Some(style) => table(&objects, arguments, style).render(style),
        None => json(arguments, objects)?,
    };
    Ok(output::print(text.as_bytes())?)
}

/// Counts all files. A file without code is only worth a warning, if others have some.
fn count_all(files: &[PathBuf]) -> anyhow::Result<Vec<Named>> {
    let mut objects = Vec::new();
    let mut without_code = Vec::new();
    for file in files {
        match count(file) {
            Err(error) if matches!(error.downcast_ref(), Some(CountError::NoCode)) => without_code.push(error),
            counted => objects.extend(counted?),
        }
    }
    if objects.is_empty()
        && let Some(error) = without_code.pop()
    {
        return Err(error);
    }
    for error in without_code {
        super::warn(&format!("{error:#}"));
    }
    Ok(objects)
}

fn count(path: &Path) -> anyhow::Result<Vec<Named>> {
    let file = path.display().to_string();
    let bytes = input::bytes(path).with_context(|| file.clone())?;
    let objects = count::count(&bytes).with_context(|| file.clone())?;
    let named = |object: Counted| match &object.member {
        Some(member) => (format!("{file}({member})"), object),
        None => (file.clone(), object),
    };
    Ok(objects.into_iter().map(named).collect())
}

fn warn(objects: &[Named]) {
    for (name, object) in objects {
        if object.outside > 0 {
            super::warn(&format!("{name}: {} bytes of code are in no function and not counted", object.outside));
        }
        if object.unknown > 0 {
            super::warn(&format!("{name}: {} bytes in functions are no known instructions", object.unknown));
        }
    }
}

fn table(objects: &[Named], arguments: &Arguments, style: Style) -> Table {
    let per = arguments.per.unwrap_or(Per::File);
    let names = if style == Style::Csv { Names::Mangled } else { arguments.tables.names() };
    let functions = || objects.iter().flat_map(|(name, object)| object.functions.iter().map(move |function| (name, function)));
    let row = |file: &str, functions: &[Function]| -> TableRow {
        (vec![file.into(), Cell::Count(functions.len() as u64)], Counts::total(functions).fixed)
    };
    let mut rows: Vec<TableRow> = match per {
        Per::Total => Vec::new(),
        Per::File => objects.iter().map(|(name, object)| row(name, &object.functions)).collect(),
        Per::Function => functions()
            .map(|(file, function)| (vec![file.as_str().into(), names.of(&function.name).into()], function.counts.fixed.clone()))
            .collect(),
    };
    let total = Counts::total(functions().map(|(_, function)| function)).fixed;
    let several = rows.len() != 1;
    if let Some(top) = arguments.top {
        rows.sort_by_key(|(_, counts)| Reverse(counts.instructions));
        rows.truncate(top);
    }
    if several {
        let second = if per == Per::Function { "".into() } else { Cell::Count(functions().count() as u64) };
        rows.push((vec!["total".into(), second], total));
    }
    let second = if per == Per::Function { "function" } else { "functions" };
    let counters = ["loads", "stores", "moves", "xors", "instructions", "bytes"];
    let counters = counters.map(|name| if style == Style::Csv { format!("static.{name}") } else { name.to_owned() });
    let mut table = Table::new(["file".to_owned(), second.to_owned()].into_iter().chain(counters));
    for (names, counts) in rows {
        table.row(names.into_iter().chain(cells(&counts)));
    }
    table
}

/// The cells that say what a row is about, and its counts.
type TableRow = (Vec<Cell>, Static);

fn cells(counts: &Static) -> [Cell; 6] {
    let Static { loads, stores, moves, xors, instructions, bytes } = *counts;
    [loads.into(), stores.into(), moves.into(), xors.into(), instructions.into(), bytes.into()]
}

/// The statistics of all files together.
fn json(arguments: &Arguments, objects: Vec<Named>) -> anyhow::Result<String> {
    let sources: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
    let targets: IndexSet<&str> = objects.iter().map(|(_, object)| object.machine.name()).collect();
    let target = targets.into_iter().collect::<Vec<_>>().join(" ");
    let functions: Vec<Function> = objects.into_iter().flat_map(|(_, object)| object.functions).collect();
    let statistics = Statistics {
        schema: SCHEMA.into(),
        chordal: env!("CARGO_PKG_VERSION").into(),
        allocator: ALLOCATOR.into(),
        options: None,
        registers: None,
        source: sources.join(" "),
        directory: None,
        target,
        compilation_ns: None,
        total: Counts::total(&functions),
        functions,
    };
    let text = serde_json::to_string_pretty(&statistics).map_err(|error| anyhow!("statistics: {error}"))?;
    Ok(text + "\n")
}
