// What few registers can hold.
#ifndef CHORDAL_NARROW_H
#define CHORDAL_NARROW_H

#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Has second bytes (those of `ah` and the like) be read from copies of values: four registers alone have such a byte, and a value
// would be in one of these wherever it lives. (What is read in place of the value behind such a copy is `copies.rs`'s to say. On i386,
// none but the same four has a first byte, either, and most values with a second one have a first one. LLVM's allocator widens
// classes where it splits live ranges.)
void copyForSecondBytes(llvm::MachineFunction &MF);

} // namespace chordal
#endif
