#include "x86.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

bool isHalf(const MachineInstr &MI) { return MI.isCopy() && MI.getOperand(1).getSubReg() && MI.getOperand(0).getReg().isVirtual(); }

} // namespace

void splitPair(MachineInstr &MI, Target &T) {
  MachineFunction &MF = *MI.getMF();
  MachineRegisterInfo &MRI = MF.getRegInfo();
  if (MI.getNumExplicitDefs() != 1 || !MI.getOperand(0).isReg() || !MI.getOperand(0).getReg().isVirtual())
    return;
  Register Pair = MI.getOperand(0).getReg();
  const TargetRegisterClass *RC = MRI.getRegClass(Pair);
  if (!StringRef(T.TRI.getRegClassName(RC)).ends_with("PAIR") || !all_of(MRI.use_nodbg_instructions(Pair), isHalf))
    return;
  MCRegister Written = *RC->begin();
  MI.getOperand(0).setReg(Written);
  MI.getOperand(0).setIsDead(false);
  for (MachineInstr &Copy : make_early_inc_range(MRI.use_nodbg_instructions(Pair))) {
    // The copies stay where they are, possibly far away, and copy these instead.
    MachineOperand &Half = Copy.getOperand(1);
    Register Whole = MRI.cloneVirtualRegister(Copy.getOperand(0).getReg());
    BuildMI(*MI.getParent(), std::next(MI.getIterator()), MI.getDebugLoc(), MF.getSubtarget().getInstrInfo()->get(TargetOpcode::COPY), Whole)
        .addReg(T.TRI.getSubReg(Written, Half.getSubReg()));
    Half.setReg(Whole);
    Half.setSubReg(0);
    Half.setIsKill(false);
  }
  MRI.markUsesInDebugValueAsUndef(Pair);
}

} // namespace chordal::x86
