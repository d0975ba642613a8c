#include "x86.h"
#include "../flags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

const char ZeroByXor[] = "MOV32r0";

// The instruction that zeroes the register into which MI inserts a byte, if the zero has no other use.
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
  return Zero && !Zero->peekDebugInstrNum() && TII.getName(Zero->getOpcode()) == ZeroByXor ? Zero : nullptr;
}

// A zero that MI defines, of another width than 32 bits, in which selected code makes all zeroes.
struct OtherZero {
  MachineInstr *Of = nullptr;
  StringRef Name; // of the instruction that makes it
};

OtherZero otherZero(const MachineInstr &MI, unsigned Zero, Target &T) {
  if (!MI.isSubregToReg() && !MI.isCopy())
    return {};
  const MachineOperand &Dst = MI.getOperand(0), &Src = MI.getOperand(MI.isCopy() ? 1 : 2);
  unsigned Part = MI.isCopy() ? Src.getSubReg() : MI.getOperand(3).getImm();
  if (Dst.getSubReg() || !Dst.getReg().isVirtual() || !Part || T.TRI.getSubRegIdxOffset(Part) || !Src.getReg().isVirtual())
    return {};
  const MachineRegisterInfo &MRI = MI.getMF()->getRegInfo();
  MachineInstr *Def = MRI.getUniqueVRegDef(Src.getReg());
  if (!Def || Def->getOpcode() != Zero)
    return {};
  auto Of = [&](StringRef Class, StringRef Name) {
    return T.classNamed(Class)->hasSubClassEq(MRI.getRegClass(Dst.getReg())) ? OtherZero{Def, Name} : OtherZero{};
  };
  if (MI.isSubregToReg())
    return Of("GR64", "MOV32ri64");
  return T.TRI.getSubRegIdxSize(Part) == 8 ? Of("GR8", "MOV8ri") : Of("GR16", "MOV16ri");
}

// Removes the zero if only debug instructions use it, which then say that the value is zero.
void removeIfUnused(MachineInstr &Zero) {
  MachineRegisterInfo &MRI = Zero.getMF()->getRegInfo();
  Register Reg = Zero.getOperand(0).getReg();
  if (!MRI.use_nodbg_empty(Reg))
    return;
  for (MachineOperand &MO : make_early_inc_range(MRI.use_operands(Reg)))
    MO.getParent()->isDebugValue() ? MO.ChangeToImmediate(0) : MO.setReg(Register());
  Zero.eraseFromParent();
}

} // namespace

void zeroInOneInstruction(MachineFunction &MF, Target &T) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  unsigned Zero = T.opcode(ZeroByXor, TII);
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : make_early_inc_range(MBB)) {
      OtherZero Other = otherZero(MI, Zero, T);
      if (!Other.Of)
        continue;
      // The instruction may not be able to write all registers of the class.
      const MCInstrDesc &Move = TII.get(T.opcode(Other.Name, TII));
      Register Defined = MI.getOperand(0).getReg();
      if (!MF.getRegInfo().constrainRegClass(Defined, TII.getRegClass(Move, 0)))
        continue;
      auto New = BuildMI(MBB, MI, MI.getDebugLoc(), Move, Defined).addImm(0);
      New->setDebugInstrNum(MI.peekDebugInstrNum());
      MI.eraseFromParent();
      removeIfUnused(*Other.Of);
    }
}

void zeroByExclusiveOr(MachineFunction &MF, Target &T) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  const MCInstrDesc &Zero = TII.get(T.opcode(ZeroByXor, TII));
  SmallDenseSet<unsigned> Moves;
  for (StringRef Name : {"MOV8ri", "MOV16ri", "MOV32ri64"})
    Moves.insert(T.opcode(Name, TII));
  auto IsZero = [&](const MachineInstr &MI) {
    return Moves.contains(MI.getOpcode()) && MI.getOperand(1).isImm() && MI.getOperand(1).getImm() == 0;
  };
  for (MachineBasicBlock &MBB : MF) {
    if (none_of(MBB, IsZero))
      continue;
    forAllWithoutFlags(MBB, T, [&](MachineInstr &MI) {
      if (!IsZero(MI))
        return;
      MCRegister Reg = MI.getOperand(0).getReg().asMCReg();
      uint32_t Root = T.lowPartOf(Reg);
      MCRegister Low = Root == CH_NONE ? MCRegister() : T.view(T.classNamed("GR32"), Root);
      if (!Low)
        return;
      auto New = BuildMI(MBB, MI, MI.getDebugLoc(), Zero, Low).addReg(Reg, RegState::ImplicitDefine);
      New->findRegisterDefOperand(T.Flags, &T.TRI)->setIsDead();
      New->setDebugInstrNum(MI.peekDebugInstrNum());
      MI.eraseFromParent();
    });
  }
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
        // Only the insertion of the byte restricted the class.
        MF.getRegInfo().recomputeRegClass(Extended);
      }
}

} // namespace chordal::x86
