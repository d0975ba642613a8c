//! Looks counters up by their names in the JSON, such as `static.loads` and `spill.bound`.

use super::{Counts, Spill, Times};
use crate::allocate::recolour::RecolouringCounts;
use indexmap::IndexMap;
use serde::Deserialize;

/// A value in the JSON.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Count(u64),
    Amount(f64),
    Group(IndexMap<String, Value>),
    Unknown(()),
}

/// The names of all counters, in the order of the schema. Of the times only their sum has a fixed name, since each allocator
/// names its own phases.
pub fn names() -> Vec<String> {
    let known = Some(0.0);
    let counts = Counts {
        spill: Spill { cost: known, bound: known, partial_bounds: Some(0), ..Spill::default() },
        recolouring: RecolouringCounts { bound: known, ..RecolouringCounts::default() },
        time_ns: Some(Times::default()),
        memory_bytes: Some(0),
        ..Counts::default()
    };
    values(&counts).into_keys().collect()
}

/// The values of these counts, by the names of the counters.
///
/// # Panics
/// Never: counts can be written as JSON.
pub fn values(counts: &Counts) -> IndexMap<String, Value> {
    let text = serde_json::to_string(counts).expect("counts are JSON");
    let mut values = IndexMap::new();
    collect(serde_json::from_str(&text).expect("it is what was written"), "", &mut values);
    values
}

fn collect(value: Value, name: &str, values: &mut IndexMap<String, Value>) {
    let Value::Group(fields) = value else {
        values.insert(name.to_owned(), value);
        return;
    };
    for (field, value) in fields {
        let name = if name.is_empty() { field } else { format!("{name}.{field}") };
        collect(value, &name, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_schema() {
        let names = names();
        let some = ["static.bytes", "weighted.moves", "score", "frame_bytes", "elimination.memory_transfers", "time_ns.total"];
        let only_where_known = ["spill.cost", "spill.bound", "spill.partial_bounds", "recolouring.bound", "memory_bytes"];
        for name in some.iter().chain(&only_where_known) {
            assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
        }
        assert!(!names.iter().any(|name| name == "static"), "groups are no counters");
        assert_eq!(names[0], "static.loads", "they are in the order of the schema");
    }
}
