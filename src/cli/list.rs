//! `chordal list`.

use super::{Failure, allocators, options};
use crate::allocate::allocators::Preset;
use crate::llvm::Target;
use crate::output;
use std::fmt::Write as _;

/// Writes what there is to choose from to standard output.
pub fn run() -> Result<(), Failure> {
    output::print(text().as_bytes())?;
    Ok(())
}

fn text() -> String {
    let mut text = String::from("Allocators (--allocator):\n");
    for entry in allocators::ALL {
        let default = if entry.name == allocators::DEFAULT { " (default)" } else { "" };
        let _ = writeln!(text, "  {:<14} {}{default}", entry.name, entry.about);
        let phases = entry.phases();
        if !phases.is_empty() {
            let _ = writeln!(text, "  {:<14} phases: {}", "", phases.join(", "));
        }
        if let Some(preset) = Preset::named(entry.name) {
            for (line, arguments) in options::arguments(&preset).chunks(4).enumerate() {
                let start = if line == 0 { "options:" } else { "" };
                let _ = writeln!(text, "  {:<14} {start:<8} {}", "", arguments.join(" "));
            }
        }
    }
    for target in [Target::X86_64, Target::I386] {
        let _ = writeln!(text, "\nGeneral-purpose registers of {} (--registers N):", target.name());
        for list in target.published_registers() {
            let _ = writeln!(text, "  {:>2}  {}", list.len(), list.join(" "));
        }
    }
    text
}
