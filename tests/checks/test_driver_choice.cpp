#include "gpuadm/checks/checks.hpp"

#include "checks/repository_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

/// "580 open", or what stands against it.
std::string choice(const std::vector<std::string>& devices, int asked = 0, const char* day = "2026-11-29") {
  std::vector<facts::PciGpu> gpus;
  for (const std::string& device : devices) gpus.push_back({.device_id = device, .pci_class = "0302"});
  const auto chosen = checks::choose_driver(gpus, asked, *repository_data(*base::parse_day(day)));
  return chosen ? fmt::format("{} {}", chosen->branch, chosen->modules) : chosen.error().what;
}

constexpr const char *k80 = "102d", *m40 = "17fd", *p100 = "15f8", *v100 = "1db4", *t4 = "1eb8",
                     *a100 = "20b0", *l4 = "27b8", *h200 = "2335", *b200 = "2901";

}  // namespace

TEST_CASE(
    "driver: Maxwell to Volta stay on 580, newer GPUs get the branch with the longest support and open "
    "modules") {
  for (const char* old : {m40, p100, v100}) CHECK(choice({old}) == "580 proprietary");
  for (const char* newer : {t4, a100, l4, h200, b200}) CHECK(choice({newer}) == "620 open");
  CHECK(choice({"fff0"}) == "620 open");  // newer than the data
}

TEST_CASE("driver: a branch whose support has ended is not chosen") {
  CHECK(choice({v100}, 0, "2028-06-30") == "580 proprietary");
  CHECK(choice({v100}, 0, "2028-07-01").find("no maintained driver branch supports the") == 0);
  CHECK(choice({h200}, 0, "2029-09-30") == "620 open");
  CHECK(choice({h200}, 0, "2029-10-01") == "615 open");  // the only one without a published end
}

TEST_CASE("driver: one branch and one flavor serve all GPUs of a host, or the reason is named") {
  CHECK(choice({v100, t4}) == "580 proprietary");
  CHECK(choice({v100, h200}) == "580 proprietary");
  CHECK(choice({v100, b200}).find("no driver supports both") != std::string::npos);
  CHECK(choice({k80}).find("no maintained driver branch supports the") == 0);
}

TEST_CASE("driver: a branch that is asked for is taken where it drives the GPUs") {
  CHECK(choice({h200}, 580) == "580 open");
  CHECK(choice({h200}, 535) == "535 proprietary");
  CHECK(choice({b200}, 570) == "570 open");
  CHECK(choice({k80}, 470) == "470 proprietary");
  CHECK(choice({b200}, 550).find("does not support the") != std::string::npos);
  CHECK(choice({v100}, 595).find("driver branch 595 does not support the") == 0);
  CHECK(choice({h200}, 999) == "driver branch 999 is unknown");
}
