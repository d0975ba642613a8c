#include "narrow.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"

using namespace llvm;

namespace chordal {

namespace {

// How many calls come before each instruction, in its block, and in all of a block.
class Calls {
public:
  explicit Calls(const MachineFunction &MF) : InBlock(MF.getNumBlockIDs()) {
    for (const MachineBasicBlock &MBB : MF)
      for (const MachineInstr &MI : MBB) {
        Before[&MI] = InBlock[MBB.getNumber()];
        InBlock[MBB.getNumber()] += MI.isCall();
      }
  }

  // How often calls are executed that come after the definition of a value and before a reader of it: those of one block, where
  // that is most.
  double crossed(Register Value, const MachineRegisterInfo &MRI, ArrayRef<double> Frequencies) const {
    const MachineInstr &Def = *MRI.getVRegDef(Value);
    const MachineBasicBlock &Start = *Def.getParent();
    SmallVector<const MachineBasicBlock *, 8> LiveOut;
    double Most = 0;
    auto Cross = [&](const MachineBasicBlock &MBB, bool Crosses) {
      Most = std::max(Most, Crosses ? Frequencies[MBB.getNumber()] : 0.0);
    };
    for (const MachineOperand &Use : MRI.use_nodbg_operands(Value)) {
      const MachineInstr &Reader = *Use.getParent();
      const MachineBasicBlock &MBB = *Reader.getParent();
      if (Reader.isPHI()) {
        LiveOut.push_back(Reader.getOperand(Use.getOperandNo() + 1).getMBB());
        continue;
      }
      Cross(MBB, Before.at(&Reader) > (&MBB == &Start ? upTo(Def) : 0));
      if (&MBB != &Start)
        append_range(LiveOut, MBB.predecessors());
    }
    SmallPtrSet<const MachineBasicBlock *, 8> Seen;
    constexpr unsigned Many = 1000;
    while (!LiveOut.empty() && Seen.size() < Many) {
      const MachineBasicBlock &MBB = *LiveOut.pop_back_val();
      if (!Seen.insert(&MBB).second)
        continue;
      Cross(MBB, InBlock[MBB.getNumber()] > (&MBB == &Start ? upTo(Def) : 0));
      if (&MBB != &Start)
        append_range(LiveOut, MBB.predecessors());
    }
    return Most;
  }

private:
  unsigned upTo(const MachineInstr &MI) const { return Before.at(&MI) + MI.isCall(); }

  DenseMap<const MachineInstr *, unsigned> Before;
  std::vector<unsigned> InBlock;
};

class Narrowing {
public:
  Narrowing(MachineFunction &MF, Target &T, ArrayRef<double> Frequencies)
      : MF(MF), T(T), Frequencies(Frequencies), MRI(MF.getRegInfo()), TII(*MF.getSubtarget().getInstrInfo()), Sizes(T.TRI.getNumRegClasses()) {
    for (const TargetRegisterClass *RC : T.TRI.regclasses()) {
      uint32_t Class = T.classOf(RC);
      if (Class != CH_NONE)
        Sizes[RC->getID()] = T.file().classes[Class].end_reg - T.file().classes[Class].first_reg;
    }
  }

  DenseSet<const MachineInstr *> run() {
    for (unsigned Index = 0, End = MRI.getNumVirtRegs(); Index < End; ++Index) {
      Register Value = Register::index2VirtReg(Index);
      if (!MRI.hasOneDef(Value))
        continue;
      noteCopies(Value);
      widen(Value);
    }
    return std::move(Copies);
  }

private:
  // The number of registers in a class that can be allocated.
  unsigned size(const TargetRegisterClass *RC) const { return RC ? Sizes[RC->getID()] : 0; }

  // Notes a value's copies that accept fewer registers. (Selected code on i386 copies values of which it reads a byte.)
  void noteCopies(Register Value) {
    const TargetRegisterClass *Class = MRI.getRegClass(Value);
    SmallVector<MachineInstr *, 4> Narrow;
    for (MachineInstr &Reader : MRI.use_nodbg_instructions(Value))
      if (Reader.isFullCopy() && Reader.getOperand(0).getReg().isVirtual()) {
        const TargetRegisterClass *Read = MRI.getRegClass(Reader.getOperand(0).getReg());
        if (size(Read) < size(Class) && Class->hasSubClass(Read))
          Narrow.push_back(&Reader);
      }
    if (!Narrow.empty() && isConfined(Value, Narrow))
      Copies.insert(Narrow.begin(), Narrow.end());
  }

  void widen(Register Value) {
    const TargetRegisterClass *Old = MRI.getRegClass(Value), *Widest = T.TRI.getLargestLegalSuperClass(Old, MF);
    if (size(Widest) <= size(Old))
      return;
    SmallVector<MachineInstr *, 4> Narrow;
    const TargetRegisterClass *Class = classOfOthers(Value, Widest, Narrow);
    if (Narrow.empty() || size(Class) <= size(Old))
      return;
    bool IsRare = size(Old) * 3 < size(Class) && !letStay(Value);
    if (!IsRare && !isConfined(Value, Narrow))
      return;
    for (MachineInstr *Reader : Narrow)
      copyFor(*Reader, Value);
    MRI.clearKillFlags(Value);
    MRI.setRegClass(Value, Class);
  }

  // Whether a value crosses calls, which destroy most registers, as often as copies of it would be made.
  bool isConfined(Register Value, ArrayRef<MachineInstr *> Readers) {
    if (!CallsOf)
      CallsOf.emplace(MF);
    double Copies = 0;
    for (const MachineInstr *Reader : Readers)
      Copies += Frequencies[Reader->getParent()->getNumber()];
    return CallsOf->crossed(Value, MRI, Frequencies) >= Copies;
  }

  // Lets a value stay in one of hardly any registers if it is read only in the block that defines it and few others of that block
  // stay; whether it does.
  bool letStay(Register Value) {
    constexpr unsigned Most = 2;
    const MachineBasicBlock *MBB = MRI.getVRegDef(Value)->getParent();
    auto IsHere = [&](const MachineInstr &MI) { return MI.getParent() == MBB && !MI.isPHI(); };
    return all_of(MRI.use_nodbg_instructions(Value), IsHere) && Staying[MBB]++ < Most;
  }

  const TargetRegisterClass *effect(const MachineOperand &MO, const TargetRegisterClass *Class) const {
    return MO.getParent()->getRegClassConstraintEffect(MO.getOperandNo(), Class, &TII, &T.TRI);
  }

  // What is left of a class by the definition and the readers, except for those that leave fewer registers than the definition
  // does, and can read a copy. Null if there is nothing left.
  const TargetRegisterClass *classOfOthers(Register Value, const TargetRegisterClass *Class, SmallVectorImpl<MachineInstr *> &Narrow) {
    for (const MachineOperand &Def : MRI.def_operands(Value))
      if (!(Class = effect(Def, Class)))
        return nullptr;
    for (MachineOperand &Use : MRI.use_nodbg_operands(Value)) {
      const TargetRegisterClass *Left = effect(Use, Class);
      if (size(Left) < size(Class) && canReadCopy(*Use.getParent())) {
        if (!is_contained(Narrow, Use.getParent()))
          Narrow.push_back(Use.getParent());
      } else if (!(Class = Left)) {
        return nullptr;
      }
    }
    return Class;
  }

  // Nothing is inserted between terminators.
  static bool canReadCopy(const MachineInstr &MI) {
    return !MI.isTerminator() || MI.getParent()->getFirstTerminator() == MI.getIterator();
  }

  void copyFor(MachineInstr &Reader, Register Value) {
    Register Copy = MRI.cloneVirtualRegister(Value);
    Copies.insert(
        BuildMI(*Reader.getParent(), Reader, Reader.getDebugLoc(), TII.get(TargetOpcode::COPY), Copy).addReg(Value).getInstr());
    for (MachineOperand &MO : Reader.all_uses())
      if (MO.getReg() == Value)
        MO.setReg(Copy);
  }

  MachineFunction &MF;
  Target &T;
  ArrayRef<double> Frequencies;
  MachineRegisterInfo &MRI;
  const TargetInstrInfo &TII;
  std::vector<unsigned> Sizes; // by LLVM's number of the class
  std::optional<Calls> CallsOf; // found out on demand
  // How many values of each block stay in one of hardly any registers.
  DenseMap<const MachineBasicBlock *, unsigned> Staying;
  DenseSet<const MachineInstr *> Copies;
};

} // namespace

DenseSet<const MachineInstr *> copyForNarrowOperands(MachineFunction &MF, Target &T, ArrayRef<double> Frequencies) {
  return Narrowing(MF, T, Frequencies).run();
}

} // namespace chordal
