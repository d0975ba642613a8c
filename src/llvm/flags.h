// Where nobody wants the flags.
#ifndef CHORDAL_FLAGS_H
#define CHORDAL_FLAGS_H

#include "target.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Marks definitions of the flags that nobody reads. Selection leaves some of them unmarked (of an instruction that it has made
// twice, once for the flags), and LLVM's analysis of live variables, which would find them, is behind allocation. Only where
// nobody wants the flags does an instruction have other forms, or another place.
void markDeadFlags(llvm::MachineFunction &MF, Target &T);

// Calls `Visit` with the instructions of a block in front of which nobody wants the flags.
void forAllWithoutFlags(llvm::MachineBasicBlock &MBB, Target &T, llvm::function_ref<void(llvm::MachineInstr &)> Visit);

} // namespace chordal
#endif
