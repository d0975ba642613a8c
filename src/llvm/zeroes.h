// Zeroes: those that bytes are inserted into, and those of whole registers.
#ifndef CHORDAL_ZEROES_H
#define CHORDAL_ZEROES_H

#include "target.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Makes the insertion of a byte into a zeroed register the zero extension that it was before X86FixupSetCC, which runs in front
// of allocation: that pass counts on the allocator to write the byte (a condition) into the zeroed register itself. Here a value
// has a register as a whole, so zero and byte would take two, and a copy.
void extendInsteadOfZeroing(llvm::MachineFunction &MF, Target &T);

// Makes zeroes of 64 bits one instruction: selected code zeroes the low half, and takes the register as a whole from there on.
// A constant is computed again wherever that is cheaper than to keep it; what is made of two instructions is none.
void zeroWholeRegisters(llvm::MachineFunction &MF, Target &T);

// Has such zeroes made by exclusive-or again where nobody wants the flags. The function is in physical registers, and its
// live-in lists are right.
void zeroByExclusiveOr(llvm::MachineFunction &MF, Target &T);

} // namespace chordal
#endif
