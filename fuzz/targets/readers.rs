//! What other commands read: object files and archives (`chordal count`), and, as text, files of statistics and comparisons
//! (`chordal diff`).
#![no_main]

use chordal::measure::count::count;
use chordal::measure::diff::metric::{DEFAULT, Metric};
use chordal::measure::diff::{Diff, Request, load};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = count(input);
    let Ok(text) = str::from_utf8(input) else { return };
    let metrics: Vec<Metric> = DEFAULT.iter().map(|name| Metric::named(name).expect("the default metrics exist")).collect();
    if let Ok(file) = load::parse("input", text, &metrics) {
        let _ = Diff::new(&file, &file, &Request { metrics, top: 10, limits: Vec::new() });
    }
});
