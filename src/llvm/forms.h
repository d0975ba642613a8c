// Other ways to write an instruction, and other places for it.
#ifndef CHORDAL_FORMS_H
#define CHORDAL_FORMS_H

#include "target.h"
#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// Whether two uses can be exchanged: there is an instruction that computes the same and reads each value with the other operand.
// A definition may be tied to the first.
bool isExchangeable(llvm::MachineInstr &MI, unsigned A, unsigned B, Target &T);

// Exchanges two such uses. Where a definition is tied to the first, it then overwrites what the second was.
void exchange(llvm::MachineInstr &MI, unsigned A, unsigned B);

// Whether instructions that read memory must not move past this one.
bool writesMemory(const llvm::MachineInstr &MI);

// Whether an instruction reads memory that may be written while the function runs.
bool readsMemory(const llvm::MachineInstr &MI);

// Whether an instruction that writes no memory only computes its definitions, possibly from memory, and dead flags.
bool isMovable(const llvm::MachineInstr &MI, const Target &T);

} // namespace chordal
#endif
