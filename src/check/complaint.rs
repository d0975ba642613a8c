//! Complaints of the checker, and how they are worded.

use crate::machine::{Edit, Function, Inst, Location, Point, Reg, RegClass, RegisterFile, Slot, Value};
use std::fmt;
use std::sync::Arc;

/// Something that is wrong with an overlay.
#[derive(Clone, Debug)]
pub struct Complaint {
    /// For an operand, the point of its instruction. `None` for the overlay as a whole.
    pub at: Option<Point>,
    pub subject: Subject,
    pub fault: Fault,
    file: Arc<RegisterFile>,
}

/// The part of the overlay or function that a complaint is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The overlay, or the function.
    Whole,
    /// The instruction there.
    Instruction,
    /// The operand with this index in the instruction.
    Operand(usize),
    /// An edit there.
    Edit(Edit),
    /// A debug use of this value.
    Variable(Value),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// There has to be one location for each operand, and for each debug use.
    Count {
        what: &'static str,
        expected: usize,
        found: usize,
    },
    /// The function contains spill code already.
    NotImported,
    /// Names a register, slot, class or instruction that does not exist.
    Unknown,
    NoSuchPoint,
    /// The edit comes after one with a later point.
    Unsorted,
    BehindTerminator,
    BeforeLabels,
    /// A location does not hold the value.
    Missing {
        value: Value,
        location: Location,
        found: Vec<Value>,
    },
    OutsideClass {
        reg: Reg,
        class: RegClass,
    },
    /// A slot is too small, or not aligned enough, for the class.
    SlotUnfit {
        slot: Slot,
        class: RegClass,
    },
    /// Something other than a foldable use accesses memory outside the frame.
    NotOfFrame {
        slot: Slot,
    },
    /// An operand that is not foldable, of an instruction other than a copy, is in a slot.
    NotFoldable {
        slot: Slot,
    },
    /// An operand is in a slot, but the instruction reads its value through another operand as well.
    ReadTwice {
        slot: Slot,
    },
    /// Several operands of an instruction other than a copy are in slots.
    FoldedTwice,
    /// A copy from one slot to another.
    MemoryToMemory,
    /// A register is written while the program keeps something in it.
    OverwritesPin {
        reg: Reg,
    },
    /// A definition is in a register that the instruction writes by itself. An early definition is in one that it names at
    /// all.
    OverlapsPin {
        reg: Reg,
    },
    /// Two definitions of an instruction share a register.
    SharedDefinition {
        reg: Reg,
    },
    /// A use is in a register that the instruction writes before it has read all operands.
    OverwrittenEarly {
        reg: Reg,
    },
    /// The operand of an instruction that is executed has no location.
    Nowhere,
    /// A definition is not in the location of the use that it overwrites.
    ReuseDiffers {
        definition: Location,
        usage: Location,
    },
    /// The bank has no such swap, or a register is swapped with itself.
    BadSwap,
    NotMovable {
        inst: Inst,
    },
    /// The place of a recorded operand is written to before it is recorded.
    Displaced,
    NotRematerialisable {
        inst: Inst,
    },
    NotGiven {
        inst: Inst,
    },
    NotStorable {
        inst: Inst,
    },
}

impl Complaint {
    pub(super) fn new(function: &Function, at: Option<Point>, subject: Subject, fault: Fault) -> Self {
        Complaint { at, subject, fault, file: function.file.clone() }
    }

    fn reg(&self, reg: Reg) -> &str {
        self.file.regs.get(reg.index()).map_or("no register", |r| &r.name)
    }

    fn location(&self, location: Location) -> String {
        match location {
            Location::Reg(reg) => self.reg(reg).to_string(),
            Location::Slot(slot) => slot.to_string(),
        }
    }

    fn edit(&self, edit: Edit) -> String {
        match edit {
            Edit::Load { to, from, .. } => format!("load {} from {from}", self.reg(to)),
            Edit::Store { from, to, .. } => format!("store {} to {to}", self.reg(from)),
            Edit::Move { to, from, .. } => format!("move {} to {}", self.reg(from), self.reg(to)),
            Edit::Swap { a, b, kind, .. } => format!("swap {} and {} by {kind:?}", self.reg(a), self.reg(b)),
            Edit::Perform { inst, .. } => format!("perform {inst}"),
            Edit::StoreConstant { to, inst } => format!("store what {inst} computes to {to}"),
            Edit::Rematerialise { to, inst, from: None } => format!("rematerialise {} by {inst}", self.reg(to)),
            Edit::Rematerialise { to, inst, from: Some(from) } => {
                format!("rematerialise {} by {inst} from {}", self.reg(to), self.reg(from))
            }
        }
    }

    fn fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Fault::Nowhere => write!(f, "is nowhere"),
            Fault::Count { what, expected, found } => write!(f, "expected {expected} locations of {what}, found {found}"),
            Fault::NotImported => write!(f, "the function checked is not the imported one"),
            Fault::Unknown => write!(f, "names a register, slot, class or instruction that does not exist"),
            Fault::NoSuchPoint => write!(f, "there is no such point"),
            Fault::Unsorted => write!(f, "comes after an edit with a later point"),
            Fault::BehindTerminator => write!(f, "is after a terminator"),
            Fault::BeforeLabels => write!(f, "is before the block's labels"),
            Fault::Missing { value, location, ref found } => self.missing(f, value, location, found),
            Fault::OutsideClass { reg, class } => {
                write!(f, "{} is not in class {}", self.reg(reg), self.file.classes[class].name)
            }
            Fault::SlotUnfit { slot, class } => {
                write!(f, "{slot} is too small or not aligned for class {}", self.file.classes[class].name)
            }
            Fault::NotOfFrame { slot } => write!(f, "accesses {slot}, which can only be read, and in place of a register"),
            Fault::NotFoldable { slot } => write!(f, "is in {slot}, but the instruction cannot access a slot there"),
            Fault::ReadTwice { slot } => write!(f, "is in {slot}, but the instruction also reads the value in another operand"),
            Fault::FoldedTwice => write!(f, "accesses more than one slot"),
            Fault::MemoryToMemory => write!(f, "copies from one slot to another"),
            Fault::OverwritesPin { reg } => write!(f, "overwrites {}, in which the program keeps something", self.reg(reg)),
            Fault::OverlapsPin { reg } => write!(f, "is in {}, which the instruction names itself", self.reg(reg)),
            Fault::SharedDefinition { reg } => write!(f, "is in {}, as another definition is", self.reg(reg)),
            Fault::OverwrittenEarly { reg } => {
                write!(f, "is in {}, which the instruction writes before it has read all operands", self.reg(reg))
            }
            Fault::ReuseDiffers { definition, usage } => {
                let (definition, usage) = (self.location(definition), self.location(usage));
                write!(f, "is in {definition}, but the use that it overwrites is in {usage}")
            }
            Fault::BadSwap => write!(f, "these registers cannot be swapped like this"),
            Fault::NotMovable { inst } => write!(f, "{inst} cannot be executed here, once, instead of where it stands"),
            Fault::Displaced => write!(f, "where the operand is, something else is written before that is recorded"),
            Fault::NotGiven { inst } => write!(f, "what {inst} computes cannot be read from memory"),
            Fault::NotStorable { inst } => write!(f, "what {inst} computes cannot be written to memory at once"),
            Fault::NotRematerialisable { inst } => write!(f, "{inst} cannot be executed again"),
        }
    }

    fn missing(&self, f: &mut fmt::Formatter<'_>, value: Value, location: Location, found: &[Value]) -> fmt::Result {
        write!(f, "expected {value} in {}, which holds ", self.location(location))?;
        if found.is_empty() {
            return write!(f, "no value");
        }
        let names: Vec<String> = found.iter().map(Value::to_string).collect();
        write!(f, "{}", names.join(" "))
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Point { block, index }) = self.at {
            match self.subject {
                Subject::Instruction | Subject::Operand(_) => write!(f, "{block}, instruction {index}")?,
                _ => write!(f, "{block}, before instruction {index}")?,
            }
        }
        match self.subject {
            Subject::Whole => write!(f, "overlay: ")?,
            Subject::Instruction => write!(f, ": ")?,
            Subject::Operand(operand) => write!(f, ", operand {operand}: ")?,
            Subject::Edit(edit) => write!(f, ", {}: ", self.edit(edit))?,
            Subject::Variable(value) => write!(f, ", variable {value}: ")?,
        }
        self.fault(f)
    }
}
