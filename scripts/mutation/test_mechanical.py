# SPDX-License-Identifier: GPL-2.0
"""Tests of mechanical.py."""
import unittest

from . import mechanical

WHOLE = """
#define TWICE(x) do { \\
	(x)++; \\
} while (0)

struct queue { int n; };
static const struct ops ops = { .run = run, };

/* if (this) were code */
static int __must_check serve(struct queue *q, u32 len)
	__must_hold(&q->lock)
{
BODY
}

DEFINE_LIST(x);
"""


def body(text, kind="static int"):
    return WHOLE.replace("static int", kind).replace("BODY", text)


def made(text, kind="static int"):
    """Operators, and what the function then is, without spaces; each is a change."""
    whole, found = body(text, kind), []
    for m in mechanical.generate(whole):
        new = whole[:m.start] + m.new + whole[m.end:]
        function = mechanical.functions(new)[0]
        words = (t.text for t in function.toks[function.first:function.last + 1])
        found.append((m.operator, mechanical.normal(words)))
    return [(operator, new[new.index(")", new.index("__must_hold")) + 2:-1])
            for operator, new in found]


def of_operator(operator, text, kind="static int"):
    return [m for m in made(text, kind) if m[0] == operator]


class Operators(unittest.TestCase):
    def test_statement(self):
        self.assertEqual(made("q->n++;"), [("drop", ";")])
        self.assertEqual(made("smp_wmb();\nput(q);"),
                         [("drop", ";put(q);"), ("drop", "smp_wmb();;")])

    def test_what_no_test_notices_stays(self):
        for text in ("trace_serve(q, 1);", "lockdep_assert_held(&q->lock);", "spin_lock(&q->lock);",
                     "mutex_unlock(&q->lock);", "kvnet_stats_inc(&q->stats, 2);", "int n;",
                     "struct queue *other;", "WARN_ON_ONCE(len > 3);",
                     "u32 n = sizeof(q->name[0]);"):
            self.assertEqual(made(text), [], text)

    def test_declaration_stays_but_not_its_value(self):
        self.assertEqual(made("u32 n = len + 1;"),
                         [("operand", "u32.n=len;"), ("constant", "u32.n=len+2;")])

    def test_early_return(self):
        self.assertEqual(made("if (len)\n\treturn;"), [("drop", ";")])
        self.assertEqual(made("if (take(q))\n\treturn;"), [("drop", "(void)(take(q));")])

    def test_guard(self):
        self.assertEqual(made("if (len)\n\tput(q);"),
                         [("drop", "if(len);"), ("always", "if(1)put(q);"), ("drop", ";")])
        self.assertEqual(made("if (len)\n\tput(q);\nelse\n\tget(q);"),
                         [("drop", "if(len);else.get(q);"), ("always", "if(1)put(q);else.get(q);"),
                          ("never", "if(0)put(q);else.get(q);"),
                          ("drop", "if(len)put(q);else;")])

    def test_relation_and_clauses(self):
        self.assertEqual(made("while (a < b && (c || d == 0))\n\t;"),
                         [("relation", "while(a<=b&&(c||d==0));"), ("clause", "while(a<b);"),
                          ("clause", "while((c||d==0));"), ("clause", "while(a<b&&(c));"),
                          ("clause", "while(a<b&&(d==0));"), ("relation", "while(a<b&&(c||d!=0));"),
                          ("drop", ";")])

    def test_operands(self):
        self.assertEqual(of_operator("operand", "n = a + b * 3 & ~MASK;"),
                         [("operand", "n=a&~MASK;"), ("operand", "n=a+b&~MASK;"),
                          ("operand", "n=a+b*3;")])
        self.assertEqual(of_operator("operand", "n = -a;\nf(&n, *b);"), [])

    def test_pick(self):
        self.assertEqual(of_operator("pick", "n = len ? a : b;"),
                         [("pick", "n=a;"), ("pick", "n=b;")])
        self.assertEqual(of_operator("pick", "n = min_t(u32, a, f(b, c));"),
                         [("pick", "n=a;"), ("pick", "n=f(b,c);")])

    def test_constants(self):
        self.assertEqual(of_operator("constant", "n = 3;\nok = true;"),
                         [("constant", "n=4;ok=true;"), ("constant", "n=3;ok=false;")])

    def test_return(self):
        self.assertEqual(made("return 0;"), [("return", "return-EINVAL;")])
        self.assertEqual(made("return -EIO;"), [("return", "return.0;")])
        self.assertEqual(made("return f(q);"), [("return", "return(void)(f(q)),0;")])
        self.assertEqual(made("return q;", "static void *"), [("return", "return.NULL;")])
        self.assertEqual(made("return len;", "static bool"),
                         [("return", "return.false;"), ("return", "return.true;")])
        self.assertEqual(made("return true;", "static bool"), [("return", "return.false;")])
        self.assertEqual(made("return;", "static void"), [])

    def test_loop_of_a_macro(self):
        self.assertEqual(made("for_each(q) {\n\tput(q);\n}\nguard(mutex)(&q->lock);"),
                         [("drop", "for_each(q){;}guard(mutex)(&q->lock);"),
                          ("drop", ";guard(mutex)(&q->lock);")])


class Names(unittest.TestCase):
    @staticmethod
    def names(text):
        return [m.name for m in mechanical.generate(text)]

    def test_name(self):
        self.assertEqual(self.names(body("if (len)\n\treturn -EIO;")),
                         ["serve:return:return-EIO", "serve:drop:if(len)return-EIO;"])

    def test_the_same_again_has_a_number(self):
        self.assertEqual(self.names(body("put(q);\nput(q);")),
                         ["serve:drop:put(q)", "serve:drop:put(q)#2"])

    def test_neither_place_nor_layout_matters(self):
        text = "if (len < 2) {\n\tput(q);\n\treturn f(q, \"a b\");\n}"
        other = "int other(void)\n{\n\treturn 0;\n}\n"
        other += body("/* why */\n\n" + text.replace("\n\t", "  "))
        self.assertEqual([name for name in self.names(other) if name.startswith("serve")],
                         self.names(body(text)))

    def test_names_are_one_word_each(self):
        long = " + ".join(f"long_name_{i}" for i in range(20))
        names = self.names(body(f"f(\"a b\tc\", 'x');\nn = a + {long};"))
        self.assertTrue(all(not set(" \t\n") & set(name) and len(name) < 130 for name in names))
        self.assertEqual(len(set(names)), len(names))


if __name__ == "__main__":
    unittest.main()
