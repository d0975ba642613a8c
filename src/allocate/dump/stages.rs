//! Stages as text: the function, and in comments what the text form has no words for.

use crate::allocate::assign::Coloured;
use crate::allocate::cssa::{Conventional, Web};
use crate::allocate::observe::Stage;
use crate::allocate::spill::{EdgeRefill, EdgeSource, Fold, Memory};
use crate::machine::{
    Block, Edit, Function, Inserted, Inst, InstKind, Location, Notes, Overlay, Phi, Point, RegisterFile, Slot, SlotData,
    SwapKind, Value, print_with_notes,
};
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use std::collections::{BTreeMap, BTreeSet};

/// A function at some stage, as text.
#[derive(Clone, Default, PartialEq)]
pub struct Text {
    /// The register file.
    pub target: String,
    /// The function.
    pub code: String,
    /// Facts about the function as a whole, in comments.
    pub footer: String,
    /// Whether notes say where each operand is.
    located: bool,
}

impl Text {
    /// The lines of two texts that are worth comparing. If only one of the texts has registers, notes are not compared,
    /// since every line would differ.
    pub fn comparable(before: &Text, after: &Text) -> [String; 2] {
        let with_notes = before.located && after.located;
        [before, after].map(|text| text.code.lines().filter_map(|line| comparable(line, with_notes)).collect())
    }
}

/// A line with its end, if it says anything about the program. The classes of names that nothing defines any more say
/// nothing.
fn comparable(line: &str, with_notes: bool) -> Option<String> {
    let line = if with_notes { line } else { line.split("  ;").next().unwrap_or_default() };
    (!line.is_empty() && !line.starts_with("undefined ")).then(|| line.to_owned() + "\n")
}

/// Makes texts of stages.
#[derive(Default)]
pub struct Writer {
    /// How often blocks are executed in the program whose graph the phases work on at the moment.
    frequencies: Vec<f64>,
}

impl Writer {
    /// The text of a stage.
    pub fn text(&mut self, stage: Stage<'_>) -> Text {
        match stage {
            Stage::Program(function) => self.noted(function, Notes::default(), String::new(), false),
            Stage::Conventional(conventional) => self.noted(&conventional.function, Notes::default(), webs(conventional), false),
            Stage::Spilled(spilled) => {
                let notes = accesses(&spilled.function, &spilled.folds, &spilled.memory);
                self.noted(&spilled.function, notes, memory_slots(&spilled.memory), false)
            }
            Stage::Coloured(coloured, memory) => {
                self.noted(&coloured.function, registers(coloured, memory), memory_slots(memory), true)
            }
            Stage::Allocated(function, overlay) => {
                let footer = slots(&overlay.slots, &overlay.given, &BTreeMap::new());
                self.noted(function, answer(function, overlay), footer, true)
            }
        }
    }

    fn noted(&mut self, function: &Function, notes: Notes, footer: String, located: bool) -> Text {
        if self.frequencies.len() != function.blocks.len() {
            self.frequencies = function.blocks.values().map(|data| data.frequency).collect();
        }
        let mut plain = function.clone();
        plain.blocks.values_mut().zip(&self.frequencies).for_each(|(data, &frequency)| data.frequency = frequency);
        plain.insts.iter_mut().for_each(|(inst, data)| data.origin = inst.into());
        let text = print_with_notes(&plain, &notes);
        let start = text.find("\nfunction ").map_or(0, |end| end + 1);
        Text { target: text[..start].to_owned(), code: text[start..].to_owned(), footer, located }
    }
}

/// The values in each web.
fn webs(conventional: &Conventional) -> String {
    let mut members: BTreeMap<Web, Vec<Value>> = BTreeMap::new();
    for (value, web) in conventional.webs.iter() {
        web.expand().into_iter().for_each(|web| members.entry(web).or_default().push(value));
    }
    let webs = members.iter().map(|(web, members)| format!("; {web}: {}\n", joined(members)));
    let fixed = Some(&conventional.without_code).filter(|values| !values.is_empty());
    webs.chain(fixed.map(|values| format!("; meet on edges without code: {}\n", joined(values)))).collect()
}

/// The slots of the function, and the values that they are home to.
fn memory_slots(memory: &Memory) -> String {
    let mut residents: BTreeMap<Slot, Vec<Value>> = BTreeMap::new();
    for (value, slot) in memory.slot_of.iter() {
        slot.expand().into_iter().for_each(|slot| residents.entry(slot).or_default().push(value));
    }
    slots(&memory.slots, &memory.given, &residents)
}

fn slots(
    slots: &PrimaryMap<Slot, SlotData>,
    given: &SecondaryMap<Slot, PackedOption<Inst>>,
    residents: &BTreeMap<Slot, Vec<Value>>,
) -> String {
    let line = |(slot, &SlotData { size, align }): (Slot, &SlotData)| {
        let given = given[slot].expand().map_or(String::new(), |inst| format!(", not of the frame: what {inst} loads is there"));
        let home = residents.get(&slot).map_or(String::new(), |values| format!(", home of {}", joined(values)));
        let bytes = if size == 1 { "byte" } else { "bytes" };
        format!("; {slot}: {size} {bytes}, aligned to {align}{given}{home}\n")
    };
    slots.iter().map(line).collect()
}

/// Notes about accesses to memory that no inserted instruction makes.
fn accesses(function: &Function, folds: &[Fold], memory: &Memory) -> Notes {
    let mut notes = Notes::default();
    let executed_again = executed_again(function, memory);
    for inst in function.insts.keys() {
        let number = number(function.insts[inst].origin.expand(), &executed_again);
        let folds = Fold::of(folds, inst).iter().map(|fold| format!("operand {} is {}", fold.operand, fold.slot));
        let parts: Vec<String> = number.into_iter().chain(folds).collect();
        note(&mut notes.insts, inst, parts.join(", "));
    }
    for (block, data) in &function.blocks {
        for (row, phi) in data.phis.iter().enumerate() {
            let refills: Vec<String> = refills(memory, block, row).map(|it| format!("{}:{}", it.from, source(it))).collect();
            note(&mut notes.phis, phi.def, refills.join(" "));
        }
    }
    memory_phis(function, memory, &mut notes);
    notes
}

/// Notes about the registers of all operands, and everything that [`accesses`] notes.
fn registers(coloured: &Coloured, memory: &Memory) -> Notes {
    let Coloured { function, colours, folds, redundant, .. } = coloured;
    let mut notes = Notes::default();
    let register = |name: Value| colours.get(name).map_or("nowhere", |reg| function.file.name(reg)).to_owned();
    let executed_again = executed_again(function, memory);
    for inst in function.insts.keys() {
        let operands = function.operands(inst);
        let mut places: Vec<(bool, String)> = operands.iter().map(|it| (it.is_def(), register(it.value))).collect();
        for fold in Fold::of(folds, inst) {
            places.insert(fold.operand.min(places.len()), (fold.writes, fold.slot.to_string()));
        }
        let is_redundant = operands.iter().any(|operand| operand.is_def() && redundant.contains(operand.value));
        let parts = number(function.insts[inst].origin.expand(), &executed_again).into_iter();
        let parts = parts.chain(located(&places)).chain(is_redundant.then(|| "is there already".to_owned()));
        note(&mut notes.insts, inst, parts.collect::<Vec<_>>().join(", "));
    }
    for (block, data) in &function.blocks {
        for (row, phi) in data.phis.iter().enumerate() {
            let arguments = phi_arguments(phi, &data.preds, &register);
            let refills = refills(memory, block, row).map(|it| format!("{}:{}", it.from, source(it)));
            let arguments: Vec<String> = arguments.chain(refills).collect();
            note(&mut notes.phis, phi.def, format!("{} = {}", register(phi.def), arguments.join(" ")));
        }
    }
    memory_phis(function, memory, &mut notes);
    for (index, name) in coloured.debug.iter().enumerate() {
        note(&mut notes.debug_uses, index, name.map_or("nowhere".to_owned(), register));
    }
    notes
}

/// Notes about the imported function: the places of all operands, and the edits.
fn answer(function: &Function, overlay: &Overlay) -> Notes {
    let mut notes = Notes::default();
    let place = |location: Option<Location>| match location {
        Some(Location::Reg(reg)) => function.file.name(reg).to_owned(),
        Some(Location::Slot(slot)) => slot.to_string(),
        None => "nowhere".to_owned(),
    };
    let in_edits = overlay.edits.iter().filter_map(|(_, edit)| match *edit {
        Edit::Rematerialise { inst, .. } | Edit::StoreConstant { inst, .. } | Edit::Perform { inst, .. } => Some(inst),
        Edit::Load { .. } | Edit::Store { .. } | Edit::Move { .. } | Edit::Swap { .. } => None,
    });
    let elsewhere: BTreeSet<Inst> = in_edits.chain(overlay.given.values().filter_map(|inst| inst.expand())).collect();
    for inst in function.insts.keys() {
        let places = function.operands(inst).iter().zip(overlay.operands(function, inst));
        let places: Vec<(bool, String)> = places.map(|(operand, &location)| (operand.is_def(), place(location))).collect();
        let (dropped, performed) = (overlay.is_dropped(inst), overlay.is_performed(function, inst));
        let parts = number(Some(inst), &elsewhere).into_iter().chain(dropped.then(|| "dropped".to_owned()));
        let parts = parts.chain(located(&places).filter(|_| !dropped || performed));
        note(&mut notes.insts, inst, parts.collect::<Vec<_>>().join(", "));
    }
    for &(point, ref change) in &overlay.edits {
        notes.lines.entry(point).or_default().push(edit(&function.file, change));
    }
    for (index, &location) in overlay.debug_locations.iter().enumerate() {
        note(&mut notes.debug_uses, index, place(location));
    }
    notes
}

/// An edit in a few words, target first: `move b a`, `load a s0`.
pub fn edit(file: &RegisterFile, edit: &Edit) -> String {
    let name = |reg| file.name(reg);
    match *edit {
        Edit::Load { to, from, .. } => format!("load {} {from}", name(to)),
        Edit::Store { from, to, .. } => format!("store {to} {}", name(from)),
        Edit::Move { to, from, .. } => format!("move {} {}", name(to), name(from)),
        Edit::Swap { a, b, kind: SwapKind::Exchange, .. } => format!("exchange {} {}", name(a), name(b)),
        Edit::Swap { a, b, kind: SwapKind::Xor, .. } => format!("xor {} {}", name(a), name(b)),
        Edit::Perform { inst, flagless } => format!("perform {inst}{}", if flagless { " flagless" } else { "" }),
        Edit::StoreConstant { to, inst } => format!("store {to} {inst}"),
        Edit::Rematerialise { to, inst, from: None } => format!("rematerialise {} {inst}", name(to)),
        Edit::Rematerialise { to, inst, from: Some(from) } => format!("rematerialise {} {inst} {}", name(to), name(from)),
    }
}

/// The imported instructions that are executed again, by inserted ones or on edges.
fn executed_again(function: &Function, memory: &Memory) -> BTreeSet<Inst> {
    let inserted = function.insts.values().filter_map(|data| match data.kind {
        InstKind::Inserted(Inserted::Rematerialise(inst) | Inserted::StoreConstant(_, inst)) => Some(inst),
        _ => None,
    });
    let on_edges = memory.edge_refills.values().flatten().filter_map(|refill| match refill.source {
        EdgeSource::Rematerialise(inst) => Some(inst),
        EdgeSource::Slot { .. } => None,
    });
    inserted.chain(on_edges).chain(memory.given.values().filter_map(|inst| inst.expand())).collect()
}

/// The number of an imported instruction, if any note names it.
fn number(inst: Option<Inst>, named: &BTreeSet<Inst>) -> Option<String> {
    inst.filter(|inst| named.contains(inst)).map(|inst| format!("this is {inst}"))
}

/// The places of an instruction's operands, in the shape of its line: `a = b s0`.
fn located(places: &[(bool, String)]) -> Option<String> {
    let definitions = places.iter().take_while(|(defines, _)| *defines).count();
    let (left, right) = places.split_at(definitions);
    let joined = |places: &[(bool, String)]| places.iter().map(|(_, place)| place.as_str()).collect::<Vec<_>>().join(" ");
    match (left, right) {
        ([], []) => None,
        ([], uses) => Some(joined(uses)),
        (definitions, []) => Some(format!("{} =", joined(definitions))),
        (definitions, uses) => Some(format!("{} = {}", joined(definitions), joined(uses))),
    }
}

fn phi_arguments<'a>(
    phi: &'a Phi,
    preds: &'a [Block],
    register: impl Fn(Value) -> String + 'a,
) -> impl Iterator<Item = String> + 'a {
    let arguments = preds.iter().zip(&phi.args);
    arguments.filter_map(move |(pred, arg)| Some(format!("{pred}:{}", register(arg.expand()?))))
}

/// The arguments that one φ takes from elsewhere than registers.
fn refills(memory: &Memory, block: Block, row: usize) -> impl Iterator<Item = &EdgeRefill> {
    memory.edge_refills[block].iter().filter(move |refill| refill.row == row)
}

fn source(refill: &EdgeRefill) -> String {
    match refill.source {
        EdgeSource::Slot { slot, .. } => slot.to_string(),
        EdgeSource::Rematerialise(inst) => format!("rematerialise({inst})"),
    }
}

/// φs from memory to memory, as lines at the heads of their blocks.
fn memory_phis(function: &Function, memory: &Memory, notes: &mut Notes) {
    for (block, data) in &function.blocks {
        for phi in &memory.memory_phis[block] {
            let from = data.preds.iter().zip(&phi.from).filter_map(|(pred, slot)| Some(format!(" {pred}:{}", (*slot)?)));
            let line = format!("{} = phi{}", phi.to, from.collect::<String>());
            notes.lines.entry(Point { block, index: 0 }).or_default().push(line);
        }
    }
}

fn note<K: Ord>(notes: &mut BTreeMap<K, String>, key: K, text: String) {
    if !text.is_empty() {
        notes.insert(key, text);
    }
}

/// Values, separated by blanks.
pub fn joined(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}
