// Liveness of physical registers: live-in lists, and operands' flags.
#ifndef CHORDAL_LIVEINS_H
#define CHORDAL_LIVEINS_H

#include "target.h"

namespace chordal {

// Sets the blocks' live-in lists and the operands' kill flags. LLVM's fullyRecomputeLiveIns and recomputeLivenessFlags have the
// same result, but pass a block's instructions whenever a later block has changed, which took two thirds of the time that it
// takes to apply an allocation. Here, each block's instructions are passed once to find out what it reads and writes.
//
// Returns whether a register seems to be read after a call that destroys it. This is the result of an allocation if it was based
// on wrong information about calls, which its checker cannot know. It also happens if the value that is read is unused, because a
// φ takes an undefined one.
bool setLiveness(llvm::MachineFunction &MF, Target &T);

// The registers that the unwinder writes before it enters a landing pad.
llvm::SmallVector<llvm::MCRegister, 2> writtenByUnwinder(const llvm::MachineFunction &MF);

} // namespace chordal
#endif
