// Values that a block computes after a call that throws, and that a landing pad reads.
#ifndef CHORDAL_THROWS_H
#define CHORDAL_THROWS_H

#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// The call that a block is left from for its landing pads, or nothing. It stands between two labels, of which the second is the
// block's last.
llvm::MachineInstr *callThatThrows(llvm::MachineBasicBlock &MBB);

// Has landing pads read only what is known when they are entered. LLVM takes all that a block defines for known there, but control
// has left the block at its call. What can be computed before the call is: constants that a statepoint keeps. What the call leaves in
// a register is, in a landing pad, what the register had before the call (Swift's errors), or undefined.
//
// Answers whether that was possible for all values. The function is in SSA form before and after.
bool defineBeforeThrows(llvm::MachineFunction &MF);

} // namespace chordal
#endif
