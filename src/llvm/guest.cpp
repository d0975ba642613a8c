// The plug-in: our allocation in a process of LLVM's, which makes the pipelines. See bridge.h, ChHost.
#include "pipeline.h"
#include "stock.h"
#include "x86/x86.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace llvm;

namespace chordal {
namespace {

const ChHost *Host;

// By ChOption.
cl::opt<std::string> Given[] = {
    cl::opt<std::string>("chordal-allocator", cl::desc("chordal's allocator (`chordal list` shows all)")),
    cl::opt<std::string>("chordal-registers", cl::desc("the registers that chordal's allocator may use")),
    cl::opt<std::string>("chordal-options", cl::desc("further options of `chordal compile`, as in a shell")),
    cl::opt<std::string>("chordal-stats", cl::desc("a folder for chordal's statistics")),
};

class Guest;

// The module whose code this thread generates as a whole.
struct Whole {
  bool MakesThunks;
  Guest *Made; // once there is a pipeline
};
thread_local Whole *CurrentWhole;

// The first pass of a pipeline: a module, and our part in generating its code.
class Guest : public ModulePass {
public:
  static char ID;
  explicit Guest(TargetMachine &TM) : ModulePass(ID) {
    std::string Triple = TM.getTargetTriple().str();
    Session = Host->begin(str(Triple), CurrentWhole != nullptr, &Options, &Callbacks);
    IsWhole = CurrentWhole;
    if (CurrentWhole)
      CurrentWhole->Made = this;
    R.Ahead = Options.ahead && IsWhole && !CurrentWhole->MakesThunks;
  }
  ~Guest() override { Host->end(Session); }
  StringRef getPassName() const override { return "chordal"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override { AU.setPreservesAll(); }

  bool runOnModule(Module &M) override {
    Host->look(Session, wrap(&M));
    return false;
  }

  bool doFinalization(Module &M) override {
    if (!IsWhole)
      finish(M);
    return false;
  }

  // Reports what there is to report about the module, by LLVM's diagnostics.
  void finish(Module &M) {
    auto Report = [](void *Context, uint32_t Severity, ChStr Text) {
      // (A diagnostic refers to its text's Twine.)
      Twine Message(StringRef(Text.data, Text.size));
      static_cast<LLVMContext *>(Context)->diagnose(DiagnosticInfoGeneric(Message, Severity == CH_ERROR ? DS_Error : DS_Warning));
    };
    Host->finish(Session, &M.getContext(), Report);
  }

  bool takesPart() const { return Options.allocator != CH_NOBODY; }

  Run R{Options, Callbacks};

private:
  ChOptions Options = {};
  ChCallbacks Callbacks = {};
  void *Session;
  bool IsWhole;
};
char Guest::ID = 0;

// LLVM calls it with each pipeline, before its passes are made.
void takePart(TargetMachine &TM, PassManagerBase &PM, TargetPassConfig *TPC) {
  auto *Joining = new Guest(TM);
  PM.add(Joining);
  if (!Joining->takesPart()) {
    // LLVM's choice, as it would be without us.
    if (TM.getOptLevel() == CodeGenOptLevel::None)
      useAllocator(createFastRegisterAllocator());
    return;
  }
  // Our pipeline is the optimising one. What -O0 says about functions is in their attributes.
  TM.setOptLevel(CodeGenOptLevel::Default);
  // It is an option of the process, whose modules all have one allocator.
  static std::once_flag Once;
  std::call_once(Once, [&] { x86::configure(Joining->R.Options.allocator == CH_GREEDY); });
  configure(*TPC, Joining->R);
}

} // namespace
} // namespace chordal

using namespace chordal;

ChStr ch_option(uint32_t option) { return str(Given[option].getValue()); }

void ch_join(const ChHost *host) {
  Host = host;
  // (LLVM's registry keeps a pointer to it.)
  static RegisterTargetPassConfigCallback Joined(takePart);
}

// The target machine as the optimising pipeline has it. (The compiler's own has made decisions by its level already: subtargets keep
// them.)
static std::unique_ptr<TargetMachine> optimising(const TargetMachine &TM, const Module &M) {
  std::unique_ptr<TargetMachine> Own(TM.getTarget().createTargetMachine(TM.getTargetTriple(), TM.getTargetCPU(),
                                                                        TM.getTargetFeatureString(), TM.Options, TM.getRelocationModel(),
                                                                        TM.getCodeModel(), CodeGenOptLevel::Default));
  if (std::optional<uint64_t> Threshold = M.getLargeDataThreshold())
    Own->setLargeDataThreshold(*Threshold);
  return Own;
}

uint8_t ch_generate_whole(void *module, void *target_machine, uint32_t file_type, void *stream) {
  Module &M = *static_cast<Module *>(module);
  const TargetMachine &Theirs = *static_cast<TargetMachine *>(target_machine);
  auto Type = static_cast<CodeGenFileType>(file_type);
  // Nobody gives us the stream for what debug information is split off.
  if (Type == CodeGenFileType::Null || !x86::isTarget(Theirs.getTargetTriple()) || !Theirs.Options.MCOptions.SplitDwarfFile.empty())
    return false;
  std::unique_ptr<TargetMachine> TM = optimising(Theirs, M);
  Whole This = {x86::makesThunks(M), nullptr};
  CurrentWhole = &This;
  SmallVector<char, 0> Output;
  raw_svector_ostream Out(Output);
  legacy::PassManager PM;
  PM.add(new TargetLibraryInfoWrapperPass(TargetLibraryInfoImpl(M.getTargetTriple(), TM->Options.VecLib)));
  PM.add(new RuntimeLibraryInfoWrapper(M.getTargetTriple(), TM->Options.ExceptionModel, TM->Options.FloatABIType,
                                       TM->Options.EABIVersion, TM->Options.MCOptions.ABIName, TM->Options.VecLib));
  bool IsPossible = !TM->addPassesToEmitFile(PM, Out, nullptr, Type);
  CurrentWhole = nullptr;
  if (!IsPossible)
    return false;
  PM.run(M);
  Guest &G = *This.Made;
  if (G.takesPart())
    G.R.Callbacks.emit(G.R.Callbacks.user, {Output.data(), Output.size()});
  G.finish(M);
  *static_cast<raw_pwrite_stream *>(stream) << StringRef(Output.data(), Output.size());
  return true;
}
