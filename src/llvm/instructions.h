// Classifies machine instructions, whether they are final or pseudo-instructions.
#ifndef CHORDAL_INSTRUCTIONS_H
#define CHORDAL_INSTRUCTIONS_H

#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <optional>

namespace chordal {

// The properties of an instruction as it is printed in the end.
struct Printed {
  unsigned Instructions = 0;
  bool Loads = false, Stores = false, Move = false, Xor = false;
};
Printed printed(const llvm::MachineInstr &MI);

// Whether an instruction belongs to the prologue or an epilogue.
inline bool belongsToFrame(const llvm::MachineInstr &MI) {
  return MI.getFlag(llvm::MachineInstr::FrameSetup) || MI.getFlag(llvm::MachineInstr::FrameDestroy);
}

// The stack object that a memory operand is in, if it is known.
std::optional<int> stackObject(const llvm::MachineMemOperand *Memory);

// Whether a callee-saved register is saved in a stack object.
bool isCalleeSavedSlot(std::optional<int> Object, const llvm::MachineFrameInfo &Frame);

// The number of callee-saved registers that an instruction saves or restores.
unsigned calleeSaved(const llvm::MachineInstr &MI, const llvm::MachineFrameInfo &Frame);

// An access to spill slots, according to the memory operands. A plain access is a mere load or store.
struct SpillAccess {
  bool Loads = false, Stores = false, Plain = false;
};
SpillAccess spillAccess(const llvm::MachineInstr &MI, const llvm::MachineFrameInfo &Frame);

// Whether an instruction exchanges two registers.
bool isExchange(const llvm::MachineInstr &MI);

} // namespace chordal
#endif
