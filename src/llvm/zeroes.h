// Registers that are zeroed so that a part of them can be written.
#ifndef CHORDAL_ZEROES_H
#define CHORDAL_ZEROES_H

#include "target.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Makes the insertion of a byte into a zeroed register the zero extension that it was before X86FixupSetCC, which runs in front
// of allocation: that pass counts on the allocator to write the byte (a condition) into the zeroed register itself. Here a value
// has a register as a whole, so zero and byte would take two, and a copy.
void extendInsteadOfZeroing(llvm::MachineFunction &MF, Target &T);

} // namespace chordal
#endif
