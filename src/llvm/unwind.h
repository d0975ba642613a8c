// Landing pads that nothing throws to.
#ifndef CHORDAL_UNWIND_H
#define CHORDAL_UNWIND_H

#include "llvm/CodeGen/MachineFunctionPass.h"

namespace chordal {

// Removes edges to landing pads of blocks in which nothing throws: an `invoke` of nothing leaves one. Blocks that nobody reaches any more
// are left to LLVM.
llvm::FunctionPass *createDropUnthrown();

} // namespace chordal
#endif
