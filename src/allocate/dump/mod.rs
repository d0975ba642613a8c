//! Writes a function in text form after phases of its allocation, and the lines that each phase has changed.
//!
//! ```text
//! ; after spill: 3 lines added, 1 removed
//! target tiny
//! function f
//! b0:
//!   v0:w = op
//!   store(s0) v0
//!   op clobbers=a,b,c,d,s,t,flags
//!   v1:w(of=v0) = load(s0)
//!   op v1
//! ; s0: 8 bytes, aligned to 8, home of v0
//! ; since cssa:
//! ;   b0:
//! ; +   store(s0) v0
//! ; -   op v0
//! ; +   v1:w(of=v0) = load(s0)
//! ; +   op v1
//! ```
//!
//! All but the function is comments, so the text of one phase can be parsed. (The register file is in front of the first
//! one.) It says nothing of an instruction's origin, and blocks have the frequencies of the program, to which allocators that
//! weigh size add a little on their way.

mod stages;

pub use stages::edit;

use crate::allocate::observe::{Observer, Phase, Stage};
use crate::machine::{Function, Value};
use similar::{ChangeTag, TextDiff};
use stages::{Text, Writer, joined};
use std::time::Duration;

/// An observer that writes what it sees.
pub struct Dump<W> {
    requested: Vec<Phase>,
    /// The phases that have ended, in order, each as often as it ran.
    ended: Vec<Phase>,
    writer: Writer,
    imported: Text,
    /// The function before the next phase, and the phase that it comes from.
    before: (&'static str, Text),
    /// The function as it was written last: what is still true is not repeated.
    written: Option<Text>,
    write: W,
}

/// How long to look for the smallest difference between two texts. Of long functions that differ everywhere, a larger one does.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the function is said to come from before the first phase.
const IMPORT: &str = "import";

impl<W: FnMut(&str)> Dump<W> {
    /// Watches the allocation of a function, and writes it after the requested phases.
    pub fn new(imported: &Function, requested: Vec<Phase>, write: W) -> Self {
        let mut writer = Writer::default();
        let imported = writer.text(Stage::Program(imported));
        let before = (IMPORT, imported.clone());
        Dump { requested, ended: Vec::new(), writer, imported, before, written: None, write }
    }

    /// A phase has ended: says when this is, and counts.
    fn heading(&mut self, phase: Phase) -> String {
        self.ended.push(phase);
        match self.ended.iter().filter(|&&ended| ended == phase).count() {
            1 => format!("after {}", phase.name()),
            run => format!("after {}, run {run}", phase.name()),
        }
    }

    /// Writes the function and the lines in which it differs from the one before, as far as there is anything to write.
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

/// How many lines differ, if any do, and these lines, each block's under its head.
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
