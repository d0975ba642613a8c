// Functions that another allocator could not do.
#ifndef CHORDAL_FALLBACK_H
#define CHORDAL_FALLBACK_H

#include "run.h"
#include "llvm/Pass.h"

namespace chordal {

// A pass that runs LLVM's `ForFallback` on the functions that fall back, and `ForOthers`, if there is one, on all others.
llvm::FunctionPass *createChoice(Run &R, llvm::Pass *ForFallback, llvm::Pass *ForOthers = nullptr);

} // namespace chordal
#endif
