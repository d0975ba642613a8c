#include "narrow.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal {

void copyForSecondBytes(MachineFunction &MF) {
  if (!MF.getTarget().getTargetTriple().isArch64Bit())
    return;
  const TargetSubtargetInfo &ST = MF.getSubtarget();
  MachineRegisterInfo &MRI = MF.getRegInfo();
  auto IsSecondByte = [&](const MachineOperand &MO) {
    return MO.getReg().isVirtual() && MO.getSubReg() && ST.getRegisterInfo()->getSubRegIdxOffset(MO.getSubReg()) == 8;
  };
  SmallSetVector<Register, 8> Copied;
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : MBB) {
      if (MI.isPHI() || MI.isDebugInstr())
        continue;
      for (MachineOperand &MO : MI.all_uses()) {
        if (!IsSecondByte(MO))
          continue;
        Register Value = MO.getReg(), Copy = MRI.cloneVirtualRegister(Value);
        BuildMI(MBB, MI, MI.getDebugLoc(), ST.getInstrInfo()->get(TargetOpcode::COPY), Copy).addReg(Value);
        MO.setReg(Copy);
        Copied.insert(Value);
      }
    }
  for (Register Value : Copied) {
    MRI.clearKillFlags(Value);
    MRI.recomputeRegClass(Value);
  }
}

} // namespace chordal
