#include "x86.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal::x86 {

static const TargetInstrInfo &infoOf(const MachineInstr &MI) { return *MI.getMF()->getSubtarget().getInstrInfo(); }

// Instructions that LLVM turns into an address computation.
enum class Sum { None, OfTwo, Shift, Difference };

static Sum sum(StringRef Opcode) {
  return StringSwitch<Sum>(Opcode)
      .Cases({"ADD32rr", "ADD64rr", "ADD32rr_DB", "ADD64rr_DB", "ADD32ri", "ADD64ri32", "ADD32ri_DB", "ADD64ri32_DB"}, Sum::OfTwo)
      .Cases({"INC32r", "INC64r", "DEC32r", "DEC64r"}, Sum::OfTwo)
      .Cases({"ADD8rr", "ADD16rr", "ADD8rr_DB", "ADD16rr_DB", "ADD8ri", "ADD16ri", "ADD8ri_DB", "ADD16ri_DB"}, Sum::OfTwo)
      .Cases({"INC8r", "INC16r", "DEC8r", "DEC16r"}, Sum::OfTwo)
      .Cases({"SHL8ri", "SHL16ri", "SHL32ri", "SHL64ri"}, Sum::Shift)
      .Cases({"SUB32ri", "SUB64ri32"}, Sum::Difference)
      .Default(Sum::None);
}

bool hasThreeAddresses(const MachineInstr &MI, Target &T) {
  auto [It, New] = T.Sums.try_emplace(MI.getOpcode(), 0);
  if (New)
    It->second = int(sum(infoOf(MI).getName(MI.getOpcode())));
  Sum Kind = Sum(It->second);
  if (Kind == Sum::None)
    return false;
  // An address computation writes no flags.
  for (const MachineOperand &MO : MI.implicit_operands())
    if (MO.isReg() && MO.isDef() && !MO.isDead())
      return false;
  if (MI.getNumExplicitOperands() < 3 || MI.getOperand(2).isReg())
    return true;
  if (!MI.getOperand(2).isImm())
    return false;
  int64_t Immediate = MI.getOperand(2).getImm();
  switch (Kind) {
  case Sum::Shift:
    return Immediate >= 1 && Immediate <= 3;
  case Sum::Difference:
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

bool isCheap(const MachineInstr &MI, Target &T) {
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

bool isIndexToo(const MachineInstr &MI, unsigned Index, Target &T) {
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

MachineInstr *withThreeAddresses(MachineInstr &MI, Target &T) {
  Register Defined = MI.getOperand(0).getReg();
  bool Narrow = T.classNamed("GR8")->contains(Defined) || T.classNamed("GR16")->contains(Defined);
  MachineInstr *New = Narrow ? narrowSum(MI, T) : infoOf(MI).convertToThreeAddress(MI, nullptr, nullptr);
  if (New && MI.peekDebugInstrNum())
    MI.getMF()->substituteDebugValuesForInst(MI, *New, 1);
  return New;
}

} // namespace chordal::x86
