// Operands that accept fewer registers than their value.
#ifndef CHORDAL_NARROW_H
#define CHORDAL_NARROW_H

#include "target.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Makes such operands read copies, and lets values be in all registers that their other readers allow.
//
// LLVM restricts the class of a virtual register to what each of its operands accepts: a value that a tail call jumps through, in
// one place, would be in a register that calls destroy wherever it lives. (LLVM's allocator widens classes when it splits live
// ranges.) A value that crosses calls less often than it would be copied stays as it is, unless it has hardly any register.
//
// Returns the copies, those that instruction selection has made for this reason included.
llvm::DenseSet<const llvm::MachineInstr *> copyForNarrowOperands(llvm::MachineFunction &MF, Target &T,
                                                                 llvm::ArrayRef<double> Frequencies);

} // namespace chordal
#endif
