// Inline assembly that jumps (`asm goto`).
#ifndef CHORDAL_JUMPS_H
#define CHORDAL_JUMPS_H

#include "llvm/CodeGen/MachineFunctionPass.h"

namespace chordal {

// Whether an instruction is inline assembly that jumps. LLVM does not count it among the terminators of its block.
bool isJumpingAssembly(const llvm::MachineInstr &MI);

// Whether an instruction is a jump that is always taken, to a block.
bool isAlwaysTaken(const llvm::MachineInstr &MI);

// The inline assembly with which a block ends, but for jumps that are always taken; null if there is none.
llvm::MachineInstr *jumpAtEnd(llvm::MachineBasicBlock &MBB);

// A pass after which blocks end where inline assembly jumps, so that control leaves it on edges between blocks. What the assembly
// defines is copied where it arrives: code between the assembly and the copies, for instance a store, would be on no way out.
llvm::FunctionPass *createEndAtJumps();

// Puts a block on an edge, in front of the target if it follows anyway; `JumpTable` is the one that the edge goes through, or -1.
llvm::MachineBasicBlock *splitEdge(llvm::MachineBasicBlock &From, llvm::MachineBasicBlock &To, int JumpTable);

} // namespace chordal
#endif
