#include "checks/mig.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>

#include <algorithm>

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

TEST_CASE("MIG: instances of several sizes fit where the hardware has room for them") {
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
