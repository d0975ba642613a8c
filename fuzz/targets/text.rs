//! A function in text form: read, printed, read again, validated, allocated, checked. The first byte chooses the allocator.
#![no_main]

use chordal::allocate::allocators::PRESETS;
use chordal::allocate::failure::Failure;
use chordal::allocate::pipeline::{Strategy, allocate};
use chordal::allocate::regalloc2::Algorithm;
use chordal::machine::{parse, print, validate};
use libfuzzer_sys::fuzz_target;

fn strategy(byte: u8) -> Strategy {
    let ours = PRESETS.iter().copied().map(Strategy::Phases);
    let all: Vec<Strategy> = ours.chain(Algorithm::ALL.map(|(_, algorithm)| Strategy::Regalloc2(algorithm))).collect();
    all[usize::from(byte) % all.len()]
}

fuzz_target!(|input: &[u8]| {
    let Some((&first, text)) = input.split_first() else { return };
    let Ok(function) = str::from_utf8(text).map_err(|_| ()).and_then(|text| parse(text).map_err(|_| ())) else { return };
    let printed = print(&function);
    let again = parse(&printed).expect("what is printed can be read");
    assert_eq!(print(&again), printed, "nothing is lost in print");
    let found = validate(&function);
    assert_eq!(validate(&again), found, "what is read again is the same function");
    if found.is_ok()
        && let Err(Failure::Defect(defect)) = allocate(&function, strategy(first))
    {
        panic!("{defect}\n{printed}");
    }
});
