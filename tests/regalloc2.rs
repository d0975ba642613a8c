//! regalloc2 on the functions that test chordal's allocators, judged by the same checker and interpreter.

use crate::support::fixture::fixture;
use crate::support::interpret::compare;
use crate::support::presets::spill_free;
use crate::support::random::{random_function, shapes};
use chordal::allocate::failure::{Failure, Unsupported};
use chordal::allocate::pipeline::{Strategy, allocate};
use chordal::allocate::regalloc2::Algorithm;
use chordal::machine::{Edit, Function, Overlay, Slot, print};
use std::fs;
use std::path::Path;

/// The most blocks on a path.
const STEPS: usize = 60;

/// An allocation that the checker accepts, or the reason why regalloc2 has none.
fn allocated(function: &Function, algorithm: Algorithm) -> Result<Overlay, String> {
    match allocate(function, Strategy::Regalloc2(algorithm)) {
        Ok((overlay, _)) => Ok(overlay),
        Err(Failure::Unsupported(Unsupported(reason))) => Err(reason),
        Err(failure) => panic!("{algorithm:?}: {failure}\n{}", print(function)),
    }
}

/// Random functions have few registers and every oddity, so some are beyond regalloc2. Where two definitions are tied, it
/// panics if hardly any register is free, and confuses values if the use that one overwrites is read again. Such functions
/// are not handed to it: random functions are often like that, real ones hardly ever.
#[test]
fn random_functions_are_allocated() {
    for (name, algorithm) in Algorithm::ALL {
        let (mut refused, mut compared, mut total) = (Vec::new(), 0, 0);
        for (number, shape) in shapes().iter().enumerate() {
            for seed in 0..60 {
                let function = random_function(seed, shape);
                total += 1;
                match allocated(&function, algorithm) {
                    Ok(overlay) => compared += executed(&function, &overlay, &format!("{name}, shape {number}, seed {seed}")),
                    Err(reason) => refused.push(format!("shape {number}, seed {seed}: {reason}")),
                }
            }
        }
        let (tied, other): (Vec<String>, Vec<String>) =
            refused.into_iter().partition(|reason| reason.contains("definitions are tied"));
        assert!(tied.len() * 2 < total, "{name} refuses {} of {total} for what is tied", tied.len());
        assert!(other.len() * 6 < total, "{name} refuses {} of {total}:\n{}", other.len(), other.join("\n"));
        assert!(compared > 30_000, "{name}: {compared} reads were compared");
    }
}

/// The number of reads that agree along some paths.
fn executed(function: &Function, overlay: &Overlay, what: &str) -> usize {
    let run = |path| match compare(function, overlay, path, STEPS) {
        Ok(run) => run.compared,
        Err(found) => panic!("{what}, path {path}: {found}\n{}", print(function)),
    };
    (0..4).map(run).sum()
}

/// Every function that tests chordal's allocators is allocated, except those named here.
#[test]
fn fixtures_are_allocated() {
    use Algorithm::{Backtracking, Fast};
    const DEFINED_LAST: &str = "regalloc2 has no word for a terminator that defines a value";
    const TOO_MANY: &str = "regalloc2 gives up: TooManyLiveRegs";
    const TIED: &str = "regalloc2 mistakes values where two definitions are tied and what one overwrites is read again";
    let mut refused = Vec::new();
    for name in names() {
        let function = fixture(&name);
        // Some functions are not meant to be executed: they read registers that nothing has written.
        let own = allocate(&function, spill_free()).ok().filter(|(own, _)| compare(&function, own, 0, STEPS).is_ok());
        for (_, algorithm) in Algorithm::ALL {
            match allocated(&function, algorithm) {
                Ok(overlay) if own.is_some() => drop(executed(&function, &overlay, &name)),
                Ok(_) => {}
                Err(reason) => refused.push((name.clone(), algorithm, reason)),
            }
        }
    }
    let defined_last = |(name, _, reason): &(String, Algorithm, String)| {
        name.contains("figure21-2") && reason.contains("a terminator of b1 defines a value")
    };
    let count = refused.len();
    refused.retain(|refused| !defined_last(refused));
    assert_eq!(count - refused.len(), 3 * Algorithm::ALL.len(), "{refused:?}");
    let mut expected = vec![("fold_to_fit", Fast, TOO_MANY)];
    let of_both = [
        ("beside_outputs_at_pads", DEFINED_LAST),
        ("copied_by_way_of_wider", DEFINED_LAST),
        ("jump_and_goto", DEFINED_LAST),
        ("jumping", DEFINED_LAST),
        ("outputs_without_register", DEFINED_LAST),
        ("overwritten_in_web", DEFINED_LAST),
        ("overwritten_once", TIED),
        ("read_twice_and_changed", TIED),
    ];
    expected.extend(of_both.iter().flat_map(|&(name, reason)| [(name, Backtracking, reason), (name, Fast, reason)]));
    expected.sort_by_key(|&(name, ..)| name);
    let expected = expected.into_iter().map(|(name, algorithm, reason)| (name.to_owned(), algorithm, reason.to_owned()));
    assert_eq!(refused, expected.collect::<Vec<_>>());
}

/// The names of the functions in `testdata/functions`.
fn names() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/functions");
    let mut names = Vec::new();
    for (folder, prefix) in [(root.clone(), ""), (root.join("papers"), "papers/")] {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("an entry can be read").path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                names.push(format!("{prefix}{}", path.file_stem().expect("a file has a name").to_string_lossy()));
            }
        }
    }
    names.sort();
    names
}

/// Nothing can move on the edges into a landing pad with two predecessors: its φ is read from memory, which both
/// predecessors wrote.
#[test]
fn a_landing_pads_phi_is_in_memory() {
    let function = fixture("landing_pad_phi");
    for (_, algorithm) in Algorithm::ALL {
        let overlay = allocated(&function, algorithm).expect("it is allocated");
        let slots = |wanted: fn(&Edit) -> Option<Slot>| -> Vec<_> {
            overlay.edits.iter().filter_map(|(at, edit)| Some((at.block.as_u32(), wanted(edit)?))).collect()
        };
        let loads = slots(|edit| if let Edit::Load { from, .. } = edit { Some(*from) } else { None });
        let cell = loads.iter().find(|(block, _)| *block == 2).expect("the landing pad loads its φ").1;
        let stores = slots(|edit| if let Edit::Store { to, .. } = edit { Some(*to) } else { None });
        let writers: Vec<u32> = stores.iter().filter(|(_, slot)| *slot == cell).map(|(block, _)| *block).collect();
        assert_eq!(writers, [0, 1], "{algorithm:?}");
    }
}

/// A value that is live across a call that may return twice has memory of its own, which is written only after the
/// definition.
#[test]
fn what_lives_across_a_second_return_shares_no_memory() {
    let function = fixture("returns_twice");
    for (_, algorithm) in Algorithm::ALL {
        let overlay = allocated(&function, algorithm).expect("it is allocated");
        let mut written: Vec<_> = overlay
            .edits
            .iter()
            .filter_map(|(_, edit)| if let Edit::Store { to, .. } = edit { Some(*to) } else { None })
            .collect();
        let stores = written.len();
        written.sort();
        written.dedup();
        assert_eq!((stores, written.len(), overlay.slots.len()), (2, 2, 2), "{algorithm:?}");
    }
}
