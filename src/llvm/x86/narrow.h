// Second bytes of values, which only few registers have.
#ifndef CHORDAL_NARROW_H
#define CHORDAL_NARROW_H

#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

namespace chordal::x86 {

// Makes second bytes (those in `ah` and the like) be read from copies of values. Only four registers have such a byte, and the
// class of a value would be restricted to these wherever it lives. (If an instruction reads the value in place of the copy,
// `copies.rs` decides that. On i386, only the same four registers have a first byte, too, and most values with a second byte have
// a first one. LLVM's allocator widens classes when it splits live ranges.)
class SecondBytes {
public:
  explicit SecondBytes(llvm::MachineFunction &MF);

  // Copies the value whose second byte an instruction reads. (In selected code, only copies read such a byte.)
  void copyFor(llvm::MachineInstr &MI);

  // Lets the values that have been copied be in all registers that their other readers allow.
  void widenClasses();

private:
  bool isSecondByte(const llvm::MachineOperand &MO) const;

  llvm::MachineFunction &MF;
  const llvm::TargetRegisterInfo &TRI;
  bool Is64Bit;
  llvm::SmallSetVector<llvm::Register, 8> Copied;
};

} // namespace chordal::x86
#endif
