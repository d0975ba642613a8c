#include "x86.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

// An immediate of this many bytes; none if no instruction stores it.
struct Constant {
  unsigned Bytes = 0;
  MachineOperand Value = MachineOperand::CreateImm(0);
};

Constant constant(const MachineInstr &MI) {
  const TargetSubtargetInfo &Subtarget = MI.getMF()->getSubtarget();
  bool Is64Bit = MI.getMF()->getTarget().getTargetTriple().isArch64Bit();
  StringRef Name = Subtarget.getInstrInfo()->getName(MI.getOpcode());
  // Instructions without operands, and the numbers that they produce.
  if (Name == "MOV32r0" || Name.ends_with("FsFLD0SS"))
    return {4};
  if (Name == "MOV32r1" || Name == "MOV32r_1")
    return {4, MachineOperand::CreateImm(Name == "MOV32r1" ? 1 : -1)};
  if (Name.ends_with("FsFLD0SD"))
    return {Is64Bit ? 8u : 0u};
  unsigned Bytes = StringSwitch<unsigned>(Name)
                       .Case("MOV8ri", 1)
                       .Case("MOV16ri", 2)
                       .Case("MOV32ri", 4)
                       .Cases({"MOV32ri64", "MOV64ri32"}, 8)
                       .Default(0);
  if (!Bytes)
    return {};
  const MachineOperand &Value = MI.getOperand(1);
  // A store extends 32 bits by their sign.
  bool Fits = Name != "MOV32ri64" || (Value.isImm() && isInt<32>(Value.getImm()));
  return {Fits ? Bytes : 0, Value};
}

} // namespace

bool isStorable(const MachineInstr &MI, const TargetRegisterClass &RC, const TargetRegisterInfo &TRI) {
  return constant(MI).Bytes == TRI.getSpillSize(RC);
}

void storeConstant(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, const MachineInstr &MI, int Object, Target &T) {
  MachineFunction &MF = *MBB.getParent();
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  auto [Bytes, Value] = constant(MI);
  StringRef Name = Bytes == 1 ? "MOV8mi" : Bytes == 2 ? "MOV16mi" : Bytes == 4 ? "MOV32mi" : "MOV64mi32";
  auto *Access = MF.getMachineMemOperand(MachinePointerInfo::getFixedStack(MF, Object), MachineMemOperand::MOStore, Bytes,
                                         MF.getFrameInfo().getObjectAlign(Object));
  auto Store = BuildMI(MBB, At, DebugLoc(), TII.get(T.opcode(Name, TII)));
  Store.addFrameIndex(Object).addImm(1).addReg(0).addImm(0).addReg(0).add(Value).addMemOperand(Access);
}

} // namespace chordal::x86
