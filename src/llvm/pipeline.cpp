// Runs LLVM's code generation pipeline with our allocation, or LLVM's own, in it.
#include "pipeline.h"
#include "allocation.h"
#include "count.h"
#include "remarks.h"
#include "stock.h"
#include "target_machine.h"
#include "wrap.h"
#include "x86/x86.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/InitializePasses.h"
#include "llvm/MC/MCContext.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>

using namespace llvm;

namespace chordal {
namespace {

// Takes the place of LLVM's allocator when there is nothing left to allocate.
class Nothing : public MachineFunctionPass {
public:
  static char ID;
  Nothing() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "chordal: already allocated"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &) override { return false; }
};
char Nothing::ID = 0;

// Weighs a function at the last point of the pipeline where its blocks are those of allocation.
class Weigh : public MachineFunctionPass {
public:
  static char ID;
  explicit Weigh(Run &R) : MachineFunctionPass(ID), R(R) {}
  StringRef getPassName() const override { return "chordal statistics by frequency"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    R.Weights = R.Selected.front().weigh(MF);
    if (wantsRemarks(MF)) {
      bool IsLeft = R.fallsBack(MF);
      StringRef Rule(R.Options.rule.data, R.Options.rule.size);
      remark(MF, R.Selected.front(), IsLeft ? "The function was left to LLVM's greedy allocator." : Rule,
             /*Sums=*/R.Options.allocator != CH_GREEDY && !IsLeft);
    }
    if (!R.Options.list)
      return false;
    Listing Code(MF, R.Selected.front(), R.Origin.get());
    ChListing View = Code.view();
    R.Callbacks.listed(R.Callbacks.user, str(MF.getName()), &View);
    R.Origin = nullptr;
    return false;
  }

private:
  Run &R;
};
char Weigh::ID = 0;

class Count : public MachineFunctionPass {
public:
  static char ID;
  explicit Count(Run &R) : MachineFunctionPass(ID), R(R) {}
  StringRef getPassName() const override { return "chordal statistics"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    ChCounts Counts = chordal::count(MF, getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI());
    Counts.weights = R.Weights;
    R.Selected.pop_front();
    R.Callbacks.counted(R.Callbacks.user, str(MF.getName()), &Counts);
    return false;
  }

private:
  Run &R;
};
char Count::ID = 0;

// Makes the code of our allocator shorter where the registers that it has chosen allow it.
class Shorten : public MachineFunctionPass {
public:
  static char ID;
  explicit Shorten(Run &R) : MachineFunctionPass(ID), R(R) {}
  StringRef getPassName() const override { return "chordal: shorter moves"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    // Any description will do: all of a run name the same registers.
    if (!R.Targets.empty() && !R.fallsBack(MF))
      x86::shortenMoves(MF, *R.Targets.front());
    return false;
  }

private:
  Run &R;
};
char Shorten::ID = 0;

// Replaces the passes between SSA machine code and physical registers: our allocation does the work of all of them.
void configureOurs(TargetPassConfig &TPC, Run &R) {
  useAllocator(new Nothing());
  for (AnalysisID Replaced :
       {AnalysisID(&LiveVariablesID), AnalysisID(&PHIEliminationID), AnalysisID(&TwoAddressInstructionPassID),
        AnalysisID(&RegisterCoalescerID), AnalysisID(&RenameIndependentSubregsID), AnalysisID(&MachineSchedulerID),
        AnalysisID(&VirtRegRewriterID), AnalysisID(&StackSlotColoringID)})
    TPC.disablePass(Replaced);
  insertAllocation(TPC, R);
  TPC.insertPass(&UnpackMachineBundlesID, IdentifyingPassPtr(new Shorten(R)));
  if (R.Options.separate_saves) {
    TPC.substitutePass(&ShrinkWrapID, IdentifyingPassPtr(createWrap(R, Pass::createPass(&ShrinkWrapID))));
    TPC.insertPass(&PrologEpilogCodeInserterID, IdentifyingPassPtr(createDescribe(R)));
  }
}

// LLVM's options belong to the process, and are read while passes are created, so only one module at a time is configured.
bool addPasses(TargetPassConfig &TPC, Run &R) {
  static std::mutex Configuring;
  std::lock_guard<std::mutex> Guard(Configuring);
  // An earlier run may have changed them.
  setOption("optimize-regalloc", R.Options.allocator == CH_FAST ? cl::BOU_FALSE : cl::BOU_UNSET);
  x86::configure(R.Options.allocator == CH_GREEDY || R.Options.num_fallback);
  configure(TPC, R);
  if (TPC.addISelPasses())
    return false;
  TPC.addMachinePasses();
  TPC.setInitialized();
  return true;
}

bool generate(Module &M, TargetMachine &TM, Run &R, raw_pwrite_stream &Out) {
  M.setDataLayout(TM.createDataLayout());
  legacy::PassManager PM;
  PM.add(new TargetLibraryInfoWrapperPass(TargetLibraryInfoImpl(M.getTargetTriple())));
  PM.add(new RuntimeLibraryInfoWrapper(M.getTargetTriple(), TM.Options.ExceptionModel, TM.Options.FloatABIType,
                                       TM.Options.EABIVersion, TM.Options.MCOptions.ABIName, TM.Options.VecLib));
  auto *TPC = static_cast<TargetPassConfig *>(TM.createPassConfig(PM));
  PM.add(TPC);
  auto *MMIWP = new MachineModuleInfoWrapperPass(&TM);
  PM.add(MMIWP);
  if (!addPasses(*TPC, R))
    return false;
  auto Type = R.Options.object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if (TM.addAsmPrinter(PM, Out, nullptr, Type, MMIWP->getMMI().getContext()))
    return false;
  PM.add(createFreeMachineFunctionPass());
  PM.run(M);
  return true;
}

void (*FatalHandler)(ChStr);

} // namespace

void configure(TargetPassConfig &TPC, Run &R) {
  if (R.Options.allocator == CH_OURS)
    configureOurs(TPC, R);
  else
    configureStock(TPC, R);
  TPC.insertPass(&PrologEpilogCodeInserterID, IdentifyingPassPtr(new Weigh(R)));
  // The last pass in front of the printer.
  TPC.insertPass(&UnpackMachineBundlesID, IdentifyingPassPtr(new Count(R)));
}

} // namespace chordal

using namespace chordal;

static uint32_t about(const DiagnosticInfo &Info) {
  switch (Info.getKind()) {
  case DK_StackSize:
    return CH_WARN_FRAME_SIZE;
  case DK_DontCall:
    return CH_WARN_CALL;
  case DK_InlineAsm:
  case DK_SrcMgr:
    return CH_WARN_INLINE_ASM;
  default:
    return CH_WARN_OTHER;
  }
}

int ch_codegen(void *module, const ChOptions *options, const ChCallbacks *callbacks) {
  Module &M = *reinterpret_cast<Module *>(module);
  Run R{*options, *callbacks};
  M.getContext().setDiagnosticHandlerCallBack(
      [](const DiagnosticInfo *Info, void *Context) {
        if (Info->getSeverity() != DS_Error && Info->getSeverity() != DS_Warning)
          return;
        std::string Message;
        raw_string_ostream OS(Message);
        DiagnosticPrinterRawOStream Printer(OS);
        Run &R = *static_cast<Run *>(Context);
        // While an allocator is at work, the function is known, so messages need not say where it is.
        if (auto *Failure = dyn_cast<DiagnosticInfoRegAllocFailure>(Info); Failure && R.Allocating)
          OS << Failure->getMsgStr();
        else if (auto *Asm = dyn_cast<DiagnosticInfoInlineAsm>(Info); Asm && R.Allocating)
          OS << Asm->getMsgStr();
        else
          Info->print(Printer);
        Info->getSeverity() == DS_Error ? R.error(Message) : R.warning(Message, about(*Info));
      },
      &R);
  std::string Error;
  std::unique_ptr<TargetMachine> TM = createTargetMachine(M, options->relocation, Error);
  if (TM) {
    TM->Options.FunctionSections = options->function_sections;
    TM->Options.DataSections = options->data_sections;
    TM->Options.EmitAddrsig = options->addrsig;
    TM->Options.EmitCallSiteInfo = options->call_site_info;
    // LLVM describes the arguments of calls only for debuggers that are known to read the description.
    TM->Options.DebuggerTuning = options->call_site_info ? DebuggerKind::GDB : DebuggerKind::Default;
    if (std::optional<uint64_t> Threshold = M.getLargeDataThreshold())
      TM->setLargeDataThreshold(*Threshold);
  }
  R.Ahead = options->ahead && !x86::makesThunks(M);
  SmallVector<char, 0> Output;
  raw_svector_ostream Out(Output);
  if (TM) {
    dropUnknownProcessors(M, *TM, R);
    dropUnknownFeatures(M, *TM, R);
  } else {
    R.error(Error);
  }
  std::string Remarks;
  raw_string_ostream RemarkStream(Remarks);
  if (options->remarks)
    if (llvm::Error Failure = setupLLVMOptimizationRemarks(M.getContext(), RemarkStream, "regalloc", "yaml", /*RemarksWithHotness=*/false))
      R.error(toString(std::move(Failure)));
  if (!R.Errors && !generate(M, *TM, R, Out))
    R.error("LLVM cannot generate code for this target");
  if (options->remarks)
    finalizeLLVMOptimizationRemarks(M.getContext());
  M.getContext().setDiagnosticHandlerCallBack(nullptr, nullptr);
  if (R.Errors)
    return 1;
  callbacks->emit(callbacks->user, {Output.data(), Output.size()});
  if (options->remarks)
    callbacks->remarks(callbacks->user, str(RemarkStream.str()));
  return 0;
}

size_t ch_doing(char *buffer, size_t size) {
  auto *Innermost = static_cast<const PrettyStackTraceEntry *>(SavePrettyStackState());
  if (!Innermost)
    return 0;
  SmallString<1024> Text; // usually without memory from the heap, which may be corrupted
  raw_svector_ostream OS(Text);
  Innermost->print(OS);
  StringRef Line = StringRef(Text).split('\n').first.take_front(size);
  std::copy(Line.begin(), Line.end(), buffer);
  return Line.size();
}

void ch_initialise(void (*fatal)(ChStr)) {
  FatalHandler = fatal;
  auto Report = [](void *, const char *Message, bool) { FatalHandler(str(Message)); };
  install_fatal_error_handler(Report, nullptr);
  install_bad_alloc_error_handler(Report, nullptr);
  x86::initialise();
  // When LLVM upgrades debug information, it verifies the module, and reports to standard error.
  setOption("disable-auto-upgrade-debug-info", true);
  PassRegistry &Registry = *PassRegistry::getPassRegistry();
  initializeCore(Registry);
  initializeCodeGen(Registry);
}
