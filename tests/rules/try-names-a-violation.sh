#!/usr/bin/env bash
# tests/rules/try-is-not-in-braces.sh reports what is forbidden and nothing else.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{src,include,tests}
cat >"$tree/src/good.cpp" <<'END'
// A{a, TRY(b)} in a comment, and in texts: "A{a, TRY(b)}", R"(A{a, TRY(b)})", '{', ','
Result<A> first() { return A{TRY(b()), c}; }
Result<A> argument() { return f(a, TRY(b())); }
Result<A> inner_comma() { return A{TRY(b(c, d))}; }
Result<A> lambda() { return A{a, [&]() -> Result<B> { return TRY(b()); }}; }
Result<A> in_a_body() { run(a, [&](int, int) { const A x = TRY(b()); return x; }); }
Result<A> statement() { if (c) { const int a = 1, b = TRY(d()); } }
Result<A> loop() { for (const A& a : TRY(b())) use(a, {c, d}); }
Result<A> first_of_inner() { return f(a, {TRY(b()), c}); }
Result<A> made() { return std::make_unique<A>(a, TRY(b())); }
Result<A> digits() { return A{1'000'000 + TRY(b())}; }
#define OTHER(a) A{a, TRY(b)}
END
said=$("$top/tests/rules/try-is-not-in-braces.sh" "$tree") || { echo "$said" && exit 1; }

cat >"$tree/src/bad.cpp" <<'END'
Result<A> later() { return A{a, TRY(b())}; }
Result<A> designated() { A x{.a = a(), .b = TRY(b())}; }
Result<A> two() {
  return A{TRY(a()),
           TRY(b())};
}
Result<A> nested() { return A{a, {TRY(b()), c}}; }
Result<A> call_inside() { return A{a, f(TRY(b()))}; }
Result<A> pushed() { list.push_back({a, TRY(b())}); }
Result<A> captured() { return [a = a(), b = TRY(b())] { return a; }; }
Result<A> allocated() { return new A(TRY(b())); }
Result<A> template_allocated() { return std::unique_ptr<A>(new std::pair<A, B>{TRY(b())}); }
Result<A> parentheses() { return Aggregate(a, TRY(b())); }
Result<A> declared() { Aggregate x(a, TRY(b())); }
Result<A> in_a_lambda() { run([&] { return A{a, TRY(b())}; }); }
END
said=$("$top/tests/rules/try-is-not-in-braces.sh" "$tree") && { echo "violations passed"; exit 1; }
diff - <(echo "$said") <<'END'
src/bad.cpp:1: TRY after a comma in braces: name the value first
src/bad.cpp:2: TRY after a comma in braces: name the value first
src/bad.cpp:5: TRY after a comma in braces: name the value first
src/bad.cpp:7: TRY after a comma in braces: name the value first
src/bad.cpp:8: TRY after a comma in braces: name the value first
src/bad.cpp:9: TRY after a comma in braces: name the value first
src/bad.cpp:10: TRY after a comma in captures: name the value first
src/bad.cpp:11: TRY inside new: name the value first
src/bad.cpp:12: TRY inside new: name the value first
src/bad.cpp:13: TRY after a comma in the parentheses of Aggregate: name the value first
src/bad.cpp:14: TRY after a comma in the parentheses of Aggregate: name the value first
src/bad.cpp:15: TRY after a comma in braces: name the value first
END
