// Registers that are nobody's to allocate.
#ifndef CHORDAL_RESERVED_H
#define CHORDAL_RESERVED_H

#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Reads a reserved register where a copy of it was read (the stack pointer, below which arguments of calls are put), if it still
// holds the same there. The copies are gone: there is nothing to allocate. LLVM's coalescer does so, too.
void readReservedRegisters(llvm::MachineFunction &MF);

} // namespace chordal
#endif
