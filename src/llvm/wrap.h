// Saves callee-saved registers where that is cheapest (shrink wrapping).
#ifndef CHORDAL_WRAP_H
#define CHORDAL_WRAP_H

#include "run.h"
#include "llvm/Pass.h"

namespace chordal {

// A pass that runs LLVM's `ShrinkWrap`, which finds a place for the prologue. Then callee-saved registers that are cheaper saved
// elsewhere are saved there, each by itself, and `ShrinkWrap` runs again for the others.
llvm::FunctionPass *createWrap(Run &R, llvm::Pass *ShrinkWrap);

// A pass that runs after the prologue's insertion. It makes such registers known as saved ones, and tells unwinders where they
// are.
llvm::FunctionPass *createDescribe(Run &R);

} // namespace chordal
#endif
