//! The driver of clang or flang: finds one of the right version and reads its plan.

use super::job::{Job, is_job, jobs};
use anyhow::{Context as _, Result, anyhow, bail};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The languages, each with its driver.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    C,
    Cxx,
    Fortran,
}

impl Language {
    /// The driver's name, and the environment variable that names another program.
    fn driver(self) -> (&'static str, &'static str) {
        match self {
            Language::C | Language::Cxx => ("clang", "CHORDAL_CLANG"),
            Language::Fortran => ("flang", "CHORDAL_FLANG"),
        }
    }

    /// Whether a driver with this version line is one whose bitcode we read.
    fn reads(self, version: &str) -> bool {
        version.contains(&format!("{} version 22.", self.driver().0))
    }
}

/// A driver and its arguments.
pub struct Driver<'a> {
    pub program: PathBuf,
    language: Language,
    arguments: &'a [OsString],
    /// The arguments as text, with those of response files expanded.
    words: Vec<String>,
}

/// The jobs that a driver would run.
pub struct Plan {
    pub version: String,
    text: String,
    pub jobs: Vec<Job>,
    /// Whether the driver accepts the command line.
    pub is_good: bool,
}

impl<'a> Driver<'a> {
    /// Finds a driver whose bitcode we read, and its plan.
    pub fn find(language: Language, arguments: &'a [OsString]) -> Result<(Self, Plan)> {
        let (name, variable) = language.driver();
        let words = expanded(arguments);
        if let Some(named) = env::var_os(variable).filter(|named| !named.is_empty()) {
            let driver = Driver { program: named.into(), language, arguments, words };
            let plan = driver.plan().with_context(|| driver.program.display().to_string())?;
            let version = driver.version(&plan)?;
            if !language.reads(&version) {
                bail!("{variable}: {} is no {name} 22: {version}", driver.program.display());
            }
            return Ok((driver, Plan::read(&plan, version)?));
        }
        let mut driver = Driver { program: PathBuf::new(), language, arguments, words };
        for program in [format!("{name}-22"), name.to_owned()] {
            driver.program = program.into();
            match driver.plan() {
                Ok(plan) => {
                    let version = driver.version(&plan)?;
                    if language.reads(&version) {
                        return Ok((driver, Plan::read(&plan, version)?));
                    }
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(anyhow!(error).context(driver.program.display().to_string()));
                }
                Err(_) => (),
            }
        }
        bail!("there is no {name} 22 (neither {name}-22 nor {name}): install it, or name it in {variable}")
    }

    fn plan(&self) -> io::Result<Output> {
        self.command().arg("-###").output()
    }

    /// The line with the driver's name and version. The driver prints it with its plan, unless it is asked only to print
    /// such things.
    fn version(&self, plan: &Output) -> Result<String> {
        let is_version = |line: &&str| line.contains(" version ") && !is_job(line);
        let text = String::from_utf8_lossy(&plan.stderr);
        if let Some(line) = text.lines().find(is_version) {
            return Ok(line.to_owned());
        }
        let version = Command::new(&self.program).arg("--version").output();
        let version = version.with_context(|| self.program.display().to_string())?;
        let text = String::from_utf8_lossy(&version.stdout).into_owned();
        Ok(text.lines().next().unwrap_or("it does not say what it is").to_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if self.language == Language::Cxx {
            command.arg("--driver-mode=g++");
        }
        command.args(self.arguments);
        command
    }

    /// Becomes the driver, as if chordal were not there. Returns only if that fails.
    pub fn become_it(&self) -> anyhow::Error {
        let error = self.command().exec();
        anyhow!(error).context(self.program.display().to_string())
    }

    /// The arguments as text.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    pub fn is_asked_for(&self, flag: &str) -> bool {
        self.words.iter().any(|word| word == flag)
    }
}

impl Plan {
    fn read(planned: &Output, version: String) -> Result<Self> {
        let text = str::from_utf8(&planned.stderr).context("what clang would do is not UTF-8")?.to_owned();
        Ok(Plan { version, jobs: jobs(&text)?, text, is_good: planned.status.success() })
    }

    /// The lines with which clang introduces itself and its target.
    pub fn banner(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| !is_job(line) && !is_message(line) && *line != " (in-process)")
    }

    /// The driver's warnings and notes.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| is_message(line))
    }
}

fn is_message(line: &str) -> bool {
    !line.starts_with(' ') && [": warning: ", ": note: "].iter().any(|kind| line.contains(kind))
}

/// Arguments as text, with response files expanded. (The plan has clang's own reading of these files.)
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
