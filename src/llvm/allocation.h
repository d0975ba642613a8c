// Our allocation in LLVM's pipeline.
#ifndef CHORDAL_ALLOCATION_H
#define CHORDAL_ALLOCATION_H

#include "run.h"
#include "llvm/CodeGen/TargetPassConfig.h"

namespace chordal {

// Has functions be handed over, and answers be applied, where LLVM begins to leave SSA form.
void insertAllocation(llvm::TargetPassConfig &TPC, Run &R);

} // namespace chordal
#endif
