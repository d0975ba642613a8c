#include "x86.h"
#include "../run.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace chordal::x86 {

void initialise() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
}

bool isTarget(const Triple &T) { return T.isX86(); }

// LLVM runs its greedy allocator an additional time, for matrix tiles, unless llc is told to use another allocator.
void configure(bool Greedy) { setOption("x86-tile-ra", Greedy); }

std::vector<Pass *> passesBeforeGreedy(const MachineFunction &MF) {
  if (!usesTiles(MF))
    return {};
  auto IsTile = [](const TargetRegisterInfo &TRI, const MachineRegisterInfo &MRI, Register Reg) {
    return MRI.getRegClassOrNull(Reg) == tileClass(TRI);
  };
  const PassInfo *TileConfig = PassRegistry::getPassRegistry()->getPassInfo(StringRef("tileconfig"));
  if (!TileConfig)
    report_fatal_error("this LLVM has no pass tileconfig");
  return {createGreedyRegisterAllocator(IsTile), TileConfig->createPass()};
}

bool makesThunks(const Module &M) {
  return any_of(M, [](const Function &F) {
    StringRef Features = F.getFnAttribute("target-features").getValueAsString();
    return Features.contains("+retpoline") || Features.contains("+lvi");
  });
}

} // namespace chordal::x86
