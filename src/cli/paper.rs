//! `chordal paper`: reproduces the papers' tables, figures and claims.

use super::option_error::OptionError;
use super::runs::{self, RunOptions, Runs};
use super::{Failure, keep_apart};
use crate::allocate::HAS_SOLVER;
use crate::input;
use crate::llvm::{self, Module, Source, Target};
use crate::measure::compare::worker::Request;
use crate::output::{self, Destination};
use crate::paper::{self, ALL, Document, Executed, Exhibit, Format, Machine, Results, RunTimes, Shared, Variant};
use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use indexmap::IndexMap;
use std::fs;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Tables and figures:
  sra-table1    sizes of interference graphs
  sra-table2    stores, loads, moves and exclusive-ors with 4 registers
  sra-table3    ... and spilled values and slots, with 8
  sra-table4    ... with all registers
  sra-figure10  run times of the programs (with --run-times)
  sra-figure11  Ch-O3 against linear scan with 4, 8, 12 and all registers
  sfe-rivals    a spare register, and spilling on demand
  sfe-figure10  location transfer graphs
  sfe-figure11  time of SSA elimination
  sfe-figure12  store hoisting, memory coalescing, load lowering
  destruction   SSA destruction before allocation: what each refinement saves in copies, time and memory
  join-sets     variables that are assigned in the same blocks, or in some of them (of modules before SSA form)
  optimality    how far spilling and coalescing are from the optimum: of no paper, by integer programming (built by `make
                optimal`), for hours, and so only if it is asked for
SRA is Pereira's The Designing and Implementation of a SSA-based register allocator, SFE is Pereira and Palsberg's SSA
Elimination after Register Allocation, and join-sets has Tables 2 and 3 of French and Amaral's Eliminating Redundant Join-Set
Computations in Static Single Assignment; destruction follows Rastello's SSA Destruction for Machine Code. An argument without a dot or a slash is the name of a table or figure.

Examples:
  chordal paper prog.bc prog.i386.bc
      everything that can be measured on the two modules of one program
  chordal paper sra-table2 corpus/*.bc
      one table: every program under four allocators with four registers (and with 8 and all, for its claims)
  clang -O0 -Xclang -disable-O0-optnone -emit-llvm -c prog.c && chordal paper join-sets prog.bc
      a module before SSA form: it has more variables in memory than phis
  chordal paper all corpus/*.bc corpus/O0/*.bc --records paper.jsonl --resume --format markdown -o reproduction.md --plot reproduction
      a long run that can be stopped and continued, as a document with charts

A program is a module for x86-64, a module for i386, or both, as whole-program bitcode; its name is that of the file up to the
first dot. SRA's tables use the modules for x86-64, SFE's first those for i386. For join-sets there may be another module of
the program, before SSA form, which is not compiled then. Programs named gzip, bzip2, link-grammar, gap,
perl, tcc, phalanx and sqlite stand beside the programs of SPEC CPU 2000 that they resemble; others have rows of their own.

Exit status: 0 done, 1 a run failed (the results of the others are shown), 2 wrong usage.";

/// Put the papers' tables and figures beside our own, and say which of their claims are reproduced
///
/// Compiles every program with the papers' allocators and register counts, as `chordal compare` does, and judges each claim
/// of the papers' texts by the measured number.
#[derive(Args)]
#[command(after_help = AFTER_HELP, override_usage = "chordal paper [OPTIONS] [TABLE...|all] IN...")]
pub struct Arguments {
    /// Tables and figures [default: all], then the modules, as bitcode or textual IR, and folders of them (`./DIR`)
    #[arg(value_name = "TABLE|IN", required = true)]
    arguments: Vec<String>,

    /// The output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = FormatName::Text)]
    format: FormatName,

    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,

    /// Draw the charts into this folder (SVG), to which Markdown then links
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,

    /// Run times of the compiled programs, as scripts/paper-times writes them
    #[arg(long, value_name = "FILE")]
    run_times: Option<PathBuf>,

    /// Instructions, loads and stores that the compiled programs execute: the file executed.json of scripts/executed
    #[arg(long, value_name = "FILE")]
    executed: Option<PathBuf>,

    /// A text that says where the programs come from, to be quoted in the result
    #[arg(long, value_name = "FILE")]
    versions: Option<PathBuf>,

    #[command(flatten)]
    runs: RunOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// For people
    Text,
    /// For documents
    Markdown,
    /// Everything, schema chordal-paper/1
    Json,
}

impl FormatName {
    fn format(self) -> Format {
        match self {
            FormatName::Text => Format::Text,
            FormatName::Markdown => Format::Markdown,
            FormatName::Json => Format::Json,
        }
    }
}

/// A module of the command line.
struct Input {
    path: PathBuf,
    program: String,
    machine: Machine,
    /// Whether it is still before SSA form.
    before_ssa: bool,
    /// The join sets of its variables or registers, if they are needed.
    join_sets: Option<Shared>,
}

impl Input {
    /// Whether both are of the same program and machine.
    fn resembles(&self, other: &Input) -> bool {
        self.program == other.program && self.machine == other.machine
    }
}

/// Compares chordal with the papers, and writes the document.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (exhibits, paths) = exhibits_and_paths(&arguments.arguments).map_err(|error| Failure::Usage(error.to_string()))?;
    let paths = runs::expanded(&paths)?;
    let outputs: Vec<_> = arguments.runs.outputs().chain([("the result", Destination::new(&arguments.output))]).collect();
    keep_apart(&outputs, &paths)?;
    // Read these before hours of runs, in case they are wrong.
    let run_times = arguments.run_times.as_deref().map(read_run_times).transpose()?.unwrap_or_default();
    let executed = arguments.executed.as_deref().map(read_executed).transpose()?.unwrap_or_default();
    let versions = arguments.versions.as_deref().map(read_text).transpose()?;
    let wants_join_sets = exhibits.iter().any(|exhibit| exhibit.name == paper::JOIN_SETS);
    let compiles = exhibits.iter().any(|exhibit| exhibit.name != paper::JOIN_SETS);
    let inputs = inputs(&paths, wants_join_sets)?;
    let [registers, variables] = [false, true].map(|before_ssa| join_sets(&inputs, before_ssa));
    let mut results = Results { run_times, executed, registers, variables, ..Results::default() };
    let mut runs = Runs::new(&arguments.runs)?;
    for machine in [Machine::X86_64, Machine::I386] {
        let inputs: Vec<&Input> = compiled(&inputs).filter(|input| compiles && input.machine == machine).collect();
        if !inputs.is_empty() {
            run_all(&mut results, machine, &inputs, &exhibits, &mut runs)?;
        }
    }
    write(arguments, &paper::report(&exhibits, &results, versions.as_deref()))?;
    verdict(&results)
}

/// Runs the programs of one machine under all variants that the exhibits need.
fn run_all(
    results: &mut Results,
    machine: Machine,
    inputs: &[&Input],
    exhibits: &[&Exhibit],
    runs: &mut Runs,
) -> Result<(), Failure> {
    let variants = paper::variants_of(exhibits, machine);
    let request =
        |variant: &Variant| Request { allocator: variant.allocator.into(), registers: variant.setting.registers.into() };
    let requests: Vec<Request> = variants.iter().map(request).collect();
    let paths: Vec<PathBuf> = inputs.iter().map(|input| input.path.clone()).collect();
    let records = runs.run(&paths, &requests)?;
    for (input, record) in inputs.iter().zip(&records) {
        results.add(&input.program, machine, &variants, record);
    }
    Ok(())
}

/// Why the arguments are no names and files.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum ArgumentError {
    #[error("no module is given")]
    NoModule,
    #[error("standard input has no name: `chordal paper` reads modules from files, which name their programs")]
    StandardInput,
    #[error("there is no table or figure `{name}`; the nearest is `{nearest}` (a file of that name is `./{name}`)")]
    NoExhibit { name: String, nearest: &'static str },
    #[error(transparent)]
    NoSolver(OptionError),
}

/// Splits the arguments into names and files.
fn exhibits_and_paths(arguments: &[String]) -> Result<(Vec<&'static Exhibit>, Vec<PathBuf>), ArgumentError> {
    let (paths, names): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.contains(['.', '/']) || *argument == "-");
    if paths.is_empty() {
        return Err(ArgumentError::NoModule);
    }
    if paths.iter().any(|path| *path == "-") {
        return Err(ArgumentError::StandardInput);
    }
    let wanted = names.into_iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?;
    let all = wanted.is_empty() || wanted.contains(&None);
    let chosen = |exhibit: &&Exhibit| all || wanted.contains(&Some(exhibit.name));
    let mut exhibits: Vec<&'static Exhibit> = ALL.iter().filter(chosen).collect();
    if wanted.contains(&Some(paper::OPTIMALITY)) {
        if !HAS_SOLVER {
            return Err(ArgumentError::NoSolver(OptionError::NoSolver));
        }
        exhibits.push(&paper::OPTIMAL);
    }
    Ok((exhibits, paths.into_iter().map(PathBuf::from).collect()))
}

/// The exhibit of a name; none stands for all of them.
fn named(name: &str) -> Result<Option<&'static str>, ArgumentError> {
    if name == "all" {
        return Ok(None);
    }
    let names = ALL.iter().chain([&paper::OPTIMAL]).map(|exhibit| exhibit.name);
    if let Some(found) = names.clone().find(|known| *known == name) {
        return Ok(Some(found));
    }
    let likeness = |known: &str| strsim::jaro(known, name) + f64::from(u8::from(known.contains(name)));
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b))).expect("there are exhibits");
    Err(ArgumentError::NoExhibit { name: name.into(), nearest })
}

/// The modules to compile: a module before SSA form is among them only if the program has no other.
fn compiled(inputs: &[Input]) -> impl Iterator<Item = &Input> {
    let in_ssa_form = |input: &&Input| !input.before_ssa;
    inputs.iter().filter(move |input| in_ssa_form(input) || !inputs.iter().filter(in_ssa_form).any(|it| it.resembles(input)))
}

/// The join sets of each program that is given before SSA form, or in it, for either machine.
fn join_sets(inputs: &[Input], before_ssa: bool) -> IndexMap<String, Shared> {
    let mut found = IndexMap::new();
    for input in inputs.iter().filter(|input| input.before_ssa == before_ssa) {
        if let Some(shared) = input.join_sets {
            found.entry(input.program.clone()).or_insert(shared);
        }
    }
    found
}

/// Reads the modules up front, so that a wrong one is found before the others have been run.
fn inputs(paths: &[PathBuf], with_join_sets: bool) -> Result<Vec<Input>, Failure> {
    let mut inputs: Vec<Input> = Vec::new();
    for path in paths {
        let name = path.display();
        llvm::die_with_prefix(&format!("chordal: error: {name}: "));
        let source = Source::read(path).with_context(|| name.to_string())?;
        let module = Module::parse(&source).with_context(|| name.to_string())?;
        let machine = match module.target() {
            Target::X86_64 => Machine::X86_64,
            Target::I386 => Machine::I386,
        };
        let unpromoted = llvm::unpromoted(&module);
        let before_ssa = paper::is_before_ssa(&unpromoted);
        let functions = || if before_ssa { unpromoted } else { llvm::without_phis(&module) };
        let join_sets = with_join_sets.then(|| paper::shared(&functions()));
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let program = file.split('.').next().unwrap_or_default().to_owned();
        let input = Input { path: path.clone(), program, machine, before_ssa, join_sets };
        if let Some(other) = inputs.iter().find(|it| it.resembles(&input) && it.before_ssa == input.before_ssa) {
            let (other, program) = (other.path.display(), &input.program);
            return Err(Failure::Usage(format!("{name} and {other} are both the program {program} for {}", machine.name())));
        }
        inputs.push(input);
    }
    Ok(inputs)
}

fn read_run_times(path: &Path) -> anyhow::Result<RunTimes> {
    let name = || path.display().to_string();
    RunTimes::read(input::open(path).with_context(name)?).with_context(name)
}

fn read_executed(path: &Path) -> anyhow::Result<Executed> {
    Executed::read(&read_text(path)?).with_context(|| path.display().to_string())
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    input::text(path).with_context(|| path.display().to_string())
}

/// Writes the document and its charts.
fn write(arguments: &Arguments, document: &Document) -> Result<(), Failure> {
    let mut results = Vec::new();
    if let Some(folder) = &arguments.plot {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for chart in document.sections.iter().filter_map(|section| section.chart.as_ref()) {
            results.push((Destination::File(folder.join(chart.file)), chart.svg.clone().into_bytes()));
        }
    }
    let folder = arguments.plot.as_deref().map(|folder| link(folder, &arguments.output));
    let text = document.render(arguments.format.format(), folder.as_deref());
    results.push((Destination::new(&arguments.output), text.into_bytes()));
    Ok(output::write_all(&results)?)
}

/// The path by which a document links to the folder of its charts.
fn link(folder: &Path, document: &Path) -> String {
    let beside = document.parent().and_then(|parent| folder.strip_prefix(parent).ok());
    beside.unwrap_or(folder).display().to_string()
}

/// An error if a run has no statistics, since scripts see only the exit status.
fn verdict(results: &Results) -> Result<(), Failure> {
    let Some(first) = results.missing.first() else { return Ok(()) };
    let more = match results.missing.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Err(anyhow!("{}: {}: {}{more}", first.program, first.variant, first.reason).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(arguments: &[&str]) -> Result<(Vec<&'static str>, usize), ArgumentError> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let (exhibits, paths) = exhibits_and_paths(&arguments)?;
        Ok((exhibits.iter().map(|exhibit| exhibit.name).collect(), paths.len()))
    }

    #[test]
    fn names_are_told_from_files() {
        assert_eq!(split(&["sra-table2", "a.bc", "./b"]), Ok((vec!["sra-table2"], 2)));
        let (all, _) = split(&["a.bc"]).expect("a file alone is right");
        assert_eq!(split(&["all", "a.bc"]), Ok((all.clone(), 1)));
        assert_eq!(all.len(), ALL.len());
        assert!(split(&["all"]).expect_err("no file") == ArgumentError::NoModule);
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        let error = split(&["table2", "a.bc"]).expect_err("there is none of this name");
        assert_eq!(error, ArgumentError::NoExhibit { name: "table2".into(), nearest: "sra-table2" });
    }

    #[test]
    fn the_help_lists_all() {
        for exhibit in ALL.iter().chain([&paper::OPTIMAL]) {
            assert!(AFTER_HELP.contains(exhibit.name), "{}", exhibit.name);
        }
    }

    #[test]
    fn charts_are_linked_to_from_where_the_document_is() {
        assert_eq!(link(Path::new("docs/charts"), Path::new("docs/a.md")), "charts");
        assert_eq!(link(Path::new("charts"), Path::new("-")), "charts");
    }
}
