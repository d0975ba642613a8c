#include "x86.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

bool startsWith(StringRef Opcode, ArrayRef<StringRef> Prefixes) {
  return any_of(Prefixes, [&](StringRef Prefix) { return Opcode.starts_with(Prefix); });
}

// Pseudo-instructions for zeroes, ones and minus ones, which LLVM expands late.
bool isOneByXor(StringRef Opcode) { return Opcode == "MOV32r1" || Opcode == "MOV32r_1" || Opcode == "AVX1_SETALLONES"; }
bool isZeroByXor(StringRef Opcode) {
  return Opcode == "MOV32r0" || Opcode.starts_with("KSET0") || Opcode.contains("_SET0") || Opcode.contains("FsFLD0");
}

bool isXor(StringRef Opcode) {
  return startsWith(Opcode, {"XOR", "LOCK_XOR", "VXOR", "PXOR", "VPXOR", "KXOR", "MMX_PXOR"}) || isZeroByXor(Opcode) ||
         isOneByXor(Opcode);
}

// LLVM turns copies into these to stay in the integer domain, but isCopyInstr does not know them.
bool isIntegerVectorCopy(StringRef Opcode) {
  return startsWith(Opcode, {"MOVDQArr", "MOVDQUrr", "VMOVDQArr", "VMOVDQAYrr", "VMOVDQUrr", "VMOVDQUYrr"});
}

// Pseudo-instructions that are printed as two instructions: `call` and `pop`, or the address of an argument and a call.
bool isReadOfProgramCounter(StringRef Opcode) { return Opcode == "MOVPC32r"; }
bool isAddressAndCall(StringRef Opcode) { return startsWith(Opcode, {"TLS_addr", "TLS_base_addr", "TLS_desc"}); }

// The accesses of instructions that LLVM knows only as intrinsics, according to the processor's manual. LLVM marks them as
// reading and writing any memory, or as doing neither.
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

OpcodeFacts facts(StringRef Opcode) {
  // `pop` reads the program counter.
  bool ReadsProgramCounter = isReadOfProgramCounter(Opcode);
  bool Two = ReadsProgramCounter || isAddressAndCall(Opcode) || isOneByXor(Opcode);
  bool IsExchange = Opcode.starts_with("XCHG") && Opcode.contains("rr");
  return {Two ? 2u : 1u, isIntegerVectorCopy(Opcode), isXor(Opcode), IsExchange,
          ReadsProgramCounter ? Accesses{true, false} : correction(Opcode)};
}

} // namespace

// Each name is examined once: this takes longer than everything else about an instruction.
const OpcodeFacts &factsOf(const MachineInstr &MI) {
  static thread_local std::vector<std::optional<OpcodeFacts>> Known;
  const TargetInstrInfo &TII = *MI.getMF()->getSubtarget().getInstrInfo();
  unsigned Opcode = MI.getOpcode();
  if (Opcode >= Known.size())
    Known.resize(TII.getNumOpcodes());
  if (!Known[Opcode])
    Known[Opcode] = facts(TII.getName(Opcode));
  return *Known[Opcode];
}

} // namespace chordal::x86
