// The processor that a module is compiled for, and the way of addressing.
#ifndef CHORDAL_TARGET_MACHINE_H
#define CHORDAL_TARGET_MACHINE_H

#include "run.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace chordal {

// Creates the target machine for a module. `Relocation` is a ChRelocation. Returns null, with an error, if LLVM has no such
// target.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const llvm::Module &M, uint32_t Relocation, std::string &Error);

// Remove processors and features that LLVM does not know from a module's functions, with a warning for each name. LLVM would
// complain about them on standard error each time that it creates a subtarget.
void dropUnknownProcessors(llvm::Module &M, const llvm::TargetMachine &TM, Run &R);
void dropUnknownFeatures(llvm::Module &M, const llvm::TargetMachine &TM, Run &R);

} // namespace chordal
#endif
