//! Reads the functions of `testdata/functions`.

use chordal::machine::{Function, parse, validate};

pub fn fixture(name: &str) -> Function {
    let path = format!("{}/testdata/functions/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let function = parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    validate(&function).unwrap_or_else(|found| panic!("{path}: {found:?}"));
    function
}

/// All of them, including those of the papers; without those that must be refused.
pub fn all() -> Vec<Function> {
    let folder = format!("{}/testdata/functions", env!("CARGO_MANIFEST_DIR"));
    let mut names = Vec::new();
    for prefix in ["", "papers/"] {
        let entries = std::fs::read_dir(format!("{folder}/{prefix}")).expect("testdata/functions is there");
        let files = entries.map(|entry| entry.expect("an entry can be read").path());
        let texts = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
        names.extend(texts.map(|path| format!("{prefix}{}", path.file_stem().expect("a name").to_string_lossy())));
    }
    names.sort();
    names.iter().map(|name| fixture(name)).collect()
}
