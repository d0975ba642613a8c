//! Tests of `windmill.rs` against the specification of parallel copies, by a simulator that shares only the model with it.

use super::*;
use crate::allocate::eliminate::{SwapPolicy, brisk, sequentialise};
use crate::machine::{RegisterFile, SwapKind, builtin, parse};

/// The content of a location: the first bytes of the content that some location had at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Content {
    of: Option<Location>,
    bytes: u32,
}

/// A fault of an implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// The edit's class does not contain its register.
    Class(Edit),
    /// The edit accesses more than the slot.
    Size(Edit),
    /// The bank cannot swap in this way, or not here.
    Swap(Edit),
    /// The edit writes a register that must not be written even for a while.
    Pinned(Edit),
    /// A target does not hold the content it should.
    Target(LocationTransfer),
    /// A location that is no target has changed.
    Bystander(Location),
}

/// A graph in its surroundings. The first `program_slots` slots are the program's.
struct Case<'a> {
    transfers: &'a [LocationTransfer],
    around: Surroundings<'a>,
    program_slots: usize,
}

impl Case<'_> {
    /// Judges whether these edits implement the graph.
    fn judge(&self, edits: &[Edit], slots: &PrimaryMap<Slot, SlotData>) -> Result<(), Fault> {
        let file = self.around.file;
        let mut machine = Machine::new(file, slots);
        let start = machine.clone();
        let mentioned = |location: Location| self.transfers.iter().any(|t| t.from == location || t.to == location);
        for edit in edits {
            let touchable = |reg: Reg| (self.around.available | self.around.kept).contains(reg) || mentioned(Location::Reg(reg));
            if writes(edit).iter().any(|place| matches!(place, Location::Reg(reg) if !touchable(*reg))) {
                return Err(Fault::Pinned(*edit));
            }
            self.check_swap(edit)?;
            machine.execute(edit)?;
        }
        for transfer in self.transfers {
            let content = machine.content(transfer.to);
            let source = start.content(transfer.from);
            // The target cannot hold more than the source did.
            let wanted = file.classes[transfer.class].slot_size.min(source.bytes);
            if content.of != source.of || content.bytes < wanted {
                return Err(Fault::Target(*transfer));
            }
        }
        let registers =
            (0..file.regs.len()).map(Reg::new).filter(|&reg| !(self.around.available - self.around.kept).contains(reg));
        let places = registers.map(Location::Reg).chain(slots.keys().take(self.program_slots).map(Location::Slot));
        let mut bystanders = places.filter(|&place| self.transfers.iter().all(|transfer| transfer.to != place));
        let changed = bystanders.find(|&place| machine.content(place) != start.content(place));
        changed.map_or(Ok(()), |place| Err(Fault::Bystander(place)))
    }

    fn check_swap(&self, edit: &Edit) -> Result<(), Fault> {
        let Edit::Swap { class, kind, .. } = *edit else { return Ok(()) };
        let possible = match (self.around.file.banks[self.around.file.classes[class].bank].swap, kind) {
            (SwapSupport::Exchange, SwapKind::Exchange) | (SwapSupport::Xor, SwapKind::Xor) => true,
            (SwapSupport::Exchange, SwapKind::Xor) => !self.around.status_live,
            _ => false,
        };
        if possible { Ok(()) } else { Err(Fault::Swap(*edit)) }
    }

    fn implement(&self, scratch: &mut Scratch) -> Implemented {
        implement(self.transfers, &self.around, scratch).unwrap_or_else(|reason| panic!("{reason}: {:?}", self.transfers))
    }
}

/// The number of registers in the largest file under test.
const MOST_REGISTERS: usize = 33;

#[derive(Clone)]
struct Machine<'a> {
    file: &'a RegisterFile,
    slots: &'a PrimaryMap<Slot, SlotData>,
    in_registers: [Content; MOST_REGISTERS],
    in_slots: [Content; 16],
}

impl<'a> Machine<'a> {
    /// Every location holds its own content: registers as much as any of their classes, slots as much as they can.
    fn new(file: &'a RegisterFile, slots: &'a PrimaryMap<Slot, SlotData>) -> Self {
        let nothing = Content { of: None, bytes: 0 };
        let mut machine = Machine { file, slots, in_registers: [nothing; MOST_REGISTERS], in_slots: [nothing; 16] };
        for class in file.classes.values() {
            for &reg in &class.order {
                let held = &mut machine.in_registers[reg.index()];
                *held = Content { of: Some(Location::Reg(reg)), bytes: held.bytes.max(class.slot_size) };
            }
        }
        for (slot, data) in slots {
            machine.in_slots[slot.as_u32() as usize] = Content { of: Some(Location::Slot(slot)), bytes: data.size };
        }
        machine
    }

    fn content(&self, place: Location) -> Content {
        match place {
            Location::Reg(reg) => self.in_registers[reg.index()],
            Location::Slot(slot) => self.in_slots[slot.as_u32() as usize],
        }
    }

    fn execute(&mut self, edit: &Edit) -> Result<(), Fault> {
        let (places, class) = match *edit {
            Edit::Load { to, from, class } => ([(Location::Reg(to), Location::Slot(from)); 2], class),
            Edit::Store { from, to, class } => ([(Location::Slot(to), Location::Reg(from)); 2], class),
            Edit::Move { to, from, class } => ([(Location::Reg(to), Location::Reg(from)); 2], class),
            Edit::Swap { a, b, class, .. } => {
                ([(a, b), (b, a)].map(|(to, from)| (Location::Reg(to), Location::Reg(from))), class)
            }
            Edit::Rematerialise { .. } | Edit::StoreConstant { .. } | Edit::Perform { .. } => {
                unreachable!("nothing is computed here")
            }
        };
        let class = &self.file.classes[class];
        for place in [places[0].0, places[0].1] {
            match place {
                Location::Reg(reg) if !class.regs.contains(reg) => return Err(Fault::Class(*edit)),
                Location::Slot(slot) if self.slots[slot].size < class.slot_size => return Err(Fault::Size(*edit)),
                Location::Slot(slot) if self.slots[slot].align < class.slot_align => return Err(Fault::Size(*edit)),
                _ => {}
            }
        }
        let carried = places.map(|(to, from)| (to, self.content(from)));
        for (to, content) in carried {
            let content = Content { bytes: content.bytes.min(class.slot_size), ..content };
            match to {
                Location::Reg(reg) => self.in_registers[reg.index()] = content,
                Location::Slot(slot) => self.in_slots[slot.as_u32() as usize] = content,
            }
        }
        Ok(())
    }
}

fn reads(edit: &Edit) -> Vec<Location> {
    match *edit {
        Edit::Load { from, .. } => vec![Location::Slot(from)],
        Edit::Store { from, .. } | Edit::Move { from, .. } => vec![Location::Reg(from)],
        Edit::Swap { a, b, .. } => vec![Location::Reg(a), Location::Reg(b)],
        Edit::Rematerialise { .. } | Edit::StoreConstant { .. } | Edit::Perform { .. } => vec![],
    }
}

fn writes(edit: &Edit) -> Vec<Location> {
    match *edit {
        Edit::Load { to, .. } | Edit::Move { to, .. } | Edit::Rematerialise { to, .. } => vec![Location::Reg(to)],
        Edit::Store { to, .. } => vec![Location::Slot(to)],
        Edit::Swap { a, b, .. } => vec![Location::Reg(a), Location::Reg(b)],
        Edit::StoreConstant { .. } | Edit::Perform { .. } => unreachable!("nothing is computed here"),
    }
}

/// For each location, the one that it gets its content from: registers first, then slots.
type Graphs = Vec<Vec<Option<usize>>>;

const SLOTS: usize = 2;

/// All graphs of this many locations.
fn all_graphs(locations: usize) -> impl Iterator<Item = Vec<Option<usize>>> {
    let base = locations + 1;
    let digit = move |code: usize, index: usize| code / base.pow(index as u32) % base;
    (0..base.pow(locations as u32)).map(move |code| {
        let sources = (0..locations).map(|index| digit(code, index).checked_sub(1));
        sources.collect()
    })
}

/// At least one graph of each set that differ only in the names of registers, for `n` registers and the slots.
fn representatives(n: usize) -> impl Iterator<Item = Vec<Option<usize>>> {
    let slot_sources = all_graphs_from(SLOTS, n + SLOTS);
    register_representatives(n).into_iter().flat_map(move |registers| {
        let whole = |slots: &Vec<Option<usize>>| registers.iter().chain(slots).copied().collect();
        slot_sources.iter().map(whole).collect::<Vec<_>>()
    })
}

/// All ways in which `targets` locations get their contents from `sources` locations, or none.
fn all_graphs_from(targets: usize, sources: usize) -> Graphs {
    let base = sources + 1;
    let graph = |code: usize| (0..targets).map(|index| (code / base.pow(index as u32) % base).checked_sub(1)).collect();
    (0..base.pow(targets as u32)).map(graph).collect()
}

/// Of all ways in which `n` registers get their contents from each other, from slots or not at all, those that no renaming
/// of registers makes lexicographically smaller.
fn register_representatives(n: usize) -> Graphs {
    let renamings = permutations(n);
    let mut found = Graphs::new();
    let mut represented = 0;
    for graph in all_graphs_from(n, n + SLOTS) {
        // Registers come last in the order, so that the smallest graph has those without register sources first.
        let rank = |source: Option<usize>| source.map_or(0, |s| if s < n { SLOTS + 1 + s } else { s - n + 1 });
        let kind = |source: &Option<usize>| rank(*source).min(SLOTS + 1);
        if !graph.is_sorted_by_key(kind) {
            continue;
        }
        let original: Vec<usize> = graph.iter().map(|&source| rank(source)).collect();
        let renamed = |names: &Vec<usize>| {
            let mut renamed = vec![0; n];
            for (index, &source) in graph.iter().enumerate() {
                renamed[names[index]] = rank(source.map(|s| if s < n { names[s] } else { s }));
            }
            renamed
        };
        let mut symmetries = 0;
        let smallest = renamings.iter().all(|names| {
            let other = renamed(names);
            symmetries += usize::from(other == original);
            other >= original
        });
        if smallest {
            represented += renamings.len() / symmetries;
            found.push(graph);
        }
    }
    // The orbits of the representatives cover everything.
    assert_eq!(represented, (n + SLOTS + 1).pow(n as u32));
    found
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..n {
        let longer = |p: &Vec<usize>| (0..n).filter(|k| !p.contains(k)).map(|k| [&p[..], &[k]].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Visits all spartan graphs of `n` registers and the slots [PP09, §3]: each location is read at most once, and a slot that
/// is read and written is so by one edge.
fn spartan_graphs(n: usize, visit: &mut impl FnMut(&[Option<usize>])) {
    fn extend(n: usize, graph: &mut Vec<Option<usize>>, visit: &mut impl FnMut(&[Option<usize>])) {
        let to = graph.len();
        if to == n + SLOTS {
            visit(graph);
            return;
        }
        for source in (0..n + SLOTS).map(Some).chain([None]) {
            let read_twice = source.is_some() && graph.contains(&source);
            let into_other_slot = to >= n && source.is_some_and(|s| s >= n && s != to);
            let into_read_slot = to >= n && source.is_some() && source != Some(to) && graph.contains(&Some(to));
            if !(read_twice || into_other_slot || into_read_slot) {
                graph.push(source);
                extend(n, graph, visit);
                graph.pop();
            }
        }
    }
    extend(n, &mut Vec::new(), visit);
}

/// The role of registers that are no target of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Others {
    /// They hold values that stay where they are.
    Kept,
    /// They hold values that stay where they are, and one more register is free.
    KeptAndOneFree,
    /// Sources hold values that are not needed elsewhere; the others are the program's.
    SourcesDie,
}

const OTHERS: [Others; 3] = [Others::Kept, Others::KeptAndOneFree, Others::SourcesDie];

/// The registers and slots of the graphs under test.
struct Field {
    file: RegisterFile,
    registers: Vec<Reg>,
    class: RegClass,
    slots: PrimaryMap<Slot, SlotData>,
    policy: SwapPolicy,
}

impl Field {
    /// Graphs of `n` registers of a class.
    fn new(file: &str, class: &str, n: usize) -> Self {
        let file = builtin(file).expect("the file exists");
        let (class, info) = file.classes.iter().find(|(_, c)| c.name == class).expect("the class exists");
        let registers = info.order[..n].to_vec();
        let slots = (0..SLOTS).map(|_| SlotData { size: 16, align: 16 }).collect();
        Field { registers, class, slots, policy: SwapPolicy::Auto, file }
    }

    /// The register after those of the graphs.
    fn spare(&self) -> Reg {
        self.file.classes[self.class].order[self.registers.len()]
    }

    fn scratch(&self) -> Scratch {
        Scratch::new(self.slots.clone(), self.file.classes.keys())
    }

    fn transfers(&self, graph: &[Option<usize>]) -> Vec<LocationTransfer> {
        let n = self.registers.len();
        let location =
            |k: usize| if k < n { Location::Reg(self.registers[k]) } else { Location::Slot(Slot::from_u32((k - n) as u32)) };
        let edges = graph.iter().enumerate().filter_map(|(to, from)| Some((to, (*from)?)));
        edges.map(|(to, from)| LocationTransfer { from: location(from), to: location(to), class: self.class }).collect()
    }

    fn case<'a>(&'a self, transfers: &'a [LocationTransfer], others: Others) -> Case<'a> {
        let targets: RegSet = transfers.iter().filter_map(|transfer| register(transfer.to)).collect();
        let sources: RegSet = transfers.iter().filter_map(|transfer| register(transfer.from)).collect();
        let rest: RegSet = self.registers.iter().copied().filter(|reg| !targets.contains(*reg)).collect();
        let (kept, available) = match others {
            Others::Kept => (rest, RegSet::EMPTY),
            Others::KeptAndOneFree => (rest, RegSet::only(self.spare())),
            Others::SourcesDie => (RegSet::EMPTY, sources - targets),
        };
        let around = Surroundings { file: &self.file, kept, available, status_live: false, policy: self.policy };
        Case { transfers, around, program_slots: SLOTS }
    }

    /// Implements a graph and judges the result.
    fn examine(&self, graph: &[Option<usize>], others: Others) {
        let transfers = self.transfers(graph);
        let case = self.case(&transfers, others);
        // There is no solution if the program has all registers.
        if others == Others::SourcesDie && transfers.iter().all(|t| register(t.from).or(register(t.to)).is_none()) {
            return;
        }
        let mut scratch = self.scratch();
        let done = case.implement(&mut scratch);
        let verdict = case.judge(&done.edits, scratch.slots());
        assert_eq!(verdict, Ok(()), "{transfers:?} {others:?} became {:?}", done.edits);
        assert!(others != Others::KeptAndOneFree || done.spills == 0, "{transfers:?} became {:?}", done.edits);
        assert!(scratch.slots().len() <= SLOTS + 2, "{transfers:?} {others:?} became {:?}", done.edits);
    }
}

#[test]
fn implements_every_parallel_copy_of_up_to_four_registers_and_two_slots() {
    for n in 0..=4 {
        let field = Field::new("wide", "h", n);
        for graph in all_graphs(n + SLOTS) {
            for others in OTHERS {
                if n > 0 || others == Others::KeptAndOneFree {
                    field.examine(&graph, others);
                }
            }
        }
    }
}

#[test]
fn implements_every_parallel_copy_of_five_and_six_registers_and_two_slots() {
    for n in [5, 6] {
        let field = Field::new("wide", "h", n);
        for graph in representatives(n) {
            for others in OTHERS {
                field.examine(&graph, others);
            }
        }
    }
}

#[test]
fn implements_every_spartan_graph_of_five_and_six_registers_and_two_slots() {
    for n in [5, 6] {
        let field = Field::new("wide", "h", n);
        let mut count = 0;
        spartan_graphs(n, &mut |graph| {
            field.examine(graph, OTHERS[count % OTHERS.len()]);
            count += 1;
        });
        assert!(count > 40_000);
    }
}

#[test]
fn implements_register_cycles_without_swaps() {
    // This bank has no swaps; without a free register, cycles are broken with memory.
    let field = Field::new("tiny", "f", 4);
    for graph in all_graphs(4 + SLOTS) {
        field.examine(&graph, Others::KeptAndOneFree);
    }
    for graph in representatives(4) {
        field.examine(&graph, Others::Kept);
        field.examine(&graph, Others::SourcesDie);
    }
}

#[test]
fn implements_graphs_under_every_swap_policy_and_in_every_kind_of_bank() {
    for (file, class, n) in [("wide", "h", 4), ("wide", "n", 3), ("wide", "x", 4)] {
        for policy in [SwapPolicy::Auto, SwapPolicy::Exchange, SwapPolicy::Xor] {
            let field = Field { policy, ..Field::new(file, class, n) };
            for graph in representatives(n) {
                for others in OTHERS {
                    field.examine(&graph, others);
                }
            }
        }
    }
}

/// One register and two slots, as in [PP09, Figure 2(c)].
#[test]
fn a_transfer_between_slots_without_a_free_register_takes_four_edits() {
    let field = Field::new("wide", "h", 1);
    let wide = field.file.classes.keys().next().expect("a class");
    let transfers = field.transfers(&[None, None, Some(1)]);
    let [from, to] = [0, 1].map(Slot::from_u32);
    let reg = field.registers[0];
    let class = field.class;

    let mut scratch = field.scratch();
    let done = field.case(&transfers, Others::Kept).implement(&mut scratch);
    let aside = scratch.slots().last().expect("a slot").0;
    let edits = vec![
        Edit::Store { from: reg, to: aside, class: wide },
        Edit::Load { to: reg, from, class },
        Edit::Store { from: reg, to, class },
        Edit::Load { to: reg, from: aside, class: wide },
    ];
    assert_eq!(done, Implemented { edits, spills: 1 });
    assert_eq!(scratch.slots()[aside], SlotData { size: 8, align: 8 });

    let reg = field.spare();
    let mut scratch = field.scratch();
    let done = field.case(&transfers, Others::KeptAndOneFree).implement(&mut scratch);
    let edits = vec![Edit::Load { to: reg, from, class }, Edit::Store { from: reg, to, class }];
    assert_eq!(done, Implemented { edits, spills: 0 });
    assert_eq!(scratch.slots().len(), SLOTS);
}

#[test]
fn consecutive_transfers_between_slots_lend_one_register() {
    let mut field = Field::new("wide", "h", 2);
    let slots: Vec<Slot> = (0..6).map(Slot::from_u32).collect();
    field.slots = slots.iter().map(|_| SlotData { size: 16, align: 16 }).collect();
    let class = field.class;
    let transfer =
        |from: usize, to: usize| LocationTransfer { from: Location::Slot(slots[from]), to: Location::Slot(slots[to]), class };
    // A chain, a cycle, and an edge that hangs on the cycle.
    let transfers = [transfer(0, 1), transfer(1, 2), transfer(3, 4), transfer(4, 3), transfer(4, 5)];
    let mut scratch = field.scratch();
    let case = Case { program_slots: slots.len(), ..field.case(&transfers, Others::Kept) };
    let done = case.implement(&mut scratch);
    assert_eq!(case.judge(&done.edits, scratch.slots()), Ok(()));
    assert_eq!(done.spills, 1);
    // Two edits for each transfer, two for the lent register, two for a slot parked in memory.
    assert_eq!(done.edits.len(), 2 * transfers.len() + 2 + 2);
}

#[test]
fn graphs_of_a_function_share_scratch_slots() {
    let field = Field::new("wide", "n", 1);
    let transfers = field.transfers(&[None, None, Some(1)]);
    let mut scratch = Scratch::new(field.slots.clone(), [field.class]);
    field.case(&transfers, Others::Kept).implement(&mut scratch);
    let aside = scratch.slots().last().expect("a slot").0;
    assert_eq!(scratch.slots()[aside], SlotData { size: 1, align: 1 });
    field.case(&transfers, Others::Kept).implement(&mut scratch);
    assert_eq!(scratch.slots().len(), SLOTS + 1);
    // A slot of another size will not do: x87 has another form for it.
    let other = Field::new("wide", "x", 1);
    let transfers = other.transfers(&[None, None, Some(1)]);
    scratch.classes.push(other.class);
    other.case(&transfers, Others::Kept).implement(&mut scratch);
    assert_eq!(scratch.slots().len(), SLOTS + 2);
}

#[test]
fn a_transfer_that_finds_no_register_is_an_error() {
    let field = Field::new("wide", "h", 1);
    let transfers = field.transfers(&[None, None, Some(1)]);
    let case = field.case(&transfers, Others::SourcesDie);
    let reason = implement(&transfers, &case.around, &mut field.scratch()).expect_err("the program has all registers");
    assert_eq!(reason, NoRegister("h".into()));
}

#[test]
fn registers_are_lent_only_if_none_can_be_free() {
    let field = Field::new("wide", "h", 3);
    let spills = |graph: [Option<usize>; 5], others: Others| {
        let transfers = field.transfers(&graph);
        let mut scratch = field.scratch();
        let done = field.case(&transfers, others).implement(&mut scratch);
        assert_eq!(field.case(&transfers, others).judge(&done.edits, scratch.slots()), Ok(()));
        done.spills
    };
    let [r2, s0, s1] = [2, 3, 4].map(Some);
    // A register that is to be written is free before.
    assert_eq!(spills([r2, None, None, s1, None], Others::Kept), 0);
    // The edge that makes the transfer ready comes before the one that takes the free register.
    assert_eq!(spills([s1, r2, None, None, s0], Others::Kept), 0);
    // The only register holds another value, before the transfer or after it.
    assert_eq!(spills([s1, None, None, None, s0], Others::SourcesDie), 1);
    assert_eq!(spills([None, None, None, s1, r2], Others::SourcesDie), 1);
    // The register holds the content that is transferred.
    assert_eq!(spills([s1, r2, None, r2, s0], Others::SourcesDie), 0);
    // The source dies when it is stored.
    assert_eq!(spills([None, None, None, r2, None], Others::SourcesDie), 0);
}

#[test]
fn a_tree_that_hangs_on_a_cycle_breaks_it() {
    let field = Field::new("wide", "h", 3);
    let transfers = field.transfers(&[Some(3), Some(3), None, Some(0), None]);
    let case = field.case(&transfers, Others::Kept);
    let done = case.implement(&mut field.scratch());
    assert_eq!(case.judge(&done.edits, &field.slots), Ok(()));
    assert_eq!((done.edits.len(), done.spills), (3, 0));
}

/// The three location transfer graphs of [PP09, Figure 6], which one column of one φ-matrix gives: two windmills, whose nodes
/// have several edges out, and a cycle. (The figure is lost. The text says this much of it; the edges are ours.)
#[test]
fn two_windmills_and_a_cycle_come_from_one_matrix() {
    let mut field = Field::new("wide", "h", 6);
    field.slots = (0..4).map(|_| SlotData { size: 16, align: 16 }).collect();
    let [l1, l2, l3, l4, r5, r6] = [0, 1, 2, 3, 4, 5].map(|k| Location::Reg(field.registers[k]));
    let [m0, m1, m2, m3] = [0, 1, 2, 3].map(|k| Location::Slot(Slot::from_u32(k)));
    let first = [(r5, r5), (r5, r6), (r5, m0)];
    let second = [(m1, m2), (m2, m1), (m2, m3)];
    let third = [(l1, l2), (l2, l3), (l3, l4), (l4, l1)];
    let matrix = [&first[..], &second, &third].concat();
    let transfers: Vec<_> = matrix.iter().map(|&(from, to)| LocationTransfer { from, to, class: field.class }).collect();

    let reads = |edges: &[(Location, Location)], place| edges.iter().filter(|&&(from, _)| from == place).count();
    let widest = |edges: &[(Location, Location)]| edges.iter().map(|&(from, _)| reads(edges, from)).max();
    assert_eq!([&first[..], &second, &third].map(widest), [Some(3), Some(2), Some(1)], "the third alone is spartan");
    let mut graph = Graph::new(&transfers);
    let mut trees = 0;
    while let Some(&place) = graph.ready().first() {
        graph.take(place);
        trees += 1;
    }
    let cycles: Vec<usize> = std::iter::from_fn(|| graph.next_cycle()).map(|cycle| cycle.len()).collect();
    assert_eq!((trees, cycles), (3, vec![4, 2]), "the blades are r6, m0 and m3; r5 to r5 takes no code");

    for (others, spills) in [(Others::KeptAndOneFree, 0), (Others::Kept, 1)] {
        let case = Case { program_slots: field.slots.len(), ..field.case(&transfers, others) };
        let mut scratch = field.scratch();
        let done = case.implement(&mut scratch);
        assert_eq!(case.judge(&done.edits, scratch.slots()), Ok(()), "{:?}", done.edits);
        assert_eq!(done.spills, spills, "{others:?}: {:?}", done.edits);
    }
    let case = field.case(&transfers[6..], Others::Kept);
    let done = case.implement(&mut field.scratch());
    assert!(done.edits.iter().all(|edit| matches!(edit, Edit::Swap { .. })) && done.edits.len() == 3, "{:?}", done.edits);
}

/// One register and two slots [PP09, Figure 2(c)]: brisk's code is the figure's, as is the windmill's.
#[test]
fn brisk_spills_one_register_before_and_reloads_it_after() {
    let field = Field::new("wide", "h", 1);
    let transfers = field.transfers(&[None, None, Some(1)]);
    let case = field.case(&transfers, Others::Kept);
    let done = brisk::implement(&transfers, &case.around, &mut field.scratch()).expect("a register can be lent");
    assert_eq!(done, case.implement(&mut field.scratch()));
    assert_eq!((done.edits.len(), done.spills), (4, 1));
}

/// Where a slot that is overwritten has to be loaded from before, brisk moves memory when all registers have been written.
#[test]
fn brisk_moves_memory_at_one_point_only() {
    let field = Field::new("wide", "h", 3);
    let [s0, s1] = [3, 4].map(Some);
    let spills = |graph: [Option<usize>; 5], others: Others| {
        let transfers = field.transfers(&graph);
        let case = field.case(&transfers, others);
        let mut scratch = field.scratch();
        let done = brisk::implement(&transfers, &case.around, &mut scratch).expect("a register can be lent");
        assert_eq!(case.judge(&done.edits, scratch.slots()), Ok(()), "{:?}", done.edits);
        [done.spills, case.implement(&mut field.scratch()).spills]
    };
    // The register that is to be loaded is free before.
    assert_eq!(spills([s0, None, None, None, s0], Others::Kept), [0, 0]);
    // Registers trade contents, and nothing is free.
    assert_eq!(spills([Some(1), Some(0), None, None, s0], Others::Kept), [1, 1]);
    assert_eq!(spills([Some(1), Some(0), None, None, s0], Others::KeptAndOneFree), [0, 0]);
    // s1 is loaded from before it is written. Between the two loads, a register is free.
    assert_eq!(spills([s1, s0, None, None, s0], Others::Kept), [1, 0]);
}

#[test]
fn brisk_implements_every_graph_without_stores_of_up_to_four_registers_and_two_slots() {
    let mut more = 0;
    for n in 1..=4 {
        let field = Field::new("wide", "h", n);
        let stores = |graph: &[Option<usize>]| graph[n..].iter().flatten().any(|&from| from < n);
        for graph in all_graphs(n + SLOTS).filter(|graph| !stores(graph)) {
            for others in OTHERS {
                let transfers = field.transfers(&graph);
                let case = field.case(&transfers, others);
                let mut scratch = field.scratch();
                // There is no solution if the program has all registers.
                let Ok(done) = brisk::implement(&transfers, &case.around, &mut scratch) else {
                    assert_eq!(others, Others::SourcesDie, "{transfers:?}");
                    continue;
                };
                let verdict = case.judge(&done.edits, scratch.slots());
                assert_eq!(verdict, Ok(()), "{transfers:?} {others:?} became {:?}", done.edits);
                let woven = case.implement(&mut field.scratch()).spills;
                more += u32::from(woven < done.spills);
            }
        }
    }
    assert!(more > 0, "the windmill never does better");
}

/// The code that `eliminate` makes of a frugal allocation: stores are at the definitions, so they come first; registers are
/// moved and swapped; loads come last.
fn spill_free(field: &Field, case: &Case) -> Vec<Edit> {
    let class = field.class;
    let mut stores = Vec::new();
    let mut moves = Vec::new();
    let mut loads = Vec::new();
    for transfer in case.transfers {
        match (transfer.from, transfer.to) {
            (Location::Reg(from), Location::Slot(to)) => stores.push(Edit::Store { from, to, class }),
            (Location::Reg(from), Location::Reg(to)) => moves.push(Transfer { from, to, class }),
            (Location::Slot(from), Location::Reg(to)) => loads.push(Edit::Load { to, from, class }),
            (Location::Slot(from), Location::Slot(to)) => assert_eq!(from, to, "frugality"),
        }
    }
    let steps = sequentialise(&moves, &case.around);
    stores.into_iter().chain(steps.into_iter().map(Edit::from)).chain(loads).collect()
}

#[test]
fn spill_free_elimination_implements_every_spartan_graph_of_up_to_six_registers_and_two_slots() {
    for n in 0..=6 {
        let field = Field::new("wide", "h", n);
        let mut turn = 0;
        spartan_graphs(n, &mut |graph| {
            let transfers = field.transfers(graph);
            let others = OTHERS[turn % OTHERS.len()];
            turn += 1;
            let case = field.case(&transfers, others);
            let edits = spill_free(&field, &case);
            assert_eq!(case.judge(&edits, &field.slots), Ok(()), "{transfers:?} {others:?} became {edits:?}");
        });
    }
}

/// Visits all graphs of three registers and two slots with their code.
fn for_each_small_solution(mut visit: impl FnMut(&Case, &[Edit], &PrimaryMap<Slot, SlotData>)) {
    for (file, class) in [("wide", "h"), ("tiny", "f")] {
        let field = Field::new(file, class, 3);
        for graph in all_graphs(3 + SLOTS) {
            for others in [Others::Kept, Others::KeptAndOneFree] {
                let transfers = field.transfers(&graph);
                let case = field.case(&transfers, others);
                let mut scratch = field.scratch();
                let done = case.implement(&mut scratch);
                visit(&case, &done.edits, scratch.slots());
            }
        }
    }
}

/// The lowest location on the cycle that a location is on, unless that is a self loop.
fn cycle_of(transfers: &[LocationTransfer], start: Location) -> Option<Location> {
    let source = |place: Location| transfers.iter().find(|transfer| transfer.to == place).map(|transfer| transfer.from);
    let walk: Vec<Location> = std::iter::successors(source(start), |&place| source(place)).take(transfers.len()).collect();
    let length = walk.iter().position(|&place| place == start)?;
    walk[..length].iter().copied().chain([start]).min().filter(|_| length > 0)
}

/// Whether a graph has several cycles.
fn has_two_cycles(transfers: &[LocationTransfer]) -> bool {
    let mut cycles: Vec<Location> = transfers.iter().filter_map(|transfer| cycle_of(transfers, transfer.to)).collect();
    cycles.sort_unstable();
    cycles.dedup();
    cycles.len() > 1
}

#[test]
fn the_judge_notices_every_dropped_edit() {
    // Edits by kind: load, store, move, swap, load of a lent register.
    let mut noticed = [0; 5];
    for_each_small_solution(|case, edits, slots| {
        // The slot with which the first cycle was broken may still hold the content that is to be stored to it for the
        // second.
        if has_two_cycles(case.transfers) {
            return;
        }
        for dropped in 0..edits.len() {
            let mut mutant = edits.to_vec();
            let edit = mutant.remove(dropped);
            assert!(case.judge(&mutant, slots).is_err(), "{:?}: {mutant:?} lacks {edit:?}", case.transfers);
            let kind = match edit {
                Edit::Load { to, .. } if case.around.kept.contains(to) => 4,
                Edit::Load { .. } => 0,
                Edit::Store { .. } => 1,
                Edit::Move { .. } => 2,
                Edit::Swap { .. } => 3,
                Edit::Rematerialise { .. } | Edit::StoreConstant { .. } | Edit::Perform { .. } => {
                    unreachable!("nothing is computed here")
                }
            };
            noticed[kind] += 1;
        }
    });
    assert!(noticed.iter().all(|&count| count > 0), "{noticed:?}");
}

/// Whether the order of two edits matters.
fn depend(a: &Edit, b: &Edit) -> bool {
    let meet = |x: Vec<Location>, y: Vec<Location>| x.iter().any(|place| y.contains(place));
    meet(writes(a), reads(b)) || meet(reads(a), writes(b)) || meet(writes(a), writes(b))
}

#[test]
fn the_judge_notices_edits_in_the_wrong_order_and_only_those() {
    let mut noticed = 0;
    for_each_small_solution(|case, edits, slots| {
        for first in 0..edits.len().saturating_sub(1) {
            let mut mutant = edits.to_vec();
            mutant.swap(first, first + 1);
            let matters = depend(&edits[first], &edits[first + 1]);
            assert_eq!(case.judge(&mutant, slots).is_err(), matters, "{:?}: {mutant:?} for {edits:?}", case.transfers);
            noticed += u32::from(matters);
        }
    });
    assert!(noticed > 0);
}

#[test]
fn the_judge_notices_reversed_paths() {
    for n in 2..=6 {
        let field = Field::new("wide", "h", n);
        let path: Vec<Option<usize>> = (0..n).map(|k| k.checked_sub(1)).chain([None; SLOTS]).collect();
        let transfers = field.transfers(&path);
        let case = field.case(&transfers, Others::Kept);
        let mut edits = case.implement(&mut field.scratch()).edits;
        assert_eq!(edits.len(), n - 1);
        assert_eq!(case.judge(&edits, &field.slots), Ok(()));
        edits.reverse();
        assert_eq!(case.judge(&edits, &field.slots).is_err(), n > 2);
    }
}

#[test]
fn the_judge_notices_edits_that_are_too_narrow_or_out_of_place() {
    let class = |file: &RegisterFile, name: &str| file.classes.iter().find(|(_, c)| c.name == name).expect("the class exists").0;
    let mut noticed = [0; 3];
    for_each_small_solution(|case, edits, slots| {
        let file = case.around.file;
        for (index, edit) in edits.iter().enumerate() {
            let mut judge = |kind: usize, mutant: Edit| {
                let mut edits = edits.to_vec();
                edits[index] = mutant;
                assert!(case.judge(&edits, slots).is_err(), "{:?}: {edits:?}", case.transfers);
                noticed[kind] += 1;
            };
            match *edit {
                Edit::Load { to, from, .. } if file.by_name("r0").is_some() => {
                    judge(0, Edit::Load { to, from, class: class(file, "n") });
                }
                Edit::Store { to, from, .. } if file.by_name("r0").is_some() => {
                    judge(1, Edit::Store { to, from, class: class(file, "n") });
                }
                Edit::Move { from, class, .. } => judge(2, Edit::Move { to: Reg::new(14), from, class }),
                _ => {}
            }
        }
    });
    assert!(noticed.iter().all(|&count| count > 0), "{noticed:?}");
}

/// A register file whose banks have several classes, some of them equally wide.
fn mixed() -> RegisterFile {
    const FUNCTION: &str = "target
      bank g exchange
      bank x xor
      bank f never
      registers g a b c d s t
      registers x x0 x1 x2
      registers f f0 f1 f2 f3
      registers - flags
      class half g 4/4 a b c d s t
      class low g 4/4 a b
      class whole g 8/8 a b c d s t
      class middle g 8/8 b c d
      class scalar x 8/8 x0 x1 x2
      class vector x 16/16 x0 x1 x2
      class first x 16/16 x0
      class float f 4/4 f0 f1 f2 f3
      class double f 8/8 f0 f1 f2 f3
      status flags
    function none
    b0:
      op terminator";
    let lines: Vec<&str> = FUNCTION.lines().map(str::trim).collect();
    RegisterFile::clone(&parse(&lines.join("\n")).expect("the function is well-formed").file)
}

/// A random graph over all banks of a file.
struct RandomGraph {
    transfers: Vec<LocationTransfer>,
    kept: RegSet,
    available: RegSet,
    status_live: bool,
    policy: SwapPolicy,
}

impl RandomGraph {
    fn new(rng: &mut fastrand::Rng, file: &RegisterFile, slots: &PrimaryMap<Slot, SlotData>) -> Self {
        let registers = file.classes.values().fold(RegSet::EMPTY, |set, class| set | class.regs);
        let places: Vec<Location> = registers.iter().map(Location::Reg).chain(slots.keys().map(Location::Slot)).collect();
        let density = rng.u32(1..=8);
        let mut transfers = Vec::new();
        for &to in &places {
            if rng.u32(0..8) >= density {
                continue;
            }
            let from = places[rng.usize(0..places.len())];
            let classes: Vec<RegClass> = file.classes.keys().filter(|&class| can_carry(file, class, from, to)).collect();
            if !classes.is_empty() {
                transfers.push(LocationTransfer { from, to, class: classes[rng.usize(0..classes.len())] });
            }
        }
        let targets: RegSet = transfers.iter().filter_map(|transfer| register(transfer.to)).collect();
        let (mut kept, mut available) = (RegSet::EMPTY, RegSet::EMPTY);
        let kinds = rng.u32(1..=3);
        for reg in registers.iter() {
            match rng.u32(0..kinds) {
                0 if !targets.contains(reg) => kept.insert(reg),
                1 => available.insert(reg),
                _ => {}
            }
        }
        let policy = [SwapPolicy::Auto, SwapPolicy::Exchange, SwapPolicy::Xor][rng.usize(0..3)];
        RandomGraph { transfers, kept, available, status_live: rng.bool(), policy }
    }

    fn case<'a>(&'a self, file: &'a RegisterFile, program_slots: usize) -> Case<'a> {
        let RandomGraph { kept, available, status_live, policy, .. } = *self;
        Case { transfers: &self.transfers, around: Surroundings { file, kept, available, status_live, policy }, program_slots }
    }
}

/// Whether a class of the same bank and width has all registers among these locations.
fn can_carry(file: &RegisterFile, class: RegClass, from: Location, to: Location) -> bool {
    let regs: RegSet = [from, to].into_iter().filter_map(register).collect();
    let found = file.carrier(class, regs);
    regs.is_subset(file.classes[found].regs)
}

/// Whether some transfer between slots has no register to go through.
fn lacks_register(case: &Case) -> bool {
    let file = case.around.file;
    let mentioned = case.transfers.iter().flat_map(|transfer| [transfer.from, transfer.to]).filter_map(register);
    let touchable = mentioned.collect::<RegSet>() | case.around.kept | case.around.available;
    let through = |transfer: &LocationTransfer, reg| can_carry(file, transfer.class, Location::Reg(reg), transfer.from);
    let mut in_memory = case.transfers.iter().filter(|transfer| transfer.is_in_memory());
    in_memory.any(|transfer| !touchable.iter().any(|reg| through(transfer, reg)))
}

#[test]
fn implements_random_graphs_of_all_banks() {
    let files = [builtin("tiny").expect("the file exists"), builtin("wide").expect("the file exists"), mixed()];
    let mut rng = fastrand::Rng::with_seed(1);
    let mut implemented = 0;
    for file in files.iter().cycle().take(60_000) {
        let slots: PrimaryMap<Slot, SlotData> = (0..rng.u32(0..8)).map(|_| SlotData { size: 16, align: 16 }).collect();
        let graph = RandomGraph::new(&mut rng, file, &slots);
        let case = graph.case(file, slots.len());
        let mut scratch = Scratch::new(slots, file.classes.keys());
        match implement(case.transfers, &case.around, &mut scratch) {
            Ok(done) => {
                implemented += 1;
                let verdict = case.judge(&done.edits, scratch.slots());
                assert_eq!(verdict, Ok(()), "{:?} {:?} became {:?}", case.transfers, (graph.kept, graph.available), done.edits);
            }
            Err(reason) => assert!(lacks_register(&case), "{reason}: {:?} {:?}", case.transfers, (graph.kept, graph.available)),
        }
    }
    assert!(implemented > 50_000, "{implemented}");
}
