//! The metrics by which files are compared, named as in their JSON.

use super::quantity::Quantity;
use crate::measure::stats::counters;
use serde_json::{Map, Value};

/// The metrics that are compared unless others are requested.
pub const DEFAULT: &[&str] = &[
    "static.loads",
    "static.stores",
    "static.moves",
    "static.xors",
    "static.instructions",
    "static.bytes",
    "spill.stores",
    "spill.reloads",
    SHARE,
    "fallbacks",
    "degraded_functions",
];

/// The only counter whose totals are means; each item is weighted by its [`WEIGHT`].
const SHARE: &str = "overhead_share";
const WEIGHT: &str = "selected.instructions";

/// Sums of counters that are in no file themselves.
pub const DERIVED: &[(&str, &[&str])] =
    &[("memory_accesses", &["static.loads", "static.stores"]), ("spill_accesses", &["spill.stores", "spill.reloads"])];

/// A counter, or a sum of counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub name: String,
    counters: Vec<String>,
}

/// There is no metric of a name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no such counter; the nearest is `{nearest}`")]
pub struct NoMetric {
    pub nearest: String,
}

impl Metric {
    /// Looks a metric up by its name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, NoMetric> {
        let counters = match DERIVED.iter().find(|(derived, _)| *derived == name) {
            Some((_, counters)) => counters.iter().map(|&counter| counter.to_owned()).collect(),
            None if is_counter(name) => vec![name.to_owned()],
            None => return Err(NoMetric { nearest: nearest(name) }),
        };
        Ok(Metric { name: name.to_owned(), counters })
    }

    /// Its value in these counts, if they have all of its counters.
    pub fn of(&self, counts: &Map<String, Value>) -> Option<Quantity> {
        if self.name == SHARE {
            return Some(Quantity::mean(find(counts, SHARE)?.as_f64()?, find(counts, WEIGHT)?.as_u64()?));
        }
        let mut sum = Quantity::default();
        for counter in &self.counters {
            sum += Quantity::of(find(counts, counter)?)?;
        }
        Some(sum)
    }
}

/// Looks a dotted name up.
fn find<'v>(counts: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    let mut parts = name.split('.');
    let first = counts.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// Whether files may have a counter of this name. Any phase may have a time, since each allocator names its own phases.
fn is_counter(name: &str) -> bool {
    name.strip_prefix("time_ns.").is_some_and(|phase| !phase.is_empty())
        || counters::names().iter().any(|counter| counter == name)
}

/// The counter that is most alike as a whole or in its last part; among equals, the one that is asked for more often.
fn nearest(name: &str) -> String {
    let likeness = |known: &str| {
        let last = known.rsplit('.').next().unwrap_or(known);
        strsim::jaro(known, name).max(strsim::jaro(last, name))
    };
    let usual = DEFAULT.iter().copied().chain(DERIVED.iter().map(|(derived, _)| *derived));
    let known = usual.map(str::to_owned).chain(counters::names());
    known.min_by(|a, b| likeness(b).total_cmp(&likeness(a))).expect("there are counters")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stats::{Counts, Selected, Static};

    fn fields(counts: &Counts) -> Map<String, Value> {
        match serde_json::to_value(counts).expect("counts are JSON") {
            Value::Object(fields) => fields,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn defaults_and_sums_exist() {
        let parts = DERIVED.iter().flat_map(|(_, parts)| *parts);
        for name in DEFAULT.iter().chain(parts).chain(&["spill.bound", "memory_bytes"]) {
            assert!(is_counter(name), "{name}");
        }
    }

    #[test]
    fn values_are_found_by_name() {
        let fixed = Static { loads: 3, stores: 4, ..Static::default() };
        let counts = fields(&Counts { fixed, overhead: 0.5, ..Counts::default() });
        let value = |name: &str| Metric::named(name).expect("it exists").of(&counts);
        assert_eq!(value("static.loads"), Some(Quantity::Count(3)));
        assert_eq!(value("memory_accesses"), Some(Quantity::Count(7)));
        assert_eq!(value("overhead"), Some(Quantity::Amount(0.5)));
        assert_eq!(value("overhead_parts.remats"), Some(Quantity::Amount(0.0)));
        assert_eq!(value("static.bytes"), None, "a function without a symbol has no size");
        assert_eq!(value("time_ns.spill"), None);
    }

    #[test]
    fn a_share_needs_its_weight() {
        let selected = Selected { instructions: 40, weighted_instructions: 100.0 };
        let mut counts = fields(&Counts { overhead_share: 0.25, selected, ..Counts::default() });
        let share = Metric::named("overhead_share").expect("it exists");
        assert_eq!(share.of(&counts), Some(Quantity::mean(0.25, 40)));
        counts.remove("selected");
        assert_eq!(share.of(&counts), None);
    }

    #[test]
    fn the_nearest_counter_is_named() {
        let message = |name| Metric::named(name).expect_err("it does not exist").to_string();
        assert!(message("static.load").contains("`static.loads`"));
        assert!(message("relods").contains("`spill.reloads`"));
        assert!(message("memory_access").contains("`memory_accesses`"));
        assert!(message("loads").contains("`static.loads`"));
        assert!(message("static").contains("`static."));
    }
}
