//! `chordal list`.

use super::allocators::{self, Entry, Family};
use super::{Failure, options};
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
    let mut text = String::from("Allocators (--allocator), by family. Of each, what differs from its family is shown.\n");
    for family in allocators::FAMILIES {
        let _ = writeln!(text, "\n{}:", family.about);
        text += &paragraph(2, "phases:", &family.phases(), ", ");
        let base = family.base.map_or_else(Vec::new, |base| options::arguments(base, None));
        text += &paragraph(2, "options:", &base, " ");
        for entry in allocators::ALL.iter().filter(|entry| std::ptr::eq(entry.family, family)) {
            text += &allocator(entry, family);
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

/// An allocator, and how it differs from its family.
fn allocator(entry: &Entry, family: &Family) -> String {
    let default = if entry.name == allocators::DEFAULT { " (default)" } else { "" };
    let mut text = format!("  {:<14} {}{default}\n", entry.name, entry.about);
    let phases = Some(entry.phases()).filter(|phases| *phases != family.phases()).unwrap_or_default();
    text += &paragraph(INDENT, "phases:", &phases, ", ");
    let options = Preset::named(entry.name).map_or_else(Vec::new, |preset| options::arguments(&preset, family.base));
    text + &paragraph(INDENT, "", &options, " ")
}

/// Where the descriptions of allocators begin.
const INDENT: usize = 17;
const WIDTH: usize = 110;

/// Words in lines, after a title; nothing if there are none.
fn paragraph(indent: usize, title: &str, words: &[impl AsRef<str>], separator: &str) -> String {
    let title = if title.is_empty() { String::new() } else { format!("{title:<9}") };
    let mut lines: Vec<String> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let separator = if index + 1 < words.len() { separator.trim_end() } else { "" };
        let word = format!("{}{separator}", word.as_ref());
        match lines.last_mut() {
            Some(line) if indent + title.len() + line.len() + 1 + word.len() <= WIDTH => *line += &format!(" {word}"),
            _ => lines.push(word),
        }
    }
    let starts = std::iter::once(&title[..]).chain(std::iter::repeat(""));
    lines.iter().zip(starts).map(|(line, start)| format!("{:indent$}{start:<width$}{line}\n", "", width = title.len())).collect()
}
