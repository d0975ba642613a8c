// Pairs of mask registers, which one instruction writes at once.
#ifndef CHORDAL_PAIRS_H
#define CHORDAL_PAIRS_H

#include "target.h"

namespace chordal {

// Has what defines a pair write the first pair that there is, from which its halves are copied at once: values have one register each.
void splitPair(llvm::MachineInstr &MI, Target &T);

} // namespace chordal
#endif
