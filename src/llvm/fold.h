// Operands that instructions access in spill slots themselves.
#ifndef CHORDAL_FOLD_H
#define CHORDAL_FOLD_H

#include "target.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <optional>

namespace chordal {

// The instruction anew, before MI, with an address on a stack object in place of one use; null if LLVM has none that is the
// same in all else. There may be two indices, of uses of one value (`test %0, %0`): the address takes the place of the first,
// and a zero that of the second (`cmp [object], 0`). Or of a definition and the use that it overwrites: the address takes the
// place of both, and the instruction changes the object. MI is to be erased afterwards: it may have been changed.
llvm::MachineInstr *fold(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, int Object);

// What an instruction loads from; it may be gone when that is wanted.
struct Source {
  llvm::SmallVector<llvm::MachineOperand, x86::AddressOperands> Address;
  llvm::SmallVector<llvm::MachineMemOperand *, 1> Accesses;
};

// Whether an instruction does nothing but load a value as wide as registers of this class are in spill slots, from where it has
// been since the function was entered, and, as an operand, could be read by any instruction that can read a slot.
bool isGiven(llvm::MachineInstr &MI, const ChClass &Class);

// From where such an instruction does.
Source source(llvm::MachineInstr &MI);

// Has what fold() has made access that in place of the stack object, from its operand `First` on.
void accessInstead(llvm::MachineInstr &Folded, unsigned First, const Source &From);

// By how many operands fold() makes an instruction longer.
unsigned addedOperands(const llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices);

// Knows the operands of a function in SSA form that fold() can fold.
class Folder {
public:
  Folder(llvm::MachineFunction &MF, Target &T);
  Folder(const Folder &) = delete;
  ~Folder();

  // Whether fold() has such an instruction for values of this (exported) class.
  bool foldable(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class);

private:
  uint64_t situation(const llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class) const;
  bool probe(llvm::MachineInstr &MI, llvm::ArrayRef<unsigned> Indices, uint32_t Class);

  llvm::MachineFunction &MF;
  Target &T;
  const uint64_t ForSize;    // whether the function is to be small, and smallest
  std::optional<int> Object; // a stack object that is removed with this
};

} // namespace chordal
#endif
