//! `chordal explain`: why a function's values are where they are.

use super::allocators::{self, Configured};
use super::compile::{Allocation, Progress, RelocationModel};
use super::tables::plain;
use super::{Failure, keep_apart, options};
use crate::explain::allocation::{self, Subject};
use crate::explain::index::{Entry, Index};
use crate::explain::schema::{self, Explanation, Source};
use crate::explain::{Sources, page, text, what_if};
use crate::llvm::{self, CompileOptions, Compiled, Module, Output, Pace, Relocation, Sections, Tables};
use crate::output::{self, Destination, printable};
use anyhow::{Context as _, anyhow};
use clap::{ArgAction, Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::{fs, iter};

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
    let format = arguments.format();
    if arguments.function.is_none() && format == Format::Html && output == Destination::Stdout {
        return Err(Failure::Usage("pages of several functions need a folder: -o DIR, or --function F for one page".into()));
    }
    if arguments.function.is_none() && format == Format::Html && arguments.output.extension().is_some_and(|it| it == "html") {
        return Err(Failure::Usage("without --function, -o names a folder for the pages".into()));
    }
    let module = Explained::new(arguments)?;
    let results = match (&arguments.function, format) {
        (Some(function), format) => vec![(output, module.function(function)?.rendered(format)?)],
        (None, Format::Html) => module.pages(&arguments.output)?,
        (None, Format::Json) => vec![(output, json(&module.index())?)],
        (None, Format::Text) => vec![(output.clone(), module.index().text(plain(&output)).into_bytes())],
    };
    Ok(output::write_all(&results)?)
}

impl Arguments {
    /// The format that is asked for, or that the output's name tells.
    fn format(&self) -> Format {
        let extension = self.output.extension().and_then(|extension| extension.to_str());
        self.format.unwrap_or(match extension {
            Some("html" | "htm") => Format::Html,
            Some("json") => Format::Json,
            None if self.function.is_none() && self.output.as_os_str() != "-" => Format::Html,
            _ => Format::Text,
        })
    }
}

/// The allocator as it is, but it says what registers are worth.
fn keeping_prices(configured: Configured) -> Configured {
    match configured {
        Configured::Ours(strategy) => Configured::Ours(strategy.keeping_prices()),
        llvm => llvm,
    }
}

/// A module as two allocators have allocated it, or one.
struct Explained<'a> {
    arguments: &'a Arguments,
    name: String,
    target: String,
    registers: Option<Vec<String>>,
    /// Of each allocator its name, and the result.
    compiled: Vec<(&'a str, Configured, Compiled)>,
}

impl<'a> Explained<'a> {
    fn new(arguments: &'a Arguments) -> Result<Self, Failure> {
        let name = arguments.input.display().to_string();
        let own = arguments.allocation.configured().map_err(Failure::usage)?;
        let other = (arguments.against != NONE).then(|| allocators::configured(&arguments.against)).transpose();
        let other = other.map_err(Failure::usage)?;
        llvm::die_with_prefix(&format!("chordal: error: {name}: "));
        let source = llvm::Source::read(&arguments.input).with_context(|| name.clone())?;
        let parse = || {
            let mut module = Module::parse(&source).with_context(|| name.clone())?;
            if let Some(function) = &arguments.function
                && !module.keep_only(function)
            {
                return Err(anyhow!("{name}: no function is called {}", printable(function)));
            }
            Ok(module)
        };
        let first = parse()?;
        let (target, triple) = (first.target(), first.triple());
        let registers = arguments.allocation.registers.resolve(target);
        let registers = registers.map_err(|error| Failure::Usage(format!("invalid value for '--registers': {error}")))?;
        let names = [arguments.allocation.allocator.name, arguments.against.as_str()];
        let mut modules = iter::once(Ok(first)).chain(iter::repeat_with(parse));
        let mut compiled = Vec::new();
        for (allocator, configured) in names.into_iter().zip([Some(keeping_prices(own)), other].into_iter().flatten()) {
            let module = modules.next().expect("it goes on for ever")?;
            let result = compile(module, &configured, registers.clone(), arguments).with_context(|| name.clone())?;
            compiled.push((allocator, configured, result));
        }
        Ok(Explained { arguments, name, target: triple, registers, compiled })
    }

    /// The functions, those that cost most first.
    fn index(&self) -> Index {
        let [(_, _, first), rest @ ..] = &self.compiled[..] else { unreachable!("one allocator is always asked") };
        let against = rest.first().map(|(_, _, other)| &other.functions);
        let functions = first.functions.iter().map(|function| {
            let same = against.and_then(|functions| functions.iter().find(|other| other.name == function.name));
            Entry::new(function, same)
        });
        let allocators = self.compiled.iter().map(|(name, ..)| (*name).to_owned()).collect();
        Index::new(self.name.clone(), self.target.clone(), allocators, functions.collect(), self.arguments.top)
    }

    /// The explanation of one function.
    fn function(&self, name: &str) -> anyhow::Result<Explanation> {
        let mut sources = Sources::default();
        let mut place = None;
        let mut explained = Vec::new();
        for (allocator, configured, compiled) in &self.compiled {
            let function = compiled.functions.iter().find(|function| function.name == name);
            let function = function.ok_or_else(|| anyhow!("{}: no function is called {}", self.name, printable(name)))?;
            place = function.place.clone();
            let subject = Subject {
                allocator,
                options: options::of(configured),
                registers: self.registers.clone(),
                rule: &configured.allocator(false, false).rule(),
                fallback: function.fallback.clone(),
                counts: &function.counts,
                code: &compiled.codes[name],
            };
            explained.push(allocation::explain(subject, &mut sources));
        }
        let mut explained = explained.into_iter();
        let mut allocation = explained.next().expect("one allocator is always asked");
        if let (_, Configured::Ours(strategy), compiled) = &self.compiled[0]
            && let Some(model) = compiled.codes[name].model.as_ref().filter(|_| self.arguments.what_if)
        {
            allocation.counterfactuals = what_if::what_if(&model.function, &model.overlay, strategy, &allocation);
        }
        Ok(Explanation {
            schema: schema::SCHEMA.into(),
            chordal: env!("CARGO_PKG_VERSION").into(),
            module: self.name.clone(),
            function: name.to_owned(),
            target: self.target.clone(),
            place,
            sources: lines(sources),
            allocation,
            against: explained.next(),
        })
    }

    /// A start page, and a page for each of the functions that cost most.
    fn pages(&self, folder: &Path) -> anyhow::Result<Vec<(Destination, Vec<u8>)>> {
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        let index = self.index();
        let file = |name: &str| Destination::new(&folder.join(name));
        let mut pages = Vec::new();
        for entry in &index.functions {
            pages.push((file(&entry.page), self.function(&entry.name)?.rendered(Format::Html)?));
        }
        pages.push((file("index.html"), index.html().into_bytes()));
        Ok(pages)
    }
}

impl Explanation {
    fn rendered(&self, format: Format) -> anyhow::Result<Vec<u8>> {
        match format {
            Format::Text => Ok(text::text(self).into_bytes()),
            Format::Json => json(self),
            Format::Html => {
                let title = format!("{}: {}", self.function, self.allocation.allocator);
                Ok(page::page(&serde_json::to_string(self).context("the explanation")?, &title).into_bytes())
            }
        }
    }
}

fn json(value: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(value).context("the explanation")?;
    text.push(b'\n');
    Ok(text)
}

fn compile(
    module: Module<'_>,
    configured: &Configured,
    registers: Option<Vec<String>>,
    arguments: &Arguments,
) -> anyhow::Result<Compiled> {
    let steps = if matches!(configured, Configured::Ours(_)) { 2 } else { 1 };
    let progress = Progress::new(steps * module.num_functions());
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
        remarks: false,
        list: arguments.function.is_some() || arguments.format() == Format::Html,
        progress: &|function| progress.step(function),
    };
    let compiled = llvm::compile(module, &options);
    progress.finish();
    Ok(compiled?)
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
