// Removes edges to landing pads that no exception takes.
#ifndef CHORDAL_UNWIND_H
#define CHORDAL_UNWIND_H

#include "llvm/CodeGen/MachineFunctionPass.h"

namespace chordal {

// A pass that removes edges to landing pads from blocks in which nothing throws: an `invoke` of nothing leaves such edges. LLVM
// removes blocks that have become unreachable.
llvm::FunctionPass *createDropUnthrown();

} // namespace chordal
#endif
