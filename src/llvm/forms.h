// Other forms of two-address instructions: with operands exchanged, or with three addresses.
#ifndef CHORDAL_FORMS_H
#define CHORDAL_FORMS_H

#include "target.h"
#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// The use that can change places with the one of this index, which a definition is tied to; or CH_NONE.
unsigned commuted(llvm::MachineInstr &MI, unsigned UseIndex, Target &T);

// Whether what reads memory has to stay on its side of an instruction.
bool writesMemory(const llvm::MachineInstr &MI);

// Whether an instruction reads memory that may be written while the function runs.
bool readsMemory(const llvm::MachineInstr &MI);

// Whether an instruction that writes no memory does nothing but compute its definitions, from memory, too, apart from flags that nobody
// wants.
bool isMovable(const llvm::MachineInstr &MI, const Target &T);

// Whether there is a form of the instruction in which its definition may be in any register, if all that it reads is defined.
bool hasThreeAddresses(const llvm::MachineInstr &MI, Target &T);

// Whether an instruction computes something from one register, writes no flags, or has a form with three addresses that writes
// none, and costs hardly more than a move.
bool isCheap(const llvm::MachineInstr &MI, Target &T);

// An instruction in that form, before MI, of which all operands are in physical registers; null if LLVM has none after all.
// MI is to be erased afterwards.
llvm::MachineInstr *withThreeAddresses(llvm::MachineInstr &MI, Target &T);

} // namespace chordal
#endif
