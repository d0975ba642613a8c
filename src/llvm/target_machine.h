// The processor, and the ways of addressing, that a module is compiled for.
#ifndef CHORDAL_TARGET_MACHINE_H
#define CHORDAL_TARGET_MACHINE_H

#include "run.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace chordal {

// Null, with an error, if LLVM has no such target. `Relocation` is one of CH_AS_MODULE_SAYS, ….
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const llvm::Module &M, uint32_t Relocation, std::string &Error);

// Take out of a module's functions, with a warning for each name, what LLVM would complain about on standard error each time that it
// makes a subtarget.
void dropUnknownProcessors(llvm::Module &M, const llvm::TargetMachine &TM, Run &R);
void dropUnknownFeatures(llvm::Module &M, const llvm::TargetMachine &TM, Run &R);

} // namespace chordal
#endif
