//! `chordal cc`, `chordal c++` and `chordal fc`: clang and flang, with chordal in place of their code generation.
//!
//! Their driver says what it would do for a command line (`-###`): every job with all of its arguments, so that each flag means
//! what it means to clang. The jobs are done as they stand, but for those that generate code from C, C++, Fortran or IR: they make
//! bitcode instead, of which `chordal compile` makes what they would have made.

use super::{Failure, environment};
use crate::llvm::Target;
use crate::measure::compare::worker::die_with_parent;
use crate::output::{self, TemporaryFolder};
use anyhow::{Context as _, Result, anyhow};
use clap::{ArgAction, Args};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

const AFTER_HELP: &str = "\
Every argument goes on to clang 22, or, from `chordal fc`, to flang 22. Compilation goes through chordal; preprocessing,
assembling and linking are theirs.

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

Where a build wants one word for its compiler, a link to chordal does that is called chordal-cc, chordal-c++ or chordal-fc.

Exit status: that of the command that failed, 1 if chordal did.";

/// Stand in for clang: compile C with chordal, and do the rest as clang does
#[derive(Args)]
#[command(after_help = AFTER_HELP, disable_help_flag = true)]
pub struct Arguments {
    /// Show this (as the first argument)
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,

    /// What clang takes
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Which of the drivers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    C,
    Cxx,
    Fortran,
}

impl Language {
    /// The driver's name, and the variable that names another one.
    fn driver(self) -> (&'static str, &'static str) {
        match self {
            Language::C | Language::Cxx => ("clang", "CHORDAL_CLANG"),
            Language::Fortran => ("flang", "CHORDAL_FLANG"),
        }
    }
}

/// What would be lost, by what clang's jobs say, and how it was asked for.
const REFUSED: &[(&str, &str)] = &[
    ("-flto", "-flto leaves code generation to the linker"),
    ("-split-dwarf-output", "-gsplit-dwarf is not supported"),
    ("-femulated-tls", "-femulated-tls is not supported"),
    ("-stack-usage-file", "-fstack-usage is not supported"),
    ("-fexperimental-assignment-tracking=forced", "-fexperimental-assignment-tracking is not supported"),
];

/// Compiles, links, or whatever clang would do.
pub fn run(language: Language, arguments: &Arguments) -> Result<(), Failure> {
    let driver = Driver { program: program(language)?, language, arguments: &arguments.arguments };
    let planned = driver.command().arg("-###").output().with_context(|| driver.program.display().to_string())?;
    let jobs = jobs(&planned)?;
    if let Some((_, message)) = REFUSED.iter().find(|(flag, _)| jobs.iter().any(|job| job.has(flag))) {
        return Err(anyhow!("{message}: build without it").into());
    }
    if !planned.status.success() || !jobs.iter().any(Job::generates_code) {
        // Nothing to do for us.
        let error = driver.command().exec();
        return Err(anyhow!(error).context(driver.program.display().to_string()).into());
    }
    warnings(&planned);
    let folder = output::temporary_folder()?;
    let build = Build { driver, folder, is_verbose: arguments.arguments.iter().any(|argument| argument == "-v") };
    build.all(jobs)
}

struct Driver<'a> {
    program: PathBuf,
    language: Language,
    arguments: &'a [OsString],
}

impl Driver<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if self.language == Language::Cxx {
            command.arg("--driver-mode=g++");
        }
        command.args(self.arguments);
        command
    }
}

/// The driver whose bitcode we read.
fn program(language: Language) -> Result<PathBuf> {
    let (name, variable) = language.driver();
    if let Some(named) = env::var_os(variable) {
        return Ok(named.into());
    }
    let is_it = |name: &String| {
        let version = Command::new(name).arg("-dumpversion").output();
        version.is_ok_and(|output| output.stdout.starts_with(b"22."))
    };
    let found = [format!("{name}-22"), name.to_owned()].into_iter().find(is_it);
    let program = found
        .with_context(|| format!("there is no {name} 22 (neither {name}-22 nor {name}): install it, or name it in {variable}"))?;
    Ok(program.into())
}

/// One command that clang's driver would run.
struct Job {
    words: Vec<String>,
}

/// The commands, each of which is a line of quoted words.
fn jobs(planned: &Output) -> Result<Vec<Job>> {
    let text = str::from_utf8(&planned.stderr).context("what clang would do is not UTF-8")?;
    let mut jobs = Vec::new();
    for line in text.lines().filter(|line| line.starts_with(" \"")) {
        let words = shlex::split(line).filter(|words| words.len() > 1);
        jobs.push(Job { words: words.with_context(|| format!("cannot read what clang would do: {line}"))? });
    }
    Ok(jobs)
}

/// Passes on what the driver has to say.
fn warnings(planned: &Output) {
    let text = String::from_utf8_lossy(&planned.stderr);
    let is_message = |line: &&str| !line.starts_with(' ') && [": warning: ", ": note: "].iter().any(|kind| line.contains(kind));
    text.lines().filter(is_message).for_each(|line| eprintln!("{line}"));
}

impl Job {
    fn has(&self, word: &str) -> bool {
        ["-cc1", "-fc1"].contains(&self.words[1].as_str())
            && self.words.iter().any(|w| w == word || w.strip_prefix(word).is_some_and(|w| w.starts_with('=')))
    }

    /// Whether it makes assembly or an object of a source or IR.
    fn generates_code(&self) -> bool {
        self.has("-emit-obj") || self.has("-S")
    }

    /// The word behind a flag.
    fn argument(&self, flag: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == flag)?;
        self.words.get(at + 1).map(String::as_str)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }
}

struct Build<'a> {
    driver: Driver<'a>,
    folder: TemporaryFolder,
    is_verbose: bool,
}

impl Build<'_> {
    fn all(&self, mut jobs: Vec<Job>) -> Result<(), Failure> {
        let mut temporary = Vec::new();
        for index in 0..jobs.len() {
            if let Some(output) = self.own_place(index, &mut jobs) {
                temporary.push(output);
            }
        }
        for (index, job) in jobs.iter().enumerate() {
            if job.generates_code() {
                let is_temporary = job.argument("-o").is_some_and(|output| temporary.iter().any(|it| it == output));
                self.compile(index, job, is_temporary)?;
            } else {
                self.run(&mut job.command())?;
            }
        }
        Ok(())
    }

    /// Puts what is made for a later job only into our folder: the driver's name for it is free again. Returns the new name.
    fn own_place(&self, index: usize, jobs: &mut [Job]) -> Option<String> {
        let output = jobs[index].argument("-o").filter(|output| Path::new(output).parent() == Some(&env::temp_dir()))?.to_owned();
        let is_asked_for = self.driver.arguments.iter().any(|argument| argument.to_string_lossy().contains(&output));
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

    /// Does what a job would do, by way of bitcode.
    fn compile(&self, index: usize, job: &Job, is_temporary: bool) -> Result<(), Failure> {
        let source = job.words.last().expect("a job has words").as_str();
        let output = job.argument("-o").with_context(|| format!("{source}: clang names no output"))?;
        let bitcode = self.folder.path().join(format!("{index}.bc"));
        let mut words = job.words.clone();
        let at = words.iter().position(|word| word == "-o").expect("it has one") + 1;
        words[at] = bitcode.display().to_string();
        for word in words.iter_mut().filter(|word| ["-emit-obj", "-S"].contains(&word.as_str())) {
            *word = "-emit-llvm-bc".into();
        }
        self.run(&mut Job { words }.command())?;
        let mut chordal = Command::new(env::current_exe().context("chordal's own path")?);
        chordal.arg0("chordal"); // if this is a copy, its file may be called chordal-cc
        // (Builds run several compilers at once.)
        chordal.arg("compile").arg(&bitcode).args(["-o", output, "--name", source, "--in-turn"]);
        chordal.args(["--emit", if job.has("-S") { "asm" } else { "obj" }]);
        chordal.args(job.has("-ffunction-sections").then_some("--function-sections"));
        chordal.args(job.has("-fdata-sections").then_some("--data-sections"));
        chordal.args(environment::arguments(job.argument("-triple").and_then(Target::of_triple))?);
        if let Some(folder) = env::var_os("CHORDAL_STATS").filter(|folder| !folder.is_empty()) {
            let file = statistics(Path::new(&folder), Path::new(if is_temporary { source } else { output }))?;
            chordal.arg("--stats").arg(file);
        }
        environment::check(chordal.get_args())?;
        self.run(&mut chordal)
    }

    /// Runs a command, which tells of its failure itself.
    fn run(&self, command: &mut Command) -> Result<(), Failure> {
        if self.is_verbose {
            eprintln!(" {command:?}");
        }
        die_with_parent(command);
        let status = command.status().with_context(|| command.get_program().display().to_string())?;
        if status.success() { Ok(()) } else { Err(Failure::Reported(code(status))) }
    }
}

/// The exit status, of a signal as shells have it.
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The file for the statistics of what is made: the folder has the same folders in it as the one that it is in, so that files of
/// different builds can be told apart, and those of equal builds compared.
fn statistics(folder: &Path, made: &Path) -> Result<PathBuf> {
    let whole = |path: &Path| -> Result<PathBuf> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = fs::canonicalize(parent).with_context(|| format!("CHORDAL_STATS: {}", parent.display()))?;
        Ok(path.file_name().map_or_else(|| parent.clone(), |name| parent.join(name)))
    };
    let (root, made) = (whole(folder)?, whole(made)?);
    let within = made.strip_prefix(root.parent().unwrap_or(&root)).unwrap_or_else(|_| made.strip_prefix("/").unwrap_or(&made));
    let mut file = folder.join(within).into_os_string();
    file.push(".json");
    let file = PathBuf::from(file);
    fs::create_dir_all(file.parent().unwrap_or(folder)).with_context(|| format!("CHORDAL_STATS: {}", folder.display()))?;
    Ok(file)
}
