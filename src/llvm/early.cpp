#include "early.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

bool readsTwice(const MachineInstr &MI, Register Reg) {
  return count_if(MI.all_uses(), [&](const MachineOperand &MO) { return MO.getReg() == Reg; }) > 1;
}

} // namespace

void copyWhatIsOverwrittenEarly(MachineFunction &MF) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  MachineRegisterInfo &MRI = MF.getRegInfo();
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : MBB)
      for (const MachineOperand &Def : MI.all_defs()) {
        if (!Def.isEarlyClobber() || !Def.isTied())
          continue;
        MachineOperand &Use = MI.getOperand(MI.findTiedOperandIdx(MI.getOperandNo(&Def)));
        Register Value = Use.getReg();
        if (Use.isUndef() || !Value.isVirtual() || !readsTwice(MI, Value))
          continue;
        Register Copy = MRI.cloneVirtualRegister(Value);
        BuildMI(MBB, MI, MI.getDebugLoc(), TII.get(TargetOpcode::COPY), Copy).addReg(Value);
        Use.setReg(Copy);
        Use.setIsKill(false);
      }
}

} // namespace chordal
