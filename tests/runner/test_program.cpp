#include "run/program.hpp"

#include <doctest/doctest.h>

TEST_CASE("program: what the shell says of its place in a script is left out") {
  CHECK(run::without_shell_noise("/bin/sh: 512: eval: kubectl: not found") ==
        "kubectl is not installed (not in PATH)");
  CHECK(run::without_shell_noise("bash: line 3: kubectl: command not found\nsh: 7: ctr: not found\n") ==
        "kubectl is not installed (not in PATH)\nctr is not installed (not in PATH)");
  CHECK(run::without_shell_noise("/bin/sh: 4: cannot create /x: Read-only file system") ==
        "cannot create /x: Read-only file system");
  CHECK(run::without_shell_noise("Error: image not found\npush: 3 files") ==
        "Error: image not found\npush: 3 files");
}

TEST_CASE("program: the program that the shell did not find is named") {
  CHECK(run::missing_program("x\n/bin/sh: 512: eval: kubectl: not found\n") == "kubectl");
  CHECK(run::missing_program("/bin/sh: line 9: kubectl: command not found") == "kubectl");
  CHECK(run::missing_program("the image pause was not found").empty());
  CHECK(run::missing_program("/bin/sh: 4: cannot create /x: Read-only file system").empty());
}

TEST_CASE("program: results of uploads that are installed together are read between their marks") {
  const std::string out =
      "\nn-begin-1\nsaid\n\nn-end-1 101 123\n\nn-begin-2\n\nn-end-9 101 1\nn-end-2 102 5\n\nn-begin-3\n";
  const std::vector<transport::Exit> results = run::read_together(out, 4, "n");
  REQUIRE(results.size() == 4);
  CHECK(results[0].status == run::changed);
  CHECK(results[0].err == "said\n");
  CHECK(results[0].seconds == doctest::Approx(1.23));
  CHECK(results[1].status == run::apply_failed);
  CHECK(results[2].status == -1);
  CHECK(results[3].status == -1);
}
