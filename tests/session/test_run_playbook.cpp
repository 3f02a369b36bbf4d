#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "runner/world.hpp"
#include "transport/place.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace {

/// This machine as one of several hosts: each has a folder of its own for locks and journal.
class OneOfSeveral final : public transport::Transport {
 public:
  OneOfSeveral(std::unique_ptr<transport::Transport> inner, std::filesystem::path home)
      : inner_(std::move(inner)), home_(std::move(home)) {}
  base::Result<void> start(transport::Command command) override {
    command.script = base::replace_all(command.script.text(), "/var/lib/gpuadm", home_.string());
    return inner_->start(std::move(command));
  }
  void interests(std::vector<pollfd>& into) const override { inner_->interests(into); }
  [[nodiscard]] std::optional<base::Instant> wake() const override { return inner_->wake(); }
  base::Result<std::optional<transport::Exit>> advance() override { return inner_->advance(); }
  void close() override { inner_->close(); }
  [[nodiscard]] std::string kind() const override { return inner_->kind(); }

 private:
  std::unique_ptr<transport::Transport> inner_;
  std::filesystem::path home_;
};

/// Three hosts, and a plan of three stages after each of which the facts are read again. Each step appends
/// the name of its stage to a file of its host.
struct ThreeHosts {
  testing_transport::Place folder;
  std::filesystem::path place = folder.path;
  assets::Store store = *assets::Store::open({});
  transport::SessionPtr connections = transport::make_session({}, {});
  session::RunContext session{*session::RunFolder::make("three-hosts"), {}, {}};
  report::Collector seen;
  session::Io io;
  session::Execution execution{store, {}, {"one", "three", "two"}};

  ThreeHosts() {
    session.fleet = std::make_unique<transport::Fleet>(4, nullptr);
    for (const std::string& host : execution.hosts) {
      std::filesystem::create_directories(place / host);
      session.fleet->add(
          host, std::make_unique<OneOfSeveral>(transport::open(*connections, host, *spec::parse_target("")),
                                               place / host / "home"));
    }
    execution.plan.prelude = *store.read("playbooks/prelude.sh");
    for (const char* name : {"first", "second", "third"}) {
      plan::Stage stage{name, name, true, {}};
      for (const std::string& host : execution.hosts) {
        plan::Action action;
        action.id = action.title = name;
        action.variables = {{"file", (place / host / "stages").string()}, {"name", name}};
        action.check = "grep -qsxF \"$name\" \"$file\" || false\n";
        action.apply = "echo \"$name\" >>\"$file\"\n";
        stage.walks.push_back({host, {action}});
      }
      execution.plan.stages.push_back(stage);
    }
    execution.consent = session::Consent::given;
    execution.reboots = session::Rebooting::left;
  }
  ~ThreeHosts() {
    std::error_code ignored;
    std::filesystem::remove_all(session.folder.path(), ignored);
    std::filesystem::remove(session.folder.path().parent_path(), ignored);
  }
  base::Result<session::Outcome> execute() { return session::execute(execution, session, seen, io); }
  [[nodiscard]] std::string stages(const std::string& host) const {
    return base::replace_all(base::read_file(place / host / "stages").value_or(""), "\n", " ");
  }
  [[nodiscard]] bool is_locked(const std::string& host) const {
    return std::filesystem::exists(place / host / "home/lock");
  }
};

const base::Error gone{base::Fault::unreachable, "two: connection refused", "start sshd"};

}  // namespace

TEST_CASE("run_playbook: a host that cannot be read again is lost, the others continue") {
  if (!is_root()) return;
  ThreeHosts hosts;
  std::vector<std::set<std::string>> lost;
  hosts.execution.again = [&](session::Unread& unread) {
    lost.push_back(unread.lost);
    CHECK(hosts.is_locked("one"));
    if (lost.size() == 2) unread.now.emplace("two", gone);
    return hosts.execution.plan;
  };
  const auto outcome = hosts.execute();
  REQUIRE(outcome);
  CHECK(*outcome == session::Outcome::failed);
  CHECK(hosts.stages("one") == "first second third ");
  CHECK(hosts.stages("two") == "first ");
  CHECK(hosts.stages("three") == "first second third ");
  // After the locks, after the first stage, and then without the lost host.
  REQUIRE(lost.size() >= 3);
  CHECK(lost[0].empty());
  CHECK(lost[1].empty());
  CHECK(lost[2] == std::set<std::string>{"two"});
  const auto failure = std::ranges::find(hosts.seen.events(), report::Did::failed, &report::Event::did);
  REQUIRE(failure != hosts.seen.events().end());
  CHECK(failure->host == "two");
  CHECK(failure->detail == "two: connection refused");
  CHECK(!hosts.is_locked("one"));
}

TEST_CASE("run_playbook: a run without its vital host ends") {
  if (!is_root()) return;
  ThreeHosts hosts;
  hosts.execution.plan.vital = {"two"};
  int renderings = 0;
  hosts.execution.again = [&](session::Unread& unread) {
    if (++renderings == 2) unread.now.emplace("two", gone);
    return hosts.execution.plan;
  };
  const auto outcome = hosts.execute();
  REQUIRE(outcome);
  CHECK(*outcome == session::Outcome::failed);
  CHECK(hosts.stages("one") == "first ");
  CHECK(!hosts.is_locked("one"));
}

TEST_CASE("run_playbook: a host that cannot be read after the locks blocks the run, and nothing is changed") {
  if (!is_root()) return;
  ThreeHosts hosts;
  hosts.execution.again = [&](session::Unread& unread) {
    unread.now.emplace("two", gone);
    return hosts.execution.plan;
  };
  const auto outcome = hosts.execute();
  REQUIRE(!outcome);
  CHECK(outcome.error().what == "two: connection refused");
  for (const char* host : {"one", "two", "three"}) {
    CHECK(hosts.stages(host).empty());
    CHECK(!hosts.is_locked(host));
  }
}

namespace {

/// The plan of ThreeHosts, of which the last step of the host `one` changes the pod network: it replaces a
/// file, or creates it.
void change_network(ThreeHosts& hosts, bool replaces) {
  plan::Action& action = hosts.execution.plan.stages.back().walks.front().actions.front();
  action.title = "Apply the network";
  action.effects.network = true;
  action.check = std::string("! grep -qsxF \"$name\" \"$file\" || exit 0\nprintf '%s\\n' '--- ") +
                 (replaces ? "/etc/network.yaml" : "/dev/null") + "' '+++ /etc/network.yaml'\nfalse\n";
  hosts.execution.again = [&hosts](session::Unread&) { return hosts.execution.plan; };
}

}  // namespace

TEST_CASE("run_playbook: -y alone does not confirm a change of the pod network of a running cluster") {
  if (!is_root()) return;
  ThreeHosts hosts;
  change_network(hosts, true);
  hosts.execution.running = {.name = "team"};
  const auto outcome = hosts.execute();
  REQUIRE(!outcome);
  CHECK(outcome.error().fault == base::Fault::blocked);
  CHECK(outcome.error().what ==
        "this would change the pod network of the running cluster team, and pods may lose connections:\n  "
        "one: Apply the network");
  CHECK(outcome.error().hint.contains("--change-network"));
  CHECK(hosts.stages("one").empty());
  hosts.execution.running.network = session::Consent::given;
  CHECK(*hosts.execute() == session::Outcome::done);
  CHECK(hosts.stages("one") == "first second third ");
}

TEST_CASE("run_playbook: a change of the pod network is a question of its own") {
  if (!is_root()) return;
  ThreeHosts hosts;
  change_network(hosts, true);
  hosts.execution.running = {.name = "team"};
  hosts.execution.consent = session::Consent::ask;
  std::vector<std::string> questions;
  hosts.io.confirm = [&](const std::string& question) {
    questions.push_back(question);
    return questions.size() == 1;
  };
  CHECK(*hosts.execute() == session::Outcome::interrupted);
  REQUIRE(questions.size() == 2);
  CHECK(questions[1] ==
        "This changes the pod network of the running cluster team, and pods may lose connections:\n  one: "
        "Apply the network\nChange it?");
  CHECK(hosts.stages("one").empty());
}

TEST_CASE("run_playbook: gpuadm completes its own pod network after an interruption without a question") {
  if (!is_root()) return;
  for (const bool by_gpuadm : {true, false}) {
    ThreeHosts hosts;
    change_network(hosts, false);
    hosts.execution.running = {.name = "team", .by_gpuadm = by_gpuadm};
    const auto outcome = hosts.execute();
    CHECK(outcome.has_value() == by_gpuadm);
    CHECK(hosts.stages("one") == (by_gpuadm ? "first second third " : ""));
  }
}

TEST_CASE("run_playbook: changes of the cluster are previewed and confirmed with the steps") {
  if (!is_root()) return;
  ThreeHosts hosts;
  hosts.execution.plan.stages.clear();
  int asked = 0, changes = 0;
  hosts.io.confirm = [&](const std::string&) {
    ++asked;
    return std::optional(asked > 1);
  };
  hosts.execution.consent = session::Consent::ask;
  hosts.execution.more = [&](report::Reporter&) { return base::Result<int>(changes); };
  // None: there is nothing to ask.
  CHECK(hosts.execute().value() == session::Outcome::done);
  CHECK(asked == 0);
  changes = 1;
  CHECK(hosts.execute().value() == session::Outcome::interrupted);
  CHECK(hosts.execute().value() == session::Outcome::done);
  CHECK(asked == 2);
  hosts.execution.consent = session::Consent::preview;
  hosts.execution.needed = session::Outcome::failed;
  CHECK(hosts.execute().value() == session::Outcome::failed);
  hosts.execution.more = [](report::Reporter&) -> base::Result<int> { return std::unexpected(gone); };
  CHECK(!hosts.execute());
}
