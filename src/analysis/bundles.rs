//! Edges that can take no code, grouped into bundles.
//!
//! Nothing can move a value on an edge without code, so a value that crosses one in a register is in the same register at
//! both of its ends. Edges that share an end have to agree with each other, too. A *bundle* is a set of edges that are
//! connected by shared ends: the jumps of an interpreter with computed `goto` and the labels that they go to are one bundle,
//! and so are the calls that throw to one landing pad, which leave their blocks in the middle. (LLVM's greedy allocator has
//! edge bundles too, for all edges, since it never puts code on one.)
//!
//! Requires: copies isolate every φ at the end of such an edge from the rest of the program ([`crate::allocate::cssa`]).
//! Ensures: a value that crosses an edge of a bundle can be in one register at both ends of all of the bundle's edges at
//! which it is live.

use super::grouped::Grouped;
use super::{Liveness, Occupancy, Partition, PinLiveness};
use crate::machine::{Block, BlockData, Function, InstFlags, RegClass, RegSet, Value};
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bundle(u32);
entity_impl!(Bundle, "bundle");

/// The values and registers that meet at the ends of a bundle's edges.
#[derive(Default)]
pub struct Meeting {
    /// Values that cross one of the edges, each given by its [representative](Bundles::representative); ascending.
    pub crossing: Vec<Value>,
    /// Values that are live where an edge begins but do not cross; ascending.
    pub beside: Vec<Value>,
    /// Registers that the program itself occupies at some end.
    pub occupied: RegSet,
    /// The classes of the values that the terminators of a block read: each class as often as in the block that reads most
    /// values of it.
    pub read: Vec<RegClass>,
    /// Whether the edges lead to landing pads. If so, `read` and `beside` are empty: unlike values that cross, those that
    /// the calls read or that live on beside them need not be in one register at all of the calls.
    pub at_pads: bool,
}

/// A function's bundles. Their edges leave blocks at the end, or at a call that throws.
pub struct Bundles {
    exits: SecondaryMap<Block, PackedOption<Bundle>>,
    throws: SecondaryMap<Block, PackedOption<Bundle>>,
    entries: SecondaryMap<Block, PackedOption<Bundle>>,
    meetings: PrimaryMap<Bundle, Meeting>,
    /// For each value that is related to others over an edge of a bundle: the one that stands for all of them.
    representative: SecondaryMap<Value, PackedOption<Value>>,
    related: Grouped<Value, Value>,
}

impl Bundles {
    /// No bundles: for allocations in which nothing crosses edges without code in a register.
    pub fn none() -> Self {
        Bundles {
            exits: SecondaryMap::new(),
            throws: SecondaryMap::new(),
            entries: SecondaryMap::new(),
            meetings: PrimaryMap::new(),
            representative: SecondaryMap::new(),
            related: Grouped::new(0, &[]),
        }
    }

    pub fn new(function: &Function, liveness: &Liveness, pins: &PinLiveness) -> Self {
        let edges = edges(function);
        if edges.is_empty() {
            return Self::none();
        }
        let (representative, related) = related(function, liveness, &edges);
        let mut bundles = Bundles { representative, related, ..Self::none() };
        bundles.connect(function, &edges);
        for block in function.blocks.keys() {
            bundles.gather(function, liveness, pins, block);
        }
        for Meeting { crossing, beside, .. } in bundles.meetings.values_mut() {
            for values in [&mut *crossing, &mut *beside] {
                values.sort_unstable();
                values.dedup();
            }
            beside.retain(|value| crossing.binary_search(value).is_err());
        }
        // Where nothing crosses, nothing can be in the way.
        for meeting in bundles.meetings.values_mut().filter(|meeting| meeting.crossing.is_empty()) {
            meeting.beside.clear();
            meeting.read.clear();
        }
        bundles
    }

    /// The bundle of the edges that leave a block at its end.
    pub fn exit(&self, block: Block) -> Option<Bundle> {
        self.exits[block].expand()
    }

    /// The bundle of the edges that leave a block where it [throws](crate::machine::BlockData::throws).
    pub fn throw(&self, block: Block) -> Option<Bundle> {
        self.throws[block].expand()
    }

    /// The bundle of the edges without code that enter a block.
    pub fn entry(&self, block: Block) -> Option<Bundle> {
        self.entries[block].expand()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Bundle, &Meeting)> {
        self.meetings.iter()
    }

    pub fn meeting(&self, bundle: Bundle) -> &Meeting {
        &self.meetings[bundle]
    }

    /// The value that stands for all that share a register with this one where they cross; usually itself.
    pub fn representative(&self, value: Value) -> Value {
        self.representative[value].expand().unwrap_or(value)
    }

    /// The values that are in one register with a value when they cross edges without code, itself included: those that φs
    /// relate to it there, and other names of the same value. Empty if there are no others.
    pub fn related(&self, value: Value) -> &[Value] {
        self.representative[value].expand().map_or(&[], |representative| self.related.get(representative))
    }

    /// Numbers the bundles: the sets of edges that are connected by shared ends.
    fn connect(&mut self, function: &Function, edges: &[Edge]) {
        let mut ends: Partition<End> = Partition::discrete(3 * function.blocks.len());
        for &Edge { from, to, .. } in edges {
            let (exit, entry) = (ends.find(End::left(function, from, to)), ends.find(End::entry(to)));
            if exit != entry {
                ends.attach(exit, entry);
            }
        }
        let mut numbers: SecondaryMap<End, PackedOption<Bundle>> = SecondaryMap::new();
        for &Edge { from, to, .. } in edges {
            let at_pads = function.blocks[to].landing_pad;
            let number = &mut numbers[ends.find(End::entry(to))];
            if number.is_none() {
                *number = self.meetings.push(Meeting { at_pads, ..Meeting::default() }).into();
            }
            let left = if at_pads { &mut self.throws } else { &mut self.exits };
            left[from] = *number;
            self.entries[to] = *number;
        }
    }

    /// Adds the values and registers at the ends of a block to its bundles.
    fn gather(&mut self, function: &Function, liveness: &Liveness, pins: &PinLiveness, block: Block) {
        if let Some(bundle) = self.entry(block) {
            let data = &function.blocks[block];
            let live = liveness.live_in(block).iter().copied().chain(data.phis.iter().map(|phi| phi.def));
            let crossing: Vec<Value> = live.map(|value| self.representative(value)).collect();
            let meeting = &mut self.meetings[bundle];
            meeting.crossing.extend(crossing);
            meeting.occupied |= data.live_in_pins | pins.at(function, function.head(block));
        }
        if let Some(bundle) = self.exit(block) {
            let live: Vec<Value> = liveness.live_out(block).iter().map(|&value| self.representative(value)).collect();
            let (occupied, read) = terminators(function, pins, block);
            let meeting = &mut self.meetings[bundle];
            // Those that cross are removed at the end of `new`.
            meeting.beside.extend(live);
            meeting.occupied |= occupied;
            for class in read.iter().copied() {
                let wanted = read.iter().filter(|&&other| other == class).count();
                let present = meeting.read.iter().filter(|&&other| other == class).count();
                meeting.read.extend(std::iter::repeat_n(class, wanted.saturating_sub(present)));
            }
        }
        if let (Some(bundle), Some(call)) = (self.throw(block), function.blocks[block].throws.expand()) {
            self.meetings[bundle].occupied |= pins.occupancy(function, block, call).all();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct End(u32);
entity_impl!(End);

impl End {
    fn entry(block: Block) -> Self {
        End::new(3 * block.index())
    }

    /// Where `from` is left for `to`: at its end, or at the call that throws.
    fn left(function: &Function, from: Block, to: Block) -> Self {
        End::new(3 * from.index() + if function.blocks[to].landing_pad { 2 } else { 1 })
    }
}

struct Edge {
    from: Block,
    to: Block,
    column: usize,
}

/// The edges that bundles are made of: those that can take no code, but for edges that leave, at its end, a block without
/// terminators: a value that is not yet where it has to meet others would have no instruction in front of which to be moved
/// there.
fn edges(function: &Function) -> Vec<Edge> {
    let edges = function
        .blocks
        .iter()
        .flat_map(|(to, data)| data.preds.iter().enumerate().map(move |(column, &from)| Edge { from, to, column }));
    let mut edges: Vec<Edge> = edges.filter(|e| function.takes_no_code(e.from, e.to)).collect();
    let ends_in_terminators =
        |block: Block| function.block_insts(block).next_back().is_some_and(|i| function.insts[i].is(InstFlags::TERMINATOR));
    edges.retain(|&Edge { from, to, .. }| function.blocks[to].landing_pad || ends_in_terminators(from));
    edges
}

/// Finds the values that φs relate over these edges, and the names of one value at the edges' ends.
///
/// At most one name of a value is live at any point, so names can share a register. Those that never meet would not have to;
/// but this way, a value that crosses takes one register at a bundle, however many names it has.
fn related(
    function: &Function,
    liveness: &Liveness,
    edges: &[Edge],
) -> (SecondaryMap<Value, PackedOption<Value>>, Grouped<Value, Value>) {
    let mut partition: Partition<Value> = Partition::discrete(function.values.len());
    let mut relates: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut relate = |a: Value, b: Value| {
        (relates[a], relates[b]) = (true, true);
        let (a, b) = (partition.find(a), partition.find(b));
        if a != b {
            partition.attach(b, a);
        }
    };
    let (mut left, mut entered): (EntitySet<Block>, EntitySet<Block>) = (EntitySet::new(), EntitySet::new());
    for edge in edges {
        let phis = function.blocks[edge.to].phis.iter();
        phis.filter_map(|phi| Some((phi.def, phi.args[edge.column].expand()?))).for_each(|(def, arg)| relate(def, arg));
        // A value that leaves for a landing pad has the same name there, or goes into a φ.
        let BlockData { landing_pad, phis, .. } = &function.blocks[edge.to];
        let at_exit = if !landing_pad && left.insert(edge.from) { liveness.live_out(edge.from) } else { &[] };
        let (at_entry, joining) =
            if entered.insert(edge.to) { (liveness.live_in(edge.to), &phis[..]) } else { (&[][..], &[][..]) };
        for &name in at_exit.iter().chain(at_entry).chain(joining.iter().map(|phi| &phi.def)) {
            if function.original(name) != name {
                relate(function.original(name), name);
            }
        }
    }
    let mut representative: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut pairs = Vec::new();
    for value in function.values.keys().filter(|&value| relates[value]) {
        let root = partition.find(value);
        representative[value] = root.into();
        pairs.push((root, value));
    }
    (representative, Grouped::new(function.values.len(), &pairs))
}

/// The registers that the program occupies at a block's terminators, and the classes of the values that the terminators
/// read.
fn terminators(function: &Function, pins: &PinLiveness, block: Block) -> (RegSet, Vec<RegClass>) {
    let start = function.before_terminators(block);
    let mut occupied = pins.at(function, start);
    let mut read: Vec<Value> = Vec::new();
    for inst in function.block_insts(block).skip(start.index as usize) {
        let Occupancy { before, after, clobbers } = pins.occupancy(function, block, inst);
        occupied |= before | after | clobbers;
        read.extend(function.operands(inst).iter().map(|operand| operand.value));
    }
    read.sort_unstable();
    read.dedup();
    (occupied, read.iter().map(|&value| function.values[value].class).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::parse;

    fn bundles(text: &str) -> Bundles {
        let function = parse(text).unwrap();
        Bundles::new(&function, &Liveness::new(&function), &PinLiveness::new(&function))
    }

    fn v(index: usize) -> Value {
        Value::new(index)
    }

    #[test]
    fn a_computed_gotos_jumps_and_labels_are_one_bundle() {
        let bundles = bundles(include_str!("../../testdata/functions/computed_goto.txt"));
        let block = Block::new;
        let bundle = bundles.exit(block(0)).expect("the edges from b0 take no code");
        assert_eq!([1, 2].map(|b| bundles.exit(block(b))), [Some(bundle); 2]);
        assert_eq!([0, 1, 2, 3].map(|b| bundles.entry(block(b))), [None, Some(bundle), Some(bundle), None]);
        assert_eq!(bundles.exit(block(3)), None);
        let web = [0, 3, 4, 6, 7].map(v);
        let representative = bundles.representative(v(0));
        assert_eq!(web.map(|value| bundles.representative(value)), [representative; 5]);
        assert_eq!(bundles.related(representative), web);
        assert_eq!((bundles.representative(v(1)), bundles.related(v(1))), (v(1), &[][..]));
        let mut crossing = vec![v(1), representative];
        crossing.sort();
        assert_eq!(bundles.meeting(bundle).crossing, crossing);
        assert_eq!(bundles.meeting(bundle).read.len(), 1, "each jump reads one value");
    }

    #[test]
    fn calls_that_throw_to_one_landing_pad_are_a_bundle() {
        let bundles = bundles(include_str!("../../testdata/functions/landing_pad_phi.txt"));
        let block = Block::new;
        let bundle = bundles.entry(block(2)).expect("two calls throw to it");
        assert_eq!([0, 1, 2].map(|b| bundles.throw(block(b))), [Some(bundle), Some(bundle), None]);
        assert_eq!([0, 1].map(|b| bundles.exit(block(b))), [None; 2]);
        let meeting = bundles.meeting(bundle);
        assert!(meeting.at_pads);
        assert_eq!(meeting.crossing, [bundles.representative(v(2))]);
        assert_eq!(bundles.related(v(2)), [0, 1, 2].map(v));
        let file = parse(include_str!("../../testdata/functions/landing_pad_phi.txt")).unwrap().file;
        let named = |names: &[&str]| names.iter().map(|name| file.by_name(name).unwrap()).collect::<RegSet>();
        assert!(named(&["a", "b", "c", "d"]).is_subset(meeting.occupied), "the calls destroy them");
    }

    /// b0 and b1 throw to b4, b2 and b3 to b5. b0 and b2 both throw to b6 as well, which makes all of it one bundle.
    #[test]
    fn names_of_one_value_meet_in_one_register_wherever_they_are_joined() {
        let bundles = bundles(
            "target tiny
function names
b0: -> b1 b4 b6
  v0:w = op
  op throws
b1: -> b2 b4
  v1:w(of=v0) = op
  op throws
b2: -> b3 b5 b6
  v2:w(of=v0) = op
  op throws
b3: -> b5
  v3:w(of=v0) = op
  op throws
b4: landing-pad
  v4:w(of=v0) = phi b0:v0 b1:v1
  op v4
b5: landing-pad
  v5:w(of=v0) = phi b2:v2 b3:v3
  op v5
b6: landing-pad
",
        );
        let meetings: Vec<&Meeting> = bundles.iter().map(|(_, meeting)| meeting).collect();
        assert_eq!(meetings.len(), 1);
        assert_eq!(meetings[0].crossing, [bundles.representative(v(0))]);
        assert_eq!(bundles.related(v(0)), [0, 1, 2, 3, 4, 5].map(v));
    }
}
