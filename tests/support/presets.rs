//! All allocators, and each with each of its switches set otherwise.

use chordal::allocate::HAS_SOLVER;
use chordal::allocate::allocators::{AssignmentStrategy, PRESETS, Preset};
use chordal::allocate::cssa::Coalescing;
use chordal::allocate::destruct::{Merging, Notion, Policy, Source};
use chordal::allocate::pipeline::Strategy;
use chordal::cli::allocators::{Configured, configured};
use chordal::cli::switches::switches;

/// The allocator whose phases do least but what it is about.
pub fn spill_free() -> Preset {
    Preset::named("spill-free").expect("it exists")
}

/// Of allocators that spill values for all their lives: options that lead elsewhere together than each by itself.
const COMBINATIONS: &[&str] = &[
    "--spill min --rematerialise off --memory-operands none",
    "--spill min --rematerialise on --memory-operands all",
    "--spill min --coalesce recolour",
    "--spill min --cssa value",
    "--spill second-chance --phi-memory store-hoist=off,load-lower=off --set block-order=dominator-tree",
    "--spill second-chance --phi-memory store-hoist=off,load-lower=weighted --rematerialise off --memory-operands none",
    "--spill priced --rematerialise off --coalesce recolour",
    "--spill priced --effort 0 --set delay=on",
    "--spill priced --effort 3 --memory-operands all --prepare all --set spare-jumps=on --set weigh-size=on",
    "--spill priced --cssa value",
    "--spill everywhere --cssa value",
    "--splits all --coalesce recolour",
    "--pins perm --coalesce units --set spare-jumps=on",
    "--swap xchg --set spare-jumps=on --set register-slots=on",
    "--cssa value --phi-memory eliminate=on-demand",
    "--cssa value --phi-memory eliminate=brisk --share-slots off",
];

/// Presets that together make every choice that there is.
pub fn variants() -> Vec<Preset> {
    let mut variants = PRESETS.to_vec();
    let out_of_ssa = Preset::named("out-of-ssa").expect("it exists");
    variants
        .extend(destructions().into_iter().map(|policy| Preset { coalescing: Coalescing::Destruction(policy), ..out_of_ssa }));
    variants.push(Preset { assignment: AssignmentStrategy::GraphColouring, ..out_of_ssa });
    for base in [spill_free(), Preset::named("ch-o3").expect("it exists")] {
        variants.extend(neighbours(&base));
        variants.extend(COMBINATIONS.iter().map(|options| combined(base.name, options)));
    }
    variants.retain(|preset| HAS_SOLVER || !preset.assignment.needs_solver());
    variants
}

/// The presets that differ from one in a single switch.
fn neighbours(base: &Preset) -> Vec<Preset> {
    let mut neighbours = Vec::new();
    for switch in switches().filter(|switch| switch.is_read_by(base)) {
        for value in switch.values().into_iter().filter(|&value| value != switch.get(base)) {
            let mut preset = *base;
            switch.set(&mut preset, value);
            neighbours.push(preset);
        }
    }
    neighbours
}

fn combined(name: &str, options: &str) -> Preset {
    match configured(&format!("{name} {options}")) {
        Ok(Configured::Ours(Strategy::Phases(preset))) => preset,
        Ok(_) => panic!("{name} is none of chordal's own"),
        Err(why) => panic!("{name} {options}: {why}"),
    }
}

/// All ways out of SSA form.
pub fn destructions() -> Vec<Policy> {
    let mut all = Vec::new();
    for notion in [Notion::Value, Notion::Chaitin, Notion::Intersection] {
        for merging in [Merging::ByWeight, Merging::AtOnce] {
            for virtualize in [true, false] {
                for liveness in [Source::Check, Source::Sets] {
                    all.push(Policy { notion, virtualize, liveness, merging });
                }
            }
        }
    }
    all
}
