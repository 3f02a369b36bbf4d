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
