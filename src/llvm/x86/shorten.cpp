#include "x86.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

// Instructions that may leave the register as it is which they define.
bool mayDefineNothing(StringRef Opcode) {
  return any_of(ArrayRef<StringRef>{"BSF", "BSR", "LAR", "LSL"}, [&](StringRef Prefix) { return Opcode.starts_with(Prefix); });
}

// Finds the moves of registers whose upper halves are zero, at every point of a function.
class UpperHalves {
public:
  UpperHalves(MachineFunction &MF, Target &T)
      : MF(MF), T(T), TII(*MF.getSubtarget().getInstrInfo()), Byte(*T.classNamed("GR8")), Word(*T.classNamed("GR16")),
        Dword(*T.classNamed("GR32")), Qword(*T.classNamed("GR64")), Move(T.opcode("MOV64rr", TII)), ShortMove(T.opcode("MOV32rr", TII)) {}

  void shorten() {
    if (none_of(MF, [&](const MachineBasicBlock &MBB) { return any_of(MBB, [&](auto &MI) { return canBeShorter(MI); }); }))
      return;
    ReversePostOrderTraversal<MachineFunction *> Order(&MF);
    solve(Order);
    for (MachineBasicBlock *MBB : Order) {
      ChRegSet Zero = ZeroAtHead[MBB->getNumber()];
      for (MachineInstr &MI : *MBB) {
        if (canBeShorter(MI) && contains(Zero, rootOf(MI.getOperand(1))))
          shorten(MI);
        pass(MI, Zero);
      }
    }
  }

private:
  // Whether a move takes a byte less if it is of 32 bits.
  bool canBeShorter(const MachineInstr &MI) const {
    return MI.getOpcode() == Move && !isPrefixed(MI.getOperand(0).getReg(), T.TRI) && !isPrefixed(MI.getOperand(1).getReg(), T.TRI) &&
           rootOf(MI.getOperand(0)) != CH_NONE && rootOf(MI.getOperand(1)) != CH_NONE;
  }

  uint32_t rootOf(const MachineOperand &MO) const { return T.lowPartOf(MO.getReg()); }

  // Finds the registers with zeros above 32 bits at each block's head: on all ways there. Nothing is known where control comes
  // from outside the function, or out of a call that throws.
  template <typename Blocks> void solve(Blocks &Order) {
    const ChRegSet All = {{~uint64_t(0), ~uint64_t(0)}};
    ZeroAtHead.assign(MF.getNumBlockIDs(), All);
    for (MachineBasicBlock &MBB : MF)
      if (&MBB == &MF.front() || MBB.isEHPad() || MBB.isMachineBlockAddressTaken())
        ZeroAtHead[MBB.getNumber()] = {};
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (MachineBasicBlock *MBB : Order) {
        ChRegSet Zero = ZeroAtHead[MBB->getNumber()];
        for (const MachineInstr &MI : *MBB)
          pass(MI, Zero);
        for (MachineBasicBlock *Succ : MBB->successors())
          Changed |= meet(ZeroAtHead[Succ->getNumber()], Zero);
      }
    }
  }

  static bool meet(ChRegSet &Zero, const ChRegSet &Other) {
    ChRegSet Old = Zero;
    for (unsigned Word : {0, 1})
      Zero.words[Word] &= Other.words[Word];
    return Zero.words[0] != Old.words[0] || Zero.words[1] != Old.words[1];
  }

  // Updates the set of registers that are known to have zeros above their low 32 bits for what one instruction writes.
  void pass(const MachineInstr &MI, ChRegSet &Zero) const {
    if (MI.isDebugInstr() || MI.isKill())
      return;
    bool Copies = MI.getOpcode() == Move && rootOf(MI.getOperand(1)) != CH_NONE && contains(Zero, rootOf(MI.getOperand(1)));
    for (const MachineOperand &MO : MI.operands())
      if (MO.isRegMask())
        forgetClobbered(MO, Zero);
      else if (MO.isReg() && MO.isDef() && MO.getReg() && !Byte.contains(MO.getReg()) && !Word.contains(MO.getReg()))
        forget(T.roots(MO.getReg()), Zero);
    for (const MachineOperand &MO : MI.all_defs())
      if (!MO.isImplicit() && MO.getReg() && rootOf(MO) != CH_NONE && (Copies || writesZeros(MI, MO)))
        insert(Zero, rootOf(MO));
  }

  void forgetClobbered(const MachineOperand &Mask, ChRegSet &Zero) const {
    for (MCRegister Reg : Qword)
      if (Mask.clobbersPhysReg(Reg))
        forget(T.roots(Reg), Zero);
  }

  static void forget(const ChRegSet &Roots, ChRegSet &Zero) {
    for (unsigned Word : {0, 1})
      Zero.words[Word] &= ~Roots.words[Word];
  }

  // What writes 32 bits of a register zeroes the others.
  bool writesZeros(const MachineInstr &MI, const MachineOperand &Def) const {
    return Dword.contains(Def.getReg()) && !MI.isPseudo() && !MI.isInlineAsm() && !mayDefineNothing(TII.getName(MI.getOpcode()));
  }

  void shorten(MachineInstr &MI) const {
    Register To = MI.getOperand(0).getReg();
    MI.setDesc(TII.get(ShortMove));
    for (MachineOperand &MO : MI.explicit_operands())
      MO.setReg(T.view(&Dword, rootOf(MO)));
    MI.addOperand(MachineOperand::CreateReg(To, /*isDef=*/true, /*isImp=*/true));
  }

  MachineFunction &MF;
  Target &T;
  const TargetInstrInfo &TII;
  const TargetRegisterClass &Byte, &Word, &Dword, &Qword;
  const unsigned Move, ShortMove;
  std::vector<ChRegSet> ZeroAtHead;
};

} // namespace

void shortenMoves(MachineFunction &MF, Target &T) {
  if (MF.getTarget().getTargetTriple().isArch64Bit())
    UpperHalves(MF, T).shorten();
}

} // namespace chordal::x86
