// Constants that are written to memory at once.
#ifndef CHORDAL_IMMEDIATES_H
#define CHORDAL_IMMEDIATES_H

#include "target.h"
#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// Whether one instruction writes to memory what MI, which can be rematerialised, computes, as wide as registers of this class
// are there.
bool isStorable(const llvm::MachineInstr &MI, const llvm::TargetRegisterClass &RC, const llvm::TargetRegisterInfo &TRI);

// Has it written to a stack object, before `At`.
void storeConstant(llvm::MachineBasicBlock &MBB, llvm::MachineBasicBlock::iterator At, const llvm::MachineInstr &MI, int Object,
                   Target &T);

} // namespace chordal
#endif
