// Numbers that are extended more than once.
#ifndef CHORDAL_EXTENSIONS_H
#define CHORDAL_EXTENSIONS_H

#include "target.h"

namespace chordal {

// Merges instructions that extend one value in one way, where one dominates the other: selected code extends a number in each
// block that wants it.
void mergeExtensions(llvm::MachineFunction &MF, Target &T);

} // namespace chordal
#endif
