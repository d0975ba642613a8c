//! The printer of the text form.

use super::target::print_target;
use crate::machine::{Block, Function, Goal, Inserted, Inst, InstKind, Operand, PinSets, Point, RegSet, Role, Value};
use cranelift_entity::EntitySet;
use cranelift_entity::packed_option::PackedOption;
use std::collections::BTreeMap;
use std::fmt;

/// The text form of a function and its register file.
pub fn print(function: &Function) -> String {
    function.to_string()
}

/// The text form, with notes as comments.
pub fn print_with_notes(function: &Function, notes: &Notes) -> String {
    fmt::from_fn(|f| print_to(f, function, notes)).to_string()
}

/// Comment lines for facts about a function that the text form cannot state.
#[derive(Default)]
pub struct Notes {
    /// At the ends of instructions' lines.
    pub insts: BTreeMap<Inst, String>,
    /// At the ends of φs' lines, by what they define.
    pub phis: BTreeMap<Value, String>,
    /// At the ends of debug uses' lines, by their indices.
    pub debug_uses: BTreeMap<usize, String>,
    /// Lines of their own, in front of an instruction or at the end of a block.
    pub lines: BTreeMap<Point, Vec<String>>,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_to(f, self, &Notes::default())
    }
}

fn print_to(f: &mut fmt::Formatter<'_>, function: &Function, notes: &Notes) -> fmt::Result {
    write!(f, "{}", print_target(&function.file))?;
    writeln!(f, "function {}", escape(&function.name))?;
    if function.returns_twice {
        writeln!(f, "returns-twice")?;
    }
    match function.goal {
        Goal::Speed => {}
        Goal::Size => writeln!(f, "optsize")?,
        Goal::LeastSize => writeln!(f, "minsize")?,
    }
    let printer = Printer::new(function, notes);
    printer.undefined(f)?;
    function.blocks.keys().try_for_each(|block| printer.block(f, block))
}

/// A function, with what the text form puts in other places than the model.
struct Printer<'a> {
    function: &'a Function,
    notes: &'a Notes,
    /// The predecessors of each block, in the order in which the parser derives them.
    preds: BTreeMap<Block, Vec<Block>>,
    /// Debug uses, by their indices.
    debug: BTreeMap<Point, Vec<usize>>,
}

impl<'a> Printer<'a> {
    fn new(function: &'a Function, notes: &'a Notes) -> Self {
        let mut preds: BTreeMap<Block, Vec<Block>> = BTreeMap::new();
        for (from, data) in function.blocks.iter() {
            data.succs.iter().for_each(|&to| preds.entry(to).or_default().push(from));
        }
        let mut debug: BTreeMap<Point, Vec<usize>> = BTreeMap::new();
        function.debug_uses.iter().enumerate().for_each(|(index, d)| debug.entry(d.at).or_default().push(index));
        Printer { function, notes, preds, debug }
    }

    fn undefined(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = self.function;
        let mut defined = EntitySet::with_capacity(function.values.len());
        let by_insts = function.operands.iter().filter(|o| o.is_def()).map(|o| o.value);
        let by_phis = function.blocks.values().flat_map(|b| &b.phis).map(|phi| phi.def);
        for value in by_insts.chain(by_phis) {
            defined.insert(value);
        }
        let mut undefined = function.values.keys().filter(|&v| !defined.contains(v)).peekable();
        if undefined.peek().is_none() {
            return Ok(());
        }
        write!(f, "undefined")?;
        undefined.try_for_each(|value| write!(f, " {value}:{}", self.class(value)))?;
        writeln!(f)
    }

    fn block(&self, f: &mut fmt::Formatter<'_>, block: Block) -> fmt::Result {
        let data = &self.function.blocks[block];
        self.header(f, block)?;
        for phi in &data.phis {
            let of = self.of(phi.def).map_or(String::new(), |of| format!("({of})"));
            write!(f, "  {}:{}{of} = phi", phi.def, self.class(phi.def))?;
            // Arguments in excess are shown as well: a malformed function needs its dump most.
            let labels = data.preds.iter().map(Block::to_string).chain(std::iter::repeat("b?".to_string()));
            let shown = |arg: &PackedOption<Value>| arg.expand().map_or("undef".to_string(), |value| value.to_string());
            labels.zip(&phi.args).try_for_each(|(pred, arg)| write!(f, " {pred}:{}", shown(arg)))?;
            end_line(f, self.notes.phis.get(&phi.def))?;
        }
        let insts = self.function.block_insts(block);
        let end = insts.len() as u32;
        for (index, inst) in (0..).zip(insts) {
            self.in_front(f, Point { block, index })?;
            self.inst(f, inst)?;
            write_mark(f, "throws", data.throws.expand() == Some(inst))?;
            end_line(f, self.notes.insts.get(&inst))?;
        }
        self.in_front(f, Point { block, index: end })
    }

    fn header(&self, f: &mut fmt::Formatter<'_>, block: Block) -> fmt::Result {
        let data = &self.function.blocks[block];
        write!(f, "{block}:")?;
        if data.frequency != 1.0 {
            write!(f, " freq={}", data.frequency)?;
        }
        self.registers(f, "live", data.live_in_pins)?;
        if self.preds.get(&block).map_or(&[][..], |preds| preds) != &data.preds[..] {
            write!(f, " preds={}", joined(&data.preds))?;
        }
        let marks = [("landing-pad", data.landing_pad), ("on-edge", data.on_edge)];
        for (mark, given) in marks {
            write_mark(f, mark, given)?;
        }
        write_mark(f, "->", !data.succs.is_empty())?;
        data.succs.iter().try_for_each(|succ| write!(f, " {succ}"))?;
        writeln!(f)
    }

    fn inst(&self, f: &mut fmt::Formatter<'_>, inst: Inst) -> fmt::Result {
        let data = &self.function.insts[inst];
        let operands = self.function.operands(inst);
        let (left, right) = operands.split_at(operands.iter().take_while(|o| o.is_def()).count());
        write!(f, " ")?;
        left.iter().try_for_each(|o| self.operand(f, o))?;
        write_mark(f, "=", !left.is_empty())?;
        self.kind(f, data.kind)?;
        right.iter().try_for_each(|o| self.operand(f, o))?;
        self.pins(f, data.kind, self.function.pins(inst))?;
        data.flags.iter_names().try_for_each(|(name, _)| write!(f, " {}", name.to_ascii_lowercase()))?;
        match data.origin.expand() {
            None => write!(f, " origin=none"),
            Some(origin) if origin != inst => write!(f, " origin={origin}"),
            Some(_) => Ok(()),
        }
    }

    fn kind(&self, f: &mut fmt::Formatter<'_>, kind: InstKind) -> fmt::Result {
        match kind {
            InstKind::Op => write!(f, " op"),
            InstKind::Copy => write!(f, " copy"),
            InstKind::CopyTo(reg) => write!(f, " copy-to({})", self.function.file.name(reg)),
            InstKind::CopyFrom(reg) => write!(f, " copy-from({})", self.function.file.name(reg)),
            InstKind::Inserted(Inserted::Load(slot)) => write!(f, " load({slot})"),
            InstKind::Inserted(Inserted::Store(slot)) => write!(f, " store({slot})"),
            InstKind::Inserted(Inserted::StoreConstant(slot, inst)) => write!(f, " store-constant({slot}={inst})"),
            InstKind::Inserted(Inserted::Rematerialise(inst)) => write!(f, " rematerialise({inst})"),
            InstKind::Inserted(Inserted::Parallel) => write!(f, " parallel"),
        }
    }

    fn operand(&self, f: &mut fmt::Formatter<'_>, operand: &Operand) -> fmt::Result {
        write!(f, " {}", operand.value)?;
        if operand.is_def() {
            write!(f, ":{}", self.class(operand.value))?;
        }
        let early = (operand.role == Role::EarlyDef).then(|| "early".to_string());
        let reuse = operand.reuse.map(|index| {
            let instead: String = operand.reuse_instead.iter().map(|index| format!("|{index}")).collect();
            format!("reuse={index}{instead}{}", if operand.reuse_none { "|none" } else { "" })
        });
        let foldable = operand.foldable.then(|| "foldable".to_string());
        let of = operand.is_def().then(|| self.of(operand.value)).flatten();
        let marks: Vec<String> = [of, early, reuse, foldable].into_iter().flatten().collect();
        if marks.is_empty() { Ok(()) } else { write!(f, "({})", marks.join(",")) }
    }

    /// The mark that says of which value the name is a piece, if it is one.
    fn of(&self, name: Value) -> Option<String> {
        self.function.values[name].of.map(|value| format!("of={value}"))
    }

    fn pins(&self, f: &mut fmt::Formatter<'_>, kind: InstKind, pins: &PinSets) -> fmt::Result {
        let implied = PinSets::implied(kind);
        self.registers(f, "uses", pins.uses - implied.uses)?;
        self.registers(f, "defs", pins.defs - implied.defs)?;
        self.registers(f, "early", pins.early_defs)?;
        self.registers(f, "clobbers", pins.clobbers)
    }

    fn registers(&self, f: &mut fmt::Formatter<'_>, key: &str, set: RegSet) -> fmt::Result {
        if set.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = set.iter().map(|reg| self.function.file.name(reg)).collect();
        write!(f, " {key}={}", names.join(","))
    }

    /// The lines of a point, before the instruction there.
    fn in_front(&self, f: &mut fmt::Formatter<'_>, at: Point) -> fmt::Result {
        self.notes.lines.get(&at).into_iter().flatten().try_for_each(|line| writeln!(f, "  ; {line}"))?;
        self.debug.get(&at).into_iter().flatten().try_for_each(|index| {
            write!(f, "  debug {}", self.function.debug_uses[*index].value)?;
            end_line(f, self.notes.debug_uses.get(index))
        })
    }

    fn class(&self, value: Value) -> &str {
        &self.function.file.classes[self.function.values[value].class].name
    }
}

impl PinSets {
    /// The pins that the text form leaves implicit.
    pub(super) fn implied(kind: InstKind) -> PinSets {
        match kind {
            InstKind::CopyTo(reg) => PinSets { defs: RegSet::only(reg), ..PinSets::default() },
            InstKind::CopyFrom(reg) => PinSets { uses: RegSet::only(reg), ..PinSets::default() },
            _ => PinSets::default(),
        }
    }
}

/// Ends a line, with a comment if there is a note.
fn end_line(f: &mut fmt::Formatter<'_>, note: Option<&String>) -> fmt::Result {
    if let Some(note) = note {
        write!(f, "  ; {note}")?;
    }
    writeln!(f)
}

fn write_mark(f: &mut fmt::Formatter<'_>, mark: &str, given: bool) -> fmt::Result {
    if given { write!(f, " {mark}") } else { Ok(()) }
}

fn joined(blocks: &[Block]) -> String {
    blocks.iter().map(Block::to_string).collect::<Vec<_>>().join(",")
}

/// The name, with all but plain characters escaped: blanks, semicolons and backslashes have a meaning of their own.
fn escape(name: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && c != ';' && c != '\\';
    name.chars().map(|c| if plain(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}
