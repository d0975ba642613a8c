#include "zeroes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

// The instruction that zeroes what MI inserts a byte into, if that is all that the zero is for.
MachineInstr *zeroOf(const MachineInstr &MI, const TargetInstrInfo &TII, const TargetRegisterInfo &TRI) {
  if (!MI.isInsertSubreg() || MI.peekDebugInstrNum())
    return nullptr;
  const MachineRegisterInfo &MRI = MI.getMF()->getRegInfo();
  const MachineOperand &Dst = MI.getOperand(0), &Base = MI.getOperand(1), &Part = MI.getOperand(2);
  unsigned Index = MI.getOperand(3).getImm();
  bool LowByte = TRI.getSubRegIdxOffset(Index) == 0 && TRI.getSubRegIdxSize(Index) == 8;
  if (!LowByte || Dst.getSubReg() || Base.getSubReg() || Part.getSubReg() || Part.isUndef() || !Part.getReg().isVirtual() ||
      !Base.getReg().isVirtual() || !MRI.hasOneUse(Base.getReg()))
    return nullptr;
  MachineInstr *Zero = MRI.getUniqueVRegDef(Base.getReg());
  return Zero && !Zero->peekDebugInstrNum() && TII.getName(Zero->getOpcode()) == "MOV32r0" ? Zero : nullptr;
}

} // namespace

void extendInsteadOfZeroing(MachineFunction &MF, Target &T) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : make_early_inc_range(MBB))
      if (MachineInstr *Zero = zeroOf(MI, TII, T.TRI)) {
        Register Extended = MI.getOperand(0).getReg();
        BuildMI(MBB, MI, MI.getDebugLoc(), TII.get(T.opcode("MOVZX32rr8", TII)), Extended).addReg(MI.getOperand(2).getReg());
        MI.eraseFromParent();
        Zero->eraseFromParent();
        // Only for the byte did it have to be in a register that has one.
        MF.getRegInfo().recomputeRegClass(Extended);
      }
}

} // namespace chordal
