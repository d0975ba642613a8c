//! Allocations compute what the functions compute: they are executed. This shares no code with the checker, so that the
//! two oracles can also be held against each other.

use crate::support::interpret::compare;
use crate::support::presets::{spill_free, variants};
use crate::support::random::{random_function, shapes};
use chordal::allocate::allocators::Preset;
use chordal::allocate::pipeline::{Allocate as _, Strategy};
use chordal::check::check;
use chordal::machine::{Edit, Function, Location, Overlay, Reg, print};

/// Blocks that a path goes through at most.
const STEPS: usize = 60;

fn allocated(function: &Function, preset: Preset) -> Overlay {
    Strategy::from(preset).allocate(function).unwrap_or_else(|failure| panic!("{failure}\n{}", print(function))).0
}

#[test]
fn allocations_compute_what_the_functions_compute() {
    let variants = variants();
    let (mut compared, mut edits) = (0, 0);
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..200 {
            let function = random_function(seed, shape);
            let overlay = allocated(&function, variants[seed as usize % variants.len()]);
            for path in 0..8 {
                match compare(&function, &overlay, path, STEPS) {
                    Ok(run) => (compared, edits) = (compared + run.compared, edits + run.edits),
                    Err(found) => panic!("shape {number}, seed {seed}, path {path}: {found}\n{}", print(&function)),
                }
            }
        }
    }
    assert!(compared > 200_000 && edits > 100_000, "{compared} reads were compared, {edits} edits executed");
}

/// Breaks one thing in an overlay.
fn damage(function: &Function, overlay: &mut Overlay, rng: &mut fastrand::Rng) {
    let places = places(function, overlay);
    let registers: Vec<_> =
        places.iter().filter_map(|place| if let Location::Reg(reg) = place { Some(*reg) } else { None }).collect();
    let other = registers[rng.usize(..registers.len())];
    let edits = overlay.edits.len();
    match rng.u8(..4) {
        0 if edits > 0 => drop(overlay.edits.remove(rng.usize(..edits))),
        1 if edits > 1 => {
            // Two neighbours at one point trade places.
            let at = rng.usize(..edits - 1);
            if overlay.edits[at].0 == overlay.edits[at + 1].0 {
                overlay.edits.swap(at, at + 1);
            }
        }
        2 if edits > 0 => match &mut overlay.edits[rng.usize(..edits)].1 {
            Edit::Load { to, .. } | Edit::Move { to, .. } | Edit::Rematerialise { to, .. } => *to = other,
            Edit::Perform { .. } | Edit::StoreConstant { .. } => {}
            Edit::Store { from, .. } => *from = other,
            Edit::Swap { a, b, .. } if *b != other => *a = other,
            Edit::Swap { .. } => {}
        },
        _ if !overlay.locations.is_empty() => {
            let at = rng.usize(..overlay.locations.len());
            overlay.locations[at] = Some(places[rng.usize(..places.len())]);
        }
        _ => {}
    }
}

/// Whatever the interpreter finds wrong on some path, the checker rejects without running anything.
#[test]
fn the_checker_rejects_what_the_interpreter_finds() {
    let (mut found, mut rejected) = (0, 0);
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..150 {
            let function = random_function(seed % 30, shape);
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut overlay = allocated(&function, spill_free());
            damage(&function, &mut overlay, &mut rng);
            let verdict = check(&function, &overlay);
            rejected += usize::from(verdict.is_err());
            for path in 0..3 {
                if let Err(difference) = compare(&function, &overlay, path, STEPS) {
                    found += 1;
                    assert!(verdict.is_err(), "shape {number}, seed {seed}: {difference}\n{}", print(&function));
                    break;
                }
            }
        }
    }
    assert!(found > 400 && found * 2 > rejected, "the interpreter finds {found} of {rejected} that the checker rejects");
}

/// All places that an overlay can name: registers and slots.
fn places(function: &Function, overlay: &Overlay) -> Vec<Location> {
    let regs = (0..function.file.regs.len()).map(|index| Location::Reg(Reg::new(index)));
    let slots = overlay.slots.keys().map(Location::Slot);
    regs.chain(slots).collect()
}
