// What is live where in a function in physical registers: live-in lists, and operands' flags.
#ifndef CHORDAL_LIVEINS_H
#define CHORDAL_LIVEINS_H

#include "target.h"

namespace chordal {

// Sets the blocks' live-in lists, and says of each operand whether it is the last of its register. LLVM's fullyRecomputeLiveIns
// and recomputeLivenessFlags come to the same, but pass a block's instructions whenever a block behind it has changed, which took
// two thirds of all time that carrying an allocation over does. Here, a block is passed once for what it reads and writes.
//
// Answers whether a register seems to be read behind a call that destroys it. That is what an allocation comes to if what it was
// told about calls is wrong, which its checker cannot know; or nobody wants what is read, since a φ takes what is undefined.
bool setLiveness(llvm::MachineFunction &MF, Target &T);

// The registers that the unwinder writes before it comes to a landing pad.
llvm::SmallVector<llvm::MCRegister, 2> writtenByUnwinder(const llvm::MachineFunction &MF);

} // namespace chordal
#endif
