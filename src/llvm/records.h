// Operands that only say where a value is: those of stack maps, patch points and statepoints, for a runtime to find.
#ifndef CHORDAL_RECORDS_H
#define CHORDAL_RECORDS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// Whether an instruction records where values are. It accesses none of the memory that it tells of.
bool isRecorder(const llvm::MachineInstr &MI);

// The operands of an instruction whose value may be in any register or in memory, whatever its others are: the instruction tells
// where. The last one comes first.
llvm::SmallVector<unsigned, 0> recordedOperands(const llvm::MachineInstr &MI);

// Inserts, before MI, a copy in which such an operand is said to be in a stack object. Operands in front of it keep their places.
// The caller erases MI. Null if LLVM has no form for that.
llvm::MachineInstr *recordInMemory(llvm::MachineInstr &MI, unsigned Index, int Object);

} // namespace chordal
#endif
