//! Runs of many modules under many allocators, as the command line asks for them.

use super::Failure;
use crate::input;
use crate::llvm::{RegisterRequest, Target};
use crate::measure::compare::engine::{self, Module, Observer};
use crate::measure::compare::journal::Journal;
use crate::measure::compare::record::{Record, Run};
use crate::measure::compare::worker::{Request, Settings};
use crate::output::{self, Destination, TemporaryFolder};
use anyhow::Context as _;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, thread};
use xxhash_rust::xxh3::Xxh3;

/// A register list that exists on some target, as a command-line argument.
///
/// # Errors
/// If it exists on none; the message says why not on the first.
pub fn parse_registers(text: &str) -> Result<String, String> {
    let text = text.trim();
    let request: RegisterRequest = text.parse().unwrap_or_else(|never| match never {});
    match request.resolve(Target::X86_64) {
        Err(error) if request.resolve(Target::I386).is_err() => Err(error.to_string()),
        _ => Ok(text.to_owned()),
    }
}

/// How runs are made.
#[derive(Args, Clone)]
#[command(next_help_heading = "Options of the runs")]
pub struct RunOptions {
    /// How many modules are compiled in parallel [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// How many times each run is made; the median of its times is reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,

    /// How long one compilation may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,

    /// How much memory one compilation may take, in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,

    /// Write the results for each module to this file as soon as it is done (JSON Lines, schema chordal-compare/1)
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,

    /// Continue from the records file: what is in it is not done again, unless the module or chordal has changed
    #[arg(long, requires = "records")]
    resume: bool,

    /// Leave times out of the results, so that equal runs give equal bytes
    #[arg(long)]
    no_times: bool,

    /// Do not check the allocations
    #[arg(long)]
    no_check: bool,
}

impl RunOptions {
    /// The file for records, as something that is written.
    pub fn outputs(&self) -> impl Iterator<Item = (&'static str, Destination)> {
        self.records.iter().map(|path| ("the records", Destination::File(path.clone())))
    }

    /// The same for further runs, whose records go to the same file.
    pub fn continued(&self) -> Self {
        RunOptions { resume: self.records.is_some(), ..self.clone() }
    }
}

/// Runs every request on every module.
pub fn run(inputs: &[PathBuf], requests: &[Request], options: &RunOptions) -> Result<Vec<Record>, Failure> {
    let settings = Settings {
        executable: env::current_exe().context("chordal's own executable cannot be found")?,
        arguments: compile_arguments(options),
        repeat: options.repeat.into(),
        time_limit: Duration::from_secs(options.timeout),
    };
    let folder = output::temporary_folder()?;
    let mut modules = modules(inputs, &settings, &folder)?;
    let journal = match &options.records {
        Some(path) => Some(open(path, options.resume)?),
        None => None,
    };
    if let Some(journal) = &journal {
        for module in &mut modules {
            module.known = journal.known(&module.name, &module.fingerprint);
        }
    }
    let side_by_side = options.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let mut progress = Progress::new(journal, modules.len() * requests.len());
    let records = engine::run(&modules, requests, &settings, side_by_side, &mut progress);
    progress.bar.finish_and_clear();
    Ok(records.context("the runs cannot be made")?)
}

fn compile_arguments(options: &RunOptions) -> Vec<String> {
    let given = [("--no-times", options.no_times), ("--no-check", options.no_check)];
    let mut arguments: Vec<String> = given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()).collect();
    arguments.extend(options.memory_limit.map(|limit| format!("--memory-limit={limit}")));
    arguments
}

fn open(path: &Path, resume: bool) -> Result<Journal, Failure> {
    match Journal::open(path, resume) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::Usage(format!("the records file {} exists: --resume continues from it", path.display())))
        }
        opened => Ok(opened.with_context(|| path.display().to_string())?),
    }
}

/// The modules by the names that they were given. What is on standard input is put into the folder for the workers to read.
fn modules(inputs: &[PathBuf], settings: &Settings, folder: &TemporaryFolder) -> Result<Vec<Module>, Failure> {
    let mut same_settings = Xxh3::new();
    same_settings.update(&fs::read(&settings.executable).context("chordal's own executable cannot be read")?);
    same_settings.update(format!("{:?} {}", settings.arguments, settings.repeat).as_bytes());
    let mut modules: Vec<Module> = Vec::new();
    for input in inputs {
        let name = input.display().to_string();
        if modules.iter().any(|module| module.name == name) {
            return Err(Failure::Usage(format!("{name} is named twice")));
        }
        let mut path = input.clone();
        if name == "-" {
            path = folder.path().join("stdin");
            let mut file = fs::File::create(&path).context("standard input")?;
            io::copy(&mut io::stdin(), &mut file).context("standard input")?;
        }
        let bytes = input::bytes(&path).with_context(|| name.clone())?;
        let mut hash = same_settings.clone();
        hash.update(&bytes);
        modules.push(Module { name, path, fingerprint: format!("{:032x}", hash.digest128()), known: Vec::new() });
    }
    Ok(modules)
}

/// Keeps the records and shows how far the runs are, on a terminal only.
struct Progress {
    journal: Option<Journal>,
    bar: ProgressBar,
}

impl Progress {
    fn new(journal: Option<Journal>, runs: usize) -> Self {
        let bar = if io::stderr().is_terminal() { ProgressBar::new(runs as u64) } else { ProgressBar::hidden() };
        let template = "{bar:30} {pos}/{len} {elapsed} {msg}";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        Progress { journal, bar }
    }
}

impl Observer for Progress {
    fn run(&mut self, module: &str, run: &Run) {
        self.bar.inc(1);
        self.bar.set_message(format!("{module}: {}, {} registers", run.allocator, run.registers));
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.add(record))
    }
}
