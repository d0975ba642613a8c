// Values that a block computes after a call that throws, and that a landing pad reads.
#ifndef CHORDAL_THROWS_H
#define CHORDAL_THROWS_H

#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// The call from which control leaves a block for its landing pads; null if there is none. It stands between two labels, of which
// the second is the block's last.
llvm::MachineInstr *callThatThrows(llvm::MachineBasicBlock &MBB);

// Makes landing pads read only values that are defined when they are entered. LLVM assumes that all values of a block are, but
// control has left the block at its call. Values that can be computed before the call are moved there: constants that a
// statepoint keeps. A register that the call writes has, in a landing pad, the value that it had before the call (Swift's
// errors), or is undefined.
//
// Returns whether that was possible for all values. The function is in SSA form before and after.
bool defineBeforeThrows(llvm::MachineFunction &MF);

} // namespace chordal
#endif
