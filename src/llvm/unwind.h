// Where control leaves a block for a landing pad.
#ifndef CHORDAL_UNWIND_H
#define CHORDAL_UNWIND_H

#include "llvm/CodeGen/MachineFunctionPass.h"

namespace chordal {

// The call that a block's landing pad is entered from; null if there is none. It stands between two labels, of which the second is the
// block's last.
llvm::MachineInstr *throwingCall(llvm::MachineBasicBlock &MBB);

// Removes edges to landing pads of blocks in which nothing throws: an `invoke` of nothing leaves one. Blocks that nobody reaches any more
// are left to LLVM.
llvm::FunctionPass *createDropUnthrown();

} // namespace chordal
#endif
