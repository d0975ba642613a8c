// Runs passes of LLVM on the functions that are left to LLVM's allocator.
#ifndef CHORDAL_FALLBACK_H
#define CHORDAL_FALLBACK_H

#include "run.h"
#include "llvm/Pass.h"

namespace chordal {

// A pass that runs LLVM's `ForFallback` on the functions that are left to LLVM's allocator, and `ForOthers`, if given, on all
// others.
llvm::FunctionPass *createChoice(Run &R, llvm::Pass *ForFallback, llvm::Pass *ForOthers = nullptr);

} // namespace chordal
#endif
