//! Hints for users who give chordal the arguments of a compiler.

use super::Cli;
use crate::llvm::foreign;
use clap::CommandFactory as _;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsString;
use std::path::Path;

/// The error, with a hint if the arguments are those of a compiler.
pub fn with_hint(mut error: Error, arguments: &[OsString]) -> Error {
    if ![ErrorKind::UnknownArgument, ErrorKind::InvalidSubcommand].contains(&error.kind()) {
        return error;
    }
    let is_first_unknown = error.kind() == ErrorKind::InvalidSubcommand;
    if let Some(meant) = meant(arguments, is_first_unknown) {
        let hint = format!("did you mean `chordal {meant}`?");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    }
    error
}

/// The command that was meant, with its arguments: a driver for sources, `compile` for a module.
fn meant(arguments: &[OsString], is_first_unknown: bool) -> Option<String> {
    let words: Vec<&str> = arguments.iter().map(|argument| argument.to_str()).collect::<Option<_>>()?;
    let (&first, rest) = words.split_first()?;
    let words = match first {
        "compile" => rest,
        _ if Cli::command().find_subcommand(first).is_some() => return None,
        _ => &words,
    };
    let is_module =
        is_first_unknown && Path::new(first).extension().is_some_and(|extension| extension == "bc" || extension == "ll");
    let driver = words.iter().find_map(|word| foreign::driver(Path::new(word)));
    let command = driver.or(is_module.then_some("compile"))?;
    Some(format!("{command} {}", shlex::try_join(words.iter().copied()).ok()?))
}
