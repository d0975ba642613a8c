//! Options and styles of tables.

use crate::measure::report::{Names, Style};
use crate::output::Destination;
use clap::Args;
use std::env;
use std::io::{self, IsTerminal as _};
use terminal_size::{Width, terminal_size_of};

/// Options of all commands that show tables of functions.
#[derive(Args)]
pub struct TableOptions {
    /// In tables, name functions of C++ and Rust by their symbols, as JSON and CSV always do
    #[arg(long)]
    mangled: bool,
}

impl TableOptions {
    pub fn names(&self) -> Names {
        if self.mangled { Names::Mangled } else { Names::Demangled }
    }
}

/// The style for people, fitted to the terminal if standard output is one: `COLUMNS` tells its width, or else the terminal
/// itself.
pub fn plain(output: &Destination) -> Style {
    if *output != Destination::Stdout || !io::stdout().is_terminal() {
        return Style::Plain;
    }
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    let columns = said.or_else(|| terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into()));
    columns.map_or(Style::Plain, Style::Terminal)
}
