//! The settings of the plug-in, from options of LLVM's command line (`-mllvm -chordal-allocator=`) or from environment
//! variables (`CHORDAL_ALLOCATOR`). They are read once a process.

use crate::cli::allocators::{self, Configured, Entry};
use crate::cli::compile::Allocation;
use crate::cli::limits::Threads;
use crate::llvm::guest::{CommandLine, given};
use crate::llvm::{Algorithm, Pace, RequestError, Stock, Target};
use clap::Parser;
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The settings of the plug-in.
pub struct Settings {
    pub allocator: &'static Entry,
    pub configured: Configured,
    /// The registers for each target, or why there are none.
    registers: [(Target, Registers); 2],
    pub check: bool,
    pub verify: bool,
    pub fallback: bool,
    pub pace: Pace,
    /// The folder for statistics, if they are requested.
    pub statistics: Option<PathBuf>,
    /// Whether statistics have times.
    pub times: bool,
}

/// The registers that the allocator may use (`None`: all), or why there are none.
type Registers = Result<Option<Vec<String>>, String>;

/// The options that may follow in `CHORDAL_OPTIONS`: those of `chordal compile` that are not the compiler's to decide.
#[derive(Parser)]
#[command(name = "chordal", disable_help_flag = true)]
struct Options {
    #[command(flatten)]
    allocation: Allocation,

    #[command(flatten)]
    threads: Threads,

    /// Leave times out of the statistics
    #[arg(long)]
    no_times: bool,
}

/// An option by its two names: an environment variable, and an option of LLVM's command line.
struct Named {
    variable: &'static str,
    command_line: CommandLine,
}

const ALLOCATOR: Named = Named { variable: "CHORDAL_ALLOCATOR", command_line: CommandLine::Allocator };
const REGISTERS: Named = Named { variable: "CHORDAL_REGISTERS", command_line: CommandLine::Registers };
const OPTIONS: Named = Named { variable: "CHORDAL_OPTIONS", command_line: CommandLine::Options };
const STATISTICS: Named = Named { variable: "CHORDAL_STATS", command_line: CommandLine::Stats };

impl Named {
    /// The value that is given, unless it is empty. LLVM's command line is the more special place.
    fn value(&self) -> Option<String> {
        let variable = || env::var_os(self.variable).map(|value| value.to_string_lossy().into_owned());
        given(self.command_line).or_else(variable).filter(|value| !value.is_empty())
    }

    fn invalid(&self, value: &str, why: &str) -> String {
        format!("invalid value '{value}' for {}: {why}", self.variable)
    }
}

impl Settings {
    /// The settings of this process.
    ///
    /// # Errors
    /// If a value is invalid. The message names the variables.
    pub fn get() -> Result<&'static Settings, String> {
        static SETTINGS: OnceLock<Result<Settings, String>> = OnceLock::new();
        SETTINGS.get_or_init(|| Settings::read(&words()?)).as_ref().map_err(Clone::clone)
    }

    /// Reads the arguments that the environment stands for.
    fn read(words: &[String]) -> Result<Settings, String> {
        let named = |why: &str| {
            let set: Vec<&str> = [ALLOCATOR, REGISTERS, OPTIONS]
                .iter()
                .filter(|option| option.value().is_some())
                .map(|option| option.variable)
                .collect();
            format!("{}: {}", set.join(", "), why.lines().next().unwrap_or_default().trim_start_matches("error: "))
        };
        if let Some(name) = ALLOCATOR.value() {
            allocators::parse(&name).map_err(|why| ALLOCATOR.invalid(&name, &why.to_string()))?;
        }
        let words = ["chordal"].into_iter().chain(words.iter().map(String::as_str));
        let Options { allocation, threads, no_times } = Options::try_parse_from(words).map_err(|why| named(&why.to_string()))?;
        let configured = allocation.configured().map_err(|why| named(&why.to_string()))?;
        if matches!(configured, Configured::Llvm(Stock { algorithm: Algorithm::Fast, .. })) {
            return Err(named("llvm-fast has a pipeline of its own: it is there without the plug-in, at -O0"));
        }
        let registers = [Target::X86_64, Target::I386].map(|target| {
            let registers = allocation.registers.resolve(target);
            let message = |why: RequestError| match REGISTERS.value() {
                Some(list) => REGISTERS.invalid(&list, &why.to_string()),
                None => named(&why.to_string()),
            };
            (target, registers.map_err(message))
        });
        Ok(Settings {
            allocator: allocation.allocator,
            configured,
            registers,
            check: !allocation.no_check,
            verify: allocation.verify_llvm,
            fallback: !allocation.no_fallback,
            pace: threads.pace(),
            statistics: STATISTICS.value().map(PathBuf::from),
            times: !no_times,
        })
    }

    /// Finds out whether there is a target for which the settings are valid.
    ///
    /// # Errors
    /// If there is none.
    pub fn check() -> Result<(), String> {
        let registers = &Settings::get()?.registers;
        let (_, first) = &registers[0];
        if registers.iter().all(|(_, registers)| registers.is_err()) { first.clone().map(drop) } else { Ok(()) }
    }

    /// The general-purpose registers that the allocator may use; `None` for all.
    ///
    /// # Errors
    /// If the target does not have them.
    pub fn registers(&self, target: Target) -> Result<Option<&[String]>, String> {
        let (_, registers) = self.registers.iter().find(|(it, _)| *it == target).expect("there are two targets");
        registers.as_ref().map(Option::as_deref).map_err(Clone::clone)
    }
}

/// The arguments of `chordal compile` that variables and options stand for.
///
/// # Errors
/// If one cannot be read.
pub fn words() -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (name, option) in [("--allocator", ALLOCATOR), ("--registers", REGISTERS)] {
        words.extend(option.value().into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    if let Some(options) = OPTIONS.value() {
        let split = shlex::split(&options);
        words.extend(split.ok_or_else(|| format!("{}: {options}: a quotation mark is not closed", OPTIONS.variable))?);
    }
    Ok(words)
}

/// Whether statistics are requested.
pub fn are_statistics_requested() -> bool {
    STATISTICS.value().is_some()
}
