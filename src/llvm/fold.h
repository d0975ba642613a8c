// Operands that instructions access directly in spill slots.
#ifndef CHORDAL_FOLD_H
#define CHORDAL_FOLD_H

#include "target.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <optional>

namespace chordal {

// Inserts, before MI, the instruction with the address of a stack object in place of a use. Returns null if LLVM has none that is
// otherwise the same. There may be two indices, of uses of one value (`test %0, %0`): the address takes the place of the first,
// and a zero that of the second (`cmp [object], 0`). They may also be a definition and the use that it overwrites: the address
// takes the place of both, and the instruction changes the object. The caller erases MI, which may have been changed.
llvm::MachineInstr *fold(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, int Object);

// The memory that an instruction loads from. The instruction may be gone when this is used.
struct Source {
  llvm::SmallVector<llvm::MachineOperand, x86::AddressOperands> Address;
  llvm::SmallVector<llvm::MachineMemOperand *, 1> Accesses;
};

// Whether an instruction only loads a value that has been in memory since the function was entered, as wide as registers of this
// class are in spill slots, and from an address that any instruction can read that can read a slot.
bool isGiven(llvm::MachineInstr &MI, const ChClass &Class);

// The memory that such an instruction loads from.
Source source(llvm::MachineInstr &MI);

// Replaces the stack object in an instruction that fold() has made by that memory, from its operand `First` on.
void accessInstead(llvm::MachineInstr &Folded, unsigned First, const Source &From);

// The number of operands that fold() adds to an instruction.
unsigned addedOperands(const llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices);

// Finds out which operands of a function in SSA form fold() can fold.
class Folder {
public:
  Folder(llvm::MachineFunction &MF, Target &T);
  Folder(const Folder &) = delete;
  ~Folder();

  // Whether fold() succeeds for values of this (exported) class.
  bool foldable(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class);

  // Whether it succeeds whichever use a definition overwrites, of those that it can overwrite, as long as it is not this one. The
  // use may have to be exchanged with another first: see place().
  bool foldableAlways(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class);

  // Where fold() would read a use: its index, or that of a use to exchange it with; CH_NONE if nowhere.
  unsigned place(llvm::MachineInstr &MI, unsigned Index, uint32_t Class);

private:
  uint64_t situation(const llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class) const;
  bool probe(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class);
  bool probeAlways(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class);

  llvm::MachineFunction &MF;
  Target &T;
  const uint64_t ForSize;    // bits: the function has to be small, or as small as possible
  std::optional<int> Object; // a stack object for trials, which the destructor removes
};

} // namespace chordal
#endif
