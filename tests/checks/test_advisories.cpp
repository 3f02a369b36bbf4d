#include "gpuadm/base/yaml.hpp"

#include "checks/advisories.hpp"
#include "checks/data.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

constexpr const char* header = "component,package,from,fixed,severity,id,reach,summary,source,seen\n";

base::Result<checks::Advisories> advisories_of(const std::string& rows) {
  return checks::read_advisories(
      [&](std::string_view) -> base::Result<std::string> { return header + rows; });
}

/// "CVE-1 CVE-2 ?CVE-3 -> 1.2.3": what affects a version, what is undecided, and the version to upgrade to.
std::string exposure(const checks::Advisories& advisories, const checks::Installed& installed) {
  const checks::Exposure exposure = checks::exposure_of(advisories, installed);
  std::string text;
  for (const checks::Advisory* row : exposure.affecting) text += row->id + " ";
  for (const std::string& id : exposure.undecided) text += "?" + id + " ";
  return text + "-> " + exposure.fixed;
}

std::string exposure(const checks::Advisories& advisories, const std::string& component,
                     const char* version) {
  return exposure(advisories, {component, base::Version::parse(version).value(), {}, {}});
}

}  // namespace

TEST_CASE("advisories: a version is affected from the first one of its line up to the fix") {
  const auto advisories = advisories_of(
      "x,,0,1.2.3,low,CVE-1,,,,\n"
      "x,,1.3.0,1.3.5,low,CVE-1,,,,\n"
      "x,,1.3.0,1.3.7,critical,CVE-2,,,,\n"
      "x,,1.2.0,1.2.9,high,CVE-3,host,,,\n");
  REQUIRE(advisories);
  CHECK(exposure(*advisories, "x", "1.1.0") == "CVE-1 -> 1.2.9");  // 1.2.3 is affected by CVE-3
  CHECK(exposure(*advisories, "x", "1.2.2") == "CVE-3 CVE-1 -> 1.2.9");
  CHECK(exposure(*advisories, "x", "1.2.9") == "-> 1.3.7");
  CHECK(exposure(*advisories, "x", "1.3.4") == "CVE-2 CVE-1 -> 1.3.7");
  CHECK(exposure(*advisories, "x", "1.3.7") == "-> ");
  CHECK(exposure(*advisories, "y", "1.0.0") == "-> ");
}

TEST_CASE("advisories: a package of a distribution has its own fixed version, or is undecided") {
  const auto advisories = advisories_of(
      "runc,,0,1.1.12,high,CVE-1,host,,,\n"
      "runc,debian 12,0,1.1.5+ds1-1+deb12u1,high,CVE-1,host,,,\n"
      "runc,,0,1.2.8,high,CVE-2,host,,,\n");
  REQUIRE(advisories);
  const base::Version version = base::Version::parse("1.1.5+ds1").value();
  CHECK(exposure(*advisories, {"runc", version, {}, {}}) == "CVE-1 CVE-2 -> 1.2.8");
  CHECK(exposure(*advisories, {"runc", version, "debian 12", "1.1.5+ds1-1+deb12u1"}) == "?CVE-2 -> ");
  CHECK(exposure(*advisories, {"runc", version, "debian 12", "1.1.5+ds1-1"}) == "CVE-1 ?CVE-2 -> ");
  CHECK(exposure(*advisories, {"runc", version, "ubuntu 24.04", "1.1.5-0ubuntu1"}) == "?CVE-1 ?CVE-2 -> ");
}

TEST_CASE("advisories: a row that is not one is named") {
  for (const char* row : {"x,,soon,1.2.3,low,CVE-1,,,,\n", "x,,0,soon,low,CVE-1,,,,\n",
                          "x,,0,1,terrible,CVE-1,,,,\n", "x,,0,1,low,,,,,\n", "x,,0,1,low,CVE-1,moon,,,\n"}) {
    CAPTURE(row);
    const auto advisories = advisories_of(row);
    REQUIRE(!advisories);
    CHECK(advisories.error().what.starts_with("data/advisories.csv: x"));
  }
}

TEST_CASE("advisories: images are known by their name, and have their version in the tag") {
  const auto known = [](const char* image) {
    const checks::Installed installed = checks::component_of(image);
    return fmt::format("{} {}", installed.component, installed.version.text());
  };
  CHECK(known("registry.k8s.io/coredns/coredns:v1.14.2") == "coredns 1.14.2");
  CHECK(known("registry.example.com:5000/etcd:3.6.8-0@sha256:00") == "etcd 3.6.8");
  CHECK(known("nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless") == "dcgm-exporter 4.8.3");
  CHECK(known("ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3") == "cni-plugins 1.9.1");
  CHECK(checks::component_of("registry.k8s.io/etcd@sha256:00").version.major == -1);
  CHECK(checks::component_of("nvcr.io/nvidia/k8s/dcgm-exporter:latest").version.major == -1);
  CHECK(checks::component_of("docker.io/library/etcd-backup:1.0").component.empty());
  CHECK(checks::component_of("").component.empty());
}

TEST_CASE("data: a note says when they are old, and a date that is not one is an error") {
  const auto age = [](const char* date, const char* today) {
    return checks::data_age(
        [&](std::string_view) -> base::Result<std::string> { return fmt::format("date: \"{}\"\n", date); },
        base::parse_day(today).value());
  };
  CHECK(age("2026-11-29", "2027-03-29")->note.empty());
  CHECK(age("2026-11-29", "2027-03-29")->days == 120);
  CHECK(age("2026-11-29", "2027-03-30")->note ==
        "gpuadm's data are from 2026-11-29; a newer release may know more");
  CHECK(age("2026-11-29", "2026-11-28")->days == -1);
  CHECK(age("soon", "2026-11-29").error().what ==
        "playbooks/catalog.yaml: date: is not a day such as 2026-11-29");
}

TEST_CASE("the end of a release line is a day; a line that is not listed ends no later than the next one") {
  const auto data = repository_data();
  const auto state = [&](const char* component, const char* version, const char* day) {
    return checks::state_of_line(data->lines.at(component), base::Version::parse(version).value(),
                                 base::parse_day(day).value())
        .text;
  };
  CHECK(state("kubernetes", "1.34.9", "2026-10-27") == "1.34 gets fixes until 2026-10-27");
  CHECK(state("kubernetes", "1.34.9", "2026-10-28") == "1.34 ended on 2026-10-27");
  CHECK(state("kubernetes", "1.32.9", "2026-11-29") == "1.32 ended before 1.33, on 2026-06-28 at the latest");
  CHECK(state("kubernetes", "1.32.9", "2026-01-01") == "the end of 1.32 is not known");
  CHECK(state("kubernetes", "1.99.0", "2026-11-29") == "1.99 is newer than gpuadm's data");
  CHECK(state("containerd", "2.0.13", "2026-11-29") == "2.0 gets fixes until 2027-03-31");
  CHECK(state("runc", "1.5.3", "2026-11-29") == "1.5 has no published end");
}
