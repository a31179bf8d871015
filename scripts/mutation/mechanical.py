# SPDX-License-Identifier: GPL-2.0
"""Makes mutants from C source.

    drop        a statement, a loop or an if is left out; of an early return the call in its
                condition stays
    always      the condition of an if is true (but an early return's)
    never       that of an if that has an else is false
    relation    < and <=, > and >=, == and !=
    clause      an operand of &&, || or | is left out (which shows more than && in the place of ||)
    operand     what is right of another operator is left out
    pick        one of the two of a ?:, min() or max()
    constant    a number and one more; true and false
    return      an error is none, none is an error, a pointer is NULL, a bool is the other, or
                either

A mutant is called FUNCTION:OPERATOR:STATEMENT, and #2 if there is another: not by its file and
line, so that what is known of it stays when the function moves.

This is no parser of C. It knows functions, blocks and statements as the kernel's style has them,
and leaves alone what it does not know.
"""
import hashlib
import re

# calls that no test should miss: what debugs, traces and counts
SKIP = (r"trace_\w+|lockdep_\w+|WARN\w*|BUILD_BUG_ON\w*|static_assert|VM_WARN\w*|might_\w+|"
        r"prefetchw?|pr_\w+|cond_resched|kvnet_stats?_\w+|kvnet_vq_assert_session|count_\w+|"
        r"KVNET_STATS_ENABLED|kvnet_hist_\w+|dev_sw_netstats_\w+|cpu_relax|barrier|sizeof|"
        # and locks: one that is never given back only hangs; those are made by hand
        r"\w*_?(un)?lock(_\w+)?|\w+_(un)?lock_\w+|guard|scoped_guard|local_bh_\w+|preempt_\w+|"
        r"(__)?set_current_state|u64_stats_\w+|__acquire|__release")
# files that have no code of their own
NO_CODE = {"trace.h"}

TOKEN = re.compile(r"""(?P<no>^[ \t]*\#(?:\\\n|[^\n])*|\s+|/\*.*?\*/|//[^\n]*)|
    "(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d\w*|
    \.\.\.|->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||.""", re.S | re.M | re.X)
WORD = re.compile(r"[A-Za-z_]\w*$")
SKIPPED = re.compile(rf"({SKIP})$")
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
RELATION = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
STOPS = ASSIGN | {",", ";", "?", ":", "return"}
# how strong operators are; those of RELATION are changed, and only end what is beside them
LEVEL = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7,
         ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
# what a binary operator stands behind, in the kernel's style with no cast
BEHIND = re.compile(r"[\w)\]]$")
LEAVES = {"return", "goto", "break", "continue"}
TYPES = {"struct", "union", "enum", "const", "static", "unsigned", "signed", "int", "long", "char",
         "bool", "void", "short"}
NUMBERS = {"int", "long", "unsigned", "u8", "u16", "u32", "u64", "s32", "s64", "size_t", "ssize_t",
           "ktime_t", "__poll_t"}


class Token:
    def __init__(self, text, start):
        self.text, self.start, self.end = text, start, start + len(text)


def tokens(text):
    return [Token(m.group(), m.start()) for m in TOKEN.finditer(text) if m["no"] is None]


def normal(words):
    """As they are compared: without spaces but between words."""
    out = ""
    for word in words:
        word = re.sub(r"\s+", ".", word)
        out += ("." if out and re.match(r"\w", word) and re.match(r"\w", out[-1]) else "") + word
    return out


class Mutant:
    """The text between start and end becomes new."""
    def __init__(self, function, operator, statement, start, end, new):
        if len(statement) > 90:
            statement = statement[:80] + "~" + hashlib.sha1(statement.encode()).hexdigest()[:8]
        self.function, self.operator = function, operator
        self.name = f"{function}:{operator}:{statement}"
        self.start, self.end, self.new = start, end, new


class Function:
    def __init__(self, name, kind, toks, first, last):
        self.name, self.kind = name, kind
        self.toks, self.first, self.last = toks, first, last
        self.start, self.end = toks[first].start, toks[last].end
        self.mutants = []

    def at(self, i):
        return self.toks[i].text

    def text(self, first, end):
        return normal(t.text for t in self.toks[first:end])

    def note(self, operator, statement, first, end, new):
        self.mutants.append(Mutant(self.name, operator, statement, self.toks[first].start,
                                   self.toks[end - 1].end, new))

    def match(self, i):
        """Of an opening bracket the closing one."""
        depth = 0
        while True:
            depth += (self.at(i) in OPEN) - (self.at(i) in CLOSE)
            if not depth:
                return i
            i += 1

    def until(self, i, words):
        """The first of these words that is in no brackets, or the bracket that ends it."""
        while self.at(i) not in words and self.at(i) not in CLOSE:
            i = self.match(i) + 1 if self.at(i) in OPEN else i + 1
        return i

    def since(self, i, words):
        """Backwards: behind the last of these words."""
        depth = 0
        while True:
            i -= 1
            depth += (self.at(i) in CLOSE) - (self.at(i) in OPEN)
            if depth < 0 or (not depth and self.at(i) in words):
                return i + 1

    def source(self, first, end):
        return self.whole[self.toks[first].start:self.toks[end - 1].end]

    def make(self, text):
        self.whole = text
        body = next(i for i in range(self.first, self.last)
                    if self.at(i) == "{" and self.match(i) == self.last)
        self.statement(body)
        return self.mutants

    def statement(self, i):
        """Makes those of the statement that begins here; says where the next does."""
        word, following = self.at(i), self.at(i + 1) if i < self.last else ""
        if word == "{":
            i += 1
            while self.at(i) != "}":
                i = self.statement(i)
            return i + 1
        if word == ";":
            return i + 1
        if word == "if":
            return self.condition(i)
        if word in ("while", "for", "switch"):
            close = self.match(i + 1)
            head = self.text(i, close + 1)
            self.expressions(i + 2, close, head)
            end = self.statement(close + 1)
            if word != "switch":
                self.note("drop", head, i, end, ";")
            return end
        if word == "do":
            i = self.statement(i + 1)
            end = self.until(i, {";"})
            self.expressions(i, end, self.text(i, end))
            return end + 1
        if word in ("case", "default"):
            return self.until(i, {":"}) + 1
        if WORD.match(word) and following == ":":
            return i + 2
        if WORD.match(word) and following == "(" and word != "return":
            close = self.match(i + 1)
            # a macro that is a loop
            if self.at(close + 1) == "{" or WORD.match(self.at(close + 1)):
                end = self.statement(close + 1)
                if not SKIPPED.match(word):
                    self.note("drop", self.text(i, close + 1), i, end, ";")
                return end
        end = self.until(i, {";"})
        if word == "return":
            self.returned(i, end)
        elif word not in LEAVES:
            self.simple(i, end)
        return end + 1

    def condition(self, i):
        close = self.match(i + 1)
        head = self.text(i, close + 1)
        self.expressions(i + 2, close, head)
        end = self.statement(close + 1)
        if self.at(end) == "else":
            self.note("always", head, i + 1, close + 1, "(1)")
            self.note("never", head, i + 1, close + 1, "(0)")
            return self.statement(end + 1)
        if self.at(close + 1) in LEAVES:
            calls = "(" in self.text(i + 2, close)
            new = f"(void){self.source(i + 1, close + 1)};" if calls else ";"
            self.note("drop", self.text(i, end), i, end, new)
        elif not SKIPPED.match(self.at(close + 1)) or self.until(close + 1, {";"}) != end - 1:
            self.note("always", head, i + 1, close + 1, "(1)")
            self.note("drop", head, i, end, ";")
        return end

    def declares(self, i):
        name = i + 1
        while self.at(name) == "*":
            name += 1
        return self.at(i) in TYPES or (WORD.match(self.at(i)) and WORD.match(self.at(name)))

    def simple(self, i, end):
        if SKIPPED.match(self.at(i)) and self.at(i + 1) == "(":
            return
        whole = self.text(i, end)
        if self.declares(i):
            value = self.until(i, {"=", ";"})
            if self.at(i) != "static" and value < end:
                self.expressions(value + 1, end, whole)
            return
        self.note("drop", whole, i, end, "")
        self.expressions(i, end, whole)

    def returned(self, i, end):
        value, whole, new = self.text(i + 1, end), self.text(i, end), []
        called = f"(void)({self.source(i + 1, end)}), " if "(" in value else ""
        if self.kind == "pointer":
            new = ["NULL"]
        elif self.kind == "bool":
            new = ["false", "true"]
        elif self.kind == "number" and value:
            new = ["-EINVAL" if value == "0" else "0"]
        for word in new:
            if word != value:
                self.note("return", whole, i, end, f"return {called}{word}")
        if value not in ("0", "true", "false"):
            self.expressions(i + 1, end, whole)

    def expressions(self, first, end, whole):
        i = first
        while i < end:
            word = self.at(i)
            if SKIPPED.match(word) and self.at(i + 1) == "(":
                i = self.match(i + 1)
            elif word in RELATION:
                self.note("relation", whole, i, i + 1, RELATION[word])
            elif word in LEVEL and i > first and BEHIND.search(self.at(i - 1)):
                self.operand(i, end, whole)
            elif word in ("min", "max", "min_t", "max_t") and self.at(i + 1) == "(":
                self.lesser(i, whole)
            elif word == "?":
                self.pick(i, end, whole)
            elif re.match(r"\d+$", word) and not {self.at(i - 1), self.at(i + 1)} & RELATION.keys():
                self.note("constant", whole, i, i + 1, str(int(word) + 1))
            elif word in ("true", "false"):
                self.note("constant", whole, i, i + 1, "false" if word == "true" else "true")
            i += 1

    def operand(self, i, end, whole):
        """Without what is right of this operator, and without what is left of a logical one."""
        level = LEVEL[self.at(i)]
        weaker = STOPS | {word for word, other in LEVEL.items() if other < level}
        equal = {word for word, other in LEVEL.items() if other == level}
        right = min(self.until(i + 1, weaker | equal), end)
        left = self.since(i, weaker | {self.at(i)})
        logical = self.at(i) in ("&&", "||", "|")
        operator = "clause" if logical else "operand"
        self.note(operator, whole, i, right, "")
        if logical and self.at(left - 1) != self.at(i):
            self.note(operator, whole, left, i + 1, "")

    def lesser(self, i, whole):
        """One of the two that min() and its kin have."""
        close = self.match(i + 1)
        first = self.until(i + 2, {","}) + 1 if self.at(i).endswith("_t") else i + 2
        middle = self.until(first, {","})
        self.note("pick", whole, i, close + 1, self.source(first, middle))
        self.note("pick", whole, i, close + 1, self.source(middle + 1, close))

    def pick(self, i, end, whole):
        left = self.since(i, STOPS)
        middle = i + 1
        while self.at(middle) != ":":
            middle = self.until(middle, {"?", ":"})
            if self.at(middle) == "?":
                return
        right = min(self.until(middle + 1, {",", ";", ":"}), end)
        first = (i + 1, middle) if middle > i + 1 else (left, i)
        self.note("pick", whole, left, right, self.source(*first))
        self.note("pick", whole, left, right, self.source(middle + 1, right))


def kind_of(words):
    if "*" in words:
        return "pointer"
    if "bool" in words:
        return "bool"
    return "number" if NUMBERS & set(words) else None


def functions(text):
    """The functions that are defined in it."""
    toks, found = tokens(text), []
    depth, begin, i = 0, 0, 0
    whole = Function("", None, toks, 0, len(toks) - 1) if toks else None
    while i < len(toks):
        word = toks[i].text
        if word == "{" and not depth:
            end = whole.match(i)
            name = begin
            # its name is before the last bracket that is of no attribute
            for at in range(begin, i):
                if toks[at + 1].text == "(" and WORD.match(toks[at].text) and \
                        not toks[at].text.startswith("__"):
                    name = at
                    break
            before = [t.text for t in toks[begin:name]]
            if toks[i - 1].text == ")" and name > begin and "=" not in before:
                found.append(Function(toks[name].text, kind_of(before), toks, begin, end))
            i = end
            if end + 1 >= len(toks) or toks[end + 1].text != ";":
                begin = end + 1
        else:
            depth += (word in OPEN) - (word in CLOSE)
            if word == ";" and not depth:
                begin = i + 1
        i += 1
    return found


def generate(text, found=None):
    """All of a file's, each with a name of its own."""
    mutants, seen = [], {}
    for function in functions(text) if found is None else found:
        for m in function.make(text):
            seen[m.name] = seen.get(m.name, 0) + 1
            if seen[m.name] > 1:
                m.name += f"#{seen[m.name]}"
            mutants.append(m)
    return mutants
