#include "instructions.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <vector>

using namespace llvm;

namespace chordal {
namespace {

const TargetInstrInfo &instrInfo(const MachineInstr &MI) { return *MI.getMF()->getSubtarget().getInstrInfo(); }

bool startsWith(StringRef Opcode, ArrayRef<StringRef> Prefixes) {
  return any_of(Prefixes, [&](StringRef Prefix) { return Opcode.starts_with(Prefix); });
}

// Zeros, ones and minus ones in registers, which LLVM expands late.
bool isOneByXor(StringRef Opcode) { return Opcode == "MOV32r1" || Opcode == "MOV32r_1" || Opcode == "AVX1_SETALLONES"; }
bool isZeroByXor(StringRef Opcode) {
  return Opcode == "MOV32r0" || Opcode.starts_with("KSET0") || Opcode.contains("_SET0") || Opcode.contains("FsFLD0");
}

bool isXor(StringRef Opcode) {
  return startsWith(Opcode, {"XOR", "LOCK_XOR", "VXOR", "PXOR", "VPXOR", "KXOR", "MMX_PXOR"}) || isZeroByXor(Opcode) ||
         isOneByXor(Opcode);
}

// LLVM makes no copies with these, but turns copies into them to stay in the integer domain; isCopyInstr does not know them.
bool isIntegerVectorCopy(StringRef Opcode) {
  return startsWith(Opcode, {"MOVDQArr", "MOVDQUrr", "VMOVDQArr", "VMOVDQAYrr", "VMOVDQUrr", "VMOVDQUYrr"});
}

// Lowered to two instructions when they are printed: a call behind the address of its argument, or `call` and `pop`.
bool isReadOfProgramCounter(StringRef Opcode) { return Opcode == "MOVPC32r"; }
bool isAddressAndCall(StringRef Opcode) { return startsWith(Opcode, {"TLS_addr", "TLS_base_addr", "TLS_desc"}); }

struct Accesses {
  bool Loads, Stores;
};

// What LLVM knows of instructions as intrinsics only, it marks as reading and writing any memory, or as neither, although
// the effects are others. By the processor's manual:
std::optional<Accesses> correction(StringRef Opcode) {
  if (startsWith(Opcode, {"PREFETCH", "VGATHERPF", "VSCATTERPF", "CLDEMOTE"}))
    return Accesses{false, false};
  if (startsWith(Opcode, {"LDMXCSR", "VLDMXCSR", "FXRSTOR", "XRSTOR", "LDTILECFG", "CLFLUSH", "CLWB", "INVPCID", "UMONITOR"}))
    return Accesses{true, false};
  if (startsWith(Opcode, {"FXSAVE", "XSAVEC", "XSAVES", "STTILECFG", "MMX_MOVNTQ", "MOVDIRI", "WRSS", "WRUSS"}))
    return Accesses{false, true};
  if (startsWith(Opcode, {"MOVDIR64B", "ENQCMD", "OR32mi8Locked"}))
    return Accesses{true, true};
  if (Opcode.contains("MASKMOV"))
    return Accesses{Opcode.ends_with("rm"), !Opcode.ends_with("rm")};
  if (Opcode.starts_with("VEXTRACT"))
    return Accesses{false, Opcode.contains("mri")};
  return std::nullopt;
}

// What an opcode's name says.
struct Named {
  bool ReadsProgramCounter, Two, IntegerVectorCopy, Xor, Exchange;
  std::optional<Accesses> Correction;

  explicit Named(StringRef Opcode)
      : ReadsProgramCounter(isReadOfProgramCounter(Opcode)),
        Two(ReadsProgramCounter || isAddressAndCall(Opcode) || isOneByXor(Opcode)),
        IntegerVectorCopy(isIntegerVectorCopy(Opcode)), Xor(isXor(Opcode)),
        Exchange(Opcode.starts_with("XCHG") && Opcode.contains("rr")), Correction(correction(Opcode)) {}
};

// Names are looked at once: that takes longer than all else about an instruction.
const Named &named(const MachineInstr &MI) {
  static thread_local std::vector<std::optional<Named>> Known;
  unsigned Opcode = MI.getOpcode();
  if (Opcode >= Known.size())
    Known.resize(instrInfo(MI).getNumOpcodes());
  if (!Known[Opcode])
    Known[Opcode].emplace(instrInfo(MI).getName(Opcode));
  return *Known[Opcode];
}

Accesses accesses(const MachineInstr &MI) {
  // A tail call is a jump. It may read its target from memory, but it writes no return address.
  if ((MI.isCall() && !MI.isReturn()) || MI.isInlineAsm())
    return {false, false};
  // `pop` reads the program counter.
  const Named &Name = named(MI);
  if (Name.ReadsProgramCounter)
    return {true, false};
  if (Name.Correction)
    return *Name.Correction;
  bool HasMemory = any_of(MI.getDesc().operands(), [](auto &Operand) { return Operand.OperandType == MCOI::OPERAND_MEMORY; });
  // Such as fences and traps: side effects are all that is known of them.
  if (MI.getDesc().hasUnmodeledSideEffects() && !HasMemory)
    return {false, false};
  return {MI.mayLoad(), MI.mayStore()};
}

// Whether a copy that is still a pseudo-instruction will be an instruction.
bool copies(const MachineInstr &MI) {
  const MachineOperand &From = MI.getOperand(MI.isCopy() ? 1 : 2);
  if (MI.allDefsAreDead() || From.isUndef())
    return false;
  Register To = MI.getOperand(0).getReg();
  if (MI.isSubregToReg())
    To = MI.getMF()->getSubtarget().getRegisterInfo()->getSubReg(To, MI.getOperand(3).getImm());
  return To != From.getReg();
}

} // namespace

std::optional<int> stackObject(const MachineMemOperand *Memory) {
  if (auto *Source = dyn_cast_or_null<FixedStackPseudoSourceValue>(Memory->getPseudoValue()))
    return Source->getFrameIndex();
  return std::nullopt;
}

bool isCalleeSavedSlot(std::optional<int> Object, const MachineFrameInfo &Frame) {
  return Object && any_of(Frame.getCalleeSavedInfo(), [&](const CalleeSavedInfo &Saved) {
           return !Saved.isSpilledToReg() && Saved.getFrameIdx() == *Object;
         });
}

Printed printed(const MachineInstr &MI) {
  if (MI.isCopy() || MI.isSubregToReg())
    return copies(MI) ? Printed{1, false, false, /*Move=*/true, false} : Printed{};
  if (MI.isTransient() || MI.isDebugInstr() || MI.isCFIInstruction() || instrInfo(MI).isFrameInstr(MI))
    return {};
  const Named &Name = named(MI);
  auto [Loads, Stores] = accesses(MI);
  return {Name.Two ? 2u : 1u, Loads, Stores, instrInfo(MI).isCopyInstr(MI) || Name.IntegerVectorCopy, Name.Xor};
}

unsigned calleeSaved(const MachineInstr &MI, const MachineFrameInfo &Frame) {
  if (!MI.mayLoadOrStore())
    return 0;
  // LLVM does not mark loads of those that are not popped as the epilogue's.
  bool InSlot = any_of(MI.memoperands(), [&](auto *Memory) { return isCalleeSavedSlot(stackObject(Memory), Frame); });
  if (!InSlot && !belongsToFrame(MI))
    return 0;
  return count_if(MI.explicit_operands(), [&](const MachineOperand &MO) {
    return MO.isReg() && !MO.isUndef() &&
           any_of(Frame.getCalleeSavedInfo(), [&](const CalleeSavedInfo &Saved) { return MO.getReg() == Saved.getReg(); });
  });
}

SpillAccess spillAccess(const MachineInstr &MI, const MachineFrameInfo &Frame) {
  SpillAccess Access;
  // What an instruction changes in place, LLVM's memory operand says that it stores, and not that it loads.
  bool Reads = MI.hasOneMemOperand() && accesses(MI).Loads;
  for (const MachineMemOperand *Memory : MI.memoperands()) {
    std::optional<int> Object = stackObject(Memory);
    if (!Object || !Frame.isSpillSlotObjectIndex(*Object) || isCalleeSavedSlot(Object, Frame))
      continue;
    Access.Loads |= Reads || Memory->isLoad();
    Access.Stores |= Memory->isStore();
  }
  int Index;
  Access.Plain = (Access.Loads || Access.Stores) && (instrInfo(MI).isLoadFromStackSlotPostFE(MI, Index) ||
                                                     instrInfo(MI).isStoreToStackSlotPostFE(MI, Index));
  return Access;
}

bool isExchange(const MachineInstr &MI) {
  return named(MI).Exchange && !MI.mayLoadOrStore();
}

} // namespace chordal
