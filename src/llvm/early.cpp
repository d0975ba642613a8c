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

void copyWhatIsOverwrittenEarly(MachineInstr &MI) {
  for (const MachineOperand &Def : MI.all_defs()) {
    if (!Def.isEarlyClobber() || !Def.isTied())
      continue;
    MachineOperand &Use = MI.getOperand(MI.findTiedOperandIdx(MI.getOperandNo(&Def)));
    Register Value = Use.getReg();
    if (Use.isUndef() || !Value.isVirtual() || !readsTwice(MI, Value))
      continue;
    MachineFunction &MF = *MI.getMF();
    Register Copy = MF.getRegInfo().cloneVirtualRegister(Value);
    BuildMI(*MI.getParent(), MI, MI.getDebugLoc(), MF.getSubtarget().getInstrInfo()->get(TargetOpcode::COPY), Copy).addReg(Value);
    Use.setReg(Copy);
    Use.setIsKill(false);
  }
}

} // namespace chordal
