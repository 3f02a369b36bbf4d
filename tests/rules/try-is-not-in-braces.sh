#!/usr/bin/env bash
# TRY returns from a statement expression. g++ 12 then destroys temporaries, but no members, elements or captures that were built before it,
# and frees no memory of `new`: they leak, and a Secret among them is not wiped. The values are named first.
# tests/base/test_error.cpp shows the difference under LeakSanitizer.
#
# Forbidden: TRY after a comma of braces, of the captures of a lambda, or of an aggregate in parentheses, Type(a, TRY(b)); TRY inside `new`.
# Allowed: TRY in the first element; TRY in arguments of functions, which are temporaries; TRY in the body of a lambda inside braces.
# tests/rules/try-names-a-violation.sh shows that it reports what is forbidden and nothing else.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
python3 - <<'END'
import glob, re, sys

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
  | (?P<raw>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)")
  | (?P<text>"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<other>[0-9](?:[\w.]|'(?=\w))*|::|->|.)
""", re.X | re.S | re.M)
CLOSES = {")": "(", "]": "[", "}": "{"}
BEFORE_BLOCK = {")", "]", "else", "do", "try", "const", "noexcept", "mutable", "override", "final"}


def is_type(word):
    return bool(re.match(r"[A-Z]\w*[a-z]", word))


def before(tokens, at):
    """The tokens before the bracket at `at` that name what is called or built, the last one first."""
    names = []
    depth = 0
    for token, _ in reversed(tokens[max(0, at - 60):at]):
        if token == ">":
            depth += 1
        elif token == "<" and depth > 0:
            depth -= 1
            continue
        if depth > 0:
            continue
        if not re.match(r"\w|::", token):
            break
        names.append(token)
    return names


def reads(path):
    with open(path) as file:
        text = file.read()
    tokens, line = [], 1
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip" and match.group("skip") is None:
            tokens.append((match.group(), line))
        line += match.group().count("\n")
    opener, closer, stack = {}, {}, []  # the innermost bracket of each token; the end of each bracket
    for at, (token, _) in enumerate(tokens):
        if token in CLOSES and stack and tokens[stack[-1]][0] == CLOSES[token]:
            closer[stack.pop()] = at
        opener[at] = stack[-1] if stack else None
        if token in CLOSES.values():
            stack.append(at)

    def own(start, end):
        """The tokens of a bracket that are in no inner bracket."""
        at = start + 1
        while at < end:
            yield tokens[at][0]
            at = closer.get(at, at) + 1

    found = []
    for at, (token, number) in enumerate(tokens):
        if token != "TRY" or at + 1 == len(tokens) or tokens[at + 1][0] != "(":
            continue
        inner, start = at, opener[at]
        while start is not None:
            kind, names = tokens[start][0], before(tokens, start)
            if kind == "{" and (tokens[start - 1][0] in BEFORE_BLOCK or ";" in own(start, closer.get(start, start))):
                break
            after_comma = "," in own(start, inner)
            if "new" in names:
                found.append((number, "inside new"))
                break
            if after_comma and kind in "{[":
                found.append((number, "after a comma in braces" if kind == "{" else "after a comma in captures"))
                break
            built = [name for name in names[:2] if is_type(name)] if kind == "(" else []
            if after_comma and built and tokens[start - 1][0] != "::":
                found.append((number, f"after a comma in the parentheses of {built[0]}"))
                break
            inner, start = start, opener[start]
    return [f"{path}:{number}: TRY {what}: name the value first" for number, what in found], sum(t == "TRY" for t, _ in tokens)


lines, seen = [], 0
for path in sorted(glob.glob("src/**/*.[ch]pp", recursive=True) + glob.glob("include/**/*.hpp", recursive=True) +
                   glob.glob("tests/**/*.[ch]pp", recursive=True)):
    more, count = reads(path)
    lines += more
    seen += count
print("\n".join(lines))
if seen == 0:
    print("no source uses TRY")
sys.exit(1 if lines or seen == 0 else 0)
END
