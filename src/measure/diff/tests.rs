//! Tests of matching and totals, on files that contain no more than a test needs.

use super::load::{File, Setting, Status, parse};
use super::metric::Metric;
use super::quantity::Quantity::Count;
use super::*;
use serde_json::{Value, json};

fn metrics(names: &[&str]) -> Vec<Metric> {
    names.iter().map(|name| Metric::named(name).expect("it exists")).collect()
}

fn request(names: &[&str]) -> Request {
    Request { metrics: metrics(names), top: 10, limits: Vec::new() }
}

fn limits(texts: &[&str]) -> Vec<Limit> {
    texts.iter().map(|text| text.parse().expect("it is a limit")).collect()
}

fn counts(loads: u64, stores: u64) -> Value {
    json!({ "static": { "loads": loads, "stores": stores } })
}

fn function(name: &str, loads: u64, stores: u64) -> Value {
    let mut function = counts(loads, stores);
    function["name"] = name.into();
    function
}

fn fallback(name: &str) -> Value {
    let mut function = function(name, 1000, 1000);
    function["fallback"] = "a tile".into();
    function
}

fn statistics(functions: &[Value]) -> Value {
    json!({
        "schema": "chordal-stats/1", "allocator": "simple", "registers": null, "target": "x86_64-linux",
        "total": counts(7777, 7777), "functions": functions,
    })
}

/// A run of `simple` on a module.
fn module(source: &str, registers: &str, total: Value, functions: &[Value]) -> Value {
    let mut statistics = statistics(functions);
    statistics["total"] = total;
    let run = json!({ "allocator": "simple", "registers": registers, "outcome": "done", "statistics": statistics });
    json!({ "schema": "chordal-compare/1", "source": source, "runs": [run] })
}

fn failed(source: &str, outcome: &str) -> Value {
    let run = json!({ "allocator": "simple", "registers": "4", "outcome": outcome, "message": "signal 11" });
    json!({ "schema": "chordal-compare/1", "source": source, "runs": [run] })
}

fn file(name: &str, documents: &[Value], request: &Request) -> File {
    let lines: Vec<_> = documents.iter().map(Value::to_string).collect();
    parse(name, &lines.join("\n"), &request.metrics).expect("it is well-formed")
}

fn diff(base: &[Value], new: &[Value], request: &Request) -> Diff {
    Diff::new(&file("base", base, request), &file("new", new, request), request)
}

/// The difference of two runs that consist of these functions.
fn of_functions(base: &[Value], new: &[Value], request: &Request) -> Diff {
    diff(&[statistics(base)], &[statistics(new)], request)
}

fn names<'d>(items: impl IntoIterator<Item = &'d Item>) -> Vec<String> {
    items.into_iter().map(Item::to_string).collect()
}

#[test]
fn totals_and_means() {
    let base = [function("f", 9, 1), function("g", 1, 1), function("h", 5, 0)];
    let new = [function("h", 5, 0), function("f", 19, 1), function("g", 0, 3)];
    let diff = of_functions(&base, &new, &request(&["static.loads", "memory_accesses"]));
    let [group] = &diff.groups[..] else { panic!("{diff:?}") };
    let [loads, accesses] = &group.metrics[..] else { panic!("{group:?}") };
    assert_eq!((loads.base, loads.new, loads.change), (Count(15), Count(24), Some(0.6)));
    assert_eq!((loads.items, loads.helped, loads.hurt), (3, 1, 1));
    // (19 + 1) / (9 + 1) = 2 and (0 + 1) / (1 + 1) = 1/2 cancel.
    assert!(loads.geomean.is_some_and(|geomean| (geomean - 1.0).abs() < 1e-12), "{:?}", loads.geomean);
    assert_eq!((accesses.base, accesses.new, accesses.hurt), (Count(17), Count(28), 2));
    let mean = (21.0f64 / 11.0 * 4.0 / 3.0).cbrt();
    assert!(accesses.geomean.is_some_and(|geomean| (geomean - mean).abs() < 1e-12), "{:?}", accesses.geomean);
}

#[test]
fn from_nothing_there_is_no_percentage() {
    let diff = of_functions(&[function("f", 0, 0)], &[function("f", 3, 0)], &request(&["static.loads", "static.stores"]));
    let [loads, stores] = &diff.groups[0].metrics[..] else { panic!("{diff:?}") };
    assert_eq!((loads.change, loads.geomean), (None, Some(4.0)));
    assert_eq!((stores.change, stores.geomean, stores.helped, stores.hurt), (Some(0.0), Some(1.0), 0, 0));
    assert_eq!((diff.hurt[0].change, diff.hurt[0].of_total), (None, 1.0));
}

/// Shares are averaged with selected instructions as weights, and a change of one counts as its part of the mean.
#[test]
fn shares_have_means() {
    let share = |name: &str, share: f64, instructions: u64| json!({ "name": name, "overhead_share": share, "selected": { "instructions": instructions } });
    let base = [share("large", 0.1, 90), share("small", 4.0, 10), share("none", 0.0, 0)];
    let new = [share("large", 0.2, 90), share("small", 1.0, 10), share("none", 0.0, 0)];
    let diff = of_functions(&base, &new, &request(&["overhead_share"]));
    let total = &diff.groups[0].metrics[0];
    assert!((total.base.as_f64() - 0.49).abs() < 1e-12 && (total.new.as_f64() - 0.28).abs() < 1e-12, "{total:?}");
    let halves = 0.5f64.sqrt();
    assert!(total.geomean.is_some_and(|geomean| (geomean - halves).abs() < 1e-12), "{total:?}");
    assert_eq!((total.items, total.helped, total.hurt), (3, 1, 1));
    assert!((diff.hurt[0].of_total - 0.09 / 0.49).abs() < 1e-12, "{diff:?}");
    assert!((diff.helped[0].of_total + 0.3 / 0.49).abs() < 1e-12, "{diff:?}");
}

/// An item is listed with the metric in which it changes the total most, on both lists if it changed in both directions.
#[test]
fn the_worst_come_first() {
    let base = [function("f", 50, 10), function("g", 50, 10), function("h", 0, 0)];
    let new = [function("f", 60, 20), function("g", 40, 30), function("h", 0, 0)];
    let mut request = request(&["static.loads", "static.stores"]);
    let both = of_functions(&base, &new, &request);
    let listed = |changes: &[Change]| changes.iter().map(|c| (c.item.to_string(), c.metric.clone())).collect::<Vec<_>>();
    let stores = |name: &str| (name.to_owned(), "static.stores".to_owned());
    assert_eq!(listed(&both.hurt), [stores("g"), stores("f")]);
    assert_eq!(both.hurt[0].of_total, 0.4, "20 of the larger total, 50");
    assert_eq!(listed(&both.helped), [("g".to_owned(), "static.loads".to_owned())]);
    request.top = 1;
    assert_eq!(of_functions(&base, &new, &request).hurt, both.hurt[..1]);
    request.top = 0;
    assert!(of_functions(&base, &new, &request).hurt.is_empty());
}

#[test]
fn what_is_not_allocated_in_both_is_named_and_left_out() {
    let base = [function("f", 1, 1), fallback("never"), function("lost", 5, 5), fallback("gained"), function("gone", 9, 9)];
    let new = [function("new", 9, 9), function("gained", 2, 2), fallback("lost"), fallback("never"), function("f", 1, 1)];
    let diff = of_functions(&base, &new, &request(&["static.loads"]));
    assert_eq!((diff.groups[0].metrics[0].items, diff.groups[0].metrics[0].base), (1, Count(1)));
    let fated = |fate| names(diff.fated(fate).map(|left_out| &left_out.item));
    assert_eq!(fated(Fate::Lost), ["lost"]);
    assert_eq!(fated(Fate::Gained), ["gained"]);
    assert_eq!(fated(Fate::Vanished), ["gone"]);
    assert_eq!(fated(Fate::Appeared), ["new"]);
    assert_eq!(fated(Fate::Neither), ["never"]);
    assert_eq!(diff.fated(Fate::Lost).next().unwrap().new, Status::Fallback { message: "a tile".into() });
}

#[test]
fn modules_are_compared_by_totals_where_one_file_has_no_more() {
    let with_functions = module("a.bc", "4", counts(10, 0), &[function("f", 1, 0)]);
    let without = module("a.bc", "4", counts(12, 0), &[]);
    for (base, new) in [(&with_functions, &without), (&without, &with_functions), (&without, &without)] {
        let diff = diff(std::slice::from_ref(base), std::slice::from_ref(new), &request(&["static.loads"]));
        let total = &diff.groups[0].metrics[0];
        let loads = |record: &Value| Count(record["runs"][0]["statistics"]["total"]["static"]["loads"].as_u64().unwrap());
        assert_eq!((total.base, total.new, total.items), (loads(base), loads(new), 1));
        assert!(diff.left_out.is_empty());
    }
}

#[test]
fn runs_are_matched_by_module_allocator_and_registers() {
    let base = [module("a.bc", "4", counts(10, 0), &[]), module("b.bc", "4", counts(20, 0), &[]), failed("c.bc", "crashed")];
    let new = [
        module("b.bc", "4", counts(21, 0), &[]),
        failed("a.bc", "timed-out"),
        module("c.bc", "4", counts(1, 0), &[]),
        module("d.bc", "8", counts(1, 0), &[]),
    ];
    let diff = diff(&base, &new, &request(&["static.loads"]));
    let [group] = &diff.groups[..] else { panic!("{diff:?}") };
    let expected = Setting { allocator: "simple".into(), registers: "4".into(), target: "x86-64".into() };
    assert_eq!((&group.base, &group.new), (&expected, &expected));
    assert_eq!((group.metrics[0].base, group.metrics[0].new), (Count(20), Count(21)));
    let left_out: Vec<_> = diff.left_out.iter().map(|left_out| (left_out.item.to_string(), left_out.fate())).collect();
    let expected = [
        ("a.bc (simple, 4 registers)".to_owned(), Fate::Lost),
        ("c.bc (simple, 4 registers)".to_owned(), Fate::Gained),
        ("d.bc (simple, 8 registers)".to_owned(), Fate::Appeared),
    ];
    assert_eq!(left_out, expected);
}

#[test]
fn what_applies_in_neither_is_not_worth_a_word() {
    let inapplicable = [failed("a.bc", "not-applicable")];
    assert!(diff(&inapplicable, &inapplicable, &request(&["static.loads"])).left_out.is_empty());
    let failed = [failed("a.bc", "failed")];
    assert_eq!(diff(&failed, &failed, &request(&["static.loads"])).left_out.len(), 1);
}

/// Each group is held to the limit on its own: the gains of one do not offset the losses of another.
#[test]
fn regressions_of_single_groups() {
    let base = [module("a.bc", "4", counts(100, 0), &[]), module("b.bc", "8", counts(1000, 0), &[])];
    let new = [module("a.bc", "4", counts(103, 0), &[]), module("b.bc", "8", counts(500, 0), &[])];
    let mut request = request(&["static.loads"]);
    assert!(diff(&base, &new, &request).regressions.is_empty(), "no limit, no regression");
    request.limits = limits(&["3"]);
    assert!(diff(&base, &new, &request).regressions.is_empty());
    request.limits = limits(&["2"]);
    let diff = diff(&base, &new, &request);
    let [regression] = &diff.regressions[..] else { panic!("{diff:?}") };
    assert_eq!(regression.to_string(), "static.loads grew from 100 to 103 (+3.00%): simple, 4 registers, x86-64");
}

#[test]
fn a_function_that_is_lost_is_a_regression_and_one_that_vanished_is_none() {
    let base = [function("f", 1, 1), function("lost", 5, 5), function("gone", 9, 9)];
    let new = [function("f", 1, 1), fallback("lost"), fallback("new")];
    let request = Request { limits: limits(&["50"]), ..request(&["static.loads"]) };
    let diff = of_functions(&base, &new, &request);
    let [regression] = &diff.regressions[..] else { panic!("{diff:?}") };
    assert_eq!(regression.to_string(), "lost cannot be allocated any more: fallback: a tile");
}

#[test]
fn metrics_that_are_not_in_both_files_are_in_no_total() {
    let mut base = function("f", 1, 1);
    base["overhead"] = 1.5.into();
    let diff = of_functions(&[base], &[function("f", 1, 1)], &request(&["overhead", "static.loads"]));
    assert!(diff.has("static.loads") && !diff.has("overhead"), "{diff:?}");
}
