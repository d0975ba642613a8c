// Remarks about what allocation has left in memory, for LLVM's stream of optimisation remarks.
#ifndef CHORDAL_REMARKS_H
#define CHORDAL_REMARKS_H

#include "weigh.h"

namespace chordal {

// Whether somebody listens to remarks about register allocation.
bool wantsRemarks(const llvm::MachineFunction &MF);

// Remarks on each value in memory and on the function and its loops as a whole, after the prologue was inserted. `Sums` is no if
// LLVM's allocator has made the remarks of the second kind itself. `Rule` says how the allocator chooses.
void remark(const llvm::MachineFunction &MF, const Selection &Selected, llvm::StringRef Rule, bool Sums);

} // namespace chordal
#endif
