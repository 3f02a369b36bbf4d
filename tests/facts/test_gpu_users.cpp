#include "gpuadm/facts/gpu_users.hpp"

#include <doctest/doctest.h>

using facts::parse_gpu_users;

namespace {
const std::string users_uid = "5c1a7a2e-93f4-4a53-8d1e-0a6f1c1b2d3e";
}  // namespace

TEST_CASE("pods and programs of one GPU are read, with the pod of each program") {
  const auto users =
      parse_gpu_users("gpuadm-gpu-users 1\n=== pods\n" + users_uid +
                      "\n=== programs\n4711\tpython3\t0::/kubepods.slice/kubepods-pod" + users_uid +
                      "/0a1b\n12\tnvidia-persiste\t0::/system.slice/nvidia-persistenced.service\n"
                      "x\tbad\t\n13\n=== end\n");
  REQUIRE(users);
  REQUIRE(users->pods);
  CHECK(*users->pods == std::vector<std::string>{users_uid});
  REQUIRE(users->programs.size() == 2);
  CHECK(users->programs[0].pid == 4711);
  CHECK(users->programs[0].name == "python3");
  CHECK(users->programs[0].pod_uid == users_uid);
  CHECK(users->programs[1].pod_uid.empty());
  CHECK(users->programs[0].service.empty());
  CHECK(users->programs[1].service == "nvidia-persistenced.service");
  CHECK_FALSE(users->all_programs);  // of the lines that are damaged
}

TEST_CASE("a user's control group is neither a pod nor a service of the system, whatever it is called") {
  const std::string theirs = "0::/user.slice/user-1000.slice/user@1000.service/";
  const auto users = parse_gpu_users(
      "gpuadm-gpu-users 1\n=== pods\n=== programs\n1\ta\t" + theirs + "kubepods-pod" + users_uid +
      ".slice\n2\tb\t" + theirs + "system.slice/nvidia-persistenced.service\n3\tc\t0::/kubepods.slice/" +
      "kubepods-pod" + users_uid + ".slice/a.scope/user.slice/system.slice/nvsm.service\n=== end\n");
  REQUIRE(users);
  REQUIRE(users->programs.size() == 3);
  CHECK(users->programs[0].pod_uid.empty());
  CHECK(users->programs[1].service.empty());
  CHECK(users->programs[2].pod_uid == users_uid);
  CHECK(users->programs[2].service.empty());
  CHECK(users->all_programs);
}

TEST_CASE("programs that could not be listed are unknown, and not none") {
  const auto users =
      parse_gpu_users("gpuadm-gpu-users 1\n=== pods\n=== programs\n1\ta\t0::/\nunknown\n=== end\n");
  REQUIRE(users);
  CHECK(users->programs.size() == 1);
  CHECK_FALSE(users->all_programs);
}

TEST_CASE("pods that the kubelet does not name are unknown, and not none") {
  const auto users = parse_gpu_users("gpuadm-gpu-users 1\n=== pods\nunknown\n=== programs\n=== end\n");
  REQUIRE(users);
  CHECK(!users->pods);
  CHECK(users->programs.empty());
}

TEST_CASE("what is incomplete or something else is refused, and a UID has the form of one") {
  for (const char* text : {"", "bash: syntax error", "=== pods\n=== end\n", "gpuadm-gpu-users 1\n=== pods\n"})
    CHECK(!parse_gpu_users(text));
  const auto users =
      parse_gpu_users("gpuadm-gpu-users 1\n=== pods\n$(reboot)\nABC\n=== programs\n1\t\x1b[2J\t\n=== end\n");
  REQUIRE(users);
  CHECK(users->pods->empty());
  REQUIRE(users->programs.size() == 1);
  CHECK(users->programs[0].name.find('\x1b') == std::string::npos);
}

TEST_CASE("the utilization of programs is that of nvidia-smi pmon, whatever columns it has") {
  const auto programs = facts::parse_process_utilization(
      "# gpu        pid  type    sm   mem   enc   dec   command\n"
      "# Idx          #   C/G     %     %     %     %   name\n"
      "    0      12345     C    97    40     -     -   python\n"
      "    0      12346     C     -     -     -     -   a b c\n"
      "    1      12347     C     -     -     -     -   python\n"
      "    2          -     -     -     -     -     -   -\n"
      "    0      12349     C   N/A     -     -     -   python\n"
      "    x      12348     C     1     1     -     -   python\n");
  REQUIRE(programs.size() == 2);  // of GPU 1 nothing is measured
  CHECK(programs[0].pid == "12345");
  CHECK(programs[0].utilization == doctest::Approx(0.97));
  CHECK(programs[1].utilization == 0);
  const auto newer = facts::parse_process_utilization(
      "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command \n"
      "# Idx           #    C/G      %      %      %      %      %      %    name \n"
      "    0       5000     C     3      0      -      -      -      -    x\n");
  REQUIRE(newer.size() == 1);
  CHECK(newer[0].utilization == doctest::Approx(0.03));
  CHECK(facts::parse_process_utilization("").empty());
  CHECK(facts::parse_process_utilization("0 1 C 50\n").empty());
}
