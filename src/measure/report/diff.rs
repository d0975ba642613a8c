//! A difference of two statistics files, as tables and as annotations of a workflow.

use super::table::{Cell, Style, Table};
use super::workflow::{Annotation, Level};
use crate::measure::diff::quantity::Quantity;
use crate::measure::diff::{Change, Diff, Fate, Group, LeftOut, Regression, Total};
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

const NOT_ANY_MORE: &str = "Not allocated any more";

/// What is left out, in the order of how much it matters.
const LEFT_OUT: [(Fate, &str); 5] = [
    (Fate::Lost, NOT_ANY_MORE),
    (Fate::Gained, "Allocated now"),
    (Fate::Neither, "Not allocated in either"),
    (Fate::Vanished, "Vanished"),
    (Fate::Appeared, "Appeared"),
];

/// Everything, for people. Of the items that are left out, at most so many of each kind are named.
pub fn tables(diff: &Diff, style: Style, top: usize) -> String {
    let mut text = match style {
        Style::Markdown => format!("### {}\n", title(diff)),
        Style::Plain | Style::Csv => format!("{}\n", title(diff)),
    };
    if let [group] = &diff.groups[..] {
        let _ = writeln!(text, "{}", group.label());
    }
    section(&mut text, style, "", &totals(diff));
    section(&mut text, style, "Hurt most", &changes(&diff.hurt, style));
    section(&mut text, style, "Helped most", &changes(&diff.helped, style));
    for (fate, heading) in LEFT_OUT {
        let all: Vec<_> = diff.fated(fate).collect();
        let heading = format!("{heading}: {}", all.len());
        section(&mut text, style, &heading, &left_out(&all[..all.len().min(top)], style));
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

/// A table with a heading, if there is anything in it.
fn section(text: &mut String, style: Style, heading: &str, table: &Table) {
    if table.is_empty() {
        return;
    }
    text.push('\n');
    match style {
        _ if heading.is_empty() => {}
        Style::Markdown => _ = writeln!(text, "**{heading}**\n"),
        Style::Plain | Style::Csv => _ = writeln!(text, "{heading}"),
    }
    text.push_str(&table.render(style));
}

/// Several groups need a column to tell them apart.
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

fn changes(changes: &[Change], style: Style) -> Table {
    let mut table = Table::new(["item", "metric", "base", "new", "change", "of total"]);
    for change in changes {
        table.row([
            code(&change.item.to_string(), style).into(),
            change.metric.as_str().into(),
            change.base.into(),
            change.new.into(),
            change.change.map_or(Cell::Missing, Cell::Change),
            Cell::Change(change.of_total),
        ]);
    }
    table
}

fn left_out(left_out: &[&LeftOut], style: Style) -> Table {
    let mut table = Table::new(["item", "base", "new"]);
    for left_out in left_out {
        let (base, new) = (left_out.base.to_string(), left_out.new.to_string());
        table.row([code(&left_out.item.to_string(), style).into(), base.into(), new.into()]);
    }
    table
}

/// Names of functions are full of what Markdown takes for emphasis.
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

/// An error for each regression, warnings for what else people should look at, and a notice with the totals of each group.
pub fn annotations(diff: &Diff) -> String {
    let mut text = String::new();
    for annotation in diff.regressions.iter().map(error).chain(warnings(diff)).chain(diff.groups.iter().map(notice)) {
        let _ = writeln!(text, "{annotation}");
    }
    text
}

fn error(regression: &Regression) -> Annotation {
    let title = match regression {
        Regression::Total { total, .. } => format!("{} grew", total.metric),
        Regression::Lost(_) => NOT_ANY_MORE.into(),
    };
    Annotation { level: Level::Error, title, message: regression.to_string() }
}

fn warnings(diff: &Diff) -> impl Iterator<Item = Annotation> {
    // With a limit, what is lost is an error.
    let lost = diff.fated(Fate::Lost).filter(|_| diff.fail_above.is_none());
    let warnings: [(&str, Vec<String>); 3] = [
        (NOT_ANY_MORE, lost.map(|lost| format!("{}: {}", lost.item, lost.new)).collect()),
        ("Vanished", diff.fated(Fate::Vanished).map(|vanished| vanished.item.to_string()).collect()),
        ("Hurt most", diff.hurt.iter().map(hurt).collect()),
    ];
    warnings.into_iter().filter(|(_, lines)| !lines.is_empty()).map(|(title, lines)| Annotation {
        level: Level::Warning,
        title: title.into(),
        message: lines.join("\n"),
    })
}

fn hurt(change: &Change) -> String {
    format!("{}: {} from {} to {}", change.item, change.metric, change.base, change.new)
}

/// In lines: annotations are not shown in a font for tables.
fn notice(group: &Group) -> Annotation {
    let line = |total: &Total| {
        let change = total.change.map_or_else(String::new, |change| format!(" ({:+.1}%)", change * 100.0));
        format!("{}: {} -> {}{change}, {} helped, {} hurt", total.metric, total.base, total.new, total.helped, total.hurt)
    };
    let lines: Vec<_> = group.metrics.iter().map(line).collect();
    Annotation { level: Level::Notice, title: group.label(), message: lines.join("\n") }
}
