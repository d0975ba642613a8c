//! `chordal compile`: compiles a module with one allocator.

use super::allocators::{self, Configured};
use super::limits::Limits;
use super::option_error::OptionError;
use super::options::{self, AllocatorOptions, StockOptions};
use super::warnings::{self, Severity, Warnings};
use super::{Failure, defect, keep_apart};
use crate::llvm::{
    self, Algorithm, CompileOptions, Compiled, Module, Output, Pace, RegisterRequest, Relocation, Sections, Source, Stock,
    Tables, Warning,
};
use crate::measure::meter;
use crate::measure::stats::{Counts, Function, SCHEMA, Statistics};
use crate::output::{self, Destination, printable};
use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  chordal compile prog.bc
      writes prog.s
  chordal compile prog.bc -o prog.o --emit obj --stats prog.json
      an object file, and what was counted in it
  clang-22 -O2 -emit-llvm -c prog.c -o - | chordal compile - | as -o prog.o
      reads standard input, writes standard output
  chordal compile prog.bc --registers 8 --stats prog.json --no-times
      eight general-purpose registers; equal runs give equal statistics
  chordal compile prog.bc --allocator llvm-greedy -o /dev/null --stats -
      only the statistics of LLVM's allocator

Exit status:
  0  done, possibly with warnings about functions left to LLVM's allocator
  1  the work failed: one message says which file, which function and why; nothing is written
     (except, for a bug in chordal, the function that shows it, for `chordal allocate`)
  2  wrong usage

`chordal list` shows the allocators and the register lists.";

/// Compile a module to assembly or an object file
///
/// The module is LLVM bitcode or textual IR for x86-64 or i386 Linux. A function that the allocator cannot handle is left to
/// LLVM's greedy allocator, with a warning.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The module, as bitcode (clang -emit-llvm -c) or textual IR (-S); `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// Where the result goes; `-` is standard output [default: IN with its extension replaced, or standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// What to write
    #[arg(long, value_enum, default_value_t = Emit::Asm)]
    emit: Emit,

    #[command(flatten)]
    allocation: Allocation,

    /// Write statistics (JSON, chordal-stats/1); `-` is standard output
    #[arg(long, value_name = "FILE|-")]
    stats: Option<PathBuf>,

    /// Write remarks about what allocation has left in memory (LLVM's YAML, for llvm-remarkutil and opt-viewer); `-` is standard output
    ///
    /// One for each value in memory, with what it costs, where, and the allocator's rule; sums for each function and loop.
    #[arg(long, value_name = "FILE|-")]
    remarks: Option<PathBuf>,

    /// Leave times out of the statistics, so that equal runs give equal bytes
    #[arg(long, requires = "stats")]
    no_times: bool,

    /// The module's name in messages and statistics [default: IN]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The folder to which the name is relative, for the statistics
    #[arg(long, value_name = "DIR", requires = "stats")]
    directory: Option<String>,

    /// Give each function a section of its own, which a linker can leave out
    #[arg(long)]
    function_sections: bool,

    /// Give each variable a section of its own
    #[arg(long)]
    data_sections: bool,

    /// Where code may be loaded
    ///
    /// By default, as the module says; if it says nothing, anywhere, as linkers and systems expect of new code. (With
    /// -fno-pic, clang says nothing.)
    #[arg(long, value_enum, value_name = "static|pic", hide_possible_values = true)]
    relocation_model: Option<RelocationModel>,

    /// List the symbols whose addresses matter, so that a linker can merge equal functions
    ///
    /// As clang's -faddrsig does: the section .llvm_addrsig.
    #[arg(long)]
    addrsig: bool,

    /// Describe what calls pass, if the module has debug information
    ///
    /// A debugger then shows arguments of callers that are no longer in any register (DW_TAG_call_site_parameter). Clang
    /// does so if it optimises.
    #[arg(long)]
    call_site_info: bool,

    #[command(flatten)]
    warnings: Warnings,

    #[command(flatten)]
    limits: Limits,
}

/// Options about allocation: those of `chordal compile` that the plug-in takes too.
#[derive(Args)]
pub struct Allocation {
    /// The allocator: one of chordal's own, or regalloc2's or LLVM's for comparison (`chordal list` shows all)
    #[arg(long, value_name = "NAME", default_value = allocators::DEFAULT, value_parser = allocators::parse)]
    pub allocator: &'static allocators::Entry,

    /// Let the allocator use only these general-purpose registers
    ///
    /// The number of a published list (`chordal list` shows them), or names separated by commas, such as rax,rcx,rbx,rbp, or
    /// `all`. Other registers still occur where the ABI or an instruction requires them. llvm-fast always uses all.
    #[arg(long, value_name = "N|LIST", default_value = llvm::ALL_REGISTERS)]
    pub registers: RegisterRequest,

    /// Do not check the allocation
    ///
    /// The checker follows every value along all paths, and requires each instruction to read what it read before
    /// allocation.
    #[arg(long)]
    pub no_check: bool,

    /// Run LLVM's machine verifier on every function after allocation
    #[arg(long)]
    pub verify_llvm: bool,

    /// Fail if a function cannot be allocated, instead of leaving it to LLVM's greedy allocator
    #[arg(long)]
    pub no_fallback: bool,

    #[command(flatten)]
    options: AllocatorOptions,

    #[command(flatten)]
    stock_options: StockOptions,
}

impl Arguments {
    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.input.display().to_string())
    }
}

impl Allocation {
    /// The allocator with its options.
    ///
    /// # Errors
    /// If the allocator does not take them.
    pub fn configured(&self) -> Result<Configured, OptionError> {
        let configured = self.allocator.configured(&self.options, &self.stock_options)?;
        let is_fast = matches!(configured, Configured::Llvm(Stock { algorithm: Algorithm::Fast, .. }));
        if is_fast && self.registers != RegisterRequest::All {
            return Err(OptionError::AlwaysAllRegisters(self.allocator.name));
        }
        Ok(configured)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Emit {
    /// Assembly
    Asm,
    /// An ELF object file
    Obj,
}

/// Where code may be loaded.
#[derive(Clone, Copy, ValueEnum)]
pub enum RelocationModel {
    /// Where the linker puts it
    Static,
    /// Anywhere
    Pic,
}

impl From<RelocationModel> for Relocation {
    fn from(model: RelocationModel) -> Self {
        match model {
            RelocationModel::Static => Relocation::Static,
            RelocationModel::Pic => Relocation::Pic,
        }
    }
}

impl Emit {
    fn extension(self) -> &'static str {
        match self {
            Emit::Asm => "s",
            Emit::Obj => "o",
        }
    }
}

/// Compiles a module.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let destinations = destinations(arguments);
    let measured = arguments.stats.is_some() && !arguments.no_times;
    if measured {
        meter::enable();
    }
    let allocator = arguments.allocation.configured().map_err(Failure::usage)?;
    let name = arguments.name();
    llvm::die_with_prefix(&format!("chordal: error: {name}: "));
    arguments.limits.watch(&name)?;
    let source = Source::read(&arguments.input).map(|source| source.named(&name));
    let source = source.with_context(|| name.clone())?;
    let module = Module::parse(&source).with_context(|| name.clone())?;
    // Only now complain about outputs: if the input is not a module at all, that is the better message.
    let Destinations { output, stats, remarks } = destinations?;
    let registers = arguments.allocation.registers.resolve(module.target());
    let registers = registers.map_err(|error| Failure::Usage(format!("invalid value for '--registers': {error}")))?;
    let triple = module.triple();
    let steps = if matches!(allocator, Configured::Ours(_)) { 2 } else { 1 };
    let progress = Progress::new(steps * module.num_functions());
    let options = CompileOptions {
        allocator: allocator.allocator(!arguments.allocation.no_check, stats.is_some()),
        output: match arguments.emit {
            Emit::Asm => Output::Assembly,
            Emit::Obj => Output::Object,
        },
        sections: Sections { functions: arguments.function_sections, data: arguments.data_sections },
        relocation: arguments.relocation_model.map_or_else(Relocation::default, Relocation::from),
        tables: Tables { addrsig: arguments.addrsig, call_sites: arguments.call_site_info },
        verify: arguments.allocation.verify_llvm,
        registers,
        fallback: !arguments.allocation.no_fallback,
        sizes: stats.is_some(),
        // Times are those of one function, and memory too, only if no other function is being compiled meanwhile.
        pace: if measured { Pace::InTurn } else { arguments.limits.pace() },
        list: false,
        remarks: remarks.is_some(),
        progress: &|function| progress.step(function),
    };
    let compiled = llvm::compile(module, &options);
    progress.finish();
    let command = options::command(arguments.allocation.allocator.name, &allocator);
    let compiled = compiled.map_err(|error| defect::located(error, &output, &command));
    let compiled = compiled.map_err(|error| anyhow!(about(&name, &format!("{error:#}"))))?;
    warn(&name, &compiled, &arguments.warnings).map_err(|error| anyhow!(about(&name, &format!("{error:#}"))))?;
    if io::stderr().is_terminal()
        && let Some(summary) = summary(&Counts::total(&compiled.functions))
    {
        eprintln!("chordal: {}: {summary}", printable(&name));
    }
    let subject = Subject {
        allocator: arguments.allocation.allocator,
        configured: &allocator,
        registers: options.registers,
        source: name,
        directory: arguments.directory.clone(),
        target: triple,
    };
    let time = (!arguments.no_times).then_some(compiled.time_ns);
    let stats = stats.map(|to| anyhow::Ok((to, statistics(subject, compiled.functions, time)?))).transpose()?;
    // Statistics come last, so that they are never newer than the result that they describe.
    let remarks = remarks.map(|to| (to, compiled.remarks));
    let results: Vec<_> = [(output, compiled.output)].into_iter().chain(remarks).chain(stats).collect();
    Ok(output::write_all(&results)?)
}

/// Where results go.
struct Destinations {
    output: Destination,
    stats: Option<Destination>,
    remarks: Option<Destination>,
}

fn destinations(arguments: &Arguments) -> Result<Destinations, Failure> {
    let [stats, remarks] = [&arguments.stats, &arguments.remarks].map(|path| path.as_deref().map(Destination::new));
    let output = match &arguments.output {
        Some(path) => Destination::new(path),
        None => beside(&arguments.input, arguments.emit),
    };
    let others = [stats.clone().map(|it| ("the statistics", it)), remarks.clone().map(|it| ("the remarks", it))];
    let outputs: Vec<_> = [("the result", output.clone())].into_iter().chain(others.into_iter().flatten()).collect();
    keep_apart(&outputs, std::slice::from_ref(&arguments.input))?;
    Ok(Destinations { output, stats, remarks })
}

/// The input with its extension replaced; standard output for standard input.
fn beside(input: &Path, emit: Emit) -> Destination {
    if input.as_os_str() == "-" { Destination::Stdout } else { Destination::File(input.with_extension(emit.extension())) }
}

/// Prefixes a message with the file's name, unless LLVM did so already, with a line.
fn about(file: &str, message: &str) -> String {
    let names_it = message.strip_prefix(file).is_some_and(|rest| rest.starts_with(':'));
    if names_it { message.to_owned() } else { format!("{file}: {message}") }
}

/// Prints the warnings. Those that flags turn into errors are one error, which is printed last.
fn warn(file: &str, compiled: &Compiled, flags: &Warnings) -> anyhow::Result<()> {
    let mut errors = Vec::new();
    for Warning { about: subject, text } in &compiled.warnings {
        let group = warnings::group(*subject);
        match (flags.severity(*subject), group) {
            (Severity::Hidden, _) => (),
            (Severity::Warning, None) => super::warn(&about(file, text)),
            (Severity::Warning, Some(group)) => super::warn(&format!("{} [-W{group}]", about(file, text))),
            (Severity::Error, group) => errors.push(format!("{text} [-Werror,-W{}]", group.unwrap_or_default())),
        }
    }
    for function in &compiled.functions {
        if let Some(reason) = &function.fallback {
            super::warn(&format!("{file}: function {}: left to LLVM's greedy allocator: {reason}", function.name));
        }
    }
    match &errors[..] {
        [] => Ok(()),
        [error] => bail!("{error}"),
        [first, rest @ ..] => bail!("{first} (and {} more)", rest.len()),
    }
}

/// How good the code is, if known, and whether all of it was allocated in the way that was requested.
fn summary(total: &Counts) -> Option<String> {
    let degraded = match total.degraded_functions {
        0 => None,
        1 => Some("1 function is allocated in another way than asked for (`degraded` in --stats)".to_owned()),
        n => Some(format!("{n} functions are allocated in another way than asked for (`degraded` in --stats)")),
    };
    certificate(total).into_iter().chain(degraded).reduce(|certificate, degraded| format!("{certificate}; {degraded}"))
}

/// The cost of spilling, and by how much it could fall at most, if known. The bound holds for plans that the model can
/// state, or for fewer if blocks of some function were decided about together. A better plan may exist outside the model, for
/// example if it does not confine a value to one class for its whole life.
fn certificate(total: &Counts) -> Option<String> {
    let (cost, bound) = (total.spill.cost?, total.spill.bound?);
    let above = cost - bound;
    let best = match total.spill.partial_bounds {
        Some(0) => "the best plan of the model",
        _ => "the best of the plans considered",
    };
    Some(match () {
        () if above < 0.5 => format!("spill cost {cost:.0}, {best}"),
        () if bound > 0.0 => format!("spill cost {cost:.0}, at most {:.1}% above {best}", 100.0 * above / bound),
        () => format!("spill cost {cost:.0}, at most {above:.0} above {best}"),
    })
}

/// The heading of a file of statistics: which allocator compiled which module.
pub struct Subject<'a> {
    pub allocator: &'a allocators::Entry,
    pub configured: &'a Configured,
    pub registers: Option<Vec<String>>,
    pub source: String,
    pub directory: Option<String>,
    pub target: String,
}

/// Statistics as JSON text; without a time of compilation, without any times.
pub fn statistics(subject: Subject<'_>, mut functions: Vec<Function>, compilation_ns: Option<u64>) -> anyhow::Result<Vec<u8>> {
    if compilation_ns.is_none() {
        for function in &mut functions {
            function.counts.forget_measurements();
        }
    }
    let statistics = Statistics {
        schema: SCHEMA.into(),
        chordal: env!("CARGO_PKG_VERSION").into(),
        allocator: subject.allocator.name.into(),
        options: options::of(subject.configured),
        registers: subject.registers,
        source: subject.source,
        directory: subject.directory,
        target: subject.target,
        compilation_ns,
        total: Counts::total(&functions),
        functions,
    };
    let mut text = serde_json::to_vec_pretty(&statistics).context("statistics")?;
    text.push(b'\n');
    Ok(text)
}

/// The progress of a long compilation, shown only on a terminal and after the first second.
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    done: Cell<u64>,
}

impl Progress {
    pub fn new(steps: usize) -> Self {
        let bar = if io::stderr().is_terminal() { ProgressBar::new(steps as u64) } else { ProgressBar::hidden() };
        bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
        Progress { bar, start: Instant::now(), done: Cell::new(0) }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    pub fn step(&self, function: &str) {
        self.done.update(|done| done + 1);
        if self.start.elapsed() > Duration::from_secs(1) {
            self.bar.set_position(self.done.get());
            self.bar.set_message(function.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_once() {
        assert_eq!(about("a.c", "a.c:3:0: stack frame size"), "a.c:3:0: stack frame size");
        assert_eq!(about("a.c", "b.c:3:0: stack frame size"), "a.c: b.c:3:0: stack frame size");
        assert_eq!(about("a.c", "a.cold: is odd"), "a.c: a.cold: is odd");
    }

    #[test]
    fn the_certificate_says_how_much_there_is_to_gain() {
        let of = |cost, bound, partial| {
            let mut total = Counts::default();
            (total.spill.cost, total.spill.bound, total.spill.partial_bounds) = (cost, bound, partial);
            certificate(&total)
        };
        let exactly = |cost, bound| of(Some(cost), Some(bound), Some(1)).expect("both are known");
        assert_eq!(exactly(12_345.0, 12_000.0), "spill cost 12345, at most 2.9% above the best of the plans considered");
        assert_eq!(exactly(12.0, -3.0), "spill cost 12, at most 15 above the best of the plans considered");
        assert_eq!(exactly(12.0, 12.0), "spill cost 12, the best of the plans considered");
        let of_all = of(Some(105.0), Some(100.0), Some(0)).expect("both are known");
        assert_eq!(of_all, "spill cost 105, at most 5.0% above the best plan of the model");
        assert_eq!(of(None, None, None), None);
    }

    #[test]
    fn the_summary_says_what_was_not_as_asked_for() {
        let mut total = Counts::default();
        assert_eq!(summary(&total), None);
        total.degraded_functions = 1;
        let one = "1 function is allocated in another way than asked for (`degraded` in --stats)";
        assert_eq!(summary(&total).as_deref(), Some(one));
        (total.spill.cost, total.spill.bound, total.degraded_functions) = (Some(12.0), Some(12.0), 2);
        let both = "spill cost 12, the best of the plans considered; 2 functions are allocated in another way than asked for \
                    (`degraded` in --stats)";
        assert_eq!(summary(&total).as_deref(), Some(both));
    }
}
