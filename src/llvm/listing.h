// The code of an allocated function, for people: text, places in the source, what allocation costs by each instruction.
#ifndef CHORDAL_LISTING_H
#define CHORDAL_LISTING_H

#include "instructions.h"
#include "weigh.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"
#include <memory>

namespace chordal {

// Where the instructions of a function come from that our allocation is applied to: the instruction of the imported function, or
// ~edit.
class Origins : public llvm::MachineFunction::Delegate {
public:
  // Watches a function while our allocation is applied to it. (A function has only one delegate, and passes of LLVM have theirs.)
  class Watch {
  public:
    Watch(Origins *Of, llvm::MachineFunction &MF) : Of(Of), MF(MF) {
      if (Of)
        MF.setDelegate(Of);
    }
    Watch(const Watch &) = delete;
    ~Watch() {
      if (Of)
        MF.resetDelegate(Of);
    }

  private:
    Origins *Of;
    llvm::MachineFunction &MF;
  };

  void set(const llvm::MachineInstr &MI, int32_t Source) { Of[&MI] = {Source, 0}; }

  // From now on, instructions are recognised by their memory, as long as they have the same opcodes: later passes remove some, and
  // make others of their memory.
  void settle() {
    for (auto &[MI, Known] : Of)
      Known.Opcode = MI->getOpcode();
  }

  int32_t of(const llvm::MachineInstr &MI) const {
    auto Found = Of.find(&MI);
    bool IsKnown = Found != Of.end() && Found->second.Opcode == MI.getOpcode() && !belongsToFrame(MI);
    return IsKnown ? Found->second.Source : INT32_MIN;
  }

  // Where new instructions come from.
  int32_t Current = INT32_MIN;

private:
  struct Origin {
    int32_t Source;
    unsigned Opcode;
  };

  void MF_HandleInsertion(llvm::MachineInstr &MI) override { set(MI, Current); }
  void MF_HandleRemoval(llvm::MachineInstr &MI) override { Of.erase(&MI); }

  llvm::DenseMap<const llvm::MachineInstr *, Origin> Of;
};

// A function after its prologue was inserted, as flat arrays.
class Listing {
public:
  Listing(llvm::MachineFunction &MF, const Selection &Selected, const Origins *Origin);

  // The C view of the arrays, which live as long as this.
  ChListing view() const;

private:
  void addBlock(llvm::MachineBasicBlock &MBB, double Frequency);
  ChListedInst inst(llvm::MachineInstr &MI, double Frequency);
  std::string text(llvm::MachineInstr &MI);
  std::string expanded(llvm::MachineInstr &MI);
  std::string assembly(const llvm::MachineInstr &MI);
  std::string label(const llvm::MachineBasicBlock &MBB) const;
  const llvm::MCExpr *symbol(const llvm::MachineOperand &MO);
  ChPlace place(const llvm::DILocation *Location);
  ChStr saved(llvm::StringRef Text) { return str(Saver.save(Text)); }
  static ChStr str(llvm::StringRef Text) { return {Text.data(), Text.size()}; }

  llvm::MachineFunction &MF;
  const Selection &Selected;
  const Origins *Origin;
  std::unique_ptr<llvm::MCInstPrinter> Printer;
  llvm::BumpPtrAllocator Memory;
  llvm::StringSaver Saver{Memory};
  llvm::DenseMap<const llvm::MachineBasicBlock *, uint32_t> Index;
  std::vector<ChListedBlock> Blocks;
  std::vector<ChListedInst> Insts;
  std::vector<uint32_t> Succs;
};

} // namespace chordal
#endif
