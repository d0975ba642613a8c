//! `chordal pages`: manual pages and completions, for `make install`.

use super::{Cli, Failure};
use anyhow::{Context as _, Result};
use clap::{Args, Command, CommandFactory as _};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;
use std::fs;
use std::path::{Path, PathBuf};

/// Write manual pages and completions below a folder
#[derive(Args)]
pub struct Arguments {
    /// The folder: PREFIX/share
    folder: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    manual(&command, &made(&arguments.folder.join("man/man1"))?)?;
    for (shell, place) in [
        (Shell::Bash, "bash-completion/completions"),
        (Shell::Zsh, "zsh/site-functions"),
        (Shell::Fish, "fish/vendor_completions.d"),
    ] {
        let made = generate_to(shell, &mut command, "chordal", made(&arguments.folder.join(place))?).context("completions")?;
        // Bash looks for the command's own name.
        if shell == Shell::Bash {
            fs::rename(&made, made.with_file_name("chordal")).context("completions")?;
        }
    }
    Ok(())
}

/// Writes the page of a command and of each command in it: `chordal.1`, `chordal-compile.1`.
fn manual(command: &Command, folder: &Path) -> Result<()> {
    Man::new(command.clone()).generate_to(folder).with_context(|| folder.display().to_string())?;
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
        .try_for_each(|inner| manual(inner, folder))
}

fn made(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(folder.to_owned())
}
