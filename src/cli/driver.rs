//! The programs that chordal stands in for or drives: finds those of LLVM 22, and the plug-in for them.

use anyhow::{Context as _, Result, anyhow, bail};
use std::env;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

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
}

/// A driver of LLVM 22.
pub struct Driver {
    pub program: PathBuf,
    language: Language,
}

impl Driver {
    /// Finds the driver of a language. One whose name ends in the version is believed, for asking takes as long as compiling a
    /// short source; the plug-in refuses another.
    ///
    /// # Errors
    /// If there is none of LLVM 22.
    pub fn find(language: Language) -> Result<Self> {
        let (name, variable) = language.driver();
        let usual = [format!("{name}-22"), name.to_owned()].map(PathBuf::from);
        let named = env::var_os(variable).filter(|named| !named.is_empty()).map(PathBuf::from);
        for program in named.as_ref().map_or(&usual[..], std::slice::from_ref) {
            if program.file_name() == Some(usual[0].as_os_str()) && is_on_path(program) {
                return Ok(Driver { program: program.clone(), language });
            }
            match version(program) {
                Ok(version) if version.contains(&format!("{name} version 22.")) => {
                    return Ok(Driver { program: program.clone(), language });
                }
                Ok(version) if named.is_some() => bail!("{variable}: {} is no {name} 22: {version}", program.display()),
                Err(error) if named.is_some() || error.kind() != io::ErrorKind::NotFound => {
                    return Err(anyhow!(error).context(program.display().to_string()));
                }
                _ => (),
            }
        }
        bail!("there is no {name} 22 (neither {name}-22 nor {name}): install it, or name it in {variable}")
    }

    /// The line with its name and version.
    ///
    /// # Errors
    /// If it does not run.
    pub fn version(&self) -> Result<String> {
        version(&self.program).with_context(|| self.program.display().to_string())
    }

    /// The command without arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if self.language == Language::Cxx {
            command.arg("--driver-mode=g++");
        }
        command
    }
}

/// Whether a program is found, by its path or in one of the folders of `PATH`.
fn is_on_path(program: &Path) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    program.is_file() && program.components().count() > 1
        || env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// Becomes a command. Returns only if that fails.
pub fn become_it(command: &mut Command) -> anyhow::Error {
    let error = command.exec();
    anyhow!(error).context(command.get_program().display().to_string())
}

/// The first line of what a program says of its version.
fn version(program: &Path) -> io::Result<String> {
    let said = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(text.lines().next().unwrap_or("it does not say what it is").to_owned())
}

const PLUGIN: &str = "libchordal.so";

/// The plug-in: beside this program, where a build leaves both, or where both are installed below one folder.
///
/// # Errors
/// If it is in none of these places.
pub fn plugin() -> Result<PathBuf> {
    if let Some(named) = env::var_os("CHORDAL_PLUGIN").filter(|named| !named.is_empty()) {
        return std::path::absolute(named).context("CHORDAL_PLUGIN");
    }
    let program = env::current_exe().and_then(|program| program.canonicalize()).context("chordal's own path")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(PLUGIN), folder.join("../lib").join(PLUGIN), folder.join("../lib/chordal").join(PLUGIN)];
    let found = places.iter().find(|place| place.is_file());
    let found = found.with_context(|| {
        format!("there is no {PLUGIN} beside {}: `make install` installs both, CHORDAL_PLUGIN names another", program.display())
    })?;
    found.canonicalize().context("the plug-in's path")
}
