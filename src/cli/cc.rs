//! `chordal cc`, `chordal c++` and `chordal fc`: clang and flang with chordal in place of their code generation.
//!
//! With `-###`, their driver prints what it would do for a command line: every job with all of its arguments, so that each
//! flag means what it means to clang. chordal does these jobs unchanged, except those that generate code from C, C++,
//! Fortran or IR. Those it has make bitcode instead, which `chordal compile` turns into what they would have made:
//!
//! ```text
//! driver's plan                                  what is done
//! clang -cc1 -emit-obj ... -o a.o a.c            clang -cc1 -emit-llvm-bc ... -o 0.bc a.c
//!                                                chordal compile 0.bc -o a.o --name a.c --emit obj ...
//! ld ... a.o -o prog                             ld ... a.o -o prog
//! ```
//!
//! Requires: clang 22 or flang 22, whose bitcode and whose plans we can read.
//! Ensures: a flag of code generation has its effect, is refused, or causes a warning; a command without code generation is
//! left to the driver.

mod driver;
mod environment;
mod flags;
mod job;
mod statistics;

use super::{Failure, warn};
use crate::llvm::Target;
use crate::measure::compare::worker::die_with_parent;
use crate::output::{self, Destination, TemporaryFolder};
use anyhow::{Context as _, Result, anyhow};
use clap::{ArgAction, Args};
use driver::{Driver, Plan};
use job::Job;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};

pub use driver::Language;

const AFTER_HELP: &str = "\
Every argument goes on to clang 22, or, from `chordal fc`, to flang 22. Compilation goes through chordal; preprocessing,
assembling and linking are theirs. Flags of code generation that chordal does not support are refused.

Environment:
  CHORDAL_ALLOCATOR  the allocator (`chordal list` shows all) [default: tuned]
  CHORDAL_REGISTERS  hold it to these registers, as `chordal compile --registers` does
  CHORDAL_OPTIONS    further arguments of `chordal compile`, separated as by a shell
  CHORDAL_STATS      a folder for statistics, one file for each object, by its path (`chordal stats DIR`
                     adds them up, `chordal diff` compares two folders)
  CHORDAL_CLANG      the clang 22 to use [default: clang-22, or clang]
  CHORDAL_FLANG      the flang 22 to use [default: flang-22, or flang]

Examples:
  chordal cc -O2 -c prog.c -o prog.o
  chordal cc -O2 main.c parse.c -lm -o prog
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

Exit status: that of the command that failed, 1 if chordal did.";

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

/// Does whatever clang would do with the command line.
pub fn run(language: Language, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.cache_key {
        return Ok(output::print(environment::cache_key(language)?.as_bytes())?);
    }
    let (driver, plan) = Driver::find(language, &arguments.arguments)?;
    if let Some(reason) = flags::refusal(&driver, &plan.jobs).filter(|_| plan.is_good) {
        return Err(anyhow!("{reason}: build without it").into());
    }
    if !plan.is_good || driver.is_asked_for("-fdriver-only") || !plan.jobs.iter().any(Job::generates_code) {
        // Without code generation, or with an error to report, the driver can do all of it.
        return Err(driver.become_it().into());
    }
    let is_only_shown = driver.is_asked_for("-###");
    if is_only_shown || driver.is_asked_for("-v") {
        plan.banner().for_each(|line| eprintln!("{line}"));
    }
    plan.messages().for_each(|line| eprintln!("{line}"));
    if let Some(option) = flags::given_to_llvm(&plan.jobs) {
        warn(&format!("-mllvm {option}: reaches clang's part of the work only, not code generation"));
    }
    if is_only_shown { show(&plan) } else { build(driver, plan) }
}

/// Prints the commands that would be run.
fn show(plan: &Plan) -> Result<(), Failure> {
    for (index, job) in plan.jobs.iter().enumerate() {
        if job.generates_code() {
            let bitcode = env::temp_dir().join(format!("chordal-{index}.bc")).display().to_string();
            eprintln!("{}", job.for_bitcode(&bitcode));
            eprintln!("{}", ours(job, &bitcode)?);
        } else {
            eprintln!("{job}");
        }
    }
    Ok(())
}

/// The command that compiles bitcode to what a job would have made of its source; the arguments for statistics are added
/// later.
fn ours(job: &Job, bitcode: &str) -> Result<Job, Failure> {
    let source = job.source();
    let output = job.argument("-o").with_context(|| format!("{source}: clang names no output"))?;
    // In turn, since builds run several compilers at once.
    let words = ["chordal", "compile", bitcode, "-o", output, "--name", source, "--in-turn"];
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.extend(flags::translated(job));
    words.extend(environment::options(job.argument("-triple").and_then(Target::of_triple))?);
    environment::check(&words)?;
    Ok(Job { words })
}

/// Runs all jobs.
fn build(driver: Driver<'_>, plan: Plan) -> Result<(), Failure> {
    let folder = output::temporary_folder()?;
    let mut jobs = plan.jobs;
    if let [job] = &jobs[..] {
        return Build { driver, folder }.only(job);
    }
    let build = Build { driver, folder };
    let temporary: Vec<String> = (0..jobs.len()).filter_map(|index| build.own_place(index, &mut jobs)).collect();
    for (index, job) in jobs.iter().enumerate() {
        if job.generates_code() {
            let is_temporary = job.argument("-o").is_some_and(|output| temporary.iter().any(|it| it == output));
            build.compile(index, job, is_temporary)?;
        } else {
            build.as_it_stands(index, job)?;
        }
    }
    Ok(())
}

struct Build<'a> {
    driver: Driver<'a>,
    folder: TemporaryFolder,
}

impl Build<'_> {
    /// If a job's output is only for later jobs, moves it into our folder, since nothing reserves the driver's temporary
    /// name for it any more. Returns the new name.
    fn own_place(&self, index: usize, jobs: &mut [Job]) -> Option<String> {
        let output = jobs[index].argument("-o").filter(|output| Path::new(output).parent() == Some(&env::temp_dir()))?.to_owned();
        let is_asked_for = self.driver.words().iter().any(|word| word.contains(&output));
        if is_asked_for || !jobs[index + 1..].iter().any(|job| job.words.contains(&output)) {
            return None;
        }
        let name = Path::new(&output).file_name()?;
        let own = self.folder.path().join(format!("{index}-{}", name.display())).display().to_string();
        for word in jobs[index..].iter_mut().flat_map(|job| &mut job.words).filter(|word| word.contains(&output)) {
            *word = word.replace(&output, &own);
        }
        Some(own)
    }

    /// Does by way of bitcode what the only job would do, in this process. The folder is removed before code is generated,
    /// so that no file remains if that ends the process.
    fn only(self, job: &Job) -> Result<(), Failure> {
        let (bitcode, mut ours) = self.bitcode(0, job)?;
        let bytes = fs::read(&bitcode).with_context(|| bitcode.clone())?;
        ours.words.extend(statistics(job, false)?);
        self.tell(&ours);
        drop(self);
        super::compile_words(&ours.words, bytes)
    }

    /// Does by way of bitcode what a job would do.
    fn compile(&self, index: usize, job: &Job, is_temporary: bool) -> Result<(), Failure> {
        let (_, mut ours) = self.bitcode(index, job)?;
        ours.words.extend(statistics(job, is_temporary)?);
        let mut command = Command::new(env::current_exe().context("chordal's own path")?);
        command.arg0(&ours.words[0]); // a copy of chordal may be called chordal-cc
        command.args(&ours.words[1..]);
        self.run(&ours, &mut command)
    }

    /// Runs a job that generates no code. An output to a device (`/dev/null`) is written to our folder first, since some
    /// tools that write objects (llvm-strip, llvm-objcopy) rename a file to their output, and root could replace the device
    /// by it.
    fn as_it_stands(&self, index: usize, job: &Job) -> Result<(), Failure> {
        let is_special = |output: &&str| fs::metadata(output).is_ok_and(|metadata| !metadata.is_file());
        let Some(device) = job.argument("-o").filter(is_special) else { return self.run(job, &mut job.command()) };
        let file = self.folder.path().join(format!("{index}.out")).display().to_string();
        let job = job.with_output(&file);
        self.run(&job, &mut job.command())?;
        let bytes = fs::read(&file).with_context(|| file.clone())?;
        Ok(output::write_all(&[(Destination::new(Path::new(device)), bytes)])?)
    }

    /// Compiles a job's source to bitcode. Returns the file, and the command that continues from there.
    fn bitcode(&self, index: usize, job: &Job) -> Result<(String, Job), Failure> {
        let bitcode = self.folder.path().join(format!("{index}.bc")).display().to_string();
        let ours = ours(job, &bitcode)?;
        let theirs = job.for_bitcode(&bitcode);
        self.run(&theirs, &mut theirs.command())?;
        Ok((bitcode, ours))
    }

    /// Runs a command, which reports its failure itself.
    fn run(&self, job: &Job, command: &mut Command) -> Result<(), Failure> {
        self.tell(job);
        die_with_parent(command);
        let status = command.status().with_context(|| command.get_program().display().to_string())?;
        if status.success() { Ok(()) } else { Err(Failure::Reported(code(status))) }
    }

    /// Prints a command, with `-v`.
    fn tell(&self, job: &Job) {
        if self.driver.is_asked_for("-v") {
            eprintln!("{job}");
        }
    }
}

/// The arguments for the statistics of a job's output, if statistics are requested.
fn statistics(job: &Job, is_temporary: bool) -> Result<Vec<String>> {
    let Some(folder) = environment::statistics() else { return Ok(Vec::new()) };
    let (source, output) = (job.source(), job.argument("-o").unwrap_or_default());
    let made = if is_temporary { source } else { output };
    let file = statistics::file(&folder, Path::new(source), Path::new(made))?;
    let directory = env::current_dir().context("the folder that this runs in")?.display().to_string();
    Ok(file.map_or_else(Vec::new, |file| vec!["--stats".into(), file.display().to_string(), "--directory".into(), directory]))
}

/// The exit status; for a signal as shells number it.
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
