//! Environment variables that stand for options of `chordal compile`. Messages name the variables, since whoever set them
//! need not know which options they become.

use super::driver::{Driver, Language};
use crate::cli::{Cli, Command, Failure, allocators};
use crate::llvm::{RegisterRequest, Target};
use anyhow::{Context as _, Result, anyhow};
use clap::Parser as _;
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const ALLOCATOR: &str = "CHORDAL_ALLOCATOR";
const REGISTERS: &str = "CHORDAL_REGISTERS";
const OPTIONS: &str = "CHORDAL_OPTIONS";

/// The arguments of `chordal compile` that the environment asks for. Registers are checked if the target is a supported one.
///
/// # Errors
/// If the value of a variable is invalid.
pub fn options(target: Option<Target>) -> Result<Vec<String>, Failure> {
    let mut arguments = Vec::new();
    if let Some(name) = variable(ALLOCATOR)? {
        allocators::parse(&name).map_err(|why| invalid(ALLOCATOR, &name, &why.to_string()))?;
        arguments.extend(["--allocator".to_owned(), name]);
    }
    if let Some(list) = variable(REGISTERS)? {
        let request: RegisterRequest = list.parse().unwrap_or_else(|never| match never {});
        let resolved = target.map_or(Ok(None), |target| request.resolve(target));
        resolved.map_err(|why| invalid(REGISTERS, &list, &why.to_string()))?;
        arguments.extend(["--registers".to_owned(), list]);
    }
    if let Some(options) = variable(OPTIONS)? {
        let words = shlex::split(&options);
        arguments.extend(words.with_context(|| format!("{OPTIONS}: {options}: a quotation mark is not closed"))?);
    }
    Ok(arguments)
}

/// The value of a variable, unless it is unset or empty.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|value| invalid(name, &value.to_string_lossy(), "it is not UTF-8"))
}

fn invalid(variable: &str, value: &str, why: &str) -> Failure {
    Failure::Usage(format!("invalid value '{value}' for {variable}: {why}"))
}

/// Checks a command line, the program's name first, whose words from outside the environment are known to be right.
///
/// # Errors
/// If chordal refuses it; the message names the variables that are set.
pub fn check(words: &[String]) -> Result<(), Failure> {
    let why = match Cli::try_parse_from(words) {
        Ok(Cli { command: Command::Compile(arguments) }) => arguments.configured().err().map(|why| why.to_string()),
        Err(error) if error.use_stderr() => {
            let message = error.to_string();
            Some(message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
        }
        _ => None,
    };
    let Some(why) = why else { return Ok(()) };
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let set: Vec<&str> = [ALLOCATOR, REGISTERS, OPTIONS].into_iter().filter(is_set).collect();
    Err(Failure::Usage(format!("{}: {why}", set.join(", "))))
}

/// The folder for statistics, if they are requested.
pub fn statistics() -> Option<PathBuf> {
    env::var_os("CHORDAL_STATS").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// A key for compiler caches: everything that an object depends on besides the command line and the sources, which are the
/// options in the environment and the identities of chordal and clang.
///
/// # Errors
/// If statistics are requested: only an actual compilation writes them.
pub fn cache_key(language: Language) -> Result<String, Failure> {
    if statistics().is_some() {
        return Err(anyhow!("CHORDAL_STATS: statistics are written only by a compilation, not from a cache").into());
    }
    let (driver, plan) = Driver::find(language, &[])?;
    let chordal = env::current_exe().context("chordal's own path")?;
    let mut key = format!("chordal {} {}\n", env!("CARGO_PKG_VERSION"), identity(&chordal)?);
    key += &format!("{} {}\n", driver.program.display(), plan.version);
    for option in options(None)? {
        key += &format!("{option}\n");
    }
    Ok(key)
}

/// A text that differs between builds of a program.
fn identity(program: &Path) -> Result<String> {
    let metadata = fs::metadata(program).with_context(|| program.display().to_string())?;
    Ok(format!("{} {}.{}", metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
}
