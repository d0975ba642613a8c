#include "extensions.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"

using namespace llvm;

namespace chordal {

// The number that an instruction extends; none if it does something else.
static Register extended(const MachineInstr &MI, Target &T) {
  if (!MI.isSubregToReg() && !x86::isExtension(MI, T))
    return Register();
  const MachineOperand &Source = MI.getOperand(MI.isSubregToReg() ? 2 : 1);
  return MI.getOperand(0).getReg().isVirtual() && Source.getReg().isVirtual() ? Source.getReg() : Register();
}

void mergeExtensions(MachineFunction &MF, Target &T) {
  MachineRegisterInfo &MRI = MF.getRegInfo();
  std::optional<MachineDominatorTree> Dominators;
  DenseMap<Register, SmallVector<MachineInstr *, 2>> Known; // by the number
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : make_early_inc_range(MBB)) {
      Register Number = extended(MI, T);
      if (!Number)
        continue;
      auto &Others = Known[Number];
      auto IsSame = [&](MachineInstr *Other) {
        if (!Other->isIdenticalTo(MI, MachineInstr::IgnoreVRegDefs))
          return false;
        if (!Dominators)
          Dominators.emplace(MF);
        return Dominators->dominates(Other, &MI);
      };
      auto First = find_if(Others, IsSame);
      if (First == Others.end()) {
        // In a switch of thousands of cases, none of which dominates another, looking at all would take too long.
        constexpr size_t Many = 100;
        if (Others.size() < Many)
          Others.push_back(&MI);
        continue;
      }
      Register Kept = (*First)->getOperand(0).getReg(), Merged = MI.getOperand(0).getReg();
      if (!MRI.constrainRegClass(Kept, MRI.getRegClass(Merged)))
        continue;
      if (MI.peekDebugInstrNum())
        MF.substituteDebugValuesForInst(MI, **First, 1);
      MRI.replaceRegWith(Merged, Kept);
      MRI.clearKillFlags(Kept);
      MI.eraseFromParent();
    }
}

} // namespace chordal
