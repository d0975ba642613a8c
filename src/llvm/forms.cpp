#include "forms.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {

static const TargetInstrInfo &infoOf(const MachineInstr &MI) { return *MI.getMF()->getSubtarget().getInstrInfo(); }

// Whether an instruction remains of the same kind if two operands are exchanged. This is tried on a copy. A conditional move then
// takes the opposite condition. (Some instructions become others, or do not change, depending on their immediates; their operands
// keep their order.)
static bool probe(MachineInstr &MI, unsigned A, unsigned B) {
  MachineInstr *Clone = MI.getMF()->CloneMachineInstr(&MI);
  MI.getParent()->insert(MI.getIterator(), Clone);
  MachineInstr *New = infoOf(MI).commuteInstruction(*Clone, /*NewMI=*/false, A, B);
  bool Same = New == Clone && New->getOpcode() == MI.getOpcode();
  bool HasCondition = x86::hasCondition(MI);
  for (unsigned I = 0; Same && I < MI.getNumOperands(); ++I)
    Same = New->getOperand(I).isIdenticalTo(MI.getOperand(I == A ? B : I == B ? A : I)) ||
           (HasCondition && New->getOperand(I).isImm());
  Clone->eraseFromParent();
  return Same;
}

unsigned commuted(MachineInstr &MI, unsigned UseIndex, Target &T) {
  unsigned Other = TargetInstrInfo::CommuteAnyOperandIndex;
  if (!MI.isCommutable() || !infoOf(MI).findCommutedOpIndices(MI, UseIndex, Other))
    return CH_NONE;
  if (MI.getOperand(UseIndex).getSubReg() || MI.getOperand(Other).getSubReg() || MI.isRegTiedToDefOperand(Other))
    return CH_NONE;
  auto [It, New] = T.Commutes.try_emplace(MI.getOpcode(), false);
  if (New)
    It->second = probe(MI, UseIndex, Other);
  return It->second ? Other : CH_NONE;
}

bool writesMemory(const MachineInstr &MI) {
  return MI.mayStore() || MI.isCall() || MI.isInlineAsm() || MI.hasUnmodeledSideEffects() || (MI.mayLoad() && MI.hasOrderedMemoryRef());
}

bool readsMemory(const MachineInstr &MI) { return MI.mayLoad() && !MI.isDereferenceableInvariantLoad(); }

bool isMovable(const MachineInstr &MI, const Target &T) {
  if (MI.isTerminator() || MI.isPosition() || MI.mayRaiseFPException() || MI.isConvergent())
    return false;
  const MachineRegisterInfo &MRI = MI.getMF()->getRegInfo();
  // A reserved register that nothing writes, and that is not in the model, is constant: it says how to round, for example.
  auto IsConstant = [&](Register Reg) {
    const ChRegSet &Roots = T.roots(Reg);
    return MRI.isReserved(Reg) && MRI.def_empty(Reg) && !(Roots.words[0] | Roots.words[1]);
  };
  return all_of(MI.operands(), [&](const MachineOperand &MO) {
    if (MO.isRegMask())
      return false;
    if (!MO.isReg() || !MO.getReg().isPhysical())
      return true;
    return MO.isImplicit() && (MO.isDef() ? MO.isDead() : IsConstant(MO.getReg()));
  });
}

} // namespace chordal
