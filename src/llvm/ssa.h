// Values of a machine function in SSA form.
#ifndef CHORDAL_SSA_H
#define CHORDAL_SSA_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"

namespace chordal {

using BlockSet = llvm::SmallPtrSet<llvm::MachineBasicBlock *, 8>;

// The blocks that a value is live into, debug instructions aside.
BlockSet blocksLiveInto(llvm::Register Value, const llvm::MachineRegisterInfo &MRI);

// The block that a value is taken from by a φ.
llvm::MachineBasicBlock *takenFrom(const llvm::MachineOperand &Argument);

// Whether a φ of a block takes a value from a predecessor.
bool takesInPhi(const llvm::MachineBasicBlock &MBB, llvm::Register Value, const llvm::MachineBasicBlock &From);

} // namespace chordal
#endif
