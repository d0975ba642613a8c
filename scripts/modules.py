"""Random modules of LLVM IR for scripts/conventions.py.

The properties of a function are chosen here; its body comes from scripts/bodies.py. Functions call only functions of lower rank,
so that every call ends. Functions with instructions that this processor cannot execute are compiled and never called.
Combinations that LLVM itself compiles wrongly or refuses are left out, each with a comment.
"""

from bodies import COST, FLOATING, INTEGERS, LARGE, RECORD, STRUCTS, VECTORS, WIDE, WIDEST, Body, members, width

# What a function's subtarget has, by what /proc/cpuinfo calls it.
SUBTARGETS = {
    "x86-64": [
        {}, {}, {"sse3": "pni", "ssse3": "ssse3", "sse4.1": "sse4_1"}, {"sse4.2": "sse4_2", "popcnt": "popcnt", "cx16": "cx16"},
        {"avx": "avx"}, {"avx2": "avx2", "bmi": "bmi1", "bmi2": "bmi2", "lzcnt": "abm", "cx16": "cx16"},
        {"avx2": "avx2", "fma": "fma", "f16c": "f16c", "movbe": "movbe", "adx": "adx"}, {"bmi2": "bmi2", "cx16": "cx16"},
        {"avx512f": "avx512f"}, {"avx512vl": "avx512vl", "avx512bw": "avx512bw", "avx512dq": "avx512dq"},
    ],
    "i386": [
        {}, {"cmov": "cmov"}, {"sse2": "sse2", "cx8": "cx8"}, {"sse4.2": "sse4_2", "cmov": "cmov", "cx8": "cx8"},
        {"avx": "avx", "cmov": "cmov"}, {"avx2": "avx2", "bmi": "bmi1", "bmi2": "bmi2", "cmov": "cmov"},
    ],
}
# What is compiled and not executed, whatever the processor.
UNTRIED = [
    "+avx512f", "+avx512f,+avx512vl", "+avx512bw,+avx512vl,+avx512dq", "+egpr", "+egpr,+ndd,+push2pop2,+ppx,+ccmp,+nf,+zu",
    "+avx10.2,+egpr", "+fma4,+xop,+tbm", "+avx512fp16,+avx512vl",
]
TUNINGS = [
    "slow-lea", "slow-3ops-lea", "lea-uses-ag", "lea-sp", "pad-short-functions", "slow-incdec", "idivl-to-divb",
    "idivq-to-divl", "false-deps-popcnt", "false-deps-lzcnt-tzcnt", "prefer-128-bit", "slow-shld", "ermsb",
    "slow-two-mem-ops", "sse-unaligned-mem", "fast-shld-rotate", "slow-unaligned-mem-16", "slow-unaligned-mem-32",
    "retpoline-indirect-calls", "retpoline-indirect-branches", "lvi-cfi", "harden-sls-ret", "sahf", "fast-hops",
    "tagged-globals", "prefer-legacy-setcc",
]
PROCESSORS = ["atom", "silvermont", "core2", "k8", "generic", "skylake", "znver3", "lakemont", "btver2", "pentium4", "i686"]
CONVENTIONS = {
    "x86-64": [
        "", "", "", "fastcc", "coldcc", "preserve_mostcc", "preserve_allcc", "preserve_nonecc", "tailcc", "swiftcc",
        "swifttailcc", "ghccc", "x86_regcallcc", "x86_regcallcc", "x86_vectorcallcc", "win64cc", "x86_64_sysvcc",
        "cxx_fast_tlscc", "intel_ocl_bicc",
    ],
    "i386": [
        "", "", "fastcc", "coldcc", "x86_stdcallcc", "x86_fastcallcc", "x86_thiscallcc", "x86_regcallcc", "x86_vectorcallcc",
        "swiftcc", "tailcc",
    ],
}
# These leave the stack pointer elsewhere.
POPPING = ["tailcc", "swifttailcc", "x86_stdcallcc", "x86_fastcallcc", "x86_thiscallcc", "x86_vectorcallcc"]
# These restore nearly everything.
RESTORING = ["cxx_fast_tlscc", "coldcc", "preserve_mostcc", "preserve_allcc"]
# What one parameter of a function may be. (Who takes `swiftasync` marks its caller's frame pointer, which has to be one.)
SINGLE = ["nest", "swiftself", "swifterror"]
ATTRIBUTES = [
    '"frame-pointer"="all"', '"frame-pointer"="non-leaf"', "alignstack(32)", '"stackrealign"', "ssp", "sspstrong", "sspreq",
    "minsize optsize", "optsize", "optnone noinline", "uwtable", "uwtable(sync)", '"probe-stack"="inline-asm"', "safestack",
    '"zero-call-used-regs"="used"', '"zero-call-used-regs"="all-gpr"', '"patchable-function-entry"="2"', "strictfp",
    "speculative_load_hardening", '"no_callee_saved_registers"', '"no_caller_saved_registers"', '"no-realign-stack"', "cold",
    "hot", "noredzone", '"no-jump-tables"="true"', '"disable-tail-calls"="true"', "nonlazybind", "nocf_check",
    '"stack-probe-size"="256"', '"function-instrument"="xray-always"', '"split-machine-functions"',
]


class Function:
    """What callers have to know of a function, and its text."""

    def __init__(self, name):
        self.name = name
        self.convention, self.params, self.returns, self.varied = "", [], "i64", []
        self.features, self.attributes = frozenset(), []
        self.throws, self.is_called, self.cost, self.text = False, True, 1, ""

    def types(self, machine):
        """The types that the subtarget has registers for."""
        kinds = INTEGERS + STRUCTS
        if "i387" in self.features:
            kinds = kinds + ["float", "double", "x86_fp80"]
        if "sse2" in self.features:
            kinds = kinds + ["float", "double", "double", "half"] + FLOATING + VECTORS
        if "avx" in self.features:
            kinds = kinds + WIDE
        if "avx512f" in self.features:
            kinds = kinds + WIDEST
        return kinds

    def keeps_nothing(self):
        """Whether not even the frame's pointers are what they were behind a call."""
        few = self.convention in ("ghccc", "preserve_nonecc", "intel_ocl_bicc")
        return few or '"no_callee_saved_registers"' in self.attributes

    def fits(self, caller):
        """Whether its parameters and results are where the caller looks for them: that depends on both subtargets."""
        kinds = [kind for kind, _ in self.params] + self.varied + [self.returns]
        inner = [kind for one in kinds for kind in (members(one) if one[0] == "{" else [one])]
        needed = {"sse2"} if any(kind[0] == "<" or kind in ("half", "float", "double", "x86_fp80") for kind in inner) else set()
        needed |= {"avx"} if any(kind[0] == "<" and width(kind) > 128 for kind in inner) else set()
        needed |= {"avx512f"} if any(kind[0] == "<" and width(kind) > 256 for kind in inner) else set()
        return all((feature in self.features) == (feature in caller.features) for feature in needed)


class Module:
    """Functions, and what they need."""

    def __init__(self, chance, machine, processor):
        self.chance, self.machine, self.processor, self.functions = chance, machine, processor, []
        self.is_independent = chance.random() < 0.5
        self.is_large = machine == "x86-64" and not self.is_independent and chance.random() < 0.1
        self.flags = ["-relocation-model=" + ("pic" if self.is_independent else "static")]
        self.flags += ["-code-model=large"] if self.is_large else []
        self.linking = [] if self.is_independent else ["-no-pie"]
        for rank in range(chance.randrange(4, 16)):
            self.functions.append(self.function(f"f{rank}"))
        self.functions.append(self.main())

    def function(self, name):
        chance, function = self.chance, Function(name)
        function.is_called = chance.random() < 0.85
        self.target(function)
        jumped = chance.choice(self.functions) if self.functions and chance.random() < 0.2 else None
        if jumped and self.jumps(jumped, function):
            function.convention, function.params, function.returns = jumped.convention, jumped.params, jumped.returns
        else:
            jumped = None
            self.sign(function)
        self.attribute(function, jumped)
        body = Body(self, function)
        body.arrive()
        # (Where the frame's own pointer is lost in a call, LLVM does not get back to it.)
        throws = not jumped and not function.keeps_nothing() and ("ptr", "swifterror") not in function.params
        function.throws = throws and function.convention not in POPPING and chance.random() < 0.15
        for _ in range(chance.randrange(1, 9)):
            body.statement()
        if function.throws:
            body.throw()
            body.integers()
        body.jump(jumped) if jumped else body.leave()
        self.write(function, body)
        return function

    def jumps(self, callee, function):
        """Whether a function with the same subtarget and signature can leave by a call to another one."""
        kinds = [kind for kind, _ in callee.params] + [callee.returns]
        if any(kind == "ptr" or kind[0] == "{" for kind in kinds) or callee.varied or callee.throws:
            return False
        # (What restores nearly everything restores arguments, too, and the register with the address that is jumped to.)
        if callee.convention in RESTORING or "no_calle" in "".join(callee.attributes):
            return False
        if not callee.is_called or callee.cost > COST // 2:
            return False
        function.features, function.is_called, function.subtarget = callee.features, True, callee.subtarget
        return True

    def target(self, function):
        """Gives it a subtarget."""
        chance = self.chance
        able = [each for each in SUBTARGETS[self.machine] if all(name in self.processor for name in each.values())]
        features = set(chance.choice(able))
        if not function.is_called and self.machine == "x86-64":
            # (The linker does not know how the registers of APX are loaded from the global offset table.)
            untried = [each for each in UNTRIED if not self.is_independent or "egpr" not in each]
            features = {each.strip("+") for each in chance.choice(untried).split(",")}
        written = sorted(f"+{each}" for each in features)
        if self.machine == "x86-64" or features & {"sse4.2", "avx", "avx2", "sse2"}:
            features |= {"sse2"}
        if features & {"avx2", "fma", "f16c", "avx512f", "avx512vl", "avx10.2", "xop", "avx512fp16", "avx512bw"}:
            features |= {"avx"}
        if features & {"avx512vl", "avx10.2", "avx512fp16", "avx512bw"}:
            features |= {"avx512f"}
        # Without SSE, values of these types are on the stack of x87.
        features |= {"i387"}
        tunings = [each for each in TUNINGS if self.machine == "x86-64" or "retpoline" not in each and "lvi" not in each]
        written += [f"+{each}" for each in chance.sample(tunings, chance.choice([0, 0, 1, 2, 4]))]
        function.features = frozenset(features)
        function.subtarget = [f'"target-features"="{",".join(written)}"'] if written else []
        if chance.random() < 0.3:
            function.subtarget.append(f'"tune-cpu"="{chance.choice(PROCESSORS)}"')

    def sign(self, function):
        """Gives it a convention, parameters and a result."""
        chance = self.chance
        function.convention = chance.choice(CONVENTIONS[self.machine])
        # (Where these save wide vector registers, LLVM finds out that the stack has to be aligned when it has settled the frame.)
        if "avx" in function.features and function.convention in ("preserve_allcc", "intel_ocl_bicc"):
            function.convention = "preserve_mostcc"
        kinds = function.types(self.machine)
        if function.convention == "x86_vectorcallcc":
            kinds = [each for each in kinds if each != "x86_fp80"]
        if function.convention == "win64cc":
            kinds = [each for each in kinds if each in ("i8", "i16", "i32", "i64", "float", "double")]
        if function.convention == "x86_vectorcallcc" and "sse2" not in function.features:
            function.convention = "fastcc"
        if function.convention == "ghccc":
            function.params, function.returns = [("i64", "")] * chance.randrange(5), "void"
            return
        # (LLVM crashes where it saves vector registers beside pairs of others.)
        interrupts = not function.is_called and function.convention == "" and "push2pop2" not in function.features
        if interrupts and chance.random() < 0.2:
            function.convention, function.params, function.returns = "x86_intrcc", [("ptr", f"byval({RECORD})")], "void"
            return
        result = chance.choice([*kinds, "i64", "i64", "void"])
        # (LLVM does not align wide vectors on i386's stack.)
        if self.machine == "i386":
            kinds = [each for each in kinds if each not in WIDE]
        for _ in range(chance.choice([0, 1, 2, 3, 4, 6, 9, 13])):
            kind = chance.choice([*kinds, "ptr", "ptr"])
            attribute = ""
            if kind == "ptr":
                attribute = chance.choice([*SINGLE, "", "noalias", "inreg", f"byval({RECORD}) align 8"])
            elif kind in ("i8", "i16", "i32"):
                attribute = chance.choice(["", "signext", "zeroext", "inreg"])
            if attribute.startswith("swift") and function.convention == "preserve_nonecc":
                attribute = ""
            if attribute in SINGLE and any(each == attribute for _, each in function.params):
                attribute = ""
            function.params.append((kind, attribute))
        function.returns = result
        # (These restore all registers but one.)
        if function.convention in RESTORING and function.returns != "void":
            function.returns = chance.choice(["i8", "i32", "i64"])
        if function.returns == "void" and chance.random() < 0.5:
            function.params.insert(0, ("ptr", f"sret({RECORD}) align 8"))
        if function.convention == "" and chance.random() < 0.15:
            function.params = [("i32", ""), *function.params]
            floating = ["double"] if "sse2" in function.features else []
            function.varied = [chance.choice(["i32", "i64", "i64", *floating]) for _ in range(chance.randrange(1, 9))]

    def attribute(self, function, jumped):
        """Gives it attributes."""
        chosen = [each for each in ATTRIBUTES if self.chance.random() < 0.06]
        if self.machine == "i386":
            chosen = [each for each in chosen if "xray" not in each and "load_hard" not in each]
        # What is returned would be overwritten by what is restored, and what is jumped to restores less.
        if jumped or function.returns != "void" or function.params:
            chosen = [each for each in chosen if each != '"no_caller_saved_registers"']
        if jumped:
            chosen = [each for each in chosen if each != '"no_callee_saved_registers"']
        if "ghccc" == function.convention:
            chosen = [each for each in chosen if not any(word in each for word in ("frame", "realign", "alignstack", "probe"))]
        if "optnone noinline" in chosen:
            chosen = [each for each in chosen if "optsize" not in each]
        function.attributes = [*dict((each.split("=")[0], each) for each in chosen).values(), *function.subtarget]

    def main(self):
        """Prints what every function returns."""
        function = Function("main")
        function.returns, function.features, function.subtarget = "i32", frozenset(["sse2", "i387"]), []
        if self.machine == "i386":
            function.attributes = ['"target-features"="+sse2"']
        body = Body(self, function)
        self.enter(body)
        for callee in [each for each in self.functions if each.is_called and each.fits(function)]:
            body.pool = [("i64", str(self.chance.randrange(-999, LARGE))) for _ in range(4)]
            kept = len(body.pool)
            body.call(callee)
            for kind, name in body.pool[kept:]:
                number = body.digest(kind, name)
                body.line(f'call i32 (ptr, ...) @printf(ptr @format, ptr @name.{callee.name}, i64 {number})')
        body.line("ret i32 0")
        self.write(function, body)
        return function

    def enter(self, body):
        """What has to be done before anything else: the unsafe stack is one of our own."""
        body.line("store ptr getelementptr (i8, ptr @unsafe, i32 65536), ptr @__safestack_unsafe_stack_ptr")

    def write(self, function, body):
        names = ", ".join(f"{kind} {attribute} %p{index}" for index, (kind, attribute) in enumerate(function.params))
        names += ", ..." if function.varied else ""
        attributes = " ".join(function.attributes)
        linkage = self.chance.choice(["", "", "internal ", "dso_local "]) if function.name != "main" else ""
        head = f"define {linkage}{function.convention} {function.returns} @{function.name}({names}) {attributes}"
        lines = ["entry:", *body.entry, *body.lines]
        if any(" invoke " in line for line in lines):
            head += " personality ptr @__gxx_personality_v0"
        function.text = "\n".join([head + " {", *lines, "}"])

    def __str__(self):
        texts = [function.text for function in self.functions]
        self.chance.shuffle(texts)
        bits = 32 if self.machine == "i386" else 64
        arch = "i386" if bits == 32 else "x86_64"
        level = 2 if self.is_independent else 0
        flags = [f'!{{i32 8, !"PIC Level", i32 {level}}}'] + (['!{i32 7, !"PIE Level", i32 2}'] if self.is_independent else [])
        flags += ['!{i32 1, !"Code Model", i32 4}'] if self.is_large else []
        lines = [f'target triple = "{arch}-pc-linux-gnu"', *DECLARATIONS]
        for function in self.functions:
            lines.append(f"@pointer.{function.name} = global ptr @{function.name}")
            lines.append(f'@name.{function.name} = constant [{len(function.name) + 1} x i8] c"{function.name}\\00"')
        lines += ["", "\n\n".join(texts), ""]
        lines.append(f"!llvm.module.flags = !{{{', '.join(f'!{k}' for k in range(len(flags)))}}}")
        lines += [f"!{k} = {flag}" for k, flag in enumerate(flags)]
        return "\n".join(lines) + "\n"


DECLARATIONS = [
    '@format = constant [9 x i8] c"%s %llx\\0A\\00"',
    "@shared = global i64 81985529216486895",
    "@result = global i64 0",
    "@own = thread_local global i64 5",
    "@own.executable = thread_local(initialexec) global i64 7",
    "@unsafe = global [65536 x i8] zeroinitializer, align 64",
    "@__safestack_unsafe_stack_ptr = thread_local(initialexec) global ptr null",
    "@_ZTIi = external constant ptr",
    "declare i32 @printf(ptr, ...)",
    "declare i32 @_setjmp(ptr) returns_twice",
    "declare void @longjmp(ptr, i32) noreturn",
    "declare ptr @__cxa_allocate_exception(i32)",
    "declare void @__cxa_throw(ptr, ptr, ptr) noreturn",
    "declare ptr @__cxa_begin_catch(ptr)",
    "declare void @__cxa_end_catch()",
    "declare i32 @__gxx_personality_v0(...)",
]
