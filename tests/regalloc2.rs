//! regalloc2 on the same functions as chordal's allocators, before the same judges: the checker and the interpreter.

#[path = "support/interpret.rs"]
mod interpret;
mod support;

use chordal::baseline::regalloc2::Algorithm;
use chordal::machine::{Function, Overlay, parse, print, validate};
use chordal::pipeline::{Failure, Strategy, allocate};
use interpret::compare;
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use support::random::{random_function, shapes};

/// Blocks that a path goes through at most.
const STEPS: usize = 60;

/// An allocation that the checker accepts and the interpreter finds nothing wrong with, or why regalloc2 has none.
fn allocated(function: &Function, algorithm: Algorithm) -> Result<Overlay, String> {
    let strategy = Strategy::Regalloc2 { algorithm, check: true };
    let result = catch_unwind(AssertUnwindSafe(|| allocate(function, strategy)));
    let overlay = match result {
        Ok(Ok((overlay, _))) => overlay,
        Ok(Err(Failure::Unsupported(reason))) => return Err(reason),
        Ok(Err(failure)) => panic!("{algorithm:?}: {failure}\n{}", print(function)),
        Err(cause) => return Err(format!("panic {:?} {:?}", cause.downcast_ref::<String>(), cause.downcast_ref::<&str>())),
    };
    for path in 0..4 {
        if let Err(found) = compare(function, &overlay, path, STEPS) {
            panic!("{algorithm:?}, path {path}: {found}\n{}", print(function));
        }
    }
    Ok(overlay)
}

#[test]
fn random_functions_are_allocated() {
    for (name, algorithm) in Algorithm::ALL {
        let mut refused: BTreeMap<String, usize> = BTreeMap::new();
        let mut total = 0;
        for shape in shapes() {
            for seed in 0..60 {
                total += 1;
                let result = catch_unwind(|| allocated(&random_function(seed, &shape), algorithm));
                match result {
                    Ok(Ok(_)) => {}
                    Ok(Err(reason)) => {
                        let f = random_function(seed, &shape);
                        if f.insts.len() < 60 && reason.contains("panics") {
                            eprintln!("SMALL {name} {reason}\n{}", print(&f));
                        }
                        *refused.entry(reason).or_default() += 1
                    }
                    Err(_) => *refused.entry("REJECTED".into()).or_default() += 1,
                }
            }
        }
        eprintln!("{name}: of {total}: {refused:#?}");
    }
}

#[test]
fn fixtures_are_allocated() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/functions");
    let folders = [root.clone(), root.join("papers")];
    let mut files: Vec<_> = folders.iter().flat_map(|f| fs::read_dir(f).unwrap()).map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    for (name, algorithm) in Algorithm::ALL {
        for path in &files {
            let function = parse(&fs::read_to_string(path).unwrap()).unwrap();
            if validate(&function).is_err() {
                continue;
            }
            if let Err(reason) = allocated(&function, algorithm) {
                eprintln!("{name}: {}: {reason}", path.display());
            }
        }
    }
}
