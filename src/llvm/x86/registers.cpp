#include "x86.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

const ChBank Banks[NumBanks] = {
    {str("general"), CH_SWAP_EXCHANGE, CH_NONE}, {str("vector"), CH_SWAP_XOR, CH_NONE}, {str("mask"), CH_SWAP_XOR, General},
    {str("x87"), CH_SWAP_NEVER, CH_NONE},        {str("mmx"), CH_SWAP_XOR, CH_NONE},    {str("tile"), CH_SWAP_EXCHANGE, CH_NONE},
};

// The class that holds the widest view of a bank's registers.
const char *const WidestClass[NumBanks] = {"GR64", "VR512", "VK64", "RFP80", "VR64", "TILE"};
const char StatusRegister[] = "EFLAGS";

} // namespace

ArrayRef<ChBank> banks(bool HasTiles) { return ArrayRef(Banks).take_front(HasTiles ? NumBanks : Tile); }

std::vector<Root> roots(Target &T, bool Is64Bit, bool HasTiles) {
  std::vector<Root> Roots;
  const TargetRegisterClass *Dword = T.classNamed("GR32");
  for (uint32_t Bank = 0; Bank < banks(HasTiles).size(); ++Bank)
    for (MCRegister Reg : *T.classNamed(WidestClass[Bank])) {
      if (StringRef(T.TRI.getName(Reg)) == "RIP")
        continue;
      // Calls on i386 preserve 32 bits: no program has the other 32 there.
      if (Bank == General && !Is64Bit)
        Reg = *find_if(T.TRI.subregs(Reg), [&](MCRegister Sub) { return Dword->contains(Sub); });
      Roots.push_back({Reg, Bank});
    }
  for (unsigned R = 1; R < T.TRI.getNumRegs(); ++R)
    if (StringRef(T.TRI.getName(R)) == StatusRegister)
      Roots.push_back({R, CH_NONE});
  return Roots;
}

bool isPrefixed(MCRegister Reg, const TargetRegisterInfo &TRI) { return TRI.getEncodingValue(Reg) >= 8; }

const TargetRegisterClass *unrestricted(const TargetRegisterClass *RC, Target &T) {
  return T.classNamed(("GR" + Twine(8 * T.TRI.getSpillSize(*RC))).str());
}

const TargetRegisterClass *classBeside(const TargetRegisterClass *RC, Target &T) {
  return T.classNamed(T.TRI.getSpillSize(*RC) > 4 ? "GR64" : "GR32");
}

} // namespace chordal::x86
