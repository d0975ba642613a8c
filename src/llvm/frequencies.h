// How often the blocks of a function are executed.
#ifndef CHORDAL_FREQUENCIES_H
#define CHORDAL_FREQUENCIES_H

#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// The executions of each block, by number, for each execution of the function: LLVM's estimate, unless more or less flows into some
// block than the estimate has it executed. LLVM gets loops with several entries wrong: it guesses how often each is used, and where
// profiles count only some of them, it takes the others to be executed as seldom as the coldest of those. An interpreter's dispatch,
// which its instructions share, would be the coldest block of all. Then the estimate is computed from the probabilities of branches
// alone, which a profile says too.
std::vector<double> frequencies(const llvm::MachineFunction &MF, const llvm::MachineBlockFrequencyInfo &MBFI);

} // namespace chordal
#endif
