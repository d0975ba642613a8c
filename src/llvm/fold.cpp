#include "fold.h"
#include "forms.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetOpcodes.h"

using namespace llvm;

namespace chordal {

// Whether the folded operands are a definition and the use that it overwrites.
static bool isUpdate(const MachineInstr &MI, ArrayRef<unsigned> Indices) { return MI.getOperand(Indices.front()).isDef(); }

unsigned addedOperands(const MachineInstr &MI, ArrayRef<unsigned> Indices) {
  return x86::AddressOperands - (isUpdate(MI, Indices) ? Indices.size() : 1);
}

// Whether `New` has the operands `Old` that MI had, with the same constraints, except for the folded ones.
static bool isSameBut(const MachineInstr &New, ArrayRef<MachineOperand> Old, const MachineInstr &MI, ArrayRef<unsigned> Indices,
                      int Object) {
  unsigned Index = Indices.front(), Added = addedOperands(MI, Indices);
  bool Updates = isUpdate(MI, Indices);
  const TargetInstrInfo &TII = *MI.getMF()->getSubtarget().getInstrInfo();
  if (New.getNumOperands() != Old.size() + Added || !x86::hasAddress(New, Index, Object))
    return false;
  auto Shifted = [&](unsigned I) { return I < Index ? I : I + Added; };
  for (unsigned I = 0; I < Old.size(); ++I) {
    if (I == Index || (Updates && is_contained(Indices, I)))
      continue;
    if (is_contained(Indices, I)) {
      if (!New.getOperand(Shifted(I)).isImm() || New.getOperand(Shifted(I)).getImm() != 0)
        return false;
      continue;
    }
    if (!New.getOperand(Shifted(I)).isIdenticalTo(Old[I]))
      return false;
    unsigned OldDef, NewDef;
    bool Tied = MI.isRegTiedToDefOperand(I, &OldDef);
    if (Tied != New.isRegTiedToDefOperand(Shifted(I), &NewDef) || (Tied && NewDef != Shifted(OldDef)))
      return false;
    // The new instruction must accept each register that the old one accepts.
    if (I < MI.getDesc().getNumOperands() && TII.getRegClass(MI.getDesc(), I) != TII.getRegClass(New.getDesc(), Shifted(I)))
      return false;
  }
  return New.mayLoad() && New.mayStore() == (Updates || MI.mayStore());
}

MachineInstr *fold(MachineInstr &MI, ArrayRef<unsigned> Indices, int Object) {
  const TargetInstrInfo &TII = *MI.getMF()->getSubtarget().getInstrInfo();
  bool Updates = isUpdate(MI, Indices);
  // LLVM folds the definition, and has to see that both are one register.
  if (Updates)
    MI.getOperand(Indices[1]).setReg(MI.getOperand(Indices[0]).getReg());
  SmallVector<MachineOperand, 8> Operands(MI.operands());
  MachineInstr *New = TII.foldMemoryOperand(MI, Updates ? Indices.take_front() : Indices, Object);
  if (!New || isSameBut(*New, Operands, MI, Indices, Object))
    return New;
  New->eraseFromParent();
  return nullptr;
}

// The operands of the address that an instruction loads from. They come after its definition.
static iterator_range<MachineInstr::mop_iterator> address(MachineInstr &MI) {
  return make_range(MI.operands_begin() + 1, MI.operands_begin() + 1 + x86::AddressOperands);
}

static void setAddress(MachineInstr &MI, unsigned First, ArrayRef<MachineOperand> Address) {
  for (unsigned I = 0; I < Address.size(); ++I) {
    MachineOperand &To = MI.getOperand(First + I);
    const MachineOperand &From = Address[I];
    if (From.isReg())
      To.ChangeToRegister(From.getReg(), /*isDef=*/false);
    else if (From.isFI())
      To.ChangeToFrameIndex(From.getIndex());
    else if (From.isImm())
      To.ChangeToImmediate(From.getImm());
    else if (From.isCPI())
      To.ChangeToCPI(From.getIndex(), From.getOffset(), From.getTargetFlags());
    else
      To.ChangeToGA(From.getGlobal(), From.getOffset(), From.getTargetFlags());
  }
}

bool isGiven(MachineInstr &MI, const ChClass &Class) {
  if (!MI.mayLoad() || MI.getNumExplicitOperands() != 1 + x86::AddressOperands || MI.getNumExplicitDefs() != 1 || !MI.hasOneMemOperand())
    return false;
  for (const MachineOperand &MO : address(MI))
    if (MO.isReg() ? MO.getReg() && !MO.getReg().isPhysical() : !(MO.isFI() || MO.isImm() || MO.isCPI() || MO.isGlobal()))
      return false;
  // Vectors have to be as aligned as they are in slots.
  constexpr unsigned LongestScalar = 8;
  const MachineMemOperand &Access = **MI.memoperands_begin();
  if (Class.slot_size > LongestScalar && Access.getAlign() < Align(Class.slot_align))
    return false;
  // LLVM recognises plain loads, but only from stack objects: a copy of the instruction is made one.
  const TargetInstrInfo &TII = *MI.getMF()->getSubtarget().getInstrInfo();
  MachineInstr *Clone = MI.getMF()->CloneMachineInstr(&MI);
  setAddress(*Clone, 1, x86::addressOf(0));
  int Index;
  TypeSize Size = TypeSize::getZero();
  bool IsPlain = TII.isLoadFromStackSlot(*Clone, Index, Size) && Size == TypeSize::getFixed(Class.slot_size);
  MI.getMF()->deleteMachineInstr(Clone);
  return IsPlain;
}

Source source(MachineInstr &MI) {
  return {{address(MI).begin(), address(MI).end()}, {MI.memoperands_begin(), MI.memoperands_end()}};
}

void accessInstead(MachineInstr &Folded, unsigned First, const Source &From) {
  setAddress(Folded, First, From.Address);
  Folded.setMemRefs(*Folded.getMF(), From.Accesses);
}

Folder::Folder(MachineFunction &MF, Target &T)
    : MF(MF), T(T), ForSize(MF.getFunction().hasOptSize() | MF.getFunction().hasMinSize() << 1) {}

Folder::~Folder() {
  if (Object)
    MF.getFrameInfo().RemoveStackObject(*Object);
}

bool Folder::foldable(MachineInstr &MI, ArrayRef<unsigned> Indices, uint32_t Class) {
  if (MI.getOpcode() <= TargetOpcode::GENERIC_OP_END || MI.mayLoad() || MI.isCall() || MI.isTerminator())
    return false;
  bool Updates = isUpdate(MI, Indices);
  if (Updates && MI.mayStore())
    return false;
  for (unsigned Index : Indices) {
    const MachineOperand &MO = MI.getOperand(Index);
    if (MO.isImplicit() || (!Updates && MI.isRegTiedToDefOperand(Index)) || Index > UINT8_MAX)
      return false;
    if (Updates && MO.getSubReg())
      return false;
    if (MO.getSubReg() && T.TRI.getSubRegIdxOffset(MO.getSubReg()) != 0)
      return false;
  }
  auto [It, New] = T.Foldable.try_emplace(situation(MI, Indices, Class), false);
  if (New)
    It->second = probe(MI, Indices, Class);
  return It->second;
}

bool Folder::foldableAlways(MachineInstr &MI, ArrayRef<unsigned> Indices, uint32_t Class) {
  if (!MI.isCommutable())
    return foldable(MI, Indices, Class);
  auto [It, New] = T.FoldableAlways.try_emplace(situation(MI, Indices, Class), false);
  if (New)
    It->second = probeAlways(MI, Indices, Class);
  return It->second;
}

// The use that a definition of an instruction is tied to, or CH_NONE.
static unsigned tiedUse(const MachineInstr &MI) {
  for (unsigned Index = 1; Index < MI.getNumExplicitOperands(); ++Index)
    if (MI.getOperand(Index).isReg() && MI.isRegTiedToDefOperand(Index))
      return Index;
  return CH_NONE;
}

// Tries it with the instruction, and with each exchange of the use that is overwritten.
bool Folder::probeAlways(MachineInstr &MI, ArrayRef<unsigned> Indices, uint32_t Class) {
  unsigned Tied = tiedUse(MI);
  auto CanBe = [&](MachineInstr &Form, unsigned Index) {
    return Indices.size() > 1 ? foldable(Form, Indices, Class) : place(Form, Index, Class) != CH_NONE;
  };
  bool Found = Tied != Indices[0];
  if (Found && !CanBe(MI, Indices[0]))
    return false;
  for (unsigned Other = 1; Tied != CH_NONE && Other < MI.getNumExplicitOperands(); ++Other) {
    if (Other == Indices[0] || !isExchangeable(MI, Tied, Other, T))
      continue;
    MachineInstr *Form = MF.CloneMachineInstr(&MI);
    MI.getParent()->insert(MI.getIterator(), Form);
    exchange(*Form, Tied, Other);
    Found = CanBe(*Form, Indices[0] == Tied ? Other : Indices[0]);
    Form->eraseFromParent();
    if (!Found)
      return false;
  }
  return Found;
}

unsigned Folder::place(MachineInstr &MI, unsigned Index, uint32_t Class) {
  if (foldable(MI, Index, Class))
    return Index;
  if (!MI.isCommutable() || MI.isRegTiedToDefOperand(Index))
    return CH_NONE;
  for (unsigned Other = 1; Other < MI.getNumExplicitOperands(); ++Other) {
    if (!isExchangeable(MI, Index, Other, T))
      continue;
    MachineInstr *Form = MF.CloneMachineInstr(&MI);
    MI.getParent()->insert(MI.getIterator(), Form);
    exchange(*Form, Index, Other);
    bool Found = foldable(*Form, Other, Class);
    Form->eraseFromParent();
    if (Found)
      return Other;
  }
  return CH_NONE;
}

// Everything that LLVM's answer depends on, except for the subtarget.
uint64_t Folder::situation(const MachineInstr &MI, ArrayRef<unsigned> Indices, uint32_t Class) const {
  // LLVM does not fold into instructions whose first source only supplies an unused part of the result.
  bool Undefined = false;
  if (MI.getNumOperands() > 1 && MI.getOperand(1).isReg()) {
    const MachineOperand &First = MI.getOperand(1);
    const MachineInstr *Def = First.getReg().isVirtual() ? MF.getRegInfo().getUniqueVRegDef(First.getReg()) : nullptr;
    Undefined = First.isUndef() || (Def && Def->isImplicitDef());
  }
  uint8_t Immediate = 0;
  if (x86::readsParts(T.file().classes[Class].bank))
    for (const MachineOperand &MO : MI.explicit_operands())
      if (MO.isImm())
        Immediate = MO.getImm();
  uint64_t Flags = ForSize | Undefined << 2 | uint64_t(Indices.size() > 1) << 3;
  return uint64_t(MI.getOpcode()) | uint64_t(Indices.front()) << 16 | uint64_t(Class) << 24 |
         uint64_t(MI.getOperand(Indices.front()).getSubReg()) << 40 | uint64_t(Immediate) << 48 | Flags << 56;
}

// Tries to fold a copy of the instruction.
bool Folder::probe(MachineInstr &MI, ArrayRef<unsigned> Indices, uint32_t Class) {
  MachineFrameInfo &Frame = MF.getFrameInfo();
  MachineRegisterInfo &MRI = MF.getRegInfo();
  const ChClass &C = T.file().classes[Class];
  // The object is no more aligned than a slot is if the stack cannot be realigned. As an object outside of the frame's stack, it
  // does not affect the frame's alignment.
  Align Alignment = std::min(Align(C.slot_align), MF.getSubtarget().getFrameLowering()->getStackAlign());
  if (!Object)
    Object = Frame.CreateStackObject(C.slot_size, Alignment, /*isSpillSlot=*/true, nullptr, TargetStackID::NoAlloc);
  Frame.setObjectSize(*Object, C.slot_size);
  Frame.setObjectAlignment(*Object, Alignment);
  MachineInstr *Clone = MF.CloneMachineInstr(&MI);
  MI.getParent()->insert(MI.getIterator(), Clone);
  // Folding may narrow the classes of other operands.
  SmallVector<std::pair<Register, const TargetRegisterClass *>, 4> Before;
  for (const MachineOperand &MO : MI.operands())
    if (MO.isReg() && MO.getReg().isVirtual())
      Before.push_back({MO.getReg(), MRI.getRegClass(MO.getReg())});
  MachineInstr *New = fold(*Clone, Indices, *Object);
  for (auto [Reg, RC] : Before)
    MRI.setRegClass(Reg, RC);
  if (New)
    New->eraseFromParent();
  Clone->eraseFromParent();
  return New;
}

} // namespace chordal
