#include "x86.h"

using namespace llvm;

namespace chordal::x86 {

std::array<MachineOperand, AddressOperands> addressOf(int Object) {
  MachineOperand None = MachineOperand::CreateReg(Register(), false);
  return {MachineOperand::CreateFI(Object), MachineOperand::CreateImm(1), None, MachineOperand::CreateImm(0), None};
}

bool hasAddress(const MachineInstr &MI, unsigned First, int Object) {
  auto NoRegister = [&](unsigned I) { return MI.getOperand(First + I).isReg() && !MI.getOperand(First + I).getReg(); };
  auto Immediate = [&](unsigned I, int64_t Value) {
    return MI.getOperand(First + I).isImm() && MI.getOperand(First + I).getImm() == Value;
  };
  const MachineOperand &Base = MI.getOperand(First);
  return Base.isFI() && Base.getIndex() == Object && Immediate(1, 1) && NoRegister(2) && Immediate(3, 0) && NoRegister(4);
}

bool readsParts(uint32_t Bank) { return Bank != General; }

} // namespace chordal::x86
