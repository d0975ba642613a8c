//! The functions of `testdata/functions`.

use chordal::machine::{Function, parse, validate};

pub fn fixture(name: &str) -> Function {
    let path = format!("{}/testdata/functions/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let function = parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    validate(&function).unwrap_or_else(|found| panic!("{path}: {found:?}"));
    function
}
