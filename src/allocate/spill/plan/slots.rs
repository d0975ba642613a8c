//! Slots for homes. Homes that are never needed at the same time share one, unless each is to have its own.
//!
//! Relies on: the live ranges of homes are covered by intervals in one linear order of the blocks. Interval graphs are
//! coloured optimally in the order of their first points.

use super::Plan;
use super::homes::Home;
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inst, Point, Slot, SlotData, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use std::collections::BTreeMap;

/// The slots, and the slot of each home.
pub(in crate::allocate::spill) struct Slots {
    pub(in crate::allocate::spill) slots: PrimaryMap<Slot, SlotData>,
    of: SecondaryMap<Home, PackedOption<Slot>>,
    /// For each slot outside the frame, the instruction that loads its content; and for each such instruction, its slot.
    pub(in crate::allocate::spill) given: SecondaryMap<Slot, PackedOption<Inst>>,
    given_by: SecondaryMap<Inst, PackedOption<Slot>>,
}

impl Slots {
    /// The slot of a value, if it has a home.
    pub(in crate::allocate::spill) fn of_value(&self, plan: &Plan, value: Value) -> Option<Slot> {
        plan.homes.of(value).map(|home| self.of[home].expect("every home has a slot"))
    }

    /// The slot that an instruction accesses by its k-th operand.
    pub(in crate::allocate::spill) fn accessed(&self, problem: &Problem, plan: &Plan, inst: Inst, k: usize) -> Slot {
        match problem.read_in_place(inst, k) {
            Some(given) => self.given_by[given].expect("what is read in place has a slot"),
            None => self.of(plan, problem.conventional.function.operands(inst)[k].value),
        }
    }

    /// Makes a slot for each value that is read in place.
    fn give(&mut self, problem: &Problem, plan: &Plan) {
        let function = &problem.conventional.function;
        for &(inst, k) in &plan.folds {
            if let Some(given) = problem.read_in_place(inst, k)
                && self.given_by[given].is_none()
            {
                let slot = self.slots.push(function.slot_for(function.operands(inst)[k].value));
                self.given[slot] = given.into();
                self.given_by[given] = slot.into();
            }
        }
    }
}

/// The interval over which a home is needed, in a linear order of the program's points.
#[derive(Clone, Copy)]
struct Extent {
    first: u32,
    last: u32,
}

/// Assigns slots to a plan's homes. Where a call may return twice, each home has its own, because after the second return
/// the program may read memory that other values have overwritten since.
pub(in crate::allocate::spill) fn assign(problem: &Problem, plan: &Plan) -> Slots {
    let sharing = problem.policy.share_slots && !problem.conventional.function.returns_twice;
    let mut slots = colour(plan, &extents(problem, plan), sharing);
    slots.give(problem, plan);
    slots
}

/// The extent of each home. It covers the live ranges of the home's values, and the ends of the blocks in which φ arguments
/// are stored or moved to it.
fn extents(problem: &Problem, plan: &Plan) -> PrimaryMap<Home, Extent> {
    let function = &problem.conventional.function;
    let mut extents: PrimaryMap<Home, Extent> = plan.homes.sizes.keys().map(|_| Extent { first: u32::MAX, last: 0 }).collect();
    let mut starts: SecondaryMap<Block, u32> = of_each(function.blocks.len());
    let mut start = 0;
    for &block in problem.order.blocks() {
        starts[block] = start;
        start += function.blocks[block].insts.len() as u32 + 2;
    }
    let at = |point: Point| starts[point.block] + point.index;
    let mut cover = |value: Value, position: u32| {
        if let Some(home) = plan.homes.of(value) {
            let extent = &mut extents[home];
            extent.first = extent.first.min(position);
            extent.last = extent.last.max(position);
        }
    };
    for (block, data) in &function.blocks {
        let head = at(Point { block, index: 0 });
        let end = at(Point { block, index: data.insts.len() as u32 + 1 });
        problem.liveness.live_in(block).iter().for_each(|&value| cover(value, head));
        problem.liveness.live_out(block).iter().for_each(|&value| cover(value, end));
        data.phis.iter().for_each(|phi| cover(phi.def, head));
        for (index, inst) in function.block_insts(block).enumerate() {
            let position = at(Point { block, index: index as u32 + 1 });
            function.operands(inst).iter().for_each(|operand| cover(operand.value, position));
        }
    }
    for (point, def) in written_at_ends(function, plan) {
        cover(def, at(point));
        cover(def, at(Point { index: function.blocks[point.block].insts.len() as u32 + 1, ..point }));
    }
    extents
}

/// The points at the ends of blocks where the homes of φs in memory are written, because an argument is not there already:
/// (point, φ).
fn written_at_ends<'a>(function: &'a Function, plan: &'a Plan) -> impl Iterator<Item = (Point, Value)> + 'a {
    let phis = function.blocks.iter().flat_map(|(block, data)| data.phis.iter().map(move |phi| (block, data, phi)));
    phis.filter(|(.., phi)| plan.memory_phis.contains(phi.def)).flat_map(move |(block, data, phi)| {
        let home = plan.homes.of(phi.def);
        let args = phi.args.iter().zip(&data.preds).filter_map(|(arg, &pred)| Some((arg.expand()?, pred)));
        let elsewhere = args.filter(move |&(arg, _)| !plan.in_memory.contains(arg) || plan.homes.of(arg) != home);
        elsewhere.map(move |(_, pred)| (function.departure(pred, block), phi.def))
    })
}

/// Colours the interval graph of homes in the order of their first points. Without sharing, each home gets a slot of its
/// own.
fn colour(plan: &Plan, extents: &PrimaryMap<Home, Extent>, sharing: bool) -> Slots {
    let mut by_first: Vec<Home> = extents.keys().collect();
    by_first.sort_by_key(|&home| (extents[home].first, home));
    let mut slots: PrimaryMap<Slot, SlotData> = PrimaryMap::new();
    let mut of: SecondaryMap<Home, PackedOption<Slot>> = of_each(extents.len());
    // For each size and alignment, the slots of that kind, sorted by the last point at which they are taken.
    let mut taken: BTreeMap<(u32, u32), BTreeMap<(u32, Slot), ()>> = BTreeMap::new();
    for home in by_first {
        let Extent { first, last } = extents[home];
        let size = plan.homes.sizes[home];
        let pool = taken.entry((size.size, size.align)).or_default();
        let free = pool.first_key_value().map(|(&key, ())| key).filter(|&(end, _)| sharing && end < first);
        let slot = match free {
            Some(key) => {
                pool.remove(&key);
                key.1
            }
            None => slots.push(size),
        };
        pool.insert((last, slot), ());
        of[home] = slot.into();
    }
    Slots { slots, of, given: SecondaryMap::new(), given_by: SecondaryMap::new() }
}
