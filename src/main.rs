//! The command `chordal`.

use std::process::ExitCode;

fn main() -> ExitCode {
    chordal::cli::main()
}
