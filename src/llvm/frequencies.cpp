#include "frequencies.h"
#include "llvm/CodeGen/MachineBranchProbabilityInfo.h"
#include <queue>

using namespace llvm;

namespace chordal {
namespace {

double probability(const MachineBasicBlock &From, MachineBasicBlock::const_succ_iterator To) {
  BranchProbability Edge = From.getSuccProbability(To);
  return double(Edge.getNumerator()) / Edge.getDenominator();
}

// Whether control flows into each block about as often as it is executed.
bool isConsistent(const MachineFunction &MF, ArrayRef<double> Frequencies) {
  std::vector<double> Inflow(Frequencies.size());
  Inflow[MF.front().getNumber()] = 1;
  for (const MachineBasicBlock &MBB : MF)
    for (auto S = MBB.succ_begin(); S != MBB.succ_end(); ++S)
      Inflow[(*S)->getNumber()] += Frequencies[MBB.getNumber()] * probability(MBB, S);
  // Where flow is lost, it is most of it. Less than this are the roundings of what is hardly ever executed.
  constexpr double Share = 1.25, Executions = 0.01;
  auto Exceeds = [](double A, double B) { return A > Share * B + Executions; };
  return all_of(MF, [&](const MachineBasicBlock &MBB) {
    double In = Inflow[MBB.getNumber()], Out = Frequencies[MBB.getNumber()];
    return !Exceeds(In, Out) && !Exceeds(Out, In);
  });
}

// A function as a Markov chain, whose states are its blocks. Blocks are eliminated one by one: control that goes to one goes on to
// where that leads. Of the block that was eliminated last it is known first how often it is executed, from those that were left
// then. Nothing is ever subtracted, so no precision is lost, however long control stays in a loop [GTH85].
class Chain {
public:
  explicit Chain(const MachineFunction &MF)
      : Entry(MF.front().getNumber()), End(MF.getNumBlockIDs()), Out(End), In(End), IsEliminated(End), Place(End + 1) {
    for (const MachineBasicBlock &MBB : MF) {
      for (auto S = MBB.succ_begin(); S != MBB.succ_end(); ++S)
        add({unsigned(MBB.getNumber()), probability(MBB, S)}, (*S)->getNumber());
      if (MBB.succ_empty())
        add({unsigned(MBB.getNumber()), 1}, End);
    }
  }

  // The executions of each block for each execution of the function; empty if it takes too long to tell.
  std::vector<double> executions() {
    if (!eliminateAll())
      return {};
    std::vector<double> Executions(End);
    Executions[Entry] = 1;
    for (const auto &[Block, From] : reverse(Eliminated))
      for (const Arc &Arc : From)
        Executions[Block] += Executions[Arc.Block] * Arc.Probability;
    return Executions;
  }

private:
  // One end of a way that control takes with some probability.
  struct Arc {
    unsigned Block;
    double Probability;
  };

  // An arc from a block to itself is left out: what matters is where control goes when it leaves the block.
  void add(Arc From, unsigned To) {
    if (From.Block == To || !From.Probability)
      return;
    Out[From.Block].push_back({To, From.Probability});
    if (To != End)
      In[To].push_back(From.Block);
  }

  size_t waysThrough(unsigned Block) const { return In[Block].size() * Out[Block].size(); }

  // Eliminates all blocks but the entry, those first that control goes through in the fewest ways: few arcs are added for them.
  bool eliminateAll() {
    // An interpreter with 300 instructions, each of which jumps to all others, takes two thirds of it.
    constexpr size_t MostSteps = 30'000'000;
    using Candidate = std::pair<size_t, unsigned>;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> Queue;
    auto Enter = [&](unsigned Block) {
      if (Block != End && Block != Entry)
        Queue.push({waysThrough(Block), Block});
    };
    for (unsigned Block = 0; Block < End; ++Block)
      Enter(Block);
    while (!Queue.empty()) {
      auto [Ways, Block] = Queue.top();
      Queue.pop();
      if (IsEliminated[Block] || Ways != waysThrough(Block))
        continue;
      eliminate(Block);
      if (Steps > MostSteps)
        return false;
      for (const Arc &From : Eliminated.back().second)
        Enter(From.Block);
      for (const Arc &To : Out[Block])
        Enter(To.Block);
    }
    return true;
  }

  void eliminate(unsigned Block) {
    IsEliminated[Block] = true;
    // As LLVM does, take a loop that is never left to have as many turns as this.
    constexpr double Endless = 4096;
    double Leaves = 0;
    for (const Arc &To : Out[Block])
      Leaves += To.Probability;
    double Stay = Leaves ? 1 / Leaves : Endless;
    for (const Arc &To : Out[Block])
      if (To.Block != End)
        In[To.Block].erase(find(In[To.Block], Block));
    std::vector<Arc> From;
    for (unsigned Pred : In[Block]) {
      auto Arc = find_if(Out[Pred], [&](const auto &To) { return To.Block == Block; });
      From.push_back({Pred, Arc->Probability * Stay});
      Out[Pred].erase(Arc);
      lead(From.back(), Out[Block]);
    }
    Eliminated.push_back({Block, std::move(From)});
  }

  // Has control go from one block to where another led.
  void lead(Arc From, ArrayRef<Arc> Onward) {
    std::vector<Arc> &Row = Out[From.Block];
    Steps += Row.size() + Onward.size();
    for (unsigned Index = 0; Index < Row.size(); ++Index)
      Place[Row[Index].Block] = Index + 1;
    for (const Arc &To : Onward) {
      double Probability = From.Probability * To.Probability;
      if (unsigned Known = Place[To.Block])
        Row[Known - 1].Probability += Probability;
      else
        add({From.Block, Probability}, To.Block);
    }
    for (const Arc &To : Row)
      Place[To.Block] = 0;
  }

  unsigned Entry;
  unsigned End; // where control is after the function
  std::vector<std::vector<Arc>> Out;
  std::vector<std::vector<unsigned>> In;
  size_t Steps = 0; // the arcs that have been looked at
  std::vector<bool> IsEliminated;
  // Where a block is in the list of arcs that is being extended, counted from one; zero if it is not.
  std::vector<unsigned> Place;
  // With the arcs that led to each block: how often it is executed for each execution of a block before it.
  std::vector<std::pair<unsigned, std::vector<Arc>>> Eliminated;
};

} // namespace

std::vector<double> frequencies(const MachineFunction &MF, const MachineBlockFrequencyInfo &MBFI) {
  std::vector<double> LLVMs(MF.getNumBlockIDs());
  for (const MachineBasicBlock &MBB : MF)
    LLVMs[MBB.getNumber()] = MBFI.getBlockFreqRelativeToEntryBlock(&MBB);
  if (isConsistent(MF, LLVMs))
    return LLVMs;
  std::vector<double> Ours = Chain(MF).executions();
  // LLVM's numbers end somewhere, which loops that are nested deep enough exceed.
  constexpr double Most = 0x1p64;
  if (Ours.empty() || any_of(Ours, [](double Frequency) { return !(Frequency <= Most); }))
    return LLVMs;
  // What a profile has not seen executed is not free, either.
  constexpr double Rarely = 1e-9;
  for (double &Frequency : Ours)
    Frequency = std::max(Frequency, Rarely);
  return Ours;
}

} // namespace chordal
