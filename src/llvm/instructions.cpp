#include "instructions.h"
#include "records.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

const TargetInstrInfo &instrInfo(const MachineInstr &MI) { return *MI.getMF()->getSubtarget().getInstrInfo(); }

x86::Accesses accesses(const MachineInstr &MI) {
  // A tail call is a jump. It may read its target from memory, but it writes no return address.
  if ((MI.isCall() && !MI.isReturn()) || MI.isInlineAsm())
    return {false, false};
  if (std::optional<x86::Accesses> Known = x86::factsOf(MI).Memory)
    return *Known;
  bool HasMemory = any_of(MI.getDesc().operands(), [](auto &Operand) { return Operand.OperandType == MCOI::OPERAND_MEMORY; });
  // Of fences, traps and the like, LLVM only knows that they have side effects.
  if (MI.getDesc().hasUnmodeledSideEffects() && !HasMemory)
    return {false, false};
  return {MI.mayLoad(), MI.mayStore()};
}

// Whether a copy that is still a pseudo-instruction will become an instruction.
bool copies(const MachineInstr &MI) {
  const MachineOperand &From = MI.getOperand(MI.isCopy() ? 1 : 2);
  if (MI.allDefsAreDead() || From.isUndef())
    return false;
  Register To = MI.getOperand(0).getReg();
  if (MI.isSubregToReg())
    To = MI.getMF()->getSubtarget().getRegisterInfo()->getSubReg(To, MI.getOperand(3).getImm());
  return To != From.getReg();
}

} // namespace

std::optional<int> stackObject(const MachineMemOperand *Memory) {
  if (auto *Source = dyn_cast_or_null<FixedStackPseudoSourceValue>(Memory->getPseudoValue()))
    return Source->getFrameIndex();
  return std::nullopt;
}

bool isCalleeSavedSlot(std::optional<int> Object, const MachineFrameInfo &Frame) {
  return Object && any_of(Frame.getCalleeSavedInfo(), [&](const CalleeSavedInfo &Saved) {
           return !Saved.isSpilledToReg() && Saved.getFrameIdx() == *Object;
         });
}

Printed printed(const MachineInstr &MI) {
  if (MI.isCopy() || MI.isSubregToReg())
    return copies(MI) ? Printed{1, false, false, /*Move=*/true, false} : Printed{};
  if (MI.isTransient() || MI.isDebugInstr() || MI.isCFIInstruction() || instrInfo(MI).isFrameInstr(MI))
    return {};
  const x86::OpcodeFacts &Facts = x86::factsOf(MI);
  auto [Loads, Stores] = accesses(MI);
  return {Facts.Instructions, Loads, Stores, instrInfo(MI).isCopyInstr(MI) || Facts.Copy, Facts.Xor};
}

unsigned calleeSaved(const MachineInstr &MI, const MachineFrameInfo &Frame) {
  if (!MI.mayLoadOrStore())
    return 0;
  // LLVM does not mark loads as the epilogue's if the registers are not popped.
  bool InSlot = any_of(MI.memoperands(), [&](auto *Memory) { return isCalleeSavedSlot(stackObject(Memory), Frame); });
  if (!InSlot && !belongsToFrame(MI))
    return 0;
  return count_if(MI.explicit_operands(), [&](const MachineOperand &MO) {
    return MO.isReg() && !MO.isUndef() &&
           any_of(Frame.getCalleeSavedInfo(), [&](const CalleeSavedInfo &Saved) { return MO.getReg() == Saved.getReg(); });
  });
}

SpillAccess spillAccess(const MachineInstr &MI, const MachineFrameInfo &Frame) {
  SpillAccess Access;
  if (isRecorder(MI))
    return Access;
  // For an instruction that changes memory in place, LLVM's memory operand says that it stores, but not that it loads.
  bool Reads = MI.hasOneMemOperand() && accesses(MI).Loads;
  for (const MachineMemOperand *Memory : MI.memoperands()) {
    std::optional<int> Object = stackObject(Memory);
    if (!Object || !Frame.isSpillSlotObjectIndex(*Object) || isCalleeSavedSlot(Object, Frame))
      continue;
    Access.Loads |= Reads || Memory->isLoad();
    Access.Stores |= Memory->isStore();
  }
  int Index;
  Access.Plain = (Access.Loads || Access.Stores) && (instrInfo(MI).isLoadFromStackSlotPostFE(MI, Index) ||
                                                     instrInfo(MI).isStoreToStackSlotPostFE(MI, Index));
  return Access;
}

bool isExchange(const MachineInstr &MI) {
  return x86::factsOf(MI).Exchange && !MI.mayLoadOrStore();
}

} // namespace chordal
