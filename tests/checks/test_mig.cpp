#include "gpuadm/base/text.hpp"

#include "case_text.hpp"
#include "checks/gpu/mig.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace {}  // namespace

// tests/cases/mig/<PCI device>/: what nvidia-smi mig -lgip and -lgipp say on such a GPU.
TEST_CASE("MIG: the table is what real GPUs say of themselves") {
  const auto data = repository_data();
  int profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUADM_TESTS_DIR "/cases/mig")) {
    const checks::MigGpu& gpu = data->migs.at(entry.path().filename());
    std::map<std::string, std::string> places;  // profile's number -> "{0,4}:4"
    const std::string placements = case_text(entry.path() / "lgipp.txt");
    for (const std::string_view line : base::lines(placements)) {
      const auto words = base::words(line);
      places[std::string(words.at(4))] = words.back();
    }
    const std::string listed = case_text(entry.path() / "lgip.txt");
    std::size_t here = 0;
    for (const std::string_view line : base::lines(listed)) {
      const auto words = base::words(line);
      if (words.size() < 6 || words[2] != "MIG") continue;
      CAPTURE(line);
      const checks::MigProfile& profile = gpu.profiles.at(std::string(words[3]));
      CHECK(words[5] == std::to_string(profile.most) + "/" + std::to_string(profile.most));
      std::vector<std::string> starts;
      for (const int place : profile.places) starts.push_back(std::to_string(place));
      CHECK(places.at(std::string(words[4])) ==
            "{" + base::join(starts, ",") + "}:" + std::to_string(profile.memory));
      ++here;
    }
    CHECK(here == gpu.profiles.size());
    profiles += static_cast<int>(here);
  }
  CHECK(profiles >= 7);
}

TEST_CASE("MIG: every profile fits its GPU as often as its row says, and not once more") {
  const auto data = repository_data();
  CHECK(data->migs.size() > 25);
  for (const auto& [device, gpu] : data->migs)
    for (const auto& [name, profile] : gpu.profiles) {
      CAPTURE(gpu.name);
      CAPTURE(name);
      CHECK(data->find_gpu(device, "") != nullptr);
      CHECK(spec::is_mig_profile(name));
      CHECK(name.starts_with(std::to_string(profile.compute) + "g."));
      CHECK(!checks::mig_trouble(gpu, {{name, profile.most}}));
      CHECK(checks::mig_trouble(gpu, {{name, profile.most + 1}}));
    }
}

TEST_CASE("MIG: instances of several sizes fit if the hardware has space for them") {
  const auto data = repository_data();
  struct Row {
    const char* device;
    std::map<std::string, int> devices;
    bool fits;
  };
  // The combinations of NVIDIA's MIG user guide for GPUs with seven compute slices, and some that are not
  // there.
  for (const Row& row :
       {Row{"20b0", {{"4g.20gb", 1}, {"3g.20gb", 1}}, true},
        Row{"20b0", {{"4g.20gb", 1}, {"2g.10gb", 1}, {"1g.5gb", 1}}, true},
        Row{"20b0", {{"4g.20gb", 1}, {"1g.5gb", 3}}, true}, Row{"20b0", {{"3g.20gb", 2}}, true},
        Row{"20b0", {{"3g.20gb", 1}, {"2g.10gb", 1}, {"1g.5gb", 1}}, true},
        Row{"20b0", {{"2g.10gb", 3}, {"1g.5gb", 1}}, true},
        Row{"20b0", {{"1g.5gb", 6}, {"1g.5gb+me", 1}}, true},
        Row{"20b0", {{"7g.40gb", 1}, {"1g.5gb", 1}}, false},
        Row{"20b0", {{"3g.20gb", 2}, {"1g.5gb", 1}}, false},
        Row{"20b0", {{"4g.20gb", 1}, {"2g.10gb", 2}}, false},
        Row{"20b0", {{"1g.5gb", 7}, {"1g.5gb+me", 1}}, false},
        Row{"2335", {{"1g.18gb", 2}, {"2g.35gb", 1}, {"3g.71gb", 1}}, true},
        Row{"2335", {{"1g.35gb", 4}}, true}, Row{"2335", {{"1g.35gb", 4}, {"1g.18gb", 1}}, false},
        Row{"20b7", {{"1g.6gb", 2}, {"2g.12gb", 1}}, true},
        Row{"20b7", {{"1g.6gb", 3}, {"2g.12gb", 1}}, false},
        Row{"2bb5", {{"1g.24gb", 2}, {"2g.48gb", 1}}, true}}) {
    std::string text;
    for (const auto& [name, count] : row.devices) text += name + " x" + std::to_string(count) + " ";
    CAPTURE(row.device);
    CAPTURE(text);
    const auto trouble = checks::mig_trouble(data->migs.at(row.device), row.devices);
    CHECK_MESSAGE(trouble.has_value() != row.fits, trouble.value_or("fits"));
  }
}
