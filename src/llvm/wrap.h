// Shrink wrapping.
#ifndef CHORDAL_WRAP_H
#define CHORDAL_WRAP_H

#include "run.h"
#include "llvm/Pass.h"

namespace chordal {

// LLVM's pass that finds a place for the prologue; then callee-saved registers that are cheaper saved elsewhere, each for
// itself, are, and the pass looks again for those that are left.
llvm::FunctionPass *createWrap(Run &R, llvm::Pass *ShrinkWrap);

// Behind the prologue's insertion: makes such registers known as saved ones, and tells unwinders where they are.
llvm::FunctionPass *createDescribe(Run &R);

} // namespace chordal
#endif
