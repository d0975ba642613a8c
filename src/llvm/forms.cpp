#include "forms.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {

static const TargetInstrInfo &infoOf(const MachineInstr &MI) { return *MI.getMF()->getSubtarget().getInstrInfo(); }

void exchange(MachineInstr &MI, unsigned A, unsigned B) { infoOf(MI).commuteInstruction(MI, /*NewMI=*/false, A, B); }

// Whether an exchange has the effect that it should have. This is tried on a copy, of which only an immediate and the opcode may be
// others. (A conditional move takes the opposite condition; of a fused multiplication and addition, another of three forms is taken.
// Some instructions do not change, or get more operands, depending on their immediates.)
static bool probe(MachineInstr &MI, unsigned A, unsigned B) {
  MachineInstr *Clone = MI.getMF()->CloneMachineInstr(&MI);
  MI.getParent()->insert(MI.getIterator(), Clone);
  exchange(*Clone, A, B);
  bool Exchanged = Clone->getNumOperands() == MI.getNumOperands();
  for (unsigned I = 0; Exchanged && I < MI.getNumOperands(); ++I)
    Exchanged = Clone->getOperand(I).isIdenticalTo(MI.getOperand(I == A ? B : I == B ? A : I)) ||
                (Clone->getOperand(I).isImm() && MI.getOperand(I).isImm());
  Clone->eraseFromParent();
  return Exchanged;
}

bool isExchangeable(MachineInstr &MI, unsigned A, unsigned B, Target &T) {
  if (!MI.isCommutable() || A == B || MI.isRegTiedToDefOperand(B) || !infoOf(MI).findCommutedOpIndices(MI, A, B))
    return false;
  if (MI.getOperand(A).getSubReg() || MI.getOperand(B).getSubReg())
    return false;
  const MachineOperand &Last = MI.getOperand(MI.getNumExplicitOperands() - 1);
  uint64_t Immediate = Last.isImm() ? uint8_t(Last.getImm()) : 0;
  auto [It, New] = T.Exchanges.try_emplace(MI.getOpcode() | uint64_t(A) << 32 | uint64_t(B) << 40 | Immediate << 48, false);
  if (New)
    It->second = probe(MI, A, B);
  return It->second;
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
