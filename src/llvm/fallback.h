// Leaves functions to LLVM's greedy allocator.
#ifndef CHORDAL_FALLBACK_H
#define CHORDAL_FALLBACK_H

#include "run.h"
#include "llvm/Pass.h"

namespace chordal {

// Allocates a function that is in SSA form by LLVM's passes, whatever pipeline it is in. `MachineModuleInfo` and `Config` are the
// passes of these names in that pipeline.
void allocateGreedily(llvm::MachineFunction &MF, Target &T, llvm::ImmutablePass &MachineModuleInfo,
                      llvm::ImmutablePass &Config);

// Reports to the compiler that this happens: a remark with the function's place.
void reportFallback(llvm::MachineFunction &MF, llvm::StringRef Reason);

// A pass of a pipeline with one of LLVM's allocators: it runs `ForFallback` on the functions that are left to the greedy one, and
// `ForOthers` on all others.
llvm::FunctionPass *createChoice(Run &R, llvm::Pass *ForFallback, llvm::Pass *ForOthers);

} // namespace chordal
#endif
