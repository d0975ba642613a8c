//! All allocators, and each of their options the other way.

use chordal::allocate::HAS_SOLVER;
use chordal::allocate::allocators::{AssignmentStrategy, DominanceOrder, Elimination, PRESETS, Preset, RegisterCoalescing};
use chordal::allocate::assign::PinPolicy;
use chordal::allocate::cssa::Coalescing;
use chordal::allocate::destruct::{Merging, Notion, Policy, Source};
use chordal::allocate::eliminate::SwapPolicy;
use chordal::allocate::spill::{Choice, Effort, Entry, LoadLowering};

/// The allocator whose phases do least but what it is about.
pub fn spill_free() -> Preset {
    Preset::named("spill-free").expect("it exists")
}

/// Presets that together make every choice that there is.
pub fn variants() -> Vec<Preset> {
    let mut variants: Vec<Preset> =
        PRESETS.iter().copied().filter(|preset| HAS_SOLVER || !preset.assignment.needs_solver()).collect();
    let out_of_ssa = Preset::named("out-of-ssa").expect("it exists");
    variants
        .extend(destructions().into_iter().map(|policy| Preset { coalescing: Coalescing::Destruction(policy), ..out_of_ssa }));
    variants.push(Preset { assignment: AssignmentStrategy::GraphColouring, ..out_of_ssa });
    for base in [spill_free(), Preset::named("ch-o3").expect("it exists")] {
        let mut vary = |change: fn(&mut Preset)| {
            let mut preset = base;
            change(&mut preset);
            variants.push(preset);
        };
        vary(|p| p.spill.store_hoist = !p.spill.store_hoist);
        vary(|p| p.spill.memory_coalesce = !p.spill.memory_coalesce);
        vary(|p| p.spill.rematerialise = !p.spill.rematerialise);
        vary(|p| {
            p.spill.load_lower = if p.spill.load_lower == LoadLowering::Off { LoadLowering::Counted } else { LoadLowering::Off }
        });
        vary(|p| p.spill.load_lower = LoadLowering::Weighted);
        vary(|p| {
            let assign = &mut dominance(p).assign;
            assign.pins = if assign.pins == PinPolicy::Avoid { PinPolicy::Repair } else { PinPolicy::Avoid };
        });
        vary(|p| {
            p.swap = SwapPolicy::Exchange;
            p.spare_jumps = !p.spare_jumps;
        });
        vary(|p| p.swap = if p.swap == SwapPolicy::Xor { SwapPolicy::Auto } else { SwapPolicy::Xor });
        vary(|p| dominance(p).spilling = Choice::Farthest(Entry::Nearest));
        vary(|p| dominance(p).spilling = Choice::Farthest(Entry::Predecessors));
        vary(|p| {
            dominance(p).spilling = Choice::Farthest(Entry::Predecessors);
            p.spill.rematerialise = !p.spill.rematerialise;
            p.spill.fold = !p.spill.fold;
        });
        vary(|p| dominance(p).coalesce(RegisterCoalescing::Nothing));
        vary(|p| dominance(p).coalesce(RegisterCoalescing::Punctual));
        vary(|p| {
            dominance(p).assign.pins = PinPolicy::Permute;
            dominance(p).coalesce(RegisterCoalescing::Units);
            p.spare_jumps = !p.spare_jumps;
        });
        vary(|p| dominance(p).coalesce(RegisterCoalescing::Chunks));
        vary(|p| {
            dominance(p).assign.split_ties = true;
            dominance(p).assign.split_arguments = true;
            dominance(p).coalesce(RegisterCoalescing::Chunks);
        });
        vary(|p| {
            dominance(p).spilling = Choice::Farthest(Entry::Predecessors);
            dominance(p).coalesce(RegisterCoalescing::Chunks);
        });
        vary(|p| dominance(p).spilling = Choice::Priced);
        vary(|p| {
            dominance(p).spilling = Choice::Priced;
            dominance(p).coalesce(RegisterCoalescing::Chunks);
            p.spill.rematerialise = !p.spill.rematerialise;
        });
        vary(|p| {
            dominance(p).spilling = Choice::Priced;
            p.spill.effort = Effort::Most;
            p.forms = !p.forms;
            p.spare_jumps = !p.spare_jumps;
            p.sink = !p.sink;
            p.delay = !p.delay;
            p.merge_copies = !p.merge_copies;
            p.spill.weigh_size = !p.spill.weigh_size;
            p.spill.read_in_place = !p.spill.read_in_place;
        });
        vary(|p| {
            dominance(p).spilling = Choice::Priced;
            p.spill.effort = Effort::Least;
            p.delay = !p.delay;
        });
        vary(|p| dominance(p).spilling = Choice::Everything);
        vary(|p| p.coalescing = Coalescing::Value);
        vary(|p| {
            p.coalescing = Coalescing::Value;
            dominance(p).spilling = Choice::Farthest(Entry::Predecessors);
        });
        vary(|p| {
            p.coalescing = Coalescing::Value;
            dominance(p).spilling = Choice::Priced;
        });
        vary(|p| {
            p.coalescing = Coalescing::Value;
            dominance(p).spilling = Choice::Everything;
        });
        vary(|p| {
            p.coalescing = Coalescing::Value;
            dominance(p).elimination = Elimination::OnDemand;
        });
        vary(|p| dominance(p).elimination = Elimination::SpareRegister);
        vary(|p| dominance(p).elimination = Elimination::OnDemand);
    }
    variants
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

fn dominance(preset: &mut Preset) -> &mut DominanceOrder {
    preset.assignment.dominance_order_mut().expect("it is SSA-based")
}
