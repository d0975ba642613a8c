// Counting by block frequency, and what of it the allocator has caused.
#ifndef CHORDAL_WEIGH_H
#define CHORDAL_WEIGH_H

#include "bridge.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Instructions of the selected program by what they cost where an allocator adds one; its copies are no part of it.
struct Program {
  double CheapRemats = 0, ExpensiveRemats = 0, Others = 0;
};

// A function as it was where allocation began: the same for every allocator. Frequencies are estimated there, once: later
// passes duplicate and merge blocks, and an estimate of what they leave says more about them than about the allocator.
class Selection {
public:
  Selection(const llvm::MachineFunction &MF, const llvm::MachineBlockFrequencyInfo &MBFI);

  // Weighs the allocated function while its blocks are still those of the selection: behind the prologue's insertion.
  ChWeights weigh(const llvm::MachineFunction &MF) const;

  // The frequencies of the selection's blocks, by number, and of each new one what flows into it: on an edge, the edge's.
  std::vector<double> frequencies(const llvm::MachineFunction &MF) const;

private:
  // By block number. Until blocks are numbered anew, which begins another epoch, a new block has a new number, even if it
  // has taken the memory of one that was removed.
  std::vector<double> Frequencies;
  unsigned Epoch;
  Program Selected;
  uint64_t Instructions = 0;
  double Weighted = 0;
};

// Marks an instruction as one of an exchange of two registers by the allocator: exclusive-ors look like any others. The mark
// is one of the bits that say which comments an instruction is printed with; x86 prints none for it, and copies of the
// instruction do without.
void markAsExchange(llvm::MachineInstr &MI);

} // namespace chordal
#endif
