//! `chordal cc`, `chordal c++` and `chordal fc`: clang and flang with the plug-in.
//!
//! Requires: clang 22 or flang 22 that loads LLVM as a shared library.
//! Ensures: everything is the driver's own doing, but for the registers of code that it, or lld, generates.

use super::Failure;
use super::driver::{Driver, become_it, plugin};
use crate::output;
use crate::plugin::settings::{self, Settings};
use anyhow::{Context as _, Result, anyhow};
use clap::{ArgAction, Args};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

pub use super::driver::Language;

const AFTER_HELP: &str = "\
Every argument goes on to clang 22, or, from `chordal fc`, to flang 22, which loads chordal as a plug-in. With -flto, chordal
is in lld as well (-fuse-ld=lld).

Environment:
  CHORDAL_ALLOCATOR  the allocator (`chordal list` shows all) [default: tuned]
  CHORDAL_REGISTERS  hold it to these registers, as `chordal compile --registers` does
  CHORDAL_OPTIONS    further arguments of `chordal compile`, separated as by a shell
  CHORDAL_STATS      a folder for statistics, one file for each object, by its path (`chordal stats DIR`
                     adds them up, `chordal diff` compares two folders)
  CHORDAL_CLANG      the clang 22 to use [default: clang-22, or clang]
  CHORDAL_FLANG      the flang 22 to use [default: flang-22, or flang]
  CHORDAL_PLUGIN     the plug-in [default: libchordal.so beside this program, or in ../lib]

Examples:
  chordal cc -O2 -c prog.c -o prog.o
  chordal cc -O2 main.c parse.c -lm -o prog
  chordal cc -O2 -flto=thin -fuse-ld=lld *.c -o prog
  make CC=\"chordal cc\" CXX=\"chordal c++\" FC=\"chordal fc\"
  ./configure CC=\"chordal cc\"
  CC=\"chordal cc\" CXX=\"chordal c++\" cmake -B build
  CHORDAL_STATS=$PWD/stats make CC=\"chordal cc\" && chordal stats stats
      builds, and says what was counted in all of it
  CHORDAL_ALLOCATOR=llvm-greedy make CC=\"chordal cc\"
      the same build with LLVM's allocator
  CCACHE_COMPILERCHECK=\"%compiler% cc --cache-key\" make CC=\"ccache chordal cc\"
      a build with ccache, which has to know of these variables

Where a build wants one word for its compiler, a link to chordal does that is called chordal-cc, chordal-c++ or chordal-fc.

Exit status: that of clang or flang, 1 if chordal found none, 2 for a wrong value in the environment.";

/// Stand in for clang: compile C with chordal, and do the rest as clang does
#[derive(Args)]
#[command(after_help = AFTER_HELP, disable_help_flag = true)]
pub struct Arguments {
    /// Show this help (as the first argument)
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,

    /// Show what objects depend on besides the command line and the sources, for ccache (as the only argument)
    #[arg(long)]
    cache_key: bool,

    /// Clang's arguments
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Becomes the driver.
pub fn run(language: Language, arguments: &Arguments) -> Result<(), Failure> {
    Settings::check().map_err(Failure::Usage)?;
    let driver = Driver::find(language)?;
    if arguments.cache_key {
        return Ok(output::print(cache_key(&driver)?.as_bytes())?);
    }
    let plugin = plugin()?.display().to_string();
    let words = expanded(&arguments.arguments);
    let mut command = driver.command();
    command.arg(format!("-fpass-plugin={plugin}"));
    if links_bitcode(&words) {
        if !words.iter().any(|word| word.starts_with("-fuse-ld=") && word.contains("lld")) {
            return Err(anyhow!("-flto leaves code generation to the linker: chordal is only in lld (-fuse-ld=lld)").into());
        }
        command.arg(format!("-Wl,--load-pass-plugin={plugin}"));
    }
    command.args(&arguments.arguments);
    Err(become_it(&mut command).into())
}

/// Whether the linker is to generate code.
fn links_bitcode(words: &[String]) -> bool {
    const NO_LINKING: [&str; 9] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-###", "--version", "-v"];
    let is_lto = |word: &str| word == "-flto" || word.starts_with("-flto=");
    let last = words.iter().rev().find(|word| is_lto(word) || *word == "-fno-lto");
    last.is_some_and(|word| is_lto(word)) && !words.iter().any(|word| NO_LINKING.contains(&&**word))
}

/// Arguments as text, with response files expanded.
fn expanded(arguments: &[OsString]) -> Vec<String> {
    let mut words = Vec::new();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let file = argument.strip_prefix('@').and_then(|file| fs::read_to_string(file).ok());
        match file.and_then(|text| shlex::split(&text)) {
            Some(more) => words.extend(more),
            None => words.push(argument.into_owned()),
        }
    }
    words
}

/// A key for compiler caches: everything that an object depends on besides the command line and the sources, which are the
/// options in the environment and the identities of chordal and clang.
///
/// # Errors
/// If statistics are requested: only an actual compilation writes them.
fn cache_key(driver: &Driver) -> Result<String> {
    if settings::are_statistics_requested() {
        return Err(anyhow!("CHORDAL_STATS: statistics are written only by a compilation, not from a cache"));
    }
    let mut key = format!("chordal {} {}\n", env!("CARGO_PKG_VERSION"), identity(&plugin()?)?);
    key += &format!("{} {}\n", driver.program.display(), driver.version()?);
    for word in settings::words().map_err(|why| anyhow!(why))? {
        key += &format!("{word}\n");
    }
    Ok(key)
}

/// A text that differs between builds of a file.
fn identity(file: &Path) -> Result<String> {
    let metadata = fs::metadata(file).with_context(|| file.display().to_string())?;
    Ok(format!("{} {}.{}", metadata.size(), metadata.mtime(), metadata.mtime_nsec()))
}
