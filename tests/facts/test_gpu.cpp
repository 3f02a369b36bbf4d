#include "gpuadm/facts/facts.hpp"

#include "facts/probe_text.hpp"
#include "facts/text/words.hpp"
#include "facts/text/xml.hpp"

#include <doctest/doctest.h>

using facts::parse;

TEST_CASE("GPUs are NVIDIA devices of class 0300 and 0302, not bridges and sound") {
  const auto facts = parse(probe_text(
      {{"pci",
        "0000:01:00.0 class=030000 vendor=10de device=2684 subsystem=10de:165b driver=nouveau numa=0\n"
        "0000:01:00.1 class=040300 vendor=10de device=22BA subsystem=10de:165b driver=snd_hda_intel numa=0\n"
        "0000:03:00.0 class=068000 vendor=10de device=22a3 subsystem=10de:1796 driver= numa=0\n"
        "0000:41:00.0 class=030200 vendor=10de device=20B2 subsystem=10de:1463 driver= numa=1"}}));
  REQUIRE(facts->nvidia.pci_gpus.size() == 2);
  CHECK(facts->nvidia.pci_gpus[0].driver == "nouveau");
  CHECK(facts->nvidia.pci_gpus[1].device_id == "20b2");
}

TEST_CASE("a proprietary module is distinguished from an open one, with and without sysfs") {
  const auto read = [](std::string_view line) {
    return parse(probe_text({{"/proc/driver/nvidia/version", line}}))->nvidia.driver;
  };
  const auto closed =
      read("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024");
  CHECK(closed->version == "535.183.01");
  CHECK(closed->open_modules == false);
  const auto open =
      read("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build");
  CHECK(open->version == "580.159.04");
  CHECK(open->open_modules == true);
}

TEST_CASE("a hung or failing nvidia-smi is a fact with its status and words") {
  const auto facts = parse(probe_text(
      {{"nvidia-smi",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n? 18"}}));
  CHECK(facts->nvidia.smi_status == 18);
  CHECK(facts->nvidia.smi_message == "Failed to initialize NVML: Driver/library version mismatch");
  CHECK(facts->nvidia.gpus.empty());
  CHECK(parse(probe_text({{"nvidia-smi", "? 124"}}))->nvidia.smi_status == 124);
}

TEST_CASE("missing values of nvidia-smi are not set") {
  for (const char* none : {"[N/A]", "N/A", "[Not Supported]", "Not Supported", "[Unknown Error]", "",
                           "[Insufficient Permissions]", "Requested functionality has been deprecated"})
    CHECK(!facts::known(none));
  CHECK(facts::known(" 0 ") == "0");
  const auto facts =
      parse(probe_text({{"nvidia-smi", "GPU 0: NVIDIA GB10 (UUID: GPU-1)\n? 0"},
                        {"nvidia-smi-xml",
                         "<nvidia_smi_log><gpu "
                         "id=\"0\"><uuid>GPU-1</uuid><fb_memory_usage><total>N/A</total></fb_memory_usage>"
                         "<persistence_mode>Enabled</persistence_mode></gpu></nvidia_smi_log>\n? 0"},
                        {"nvidia-smi-fields", "index, uuid, compute_cap\n0, GPU-1, [N/A]\n? 0"}}));
  REQUIRE(facts->nvidia.gpus.size() == 1);
  CHECK(!facts->nvidia.gpus[0].memory_mib);
  CHECK(!facts->nvidia.gpus[0].compute_capability);
  CHECK(facts->nvidia.gpus[0].persistence == "Enabled");
}

TEST_CASE("lines of MIG devices are not GPUs") {
  const auto facts = parse(probe_text(
      {{"nvidia-smi", "GPU 0: NVIDIA A100 (UUID: GPU-1)\n  MIG 1g.5gb     Device  0: (UUID: MIG-2)\n? 0"}}));
  CHECK(facts->nvidia.gpus.size() == 1);
  REQUIRE(facts->nvidia.gpus[0].instances.size() == 1);
  CHECK(facts->nvidia.gpus[0].instances[0].uuid == "MIG-2");
  CHECK(!facts->nvidia.gpus[0].instances[0].total_mib);
}

TEST_CASE("instances of MIG have the memory that the XML names for them") {
  const auto facts = parse(probe_text(
      {{"nvidia-smi",
        "GPU 0: NVIDIA A100 (UUID: GPU-1)\n  MIG 1g.5gb     Device  0: (UUID: MIG-2)\n"
        "  MIG 2g.10gb     Device  1: (UUID: MIG-3)\n? 0"},
       {"nvidia-smi-xml",
        "<nvidia_smi_log><gpu id=\"0\"><uuid>GPU-1</uuid><mig_devices><mig_device><index>1</index>"
        "<fb_memory_usage><total>9984 MiB</total><used>12 MiB</used></fb_memory_usage></mig_device>"
        "<mig_device><index>0</index><fb_memory_usage><total>N/A</total></fb_memory_usage></mig_device>"
        "</mig_devices><fb_memory_usage><total>40960 MiB</total></fb_memory_usage></gpu></nvidia_smi_log>\n? "
        "0"}}));
  const auto& gpu = facts->nvidia.gpus.at(0);
  REQUIRE(gpu.instances.size() == 2);
  CHECK(gpu.mig_devices == 2);
  CHECK(gpu.instances[1].total_mib == 9984);
  CHECK(gpu.instances[1].used_mib == 12);
  CHECK(!gpu.instances[0].total_mib);
  CHECK(gpu.memory_mib == 40960);
}

TEST_CASE("the library in force is the one that fits the loaded module, else the newest") {
  const auto library = [](std::string_view paths) {
    return parse(probe_text({{"/sys/module/nvidia/version", "550.54.15"}, {"gpu-libraries", paths}}))
        ->nvidia.driver->library;
  };
  CHECK(library("/a/libnvidia-ml.so.1\n/a/libnvidia-ml.so.580.65.06\n/b/libnvidia-ml.so.550.54.15") ==
        "550.54.15");
  CHECK(library("/a/libnvidia-ml.so.535.183.01\n/b/libnvidia-ml.so.580.65.06") == "580.65.06");
  CHECK(!library("/a/libnvidia-ml.so.1"));
}

TEST_CASE("XML that is truncated, mismatched or too deeply nested is rejected") {
  CHECK(facts::read_xml("<a><b>1 &amp; 2</b><c/></a>")->at({"b"}) == "1 & 2");
  for (const char* bad : {"", "<a>", "<a></b>", "</a>", "<a", "<a></a><b></b>", "text"})
    CHECK(!facts::read_xml(bad));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  CHECK(!facts::read_xml(deep));
}

TEST_CASE("the driver root is the first that has both nvidia-smi and the library") {
  const auto facts = parse(probe_text({{"driver-roots",
                                        "/ - usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1\n"
                                        "/usr/local/nvidia bin/nvidia-smi lib64/libnvidia-ml.so.1\n"
                                        "/usr/local/nvidia bin/nvidia-smi lib64/libnvidia-ml.so.1\n"
                                        "damaged line"}}));
  REQUIRE(facts->nvidia.driver_roots);
  CHECK(facts->nvidia.driver_roots->size() == 2);
  const facts::DriverRoot* root = driver_root_of(facts->nvidia);
  REQUIRE(root);
  CHECK(root->path == "/usr/local/nvidia");
  CHECK(root->smi == "bin/nvidia-smi");
  CHECK(!parse(probe_text({{"pci", ""}}))->nvidia.driver_roots);
}

TEST_CASE("a GPU may have no name") {
  for (const char* line : {"GPU 3: (UUID: GPU-1)", "GPU 3:  (UUID: GPU-1)"}) {
    const auto facts = parse(probe_text({{"nvidia-smi", std::string(line) + "\n? 0"}}));
    REQUIRE(facts->nvidia.gpus.size() == 1);
    CHECK(facts->nvidia.gpus[0].index == 3);
    CHECK(facts->nvidia.gpus[0].name.empty());
    CHECK(facts->nvidia.gpus[0].uuid == "GPU-1");
  }
}

TEST_CASE("a line of the list of quarantine has a valid UUID, a slot and a time") {
  const std::string uuid = "GPU-00112233-4455-6677-8899-aabbccddee00";
  const auto entry =
      facts::quarantined_in(uuid + " 0000:00:06.0 2026-11-27T02:00:00Z  Xid 79,  ticket 4711 ");
  REQUIRE(entry);
  CHECK(entry->uuid == uuid);
  CHECK(entry->slot == "0000:00:06.0");
  CHECK(entry->since == "2026-11-27T02:00:00Z");
  CHECK(entry->reason == "Xid 79, ticket 4711");
  CHECK(!entry->by_taint);
  CHECK(facts::quarantined_in(uuid + " 0000:00:06.0 2026-11-27T02:00:00Z"));
  const auto tainted =
      facts::quarantined_in(uuid + " 0000:00:06.0 2026-11-27T02:00:00Z (DeviceTaintRule) Xid 79");
  REQUIRE(tainted);
  CHECK(tainted->by_taint);
  CHECK(tainted->reason == "Xid 79");
  CHECK(facts::taint_rule_of(uuid) == "gpuadm-quarantine-00112233-4455-6677-8899-aabbccddee00");
  for (const std::string& line : {std::string(), std::string("# comment"), uuid, uuid + " 0000:00:06.0",
                                  "MIG" + uuid.substr(3) + " 0000:00:06.0 -", uuid + "0 0000:00:06.0 -",
                                  uuid.substr(0, 39) + "$ 0000:00:06.0 -"})
    CHECK_MESSAGE(!facts::quarantined_in(line), line);
}
