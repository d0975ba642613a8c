// Configures LLVM's own allocators.
#ifndef CHORDAL_STOCK_H
#define CHORDAL_STOCK_H

#include "run.h"
#include "llvm/CodeGen/TargetPassConfig.h"

namespace chordal {

// Configures a pipeline for the allocator of LLVM that the options name. The run must live as long as the pipeline.
void configureStock(llvm::TargetPassConfig &TPC, Run &R);

// Puts an allocator into the pipeline that this thread makes next. Returns its pass.
llvm::AnalysisID useAllocator(llvm::FunctionPass *Allocator);

} // namespace chordal
#endif
