//! The command line, one file for each subcommand.
//!
//! `allocators` is the table of allocators and `options` what each may be told; `driver` finds clang and flang; `runs` makes the runs of `compare` and `paper`. A file of a subcommand has its arguments, whose comments are the
//! help text, and the function that runs it.
//!
//! Requires: nothing of the input: whatever is wrong with it is a message.
//! Ensures: exit status 0 done, 1 the work failed, 2 wrong usage. A failure is one message on standard error.
//!
//! Exit status: 0 done, 1 the work failed, 2 wrong usage. A failure is one message on standard error.

mod allocate;
pub mod allocators;
mod cargo;
mod cc;
mod choices;
mod compare;
pub(crate) mod compile;
mod count;
pub(crate) mod defect;
mod diff;
mod driver;
mod explain;
mod hint;
pub(crate) mod limits;
mod list;
mod option_error;
pub(crate) mod options;
mod pages;
mod paper;
mod runs;
mod stats;
pub mod switches;
mod tables;
mod warnings;

use crate::output::{self, Destination, printable};
use anstream::{AutoStream, ColorChoice};
use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
From C to a running program, with statistics of what allocation left in the code:
  clang-22 -O2 -emit-llvm -c prog.c -o prog.bc
  chordal compile prog.bc -o prog.s --stats prog.json
  clang-22 prog.s -o prog

The same in one step, with chordal as a plug-in of clang:
  chordal cc -O2 prog.c -o prog

The same with LLVM's allocator, to compare with:
  chordal compile prog.bc -o /dev/null --allocator llvm-greedy --stats greedy.json

`chordal COMMAND --help` explains a command and shows more examples.

Exit status: 0 done, 1 the work failed, 2 wrong usage.";

/// SSA-based register allocation for LLVM bitcode.
///
/// Takes every function of a module in SSA machine form, allocates registers with its own algorithms, and writes assembly
/// (or an object file) and statistics that can be compared with those of LLVM's allocators on the same code.
#[derive(Parser)]
#[command(name = "chordal", version, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Compile(compile::Arguments),
    Compare(compare::Arguments),
    Diff(diff::Arguments),
    Count(count::Arguments),
    Stats(stats::Arguments),
    Allocate(allocate::Arguments),
    Explain(explain::Arguments),
    Paper(paper::Arguments),
    Cc(cc::Arguments),
    /// Stand in for clang++ in the same way
    #[command(name = "c++")]
    Cxx(cc::Arguments),
    /// Stand in for flang in the same way
    Fc(cc::Arguments),
    Cargo(cargo::Arguments),
    /// Show the allocators with their phases and options, and the register lists
    ///
    /// The names are those that `chordal compile` takes for --allocator, the lists those that it takes for --registers N. `chordal
    /// compile --help` explains the options.
    List,
    #[command(hide = true)]
    Pages(pages::Arguments),
}

/// Why a command did not do its work.
pub(crate) enum Failure {
    /// The command line is wrong: exit status 2.
    Usage(String),
    /// The work failed: exit status 1.
    Work(anyhow::Error),
}

impl Failure {
    /// The command line is wrong.
    fn usage(error: impl Display) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Work(error.into())
    }
}

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    limits::raise_stack_limit();
    if let Err(error) = output::clean_up_when_interrupted() {
        eprintln!("chordal: warning: temporary files stay where this is interrupted: {error}");
    }
    let arguments: Vec<OsString> = arguments().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(asked) if !asked.use_stderr() => return ended(show(&asked.render()).map_err(Into::into)),
        Err(error) => hint::with_hint(error, arguments.get(1..).unwrap_or_default()).exit(),
    };
    ended(run(&cli.command))
}

/// Prints a help text, in colours if standard output is a terminal that has them and nobody opted out.
fn show(help: &StyledStr) -> anyhow::Result<()> {
    let text = match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => help.to_string(),
        _ => help.ansi().to_string(),
    };
    output::print(text.as_bytes())
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Compile(arguments) => compile::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Count(arguments) => count::run(arguments),
        Command::Stats(arguments) => stats::run(arguments),
        Command::Allocate(arguments) => allocate::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Paper(arguments) => paper::run(arguments),
        Command::Cc(arguments) => cc::run(cc::Language::C, arguments),
        Command::Cxx(arguments) => cc::run(cc::Language::Cxx, arguments),
        Command::Fc(arguments) => cc::run(cc::Language::Fortran, arguments),
        Command::Cargo(arguments) => cargo::run(arguments),
        Command::List => list::run(),
        Command::Pages(arguments) => pages::run(arguments),
    }
}

/// Reports a failure, and returns the exit status.
fn ended(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => Cli::command().error(ErrorKind::ValueValidation, message).exit(),
        Err(Failure::Work(error)) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(Failure::Work(error)) => {
            eprintln!("chordal: error: {}", printable(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

/// The process's arguments. If it was started as `chordal-cc`, that is `chordal cc`.
fn arguments() -> impl Iterator<Item = OsString> {
    let mut arguments = env::args_os();
    let program = arguments.next();
    let name = program.as_deref().map(Path::new).and_then(Path::file_name).and_then(OsStr::to_str);
    let command = name.and_then(|name| name.strip_prefix("chordal-")).filter(|command| ["cc", "c++", "fc"].contains(command));
    let command = command.map(OsString::from);
    program.into_iter().chain(command).chain(arguments)
}

/// Prints a warning, after which the work goes on.
fn warn(message: &str) {
    eprintln!("chordal: warning: {}", printable(message));
}

/// Refuses outputs that would overwrite an input or each other, by whatever paths.
fn keep_apart(outputs: &[(&str, Destination)], inputs: &[PathBuf]) -> Result<(), Failure> {
    let files = || inputs.iter().filter(|input| input.as_os_str() != "-");
    for (index, (name, output)) in outputs.iter().enumerate() {
        if let Some(input) = files().find(|input| output.is(&Destination::new(input))) {
            return Err(Failure::Usage(format!("{name} would overwrite the input {}: name another place", input.display())));
        }
        if let Some((other, _)) = outputs[..index].iter().find(|(_, other)| output.is(other)) {
            return Err(Failure::Usage(format!("{other} and {name} cannot go to the same place")));
        }
    }
    Ok(())
}

/// Whether the reader of our standard output went away, as `head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}
