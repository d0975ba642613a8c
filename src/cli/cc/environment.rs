//! What the environment says, beside the command line, about how code is generated.

use super::driver::{Driver, Language};
use anyhow::{Context as _, Result, bail};
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The variables that stand for an option of `chordal compile`.
const OPTIONS: [(&str, &str); 2] = [("CHORDAL_ALLOCATOR", "--allocator"), ("CHORDAL_REGISTERS", "--registers")];

/// The arguments of `chordal compile` that the environment holds.
pub fn options() -> Result<Vec<String>> {
    let mut arguments = Vec::new();
    for (variable, option) in OPTIONS {
        if let Ok(value) = env::var(variable)
            && !value.is_empty()
        {
            arguments.extend([option.to_owned(), value]);
        }
    }
    let options = env::var("CHORDAL_OPTIONS").unwrap_or_default();
    let Some(words) = shlex::split(&options) else { bail!("CHORDAL_OPTIONS: {options}: a quotation mark is not closed") };
    arguments.extend(words);
    Ok(arguments)
}

/// The folder for statistics, if they are wanted.
pub fn statistics() -> Option<PathBuf> {
    env::var_os("CHORDAL_STATS").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// What an object depends on besides the command line and the sources, for a cache: the options, and which chordal and which
/// clang it is.
///
/// # Errors
/// If statistics are wanted: they are written only where something is compiled.
pub fn cache_key(language: Language) -> Result<String> {
    if statistics().is_some() {
        bail!("CHORDAL_STATS: statistics are written only by a compilation, not from a cache");
    }
    let (driver, plan) = Driver::find(language, &[])?;
    let chordal = env::current_exe().context("chordal's own path")?;
    let mut key = format!("chordal {} {}\n", env!("CARGO_PKG_VERSION"), identity(&chordal)?);
    key += &format!("{} {}\n", driver.program.display(), plan.version);
    for option in options()? {
        key += &format!("{option}\n");
    }
    Ok(key)
}

/// What tells one build of a program from another one.
fn identity(program: &Path) -> Result<String> {
    let metadata = fs::metadata(program).with_context(|| program.display().to_string())?;
    Ok(format!("{} {}.{}", metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
}
