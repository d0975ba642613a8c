// What a machine instruction counts as, whether it is final or has yet to be expanded.
#ifndef CHORDAL_INSTRUCTIONS_H
#define CHORDAL_INSTRUCTIONS_H

#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <optional>

namespace chordal {

// What is printed for an instruction in the end.
struct Printed {
  unsigned Instructions = 0;
  bool Loads = false, Stores = false, Move = false, Xor = false;
};
Printed printed(const llvm::MachineInstr &MI);

// Whether an instruction was put in by the prologue or an epilogue.
inline bool belongsToFrame(const llvm::MachineInstr &MI) {
  return MI.getFlag(llvm::MachineInstr::FrameSetup) || MI.getFlag(llvm::MachineInstr::FrameDestroy);
}

// The stack object that a memory operand is known to be in.
std::optional<int> stackObject(const llvm::MachineMemOperand *Memory);

// Whether a callee-saved register is saved in a stack object.
bool isCalleeSavedSlot(std::optional<int> Object, const llvm::MachineFrameInfo &Frame);

// How many callee-saved registers an instruction saves or restores.
unsigned calleeSaved(const llvm::MachineInstr &MI, const llvm::MachineFrameInfo &Frame);

// An access to spill slots, told from the memory operands. A plain one does nothing else.
struct SpillAccess {
  bool Loads = false, Stores = false, Plain = false;
};
SpillAccess spillAccess(const llvm::MachineInstr &MI, const llvm::MachineFrameInfo &Frame);

// A register exchange: one instruction, where the processor has one.
bool isExchange(const llvm::MachineInstr &MI);

} // namespace chordal
#endif
