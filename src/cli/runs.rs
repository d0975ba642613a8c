//! Runs of many modules under many allocators, as requested on the command line.

use super::Failure;
use super::compile::RelocationModel;
use crate::folder;
use crate::input;
use crate::llvm::{self, RegisterRequest, RequestError, Target};
use crate::measure::compare::engine::{self, Module, Observer};
use crate::measure::compare::identity;
use crate::measure::compare::journal::{Journal, OpenError};
use crate::measure::compare::record::{Record, Run};
use crate::measure::compare::worker::{Request, Settings};
use crate::output::{self, Destination, TemporaryFolder};
use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum as _};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, thread};
use xxhash_rust::xxh3::Xxh3;

/// Parses a register list, which must exist on some target.
///
/// # Errors
/// If it exists on none: why not on the first.
pub fn parse_registers(text: &str) -> Result<String, RequestError> {
    let text = text.trim();
    let request: RegisterRequest = text.parse().unwrap_or_else(|never| match never {});
    match request.resolve(Target::X86_64) {
        Err(error) if request.resolve(Target::I386).is_err() => Err(error),
        _ => Ok(text.to_owned()),
    }
}

/// The modules that are named, and those in folders that are named.
pub fn expanded(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut modules = Vec::new();
    for path in inputs {
        let found = folder::files(path, &["bc", "ll"]).with_context(|| path.display().to_string())?;
        if found.is_empty() {
            return Err(anyhow!("{}: no modules are in it (files that end in .bc or .ll)", path.display()).into());
        }
        modules.extend(found);
    }
    Ok(modules)
}

/// How runs are made.
#[derive(Args)]
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

    /// Continue from the records file: runs in it are not repeated, unless the module or chordal has changed
    #[arg(long, requires = "records")]
    resume: bool,

    /// Leave times out of the results, so that equal runs give equal bytes
    #[arg(long)]
    no_times: bool,

    /// Do not check the allocations
    #[arg(long)]
    no_check: bool,

    /// Where code may be loaded [default: as the module says, or else anywhere]
    #[arg(long, value_enum, value_name = "static|pic", hide_possible_values = true)]
    relocation_model: Option<RelocationModel>,
}

impl RunOptions {
    /// The records file as an output, if there is one.
    pub fn outputs(&self) -> impl Iterator<Item = (&'static str, Destination)> {
        self.records.iter().map(|path| ("the records", Destination::new(path)))
    }
}

/// Runs that share their options and one records file.
pub struct Runs<'o> {
    options: &'o RunOptions,
    settings: Settings,
    /// Open from the first run until all are done, so that no other process adds to the records meanwhile.
    journal: Option<Journal>,
}

impl<'o> Runs<'o> {
    pub fn new(options: &'o RunOptions) -> Result<Self, Failure> {
        let settings = Settings {
            executable: env::current_exe().context("chordal's own executable cannot be found")?,
            arguments: compile_arguments(options),
            repeat: options.repeat.into(),
            time_limit: Duration::from_secs(options.timeout),
        };
        Ok(Runs { options, settings, journal: None })
    }

    /// Runs every request on every module.
    pub fn run(&mut self, inputs: &[PathBuf], requests: &[Request]) -> Result<Vec<Record>, Failure> {
        let folder = output::temporary_folder()?;
        let mut modules = modules(inputs, &self.settings, &folder)?;
        if let (Some(path), None) = (&self.options.records, &self.journal) {
            self.journal = Some(open(path, self.options.resume)?);
        }
        if let Some(journal) = &self.journal {
            for module in &mut modules {
                module.known = journal.known(&module.fingerprint, &module.name);
            }
        }
        let processors = || thread::available_parallelism().map_or(1, usize::from);
        let side_by_side = self.options.jobs.map_or_else(processors, usize::from);
        let mut progress = Progress::new(self.journal.as_mut(), modules.len() * requests.len());
        let records = engine::run(&modules, requests, &self.settings, side_by_side, &mut progress);
        progress.bar.finish_and_clear();
        Ok(records.context("the runs cannot be made")?)
    }
}

fn compile_arguments(options: &RunOptions) -> Vec<String> {
    let given = [("--no-times", options.no_times), ("--no-check", options.no_check)];
    let mut arguments: Vec<String> = given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()).collect();
    arguments.extend(options.memory_limit.map(|limit| format!("--memory-limit={limit}")));
    let name = |model: RelocationModel| model.to_possible_value().map(|value| value.get_name().to_owned());
    arguments.extend(options.relocation_model.and_then(name).map(|name| format!("--relocation-model={name}")));
    arguments
}

fn open(path: &Path, resume: bool) -> Result<Journal, Failure> {
    let path = if Destination::new(path) == Destination::Stdout { Path::new("/dev/stdout") } else { path };
    match Journal::open(path, resume) {
        Err(OpenError::Exists) => {
            Err(Failure::Usage(format!("the records file {} exists: --resume continues from it", path.display())))
        }
        opened => Ok(opened.with_context(|| path.display().to_string())?),
    }
}

/// The modules, by the names that they were given. Standard input is copied to a file in `folder`, which the workers can
/// read.
fn modules(inputs: &[PathBuf], settings: &Settings, folder: &TemporaryFolder) -> Result<Vec<Module>, Failure> {
    let mut same_settings = Xxh3::new();
    identity::enter(&fs::read(&settings.executable).context("chordal's own executable cannot be read")?, &mut same_settings);
    same_settings.update(format!("{:?} {} {:?}", settings.arguments, settings.repeat, llvm::version()).as_bytes());
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

/// Keeps the records, and shows the progress on a terminal.
struct Progress<'j> {
    journal: Option<&'j mut Journal>,
    bar: ProgressBar,
}

impl<'j> Progress<'j> {
    fn new(journal: Option<&'j mut Journal>, runs: usize) -> Self {
        let bar = if io::stderr().is_terminal() { ProgressBar::new(runs as u64) } else { ProgressBar::hidden() };
        let template = "{bar:30} {pos}/{len} {elapsed} {msg}";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        Progress { journal, bar }
    }
}

impl Observer for Progress<'_> {
    fn run(&mut self, module: &str, run: &Run) {
        self.bar.inc(1);
        self.bar.set_message(format!("{module}: {}, {} registers", run.allocator, run.registers));
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.add(record))
    }
}
