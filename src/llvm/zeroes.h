// Zeroes: those that bytes are inserted into, and those that are not of 32 bits.
#ifndef CHORDAL_ZEROES_H
#define CHORDAL_ZEROES_H

#include "target.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Makes the insertion of a byte into a zeroed register the zero extension that it was before X86FixupSetCC, which runs in front
// of allocation: that pass counts on the allocator to write the byte (a condition) into the zeroed register itself. Here a value
// has a register as a whole, so zero and byte would take two, and a copy.
void extendInsteadOfZeroing(llvm::MachineFunction &MF, Target &T);

// Makes zeroes that are not of 32 bits by one instruction each: selected code zeroes 32 bits, and takes a part of the register,
// or all of it, in another one. A constant is computed again wherever that is cheaper than to keep it; what is made of two
// instructions is none.
void zeroInOneInstruction(llvm::MachineFunction &MF, Target &T);

// Has such zeroes made by exclusive-or again where nobody wants the flags. The function is in physical registers, and its
// live-in lists are right.
void zeroByExclusiveOr(llvm::MachineFunction &MF, Target &T);

} // namespace chordal
#endif
