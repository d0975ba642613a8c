#include "x86.h"
#include "../forms.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal::x86 {

static const TargetInstrInfo &infoOf(const MachineInstr &MI) { return *MI.getMF()->getSubtarget().getInstrInfo(); }

// Instructions that have a form with three addresses: those that LLVM turns into an address computation, moves of a vector's
// elements that a mask chooses, which it turns into a blend, and those that read a constant from memory, which can be loaded first.
enum class Loose { None, OfTwo, Shift, Difference, Blend, Load };

static Loose addressComputation(StringRef Opcode) {
  return StringSwitch<Loose>(Opcode)
      .Cases({"ADD32rr", "ADD64rr", "ADD32rr_DB", "ADD64rr_DB", "ADD32ri", "ADD64ri32", "ADD32ri_DB", "ADD64ri32_DB"}, Loose::OfTwo)
      .Cases({"INC32r", "INC64r", "DEC32r", "DEC64r"}, Loose::OfTwo)
      .Cases({"ADD8rr", "ADD16rr", "ADD8rr_DB", "ADD16rr_DB", "ADD8ri", "ADD16ri", "ADD8ri_DB", "ADD16ri_DB"}, Loose::OfTwo)
      .Cases({"INC8r", "INC16r", "DEC8r", "DEC16r"}, Loose::OfTwo)
      .Cases({"SHL8ri", "SHL16ri", "SHL32ri", "SHL64ri"}, Loose::Shift)
      .Cases({"SUB32ri", "SUB64ri32"}, Loose::Difference)
      .Default(Loose::None);
}

// Splits an instruction into a load and one that reads a register, which is inserted nowhere yet; whether LLVM can.
static bool unfold(MachineInstr &MI, Register Loaded, SmallVectorImpl<MachineInstr *> &New) {
  return infoOf(MI).unfoldMemoryOperand(*MI.getMF(), MI, Loaded, /*UnfoldLoad=*/true, /*UnfoldStore=*/false, New);
}

// The uses of an instruction that overwrites the first and reads the other from memory.
constexpr unsigned Overwritten = 1, Other = 2;

// Whether what an instruction loads can be loaded first, and be overwritten in place of its first use.
static bool commutesUnfolded(MachineInstr &MI, Target &T) {
  MachineFunction &MF = *MI.getMF();
  const TargetInstrInfo &TII = infoOf(MI);
  unsigned Index;
  unsigned Opcode = TII.getOpcodeAfterMemoryUnfold(MI.getOpcode(), /*UnfoldLoad=*/true, /*UnfoldStore=*/false, &Index);
  if (!Opcode || !TII.get(Opcode).isCommutable() || Index != Other)
    return false;
  SmallVector<MachineInstr *, 2> New;
  Register Loaded = MF.getRegInfo().createVirtualRegister(TII.getRegClass(TII.get(Opcode), Index));
  bool Commutes = false;
  if (unfold(MI, Loaded, New)) {
    MI.getParent()->insert(MI.getIterator(), New.back());
    Commutes = New.size() == 2 && isExchangeable(*New.back(), Overwritten, Other, T);
    New.back()->removeFromParent();
  }
  for (MachineInstr *Made : New)
    MF.deleteMachineInstr(Made);
  return Commutes;
}

static Loose loose(MachineInstr &MI, Target &T) {
  StringRef Name = infoOf(MI).getName(MI.getOpcode());
  Loose Address = addressComputation(Name);
  if (Address != Loose::None || !MI.getNumExplicitDefs() || !MI.isRegTiedToUseOperand(0))
    return Address;
  // Of vectors, LLVM converts masked moves only.
  if (MI.isConvertibleTo3Addr() && Name.starts_with("V"))
    return Loose::Blend;
  bool Reads = MI.mayLoad() && !MI.mayStore() && MI.getNumExplicitOperands() == Other + AddressOperands;
  return Reads && commutesUnfolded(MI, T) ? Loose::Load : Loose::None;
}

static Loose looseKind(MachineInstr &MI, Target &T) {
  auto [It, New] = T.Loose.try_emplace(MI.getOpcode(), 0);
  if (New)
    It->second = int(loose(MI, T));
  return Loose(It->second);
}

static bool writesFlags(const MachineInstr &MI) {
  return any_of(MI.implicit_operands(), [](const MachineOperand &MO) { return MO.isReg() && MO.isDef(); });
}

static bool writesLiveFlags(const MachineInstr &MI) {
  return any_of(MI.implicit_operands(), [](const MachineOperand &MO) { return MO.isReg() && MO.isDef() && !MO.isDead(); });
}

static bool readsConstant(const MachineInstr &MI) {
  return MI.isDereferenceableInvariantLoad() || any_of(MI.operands(), [](const MachineOperand &MO) { return MO.isCPI(); });
}

bool hasThreeAddresses(MachineInstr &MI, Target &T) {
  Loose Kind = looseKind(MI, T);
  switch (Kind) {
  case Loose::None:
    return false;
  case Loose::Blend:
    return true;
  case Loose::Load:
    // A load of anything else would be one instruction more, like the copy. And forms with three addresses write no flags.
    return readsConstant(MI) && !writesFlags(MI);
  case Loose::OfTwo:
  case Loose::Shift:
  case Loose::Difference:
    break;
  }
  // An address computation writes no flags.
  if (writesLiveFlags(MI))
    return false;
  if (MI.getNumExplicitOperands() < 3)
    return true;
  if (MI.getOperand(2).isReg())
    return MI.getOperand(2).getReg().isVirtual();
  if (!MI.getOperand(2).isImm())
    return false;
  int64_t Immediate = MI.getOperand(2).getImm();
  switch (Kind) {
  case Loose::Shift:
    return Immediate >= 1 && Immediate <= 3;
  case Loose::Difference:
    return isInt<32>(-Immediate);
  default:
    return true;
  }
}

// Computations from one register that cost hardly more than a move.
enum class Cheap { None, Address, Extension, Move, Sum };

static Cheap cheap(StringRef Opcode) {
  return StringSwitch<Cheap>(Opcode)
      .Cases({"LEA32r", "LEA64r"}, Cheap::Address)
      .Cases({"MOVZX32rr8", "MOVZX32rr16", "MOVZX64rr8", "MOVZX64rr16"}, Cheap::Extension)
      .Cases({"MOVSX32rr8", "MOVSX32rr16", "MOVSX64rr8", "MOVSX64rr16", "MOVSX64rr32"}, Cheap::Extension)
      .Case("MOV32rr", Cheap::Move)
      .Cases({"ADD32ri", "ADD64ri32", "SUB32ri", "SUB64ri32", "SHL32ri", "SHL64ri"}, Cheap::Sum)
      .Cases({"INC32r", "INC64r", "DEC32r", "DEC64r"}, Cheap::Sum)
      .Default(Cheap::None);
}

static Cheap cheap(const MachineInstr &MI, Target &T) {
  auto [It, New] = T.Repeats.try_emplace(MI.getOpcode(), 0);
  if (New)
    It->second = int(cheap(infoOf(MI).getName(MI.getOpcode())));
  return Cheap(It->second);
}

bool isExtension(const MachineInstr &MI, Target &T) {
  return (cheap(MI, T) == Cheap::Extension || cheap(MI, T) == Cheap::Move) && !MI.getOperand(1).getSubReg();
}

bool isCheap(MachineInstr &MI, Target &T) {
  switch (cheap(MI, T)) {
  case Cheap::Address: {
    const MachineOperand &Base = MI.getOperand(1), &Index = MI.getOperand(3), &Offset = MI.getOperand(4);
    if (!Base.isReg() || !Offset.isImm())
      return false;
    Register One = Base.getReg() ? Base.getReg() : Index.getReg();
    return One.isVirtual() && (!Base.getReg() || !Index.getReg() || Base.isIdenticalTo(Index));
  }
  case Cheap::Extension:
    return true;
  case Cheap::Sum:
    return hasThreeAddresses(MI, T);
  case Cheap::Move:
  case Cheap::None:
    return false;
  }
  llvm_unreachable("there are no others");
}

bool isIndexToo(MachineInstr &MI, unsigned Index, Target &T) {
  return Index == 3 && MI.getOperand(Index).isIdenticalTo(MI.getOperand(1)) && isCheap(MI, T);
}

// Computes the sum of bytes or words together with the unused rest of their registers. LLVM does that only with virtual
// registers.
static MachineInstr *narrowSum(MachineInstr &MI, Target &T) {
  const TargetInstrInfo &TII = infoOf(MI);
  StringRef Name = TII.getName(MI.getOpcode());
  bool Is64Bit = MI.getMF()->getTarget().getTargetTriple().isArch64Bit();
  auto View = [&](const MachineOperand &MO, StringRef Class) {
    return T.view(T.classNamed(Class), T.lowPartOf(MO.getReg().asMCReg()));
  };
  const MachineOperand &First = MI.getOperand(1);
  const MachineOperand *Second = MI.getNumExplicitOperands() > 2 ? &MI.getOperand(2) : nullptr;
  bool Shift = Name.starts_with("SHL");
  int64_t Immediate = Name.starts_with("INC") ? 1 : Name.starts_with("DEC") ? -1 : Second->isImm() ? Second->getImm() : 0;
  auto New = BuildMI(*MI.getParent(), MI, MI.getDebugLoc(), TII.get(T.opcode(Is64Bit ? "LEA64_32r" : "LEA32r", TII)),
                     View(MI.getOperand(0), "GR32"));
  auto Address = [&](const MachineOperand *MO) {
    if (MO && MO->isReg())
      New.addReg(View(*MO, Is64Bit ? "GR64" : "GR32"), RegState::Undef);
    else
      New.addReg(MCRegister());
  };
  Address(Shift ? nullptr : &First);
  New.addImm(Shift ? int64_t(1) << Immediate : 1);
  Address(Shift ? &First : Second);
  New.addImm(Shift ? 0 : Immediate).addReg(MCRegister());
  for (const MachineOperand *MO : {&First, Second})
    if (MO && MO->isReg())
      New.addReg(MO->getReg(), RegState::Implicit);
  return New;
}

// Loads the constant that an instruction reads to where its result belongs, for the instruction to overwrite it there.
static MachineInstr *loadFirst(MachineInstr &MI) {
  SmallVector<MachineInstr *, 2> New;
  if (!unfold(MI, MI.getOperand(0).getReg(), New))
    return nullptr;
  for (MachineInstr *Made : New)
    MI.getParent()->insert(MI.getIterator(), Made);
  chordal::exchange(*New.back(), Overwritten, Other);
  return New.back();
}

MachineInstr *withThreeAddresses(MachineInstr &MI, Target &T) {
  Register Defined = MI.getOperand(0).getReg();
  bool Narrow = T.classNamed("GR8")->contains(Defined) || T.classNamed("GR16")->contains(Defined);
  MachineInstr *New = looseKind(MI, T) == Loose::Load ? loadFirst(MI)
                      : Narrow                        ? narrowSum(MI, T)
                                                      : infoOf(MI).convertToThreeAddress(MI, nullptr, nullptr);
  if (New && MI.peekDebugInstrNum())
    MI.getMF()->substituteDebugValuesForInst(MI, *New, 1);
  return New;
}

} // namespace chordal::x86
