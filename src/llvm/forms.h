// What else can be done with an instruction: exchanging its operands, moving it.
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

} // namespace chordal
#endif
