#include "target.h"
#include "x86/x86.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal {

const TargetRegisterClass *Target::classNamed(StringRef Name) {
  auto [It, New] = ClassNames.try_emplace(Name, nullptr);
  if (New)
    for (const TargetRegisterClass *RC : TRI.regclasses())
      if (Name == TRI.getRegClassName(RC))
        It->second = RC;
  if (!It->second)
    report_fatal_error(Twine("this LLVM has no register class ") + Name);
  return It->second;
}

unsigned Target::opcode(StringRef Name, const TargetInstrInfo &TII) {
  auto [It, New] = Opcodes.try_emplace(Name, 0);
  if (New)
    for (unsigned Opcode = 0; Opcode < TII.getNumOpcodes() && !It->second; ++Opcode)
      if (TII.getName(Opcode) == Name)
        It->second = Opcode;
  if (!It->second)
    report_fatal_error(Twine("this LLVM has no instruction ") + Name);
  return It->second;
}

static ArrayRef<MCPhysReg> calleeSavedBy(const MachineRegisterInfo &MRI) {
  const MCPhysReg *First = MRI.getCalleeSavedRegs(), *End = First;
  while (End && *End)
    ++End;
  return {First, End};
}

Target::Target(const MachineFunction &MF)
    : TRI(*MF.getSubtarget().getRegisterInfo()), Registers(TRI), Subtarget(&MF.getSubtarget()), Reserved(MF.getRegInfo().getReservedRegs()),
      CalleeSaved(calleeSavedBy(MF.getRegInfo()).vec()), TileSets(x86::Tiles(MF).registers()) {
  addRoots(MF.getTarget().getTargetTriple().isArch64Bit());
  addClasses(MF);
  addTiles();
  for (MCPhysReg Reg : CalleeSaved)
    unite(File.callee_saved, Roots[Reg]);
  for (unsigned Root = 0; Root < RootRegs.size(); ++Root)
    if (Regs[Root].bank != CH_NONE && x86::isPrefixed(RootRegs[Root], TRI))
      insert(File.prefixed, Root);
  ArrayRef<ChBank> Banks = x86::banks(!TileSets.empty());
  File.banks = Banks.data();
  File.num_banks = Banks.size();
  File.regs = Regs.data();
  File.num_regs = Regs.size();
  File.classes = Classes.data();
  File.num_classes = Classes.size();
  File.orders = Orders.data();
  File.num_orders = Orders.size();
}

bool Target::describes(const MachineFunction &MF) const {
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  return &MF.getSubtarget() == Subtarget && calleeSavedBy(MRI) == ArrayRef(CalleeSaved) && MRI.getReservedRegs() == Reserved &&
         x86::Tiles(MF).registers() == TileSets;
}

void Target::addRoots(bool Is64Bit) {
  std::vector<x86::Root> All = x86::roots(*this, Is64Bit, !TileSets.empty());
  if (All.size() > 128)
    report_fatal_error("too many register families for a 128-bit set");
  for (auto [Reg, Bank] : All) {
    Names.push_back(StringRef(TRI.getName(Reg)).lower());
    Regs.push_back({str(Names.back()), Bank});
    RootRegs.push_back(Reg);
    if (Bank == CH_NONE)
      Flags = Reg;
  }
  FirstTileRoot = find_if(All, [](const x86::Root &R) { return R.Bank == x86::Tile; }) - All.begin();

  Roots.resize(TRI.getNumRegs());
  LowPartOf.assign(TRI.getNumRegs(), CH_NONE);
  for (unsigned Root = 0; Root < RootRegs.size(); ++Root) {
    for (MCRegAliasIterator A(RootRegs[Root], &TRI, true); A.isValid(); ++A)
      insert(Roots[(*A).id()], Root);
    for (MCPhysReg Sub : TRI.subregs_inclusive(RootRegs[Root])) {
      unsigned Index = TRI.getSubRegIndex(RootRegs[Root], Sub);
      if (Index == 0 || TRI.getSubRegIdxOffset(Index) == 0)
        LowPartOf[Sub] = Root;
    }
  }
}

void Target::addClasses(const MachineFunction &MF) {
  RegisterClassInfo RCI;
  RCI.runOnMachineFunction(MF);
  ClassOf.assign(TRI.getNumRegClasses(), CH_NONE);
  Views.resize(TRI.getNumRegClasses());
  for (const TargetRegisterClass *RC : TRI.regclasses()) {
    auto &View = Views[RC->getID()];
    View.assign(RootRegs.size(), MCRegister());
    for (MCRegister Reg : *RC)
      if (LowPartOf[Reg] != CH_NONE)
        View[LowPartOf[Reg]] = Reg;
    if (!RC->isAllocatable())
      continue;
    uint32_t First = Orders.size();
    uint32_t Bank = CH_NONE;
    for (MCPhysReg Reg : RCI.getOrder(RC)) {
      // High bytes are left out, because they alias a whole register that is in the order itself, and so are tuples. Some classes
      // have two views of one register (rbp and ebp, for addresses of 32 bits).
      if (LowPartOf[Reg] == CH_NONE || Regs[LowPartOf[Reg]].bank == CH_NONE || is_contained(drop_begin(Orders, First), LowPartOf[Reg]))
        continue;
      Orders.push_back(LowPartOf[Reg]);
      Bank = Regs[LowPartOf[Reg]].bank;
    }
    if (Bank == CH_NONE)
      continue;
    ClassOf[RC->getID()] = Classes.size();
    LLVMClasses.push_back(RC);
    Names.push_back(StringRef(TRI.getRegClassName(RC)).lower());
    Classes.push_back({str(Names.back()), Bank, First, uint32_t(Orders.size()), uint32_t(TRI.getSpillSize(*RC)),
                       uint32_t(TRI.getSpillAlign(*RC).value())});
  }
}

// Tiles of each shape have registers of their own.
void Target::addTiles() {
  FirstTiles = Classes.size();
  unsigned Root = FirstTileRoot;
  for (unsigned Count : TileSets) {
    uint32_t First = Orders.size();
    for (unsigned End = Root + Count; Root < End; ++Root)
      Orders.push_back(Root);
    const ChClass &All = Classes[classOf(x86::tileClass(TRI))];
    LLVMClasses.push_back(x86::tileClass(TRI));
    Names.push_back(("tile" + Twine(Classes.size() - FirstTiles)).str());
    Classes.push_back({str(Names.back()), x86::Tile, First, uint32_t(Orders.size()), All.slot_size, All.slot_align});
  }
}

Target::Masked &Target::masked(const uint32_t *Mask) {
  ArrayRef<uint32_t> Words(Mask, MachineOperand::getRegMaskSize(TRI.getNumRegs()));
  for (Masked &Known : Masks)
    if (ArrayRef(Known.Mask) == Words)
      return Known;
  return Masks.emplace_back(Masked{Words.vec(), Registers.clobbered(Mask), {}, {}});
}

// The narrowest register that has the low bits of a root; the root itself if none of its parts has them.
MCRegister Target::lowBits(unsigned Root, unsigned Bits) const {
  MCRegister Best = RootRegs[Root];
  for (MCPhysReg Sub : TRI.subregs(RootRegs[Root])) {
    unsigned Index = TRI.getSubRegIndex(RootRegs[Root], Sub);
    unsigned Size = TRI.getSubRegIdxSize(Index);
    if (TRI.getSubRegIdxOffset(Index) == 0 && Size >= Bits && Size < TRI.getRegSizeInBits(*TRI.getMinimalPhysRegClass(Best)))
      Best = Sub;
  }
  return Best;
}

ChRegSet Target::clobbers(const uint32_t *Mask, const Widths &Widest) {
  Masked &Known = masked(Mask);
  if (Known.Widest != Widest) {
    Known.Widest = Widest;
    Known.Roots = {};
    for (unsigned Root = 0; Root < RootRegs.size(); ++Root) {
      uint32_t Bank = Regs[Root].bank;
      MCRegister Needed = Bank == CH_NONE ? RootRegs[Root] : lowBits(Root, Widest[Bank]);
      if (Known.Destroyed.overlaps(Registers.parts(Needed)))
        insert(Known.Roots, Root);
    }
  }
  return Known.Roots;
}

} // namespace chordal
