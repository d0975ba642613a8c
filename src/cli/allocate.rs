//! `chordal allocate`.

use super::options::AllocatorOptions;
use super::{Failure, allocators};
use crate::allocate::dump::Dump;
use crate::allocate::failure::guarded;
use crate::allocate::observe::{Observer, Phase};
use crate::allocate::pipeline::{self, Strategy};
use crate::input;
use crate::machine::{parse, validate};
use crate::output::{self, printable};
use anyhow::{Context as _, anyhow};
use clap::Args;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
What the default allocator does with a function, phase by phase:
  chordal allocate FILE --dump-after all

The loads and stores of another one, and the code that is left on edges:
  chordal allocate FILE --allocator spill-free --dump-after spill,eliminate

How to read a dump. Comments start with `;`, and all that is no comment is the function again. What an instruction is \
followed by is where its operands are, in the same order: `v2:w = op v0 v1  ; a = b s0` reads register b and slot s0, and writes a. \
After `eliminate` it is the function as it was given, and lines such as `; load a s0` are the instructions that were added, \
target first. At the end are the lines that the phase has added (`+`) and removed (`-`).";

/// Allocate registers for one function in text form, and check the result
///
/// Where `chordal compile` comes upon a bug in chordal, it writes the function that shows it to a file, with its registers. This
/// command does the same with it again, without LLVM. It writes no code, but it can show what each phase makes of the function.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Arguments {
    /// The function; `-` is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// The allocator: chordal's, or regalloc2's
    #[arg(long, value_name = "NAME", default_value = allocators::DEFAULT, value_parser = allocators::parse)]
    allocator: &'static allocators::Entry,

    /// Print the function after these phases of the allocator (`all`: after each), and the lines that each of them changed
    ///
    /// `chordal list` shows the phases of each allocator; options may add some. A phase that runs again (because no registers are
    /// left for some value, or preparing the function was undone) is shown again.
    #[arg(long, value_name = "PHASE|all", value_delimiter = ',')]
    dump_after: Vec<String>,

    #[command(flatten)]
    options: AllocatorOptions,
}

/// Allocates registers for a function.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let strategy = arguments.allocator.strategy(&arguments.options).map_err(Failure::usage)?;
    let requested = requested(&arguments.dump_after, arguments.allocator.name, &strategy)?;
    let name = || arguments.input.display().to_string();
    let text = input::text(&arguments.input).with_context(name)?;
    let function = parse(&text).with_context(name)?;
    if let Err(violations) = validate(&function) {
        return Err(anyhow!("{}: {}", name(), violations[0]).into());
    }
    let mut printed = Ok(());
    let mut print = |text: &str| {
        if printed.is_ok() {
            printed = output::print(text.as_bytes());
        }
    };
    let mut dump = (!requested.is_empty()).then(|| Dump::new(&function, requested, &mut print));
    let allocated = guarded(|| {
        let observer: &mut dyn Observer = if let Some(dump) = &mut dump { dump } else { &mut () };
        pipeline::allocate_watched(&function, strategy, observer)
    });
    drop(dump);
    printed?;
    allocated.with_context(|| format!("{}: function {}", name(), function.name))?;
    if arguments.dump_after.is_empty() {
        let said = format!("function {}: allocated, and the checker accepts it\n", printable(&function.name));
        output::print(said.as_bytes())?;
    }
    Ok(())
}

/// The phases of these names, if the allocator runs them all.
fn requested(names: &[String], allocator: &str, strategy: &Strategy) -> Result<Vec<Phase>, Failure> {
    let phases = strategy.phases();
    if names.iter().any(|name| name == "all") {
        return Ok(phases);
    }
    let phase = |name: &String| {
        phases.iter().copied().find(|phase| phase.name() == name).ok_or_else(|| {
            let runs: Vec<&str> = phases.iter().map(|phase| phase.name()).collect();
            let runs = runs.join(", ");
            Failure::Usage(format!("{allocator}, with these options, runs only {runs}: there is no phase `{name}` to dump after"))
        })
    };
    names.iter().map(phase).collect()
}
