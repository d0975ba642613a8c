// The code of an allocated function, for people: text, places in the source, what allocation costs by each instruction.
#ifndef CHORDAL_LISTING_H
#define CHORDAL_LISTING_H

#include "weigh.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"
#include <memory>

namespace chordal {

// Where the instructions of a function come from that our allocation is applied to: the instruction of the imported function, or
// ~edit. It has to watch from then on: the memory of a removed instruction is that of a new one.
class Origins : public llvm::MachineFunction::Delegate {
public:
  explicit Origins(llvm::MachineFunction &MF) : MF(MF) { MF.setDelegate(this); }
  Origins(const Origins &) = delete;
  ~Origins() { MF.resetDelegate(this); }

  void set(const llvm::MachineInstr &MI, int32_t Source) { Of[&MI] = Source; }
  int32_t of(const llvm::MachineInstr &MI) const {
    auto Found = Of.find(&MI);
    return Found == Of.end() ? INT32_MIN : Found->second;
  }

  // Where new instructions come from.
  int32_t Current = INT32_MIN;

private:
  void MF_HandleInsertion(llvm::MachineInstr &MI) override { Of[&MI] = Current; }
  void MF_HandleRemoval(llvm::MachineInstr &MI) override { Of.erase(&MI); }

  llvm::MachineFunction &MF;
  llvm::DenseMap<const llvm::MachineInstr *, int32_t> Of;
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
