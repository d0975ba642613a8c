// The passes that allocate registers in LLVM's pipeline.
#ifndef CHORDAL_ALLOCATION_H
#define CHORDAL_ALLOCATION_H

#include "run.h"
#include "llvm/CodeGen/TargetPassConfig.h"

namespace chordal {

// Inserts passes that hand functions over, and apply the answers, where LLVM begins to leave SSA form.
void insertAllocation(llvm::TargetPassConfig &TPC, Run &R);

} // namespace chordal
#endif
