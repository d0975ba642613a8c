//! All allocators, and each of their options the other way.

use chordal::allocate::allocators::{Elimination, PRESETS, Preset};
use chordal::allocate::assign::PinPolicy;
use chordal::allocate::eliminate::SwapPolicy;
use chordal::allocate::spill::LoadLowering;

/// Presets that together make every choice that there is.
pub fn variants() -> Vec<Preset> {
    let mut variants = PRESETS.to_vec();
    for base in [Preset::default(), Preset::named("ch-o3").expect("it exists")] {
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
        vary(|p| p.assign.pins = if p.assign.pins == PinPolicy::Avoid { PinPolicy::Repair } else { PinPolicy::Avoid });
        vary(|p| p.swap = SwapPolicy::Exchange);
        vary(|p| p.swap = if p.swap == SwapPolicy::Xor { SwapPolicy::Auto } else { SwapPolicy::Xor });
        for elimination in [Elimination::SpareRegister, Elimination::OnDemand] {
            let preset = Preset { elimination, ..base };
            variants.push(preset);
            variants.push(Preset { spill: chordal::allocate::spill::Policy { frugal: false, ..base.spill }, ..preset });
        }
    }
    variants
}
