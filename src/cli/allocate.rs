//! `chordal allocate`.

use super::options::AllocatorOptions;
use super::{Failure, allocators};
use crate::allocate::failure::guarded;
use crate::allocate::pipeline;
use crate::input;
use crate::machine::{parse, validate};
use crate::output::{self, printable};
use anyhow::{Context as _, anyhow};
use clap::Args;
use std::path::PathBuf;

/// Allocate registers for one function in text form, and check the result
///
/// Where `chordal compile` comes upon a bug in chordal, it writes the function that shows it to a file, with its registers. This
/// command does the same with it again, without LLVM. It writes no code.
#[derive(Args)]
pub struct Arguments {
    /// The function; `-` is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// The allocator: chordal's, or regalloc2's
    #[arg(long, value_name = "NAME", default_value = allocators::DEFAULT, value_parser = allocators::parse)]
    allocator: &'static allocators::Entry,

    #[command(flatten)]
    options: AllocatorOptions,
}

/// Allocates registers for a function.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let strategy = arguments.allocator.strategy(&arguments.options).map_err(Failure::Usage)?;
    let name = || arguments.input.display().to_string();
    let text = input::text(&arguments.input).with_context(name)?;
    let function = parse(&text).with_context(name)?;
    if let Err(violations) = validate(&function) {
        return Err(anyhow!("{}: {}", name(), violations[0]).into());
    }
    guarded(|| pipeline::allocate(&function, strategy)).with_context(|| format!("{}: function {}", name(), function.name))?;
    let said = format!("function {}: allocated, and the checker accepts it\n", printable(&function.name));
    output::print(said.as_bytes())?;
    Ok(())
}
