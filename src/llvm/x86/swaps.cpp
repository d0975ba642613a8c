#include "x86.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

bool is64Bit(const MachineFunction &MF) { return MF.getTarget().getTargetTriple().isArch64Bit(); }

// The exclusive-or that covers the registers of a class, and the class that it is written in.
std::pair<StringRef, StringRef> exclusiveOrFor(const TargetRegisterClass *RC, const MachineFunction &MF, const Target &T) {
  auto Has = [&](StringRef Feature) { return MF.getSubtarget().checkFeatures(Feature); };
  unsigned Size = T.TRI.getSpillSize(*RC);
  switch (T.file().classes[T.classOf(RC)].bank) {
  case General:
    if (is64Bit(MF) && Size == 8)
      return {"XOR64rr", "GR64"};
    return {"XOR32rr", "GR32"};
  case Vector:
    if (Size == 64 || (Has("+avx512f") && !Has("+avx512vl")))
      return {"VPXORQZrr", "VR512"};
    if (Has("+avx512vl") && Size == 32)
      return {"VPXORQZ256rr", "VR256X"};
    if (Has("+avx512vl"))
      return {"VPXORQZ128rr", "VR128X"};
    if (Size == 32)
      return {"VXORPSYrr", "VR256"};
    return {Has("+avx") ? "VXORPSrr" : "XORPSrr", "VR128"};
  case Mask:
    if (Has("+avx512bw"))
      return {"KXORQkk", "VK64"};
    return {"KXORWkk", "VK16"};
  default:
    return {"MMX_PXORrr", "VR64"};
  }
}

} // namespace

bool isSwappedInMemory(const TargetRegisterClass *RC, const TargetRegisterInfo &TRI) { return RC == tileClass(TRI); }

// The whole registers of narrower values are exchanged, since the rest of these registers is unused.
MachineInstr &exchange(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, const TargetRegisterClass *RC, unsigned X, unsigned Y,
                       Target &T) {
  const TargetInstrInfo &TII = *MBB.getParent()->getSubtarget().getInstrInfo();
  bool Wide = is64Bit(*MBB.getParent()) && T.TRI.getSpillSize(*RC) == 8;
  const TargetRegisterClass *Whole = T.classNamed(Wide ? "GR64" : "GR32");
  MCRegister First = T.view(Whole, X), Second = T.view(Whole, Y);
  return *BuildMI(MBB, At, DebugLoc(), TII.get(T.opcode(Wide ? "XCHG64rr" : "XCHG32rr", TII)))
              .addReg(First, RegState::Define)
              .addReg(Second, RegState::Define)
              .addReg(First)
              .addReg(Second);
}

MachineInstr &exclusiveOr(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, const TargetRegisterClass *RC, unsigned To,
                          unsigned From, Target &T) {
  const TargetInstrInfo &TII = *MBB.getParent()->getSubtarget().getInstrInfo();
  auto [Name, ClassName] = exclusiveOrFor(RC, *MBB.getParent(), T);
  const TargetRegisterClass *Class = T.classNamed(ClassName);
  MCRegister X = T.view(Class, To);
  return *BuildMI(MBB, At, DebugLoc(), TII.get(T.opcode(Name, TII)), X).addReg(X).addReg(T.view(Class, From));
}

} // namespace chordal::x86
