// Counts the final instructions of a function.
#ifndef CHORDAL_COUNT_H
#define CHORDAL_COUNT_H

#include "bridge.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Counts a function in the same way for every allocator, ours and LLVM's. The weights are not counted in final code, and are left
// at zero.
ChCounts count(const llvm::MachineFunction &MF, const llvm::MachineBlockFrequencyInfo &MBFI);

} // namespace chordal
#endif
