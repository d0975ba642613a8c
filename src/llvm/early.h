// Operands that are overwritten while others are still being read.
#ifndef CHORDAL_EARLY_H
#define CHORDAL_EARLY_H

#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// Copies the use that an early definition overwrites, if another operand of the instruction reads the value as well (`asm("..." :
// "+&r"(y) : "r"(x))` where y is x): the two have to be in different registers. LLVM's two-address pass does the same.
void copyWhatIsOverwrittenEarly(llvm::MachineInstr &MI);

} // namespace chordal
#endif
