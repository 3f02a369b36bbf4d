#include "gpuadm/facts/facts.hpp"

#include "facts/probe_text.hpp"

#include <doctest/doctest.h>

using facts::parse;

TEST_CASE("Xids and SXids are read from the log of dmesg and of journalctl") {
  const auto facts = parse(probe_text(
      {{"kernel-log",
        "[    0.000000] Linux version 6.8.0-45-generic\n"
        "[ 4400.123456] NVRM: Xid (PCI:0000:2a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off\n"
        "[ 4400.200000] node1 kernel: NVRM: Xid (PCI:0000:18:00): 45, pid=12, name=python3, Ch 00000008\n"
        "[ 4401.000000] nvidia-nvswitch3: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
        "a line without a time\n? 0"}}));
  REQUIRE(facts->kernel.log);
  CHECK(facts->kernel.log->size() == 5);
  CHECK(facts->kernel.log->back().text == "a line without a time");
  CHECK(facts->kernel.log->back().seconds == doctest::Approx(4401));
  REQUIRE(facts->nvidia.xids.size() == 2);
  CHECK(facts->nvidia.xids[0].slot == "0000:2a:00.0");
  CHECK(facts->nvidia.xids[0].code == 79);
  CHECK(facts->nvidia.xids[0].seconds == doctest::Approx(4400.123456));
  CHECK(facts->nvidia.xids[1].text == "pid=12, name=python3, Ch 00000008");
  REQUIRE(facts->nvidia.sxids.size() == 1);
  CHECK(facts->nvidia.sxids[0].slot == "0000:c3:00.0");
  CHECK(facts->nvidia.sxids[0].text.starts_with("Fatal"));
  CHECK(!parse(probe_text({}))->kernel.log);
}

TEST_CASE("an Xid of a MIG instance belongs to its GPU") {
  const auto facts =
      parse(probe_text({{"kernel-log",
                         "[ 1.0] NVRM: Xid (PCI:0000:85:00 GPU-I:06): 31, pid=12, name=python3, MMU Fault\n"
                         "[ 2.0] NVRM: Xid (PCI:0000:85:00 GPU-I:06 GPU-CI:00): 43, pid=12, name=python3, Ch "
                         "00000008\n? 0"}}));
  REQUIRE(facts->nvidia.xids.size() == 2);
  for (const facts::Xid& xid : facts->nvidia.xids) CHECK(xid.slot == "0000:85:00.0");
  CHECK(facts->nvidia.xids[0].code == 31);
  CHECK(facts->nvidia.xids[1].code == 43);
  CHECK(facts->nvidia.xids[1].text == "pid=12, name=python3, Ch 00000008");
}

TEST_CASE("lines that only look like Xids are none") {
  for (const char* line : {"[ 1.0] NVRM: Xid (PCI:0000:2a:00", "[ 1.0] NVRM: Xid (PCI:0000:2a:00): x, y",
                           "[ 1.0] NVRM: Xid (PCI:0000:2a:00): -3", "[x] NVRM: Xid (PCI:0000:2a:00): 79"})
    CHECK(parse(probe_text({{"kernel-log", line}}))->nvidia.xids.empty());
}

TEST_CASE("NVLinks are counted per GPU, and only errors above zero are kept") {
  const auto facts = parse(probe_text(
      {{"nvidia-smi", "GPU 0: NVIDIA H200 (UUID: GPU-1)\nGPU 1: NVIDIA H200 (UUID: GPU-2)\n? 0"},
       {"nvidia-smi-nvlink",
        "GPU 0: NVIDIA H200 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
        "GPU 7: NVIDIA H200 (UUID: GPU-8)\n\t Link 0: 26.562 GB/s\n? 0"},
       {"nvidia-smi-nvlink-errors",
        "GPU 0: NVIDIA H200 (UUID: GPU-1)\n\t Link 0: Replay Errors: 0\n\t Link 1: CRC Errors: 12\n\n? 0"},
       {"nvidia-smi-topology",
        "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\x1b[0m\nGPU0\t X \tNV18\t0-31\nGPU1\tNV18\t X \t0-31\n? 0"}}));
  REQUIRE(facts->nvidia.gpus.size() == 2);
  REQUIRE(facts->nvidia.gpus[0].nvlinks);
  CHECK(facts->nvidia.gpus[0].nvlinks->active == 1);
  CHECK(facts->nvidia.gpus[0].nvlinks->inactive == std::vector<std::string>{"1"});
  CHECK(facts->nvidia.gpus[0].nvlinks->errors == std::map<std::string, std::uint64_t>{{"link 1: CRC", 12}});
  CHECK(!facts->nvidia.gpus[1].nvlinks);
  CHECK(facts->nvidia.gpus[1].paths_to == std::vector<std::string>{"NV18", "X"});
}

TEST_CASE("readings have one name, whatever the driver calls them") {
  const auto facts = parse(probe_text(
      {{"nvidia-smi", "GPU 0: Tesla V100 (UUID: GPU-1)\n? 0"},
       {"nvidia-smi-xml",
        "<nvidia_smi_log><gpu><uuid>GPU-1</uuid><power_readings><power_limit>250.00 W</power_limit>"
        "<power_draw>N/A</power_draw></power_readings><clocks_throttle_reasons>"
        "<clocks_throttle_reason_hw_slowdown>Active</clocks_throttle_reason_hw_slowdown>"
        "</clocks_throttle_reasons><processes><process_info><pid>9</pid><type>C</type>"
        "<process_name>python3</process_name></process_info></processes></gpu></nvidia_smi_log>\n? 0"}}));
  REQUIRE(facts->nvidia.gpus.size() == 1);
  CHECK(facts->nvidia.gpus[0].readings ==
        std::map<std::string, std::string>{{"clocks_event_reasons/clocks_event_reason_hw_slowdown", "Active"},
                                           {"gpu_power_readings/current_power_limit", "250.00 W"}});
  REQUIRE(facts->nvidia.gpus[0].processes.size() == 1);
  CHECK(facts->nvidia.gpus[0].processes[0].name == "python3");
}
