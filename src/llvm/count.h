// Counting the final instructions of a function.
#ifndef CHORDAL_COUNT_H
#define CHORDAL_COUNT_H

#include "bridge.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// The same count for every allocator, ours and LLVM's; all but the weights, which are not of final code.
ChCounts count(const llvm::MachineFunction &MF, const llvm::MachineBlockFrequencyInfo &MBFI);

} // namespace chordal
#endif
