// What few registers can hold.
#ifndef CHORDAL_NARROW_H
#define CHORDAL_NARROW_H

#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

namespace chordal::x86 {

// Has second bytes (those of `ah` and the like) be read from copies of values: four registers alone have such a byte, and a value
// would be in one of these wherever it lives. (What is read in place of the value behind such a copy is `copies.rs`'s to say. On i386,
// none but the same four has a first byte, either, and most values with a second one have a first one. LLVM's allocator widens
// classes where it splits live ranges.)
class SecondBytes {
public:
  explicit SecondBytes(llvm::MachineFunction &MF);

  // Copies what an instruction reads the second byte of. (All that read such a byte as it is selected are copies themselves.)
  void copyFor(llvm::MachineInstr &MI);

  // Lets values that have been copied be in all registers that their other readers allow.
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
