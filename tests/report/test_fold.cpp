#include "gpuadm/base/json.hpp"
#include "gpuadm/report/fold.hpp"

#include "report/expected.hpp"

namespace {

using report::Did;
using report::Event;

Event of(std::string host, std::string step, Did did, std::string detail = {}, std::string hint = {}) {
  return {.at = base::Time{},
          .host = std::move(host),
          .stage = "os",
          .step = std::move(step),
          .did = did,
          .detail = std::move(detail),
          .hint = std::move(hint)};
}

}  // namespace

TEST_CASE("a run folds to counts by host, and failures with what to type") {
  std::vector<Event> events = {of("", "", Did::started, "init"),
                               of("cp1", "a", Did::satisfied),
                               of("cp1", "b", Did::applied),
                               of("gpu1", "a", Did::applied),
                               of("gpu1", "b", Did::failed, "no space left", "free some on /var"),
                               of("gpu1", "c", Did::skipped, "b failed"),
                               of("", "", Did::finished)};
  events.back().at += std::chrono::seconds(75);
  const report::Report report = report::fold(events);
  CHECK(report.changed() == 2);
  CHECK(report.seconds == doctest::Approx(75));
  const std::string text = to_text(report, {});
  CHECK(text == expected("report.txt", text));
  const std::string json = fmt::format("{}\n", base::json::write(to_tree(report)));
  CHECK(json == expected("report.json", json));
}

TEST_CASE("a step counts once, by what it came to in the end") {
  const report::Report report =
      report::fold(std::vector<Event>{of("cp1", "a", Did::needed), of("cp1", "a", Did::applied),
                                      of("cp1", "b", Did::waiting), of("cp1", "b", Did::satisfied)});
  CHECK(report.hosts.at(0).needed == 0);
  CHECK(report.hosts.at(0).changed == 1);
  CHECK(report.hosts.at(0).satisfied == 1);
}

TEST_CASE("a run that changed nothing says 0 changed") {
  const std::string text = to_text(report::fold(std::vector<Event>{of("cp1", "a", Did::satisfied)}), {});
  CHECK(text == "1 host: 0 changed, 1 ok (0.0s)\n");
}

TEST_CASE("a run lasts from its beginning, not from the plan that it asked about") {
  std::vector<Event> events = {
      of("cp1", "a", Did::needed), {.at = base::Time{}, .did = Did::started}, of("cp1", "a", Did::applied)};
  events[1].at += std::chrono::minutes(5);
  events[2].at += std::chrono::minutes(5) + std::chrono::seconds(7);
  CHECK(report::fold(events).seconds == doctest::Approx(7));
}

TEST_CASE("a run that finds nothing to do lasts from the first fact that it read") {
  std::vector<Event> events = {of("cp1", "a", Did::satisfied), {.at = base::Time{}, .did = Did::started}};
  events[1].at += std::chrono::seconds(3);
  CHECK(report::fold(events).seconds == doctest::Approx(3));
}

TEST_CASE("what a preview said is not repeated once steps have run") {
  const report::Report report =
      report::fold(std::vector<Event>{of("cp1", "a", Did::needed), of("cp1", "b", Did::applied)});
  CHECK(to_text(report, {}) == "1 host: 1 changed (0.0s)\n");
}

TEST_CASE("a failure is reported once, its reason after the step's title, with what to type") {
  std::vector<Event> events = {
      of("gpu1", "b", Did::started, "Install containerd"),
      of("gpu1", "b", Did::failed, "Install containerd: no space left", "free some")};
  CHECK(to_text(report::fold(events), {}) ==
        "Install containerd failed on gpu1: no space left\n"
        "       fix:  free some\n"
        "1 host: 1 failed, 0 changed (0.0s)\n");
}

TEST_CASE("a failed command is reported by its usual name, with its cause first and its output once") {
  std::vector<Event> events = {of("cp1", "init", Did::started, "Run kubeadm init"),
                               of("cp1", "init", Did::failed, "Run kubeadm init: could not initialize"),
                               of("cp1", "init", Did::cause, "etcd exits with status 1: unknown flag")};
  CHECK(to_text(report::fold(events), {})
            .starts_with("kubeadm init failed on cp1: etcd exits with status 1: unknown flag\n"
                         "       could not initialize\n"));
}
