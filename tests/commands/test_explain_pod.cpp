#include "commands/inspect/explain_pod.hpp"

#include <doctest/doctest.h>

TEST_CASE("the last lines of a pod that is deleted are kept, below their container") {
  kube::PodExplanation explanation;
  CHECK(commands::last_lines(explanation, 2).empty());
  explanation.logs.push_back({"notebook", true, false, {"one", "two", "\x1b[31mthree"}});
  CHECK(commands::last_lines(explanation, 2) ==
        "last log lines of container notebook before its restart:\n    two\n    \\x1b[31mthree");
}
