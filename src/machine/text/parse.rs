//! The parser of the text form.

use super::target::{find_class, find_register, parse_target};
use crate::machine::{
    Block, BlockData, BlockList, DebugUse, Function, Goal, Inserted, Inst, InstData, InstFlags, InstKind, Operand, Phi, PinSets,
    Pins, Point, RegClass, RegSet, RegisterFile, Role, Slot, Value, ValueData,
};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// An error in a text, and where it is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    pub reason: Reason,
}

/// Why a line cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    #[error("the text ends where {0} is expected")]
    End(&'static str),
    #[error("expected {expected}, found `{found}`")]
    Unexpected { expected: String, found: String },
    #[error("there is no {kind} `{name}`")]
    Unknown { kind: &'static str, name: String },
    #[error("there is already a {kind} `{name}`")]
    Twice { kind: &'static str, name: String },
    #[error("a register file has at most {} registers", RegSet::CAPACITY)]
    TooManyRegisters,
    #[error("{0} has a different class elsewhere")]
    OtherClass(Value),
    #[error("{0} is given no class, neither at a definition nor as `undefined`")]
    NoClass(Value),
    #[error("the φ has no argument for {0}")]
    NoArgument(Block),
    #[error("the φ has an argument for {0}, which is not a predecessor or has one already")]
    NoPredecessor(Block),
}

impl Reason {
    pub(super) fn unexpected(expected: &str, found: &str) -> Reason {
        Reason::Unexpected { expected: expected.to_string(), found: found.to_string() }
    }

    pub(super) fn unknown(kind: &'static str, name: &str) -> Reason {
        Reason::Unknown { kind, name: name.to_string() }
    }
}

/// Reads a function and its register file.
pub fn parse(text: &str) -> Result<Function, ParseError> {
    let mut lines = Lines::new(text);
    let file = parse_target(&mut lines)?;
    let header = lines.next_line("`function`")?;
    let name = match header.words[..] {
        ["function"] => String::new(),
        ["function", name] => unescape(name).map_err(|reason| header.error(reason))?,
        _ => return Err(header.error(Reason::unexpected("`function` and a name", header.words[0]))),
    };
    let mut parser = Parser::new(name, file);
    for line in lines.rest {
        parser.line = line.number;
        parser.function_line(&line.words).map_err(|reason| line.error(reason))?;
    }
    parser.finish()
}

pub(super) struct Line<'t> {
    pub number: usize,
    /// Never empty.
    pub words: Vec<&'t str>,
}

impl Line<'_> {
    pub fn error(&self, reason: Reason) -> ParseError {
        ParseError { line: self.number, reason }
    }
}

/// The lines of a text that have words.
pub(super) struct Lines<'t> {
    rest: std::iter::Peekable<std::vec::IntoIter<Line<'t>>>,
    count: usize,
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Self {
        let words = |line: &'t str| line.split(';').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        let lines = (1..).zip(text.lines()).map(|(number, line)| Line { number, words: words(line) });
        let rest = lines.filter(|line| !line.words.is_empty()).collect::<Vec<_>>().into_iter().peekable();
        Lines { rest, count: text.lines().count() }
    }

    pub fn next_line(&mut self, expected: &'static str) -> Result<Line<'t>, ParseError> {
        self.rest.next().ok_or(ParseError { line: self.count, reason: Reason::End(expected) })
    }

    /// The next line, unless it begins with this word.
    pub fn next_unless(&mut self, word: &str) -> Option<Line<'t>> {
        self.rest.next_if(|line| line.words[0] != word)
    }
}

/// The value that a φ takes from a block.
type Argument = (Block, PackedOption<Value>);

/// A φ. Its columns wait until all predecessors are known.
struct PhiRow {
    line: usize,
    block: Block,
    def: Value,
    args: Vec<Argument>,
}

struct Parser {
    function: Function,
    line: usize,
    classes: BTreeMap<Value, RegClass>,
    /// For each name that is a piece of a value: the value.
    pieces: BTreeMap<Value, Value>,
    /// Every value that occurs, with the line of its first occurrence.
    seen: BTreeMap<Value, usize>,
    /// Every block that is referred to, with the line of the first reference.
    targets: BTreeMap<Block, usize>,
    explicit_preds: BTreeMap<Block, BlockList>,
    rows: Vec<PhiRow>,
    interned: HashMap<PinSets, Pins>,
}

impl Parser {
    fn new(name: String, file: RegisterFile) -> Self {
        let mut parser = Parser {
            function: Function {
                name,
                returns_twice: false,
                goal: Goal::Speed,
                file: Arc::new(file),
                blocks: PrimaryMap::new(),
                insts: PrimaryMap::new(),
                operands: Vec::new(),
                values: PrimaryMap::new(),
                pins: Arc::default(),
                debug_uses: Vec::new(),
            },
            line: 0,
            classes: BTreeMap::new(),
            pieces: BTreeMap::new(),
            seen: BTreeMap::new(),
            targets: BTreeMap::new(),
            explicit_preds: BTreeMap::new(),
            rows: Vec::new(),
            interned: HashMap::new(),
        };
        parser.intern(PinSets::default());
        parser
    }

    fn function_line(&mut self, words: &[&str]) -> Result<(), Reason> {
        if let Some(name) = words[0].strip_suffix(':') {
            return self.block(name, &words[1..]);
        }
        let Some(block) = self.function.blocks.keys().next_back() else {
            match words {
                ["returns-twice"] => self.function.returns_twice = true,
                ["optsize"] => self.function.goal = Goal::Size,
                ["minsize"] => self.function.goal = Goal::LeastSize,
                ["undefined", values @ ..] => values.iter().try_for_each(|word| self.definition(word).map(drop))?,
                _ => return Err(Reason::unexpected("`returns-twice`, `optsize`, `minsize`, `undefined` or a block", words[0])),
            }
            return Ok(());
        };
        match words {
            ["debug", word] => {
                let value = self.value(word)?;
                let index = self.function.blocks[block].insts.len() as u32;
                self.function.debug_uses.push(DebugUse { value, at: Point { block, index } });
                Ok(())
            }
            [def, "=", "phi", args @ ..] => self.phi(block, def, args),
            _ => self.inst(block, words),
        }
    }

    fn block(&mut self, name: &str, words: &[&str]) -> Result<(), Reason> {
        let block = self.function.blocks.next_key();
        if name != block.to_string() {
            return Err(Reason::unexpected(&format!("`{block}`"), name));
        }
        let arrow = words.iter().position(|&word| word == "->").unwrap_or(words.len());
        let succs = words.iter().skip(arrow + 1).map(|word| self.target(word)).collect::<Result<_, _>>()?;
        let start = self.function.insts.len() as u32;
        let mut data = BlockData::new(start..start, BlockList::new(), succs, 1.0);
        for word in &words[..arrow] {
            match word.split_once('=').unwrap_or((word, "")) {
                ("freq", number) => {
                    data.frequency = number.parse().map_err(|_| Reason::unexpected("a frequency", number))?;
                }
                ("live", names) => data.live_in_pins = self.registers(names)?,
                ("preds", names) => {
                    let names = names.split(',').filter(|name| !name.is_empty());
                    let preds = names.map(|name| self.target(name)).collect::<Result<_, _>>()?;
                    self.explicit_preds.insert(block, preds);
                }
                ("landing-pad", "") => data.landing_pad = true,
                ("on-edge", "") => data.on_edge = true,
                _ => return Err(Reason::unexpected("a block's mark or `->`", word)),
            }
        }
        self.function.blocks.push(data);
        Ok(())
    }

    fn phi(&mut self, block: Block, def: &str, words: &[&str]) -> Result<(), Reason> {
        let def = self.definition(def)?.value;
        let mut args = Vec::new();
        for word in words {
            let (pred, arg) = word.split_once(':').ok_or_else(|| Reason::unexpected("block:value", word))?;
            let value = if arg == "undef" { None } else { Some(self.value(arg)?) };
            args.push((self.target(pred)?, value.into()));
        }
        self.rows.push(PhiRow { line: self.line, block, def, args });
        Ok(())
    }

    fn inst(&mut self, block: Block, words: &[&str]) -> Result<(), Reason> {
        let equals = words.iter().position(|&word| word == "=");
        let first = self.function.operands.len() as u32;
        for word in &words[..equals.unwrap_or(0)] {
            let operand = self.definition(word)?;
            self.function.operands.push(operand);
        }
        let mut words = words[equals.map_or(0, |i| i + 1)..].iter();
        let kind = self.kind(words.next().ok_or_else(|| Reason::unexpected("an instruction", "="))?)?;
        let mut pins = PinSets::implied(kind);
        let inst = self.function.insts.next_key();
        let mut data = InstData { origin: inst.into(), ..InstData::new(kind, first..first) };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("uses", names) => pins.uses |= self.registers(names)?,
                ("defs", names) => pins.defs |= self.registers(names)?,
                ("early", names) => pins.early_defs |= self.registers(names)?,
                ("clobbers", names) => pins.clobbers |= self.registers(names)?,
                ("throws", "") => self.function.blocks[block].throws = inst.into(),
                ("origin", "none") => data.origin = None.into(),
                ("origin", origin) => data.origin = parse_inst(origin)?.into(),
                _ => match flag(word) {
                    Some(flag) => data.flags |= flag,
                    None => {
                        let operand = self.operand(word)?;
                        self.function.operands.push(operand);
                    }
                },
            }
        }
        data.operands.end = self.function.operands.len() as u32;
        data.pins = self.intern(pins);
        self.function.insts.push(data);
        self.function.blocks[block].insts.end += 1;
        Ok(())
    }

    fn kind(&self, word: &str) -> Result<InstKind, Reason> {
        let (name, argument) = match word.strip_suffix(')').and_then(|word| word.split_once('(')) {
            Some((name, argument)) => (name, Some(argument)),
            None => (word, None),
        };
        match (name, argument) {
            ("op", None) => Ok(InstKind::Op),
            ("copy", None) => Ok(InstKind::Copy),
            ("copy-to", Some(reg)) => Ok(InstKind::CopyTo(find_register(&self.function.file, reg)?)),
            ("copy-from", Some(reg)) => Ok(InstKind::CopyFrom(find_register(&self.function.file, reg)?)),
            ("load", Some(slot)) => Ok(InstKind::Inserted(Inserted::Load(parse_slot(slot)?))),
            ("store", Some(slot)) => Ok(InstKind::Inserted(Inserted::Store(parse_slot(slot)?))),
            ("store-constant", Some(both)) => {
                let (slot, inst) = both.split_once('=').ok_or_else(|| Reason::unexpected("a slot and an instruction", both))?;
                Ok(InstKind::Inserted(Inserted::StoreConstant(parse_slot(slot)?, parse_inst(inst)?)))
            }
            ("rematerialise", Some(inst)) => Ok(InstKind::Inserted(Inserted::Rematerialise(parse_inst(inst)?))),
            ("parallel", None) => Ok(InstKind::Inserted(Inserted::Parallel)),
            _ => Err(Reason::unexpected("an instruction", word)),
        }
    }

    fn definition(&mut self, word: &str) -> Result<Operand, Reason> {
        let operand = self.operand(word)?;
        if operand.is_def() { Ok(operand) } else { Err(Reason::unexpected("a definition with a class", word)) }
    }

    /// `v1`, `v1(foldable)`, `v1:class` or `v1:class(of=v0,early,reuse=0,foldable)`.
    fn operand(&mut self, word: &str) -> Result<Operand, Reason> {
        let (name, marks) = match word.strip_suffix(')').and_then(|word| word.split_once('(')) {
            Some((name, marks)) => (name, marks.split(',').collect()),
            None => (word, Vec::new()),
        };
        let (value, role) = match name.split_once(':') {
            Some((value, class)) => (self.classified(value, class)?, Role::Def),
            None => (self.value(name)?, Role::Use),
        };
        let mut operand = Operand { role, ..Operand::using(value) };
        for mark in marks {
            match (role, mark.split_once('=')) {
                (Role::Def, None) if mark == "early" => operand.role = Role::EarlyDef,
                (Role::Def, Some(("reuse", uses))) => reuse(&mut operand, uses, mark)?,
                (Role::Def, Some(("of", original))) => {
                    let original = self.value(original)?;
                    self.pieces.insert(value, original);
                }
                (_, None) if mark == "foldable" => operand.foldable = true,
                _ => return Err(Reason::unexpected("an operand's mark", mark)),
            }
        }
        Ok(operand)
    }

    fn classified(&mut self, value: &str, class: &str) -> Result<Value, Reason> {
        let value = self.value(value)?;
        let class = find_class(&self.function.file, class)?;
        if *self.classes.entry(value).or_insert(class) == class { Ok(value) } else { Err(Reason::OtherClass(value)) }
    }

    fn value(&mut self, word: &str) -> Result<Value, Reason> {
        let value = parse_entity(word, "v").ok_or_else(|| Reason::unexpected("a value", word))?;
        self.seen.entry(value).or_insert(self.line);
        Ok(value)
    }

    fn target(&mut self, word: &str) -> Result<Block, Reason> {
        let block = parse_entity(word, "b").ok_or_else(|| Reason::unexpected("a block", word))?;
        self.targets.entry(block).or_insert(self.line);
        Ok(block)
    }

    fn registers(&self, names: &str) -> Result<RegSet, Reason> {
        names.split(',').map(|name| find_register(&self.function.file, name)).collect()
    }

    fn intern(&mut self, pins: PinSets) -> Pins {
        *self.interned.entry(pins).or_insert_with(|| Arc::make_mut(&mut self.function.pins).push(pins))
    }

    fn finish(mut self) -> Result<Function, ParseError> {
        let blocks = self.function.blocks.len();
        if let Some((block, &line)) = self.targets.iter().find(|(block, _)| block.index() >= blocks) {
            return Err(ParseError { line, reason: Reason::unknown("block", &block.to_string()) });
        }
        self.number_values()?;
        self.add_preds();
        self.add_phis()?;
        self.split_repeated_edges();
        Ok(self.function)
    }

    /// Puts a block on an edge if an earlier edge has the same ends: edges of a function are told apart by their ends.
    fn split_repeated_edges(&mut self) {
        let blocks = &mut self.function.blocks;
        let end = self.function.insts.len() as u32;
        // For each block, the last block that has been found to have an edge to it.
        let mut reached: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
        for from in (0..blocks.len()).map(Block::new) {
            for place in 0..blocks[from].succs.len() {
                let to = blocks[from].succs[place];
                if std::mem::replace(&mut reached[to], from.into()) != from.into() {
                    continue;
                }
                if let Some(column) = blocks[to].preds.iter().rposition(|&pred| pred == from) {
                    let frequency = blocks[from].frequency.min(blocks[to].frequency);
                    let edge = blocks.push(BlockData::on_edge(end, from, to, blocks[to].live_in_pins, frequency));
                    blocks[from].succs[place] = edge;
                    blocks[to].preds[column] = edge;
                }
            }
        }
    }

    /// Values are numbered without gaps: a number that is not used counts as a value without a class.
    fn number_values(&mut self) -> Result<(), ParseError> {
        for (&value, &line) in &self.seen {
            let next = self.function.values.next_key();
            match self.classes.get(&value) {
                Some(&class) if value == next => {
                    self.function.values.push(ValueData { class, of: self.pieces.get(&value).copied().into() })
                }
                Some(_) => return Err(ParseError { line, reason: Reason::NoClass(next) }),
                None => return Err(ParseError { line, reason: Reason::NoClass(value) }),
            };
        }
        Ok(())
    }

    fn add_preds(&mut self) {
        for from in self.function.blocks.keys() {
            for to in self.function.blocks[from].succs.clone() {
                self.function.blocks[to].preds.push(from);
            }
        }
        for (block, preds) in std::mem::take(&mut self.explicit_preds) {
            self.function.blocks[block].preds = preds;
        }
    }

    fn add_phis(&mut self) -> Result<(), ParseError> {
        for PhiRow { line, block, def, args } in std::mem::take(&mut self.rows) {
            let data = &mut self.function.blocks[block];
            let args = columns(&data.preds, args).map_err(|reason| ParseError { line, reason })?;
            data.phis.push(Phi { def, args });
        }
        Ok(())
    }
}

/// A φ's arguments in the order of the predecessors. There may be tens of thousands. A predecessor that occurs twice takes
/// the first of its arguments first.
fn columns(preds: &[Block], args: Vec<Argument>) -> Result<SmallVec<[PackedOption<Value>; 4]>, Reason> {
    let labelled = args.into_iter().enumerate().map(|(index, (label, value))| ((label, index), value));
    let mut left: BTreeMap<(Block, usize), PackedOption<Value>> = labelled.collect();
    let mut row = SmallVec::with_capacity(preds.len());
    for &pred in preds {
        let first = left.range((pred, 0)..=(pred, usize::MAX)).next().map(|(&key, _)| key);
        row.push(first.and_then(|key| left.remove(&key)).ok_or(Reason::NoArgument(pred))?);
    }
    match left.keys().min_by_key(|(_, index)| index) {
        Some(&(label, _)) => Err(Reason::NoPredecessor(label)),
        None => Ok(row),
    }
}

/// `1`, `1|2`, `1|2|3`, `1|none` or `1|2|none`.
fn reuse(operand: &mut Operand, uses: &str, mark: &str) -> Result<(), Reason> {
    let index = |word: &str| {
        let index = parse_u32(word).and_then(|index| u8::try_from(index).ok());
        index.ok_or_else(|| Reason::unexpected("an operand's index", mark))
    };
    let mut uses = uses.split('|');
    operand.reuse = Some(index(uses.next().unwrap_or_default())?);
    for word in uses {
        match word {
            "none" => operand.reuse_none = true,
            _ => {
                let among_the_first = index(word).ok().filter(|&index| index < 16);
                operand.reuse_instead.insert(among_the_first.ok_or_else(|| Reason::unexpected("an index below sixteen", mark))?);
            }
        }
    }
    Ok(())
}

/// A number in plain digits.
pub(super) fn parse_u32(digits: &str) -> Option<u32> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn parse_entity<E: EntityRef>(word: &str, prefix: &str) -> Option<E> {
    let number = word.strip_prefix(prefix).and_then(parse_u32)?;
    // The highest number stands for `None` in a `PackedOption`.
    (number < u32::MAX).then(|| E::new(number as usize))
}

fn parse_slot(word: &str) -> Result<Slot, Reason> {
    parse_entity(word, "s").ok_or_else(|| Reason::unexpected("a slot", word))
}

fn parse_inst(word: &str) -> Result<Inst, Reason> {
    parse_entity(word, "i").ok_or_else(|| Reason::unexpected("an instruction's number", word))
}

/// The property of an instruction that is written so.
fn flag(word: &str) -> Option<InstFlags> {
    InstFlags::from_name(&word.to_ascii_uppercase()).filter(|_| word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Undoes the printer's `\u{…}`.
fn unescape(name: &str) -> Result<String, Reason> {
    let mut parts = name.split("\\u{");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let escaped = part.split_once('}').and_then(|(code, rest)| {
            let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32)?;
            Some((code, rest))
        });
        let (code, rest) = escaped.ok_or_else(|| Reason::unexpected("a name with \\u{…}", name))?;
        plain.push(code);
        plain.push_str(rest);
    }
    Ok(plain)
}
