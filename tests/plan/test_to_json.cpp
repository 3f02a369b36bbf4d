#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/plan/plan.hpp"

#include <doctest/doctest.h>

TEST_CASE("plan.json has every stage, host and step, and no content of files") {
  plan::Action file;
  file.id = "base.sysctl";
  file.title = "Write \"sysctl\"";
  file.kind = plan::Kind::file;
  file.path = "/etc/sysctl.d/90.conf";
  file.variables["content"] = "secret\n";
  file.effects.restarts = {"procps"};
  plan::Action wait;
  wait.id = "verify.ready";
  wait.kind = plan::Kind::wait;
  plan::Plan made;
  made.playbook = "init";
  made.stages = {{"base", "Prepare", false, {{"a", {file}}, {"b", {file}}}, 0},
                 {"verify", "Wait", false, {{"a", {wait}}}, 0}};

  const std::string text = to_json(made);
  CHECK(text.find("secret") == text.npos);
  const auto read = base::json::read(text, "plan.json");
  REQUIRE(read);
  CHECK(read->at({"playbook"})->text() == "init");
  const auto& stages = read->at({"stages"})->items();
  REQUIRE(stages.size() == 2);
  CHECK(stages[1].at({"phase"})->text() == "verify");
  const auto& walks = stages[0].at({"walks"})->items();
  REQUIRE(walks.size() == 2);
  CHECK(walks[1].at({"host"})->text() == "b");
  const base::Tree& step = walks[1].at({"actions"})->items().front();
  CHECK(step.at({"kind"})->text() == "file");
  CHECK(step.at({"title"})->text() == file.title);
  CHECK(step.at({"sha256"})->text() == base::sha256("secret\n"));

  const auto empty = base::json::read(to_json(plan::Plan()), "plan.json");
  REQUIRE(empty);
  CHECK(empty->at({"stages"})->items().empty());
}
