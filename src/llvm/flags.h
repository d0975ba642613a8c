// The liveness of the flags.
#ifndef CHORDAL_FLAGS_H
#define CHORDAL_FLAGS_H

#include "target.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Marks definitions of the flags that are not read as dead. Selection leaves some of them unmarked (of an instruction that it has
// made twice, once for the flags), and LLVM's analysis of live variables, which would find them, runs after allocation. An
// instruction has other forms, or can move, only if the flags that it writes are dead.
void markDeadFlags(llvm::MachineFunction &MF, Target &T);

// Calls `Visit` with the instructions of a block before which the flags are not live.
void forAllWithoutFlags(llvm::MachineBasicBlock &MBB, Target &T, llvm::function_ref<void(llvm::MachineInstr &)> Visit);

} // namespace chordal
#endif
