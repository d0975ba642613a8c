//! `chordal explain`: why a function's values are where they are.

use super::allocators::{self, Configured};
use super::compile::{Allocation, RelocationModel};
use super::{Failure, keep_apart, options};
use crate::explain::allocation::{self, Subject};
use crate::explain::schema::{self, Explanation, Source};
use crate::explain::{Sources, what_if};
use crate::llvm::{self, CompileOptions, Compiled, Module, Output, Pace, Relocation, Sections, Tables};
use crate::measure::stats::Function;
use crate::output::{self, Destination};
use anyhow::{Context as _, anyhow};
use clap::{ArgAction, Args, ValueEnum};
use std::fs;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  chordal explain prog.bc
      the functions in which allocation costs most
  chordal explain prog.bc --function f
      what allocation costs in f, where, and why each value that is in memory is there
  chordal explain prog.bc --function f -o f.html
      the same as a page: source and code, live ranges, the price of a register at each point
  chordal explain prog.bc --function f -o f.html --against linear-scan
      what another allocator does differently
  chordal explain prog.bc -o explained
      a folder with a start page, and pages of the functions that cost most
  chordal explain prog.bc --function f --format json | jq .allocation.verdict
      everything that the page knows (schema chordal-explain/1, docs/explaining.md)

With debug information (-g or -gline-tables-only), code stands beside its source.

Exit status: 0 done, 1 the work failed, 2 wrong usage.";

/// Explain where the values of a function are, what that costs, and why
///
/// Allocates the module, and shows one function: code with what allocation adds to it, live ranges by register and in memory,
/// register pressure, and, for `tuned`, what a register is worth at each point and who competes for it.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The module, as bitcode or textual IR; `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The function, by the name of its symbol [default: those that cost most are listed]
    #[arg(long, value_name = "F")]
    function: Option<String>,

    /// The output format [default: by OUT's extension; text on standard output]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,

    /// Where the result goes; without --function, a folder of pages; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,

    /// The allocator to compare with, perhaps followed by options, or `none`
    #[arg(long, value_name = "A", default_value = allocators::LLVM_GREEDY, value_parser = parse_against)]
    against: String,

    /// Without --function: how many functions to show
    #[arg(long, value_name = "K", default_value_t = 20)]
    top: usize,

    /// Whether to find out what one more register would save, by allocating several times
    #[arg(long, value_name = "on|off", hide_possible_values = true, default_value = "on", action = ArgAction::Set, value_parser = super::choices::parser::<bool>())]
    what_if: bool,

    /// Where code may be loaded [default: as the module says, or else anywhere]
    #[arg(long, value_enum, value_name = "static|pic", hide_possible_values = true)]
    relocation_model: Option<RelocationModel>,

    #[command(flatten)]
    allocation: Allocation,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// A page for a browser
    Html,
    /// For programs: chordal-explain/1
    Json,
}

const NONE: &str = "none";

fn parse_against(text: &str) -> Result<String, super::option_error::OptionError> {
    if text == NONE { Ok(text.to_owned()) } else { allocators::parse_with_options(text) }
}

/// Explains a function, or lists those that cost most.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = Destination::new(&arguments.output);
    keep_apart(&[("the result", output.clone())], std::slice::from_ref(&arguments.input))?;
    let name = arguments.input.display().to_string();
    llvm::die_with_prefix(&format!("chordal: error: {name}: "));
    let source = llvm::Source::read(&arguments.input).with_context(|| name.clone())?;
    let own = arguments.allocation.configured().map_err(Failure::usage)?;
    let other = (arguments.against != NONE).then(|| allocators::configured(&arguments.against)).transpose();
    let other = other.map_err(Failure::usage)?;
    let mut compiled = Vec::new();
    let mut target = String::new();
    let mut registers = None;
    for configured in [Some(keeping_prices(own)), other].into_iter().flatten() {
        let module = Module::parse(&source).with_context(|| name.clone())?;
        let list = arguments.allocation.registers.resolve(module.target());
        registers = list.map_err(|error| Failure::Usage(format!("invalid value for '--registers': {error}")))?;
        target = module.triple();
        let result = compile(module, &configured, registers.clone(), arguments).with_context(|| name.clone())?;
        compiled.push((configured, result));
    }
    let function = arguments.function.as_deref().unwrap_or_default();
    let explanation = explanation(arguments, &name, function, &target, registers, &compiled)?;
    let mut text = serde_json::to_vec(&explanation).context("the explanation")?;
    text.push(b'\n');
    Ok(output::write_all(&[(output, text)])?)
}

/// The allocator as it is, but it says what registers are worth.
fn keeping_prices(configured: Configured) -> Configured {
    match configured {
        Configured::Ours(strategy) => Configured::Ours(strategy.keeping_prices()),
        llvm => llvm,
    }
}

fn compile(
    module: Module<'_>,
    configured: &Configured,
    registers: Option<Vec<String>>,
    arguments: &Arguments,
) -> anyhow::Result<Compiled> {
    let options = CompileOptions {
        allocator: configured.allocator(!arguments.allocation.no_check, false),
        output: Output::Assembly,
        sections: Sections::default(),
        relocation: arguments.relocation_model.map_or_else(Relocation::default, Relocation::from),
        tables: Tables::default(),
        verify: arguments.allocation.verify_llvm,
        registers,
        fallback: !arguments.allocation.no_fallback,
        sizes: false,
        pace: Pace::default(),
        list: true,
        progress: &|_| (),
    };
    Ok(llvm::compile(module, &options)?)
}

fn explanation(
    arguments: &Arguments,
    module: &str,
    name: &str,
    target: &str,
    registers: Option<Vec<String>>,
    compiled: &[(Configured, Compiled)],
) -> anyhow::Result<Explanation> {
    let names = [arguments.allocation.allocator.name, &arguments.against];
    let mut sources = Sources::default();
    let mut explained = Vec::new();
    let mut place = None;
    for ((configured, compiled), allocator) in compiled.iter().zip(names) {
        let function = compiled.functions.iter().find(|function| function.name == name);
        let function = function.ok_or_else(|| anyhow!("{module}: no function is called {name}"))?;
        place = function.place.clone();
        explained.push(allocation(allocator, configured, registers.clone(), function, compiled, &mut sources, arguments.what_if));
    }
    let mut explained = explained.into_iter();
    let allocation = explained.next().expect("one allocator is always asked");
    Ok(Explanation {
        schema: schema::SCHEMA.into(),
        chordal: env!("CARGO_PKG_VERSION").into(),
        module: module.to_owned(),
        function: name.to_owned(),
        target: target.to_owned(),
        place,
        sources: lines(sources),
        allocation,
        against: explained.next(),
    })
}

fn allocation(
    allocator: &str,
    configured: &Configured,
    registers: Option<Vec<String>>,
    function: &Function,
    compiled: &Compiled,
    sources: &mut Sources,
    what_if: bool,
) -> schema::Allocation {
    let code = &compiled.codes[&function.name];
    let subject = Subject {
        allocator,
        options: options::of(configured),
        registers,
        rule: "",
        fallback: function.fallback.clone(),
        counts: &function.counts,
        code,
    };
    let mut allocation = allocation::explain(subject, sources);
    if let (Configured::Ours(strategy), Some(model), true) = (configured, &code.model, what_if) {
        allocation.counterfactuals = what_if::what_if(&model.function, &model.overlay, strategy, &allocation);
    }
    allocation
}

/// The lines that rows refer to, and those between them.
fn lines(sources: Sources) -> Vec<Source> {
    /// How many lines around those that rows refer to.
    const AROUND: u32 = 3;
    let source = |(file, wanted): (String, std::collections::BTreeSet<u32>)| {
        let text = fs::read(Path::new(&file)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let is_near = |line: u32| wanted.range(line.saturating_sub(AROUND)..=line + AROUND).next().is_some();
        let lines =
            (1..).zip(text.lines()).filter(|&(number, _)| is_near(number)).map(|(number, line)| (number, line.to_owned()));
        Source { lines: lines.collect(), file }
    };
    sources.0.into_iter().map(source).collect()
}
