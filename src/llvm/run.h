// The state of one run of the code generator.
#ifndef CHORDAL_RUN_H
#define CHORDAL_RUN_H

#include "listing.h"
#include "target.h"
#include "weigh.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <deque>

namespace chordal {

// The heap meter (src/measure/meter).
extern "C" {
void chordal_meter_start(void);
uint64_t chordal_meter_peak(void);
void chordal_meter_set_peak(uint64_t bytes);
}

inline uint64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A callee-saved register that is saved by itself, in its own stack object.
struct SeparateSave {
  llvm::MCRegister Reg;
  const llvm::TargetRegisterClass *Class;
  int Slot;
};

// The state that the passes of a run share.
struct Run {
  const ChOptions &Options;
  const ChCallbacks &Callbacks;
  std::vector<std::unique_ptr<Target>> Targets = {};
  unsigned Errors = 0;
  // Whether all functions are handed over before the first answer is needed.
  bool Ahead = false;
  // Whether one of LLVM's allocators is at work, since when, and its first complaint.
  bool Allocating = false;
  uint64_t AllocationStart = 0;
  std::string Failure = {};
  // The functions as they were when allocation began, until they are counted. The first is the current one.
  std::deque<Selection> Selected = {};
  // The weights of the current function.
  ChWeights Weights = {};
  // The functions that our allocator has left to LLVM's.
  llvm::SmallPtrSet<const llvm::Function *, 4> Left = {};
  // The callee-saved registers of the current function that its prologue does not save.
  llvm::SmallVector<SeparateSave, 8> Separate = {};
  // If code is listed: where the current function's instructions come from, once our allocation has been applied.
  std::unique_ptr<Origins> Origin = {};

  // The number of the register file that a function uses, and whether it is new.
  std::pair<unsigned, bool> target(const llvm::MachineFunction &MF) {
    for (unsigned I = Targets.size(); I-- > 0;)
      if (Targets[I]->describes(MF))
        return {I, false};
    Targets.push_back(std::make_unique<Target>(MF));
    return {Targets.size() - 1, true};
  }

  bool fallsBack(const llvm::MachineFunction &MF) const {
    auto IsNamed = [&](ChStr Name) { return MF.getName() == llvm::StringRef(Name.data, Name.size); };
    return Left.contains(&MF.getFunction()) || llvm::any_of(llvm::ArrayRef(Options.fallback, Options.num_fallback), IsNamed);
  }

  // An allocator's error concerns its function. Another allocator may do better.
  void error(llvm::StringRef Message) {
    if (!Allocating) {
      ++Errors;
      Callbacks.error(Callbacks.user, str(Message));
    } else if (Failure.empty()) {
      Failure = Message.str();
    }
  }

  void warning(llvm::StringRef Message, uint32_t About = CH_WARN_OTHER) { Callbacks.warning(Callbacks.user, About, str(Message)); }
};

// Sets one of LLVM's command line options.
template <typename T> void setOption(llvm::StringRef Name, T Value) {
  auto Options = llvm::cl::getRegisteredOptions();
  auto Option = Options.find(Name);
  if (Option == Options.end())
    llvm::report_fatal_error(llvm::Twine("this LLVM has no option ") + Name);
  static_cast<llvm::cl::opt<T> *>(Option->second)->setValue(Value);
}

// The report of LLVM's machine verifier. Its own use of the heap is not measured.
inline std::string verify(const llvm::MachineFunction &MF, const char *Where) {
  uint64_t Peak = chordal_meter_peak();
  std::string Report;
  llvm::raw_string_ostream OS(Report);
  MF.verify(nullptr, Where, &OS, /*AbortOnError=*/false);
  chordal_meter_set_peak(Peak);
  return Report;
}

} // namespace chordal
#endif
