//! Tables: one content in several styles.

use super::names::shortened;
use crate::output::printable;
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, ContentArrangement, TableStyle};
use maud::{Markup, html};
use serde::{Serialize, Serializer};
use std::ops::Range;
use unicode_width::UnicodeWidthStr as _;

/// Spaces between columns.
const GAP: usize = 2;

/// The smallest width to which a column is shortened.
const SHORTEST: usize = 16;

/// A table of columns with a header.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    #[serde(rename = "columns")]
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    Count(u64),
    /// A quantity, and the number of decimals to show.
    Amount(f64, usize),
    /// A relative change, 0.01 for one per cent more; shown with its sign.
    Change(f64),
    /// A part of a whole, 0.01 for one per cent.
    Share(f64),
    /// There is no value.
    Missing,
}

/// How a table is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// For people, as wide as it needs to be.
    Plain,
    /// For people at a terminal with this number of columns.
    Terminal(usize),
    Markdown,
    /// For programs: numbers in full, without grouping.
    Csv,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Count(count)
    }
}

impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Self {
        cell.map_or(Cell::Missing, Into::into)
    }
}

impl Cell {
    fn shown(&self) -> String {
        match self {
            Cell::Text(text) => printable(text),
            // A number that overflowed says nothing.
            Cell::Amount(number, _) | Cell::Change(number) | Cell::Share(number) if !number.is_finite() => "-".into(),
            Cell::Count(count) => grouped(*count),
            Cell::Amount(amount, decimals) => grouped_amount(*amount, *decimals),
            Cell::Change(change) => format!("{:+.1}%", change * 100.0),
            Cell::Share(share) => format!("{:.2}%", share * 100.0),
            Cell::Missing => "-".into(),
        }
    }

    fn raw(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Amount(number, _) | Cell::Change(number) | Cell::Share(number) => number.to_string(),
            Cell::Missing => String::new(),
        }
    }
}

/// A quantity with its whole part in groups of three.
fn grouped_amount(amount: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", amount.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if amount < 0.0 { "-" } else { "" };
    format!("{sign}{}{rest}", whole.parse().map_or_else(|_| whole.to_owned(), grouped))
}

/// Digits in groups of three.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Written as a text, a number or `null`.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Count(count) => serializer.serialize_u64(*count),
            Cell::Amount(number, _) | Cell::Change(number) | Cell::Share(number) => serializer.serialize_f64(*number),
            Cell::Missing => serializer.serialize_none(),
        }
    }
}

impl Table {
    /// An empty table with these columns.
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Table { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row at the bottom.
    ///
    /// # Panics
    /// If the number of cells is not that of the header.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.header.len(), "a row has a cell for each column");
        self.rows.push(cells);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text, with a newline at the end.
    pub fn render(&self, style: Style) -> String {
        match style {
            Style::Plain => self.plain(),
            Style::Terminal(width) => self.fitted(width),
            Style::Markdown => self.drawn(ASCII_MARKDOWN, (1, 1), |text| text.replace('|', "\\|")),
            Style::Csv => self.csv(),
        }
    }

    /// The table as a part of a page.
    pub fn html(&self) -> Markup {
        let class = |column: usize| self.is_numeric(column).then_some("number");
        html! {
            table {
                thead { tr { @for (column, name) in self.header.iter().enumerate() { th scope="col" class=[class(column)] { (name) } } } }
                tbody {
                    @for row in &self.rows {
                        tr { @for (column, cell) in row.iter().enumerate() { td class=[class(column)] { (cell.shown()) } } }
                    }
                }
            }
        }
    }

    fn plain(&self) -> String {
        self.drawn(NOTHING, (0, GAP as u16), str::to_owned)
    }

    fn drawn(&self, style: TableStyle, padding: (u16, u16), escaped: fn(&str) -> String) -> String {
        let mut drawn = comfy_table::Table::new();
        drawn.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
        drawn.set_header(self.header.clone());
        for row in &self.rows {
            drawn.add_row(row.iter().map(|cell| escaped(&cell.shown())));
        }
        for (index, column) in drawn.column_iter_mut().enumerate() {
            column.set_padding(padding);
            if self.is_numeric(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        // No trailing spaces after the last column.
        drawn.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// Fits the table into `width` columns: long names are shortened, and columns that still have no room go below, with the
    /// names repeated. A number is never broken.
    fn fitted(&self, width: usize) -> String {
        let texts: Vec<usize> = (0..self.header.len()).filter(|&column| !self.is_numeric(column)).collect();
        let names = (0..self.header.len()).take_while(|column| texts.contains(column)).count();
        let mut widths = shrunk(self.widths(), &texts, |widths| total(widths) > width);
        if total(&widths) > width {
            // Some columns go below in any case, so names may take half the width.
            widths = shrunk(self.widths(), &texts, |widths| total(&widths[..names]) > width / 2);
        }
        let shown = parts(&widths, names, width).into_iter().map(|part| self.part((0..names).chain(part), &widths).plain());
        shown.collect::<Vec<_>>().join("\n")
    }

    /// How wide each column is.
    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| self.rows.iter().map(|row| row[column].shown().width()).max().unwrap_or(0);
        self.header.iter().enumerate().map(|(column, title)| title.width().max(widest(column))).collect()
    }

    /// A table of some of the columns, with texts cut to these widths.
    fn part(&self, columns: impl Iterator<Item = usize> + Clone, widths: &[usize]) -> Table {
        let cut = |cell: &Cell, column: usize| match cell {
            Cell::Text(_) => Cell::Text(shortened(&cell.shown(), widths[column])),
            other => other.clone(),
        };
        let mut part = Table::new(columns.clone().map(|column| shortened(&self.header[column], widths[column])));
        for row in &self.rows {
            part.row(columns.clone().map(|column| cut(&row[column], column)));
        }
        part
    }

    /// Whether a column has only numbers, which are aligned on the right.
    fn is_numeric(&self, column: usize) -> bool {
        self.rows.iter().all(|row| !matches!(row[column], Cell::Text(_)))
    }

    fn csv(&self) -> String {
        const IN_MEMORY: &str = "writing to memory does not fail";
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.header).expect(IN_MEMORY);
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::raw)).expect(IN_MEMORY);
        }
        String::from_utf8(writer.into_inner().expect(IN_MEMORY)).expect("cells are text")
    }
}

/// The width of these columns together, with gaps.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Shrinks columns of text, always the widest first, until the widths are not too large or every text is at [`SHORTEST`].
fn shrunk(mut widths: Vec<usize>, texts: &[usize], are_too_wide: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    while are_too_wide(&widths)
        && let Some(&widest) = texts.iter().max_by_key(|&&column| widths[column])
        && widths[widest] > SHORTEST
    {
        widths[widest] -= 1;
    }
    widths
}

/// Divides the columns after the names into parts that fit beside the names; a part has at least one column.
fn parts(widths: &[usize], names: usize, width: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for column in names..widths.len() {
        let fits = |part: &&mut Range<usize>| total(&[&widths[..names], &widths[part.start..=column]].concat()) <= width;
        match parts.last_mut().filter(fits) {
            Some(part) => part.end = column + 1,
            None => parts.push(column..column + 1),
        }
    }
    if parts.is_empty() {
        parts.push(names..names);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(["name", "loads", "change"]);
        table.row(["a|b".into(), Cell::Count(1_234_567), Cell::Change(-0.015)]);
        table.row(["c, d".into(), Cell::Count(12), Cell::Missing]);
        table
    }

    #[test]
    fn people_see_columns() {
        let lines = ["name      loads  change", "a|b   1,234,567   -1.5%", "c, d         12       -", ""];
        assert_eq!(sample().render(Style::Plain), lines.join("\n"));
    }

    #[test]
    fn terminals_are_not_overrun() {
        let mut table = Table::new(["function", "loads", "stores"]);
        table.row(["std::vector<int>::push_back".into(), Cell::Count(1_234_567), Cell::Count(7)]);
        assert_eq!(table.render(Style::Terminal(46)), table.render(Style::Plain), "it fits");
        let cut = format!("{:25}    loads  stores\nstd::vector…::push_back  1,234,567       7\n", "function");
        assert_eq!(table.render(Style::Terminal(42)), cut);
        let row = "std::vec…sh_back  ";
        let below = format!("{0:18}    loads\n{row}1,234,567\n\n{0:18}stores\n{row}     7\n", "function");
        assert_eq!(table.render(Style::Terminal(30)), below);
        assert_eq!(table.render(Style::Terminal(1)), below, "numbers stay whole");
    }

    #[test]
    fn markdown_escapes_bars() {
        let table = sample().render(Style::Markdown);
        assert!(table.starts_with("| name |     loads | change |\n|---"), "{table}");
        assert!(table.contains("| a\\|b | 1,234,567 |  -1.5% |\n"), "{table}");
    }

    #[test]
    fn amounts_are_grouped() {
        assert_eq!(Cell::Amount(-1234567.25, 1).shown(), "-1,234,567.2");
        assert_eq!(Cell::Amount(999.6, 0).shown(), "1,000");
        assert_eq!(Cell::Amount(f64::INFINITY, 2).shown(), "-");
        assert_eq!(Cell::Change(f64::NAN).shown(), "-");
    }

    #[test]
    fn programs_see_plain_numbers() {
        assert_eq!(sample().render(Style::Csv), "name,loads,change\na|b,1234567,-0.015\n\"c, d\",12,\n");
    }
}
