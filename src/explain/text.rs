//! An explanation for a terminal: the verdict, code with live ranges as columns, and why values are in memory.
//!
//! There is a column for each register that holds something, as in AMD's `livereg`:
//!
//! ```text
//!         ^   written     :   holds a value that is read later
//!         v   read        x   read and written
//! ```

use super::schema::{Allocation, Bank, Explanation, Part, Row, Value};
use std::fmt::Write as _;

/// How many values in memory are explained.
const VALUES: usize = 20;

/// The text of an explanation.
pub fn text(explanation: &Explanation) -> String {
    let Explanation { function, module, target, allocation, against, .. } = explanation;
    let place = explanation.place.as_ref().map_or(String::new(), |place| format!(", {}:{}", place.file, place.line));
    let mut text = format!("function {function} of {module}{place}, {target}\n\n");
    verdict(&mut text, allocation, against.as_ref());
    for (number, source) in explanation.sources.iter().enumerate().filter(|_| explanation.sources.len() > 1) {
        let _ = writeln!(text, "file {number}: {}", source.file);
    }
    code(&mut text, allocation, explanation.sources.len());
    values(&mut text, allocation);
    text
}

fn verdict(text: &mut String, allocation: &Allocation, against: Option<&Allocation>) {
    for it in [Some(allocation), against].into_iter().flatten() {
        let verdict = &it.verdict;
        let _ = writeln!(
            text,
            "{:<14} costs {:.3} executions a call, {:.2}% of what the selected code executes: {}",
            it.allocator,
            verdict.overhead,
            100.0 * verdict.share,
            parts(it)
        );
        if let Some(reason) = &it.fallback {
            let _ = writeln!(text, "  left to another allocator: {reason}");
        }
    }
    if let (Some(cost), Some(bound)) = (allocation.verdict.spill_cost, allocation.verdict.spill_bound) {
        let _ = writeln!(text, "spilling costs {cost:.3}, and no plan of its model less than {bound:.3}");
    }
    for &row in &allocation.verdict.dearest {
        let _ = writeln!(text, "dearest: row {row}, {}", described(allocation, row));
    }
    for what in &allocation.counterfactuals {
        let saved = what.cost - what.with;
        let place = what.loop_header.as_ref().map_or(String::new(), |header| format!(" in the loop at {header}"));
        let kind = if what.preserved { "that calls preserve" } else { "that calls destroy" };
        let _ = writeln!(
            text,
            "with one more {} register{place} {kind}, it would cost {saved:.3} less ({:.1}%)",
            allocation.banks[what.bank].name,
            100.0 * saved / what.cost
        );
    }
    text.push('\n');
}

/// The parts of the overhead that are not zero.
fn parts(allocation: &Allocation) -> String {
    let parts = &allocation.verdict.parts;
    let named = [
        ("reloads", parts.reloads),
        ("stores", parts.stores),
        ("saves", parts.saves),
        ("restores", parts.restores),
        ("copies", parts.copies),
        ("exchanges", parts.exchanges),
        ("remats", parts.remats),
        ("other", parts.other),
    ];
    let some = named.into_iter().filter(|(_, cost)| cost.abs() >= 0.0005);
    some.map(|(name, cost)| format!("{name} {cost:.3}")).collect::<Vec<_>>().join(", ")
}

/// A row's text, what it is to allocation, and of which values.
fn described(allocation: &Allocation, row: usize) -> String {
    let Row { text, part, cost, values, .. } = &allocation.rows[row];
    let Some(part) = part else { return text.clone() };
    let of: Vec<String> = values.iter().map(|&value| named(&allocation.values[value])).collect();
    let of = if of.is_empty() { String::new() } else { format!(" of {}", of.join(", ")) };
    format!("{text:<40}  {}{of}, {cost:.3}", name(*part))
}

/// A value with the variables that it is.
fn named(value: &Value) -> String {
    if value.variables.is_empty() { value.name.clone() } else { format!("{} ({})", value.name, value.variables.join(", ")) }
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Reload => "reload",
        Part::Store => "store",
        Part::Folded => "operand in memory",
        Part::Save => "save",
        Part::Restore => "restore",
        Part::Copy => "copy",
        Part::Exchange => "exchange",
        Part::Remat => "computed again",
    }
}

fn code(text: &mut String, allocation: &Allocation, sources: usize) {
    let columns = Columns::new(allocation);
    let pressed: Vec<&Bank> = allocation.banks.iter().filter(|bank| bank.live.iter().any(|&live| live > 0)).collect();
    for block in &allocation.blocks {
        let nested = block.header.as_ref().map_or(String::new(), |header| format!(", loop {header}, depth {}", block.depth));
        let _ = writeln!(text, "{}: {:.3} times{nested}, to {}", block.name, block.frequency, block.succs.join(" "));
        let _ = writeln!(text, "  {:>5} {:>6} {}{}", "row", "line", heads(&pressed), columns.heading());
        for row in block.rows[0]..block.rows[1] {
            let place = allocation.rows[row].place;
            let line =
                place.map_or(String::new(), |(file, line)| if sources > 1 { format!("{file}:{line}") } else { line.to_string() });
            let pressure: String = pressed.iter().map(|bank| pressure(bank, row)).collect();
            let _ = writeln!(text, "  {row:>5} {line:>6} {pressure}{} {}", columns.at(row), described(allocation, row));
        }
    }
    text.push('\n');
}

/// The headings of the columns of pressure.
fn heads(banks: &[&Bank]) -> String {
    banks.iter().map(|bank| format!("{:>8} ", bank.name.chars().take(8).collect::<String>())).collect()
}

/// Values by registers, marked where these are too few.
fn pressure(bank: &Bank, row: usize) -> String {
    let (live, supply) = (bank.live[row], bank.supply[row]);
    let mark = if live > supply { "!" } else { " " };
    format!("{:>7}{mark} ", format!("{live}/{supply}"))
}

/// A column for each register that holds a value somewhere.
struct Columns {
    registers: Vec<String>,
    /// For each register, what to print in each row.
    marks: Vec<Vec<char>>,
}

impl Columns {
    fn new(allocation: &Allocation) -> Self {
        let mut columns = Columns { registers: Vec::new(), marks: Vec::new() };
        let all = allocation.banks.iter().flat_map(|bank| &bank.registers);
        for register in all {
            let mut marks = vec![' '; allocation.rows.len()];
            for value in &allocation.values {
                for piece in value.pieces.iter().filter(|piece| piece.registers.contains(register)) {
                    let [first, end] = piece.rows;
                    for (row, known) in (first..).zip(&mut marks[first..end]) {
                        let is_in = |rows: &[usize]| rows.binary_search(&row).is_ok();
                        *known = mark(*known, is_in(&value.read), row == first && is_in(&value.defined));
                    }
                }
            }
            if marks.iter().any(|&mark| mark != ' ') {
                columns.registers.push(register.clone());
                columns.marks.push(marks);
            }
        }
        columns
    }

    fn heading(&self) -> String {
        self.registers.iter().map(|register| format!("{register:>5}")).collect()
    }

    fn at(&self, row: usize) -> String {
        self.marks.iter().map(|marks| format!("{:>5}", marks[row])).collect()
    }
}

/// The mark of a register that holds a value, which an instruction may read or write, beside what is known of other values.
fn mark(known: char, is_read: bool, is_written: bool) -> char {
    match (known, is_read, is_written) {
        ('v', _, true) | ('^', true, _) | (_, true, true) => 'x',
        (_, _, true) => '^',
        (_, true, _) => 'v',
        (' ', ..) => ':',
        (known, ..) => known,
    }
}

/// The values that cost most in memory, and why they are there.
fn values(text: &mut String, allocation: &Allocation) {
    let mut spilled: Vec<&Value> = allocation.values.iter().filter(|value| value.why.is_some()).collect();
    spilled.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    if spilled.is_empty() {
        text.push_str("No value is in memory.\n");
        return;
    }
    for value in spilled.iter().take(VALUES) {
        let piece = |piece: &super::schema::Piece| {
            let mut places = piece.registers.clone();
            places.extend(piece.slot.clone());
            let places = if places.is_empty() { "computed again".to_owned() } else { places.join("+") };
            format!("{}-{} {places}", piece.rows[0], piece.rows[1] - 1)
        };
        let pieces: Vec<String> = value.pieces.iter().map(piece).collect();
        let _ = writeln!(text, "{}, {}, cost {:.3}: {}", named(value), value.class, value.cost, pieces.join(", "));
        let _ = writeln!(text, "  {}", value.why.as_deref().unwrap_or_default());
    }
    if spilled.len() > VALUES {
        let _ = writeln!(text, "and {} more values are in memory somewhere", spilled.len() - VALUES);
    }
}
