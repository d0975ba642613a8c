#include "x86.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal::x86 {

SecondBytes::SecondBytes(MachineFunction &MF)
    : MF(MF), TRI(*MF.getSubtarget().getRegisterInfo()), Is64Bit(MF.getTarget().getTargetTriple().isArch64Bit()) {}

void SecondBytes::copyFor(MachineInstr &MI) {
  if (!Is64Bit || !MI.isCopy() || !isSecondByte(MI.getOperand(1)))
    return;
  MachineOperand &Byte = MI.getOperand(1);
  Register Value = Byte.getReg(), Copy = MF.getRegInfo().cloneVirtualRegister(Value);
  const MCInstrDesc &Copying = MF.getSubtarget().getInstrInfo()->get(TargetOpcode::COPY);
  BuildMI(*MI.getParent(), MI, MI.getDebugLoc(), Copying, Copy).addReg(Value);
  Byte.setReg(Copy);
  Copied.insert(Value);
}

void SecondBytes::widenClasses() {
  for (Register Value : Copied) {
    MF.getRegInfo().clearKillFlags(Value);
    MF.getRegInfo().recomputeRegClass(Value);
  }
}

bool SecondBytes::isSecondByte(const MachineOperand &MO) const {
  return MO.getSubReg() && MO.getReg().isVirtual() && TRI.getSubRegIdxOffset(MO.getSubReg()) == 8;
}

} // namespace chordal::x86
