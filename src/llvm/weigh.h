// Counts instructions by block frequency, and those that the allocator has added.
#ifndef CHORDAL_WEIGH_H
#define CHORDAL_WEIGH_H

#include "bridge.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace chordal {

// Instructions of the selected program, by the cost of one that an allocator adds. Copies are not counted.
struct Program {
  double CheapRemats = 0, ExpensiveRemats = 0, Others = 0;
};

// A function as it was when allocation began, which is the same for every allocator. Frequencies are estimated there, once: later
// passes duplicate and merge blocks, and an estimate of their result says more about them than about the allocator.
class Selection {
public:
  Selection(const llvm::MachineFunction &MF, std::vector<double> Frequencies);

  // The blocks have been numbered anew, each with the number that it had.
  void acceptNumbers(const llvm::MachineFunction &MF);

  // Weighs the allocated function while its blocks are still those of the selection: after the prologue's insertion.
  ChWeights weigh(const llvm::MachineFunction &MF) const;

  // The position of a block among those that were selected; CH_NONE if it is new.
  unsigned position(const llvm::MachineBasicBlock &MBB) const {
    return size_t(MBB.getNumber()) < Positions.size() ? Positions[MBB.getNumber()] : CH_NONE;
  }

  // The frequencies of the selection's blocks, by number. A new block has the frequency that flows into it: on an edge, that of
  // the edge.
  std::vector<double> frequencies(const llvm::MachineFunction &MF) const;

private:
  // By block number. A new block has a new number, even if it has the memory of a removed block, until blocks are renumbered,
  // which begins another epoch.
  std::vector<double> Frequencies;
  std::vector<unsigned> Positions;
  unsigned Epoch;
  Program Selected;
  uint64_t Instructions = 0;
  double Weighted = 0;
};

// What allocation costs by an instruction each time that it is executed, if the program has none that it can be compared with.
ChOverhead overheadOf(const llvm::MachineInstr &MI);

// Whether an instruction is printed in the end.
bool isLeft(const llvm::MachineInstr &MI);

// Marks an instruction as part of an exchange of two registers by the allocator: its exclusive-ors look like any others. The mark
// is one of the bits that select the comments that are printed with an instruction. No comment is printed for it on x86, and
// copies of the instruction lose it.
void markAsExchange(llvm::MachineInstr &MI);

} // namespace chordal
#endif
