//! Slots for spilled values: one a φ-web (frugality), shared by webs that are never in memory at the same time.

use super::Spiller;
use super::choose::Chosen;
use crate::allocate::cssa::{Conventional, Web};
use crate::analysis::{Liveness, Order};
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
    /// Values in registers that are stored behind their definitions for φs in memory.
    pub(super) hoisted: SecondaryMap<Value, PackedOption<Slot>>,
    /// How many fewer stores that makes.
    pub(super) hoisted_stores: u64,
}

/// The stretch of the program, in one linear order of its points, over which a web's memory is needed.
#[derive(Clone, Copy)]
struct Extent {
    first: u32,
    last: u32,
    slot: SlotData,
}

/// Assigns slots to the chosen values.
pub(super) fn assign(spiller: &Spiller, chosen: &Chosen) -> Plan {
    let Spiller { conventional, order, liveness, policy, outlook, .. } = spiller;
    let function = &conventional.function;
    let mut again: SecondaryMap<Value, PackedOption<Inst>> = SecondaryMap::new();
    let mut spilled = chosen.spilled.clone();
    for value in function.values.keys().filter(|&value| chosen.again[value]) {
        again[value] = spiller.constants[value];
        spilled[value] = false;
    }
    let spilled = &spilled;
    let mut homes = Homes::new(conventional, spilled, outlook.frugal);
    let mut stores: Vec<(Point, Value, Value)> = stored_arguments(function, spilled).collect();
    let at_ends = stores.len();
    let hoisted: Vec<Value> = if policy.store_hoist && outlook.frugal { hoistable(spiller, &stores) } else { Vec::new() };
    for &(_, value, def) in stores.iter().filter(|(_, value, _)| hoisted.binary_search(value).is_ok()) {
        homes.of[value] = homes.of[def];
    }
    stores.retain(|(_, value, _)| hoisted.binary_search(value).is_err());
    let extents = extents(function, order, liveness, &homes, &written_at_ends(function, spilled, outlook.frugal));
    let (slots, slot_of_home) = colour(&extents, !function.returns_twice);
    let slot = |value: Value| slot_of_home[homes.of[value].0.expect("the value has a home") as usize];
    let slots_of = |values: &mut dyn Iterator<Item = Value>| {
        let mut map: SecondaryMap<Value, PackedOption<Slot>> = SecondaryMap::new();
        values.for_each(|value| map[value] = slot(value).into());
        map
    };
    let slot_of = slots_of(&mut function.values.keys().filter(|&v| spilled[v]));
    let mut phi_stores: Vec<(Point, Value, Slot)> = stores.iter().map(|&(point, value, def)| (point, value, slot(def))).collect();
    phi_stores.sort_by_key(|&(point, value, slot)| (point, value, slot));
    let hoisted_stores = (at_ends - stores.len() - hoisted.len()) as u64;
    Plan { slots, slot_of, again, phi_stores, hoisted: slots_of(&mut hoisted.into_iter()), hoisted_stores }
}

/// The stored arguments that are better stored behind their definitions, ascending: those that would be stored at the end of
/// more than one block, and those that are defined where fewer executions go.
fn hoistable(spiller: &Spiller, stores: &[(Point, Value, Value)]) -> Vec<Value> {
    let function = &spiller.conventional.function;
    let mut defined: SecondaryMap<Value, f64> = SecondaryMap::with_capacity(function.values.len());
    for (block, data) in &function.blocks {
        let insts = function.block_insts(block).flat_map(|inst| function.operands(inst)).filter(|operand| operand.is_def());
        for def in insts.map(|operand| operand.value).chain(data.phis.iter().map(|phi| phi.def)) {
            defined[def] = data.frequency;
        }
    }
    let mut by_value: Vec<(Value, Point)> = stores.iter().map(|&(point, value, _)| (value, point)).collect();
    by_value.sort_unstable();
    let better = |of_one: &&[(Value, Point)]| {
        let [(value, point), rest @ ..] = of_one else { unreachable!("chunks have items") };
        if spiller.held[*value] {
            return false;
        }
        !rest.is_empty() || defined[*value] < function.blocks[point.block].frequency
    };
    by_value.chunk_by(|a, b| a.0 == b.0).filter(better).map(|of_one| of_one[0].0).collect()
}

/// Where φs in memory have their slots written at the ends of blocks: (point, definition).
fn written_at_ends(function: &Function, spilled: &SecondaryMap<Value, bool>, frugal: bool) -> Vec<(Point, Value)> {
    let mut written = Vec::new();
    for (block, data) in &function.blocks {
        for phi in data.phis.iter().filter(|phi| spilled[phi.def]) {
            for (arg, &pred) in phi.args.iter().zip(&data.preds) {
                // In its web's slot already if it is in memory at all.
                if arg.value.expand().is_some_and(|value| !frugal || !spilled[value]) {
                    written.push((function.departure(pred, block), phi.def));
                }
            }
        }
    }
    written
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

/// Groups of values that share memory: webs (or, without frugality, only those on edges that can take no code), and single
/// values.
struct Homes {
    of: SecondaryMap<Value, HomeNumber>,
    slots: Vec<SlotData>,
}

/// The number of a home, if there is one.
#[derive(Clone, Copy, Default)]
struct HomeNumber(Option<u32>);

impl Homes {
    fn new(conventional: &Conventional, spilled: &SecondaryMap<Value, bool>, frugal: bool) -> Self {
        let function = &conventional.function;
        let mut shared: SecondaryMap<Value, bool> = SecondaryMap::with_default(frugal);
        for &value in &conventional.without_code {
            shared[value] = true;
        }
        let widths = web_widths(conventional);
        let mut of_web: SecondaryMap<Web, HomeNumber> = SecondaryMap::new();
        let mut homes = Homes { of: SecondaryMap::new(), slots: Vec::new() };
        for value in function.values.keys().filter(|&v| spilled[v]) {
            let web = conventional.webs[value].expand();
            let known = web.filter(|_| shared[value]).and_then(|web| of_web[web].0);
            let home = HomeNumber(known.or(Some(homes.slots.len() as u32)));
            if known.is_none() {
                homes.slots.push(web.map_or_else(|| function.slot_for(value), |web| widths[web]));
            }
            if let Some(web) = web {
                of_web[web] = home;
            }
            homes.of[value] = home;
        }
        homes
    }
}

/// The slot that each web takes: as large as its widest value asks for, spilled or not, for others are stored to it for φs,
/// or loaded from it.
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

/// The extent of each home: it covers the live ranges of its values, and where arguments are stored for φs.
fn extents(
    function: &Function,
    order: &Order,
    liveness: &Liveness,
    homes: &Homes,
    written_at_ends: &[(Point, Value)],
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
    for &(point, def) in written_at_ends {
        cover(def, at(point));
        cover(def, at(Point { index: function.blocks[point.block].insts.len() as u32 + 1, ..point }));
    }
    extents
}

/// Colours the homes' interval graph in the order of their first points; without sharing, each gets a colour of its own.
fn colour(extents: &[Extent], sharing: bool) -> (PrimaryMap<Slot, SlotData>, Vec<Slot>) {
    let mut by_first: Vec<usize> = (0..extents.len()).collect();
    by_first.sort_by_key(|&home| (extents[home].first, home));
    let mut slots: PrimaryMap<Slot, SlotData> = PrimaryMap::new();
    let mut slot_of_home = vec![Slot::from_u32(0); extents.len()];
    // For each size and alignment, the slots of it by the last point at which they are taken.
    let mut taken: BTreeMap<(u32, u32), BTreeMap<(u32, Slot), ()>> = BTreeMap::new();
    for home in by_first {
        let Extent { first, last, slot } = extents[home];
        let pool = taken.entry((slot.size, slot.align)).or_default();
        let free = pool.first_key_value().map(|(&key, ())| key).filter(|&(end, _)| sharing && end < first);
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
