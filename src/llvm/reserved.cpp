#include "reserved.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

// Whether an operand can name a reserved register in place of its virtual one.
bool canBe(const MachineOperand &MO, MCRegister Reserved) {
  const MachineInstr &MI = *MO.getParent();
  const TargetSubtargetInfo &ST = MI.getMF()->getSubtarget();
  if (MI.isPHI() || MI.isInlineAsm() || MO.getSubReg() || MO.isTied() || MO.isUndef())
    return false;
  const TargetRegisterClass *RC = MI.getRegClassConstraint(MO.getOperandNo(), ST.getInstrInfo(), ST.getRegisterInfo());
  return RC && RC->contains(Reserved);
}

// Whether a register keeps its content from the copy to the last read of the copy, in this block.
bool lastsAsLongAs(const MachineInstr &Copy, MCRegister Reserved) {
  const MachineRegisterInfo &MRI = Copy.getMF()->getRegInfo();
  Register Value = Copy.getOperand(0).getReg();
  unsigned Left = std::distance(MRI.use_nodbg_begin(Value), MRI.use_nodbg_end());
  for (const MachineInstr &MI : make_range(std::next(MachineBasicBlock::const_iterator(Copy)), Copy.getParent()->end())) {
    if (!MI.isDebugInstr())
      Left -= count_if(MI.all_uses(), [=](const MachineOperand &MO) { return MO.getReg() == Value; });
    if (!Left)
      return true;
    if (MI.modifiesRegister(Reserved, MRI.getTargetRegisterInfo()))
      return false;
  }
  return false;
}

void readInPlace(MachineInstr &Copy) {
  MachineRegisterInfo &MRI = Copy.getMF()->getRegInfo();
  const MachineOperand &Dst = Copy.getOperand(0), &Src = Copy.getOperand(1);
  if (Dst.getSubReg() || !Dst.getReg().isVirtual() || !Src.getReg().isPhysical() || !MRI.isReserved(Src.getReg()) ||
      !MRI.hasOneDef(Dst.getReg()))
    return;
  Register Value = Dst.getReg();
  MCRegister Reserved = Src.getReg().asMCReg();
  auto Fits = [=](const MachineOperand &MO) { return canBe(MO, Reserved); };
  if (!all_of(MRI.use_nodbg_operands(Value), Fits) || !lastsAsLongAs(Copy, Reserved))
    return;
  for (MachineOperand &MO : make_early_inc_range(MRI.use_operands(Value))) {
    // A debug instruction may stand where the register holds something else.
    MO.setReg(MO.isDebug() ? Register() : Register(Reserved));
    if (!MO.isDebug())
      MO.setIsKill(false);
  }
  Copy.eraseFromParent();
}

} // namespace

void readReservedRegisters(MachineFunction &MF) {
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : make_early_inc_range(MBB))
      if (MI.isCopy() && !MI.peekDebugInstrNum())
        readInPlace(MI);
}

} // namespace chordal
