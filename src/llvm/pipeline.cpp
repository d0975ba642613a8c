// LLVM's code generation pipeline with our allocation, or LLVM's own, in the middle.
#include "apply.h"
#include "count.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/LiveDebugVariables.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/RegAllocRegistry.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/InitializePasses.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <chrono>

using namespace llvm;

namespace chordal {
namespace {

uint64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What the passes of one run share.
struct Run {
  const ChOptions &Options;
  const ChCallbacks &Callbacks;
  std::vector<std::unique_ptr<Target>> Targets = {};
  uint64_t AllocationStart = 0, AllocationTime = 0;
  unsigned Errors = 0;

  // The number of the register file that a function uses, and whether it is new.
  std::pair<unsigned, bool> target(const MachineFunction &MF) {
    for (unsigned I = Targets.size(); I-- > 0;)
      if (Targets[I]->describes(MF))
        return {I, false};
    Targets.push_back(std::make_unique<Target>(MF));
    return {Targets.size() - 1, true};
  }

  bool fallsBack(const MachineFunction &MF) const {
    return any_of(ArrayRef(Options.fallback, Options.num_fallback),
                  [&](ChStr Name) { return MF.getName() == StringRef(Name.data, Name.size); });
  }

  void error(StringRef Message) {
    ++Errors;
    Callbacks.error(Callbacks.user, str(Message));
  }
};

// Our allocation: export, ask, apply.
class Allocate : public MachineFunctionPass {
public:
  static char ID;
  explicit Allocate(Run &R) : MachineFunctionPass(ID), R(R) {}
  StringRef getPassName() const override { return "chordal register allocation"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(AU);
  }

  bool runOnMachineFunction(MachineFunction &MF) override {
    if (R.fallsBack(MF))
      return false;
    uint64_t Start = nanoseconds();
    MF.getRegInfo().freezeReservedRegs();
    auto [Number, New] = R.target(MF);
    Target &T = *R.Targets[Number];
    Export E(MF, T, getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI());
    ChFunction View = E.view();
    View.file = Number;
    View.new_file = New ? &T.file() : nullptr;
    View.import_ns = nanoseconds() - Start;
    ChAnswer Answer = {};
    R.Callbacks.allocate(R.Callbacks.user, &View, &Answer);
    Start = nanoseconds();
    std::string Failure;
    if (Answer.outcome == CH_ALLOCATED && !(Failure = apply(E, Answer)).empty())
      R.error(("function " + MF.getName() + ": " + Failure).str());
    bool Done = Answer.outcome == CH_ALLOCATED && Failure.empty();
    if (!Done)
      gut(MF);
    uint64_t Time = nanoseconds() - Start;
    std::string Report;
    if (R.Options.verify && Done) {
      raw_string_ostream OS(Report);
      MF.verify(nullptr, "after chordal", &OS, /*AbortOnError=*/false);
    }
    R.Callbacks.applied(R.Callbacks.user, str(MF.getName()), Time, str(Report));
    return true;
  }

private:
  Run &R;
};
char Allocate::ID = 0;

// Where an allocator would run, nothing is left to do.
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

// Starts or stops the clock of LLVM's allocation passes.
class Clock : public MachineFunctionPass {
public:
  static char ID;
  Clock(Run &R, bool Starts) : MachineFunctionPass(ID), R(R), Starts(Starts) {}
  StringRef getPassName() const override { return "chordal clock"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &) override {
    if (Starts)
      R.AllocationStart = nanoseconds();
    else
      R.AllocationTime = nanoseconds() - R.AllocationStart;
    return false;
  }

private:
  Run &R;
  bool Starts;
};
char Clock::ID = 0;

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
    R.Callbacks.counted(R.Callbacks.user, str(MF.getName()), &Counts, R.AllocationTime);
    return false;
  }

private:
  Run &R;
};
char Count::ID = 0;

// Runs one of LLVM's allocation passes on the functions that fall back to it, and on no others.
class OnlyFallback : public MachineFunctionPass {
public:
  static char ID;
  OnlyFallback(Run &R, Pass *Inner) : MachineFunctionPass(ID), R(R), Inner(static_cast<FunctionPass *>(Inner)) {}
  StringRef getPassName() const override { return Inner->getPassName(); }
  void getAnalysisUsage(AnalysisUsage &AU) const override { Inner->getAnalysisUsage(AU); }
  bool runOnMachineFunction(MachineFunction &MF) override {
    if (!R.fallsBack(MF)) {
      restoreDebugValues();
      return false;
    }
    // The inner pass asks for its analyses through our resolver, which has them because getAnalysisUsage is its own.
    Inner->setResolver(getResolver());
    bool Changed = Inner->runOnFunction(MF.getFunction());
    Inner->releaseMemory();
    Inner->setResolver(nullptr);
    return Changed;
  }

private:
  // LLVM's analysis of debug values takes them out of every function; its rewriter puts them back.
  void restoreDebugValues() {
    if (Inner->getPassID() != &VirtRegRewriterID)
      return;
    VirtRegMap &VRM = getAnalysis<VirtRegMapWrapperLegacy>().getVRM();
    getAnalysis<LiveDebugVariablesWrapperLegacy>().getLDV().emitDebugValues(&VRM);
  }

  Run &R;
  std::unique_ptr<FunctionPass> Inner;
};
char OnlyFallback::ID = 0;

// Sets one of LLVM's command line options.
void setOption(StringRef Name, bool Value) {
  auto Options = cl::getRegisteredOptions();
  auto Option = Options.find(Name);
  if (Option == Options.end())
    report_fatal_error(Twine("this LLVM has no option ") + Name);
  static_cast<cl::opt<bool> *>(Option->second)->setValue(Value);
}

// RegisterRegAlloc takes functions without a context.
Run *CurrentRun;
FunctionPass *createNothing() { return new Nothing(); }
FunctionPass *createFallbackAllocator() { return new OnlyFallback(*CurrentRun, createGreedyRegisterAllocator()); }

// The passes between SSA machine code and physical registers (the allocator itself apart): our allocation does the work of
// all of them. LiveVariables is an analysis of SSA code, which could not skip a function; the passes behind it do without.
void replacePasses(TargetPassConfig &TPC, Run &R) {
  TPC.disablePass(&LiveVariablesID);
  for (AnalysisID Replaced :
       {AnalysisID(&PHIEliminationID), AnalysisID(&TwoAddressInstructionPassID), AnalysisID(&RegisterCoalescerID),
        AnalysisID(&RenameIndependentSubregsID), AnalysisID(&MachineSchedulerID), AnalysisID(&VirtRegRewriterID),
        AnalysisID(&StackSlotColoringID)})
    if (R.Options.num_fallback)
      TPC.substitutePass(Replaced, IdentifyingPassPtr(new OnlyFallback(R, Pass::createPass(Replaced))));
    else
      TPC.disablePass(Replaced);
}

void configure(TargetPassConfig &TPC, Run &R) {
  CurrentRun = &R;
  // x86 runs LLVM's greedy allocator an additional time, for matrix tiles, which only LLVM's allocators know.
  setOption("x86-tile-ra", R.Options.allocator != CH_OURS || R.Options.num_fallback);
  if (R.Options.allocator == CH_OURS) {
    RegisterRegAlloc::setDefault(R.Options.num_fallback ? createFallbackAllocator : createNothing);
    replacePasses(TPC, R);
    TPC.insertPass(&UnreachableMachineBlockElimID, IdentifyingPassPtr(new Allocate(R)));
    return;
  }
  RegisterRegAlloc::setDefault(createGreedyRegisterAllocator);
  TPC.insertPass(&UnreachableMachineBlockElimID, IdentifyingPassPtr(new Clock(R, true)));
  TPC.insertPass(&StackSlotColoringID, IdentifyingPassPtr(new Clock(R, false)));
}

std::unique_ptr<TargetMachine> createTargetMachine(const Module &M, std::string &Error) {
  const llvm::Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Error);
  if (!T)
    return nullptr;
  TargetOptions Options;
  Reloc::Model Relocation = M.getPICLevel() == PICLevel::NotPIC ? Reloc::Static : Reloc::PIC_;
  return std::unique_ptr<TargetMachine>(
      T->createTargetMachine(M.getTargetTriple(), "", "", Options, Relocation, M.getCodeModel(), CodeGenOptLevel::Default));
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
  configure(*TPC, R);
  if (TPC->addISelPasses())
    return false;
  TPC->addMachinePasses();
  TPC->setInitialized();
  PM.add(new Count(R));
  auto Type = R.Options.object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if (TM.addAsmPrinter(PM, Out, nullptr, Type, MMIWP->getMMI().getContext()))
    return false;
  PM.add(createFreeMachineFunctionPass());
  PM.run(M);
  return true;
}

void (*FatalHandler)(ChStr);

} // namespace
} // namespace chordal

using namespace chordal;

// LLVM would complain about an unknown processor on its own, and then stop the process.
static void checkProcessors(const Module &M, const TargetMachine &TM, Run &R) {
  for (const Function &F : M)
    for (StringRef Kind : {"target-cpu", "tune-cpu"}) {
      StringRef Name = F.getFnAttribute(Kind).getValueAsString();
      if (!Name.empty() && !TM.getMCSubtargetInfo()->isCPUStringValid(Name))
        return R.error(("function " + F.getName() + ": LLVM does not know the processor `" + Name + "`").str());
    }
}

int ch_codegen(void *module, const ChOptions *options, const ChCallbacks *callbacks) {
  Module &M = *reinterpret_cast<Module *>(module);
  Run R{*options, *callbacks};
  M.getContext().setDiagnosticHandlerCallBack(
      [](const DiagnosticInfo *Info, void *Context) {
        if (Info->getSeverity() != DS_Error)
          return;
        std::string Message;
        raw_string_ostream OS(Message);
        DiagnosticPrinterRawOStream Printer(OS);
        Info->print(Printer);
        static_cast<Run *>(Context)->error(Message);
      },
      &R);
  std::string Error;
  std::unique_ptr<TargetMachine> TM = createTargetMachine(M, Error);
  SmallVector<char, 0> Output;
  raw_svector_ostream Out(Output);
  if (TM)
    checkProcessors(M, *TM, R);
  else
    R.error(Error);
  if (!R.Errors && !generate(M, *TM, R, Out))
    R.error("LLVM cannot generate code for this target");
  M.getContext().setDiagnosticHandlerCallBack(nullptr, nullptr);
  if (R.Errors)
    return 1;
  callbacks->emit(callbacks->user, {Output.data(), Output.size()});
  return 0;
}

int ch_assemble(void *module, ChStr assembly, const ChCallbacks *callbacks) {
  Module &M = *reinterpret_cast<Module *>(module);
  Run R{{}, *callbacks};
  std::string Error;
  std::unique_ptr<TargetMachine> TM = createTargetMachine(M, Error);
  const llvm::Target &T = TM->getTarget();
  SourceMgr Sources;
  Sources.setDiagHandler(
      [](const SMDiagnostic &D, void *Context) {
        if (D.getKind() == SourceMgr::DK_Error)
          static_cast<Run *>(Context)->error(D.getMessage());
      },
      &R);
  Sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(StringRef(assembly.data, assembly.size)), SMLoc());
  MCTargetOptions SymbolOptions;
  SymbolOptions.MCSaveTempLabels = true; // functions of private linkage have symbols too
  MCContext Context(M.getTargetTriple(), TM->getMCAsmInfo(), TM->getMCRegisterInfo(), TM->getMCSubtargetInfo(), &Sources,
                    &SymbolOptions);
  std::unique_ptr<MCObjectFileInfo> Objects(T.createMCObjectFileInfo(Context, TM->isPositionIndependent()));
  Context.setObjectFileInfo(Objects.get());
  SmallVector<char, 0> Output;
  raw_svector_ostream Out(Output);
  std::unique_ptr<MCAsmBackend> Backend(
      T.createMCAsmBackend(*TM->getMCSubtargetInfo(), *TM->getMCRegisterInfo(), TM->Options.MCOptions));
  std::unique_ptr<MCObjectWriter> Writer = Backend->createObjectWriter(Out);
  std::unique_ptr<MCCodeEmitter> Emitter(T.createMCCodeEmitter(*TM->getMCInstrInfo(), Context));
  std::unique_ptr<MCStreamer> Streamer(T.createMCObjectStreamer(M.getTargetTriple(), Context, std::move(Backend), std::move(Writer),
                                                                std::move(Emitter), *TM->getMCSubtargetInfo()));
  std::unique_ptr<MCAsmParser> Parser(createMCAsmParser(Sources, Context, *Streamer, *TM->getMCAsmInfo()));
  std::unique_ptr<MCSubtargetInfo> Features(T.createMCSubtargetInfo(M.getTargetTriple(), "", ""));
  std::unique_ptr<MCTargetAsmParser> TargetParser(
      T.createMCAsmParser(*Features, *Parser, *TM->getMCInstrInfo(), TM->Options.MCOptions));
  Parser->setTargetParser(*TargetParser);
  if (Parser->Run(false)) {
    R.error("LLVM cannot assemble its own output");
    return 1;
  }
  callbacks->emit(callbacks->user, {Output.data(), Output.size()});
  return 0;
}

void ch_initialise(void (*fatal)(ChStr)) {
  FatalHandler = fatal;
  auto Report = [](void *, const char *Message, bool) { FatalHandler(str(Message)); };
  install_fatal_error_handler(Report, nullptr);
  install_bad_alloc_error_handler(Report, nullptr);
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  // When LLVM upgrades debug information it verifies the module, and reports to standard error.
  setOption("disable-auto-upgrade-debug-info", true);
  PassRegistry &Registry = *PassRegistry::getPassRegistry();
  initializeCore(Registry);
  initializeCodeGen(Registry);
}
