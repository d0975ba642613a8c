// Reserved registers, which cannot be allocated.
#ifndef CHORDAL_RESERVED_H
#define CHORDAL_RESERVED_H

#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Replaces reads of a copy of a reserved register by reads of the register itself, if it still has the same content there, and
// removes the copies: then there is nothing to allocate. (The stack pointer is copied so, to store arguments of calls.) LLVM's
// coalescer does the same.
void readReservedRegisters(llvm::MachineFunction &MF);

} // namespace chordal
#endif
