//! Homes: the memory of values. A φ-web has one (frugality [PP09, §3]).

use crate::allocate::ssa::conventional::{Conventional, Web};
use crate::analysis::grouped::of_each;
use crate::machine::{SlotData, Value};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

/// The memory of one value or one web. It holds one value at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Home(u32);
entity_impl!(Home, "home");

/// The home of each value: one for each web and one for each value outside webs. Without frugality, a value in a web shares
/// a home only if it crosses edges without code.
#[derive(Clone, Debug)]
pub struct Homes {
    of: SecondaryMap<Value, PackedOption<Home>>,
    /// The memory that each home takes.
    pub sizes: PrimaryMap<Home, SlotData>,
}

impl Homes {
    /// Gives each of the values a home.
    pub(in crate::allocate::spill) fn new(conventional: &Conventional, in_memory: &EntitySet<Value>, frugal: bool) -> Self {
        let function = &conventional.function;
        let mut shared: SecondaryMap<Value, bool> = SecondaryMap::with_default(frugal);
        for &value in &conventional.without_code {
            shared[value] = true;
        }
        let widths = web_widths(conventional);
        let mut of_web: SecondaryMap<Web, PackedOption<Home>> = SecondaryMap::new();
        let mut homes = Homes { of: of_each(function.values.len()), sizes: PrimaryMap::new() };
        for value in function.values.keys().filter(|&value| in_memory.contains(value)) {
            let web = conventional.webs[value].expand();
            let known = web.filter(|_| shared[value]).and_then(|web| of_web[web].expand());
            let size = || web.map_or_else(|| function.slot_for(value), |web| widths[web]);
            let home = known.unwrap_or_else(|| homes.sizes.push(size()));
            if let Some(web) = web {
                of_web[web] = home.into();
            }
            homes.of[value] = home.into();
        }
        homes
    }

    /// The home of a value, if it has one.
    pub(in crate::allocate::spill) fn of(&self, value: Value) -> Option<Home> {
        self.of[value].expand()
    }

    /// Gives a value the home of another one.
    pub(in crate::allocate::spill) fn share(&mut self, value: Value, with: Value) {
        self.of[value] = self.of[with];
    }
}

/// The memory that each web takes, as much as its widest value needs. Values that are not in memory count as well, because
/// they may be stored to the home for a φ, or loaded from it.
fn web_widths(conventional: &Conventional) -> SecondaryMap<Web, SlotData> {
    let mut widths = SecondaryMap::with_default(SlotData { size: 0, align: 1 });
    for value in conventional.function.values.keys() {
        if let Some(web) = conventional.webs[value].expand() {
            let SlotData { size, align } = conventional.function.slot_for(value);
            let width: &mut SlotData = &mut widths[web];
            *width = SlotData { size: width.size.max(size), align: width.align.max(align) };
        }
    }
    widths
}
