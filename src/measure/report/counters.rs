//! Writes every counter as CSV, with the names of the JSON.

use super::table::{Cell, Style, Table};
use crate::measure::stats::Counts;
use crate::measure::stats::counters::{self, Value};
use indexmap::IndexSet;

/// The time of all phases; the columns of single phases precede it.
const TIME: &str = "time_ns.total";

/// The table of these rows: the columns that say what each is about, then its counters.
pub fn csv<'c>(about: &[&str], rows: impl IntoIterator<Item = (Vec<Cell>, &'c Counts)>) -> String {
    let rows: Vec<_> = rows.into_iter().map(|(about, counts)| (about, counters::values(counts))).collect();
    let times: IndexSet<&String> =
        rows.iter().flat_map(|(_, values)| values.keys()).filter(|name| name.starts_with("time_ns.") && *name != TIME).collect();
    let names = counters::names();
    let before = |name: &String| if name == TIME { times.iter().copied().collect() } else { Vec::new() };
    let columns: Vec<&String> = names.iter().flat_map(|name| before(name).into_iter().chain([name])).collect();
    let mut table = Table::new(about.iter().copied().chain(columns.iter().map(|name| name.as_str())));
    for (about, values) in &rows {
        table.row(about.iter().cloned().chain(columns.iter().map(|&name| cell(values.get(name)))));
    }
    table.render(Style::Csv)
}

fn cell(value: Option<&Value>) -> Cell {
    match value {
        Some(Value::Count(count)) => Cell::Count(*count),
        Some(Value::Amount(amount)) => Cell::Amount(*amount, 0),
        Some(Value::Group(_) | Value::Unknown(())) | None => Cell::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stats::{Spill, Static, Times};

    #[test]
    fn columns_have_the_names_of_the_json_and_what_is_unknown_is_empty() {
        let mut times = Times::default();
        times.add("spill", 7);
        let fixed = Static { loads: 3, ..Static::default() };
        let one = Counts { fixed, time_ns: Some(times), ..Counts::default() };
        let other = Counts { spill: Spill { bound: Some(1.5), ..Spill::default() }, ..Counts::default() };
        let text = csv(&["module"], [(vec!["a".into()], &one), (vec!["b".into()], &other)]);
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (header, one, other) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
        let column = |name: &str| header.iter().position(|column| *column == name).expect("there is such a column");
        let both = |name: &str| (one[column(name)], other[column(name)]);
        assert_eq!(both("module"), ("a", "b"));
        assert_eq!(both("static.loads"), ("3", "0"));
        assert_eq!(both("static.bytes"), ("", ""));
        assert_eq!(both("spill.bound"), ("", "1.5"));
        assert_eq!((both("time_ns.spill"), both("time_ns.total")), (("7", ""), ("7", "")));
        assert_eq!(column("time_ns.spill") + 1, column("time_ns.total"));
    }
}
