//! Registers, sets of registers, and the register file.
//!
//! Nothing here knows a particular processor: the file is data that the target, or a test, supplies.

use cranelift_entity::{PrimaryMap, entity_impl};
use std::fmt;

/// A physical register, as an index into [`RegisterFile::regs`]: the widest of its family (`rax`, not `eax` or `al`).
///
/// A value that needs only a part of a register occupies all of it, so two different `Reg`s never overlap.
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
    /// The largest number of registers in a file.
    pub const CAPACITY: usize = 128;
    pub const EMPTY: RegSet = RegSet(0);
    /// The set of all possible registers.
    pub const ALL: RegSet = RegSet(u128::MAX);

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

    pub fn len(self) -> usize {
        // 64-bit processors count each half separately, some of them in many steps. The upper half is seldom in use.
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

    /// The member with the lowest number.
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

/// A register bank: registers between which values can move (general purpose, vector, mask, x87, …).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bank(u32);
entity_impl!(Bank, "bank");

/// A register class: the registers in which a value may live, and the memory that it takes in a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegClass(u32);
entity_impl!(RegClass, "class");

/// How two registers of a bank can exchange their contents without a third.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwapSupport {
    /// By one exchange instruction; also by three `xor`s, which overwrite the status registers.
    Exchange,
    /// By three `xor`s, which leave the status registers alone (vectors, masks).
    Xor,
    /// Not at all: one register of the bank is kept free for breaking cycles (x87).
    Never,
}

#[derive(Clone, Debug)]
pub struct RegInfo {
    /// The name of the widest view in assembly: lower case, without a sigil.
    pub name: String,
    /// `None` for a status register (condition flags), in which no value ever lives.
    pub bank: Option<Bank>,
}

#[derive(Clone, Debug)]
pub struct BankInfo {
    pub name: String,
    pub swap: SwapSupport,
    /// A bank whose registers can hold what is in this one's, by one move there and one back.
    pub beside: Option<Bank>,
}

#[derive(Clone, Debug)]
pub struct ClassInfo {
    pub name: String,
    pub bank: Bank,
    /// The registers in which a value of this class may live, preferred ones first. Reserved registers are not among them.
    pub order: Vec<Reg>,
    /// `order` as a set.
    pub regs: RegSet,
    /// Size of a slot in bytes; positive (an x87 register takes 10). It orders the classes of a bank by width.
    pub slot_size: u32,
    /// Alignment of a slot in bytes, a power of two.
    pub slot_align: u32,
}

/// The registers of a target that one function may use. Reserved registers, and those that `--registers` leaves out, are in
/// no class.
#[derive(Clone, Debug, Default)]
pub struct RegisterFile {
    /// Indexed by [`Reg::index`].
    pub regs: Vec<RegInfo>,
    pub banks: PrimaryMap<Bank, BankInfo>,
    pub classes: PrimaryMap<RegClass, ClassInfo>,
    /// Registers whose content a function must preserve. Using one costs a store and a load.
    pub callee_saved: RegSet,
    /// Registers whose names make an instruction a byte longer, unless it needs that byte anyway.
    pub prefixed: RegSet,
    /// Registers that `--registers` leaves out, so that they are in no class. A value that the program puts into one may
    /// stay there.
    pub excluded: RegSet,
    /// Status registers (condition flags). They are never allocated, but code that overwrites them must not be inserted
    /// where one is live.
    pub status: RegSet,
}

impl RegisterFile {
    pub fn name(&self, reg: Reg) -> &str {
        &self.regs[reg.index()].name
    }

    pub fn by_name(&self, name: &str) -> Option<Reg> {
        self.regs.iter().position(|r| r.name == name).map(Reg::new)
    }

    /// The bank of an allocatable register.
    pub fn bank(&self, reg: Reg) -> Option<Bank> {
        self.regs[reg.index()].bank
    }

    /// All registers that some class of the bank has.
    pub fn allocatable(&self, bank: Bank) -> RegSet {
        self.classes.values().filter(|c| c.bank == bank).fold(RegSet::EMPTY, |set, c| set | c.regs)
    }

    /// The wider of two classes of one bank; if they are equally wide, the one with more registers.
    pub fn wider(&self, a: RegClass, b: RegClass) -> RegClass {
        let width = |class: RegClass| (self.classes[class].slot_size, self.classes[class].regs.len());
        if width(b) > width(a) { b } else { a }
    }

    /// The class with which memory of this size is accessed for a value of this class.
    ///
    /// Registers that hold more than memory does (those of x87, which do not swap either) have another form in memory for
    /// each width. Of other registers, any part can be accessed.
    pub fn memory_form(&self, class: RegClass, size: u32) -> RegClass {
        let ClassInfo { bank, slot_size, regs, .. } = self.classes[class];
        if slot_size == size || self.banks[bank].swap != SwapSupport::Never {
            return class;
        }
        let fits = |c: &ClassInfo| c.bank == bank && c.slot_size == size && regs.is_subset(c.regs);
        self.classes.iter().find(|(_, c)| fits(c)).map_or(class, |(found, _)| found)
    }

    /// The class with which a value of one class is copied to a name of another: if registers and classes allow, one that
    /// carries all of it.
    pub fn carrier_between(&self, from: RegClass, to: RegClass, regs: RegSet) -> RegClass {
        let wide = self.wider(to, from);
        // The other class says how much of the value is needed, or is present.
        let narrow = if wide == to { from } else { to };
        let carries = |class: &RegClass| regs.is_subset(self.classes[*class].regs);
        let carrier = [wide, narrow].map(|class| self.carrier(class, regs)).into_iter().find(carries);
        carrier.or_else(|| self.wider_carrier(wide, regs)).unwrap_or(wide)
    }

    /// The narrowest wider class of the bank that has these registers. It copies more than the value, which does no harm
    /// between registers.
    fn wider_carrier(&self, class: RegClass, regs: RegSet) -> Option<RegClass> {
        let ClassInfo { bank, slot_size, .. } = self.classes[class];
        let fits = |c: &ClassInfo| c.bank == bank && c.slot_size > slot_size && regs.is_subset(c.regs);
        let wider = self.classes.iter().filter(|(_, c)| fits(c));
        wider.min_by_key(|(_, c)| c.slot_size).map(|(class, _)| class)
    }

    /// A class as wide as this one that has all of these registers of its bank. Contents of this class can be moved or
    /// swapped with it, even if some of the registers are not in the class itself.
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
