//! Writes a difference of two files of statistics as tables.

use super::names::Names;
use super::table::{Cell, Style, Table};
use crate::measure::diff::quantity::Quantity;
use crate::measure::diff::{Change, Diff, Fate, Item, LeftOut};
use std::fmt::Write as _;

impl From<Quantity> for Cell {
    fn from(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Count(count) => Cell::Count(count),
            Quantity::Amount(amount) => Cell::Amount(amount, 2),
            Quantity::Mean { .. } => Cell::Share(quantity.as_f64()),
        }
    }
}

pub const NOT_ANY_MORE: &str = "Not allocated any more";

/// The kinds of items that were left out, most important first.
const LEFT_OUT: [(Fate, &str); 5] = [
    (Fate::Lost, NOT_ANY_MORE),
    (Fate::Gained, "Allocated now"),
    (Fate::Neither, "Not allocated in either"),
    (Fate::Vanished, "Vanished"),
    (Fate::Appeared, "Appeared"),
];

/// The whole difference, for people. Of the items that were left out, at most `top` of each kind are named.
pub fn tables(diff: &Diff, style: Style, names: Names, top: usize) -> String {
    let mut text = match style {
        Style::Markdown => format!("### {}\n", title(diff)),
        _ => format!("{}\n", title(diff)),
    };
    if let [group] = &diff.groups[..] {
        let _ = writeln!(text, "{}", group.label());
    }
    section(&mut text, style, "", &totals(diff));
    section(&mut text, style, "Hurt most", &changes(&diff.hurt, style, names));
    section(&mut text, style, "Helped most", &changes(&diff.helped, style, names));
    for (fate, heading) in LEFT_OUT {
        let all: Vec<_> = diff.fated(fate).collect();
        let heading = format!("{heading}: {}", all.len());
        section(&mut text, style, &heading, &left_out(&all[..all.len().min(top)], style, names));
        if all.len() > top {
            let _ = writeln!(text, "and {} more", all.len() - top);
        }
    }
    verdict(&mut text, diff, style);
    text
}

fn title(diff: &Diff) -> String {
    format!("{} -> {}", diff.base, diff.new)
}

/// Adds a table with a heading, unless it is empty.
fn section(text: &mut String, style: Style, heading: &str, table: &Table) {
    if table.is_empty() {
        return;
    }
    text.push('\n');
    match style {
        _ if heading.is_empty() => {}
        Style::Markdown => _ = writeln!(text, "**{heading}**\n"),
        _ => _ = writeln!(text, "{heading}"),
    }
    text.push_str(&table.render(style));
}

/// The totals; several groups need a column that tells them apart.
fn totals(diff: &Diff) -> Table {
    let several = diff.groups.len() > 1;
    let group = several.then_some("run");
    let columns = ["metric", "base", "new", "change", "geomean", "helped", "hurt", "items"];
    let mut table = Table::new(group.into_iter().chain(columns));
    for group in &diff.groups {
        for total in &group.metrics {
            let label = several.then(|| group.label().into());
            let cells = [
                total.metric.as_str().into(),
                total.base.into(),
                total.new.into(),
                total.change.map_or(Cell::Missing, Cell::Change),
                total.geomean.map_or(Cell::Missing, |geomean| Cell::Change(geomean - 1.0)),
                total.helped.into(),
                total.hurt.into(),
                total.items.into(),
            ];
            table.row(label.into_iter().chain(cells));
        }
    }
    table
}

fn changes(changes: &[Change], style: Style, names: Names) -> Table {
    let mut table = Table::new(["item", "metric", "base", "new", "change", "of total"]);
    for change in changes {
        table.row([
            code(&named(&change.item, names), style).into(),
            change.metric.as_str().into(),
            change.base.into(),
            change.new.into(),
            change.change.map_or(Cell::Missing, Cell::Change),
            Cell::Change(change.of_total),
        ]);
    }
    table
}

fn left_out(left_out: &[&LeftOut], style: Style, names: Names) -> Table {
    let mut table = Table::new(["item", "base", "new"]);
    for left_out in left_out {
        let (base, new) = (left_out.base.to_string(), left_out.new.to_string());
        table.row([code(&named(&left_out.item, names), style).into(), base.into(), new.into()]);
    }
    table
}

/// An item with its function's name as people read it.
fn named(item: &Item, names: Names) -> String {
    let function = item.function.as_deref().map(|function| names.of(function));
    Item { function, ..item.clone() }.to_string()
}

/// Quotes a name in Markdown, since functions' names are full of characters that it takes for emphasis.
fn code(name: &str, style: Style) -> String {
    if style == Style::Markdown { format!("`{name}`") } else { name.to_owned() }
}

fn verdict(text: &mut String, diff: &Diff, style: Style) {
    if diff.limits.is_empty() {
        return;
    }
    let limits: Vec<String> = diff.limits.iter().map(ToString::to_string).collect();
    let limits = limits.join(", ");
    if diff.regressions.is_empty() {
        let _ = writeln!(text, "\nNothing is worse by more than {limits}.");
        return;
    }
    let heading = format!("Worse by more than {limits}:");
    let _ = writeln!(text, "\n{}", if style == Style::Markdown { format!("**{heading}**\n") } else { heading });
    for regression in &diff.regressions {
        let _ = writeln!(text, "- {regression}");
    }
}
