#include "zeroes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

const char NarrowZero[] = "MOV32r0", WideZero[] = "MOV32ri64";

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
  return Zero && !Zero->peekDebugInstrNum() && TII.getName(Zero->getOpcode()) == NarrowZero ? Zero : nullptr;
}

// The instruction that zeroes the low half of what MI defines, if the other half is zero too.
MachineInstr *extendedZero(const MachineInstr &MI, unsigned ZeroOpcode, const TargetRegisterInfo &TRI) {
  if (!MI.isSubregToReg() || TRI.getSubRegIdxSize(MI.getOperand(3).getImm()) != 32)
    return nullptr;
  const MachineOperand &Dst = MI.getOperand(0), &Low = MI.getOperand(2);
  if (Dst.getSubReg() || Low.getSubReg() || !Low.getReg().isVirtual())
    return nullptr;
  MachineInstr *Zero = MI.getMF()->getRegInfo().getUniqueVRegDef(Low.getReg());
  return Zero && Zero->getOpcode() == ZeroOpcode ? Zero : nullptr;
}

// Calls `Visit` with the wide zeroes of a block in front of which nobody wants the flags.
void forZeroesWithoutFlags(MachineBasicBlock &MBB, unsigned WideZero, MCRegister Flags, function_ref<void(MachineInstr &)> Visit) {
  const TargetRegisterInfo *TRI = MBB.getParent()->getSubtarget().getRegisterInfo();
  bool Live = any_of(MBB.successors(), [&](const MachineBasicBlock *Next) { return Next->isLiveIn(Flags); });
  for (MachineInstr &MI : make_early_inc_range(reverse(MBB))) {
    if (MI.getOpcode() == WideZero && MI.getOperand(1).isImm() && MI.getOperand(1).getImm() == 0) {
      if (!Live)
        Visit(MI);
      continue;
    }
    Live = MI.readsRegister(Flags, TRI) || (Live && !MI.modifiesRegister(Flags, TRI));
  }
}

} // namespace

void zeroWholeRegisters(MachineFunction &MF, Target &T) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  MachineRegisterInfo &MRI = MF.getRegInfo();
  unsigned Narrow = T.opcode(NarrowZero, TII);
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : make_early_inc_range(MBB)) {
      MachineInstr *Zero = extendedZero(MI, Narrow, T.TRI);
      if (!Zero)
        continue;
      auto Wide = BuildMI(MBB, MI, MI.getDebugLoc(), TII.get(T.opcode(WideZero, TII)), MI.getOperand(0).getReg()).addImm(0);
      if (MI.peekDebugInstrNum())
        Wide->setDebugInstrNum(MI.peekDebugInstrNum());
      MI.eraseFromParent();
      Register Low = Zero->getOperand(0).getReg();
      if (!MRI.use_nodbg_empty(Low))
        continue;
      for (MachineOperand &MO : make_early_inc_range(MRI.use_operands(Low)))
        MO.getParent()->isDebugValue() ? MO.ChangeToImmediate(0) : MO.setReg(Register());
      Zero->eraseFromParent();
    }
}

void zeroByExclusiveOr(MachineFunction &MF, Target &T) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  const MCInstrDesc &Narrow = TII.get(T.opcode(NarrowZero, TII));
  for (MachineBasicBlock &MBB : MF)
    forZeroesWithoutFlags(MBB, T.opcode(WideZero, TII), Narrow.implicit_defs().front(), [&](MachineInstr &MI) {
      MCRegister Whole = MI.getOperand(0).getReg().asMCReg();
      MCRegister Low = *find_if(T.TRI.subregs(Whole), [&](MCRegister Part) { return T.TRI.getRegSizeInBits(Part, MF.getRegInfo()) == 32; });
      auto Zero = BuildMI(MBB, MI, MI.getDebugLoc(), Narrow, Low).addReg(Whole, RegState::ImplicitDefine);
      Zero->findRegisterDefOperand(Narrow.implicit_defs().front(), &T.TRI)->setIsDead();
      MI.eraseFromParent();
    });
}

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
