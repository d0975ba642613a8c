// Other ways to write an instruction, and other places for it.
#ifndef CHORDAL_FORMS_H
#define CHORDAL_FORMS_H

#include "target.h"
#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// The use that can be exchanged with the use of this index, which a definition is tied to; CH_NONE if there is none.
unsigned commuted(llvm::MachineInstr &MI, unsigned UseIndex, Target &T);

// Whether instructions that read memory must not move past this one.
bool writesMemory(const llvm::MachineInstr &MI);

// Whether an instruction reads memory that may be written while the function runs.
bool readsMemory(const llvm::MachineInstr &MI);

// Whether an instruction that writes no memory only computes its definitions, possibly from memory, and dead flags.
bool isMovable(const llvm::MachineInstr &MI, const Target &T);

} // namespace chordal
#endif
