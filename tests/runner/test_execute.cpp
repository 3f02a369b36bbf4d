#include "runner/world.hpp"

#include <algorithm>
#include <thread>

TEST_CASE("run: a preview changes nothing and shows what would become of a file") {
  if (!is_root()) return;
  World world;
  world.add_file((world.place / "etc/a.conf").string(), "new\n");
  world.add(plan::Kind::shell, "made", "[ -e \"$place/made\" ] || exit 1", ": >\"$place/made\"");
  const run::Outcome outcome = world.execute(run::Mode::preview);
  CHECK(outcome.needed == 2);
  CHECK(outcome.failed.empty());
  CHECK(world.seen.events()[1].diff.find("+new") != std::string::npos);
  CHECK(std::filesystem::is_empty(world.place));
}

TEST_CASE("run: apply makes it so once, journals what was, and a second time nothing is left to do") {
  if (!is_root()) return;
  World world;
  const std::string path = (world.place / "etc/a.conf").string();
  REQUIRE(base::write_file(path, "old\n", 0644));
  world.add_file(path, "it's \"new\" $HOME `x` \\\n\n");
  world.add_file((world.place / "deep/er/b.conf").string(), "");
  world.add(plan::Kind::shell, "made", "[ -e \"$place/made\" ] || exit 1",
            "journal_file \"$place/made\"\n: >\"$place/made\"");
  world.lock();
  run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK_MESSAGE(outcome.failed.empty(), world.last_failure());
  CHECK(outcome.changed == 3);
  CHECK(*base::read_file(path) == "it's \"new\" $HOME `x` \\\n\n");
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::mask) ==
        std::filesystem::perms(0640));
  CHECK(world.journal().find("file\t" + path + "\twas 644 0 0 ") != std::string::npos);
  CHECK(world.journal().find("directory\t" + (world.place / "deep/er").string() + "\tabsent") !=
        std::string::npos);
  CHECK(*base::read_file(world.home() / "journal/blobs" / base::sha256("old\n")) == "old\n");
  const std::string journal = world.journal();
  outcome = world.execute(run::Mode::apply);
  CHECK(outcome.changed == 0);
  CHECK(outcome.satisfied == 3);
  CHECK(world.execute(run::Mode::preview).needed == 0);
  CHECK(world.journal() == journal);
  world.unlock();
  CHECK(!std::filesystem::exists(world.home() / "lock"));
}

TEST_CASE("run: a step that fails says why, and nothing behind it runs") {
  if (!is_root()) return;
  World world;
  SUBCASE("apply fails") {
    world.add(plan::Kind::shell, "bad", "exit 1", "echo out of paper >&2\nfalse\necho not reached");
  }
  SUBCASE("apply does not help") {
    world.add(plan::Kind::shell, "bad", "echo still out of paper >&2\nexit 1", ":");
  }
  SUBCASE("check fails") {
    world.add(plan::Kind::shell, "bad", "echo out of paper >&2\nexit 7", ":");
  }
  SUBCASE("a wait ends") {
    world.add(plan::Kind::wait, "bad", "echo out of paper; exit 1", "").timeout = std::chrono::seconds(1);
  }
  SUBCASE("an unset variable") {
    world.add(plan::Kind::shell, "bad", "exit 1", "echo out of paper >&2\necho $nothing");
  }
  world.add(plan::Kind::shell, "next", "[ -e \"$place/next\" ] || exit 1", ": >\"$place/next\"");
  world.lock();
  const run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK(outcome.failed.contains("box"));
  CHECK(outcome.changed == 0);
  CHECK(world.last_failure().find("out of paper") != std::string::npos);
  CHECK(world.last_failure().find("not reached") == std::string::npos);
  CHECK(!std::filesystem::exists(world.place / "next"));
  world.unlock();
}

TEST_CASE("run: a wait whose condition cannot become true ends at once, with the reason") {
  if (!is_root()) return;
  World world;
  world.add(plan::Kind::wait, "bad", "wait_is_hopeless 'no such image'", "").timeout =
      std::chrono::seconds(60);
  world.lock();
  const auto began = base::Clock::now();
  CHECK(world.execute(run::Mode::apply).failed.contains("box"));
  CHECK(base::Clock::now() - began < std::chrono::seconds(10));
  CHECK(world.last_failure().find("cannot succeed, stopped after ") != std::string::npos);
  CHECK(world.last_failure().ends_with(": no such image"));
  world.unlock();
}

TEST_CASE("run: pods of a wait are reported as sentences") {
  if (!is_root()) return;
  World world;
  world
      .add(plan::Kind::wait, "pods",
           "printf 'gpuadm-pod\\tdns-1\\tgpu1\\t{\"phase\":\"Pending\"}\\n'\n[ \"$gpuadm_waited\" -ge 6 ] || "
           "exit 1",
           "")
      .timeout = std::chrono::seconds(60);
  world.lock();
  CHECK(world.execute(run::Mode::apply).satisfied == 1);
  const auto& events = world.seen.events();
  CHECK(std::ranges::any_of(
      events, [](const report::Event& event) { return event.detail == "dns-1 on gpu1: Pending"; }));
  world.unlock();
}

TEST_CASE("run: a wait is reported while it lasts, with its duration and state") {
  if (!is_root()) return;
  World world;
  world
      .add(plan::Kind::wait, "slow",
           "echo \"seen at $gpuadm_waited\"\n[ \"$gpuadm_waited\" -ge 6 ] || exit 1", "")
      .timeout = std::chrono::seconds(60);
  world.lock();
  const run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK_MESSAGE(outcome.failed.empty(), world.last_failure());
  CHECK(outcome.satisfied == 1);
  const auto& events = world.seen.events();
  const auto report = std::ranges::find_if(events, [](const report::Event& event) {
    return event.did == report::Did::waiting && event.seconds > 0;
  });
  REQUIRE(report != events.end());
  CHECK(report->seconds >= 4);
  CHECK(report->detail.starts_with("seen at "));
  CHECK(events.back().seconds >= 5);
  world.unlock();
}

TEST_CASE("run: a wait that times out says after how long, and what it saw last") {
  if (!is_root()) return;
  World world;
  world.add(plan::Kind::wait, "bad", "echo 'NetworkNotReady'; exit 1", "").timeout = std::chrono::seconds(2);
  world.lock();
  CHECK(world.execute(run::Mode::apply).failed.contains("box"));
  CHECK(world.last_failure().find("timed out after ") != std::string::npos);
  CHECK(world.last_failure().ends_with("NetworkNotReady"));
  world.unlock();
}

TEST_CASE(
    "run: a check that needs what an earlier step installs is decided later, and the shell's noise is not "
    "shown") {
  if (!is_root()) return;
  World world;
  world.add(plan::Kind::shell, "first", "exit 1", ":").effects.packages = {"kubeadm", "kubectl"};
  world.add(plan::Kind::shell, "node", "absent-kubectl get nodes", "");
  plan::Action& cluster =
      world.add(plan::Kind::shell, "cluster", "kubectl() { sh -c \"kubectl-$$\"; }\nexit 3", "");
  cluster.title = "cluster";
  world.execute(run::Mode::preview);
  std::string text;
  for (const report::Event& event : world.seen.events())
    if (event.did == report::Did::needed) text += event.detail + "\n";
  CHECK(text == "first\nnode (decided after earlier steps)\ncluster (decided after earlier steps)\n");
}

TEST_CASE("run: a check that no earlier step can help says why it cannot be answered") {
  if (!is_root()) return;
  World world;
  world.add(plan::Kind::shell, "node", "absent-kubectl get nodes", "");
  world.execute(run::Mode::preview);
  CHECK(world.seen.events().back().detail ==
        "node (cannot be checked: absent-kubectl is not installed (not in PATH))");
}

TEST_CASE("run: a file that changed since it was read is not written over") {
  if (!is_root()) return;
  World world;
  const std::string path = (world.place / "config.toml").string();
  REQUIRE(base::write_file(path, "theirs\n", 0644));
  world.add_file(path, "ours\n", base::sha256("what we read\n"));
  world.lock();
  CHECK(world.execute(run::Mode::apply).failed.contains("box"));
  CHECK(world.last_failure().find("has changed since it was read") != std::string::npos);
  CHECK(*base::read_file(path) == "theirs\n");
  world.unlock();
}

TEST_CASE("run: without its lock a run changes nothing") {
  if (!is_root()) return;
  World world;
  world.add(plan::Kind::shell, "made", "[ -e \"$place/made\" ] || exit 1", ": >\"$place/made\"");
  CHECK(world.execute(run::Mode::apply).failed.contains("box"));
  CHECK(world.last_failure().find("no longer holds the lock") != std::string::npos);
  CHECK(!std::filesystem::exists(world.place / "made"));
}

TEST_CASE("run: one machine under two names is not locked for both") {
  if (!is_root()) return;
  World world;
  world.fleet.add("10.0.0.5", transport::open(*world.session, "10.0.0.5", *spec::parse_target("")));
  const auto locked = run::lock({"box", "10.0.0.5"}, world.fleet, world.seen, world.scripts, world.who);
  REQUIRE(!locked);
  CHECK(locked.error().fault == base::Fault::blocked);
  CHECK(locked.error().what.find("the same machine under another name: ") != std::string::npos);
  CHECK(!std::filesystem::exists(world.home() / "lock"));
  // The same name may lock again.
  world.lock();
  world.lock();
  world.unlock();
}

TEST_CASE("run: two runs of one process in one second have different ids") {
  const auto one = run::identity(), two = run::identity();
  REQUIRE((one && two));
  CHECK(one->run != two->run);
  const std::string bits = one->run.substr(one->run.rfind('-') + 1);
  CHECK(bits.size() == 16);
  CHECK(bits.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one->run.find(fmt::format("Z-{}-", one->pid)) == 15);
}

TEST_CASE("run: an owner with the same id on another machine is another run") {
  if (!is_root()) return;
  World world, other;
  other.who.run = world.who.run;  // as versions without random bits have it in two containers
  other.who.owner = "bob@desk pid 2 start 5/pid:[1]";
  other.who.client = "elsewhere";
  world.lock();
  const auto locked = run::lock({"box"}, world.fleet, world.seen, world.scripts, other.who);
  REQUIRE(!locked);
  CHECK(locked.error().what.find("the host is locked by another run: ") != std::string::npos);
  // Neither a step nor the release of the other run takes it.
  run::unlock({"box"}, world.fleet, world.seen, world.scripts, other.who);
  CHECK(std::filesystem::exists(world.home() / "lock/owner"));
  world.unlock();
  CHECK(!std::filesystem::exists(world.home() / "lock"));
}

TEST_CASE("run: a living owner's lock is respected, a dead one's is taken over") {
  if (!is_root()) return;
  World world;
  const auto owned_by = [&](const std::string& client, long pid, const std::string& start) {
    std::filesystem::create_directories(world.home() / "lock");
    REQUIRE(base::write_file(
        world.home() / "lock/owner",
        fmt::format("other-run {} LAB\\ann lee@desk pid {} start {}\n", client, pid, start)));
    const std::string uptime = *base::read_file("/proc/uptime");
    REQUIRE(base::write_file(world.home() / "lock/beat", uptime.substr(0, uptime.find('.')) + "\n"));
  };
  SUBCASE("alive on this machine") {
    owned_by(world.who.client, world.who.pid, world.who.started);
    const auto locked = run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who);
    REQUIRE(!locked);
    CHECK(locked.error().fault == base::Fault::blocked);
    CHECK(locked.error().what.find("LAB\\ann lee@desk") != std::string::npos);
  }
  const std::string ns = world.who.started.substr(world.who.started.find('/'));
  SUBCASE("in another container of this machine, heard of just now") {
    owned_by(world.who.client, 4'000'000, "1/pid:[1]");
    CHECK(!run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
  SUBCASE("on another machine, heard of just now") {
    owned_by("elsewhere", 1, "1");
    CHECK(!run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
  SUBCASE("on another machine, silent for long") {
    owned_by("elsewhere", 1, "1");
    REQUIRE(base::write_file(world.home() / "lock/beat", "0\n"));
    CHECK(run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
  SUBCASE("dead on this machine") {
    owned_by(world.who.client, 4'190'000, "1" + ns);
    CHECK(run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
  }
  SUBCASE("dead on this machine: a process id used again is another process") {
    owned_by(world.who.client, world.who.pid, "1" + ns);
    CHECK(run::lock({"box"}, world.fleet, world.seen, world.scripts, world.who));
    CHECK(base::read_file(world.home() / "lock/owner")->starts_with(world.who.run));
  }
}

namespace {

/// A world with further hosts, which are this machine as well, with a journal each.
struct Worlds : World {
  explicit Worlds(const std::vector<std::string>& others) {
    for (const std::string& host : others) {
      fleet.add(host, transport::open(*session, host, *spec::parse_target("")));
      plan.stages[0].walks.push_back({host, {}});
    }
    // One machine has one lock: these hosts do not ask for it.
    plan.prelude += "lock_enter() { :; }\nlock_leave() { :; }\n";
  }
  plan::Action& add_to(std::size_t stage, const std::string& host, const std::string& check,
                       const std::string& apply) {
    while (plan.stages.size() <= stage) plan.stages.push_back({"next", "Another phase", false, {}});
    auto& walks = plan.stages[stage].walks;
    auto walk = std::ranges::find(walks, host, &plan::Walk::host);
    if (walk == walks.end()) walk = walks.insert(walks.end(), plan::Walk{host, {}});
    plan::Action action;
    action.id = action.title = fmt::format("{}.{}.{}", host, stage, walk->actions.size());
    action.check = check;
    action.apply = apply;
    action.variables = {{"place", place.string()}, {"host", host}};
    walk->actions.push_back(action);
    return walk->actions.back();
  }
};

}  // namespace

TEST_CASE("run: a failed host is skipped, the others continue, and without a vital one all stop") {
  if (!is_root()) return;
  Worlds world({"b", "c"});
  for (const char* host : {"box", "b", "c"}) {
    world.add_to(0, host, "[ \"$host\" != b ] || { echo out of paper >&2; exit 7; }", ":");
    world.add_to(1, host, "[ -e \"$place/$host\" ] || exit 1", ": >\"$place/$host\"");
  }
  SUBCASE("nobody depends on it") {
    world.plan.vital = {"box"};
  }
  SUBCASE("it is vital") {
    world.plan.vital = {"b"};
  }
  const run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK(outcome.failed == std::set<std::string>{"b"});
  CHECK(!std::filesystem::exists(world.place / "b"));
  CHECK(std::filesystem::exists(world.place / "c") == !world.plan.vital.contains("b"));
  CHECK(std::filesystem::exists(world.place / "box") == !world.plan.vital.contains("b"));
}

TEST_CASE("run: hosts that may not go at once go one after the other, and not past one that failed") {
  if (!is_root()) return;
  Worlds world({"b", "c"});
  world.plan.stages[0].at_once = 1;
  const std::string alone = "mkdir \"$place/inside\"\nsleep 0.1\n";
  for (const char* host : {"box", "b", "c"}) {
    world.add_to(0, host, "[ -e \"$place/$host\" ] || exit 1", alone + ": >\"$place/$host\"");
    world.add_to(0, host, "[ ! -e \"$place/inside\" ] || exit 1", "rmdir \"$place/inside\"");
  }
  SUBCASE("all do") {
    CHECK(world.execute(run::Mode::apply).failed.empty());
  }
  SUBCASE("one fails") {
    world.plan.stages[0].walks[1].actions[1].apply = "rmdir \"$place/inside\"\necho out of paper >&2\nfalse";
    CHECK(world.execute(run::Mode::apply).failed == std::set<std::string>{"b", "c"});
    CHECK(std::filesystem::exists(world.place / "box"));
    CHECK(!std::filesystem::exists(world.place / "c"));
  }
}

namespace {

/// Uploads that are installed together; each copies its file to $place/NAME.
void add_uploads(World& world, const std::vector<std::string>& names, std::size_t bytes) {
  const assets::Store store = *assets::Store::open({});
  world.plan.depot = base::replace_all(*store.read("playbooks/depot.sh"), "/run/gpuadm/relay",
                                       (world.place / "relay").string());
  for (const std::string& name : names) {
    const std::string content(bytes, name[0]);
    const std::filesystem::path file = world.place / ("from-" + name);
    REQUIRE(base::write_file(file, content, 0600));
    plan::Action& action =
        world.add(plan::Kind::upload, "images:" + name, "[ -e \"$place/$name\" ] || exit 1",
                  "journal_thing image \"$name\"\ncat >\"$place/$name.new\"\nmv \"$place/$name.new\" "
                  "\"$place/$name\"\n");
    action.together = "images";
    action.input = file;
    action.variables["name"] = name;
    action.variables["bundle_sha256"] = base::sha256(content);
  }
}

}  // namespace

TEST_CASE("run: files that are installed together are received first, then installed several at a time") {
  if (!is_root()) return;
  World world;
  add_uploads(world, {"a", "b", "c"}, 5u << 20);
  if (std::thread::hardware_concurrency() > 1)
    for (std::size_t i : {0u, 1u}) {
      plan::Action& action = world.plan.stages[0].walks[0].actions[i];
      action.variables["other"] = i == 0 ? "b" : "a";
      action.apply = ": >\"$place/$name.begun\"\nin_time 20 [ -e \"$place/$other.begun\" ]\n" + action.apply;
    }
  world.add(plan::Kind::shell, "next", "[ -e \"$place/next\" ] || exit 1",
            "[ -e \"$place/c\" ]\n: >\"$place/next\"");
  world.lock();
  const run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK_MESSAGE(outcome.failed.empty(), world.last_failure());
  CHECK(outcome.changed == 4);
  CHECK(std::filesystem::file_size(world.place / "c") == 5u << 20);
  for (const char* name : {"a", "b", "c"})
    CHECK(world.journal().find(fmt::format("image\t{}\t", name)) != std::string::npos);
  CHECK(world.journal().find("\timages:b\t") != std::string::npos);
  CHECK(!std::filesystem::exists(world.home() / "depot"));
  CHECK(!std::filesystem::exists(world.home() / "lock/program"));
  CHECK(world.execute(run::Mode::apply).satisfied == 4);
  world.unlock();
}

TEST_CASE("run: of files that are installed together, one that fails is named with its reason") {
  if (!is_root()) return;
  World world;
  add_uploads(world, {"a", "b", "c"}, 5u << 20);
  world.plan.stages[0].walks[0].actions[1].apply = "echo out of paper >&2\nfalse\n";
  world.add(plan::Kind::shell, "next", "exit 1", ": >\"$place/next\"");
  world.lock();
  const run::Outcome outcome = world.execute(run::Mode::apply);
  CHECK(outcome.changed == 2);
  CHECK(outcome.failed.contains("box"));
  CHECK(world.last_failure().starts_with("images:b: out of paper"));
  CHECK(std::filesystem::exists(world.place / "c"));
  CHECK(!std::filesystem::exists(world.place / "next"));
  world.unlock();
}

TEST_CASE("run: small files that are installed together need no depot") {
  if (!is_root()) return;
  World world;
  add_uploads(world, {"a", "b"}, 100);
  world.lock();
  CHECK(world.execute(run::Mode::apply).changed == 2);
  CHECK(std::filesystem::file_size(world.place / "b") == 100);
  world.unlock();
}

TEST_CASE("run: what one host's step shares reaches the steps of the others, and no report") {
  if (!is_root()) return;
  Worlds world({"b"});
  world.add_to(0, "box", "echo open-sesame", "").shares = "word";
  world.add_to(1, "b", "[ -e \"$place/$word\" ] || exit 1", ": >\"$place/$word\"").later = {"word"};
  CHECK(world.execute(run::Mode::apply).failed.empty());
  CHECK(std::filesystem::exists(world.place / "open-sesame"));
  for (const report::Event& event : world.seen.events())
    CHECK((event.detail + event.output + event.diff).find("open-sesame") == std::string::npos);
}

TEST_CASE("run: the lock of a host stays while a command runs there that lost its connection") {
  if (!is_root()) return;
  World world;
  world.lock();
  const std::string stat = *base::read_file("/proc/self/stat");
  const std::string fields = stat.substr(stat.rfind(')') + 2);
  const std::string start(base::words(fields)[19]);
  REQUIRE(base::write_file(world.home() / "lock/program", fmt::format("{} {}\n", ::getpid(), start), 0600));
  world.unlock();
  CHECK(std::filesystem::exists(world.home() / "lock"));
  std::filesystem::remove(world.home() / "lock/program");
  world.unlock();
  CHECK(!std::filesystem::exists(world.home() / "lock"));
}

TEST_CASE("run: a preview asks every host, also if there are more than may run at a time") {
  if (!is_root()) return;
  World world;
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  REQUIRE(names.size() > world.fleet.window());
  world.add(plan::Kind::shell, "step", "exit 1\n", ":\n");
  const std::vector<plan::Action> actions = world.plan.stages[0].walks[0].actions;
  for (const std::string& name : names) {
    world.fleet.add(name, transport::open(*world.session, name, *spec::parse_target("")));
    world.plan.stages[0].walks.push_back({name, actions});
  }
  const run::Outcome outcome = world.execute(run::Mode::preview);
  CHECK(outcome.failed.empty());
  CHECK(outcome.needed == static_cast<int>(names.size()) + 1);
}
