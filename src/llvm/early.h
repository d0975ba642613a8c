// What is overwritten while operands are still being read.
#ifndef CHORDAL_EARLY_H
#define CHORDAL_EARLY_H

#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// Has an early definition overwrite a copy where another operand of its instruction reads the value as well
// (`asm("..." : "+&r"(y) : "r"(x))` where y is x): the two are in different registers. LLVM's two-address pass inserts the same.
void copyWhatIsOverwrittenEarly(llvm::MachineInstr &MI);

} // namespace chordal
#endif
