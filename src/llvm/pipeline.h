// Our passes in LLVM's code generation pipeline.
#ifndef CHORDAL_PIPELINE_H
#define CHORDAL_PIPELINE_H

#include "run.h"
#include "llvm/CodeGen/TargetPassConfig.h"

namespace chordal {

// Configures a pipeline, before its passes are made, for the allocator that the options name. The run must live as long as the
// pipeline.
void configure(llvm::TargetPassConfig &TPC, Run &R);

} // namespace chordal
#endif
