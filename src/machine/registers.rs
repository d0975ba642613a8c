//! Registers, sets of registers and the register file.
//!
//! Nothing here knows a particular processor: the file is data that the target (or a test fixture) supplies.

use cranelift_entity::{PrimaryMap, entity_impl};
use std::fmt;

/// A physical register: the widest one of its family (`rax`, not `eax` or `al`), as an index into [`RegisterFile::regs`].
///
/// A value that needs only a part of a register occupies all of it, so two `Reg`s never alias.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(u8);

impl Reg {
    /// The register with this index, which must be below [`RegSet::CAPACITY`].
    pub fn new(index: usize) -> Self {
        assert!(index < RegSet::CAPACITY, "register index {index} does not fit a RegSet");
        Reg(index as u8)
    }

    /// The index into [`RegisterFile::regs`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// A set of physical registers, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RegSet(u128);

impl RegSet {
    /// How many registers a file can have.
    pub const CAPACITY: usize = 128;
    /// The set without members.
    pub const EMPTY: RegSet = RegSet(0);
    /// The set of all that there can be.
    pub const ALL: RegSet = RegSet(u128::MAX);

    /// The set of one register.
    pub fn only(reg: Reg) -> Self {
        RegSet(1 << reg.0)
    }

    /// The set whose members are the set bits.
    pub fn from_bits(bits: u128) -> Self {
        RegSet(bits)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of members.
    pub fn len(self) -> usize {
        // Processors of 64 bits count half at a time, some of them in many steps; the upper half is seldom in use.
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        (low.count_ones() + if high == 0 { 0 } else { high.count_ones() }) as usize
    }

    pub fn contains(self, reg: Reg) -> bool {
        self.0 >> reg.0 & 1 != 0
    }

    pub fn insert(&mut self, reg: Reg) {
        self.0 |= 1 << reg.0;
    }

    pub fn remove(&mut self, reg: Reg) {
        self.0 &= !(1 << reg.0);
    }

    pub fn intersects(self, other: RegSet) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_subset(self, other: RegSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// The lowest-numbered member.
    pub fn first(self) -> Option<Reg> {
        (self.0 != 0).then(|| Reg(self.0.trailing_zeros() as u8))
    }

    /// The members in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Reg> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let reg = rest.first()?;
            rest.0 &= rest.0 - 1;
            Some(reg)
        })
    }
}

impl std::ops::BitOr for RegSet {
    type Output = RegSet;
    fn bitor(self, other: RegSet) -> RegSet {
        RegSet(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for RegSet {
    fn bitor_assign(&mut self, other: RegSet) {
        self.0 |= other.0;
    }
}

impl std::ops::BitAnd for RegSet {
    type Output = RegSet;
    fn bitand(self, other: RegSet) -> RegSet {
        RegSet(self.0 & other.0)
    }
}

impl std::ops::Sub for RegSet {
    type Output = RegSet;
    fn sub(self, other: RegSet) -> RegSet {
        RegSet(self.0 & !other.0)
    }
}

impl FromIterator<Reg> for RegSet {
    fn from_iter<I: IntoIterator<Item = Reg>>(regs: I) -> Self {
        let mut set = RegSet::EMPTY;
        for reg in regs {
            set.insert(reg);
        }
        set
    }
}

impl fmt::Debug for RegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A register bank: registers that values can move between (general purpose, vector, mask, x87, …).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bank(u32);
entity_impl!(Bank, "bank");

/// A register class: what a value may live in, and how much memory it takes when it does not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegClass(u32);
entity_impl!(RegClass, "class");

/// How two registers of a bank can trade their contents without a third.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwapSupport {
    /// One exchange instruction; also three `xor`s, which overwrite the status registers.
    Exchange,
    /// Three `xor`s, which leave the status registers alone (vectors, masks).
    Xor,
    /// Not at all: one register of the bank is kept free for breaking cycles (x87).
    Never,
}

/// A register's name and bank.
#[derive(Clone, Debug)]
pub struct RegInfo {
    /// As assembly writes the widest view, lower case, without a sigil.
    pub name: String,
    /// `None` for a status register (condition flags), which no value ever lives in.
    pub bank: Option<Bank>,
}

/// What a bank is called and how its registers swap.
#[derive(Clone, Debug)]
pub struct BankInfo {
    pub name: String,
    pub swap: SwapSupport,
}

/// What a class allows.
#[derive(Clone, Debug)]
pub struct ClassInfo {
    pub name: String,
    pub bank: Bank,
    /// The registers that a value of this class may live in, preferred ones first; reserved ones are not among them.
    pub order: Vec<Reg>,
    /// `order` as a set.
    pub regs: RegSet,
    /// Size of a spill slot in bytes, positive (an x87 register takes 10); it orders the classes of one bank by width.
    pub slot_size: u32,
    /// Alignment of a spill slot in bytes, a power of two.
    pub slot_align: u32,
}

/// The registers of a target as one function may use them (reserved registers and `--registers` already taken out).
#[derive(Clone, Debug, Default)]
pub struct RegisterFile {
    /// Indexed by [`Reg::index`].
    pub regs: Vec<RegInfo>,
    pub banks: PrimaryMap<Bank, BankInfo>,
    pub classes: PrimaryMap<RegClass, ClassInfo>,
    /// Registers whose content a function must preserve; using one costs a store and a load.
    pub callee_saved: RegSet,
    /// Registers that it takes an instruction a byte more to name, if it is not that long anyway.
    pub prefixed: RegSet,
    /// Registers that `--registers` takes out, so that they are in no class. Where the program puts values in them, these may stay
    /// there.
    pub excluded: RegSet,
    /// Status registers (condition flags): never allocated, but code that overwrites them may not be put where one is live.
    pub status: RegSet,
}

impl RegisterFile {
    pub fn name(&self, reg: Reg) -> &str {
        &self.regs[reg.index()].name
    }

    /// The register of this name.
    pub fn by_name(&self, name: &str) -> Option<Reg> {
        self.regs.iter().position(|r| r.name == name).map(Reg::new)
    }

    /// The bank of an allocatable register.
    pub fn bank(&self, reg: Reg) -> Option<Bank> {
        self.regs[reg.index()].bank
    }

    /// All registers that some class of the bank allows.
    pub fn allocatable(&self, bank: Bank) -> RegSet {
        self.classes.values().filter(|c| c.bank == bank).fold(RegSet::EMPTY, |set, c| set | c.regs)
    }

    /// The wider of two classes of one bank; of equally wide ones, the one with more registers.
    pub fn wider(&self, a: RegClass, b: RegClass) -> RegClass {
        let width = |class: RegClass| (self.classes[class].slot_size, self.classes[class].regs.len());
        if width(b) > width(a) { b } else { a }
    }

    /// The class to access memory of this size with, for what a class holds. Registers that hold more than memory does (x87's,
    /// which do not swap either) have another form in memory for each width; of others, any part can be accessed.
    pub fn memory_form(&self, class: RegClass, size: u32) -> RegClass {
        let ClassInfo { bank, slot_size, regs, .. } = self.classes[class];
        if slot_size == size || self.banks[bank].swap != SwapSupport::Never {
            return class;
        }
        let fits = |c: &ClassInfo| c.bank == bank && c.slot_size == size && regs.is_subset(c.regs);
        self.classes.iter().find(|(_, c)| fits(c)).map_or(class, |(found, _)| found)
    }

    /// What carries a value of one class to a name of another: all of it, where registers and classes allow.
    pub fn carrier_between(&self, from: RegClass, to: RegClass, regs: RegSet) -> RegClass {
        let wide = self.wider(to, from);
        // The other class says how much of the value is wanted, or is there.
        let narrow = if wide == to { from } else { to };
        let carries = |class: &RegClass| regs.is_subset(self.classes[*class].regs);
        let carrier = [wide, narrow].map(|class| self.carrier(class, regs)).into_iter().find(carries);
        carrier.or_else(|| self.wider_carrier(wide, regs)).unwrap_or(wide)
    }

    /// The narrowest class of the same bank that is wider, and has these registers: it carries more than there is, which does no
    /// harm between registers.
    fn wider_carrier(&self, class: RegClass, regs: RegSet) -> Option<RegClass> {
        let ClassInfo { bank, slot_size, .. } = self.classes[class];
        let fits = |c: &ClassInfo| c.bank == bank && c.slot_size > slot_size && regs.is_subset(c.regs);
        let wider = self.classes.iter().filter(|(_, c)| fits(c));
        wider.min_by_key(|(_, c)| c.slot_size).map(|(class, _)| class)
    }

    /// A class like this one that has these registers of its bank: what moves or swaps the contents of a class between
    /// registers of which not all are its own.
    pub fn carrier(&self, class: RegClass, regs: RegSet) -> RegClass {
        let ClassInfo { bank, slot_size, regs: own, .. } = self.classes[class];
        if regs.is_subset(own) {
            return class;
        }
        let fits = |c: &ClassInfo| c.bank == bank && c.slot_size == slot_size && regs.is_subset(c.regs);
        self.classes.iter().find(|(_, c)| fits(c)).map_or(class, |(found, _)| found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_behave_as_sets() {
        let a: RegSet = [0, 3, 127].into_iter().map(Reg::new).collect();
        let b: RegSet = [3, 5].into_iter().map(Reg::new).collect();
        assert_eq!(a.len(), 3);
        assert_eq!((a & b).iter().collect::<Vec<_>>(), [Reg::new(3)]);
        assert_eq!((a | b).len(), 4);
        assert_eq!((a - b).iter().collect::<Vec<_>>(), [Reg::new(0), Reg::new(127)]);
        assert!(a.intersects(b) && !(a - b).intersects(b));
        assert!((a & b).is_subset(a) && !a.is_subset(b));
        assert_eq!(RegSet::EMPTY.first(), None);
    }
}
