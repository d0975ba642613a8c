//! Writes a difference of two files of statistics as tables.

use super::link::{Link, below};
use super::names::Names;
use super::table::{Cell, Style, Table};
use crate::measure::diff::quantity::Quantity;
use crate::measure::diff::{Change, Diff, Fate, Item, LeftOut};
use std::fmt::Write as _;
use std::path::Path;

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
pub const LEFT_OUT: [(Fate, &str); 5] = [
    (Fate::Lost, NOT_ANY_MORE),
    (Fate::Gained, "Allocated now"),
    (Fate::Neither, "Not allocated in either"),
    (Fate::Vanished, "Vanished"),
    (Fate::Appeared, "Appeared"),
];

/// How items are named, how many of each kind, and where their names link to.
pub struct Naming<'l> {
    pub names: Names,
    pub top: usize,
    pub link: Option<&'l Link>,
    /// Files below it are named relative to it.
    pub folder: &'l Path,
}

impl Naming<'_> {
    /// Where an item's name links to.
    pub fn address(&self, item: &Item) -> Option<String> {
        self.link.and_then(|link| link.of(item, self.folder))
    }

    /// Where an item is in the source.
    pub fn place(&self, item: &Item) -> Option<String> {
        item.place.as_ref().map(|place| format!("{}:{}", below(&place.file, self.folder), place.line))
    }
}

/// The whole difference, for people. Of the items that were left out, at most so many of each kind are named.
pub fn tables(diff: &Diff, style: Style, naming: &Naming<'_>) -> String {
    let mut text = match style {
        Style::Markdown => format!("### {}\n", title(diff)),
        _ => format!("{}\n", title(diff)),
    };
    if style == Style::Markdown {
        headline(diff).into_iter().for_each(|headline| text += &format!("\n**{headline}**\n\n"));
    }
    if let [group] = &diff.groups[..] {
        let _ = writeln!(text, "{}", group.label());
    }
    section(&mut text, style, "", &totals(diff));
    section(&mut text, style, "Hurt most", &changes(&diff.hurt, style, naming));
    section(&mut text, style, "Helped most", &changes(&diff.helped, style, naming));
    for (fate, heading) in LEFT_OUT {
        let all: Vec<_> = diff.fated(fate).collect();
        let heading = format!("{heading}: {}", all.len());
        section(&mut text, style, &heading, &left_out(&all[..all.len().min(naming.top)], style, naming));
        if all.len() > naming.top {
            let _ = writeln!(text, "and {} more", all.len() - naming.top);
        }
    }
    verdict(&mut text, diff, style);
    text
}

/// Whether it got better or worse, and by how much: by overhead if that is compared, else by the first metric.
pub fn headline(diff: &Diff) -> Option<String> {
    let totals = || diff.groups.iter().flat_map(|group| &group.metrics);
    let total = totals().find(|total| total.metric == "overhead_share").or_else(|| totals().next())?;
    let word = match total.change {
        Some(change) if change < 0.0 => "Better",
        Some(0.0) => "Equal",
        _ => "Worse",
    };
    // A share of a share says little.
    let change = total.change.filter(|&change| change != 0.0 && !matches!(total.new, Quantity::Mean { .. }));
    let change = change.map_or(String::new(), |change| format!(" ({:+.2}%)", 100.0 * change));
    Some(format!("{word}: {} {} -> {}{change}", total.metric, total.base, total.new))
}

pub fn title(diff: &Diff) -> String {
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
pub fn totals(diff: &Diff) -> Table {
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

fn changes(changes: &[Change], style: Style, naming: &Naming<'_>) -> Table {
    if style == Style::Markdown {
        return moves(changes, naming);
    }
    let mut table = Table::new(["item", "metric", "base", "new", "change", "of total"]);
    for change in changes {
        table.row([
            named(&change.item, naming.names).into(),
            change.metric.as_str().into(),
            change.base.into(),
            change.new.into(),
            change.change.map_or(Cell::Missing, Cell::Change),
            Cell::Change(change.of_total),
        ]);
    }
    table
}

/// What moved in each item, and where it is.
fn moves(changes: &[Change], naming: &Naming<'_>) -> Table {
    let mut table = Table::new(["item", "place", "moved", "of total"]);
    for change in changes {
        let place = naming.place(&change.item).unwrap_or_default();
        table.row([linked(&change.item, naming).into(), place.into(), moved(change).into(), Cell::Change(change.of_total)]);
    }
    table
}

/// All metrics of an item that moved.
pub fn moved(change: &Change) -> String {
    let first = [(&change.metric, change.base, change.new)].into_iter();
    let all = first.chain(change.also.iter().map(|moved| (&moved.metric, moved.base, moved.new)));
    all.map(|(metric, base, new)| format!("{metric} {base} -> {new}")).collect::<Vec<_>>().join(", ")
}

fn left_out(left_out: &[&LeftOut], style: Style, naming: &Naming<'_>) -> Table {
    let mut table = Table::new(["item", "base", "new"]);
    for left_out in left_out {
        let (base, new) = (left_out.base.to_string(), left_out.new.to_string());
        let name = match style {
            Style::Markdown => linked(&left_out.item, naming),
            _ => named(&left_out.item, naming.names),
        };
        table.row([name.into(), base.into(), new.into()]);
    }
    table
}

/// An item with its function's name as people read it.
pub fn named(item: &Item, names: Names) -> String {
    let function = item.function.as_deref().map(|function| names.of(function));
    Item { function, ..item.clone() }.to_string()
}

/// An item in Markdown: quoted, since functions' names are full of characters that it takes for emphasis, and linked.
fn linked(item: &Item, naming: &Naming<'_>) -> String {
    let name = format!("`{}`", named(item, naming.names));
    match naming.address(item) {
        Some(address) => format!("[{name}]({address})"),
        None => name,
    }
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
