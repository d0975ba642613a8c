//! Slots for spilled values: one a φ-web (frugality), shared by webs that are never in memory at the same time.

use crate::analysis::{Liveness, Order};
use crate::cssa::{Conventional, Web};
use crate::machine::{Block, Function, Inst, Point, Slot, SlotData, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use std::collections::BTreeMap;

/// Where spilled values live.
pub(super) struct Plan {
    pub(super) slots: PrimaryMap<Slot, SlotData>,
    pub(super) slot_of: SecondaryMap<Value, PackedOption<Slot>>,
    /// Spilled values that are computed again instead, with the imported instruction that does.
    pub(super) again: SecondaryMap<Value, PackedOption<Inst>>,
    /// Values in registers that are stored for φs in memory, by the point where that happens, in program order.
    pub(super) phi_stores: Vec<(Point, Value, Slot)>,
}

/// The stretch of the program, in one linear order of its points, over which a web's memory is needed.
#[derive(Clone, Copy)]
struct Extent {
    first: u32,
    last: u32,
    slot: SlotData,
}

/// Assigns slots to the chosen values.
pub(super) fn assign(
    conventional: &Conventional,
    order: &Order,
    liveness: &Liveness,
    chosen: &SecondaryMap<Value, bool>,
    mut again: SecondaryMap<Value, PackedOption<Inst>>,
) -> Plan {
    let function = &conventional.function;
    let mut spilled = chosen.clone();
    for value in function.values.keys() {
        if !chosen[value] {
            again[value] = None.into();
        } else if again[value].is_some() {
            spilled[value] = false;
        }
    }
    let spilled = &spilled;
    let homes = Homes::new(conventional, spilled);
    let extents = extents(function, order, liveness, spilled, &homes);
    let (slots, slot_of_home) = colour(&extents);
    let slot = |value: Value| slot_of_home[homes.of[value].0.expect("a spilled value has a home") as usize];
    let mut slot_of = SecondaryMap::new();
    for value in function.values.keys().filter(|&v| spilled[v]) {
        slot_of[value] = slot(value).into();
    }
    let mut phi_stores: Vec<(Point, Value, Slot)> =
        stored_arguments(function, spilled).map(|(point, value, def)| (point, value, slot(def))).collect();
    phi_stores.sort_by_key(|&(point, value, slot)| (point, value, slot));
    Plan { slots, slot_of, again, phi_stores }
}

/// The arguments in registers of φs in memory: (where they are stored, argument, definition).
fn stored_arguments(function: &Function, spilled: &SecondaryMap<Value, bool>) -> impl Iterator<Item = (Point, Value, Value)> {
    let phis = function.blocks.iter().flat_map(|(block, data)| data.phis.iter().map(move |phi| (block, data, phi)));
    let stored = phis.filter(|(.., phi)| spilled[phi.def]).flat_map(move |(block, data, phi)| {
        let args = phi.args.iter().zip(&data.preds);
        args.filter_map(move |(arg, &pred)| Some((function.departure(pred, block), arg.value.expand()?, phi.def)))
    });
    stored.filter(|&(_, value, _)| !spilled[value])
}

/// Groups of values that share memory: webs, and single values.
struct Homes {
    of: SecondaryMap<Value, HomeNumber>,
    slots: Vec<SlotData>,
}

/// The number of a home, if there is one.
#[derive(Clone, Copy, Default)]
struct HomeNumber(Option<u32>);

impl Homes {
    /// A slot is as large as the widest value of its web, spilled or not: others are stored to it for φs, or loaded from it.
    fn new(conventional: &Conventional, spilled: &SecondaryMap<Value, bool>) -> Self {
        let function = &conventional.function;
        let mut of_web: SecondaryMap<Web, HomeNumber> = SecondaryMap::new();
        let mut homes = Homes { of: SecondaryMap::new(), slots: Vec::new() };
        for value in function.values.keys().filter(|&v| spilled[v]) {
            let web = conventional.webs[value].expand();
            let known = web.and_then(|web| of_web[web].0);
            let home = HomeNumber(known.or(Some(homes.slots.len() as u32)));
            if known.is_none() {
                homes.slots.push(SlotData { size: 0, align: 1 });
            }
            if let Some(web) = web {
                of_web[web] = home;
            }
            homes.of[value] = home;
            homes.widen(function, home, value);
        }
        for value in function.values.keys() {
            if let Some(web) = conventional.webs[value].expand() {
                homes.widen(function, of_web[web], value);
            }
        }
        homes
    }

    fn widen(&mut self, function: &Function, home: HomeNumber, value: Value) {
        let class = &function.file.classes[function.values[value].class];
        if let Some(home) = home.0 {
            let slot = &mut self.slots[home as usize];
            slot.size = slot.size.max(class.slot_size);
            slot.align = slot.align.max(class.slot_align);
        }
    }
}

/// The extent of each home: it covers the live ranges of its values, and where arguments are stored for φs.
fn extents(
    function: &Function,
    order: &Order,
    liveness: &Liveness,
    spilled: &SecondaryMap<Value, bool>,
    homes: &Homes,
) -> Vec<Extent> {
    let mut extents: Vec<Extent> = homes.slots.iter().map(|&slot| Extent { first: u32::MAX, last: 0, slot }).collect();
    let mut starts: SecondaryMap<Block, u32> = SecondaryMap::new();
    let mut start = 0;
    for &block in order.blocks() {
        starts[block] = start;
        start += function.blocks[block].insts.len() as u32 + 2;
    }
    let at = |point: Point| starts[point.block] + point.index;
    let mut cover = |value: Value, position: u32| {
        if let Some(home) = homes.of[value].0 {
            let extent = &mut extents[home as usize];
            extent.first = extent.first.min(position);
            extent.last = extent.last.max(position);
        }
    };
    for (block, data) in &function.blocks {
        let end = Point { block, index: data.insts.len() as u32 + 1 };
        for &value in liveness.live_in(block) {
            cover(value, at(Point { block, index: 0 }));
        }
        for &value in liveness.live_out(block) {
            cover(value, at(end));
        }
        for phi in &data.phis {
            cover(phi.def, at(Point { block, index: 0 }));
        }
        for (index, inst) in function.block_insts(block).enumerate() {
            for operand in function.operands(inst) {
                cover(operand.value, at(Point { block, index: index as u32 + 1 }));
            }
        }
    }
    for (point, _, def) in stored_arguments(function, spilled) {
        cover(def, at(point));
        cover(def, at(Point { index: function.blocks[point.block].insts.len() as u32 + 1, ..point }));
    }
    extents
}

/// Colours the homes' interval graph in the order of their first points.
fn colour(extents: &[Extent]) -> (PrimaryMap<Slot, SlotData>, Vec<Slot>) {
    let mut by_first: Vec<usize> = (0..extents.len()).collect();
    by_first.sort_by_key(|&home| (extents[home].first, home));
    let mut slots: PrimaryMap<Slot, SlotData> = PrimaryMap::new();
    let mut slot_of_home = vec![Slot::from_u32(0); extents.len()];
    // For each size and alignment, the slots of it by the last point at which they are taken.
    let mut taken: BTreeMap<(u32, u32), BTreeMap<(u32, Slot), ()>> = BTreeMap::new();
    for home in by_first {
        let Extent { first, last, slot } = extents[home];
        let pool = taken.entry((slot.size, slot.align)).or_default();
        let free = pool.first_key_value().map(|(&key, ())| key).filter(|&(end, _)| end < first);
        let number = match free {
            Some(key) => {
                pool.remove(&key);
                key.1
            }
            None => slots.push(slot),
        };
        pool.insert((last, number), ());
        slot_of_home[home] = number;
    }
    (slots, slot_of_home)
}
