"""The bodies of the functions of scripts/modules.py.

A function computes with a pool of values of all types and returns a digest of them, so that all of them live until its
end. There is no undefined behaviour and no rounding: floating-point values are integers up to 1023.
"""

import re

INTEGERS = ["i8", "i16", "i32", "i64", "i64", "i128"]
VECTORS = ["<16 x i8>", "<8 x i16>", "<4 x i32>", "<2 x i64>", "<4 x float>", "<2 x double>"]
WIDE = ["<32 x i8>", "<8 x i32>", "<4 x i64>", "<8 x float>", "<4 x double>"]
WIDEST = ["<16 x i32>", "<8 x i64>", "<16 x float>", "<64 x i8>"]
STRUCTS = ["{ i64, i32 }", "{ i32, i32 }", "{ i8, i64, i16 }", "{ i64, i64, i64, i64 }"]
FLOATING = ["{ double, i64 }", "{ float, float }"]
RECORD = "{ i64, i32, i8, [5 x i64] }"
LARGE = 2**63 - 25
# As many calls as one function may come to.
COST = 3000


def parts(kind):
    """The number of lanes and the type of each."""
    match = re.fullmatch(r"<(\d+) x (\w+)>", kind)
    return (int(match[1]), match[2]) if match else (1, kind)


def width(kind):
    """How many bits a type of integers or floating-point numbers has."""
    count, lane = parts(kind)
    return count * {"half": 16, "float": 32, "double": 64, "x86_fp80": 80}.get(lane, int(lane[1:]) if lane[0] == "i" else 0)


def floats(kind):
    """Whether it is of floating-point numbers."""
    return parts(kind)[1][0] != "i"


def members(kind):
    """The types of a structure's members."""
    return kind.strip("{} ").split(", ")


def has_frame_pointer(function):
    """Whether its attributes are such as take a frame pointer."""
    return any("frame" in each or "realign" in each or "alignstack" in each for each in function.attributes)


class Body:
    """The code of a function while it is being made."""

    def __init__(self, module, function):
        self.module, self.function, self.chance = module, function, module.chance
        self.lines, self.entry, self.pool = [], [], []
        self.count, self.block, self.depth, self.times = 0, "entry", 0, 1
        self.is_32 = module.machine == "i386"
        # Whether the frame may be of a kind that takes registers. Where assembly or a call destroys these, LLVM saves them
        # itself, and then is mistaken about where the frame is.
        self.is_framed = self.chance.random() < 0.6 or has_frame_pointer(function) or "avx" in function.features
        self.is_framed &= function.convention != "ghccc" and function.name != "main"

    # Single instructions.

    def line(self, text):
        self.lines.append(f"  {text}")

    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def value(self, text):
        name = self.fresh("%v")
        self.line(f"{name} = {text}")
        return name

    def start(self, block):
        self.lines.append(f"{block}:")
        self.block = block

    def slot(self, kind, align=8):
        """An object of the frame."""
        name = self.fresh("%s")
        self.entry.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def add(self, kind, name):
        self.pool.append((kind, name))

    # Values.

    def mix(self, numbers):
        """One number that depends on all."""
        total = "17"
        for number in numbers:
            total = self.value(f"mul i64 {total}, 31")
            total = self.value(f"{self.chance.choice(['add', 'xor'])} i64 {total}, {number}")
        return total

    def digest(self, kind, name):
        """A number of 64 bits that depends on a value."""
        if kind[0] == "{":
            inner = [self.digest(each, self.value(f"extractvalue {kind} {name}, {k}")) for k, each in enumerate(members(kind))]
            return self.mix(inner)
        count, lane = parts(kind)
        if floats(kind):
            if lane == "half":
                kind, name = "float", self.value(f"fpext half {name} to float")
            whole = kind.replace(lane if lane != "half" else "float", "i32") if count > 1 else "i64"
            return self.digest(whole, self.value(f"fptosi {kind} {name} to {whole}"))
        bits = width(kind)
        if bits > 64:
            chunks = f"<{bits // 64} x i64>"
            if kind != chunks:
                name = self.value(f"bitcast {kind} {name} to {chunks}")
            picked = [self.value(f"extractelement {chunks} {name}, i32 {k}") for k in range(bits // 64)]
            total = picked[0]
            for each in picked[1:]:
                total = self.value(f"xor i64 {total}, {each}")
            return total
        if count > 1:
            kind, name = f"i{bits}", self.value(f"bitcast {kind} {name} to i{bits}")
        return name if bits == 64 else self.value(f"{self.chance.choice(['zext', 'sext'])} {kind} {name} to i64")

    def number(self):
        """Some number of 64 bits."""
        if not self.pool or self.chance.random() < 0.1:
            return str(self.chance.choice([self.chance.randrange(-99, 99), self.chance.randrange(LARGE)]))
        return self.digest(*self.chance.choice(self.pool))

    def make(self, kind):
        """Some value of a type."""
        known = [name for each, name in self.pool if each == kind]
        if known and self.chance.random() < 0.7:
            return self.chance.choice(known)
        if kind[0] == "{":
            whole = "zeroinitializer"
            for k, each in enumerate(members(kind)):
                whole = self.value(f"insertvalue {kind} {whole}, {each} {self.make(each)}, {k}")
            return whole
        count, lane = parts(kind)
        if count > 1:
            return self.vector(kind, count, lane)
        number = self.number()
        if floats(kind):
            small = self.value(f"and i64 {number}, 1023")
            if kind != "half":
                return self.value(f"sitofp i64 {small} to {kind}")
            return self.value(f"fptrunc float {self.value(f'sitofp i64 {small} to float')} to half")
        if kind == "i128":
            return self.value(f"mul i128 {self.value(f'zext i64 {number} to i128')}, {2**68 + 12345}")
        return number if kind == "i64" else self.value(f"trunc i64 {number} to {kind}")

    def vector(self, kind, count, lane):
        """A vector of numbers."""
        if floats(kind):
            whole = f"<{count} x i32>"
            small = self.value(f"and {whole} {self.make(whole)}, splat (i32 1023)")
            return self.value(f"sitofp {whole} {small} to {kind}")
        bits = width(kind)
        if bits < 128:
            return self.value(f"bitcast i{bits} {self.make(f'i{bits}')} to {kind}")
        chunks = f"<{bits // 64} x i64>"
        whole = self.value(f"insertelement {chunks} zeroinitializer, i64 {self.number()}, i32 0")
        whole = self.value(f"insertelement {chunks} {whole}, i64 {self.number()}, i32 {bits // 64 - 1}")
        return whole if kind == chunks else self.value(f"bitcast {chunks} {whole} to {kind}")

    def condition(self):
        kind = self.chance.choice(["i8", "i32", "i64"])
        return self.value(f"icmp {self.chance.choice(['ult', 'slt', 'eq', 'sgt'])} {kind} {self.make(kind)}, {self.make(kind)}")

    def record(self):
        """A pointer to a filled record."""
        slot = self.slot(RECORD, self.chance.choice([8, 8, 16, 32, 64] if self.is_framed else [8]))
        for offset in (0, 8, 24):
            self.line(f"store i64 {self.number()}, ptr {self.value(f'getelementptr i8, ptr {slot}, i32 {offset}')}")
        return slot

    def load(self, pointer, offset=0, kind="i64"):
        at = self.value(f"getelementptr i8, ptr {pointer}, i32 {offset}") if offset else pointer
        self.add(kind, self.value(f"load {kind}, ptr {at}"))

    # Statements.

    def statement(self):
        kinds = {
            self.integers: 6, self.reals: 3, self.vectors: 3, self.call: 7, self.assembly: 5, self.outside: 2, self.bits: 2,
            self.diamond: 2, self.loop: 1, self.switch: 1, self.indirect: 0.7, self.dynamic: 0.7, self.atomics: 1, self.copy: 0.7,
            self.frame: 0.4, self.again: 0.4, self.stackmap: 0.4, self.jumping: 0.5, self.division: 1,
        }
        self.chance.choices(list(kinds), list(kinds.values()))[0]()

    def integers(self):
        for _ in range(self.chance.randrange(1, 5)):
            kind = self.chance.choice(INTEGERS)
            operation = self.chance.choice(["add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr"])
            second = self.make(kind)
            if operation in ("shl", "lshr", "ashr"):
                second = self.value(f"and {kind} {second}, {width(kind) - 1}")
            self.add(kind, self.value(f"{operation} {kind} {self.make(kind)}, {second}"))

    def division(self):
        kind = self.chance.choice(["i8", "i16", "i32", "i64"])
        by = self.value(f"or {kind} {self.make(kind)}, 1")
        by = self.value(f"lshr {kind} {by}, {self.chance.randrange(width(kind) - 1)}") if self.chance.random() < 0.5 else by
        by = self.value(f"or {kind} {by}, 1")
        self.add(kind, self.value(f"{self.chance.choice(['udiv', 'urem'])} {kind} {self.make(kind)}, {by}"))

    def reals(self):
        kinds = [kind for kind in self.types if kind[0] != "{" and floats(kind) and kind != "half"]
        if not kinds:
            return
        kind = self.chance.choice(kinds)
        product = self.value(f"fmul {kind} {self.make(kind)}, {self.make(kind)}")
        total = self.value(f"{self.chance.choice(['fadd', 'fsub'])} {kind} {product}, {self.make(kind)}")
        self.add("i64", self.digest(kind, total))
        self.add(kind, self.make(kind))

    def vectors(self):
        kinds = [kind for kind in self.types if kind[0] == "<" and not floats(kind)]
        if not kinds:
            return
        for _ in range(self.chance.randrange(1, 4)):
            kind = self.chance.choice(kinds)
            count, lane = parts(kind)
            one, other = self.make(kind), self.make(kind)
            if self.chance.random() < 0.3:
                order = ", ".join(f"i32 {self.chance.randrange(2 * count)}" for _ in range(count))
                self.add(kind, self.value(f"shufflevector {kind} {one}, {kind} {other}, <{count} x i32> <{order}>"))
            elif self.chance.random() < 0.3:
                compared = self.value(f"icmp sgt {kind} {one}, {other}")
                self.add(kind, self.value(f"select <{count} x i1> {compared}, {kind} {other}, {kind} {self.make(kind)}"))
            else:
                self.add(kind, self.value(f"{self.chance.choice(['add', 'sub', 'xor', 'and', 'or'])} {kind} {one}, {other}"))

    def bits(self):
        kind = self.chance.choice(["i16", "i32", "i64"])
        name = self.chance.choice(["ctpop", "bswap", "bitreverse", "ctlz", "cttz", "fshl", "umul", "uadd", "usub"])
        one, other = self.make(kind), self.make(kind)
        if name in ("ctlz", "cttz"):
            self.add(kind, self.value(f"call {kind} @llvm.{name}.{kind}({kind} {one}, i1 false)"))
        elif name == "fshl":
            self.add(kind, self.value(f"call {kind} @llvm.fshl.{kind}({kind} {one}, {kind} {other}, {kind} {self.make(kind)})"))
        elif name[0] == "u":
            both = self.value(f"call {{ {kind}, i1 }} @llvm.{name}.with.overflow.{kind}({kind} {one}, {kind} {other})")
            over = self.value(f"extractvalue {{ {kind}, i1 }} {both}, 1")
            total = self.value(f"extractvalue {{ {kind}, i1 }} {both}, 0")
            self.add(kind, self.value(f"select i1 {over}, {kind} {one}, {kind} {total}"))
        else:
            self.add(kind, self.value(f"call {kind} @llvm.{name}.{kind}({kind} {one})"))

    def outside(self):
        # (The linker does not know how such variables are addressed with the registers of APX.)
        own = ["@own", "@own.executable"] if "egpr" not in self.function.features else []
        name = self.chance.choice(["@shared", *own])
        if name != "@shared":
            name = self.value(f"call ptr @llvm.threadlocal.address.p0(ptr {name})")
        if self.chance.random() < 0.4:
            self.line(f"store volatile i64 {self.number()}, ptr {name}")
        self.add("i64", self.value(f"load volatile i64, ptr {name}"))

    def atomics(self):
        slot = self.slot("i128", 16)
        # In registers that are fixed, which may be the frame's own.
        kind = self.chance.choice(["i32", "i64"] + ["i128"] * 2 * ("cx16" in self.function.features))
        if self.is_32 and "cx8" not in self.function.features:
            kind = "i32"
        self.line(f"store i128 {self.make('i128')}, ptr {slot}, align 16")
        old = self.value(f"load {kind}, ptr {slot}, align 16")
        if self.chance.random() < 0.3:
            operation = self.chance.choice(["add", "xchg", "nand", "umax"])
            self.add(kind, self.value(f"atomicrmw {operation} ptr {slot}, {kind} {old} seq_cst, align 16"))
        both = self.value(f"cmpxchg ptr {slot}, {kind} {old}, {kind} {self.make(kind)} seq_cst seq_cst, align 16")
        self.add(kind, self.value(f"extractvalue {{ {kind}, i1 }} {both}, 0"))
        self.load(slot)

    def copy(self):
        size = self.chance.choice([24, 100, 512])
        slot, filled = self.slot(f"[{size} x i8]", 16), self.record()
        self.line(f"call void @llvm.memset.p0.i32(ptr {slot}, i8 {self.make('i8')}, i32 {size}, i1 false)")
        self.line(f"call void @llvm.memcpy.p0.p0.i32(ptr {slot}, ptr {filled}, i32 {self.chance.choice([8, 16])}, i1 false)")
        self.load(slot, 0)
        self.load(slot, size - 8)

    def dynamic(self):
        if not self.is_framed:
            return
        count = self.value(f"and i32 {self.make('i32')}, 15")
        count = self.value(f"add i32 {count}, 1")
        saved = self.value("call ptr @llvm.stacksave.p0()") if self.chance.random() < 0.3 else None
        place = self.value(f"alloca i64, i32 {count}, align {self.chance.choice([8, 16, 32, 64])}")
        self.line(f"store volatile i64 {self.number()}, ptr {place}")
        self.add("i64", self.value(f"load volatile i64, ptr {place}"))
        if saved:
            self.line(f"call void @llvm.stackrestore.p0(ptr {saved})")

    def frame(self):
        if not self.is_framed:
            return
        name = self.chance.choice(["frameaddress.p0", "returnaddress", "addressofreturnaddress.p0"])
        address = self.value(f"call ptr @llvm.{name}({'' if name[0] == 'a' else 'i32 0'})")
        self.add("i8", self.value(f"zext i1 {self.value(f'icmp eq ptr {address}, null')} to i8"))

    def again(self):
        """setjmp, and longjmp from a function that is called."""
        if self.depth or not self.function.is_called or not self.is_framed or "safestack" in self.function.attributes:
            return
        buffer = self.slot("[64 x i64]", 16)
        first, second = self.fresh("first"), self.fresh("second")
        result = self.value(f"call i32 @_setjmp(ptr {buffer}) returns_twice")
        compared = self.value(f"icmp eq i32 {result}, 0")
        self.line(f"br i1 {compared}, label %{first}, label %{second}")
        self.start(first)
        self.nested(2)
        self.line(f"call void @longjmp(ptr {buffer}, i32 {self.chance.randrange(1, 99)})")
        self.line("unreachable")
        self.start(second)
        self.add("i32", result)

    def stackmap(self):
        # (LLVM crashes where it prints its like, patchpoints.)
        if self.is_32 or not self.is_framed or "speculative_load_hardening" in self.function.attributes:
            return
        kind = "i64"
        alive = ", ".join(f"{kind} {self.make(kind)}" for _ in range(self.chance.randrange(1, 4)))
        self.line(f"call void (i64, i32, ...) @llvm.experimental.stackmap(i64 {self.chance.randrange(99)}, i32 0, {alive})")

    def nested(self, most):
        """Statements of which nothing is left but what they did."""
        kept, self.depth = len(self.pool), self.depth + 1
        for _ in range(self.chance.randrange(1, most + 1)):
            self.statement()
        result = self.number()
        del self.pool[kept:]
        self.depth -= 1
        return result

    def join(self, block, arms):
        self.start(block)
        self.add("i64", self.value("phi i64 " + ", ".join(f"[ {number}, %{source} ]" for number, source in arms)))

    def diamond(self):
        if self.depth > 2:
            return
        yes, no, end = self.fresh("yes"), self.fresh("no"), self.fresh("end")
        self.line(f"br i1 {self.condition()}, label %{yes}, label %{no}")
        arms = []
        for block in (yes, no):
            self.start(block)
            arms.append((self.nested(3), self.block))
            self.line(f"br label %{end}")
        self.join(end, arms)

    def loop(self):
        if self.depth > 1:
            return
        head, end, before, times = self.fresh("head"), self.fresh("end"), self.block, self.chance.randrange(2, 5)
        start = self.number()
        before = self.block
        self.line(f"br label %{head}")
        self.start(head)
        index, total, following, more = self.fresh("%i"), self.fresh("%sum"), self.fresh("%next"), self.fresh("%more")
        at = len(self.lines)
        kept = len(self.pool)
        self.add("i64", total)
        self.times *= times
        result = self.nested(3)
        self.times //= times
        self.lines[at:at] = [
            f"  {index} = phi i32 [ 0, %{before} ], [ {following}, %{self.block} ]",
            f"  {total} = phi i64 [ {start}, %{before} ], [ {result}, %{self.block} ]",
        ]
        self.line(f"{following} = add i32 {index}, 1")
        self.line(f"{more} = icmp ult i32 {following}, {times}")
        self.line(f"br i1 {more}, label %{head}, label %{end}")
        del self.pool[kept:]
        self.start(end)
        self.add("i64", result)

    def switch(self):
        if self.depth > 1:
            return
        cases = [self.fresh("case") for _ in range(self.chance.randrange(3, 7))]
        end = self.fresh("end")
        choice = self.value(f"and i32 {self.make('i32')}, 7")
        labels = " ".join(f"i32 {k}, label %{case}" for k, case in enumerate(cases[1:]))
        self.line(f"switch i32 {choice}, label %{cases[0]} [ {labels} ]")
        arms = []
        for case in cases:
            self.start(case)
            arms.append((self.nested(1), self.block))
            self.line(f"br label %{end}")
        self.join(end, arms)

    def indirect(self):
        if self.depth > 1 or "retpoline-indirect-branches" in "".join(self.function.subtarget):
            return
        one, other, end, name = self.fresh("one"), self.fresh("other"), self.fresh("end"), self.function.name
        target = self.value(
            f"select i1 {self.condition()}, ptr blockaddress(@{name}, %{one}), ptr blockaddress(@{name}, %{other})"
        )
        self.line(f"indirectbr ptr {target}, [label %{one}, label %{other}]")
        arms = []
        for block in (one, other):
            self.start(block)
            arms.append((self.nested(2), self.block))
            self.line(f"br label %{end}")
        self.join(end, arms)

    # Inline assembly.

    def assembly(self):
        self.chance.choice([self.destroying, self.pinned, self.computing])()

    def destroyed(self):
        """Code that destroys some registers, and its clobbers."""
        general = ["eax", "ebx", "ecx", "edx", "esi", "edi", "ebp"] + [f"r{k}d" for k in range(8, 16) if not self.is_32]
        vectors = [f"xmm{k}" for k in range(8 if self.is_32 else 16)] if "sse2" in self.function.features else []
        if self.is_framed:
            general = [name for name in general if name not in ("ebp", "esi" if self.is_32 else "ebx")]
        chosen = self.chance.sample(general, self.chance.randrange(1, min(len(general) - 2, 8)))
        code = [f"xorl %{name}, %{name}" for name in chosen]
        names = [self.chance.choice(self.aliases(name)) for name in chosen]
        for name in self.chance.sample(vectors, self.chance.randrange(len(vectors) // 2) if vectors else 0):
            code.append(f"xorps %{name}, %{name}")
            names.append(name)
        return "; ".join(code), [f"~{{{name}}}" for name in names]

    def aliases(self, name):
        """A register's names in clobbers."""
        if self.is_32:
            return [name]
        return [name, "r" + name[1:] if name[0] == "e" else name[:-1]]

    def destroying(self):
        code, clobbers = self.destroyed()
        self.line(f'call void asm sideeffect "{code}", "{",".join(clobbers)},~{{memory}},~{{flags}}"()')

    def pinned(self):
        """Operands in registers of their own."""
        kind = "i32" if self.is_32 else self.chance.choice(["i32", "i64"])
        short = kind == "i32"
        registers = ["ax", "bx", "cx", "dx", "si", "di"] + [f"r{k}" for k in range(8, 16) if not self.is_32]
        names = self.chance.sample(registers, 3)
        full = [(f"e{name}" if short else f"r{name}") if name[0] != "r" else name + "d" * short for name in names]
        output = self.chance.choice([f"={{{full[0]}}}", f"=&{{{full[0]}}}"])
        suffix = "l" if short else "q"
        code = f"mov{suffix} $1, $0; add{suffix} $2, $0"
        constraints = f"{output},{{{full[1]}}},{{{full[2]}}},~{{flags}}"
        operands = f"{kind} {self.make(kind)}, {kind} {self.make(kind)}"
        self.add(kind, self.value(f'call {kind} asm "{code}", "{constraints}"({operands})'))

    def computing(self):
        """Operands of all kinds."""
        long = "l" if self.is_32 else "q"
        kind = "i32" if self.is_32 else "i64"
        forms = [
            (f"add{long} $2, $0", "=r,0,r,~{flags}", kind, [kind, kind]),
            (f"mov{long} $1, $0; sub{long} $2, $0", "=&r,r,rm,~{flags}", kind, [kind, kind]),
            (f"cmp{long} $2, $1", "={@ccb},r,r,~{flags}", "i8", [kind, kind]),
            (f"test{long} $1, $1", "={@ccnz},r,~{flags}", "i8", [kind]),
            # (With `ah` and its like, LLVM makes moves for x86-64 that do not exist.)
            ("movb $1, $0", "={ah},{cl}" if self.is_32 else "={al},{cl}", "i8", ["i8"]),
            ("movb $1, $0", "={cl},{dh}" if self.is_32 else "={cl},{sil}", "i8", ["i8"]),
            ("addb $2, $0", "=q,0,q,~{flags}", "i8", ["i8", "i8"]),
            ("addb $2, $0", "=Q,0,Q,~{flags}", "i8", ["i8", "i8"]),
            ("addw $2, $0", "=r,0,r,~{flags}", "i16", ["i16", "i16"]),
            (f"mul{long} $3", "={ax},={dx},{ax},r,~{flags}", f"{{ {kind}, {kind} }}", [kind, kind]),
            (f"xchg{long} $0, $1", "=r,=r,0,1", f"{{ {kind}, {kind} }}", [kind, kind]),
            ("movl $1, %eax; movl $2, %edx", "=&A,r,r", "i64", ["i32", "i32"]) if self.is_32 else (
                f"shl{long} %cl, $0", "=r,0,{cx},~{flags}", kind, [kind, kind]),
            (f"lea{long} 5($1,$2), $0", "=r,r,r", kind, [kind, kind]),
            (f"add{long} $2, $0", "=r,0,i,~{flags}", kind, [kind, "imm"]),
            ("cpuid", "={ax},={bx},={cx},={dx},0,2", "cpuid", ["i32", "i32"]),
        ]
        if "double" in self.types:
            forms += [
                ("faddp", "={st},{st},{st(1)},~{st(1)}", "double", ["double", "double"]),
                ("fabs", "={st},0", "x86_fp80", ["x86_fp80"]),
                ("fadd %st, %st(1); fxch", "={st},={st(1)},0,1", "{ double, double }", ["double", "double"]),
            ]
        if "sse2" in self.function.features:
            forms += [
                ("paddd $2, $0", "=x,0,x", "<4 x i32>", ["<4 x i32>", "<4 x i32>"]),
                ("pxor $2, $0", "={xmm3},0,x", "<2 x i64>", ["<2 x i64>", "<2 x i64>"]),
                ("addsd $2, $0", "=x,0,x", "double", ["double", "double"]),
                ("movdqu $1, %xmm3; movdqu %xmm3, $0", "=m,m,~{xmm3}", "memory", []),
            ]
        if "avx" in self.function.features:
            forms += [("vxorps $2, $1, $0", "=x,x,x", "<8 x float>", ["<8 x i32>", "<8 x i32>"])]
        self.operate(*self.chance.choice(forms))

    def operate(self, code, constraints, result, kinds):
        if result == "memory":
            one, other = self.record(), self.record()
            constraints = constraints.replace("=m,m", "=*m,*m")
            operands = f"ptr elementtype(i64) {one}, ptr elementtype(i64) {other}"
            self.line(f'call void asm sideeffect "{code}", "{constraints}"({operands})')
            return self.load(one)
        if result == "cpuid":
            # What it says is the processor's.
            self.line(f'call {{ i32, i32, i32, i32 }} asm sideeffect "{code}", "{constraints}"(i32 0, i32 {self.make("i32")})')
            return None
        operands = [f"i64 {self.chance.randrange(99)}" if kind == "imm" else f"{kind} {self.make(kind)}" for kind in kinds]
        asm = self.chance.choice(["asm", "asm sideeffect"])
        whole = self.value(f'call {result} {asm} "{code}", "{constraints}"({", ".join(operands)})')
        if "double" in result or "fp80" in result:
            # A sum is larger than values of the pool may be.
            return self.add("i64", self.digest(result, whole))
        if "float" in result:
            result, whole = "<8 x i32>", self.value(f"bitcast <8 x float> {whole} to <8 x i32>")
        return self.add(result, whole)

    def jumping(self):
        """asm goto."""
        if self.depth > 1:
            return
        stay, away, end = self.fresh("next"), self.fresh("away"), self.fresh("end")
        code, clobbers = self.destroyed() if self.chance.random() < 0.3 else ("nop", [])
        clobbers = "".join(f",{clobber}" for clobber in clobbers)
        kind = "i32" if self.is_32 else "i64"
        compare = "testl $0, $0" if self.is_32 else "testq $0, $0"
        assembly = f'asm sideeffect "{compare}; jns ${{1:l}}; {code}", "r,!i,~{{flags}}{clobbers}"'
        self.line(f"callbr void {assembly}({kind} {self.make(kind)}) to label %{stay} [label %{away}]")
        arms = []
        for block in (stay, away):
            self.start(block)
            arms.append((self.nested(2), self.block))
            self.line(f"br label %{end}")
        self.join(end, arms)

    # Calls.

    def call(self, callee=None):
        """Calls a function of lower rank."""
        callee = callee or self.callee()
        if not callee:
            return
        self.function.cost += callee.cost * self.times
        arguments, errors = [], []
        for kind, attribute in callee.params:
            arguments.append(self.argument(kind, attribute, errors))
        for kind in callee.varied:
            arguments.append(f"{kind} {self.make(kind)}")
        pointer = f"@{callee.name}"
        # (Hardened loads, LLVM does not take from in front of a call again.)
        hardened = "speculative_load_hardening" in self.function.attributes
        if not hardened and '"no_callee_saved_registers"' not in callee.attributes and self.chance.random() < 0.2:
            pointer = self.value(f"load volatile ptr, ptr @pointer.{callee.name}")
        signature = callee.returns + (" (" + ", ".join(kind for kind, _ in callee.params) + ", ...)" if callee.varied else "")
        target = f"{callee.convention} {signature} {pointer}({', '.join(arguments)})"
        mark = self.chance.choice(["", "", "tail ", "notail "]) if not any("ptr" in kind for kind, _ in callee.params) else ""
        self.finish(callee, target, mark)
        for error in errors:
            loaded = self.value(f"load ptr, ptr {error}")
            word = "i32" if self.is_32 else "i64"
            self.add(word, self.value(f"ptrtoint ptr {loaded} to {word}"))

    def callee(self):
        limit = COST // self.times
        able = [each for each in self.module.functions if each.fits(self.function) and each.convention != "x86_intrcc"]
        # (What is above the low 128 bits of vector registers, LLVM has these preserve, and zeroes it at their ends.)
        if "avx" in self.function.features:
            able = [each for each in able if each.convention not in ("preserve_allcc", "intel_ocl_bicc")]
        # (Where something is thrown, there is no telling what is in the register for errors.)
        if ("ptr", "swifterror") in self.function.params:
            able = [each for each in able if not each.throws]
        able = [each for each in able if each.cost * self.times + self.function.cost <= COST]
        # (LLVM moves what a function returns errors through to the unsafe stack.)
        if "safestack" in self.function.attributes:
            able = [each for each in able if ("ptr", "swifterror") not in each.params]
        if self.is_framed:
            able = [each for each in able if not each.keeps_nothing() and not (self.is_32 and each.convention == "x86_regcallcc")]
        if self.function.is_called:
            able = [each for each in able if each.is_called]
        if "no_caller_saved_registers" in "".join(self.function.attributes) or limit < 1:
            able = []
        return self.chance.choice(able) if able else None

    def argument(self, kind, attribute, errors):
        if kind != "ptr":
            return f"{kind} {attribute} {self.make(kind)}"
        if attribute == "swifterror":
            slot = self.fresh("%s")
            self.entry.append(f"  {slot} = alloca swifterror ptr")
            self.entry.append(f"  store ptr null, ptr {slot}")
            errors.append(slot)
            return f"ptr swifterror {slot}"
        return f"ptr {attribute} {self.record()}"

    def finish(self, callee, target, mark):
        """A call, or one that may throw; what it returns."""
        void = callee.returns == "void"
        if callee.throws:
            result = self.invoke(callee, target)
        elif void:
            self.line(f"{mark}call {target}")
            result = None
        else:
            result = self.value(f"{mark}call {target}")
        if void:
            self.add("i64", self.value("load volatile i64, ptr @result"))
        elif result:
            self.add(callee.returns, result)

    def invoke(self, callee, target):
        """A call that may throw: what comes of it is a number, either way."""
        good, bad, end = self.fresh("good"), self.fresh("bad"), self.fresh("end")
        result = self.fresh("%v") if callee.returns != "void" else None
        self.line((f"{result} = " if result else "") + f"invoke {target} to label %{good} unwind label %{bad}")
        self.start(good)
        number = self.digest(callee.returns, result) if result else "1"
        arms = [(number, self.block)]
        self.line(f"br label %{end}")
        self.start(bad)
        pad = self.value("landingpad { ptr, i32 } catch ptr @_ZTIi")
        thrown_at = self.value(f"extractvalue {{ ptr, i32 }} {pad}, 0")
        caught = self.value(f"call ptr @__cxa_begin_catch(ptr {thrown_at})")
        thrown = self.value(f"load i32, ptr {caught}")
        self.line("call void @__cxa_end_catch()")
        arms.append((self.value(f"zext i32 {thrown} to i64"), self.block))
        self.line(f"br label %{end}")
        self.join(end, arms)

    def throw(self):
        yes, end = self.fresh("yes"), self.fresh("end")
        compared = self.value(f"icmp ult i8 {self.make('i8')}, 64")
        self.line(f"br i1 {compared}, label %{yes}, label %{end}")
        self.start(yes)
        thrown_at = self.value("call ptr @__cxa_allocate_exception(i32 4)")
        self.line(f"store i32 {self.make('i32')}, ptr {thrown_at}")
        self.line(f"call void @__cxa_throw(ptr {thrown_at}, ptr @_ZTIi, ptr null) noreturn")
        self.line("unreachable")
        self.start(end)

    # The whole.

    @property
    def types(self):
        return self.function.types(self.module.machine)

    def arrive(self):
        """Enters the parameters into the pool."""
        for index, (kind, attribute) in enumerate(self.function.params):
            name = f"%p{index}"
            if kind != "ptr":
                self.add(kind, name)
            elif attribute != "swifterror" and "sret" not in attribute:
                for offset in self.chance.sample([0, 8, 24], 2):
                    self.load(name, offset)
        if self.function.varied:
            cursor = self.slot("[4 x i64]")
            self.line(f"call void @llvm.va_start.p0(ptr {cursor})")
            for kind in self.function.varied:
                self.add(kind, self.value(f"va_arg ptr {cursor}, {kind}"))
            self.line(f"call void @llvm.va_end.p0(ptr {cursor})")
        for _ in range(self.chance.randrange(6)):
            self.add("i64", self.value("load volatile i64, ptr @shared"))

    def leave(self):
        """Leaves with what depends on the whole pool."""
        result = self.mix([self.digest(*each) for each in self.pool])
        self.pool = [("i64", result)]
        for index, (kind, attribute) in enumerate(self.function.params):
            if attribute == "swifterror":
                error = self.value(f"inttoptr i64 {self.number()} to ptr")
                self.line(f"store ptr {error}, ptr %p{index}")
            elif "sret" in attribute:
                self.line(f"store i64 {result}, ptr %p{index}")
        if self.function.returns == "void":
            self.line(f"store volatile i64 {result}, ptr @result")
            self.line("ret void")
        else:
            self.line(f"ret {self.function.returns} {self.make(self.function.returns)}")

    def jump(self, callee):
        """Leaves by a call that takes the frame's place."""
        self.function.cost += callee.cost
        self.pool.append(("i64", self.mix([self.digest(*each) for each in self.pool])))
        arguments = ", ".join(f"{kind} {attribute} {self.make(kind)}" for kind, attribute in callee.params)
        call = f"musttail call {callee.convention} {callee.returns} @{callee.name}({arguments})"
        if callee.returns == "void":
            self.line(call)
            self.line("ret void")
        else:
            self.line(f"ret {callee.returns} {self.value(call)}")
