#include "listing.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal {
namespace {

std::unique_ptr<MCInstPrinter> printer(const TargetMachine &TM) {
  const MCAsmInfo &Info = *TM.getMCAsmInfo();
  return std::unique_ptr<MCInstPrinter>(TM.getTarget().createMCInstPrinter(
      TM.getTargetTriple(), Info.getAssemblerDialect(), Info, *TM.getMCInstrInfo(), *TM.getMCRegisterInfo()));
}

ChPart part(const MachineInstr &MI, const ChOverhead &Cost) {
  if (Cost.exchanges > 0)
    return CH_PART_EXCHANGE;
  if (Cost.copies > 0)
    return CH_PART_COPY;
  if (Cost.saves > 0)
    return CH_PART_SAVE;
  if (Cost.restores > 0)
    return CH_PART_RESTORE;
  if (Cost.reloads > 0 || Cost.stores > 0)
    return !spillAccess(MI, MI.getMF()->getFrameInfo()).Plain ? CH_PART_FOLDED : Cost.reloads > 0 ? CH_PART_RELOAD : CH_PART_STORE;
  return CH_PART_PROGRAM;
}

double sum(const ChOverhead &Cost) {
  return Cost.reloads + Cost.stores + Cost.saves + Cost.restores + Cost.copies + Cost.exchanges;
}

} // namespace

Listing::Listing(MachineFunction &MF, const Selection &Selected, const Origins *Origin)
    : MF(MF), Selected(Selected), Origin(Origin), Printer(printer(MF.getTarget())) {
  for (MachineBasicBlock &MBB : MF)
    Index[&MBB] = Index.size();
  std::vector<double> Frequencies = Selected.frequencies(MF);
  for (MachineBasicBlock &MBB : MF)
    addBlock(MBB, Frequencies[MBB.getNumber()]);
}

ChListing Listing::view() const {
  return {Blocks.data(), Blocks.size(), Insts.data(), Insts.size(), Succs.data(), Succs.size()};
}

void Listing::addBlock(MachineBasicBlock &MBB, double Frequency) {
  uint32_t FirstInst = Insts.size(), FirstSucc = Succs.size();
  // Text of a pseudo-instruction is found by expanding a copy of it, which is removed again.
  for (MachineInstr &MI : make_early_inc_range(MBB))
    if (isLeft(MI))
      Insts.push_back(inst(MI, Frequency));
  for (MachineBasicBlock *Succ : MBB.successors())
    Succs.push_back(Index[Succ]);
  Blocks.push_back({Selected.position(MBB), FirstInst, uint32_t(Insts.size()), FirstSucc, uint32_t(Succs.size()), Frequency});
}

ChListedInst Listing::inst(MachineInstr &MI, double Frequency) {
  ChOverhead Cost = overheadOf(MI);
  const DILocation *Inner = MI.getDebugLoc().get(), *Outer = Inner;
  while (Outer && Outer->getInlinedAt())
    Outer = Outer->getInlinedAt();
  ChPlace Inlined = Outer != Inner ? place(Outer) : ChPlace{};
  return {saved(text(MI)), place(Inner), Inlined, Origin ? Origin->of(MI) : INT32_MIN, part(MI, Cost), Frequency * sum(Cost)};
}

ChPlace Listing::place(const DILocation *Location) {
  if (!Location || !Location->getLine())
    return {};
  return {str(Location->getDirectory()), str(Location->getFilename()), Location->getLine()};
}

std::string Listing::text(MachineInstr &MI) {
  std::string Text = MI.isInlineAsm()                            ? "inline assembly"
                     : MI.isPseudo() || MI.isMetaInstruction() ? expanded(MI)
                                                                  : assembly(MI);
  if (!Text.empty())
    return Text;
  raw_string_ostream OS(Text);
  MI.print(OS, /*IsStandalone=*/true, /*SkipOpers=*/false, /*SkipDebugLoc=*/true, /*AddNewLine=*/false);
  return Text;
}

// The instructions that a pseudo-instruction becomes, if this is known before the last passes.
std::string Listing::expanded(MachineInstr &MI) {
  MachineBasicBlock &MBB = *MI.getParent();
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  MachineInstr *Before = MI.getPrevNode();
  if (MI.isCopy()) {
    TII.copyPhysReg(MBB, MI, DebugLoc(), MI.getOperand(0).getReg(), MI.getOperand(1).getReg(), false);
  } else if (!MI.isCall() && !MI.isSubregToReg() && !MI.isBranch()) {
    MachineInstr *Clone = MF.CloneMachineInstr(&MI);
    MBB.insert(MI, Clone);
    TII.expandPostRAPseudo(*Clone);
  }
  std::string Text;
  MachineBasicBlock::iterator At = Before ? std::next(Before->getIterator()) : MBB.begin();
  while (At != MI.getIterator()) {
    MachineInstr &New = *At++;
    if (!New.isPseudo())
      Text += (Text.empty() ? "" : "; ") + assembly(New);
    New.eraseFromParent();
  }
  return Text;
}

// An instruction of the processor in the assembler's words; empty if it has none there.
std::string Listing::assembly(const MachineInstr &MI) {
  MCInst Inst;
  Inst.setOpcode(MI.getOpcode());
  for (const MachineOperand &MO : MI.explicit_operands()) {
    if (MO.isReg() && !MO.isImplicit())
      Inst.addOperand(MCOperand::createReg(MO.getReg()));
    else if (MO.isImm())
      Inst.addOperand(MCOperand::createImm(MO.getImm()));
    else if (const MCExpr *Symbol = symbol(MO))
      Inst.addOperand(MCOperand::createExpr(Symbol));
    else if (!MO.isRegMask() && !MO.isReg())
      return "";
  }
  std::string Text;
  raw_string_ostream OS(Text);
  Printer->printInst(&Inst, 0, "", MF.getSubtarget(), OS);
  std::replace(Text.begin(), Text.end(), '\t', ' ');
  return StringRef(Text).trim().str();
}

std::string Listing::label(const MachineBasicBlock &MBB) const {
  unsigned Position = Selected.position(MBB);
  if (Position != CH_NONE)
    return "b" + std::to_string(Position);
  // On an edge it goes on where the edge goes.
  return MBB.succ_size() == 1 ? label(**MBB.succ_begin()) : "new" + std::to_string(MBB.getNumber());
}

const MCExpr *Listing::symbol(const MachineOperand &MO) {
  std::string Name;
  if (MO.isMBB())
    Name = label(*MO.getMBB());
  else if (MO.isGlobal())
    Name = MO.getGlobal()->getName().str();
  else if (MO.isSymbol())
    Name = MO.getSymbolName();
  else if (MO.isMCSymbol())
    Name = MO.getMCSymbol()->getName().str();
  else if (MO.isCPI())
    Name = "constant" + std::to_string(MO.getIndex());
  else if (MO.isJTI())
    Name = "table" + std::to_string(MO.getIndex());
  else if (MO.isBlockAddress())
    Name = "block_of_" + MO.getBlockAddress()->getFunction()->getName().str();
  if (Name.empty())
    return nullptr;
  MCContext &Context = MF.getContext();
  const MCExpr *Symbol = MCSymbolRefExpr::create(Context.getOrCreateSymbol(Name), Context);
  if (MO.isMBB() || MO.isJTI() || !MO.getOffset())
    return Symbol;
  return MCBinaryExpr::createAdd(Symbol, MCConstantExpr::create(MO.getOffset(), Context), Context);
}

} // namespace chordal
