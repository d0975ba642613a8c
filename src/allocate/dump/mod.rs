//! Writes a function in text form after phases of its allocation, with the lines that each phase has changed.
//!
//! Requires: the phases of one function's allocation, in order.
//! Ensures: the text of each phase can be parsed, if it follows a register file. Everything that the text form has no words
//! for is in comments. (The register file is in front of the first function only.) The text says nothing of the origins of
//! instructions, and blocks have the frequencies of the program, to which allocators that weigh size add a little on their
//! way.
//!
//! ```text
//! ; after spill: 3 lines added, 1 removed
//! target tiny
//! function f
//! b0:
//!   v0:x = op
//!   store(s0) v0
//!   op clobbers=x0,x1,x2,x3
//!   v1:x(of=v0) = load(s0)
//!   op v1
//! ; s0: 16 bytes, aligned to 16, home of v0
//! ; since cssa:
//! ;   b0:
//! ; +   store(s0) v0
//! ; -   op v0
//! ; +   v1:x(of=v0) = load(s0)
//! ; +   op v1
//! ```

mod stages;

pub use stages::edit;

use crate::allocate::observe::{Observer, Phase, Stage};
use crate::machine::{Function, Value};
use similar::{ChangeTag, TextDiff};
use stages::{Text, Writer, joined};
use std::time::Duration;

/// An observer that writes the function after the requested phases.
pub struct Dump<W> {
    requested: Vec<Phase>,
    /// The phases that have ended, in order, each as often as it ran.
    ended: Vec<Phase>,
    writer: Writer,
    imported: Text,
    /// The function before the next phase, and the name of the phase that it comes from.
    before: (&'static str, Text),
    /// The function as it was written last. Its parts that have not changed since are not repeated.
    written: Option<Text>,
    write: W,
}

/// How long to search for the smallest difference between two texts. Between long functions that differ everywhere, a larger
/// one will do.
const PATIENCE: Duration = Duration::from_secs(2);

/// The name of the function's origin before the first phase.
const IMPORT: &str = "import";

impl<W: FnMut(&str)> Dump<W> {
    /// Watches the allocation of a function, and writes it after the requested phases.
    pub fn new(imported: &Function, requested: Vec<Phase>, write: W) -> Self {
        let mut writer = Writer::default();
        let imported = writer.text(Stage::Program(imported));
        let before = (IMPORT, imported.clone());
        Dump { requested, ended: Vec::new(), writer, imported, before, written: None, write }
    }

    /// The heading of a phase that has ended, with a number if it has run before.
    fn heading(&mut self, phase: Phase) -> String {
        self.ended.push(phase);
        match self.ended.iter().filter(|&&ended| ended == phase).count() {
            1 => format!("after {}", phase.name()),
            run => format!("after {}, run {run}", phase.name()),
        }
    }

    /// Writes the parts of the function that have changed since it was written last, and the lines in which it differs from
    /// the one before the phase.
    fn section(&mut self, heading: &str, after: &Text) {
        let (since, before) = &self.before;
        let (changes, lines) = changes(before, after);
        (self.write)(&format!("; {heading}: {}\n", changes.unwrap_or_else(|| format!("no line changes since {since}"))));
        if self.written.as_ref() != Some(after) {
            let last = self.written.replace(after.clone()).unwrap_or_default();
            let target = if last.target.is_empty() { &after.target } else { "" };
            let code = if last.code == after.code { "" } else { &after.code };
            (self.write)(&format!("{target}{code}{}", after.footer));
        }
        if !lines.is_empty() {
            (self.write)(&format!("; since {since}:\n{lines}"));
        }
    }
}

impl<W: FnMut(&str)> Observer for Dump<W> {
    fn after(&mut self, phase: Phase, stage: Stage<'_>) {
        let heading = self.heading(phase);
        let text = self.writer.text(stage);
        if self.requested.contains(&phase) {
            self.section(&heading, &text);
        }
        self.before = (phase.name(), text);
    }

    fn evicted(&mut self, values: &[Value]) {
        let heading = self.heading(Phase::Assign);
        if self.requested.contains(&Phase::Assign) {
            (self.write)(&format!("; {heading}: no registers are left for {}, to be spilled now\n", joined(values)));
        }
    }

    fn undone(&mut self, reason: &str) {
        (self.write)(&format!("; all of this is undone, and done again {reason}\n"));
        self.before = (IMPORT, self.imported.clone());
    }
}

/// The number of lines that differ, if any do, and these lines, those of each block under the block's head.
fn changes(before: &Text, after: &Text) -> (Option<String>, String) {
    let [old, new] = Text::comparable(before, after);
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&old, &new);
    let (mut added, mut removed) = (0, 0);
    let mut lines = String::new();
    let mut head = None;
    for change in diff.iter_all_changes() {
        let line = change.value();
        match change.tag() {
            ChangeTag::Equal if line.starts_with(' ') => continue,
            ChangeTag::Equal => {
                head = Some(line);
                continue;
            }
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
        }
        if let Some(head) = head.take().filter(|_| line.starts_with(' ')) {
            lines.push_str(&format!(";   {head}"));
        }
        lines.push_str(&format!("; {} {line}", change.tag()));
    }
    let differ = added + removed > 0;
    (differ.then(|| format!("{added} {} added, {removed} removed", if added == 1 { "line" } else { "lines" })), lines)
}

#[cfg(test)]
mod tests;
