#include "gpuadm/plan/undo.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

plan::UndoPlan back(const std::string& text, const plan::Undo& undo = {}) {
  const auto journal = plan::read_journal(text + "end\n");
  REQUIRE(journal);
  const auto way = plan::undo_plan(*journal, undo);
  REQUIRE_MESSAGE(way, (way ? "" : way.error().what));
  return *way;
}

base::Error refused(const std::string& text, const plan::Undo& undo = {}) {
  const auto way = plan::undo_plan(*plan::read_journal(text + "end\n"), undo);
  REQUIRE(!way);
  return way.error();
}

/// "phase: id id", a line a phase.
std::string shown(const plan::UndoPlan& way) {
  std::string text;
  for (const auto& [phase, actions] : way.stages) {
    text += phase + ":";
    for (const plan::Action& action : actions) text += " " + action.id;
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("undo: an empty journal, and one that is cut off") {
  CHECK(back("").runs.empty());
  CHECK(back("").stages.empty());
  CHECK(plan::read_journal("log\tfile\t/etc/a\tabsent\ts\tr\n").error().fault == base::Fault::parse);
}

TEST_CASE(
    "undo: what runs is stopped first and started last, packages of a step go together, directories at the "
    "end") {
  const std::string text =
      "log\tpackage\trunc\tabsent\tinstall\tr\n"
      "log\tpackage\tcontainerd\tabsent\tinstall\tr\n"
      "log\tdirectory\t/etc/x/y\tabsent\tfile\tr\n"
      "log\tdirectory\t/etc/x\tabsent\tfile\tr\n"
      "log\tfile\t/etc/x/y/z\tabsent\tfile\tr\n"
      "log\treader\t/etc/x/y/z\tq.service\tfile\tr\n"
      "log\t+file\t/etc/x/y/z\twas 644 0 0 1.5 aa\tfile\tr\n"
      "log\tunit\ta.service\t inactive\trun\tr\n"
      "log\tunit\tb.swap\tgenerated active\trun\tr\n"
      "log\timage\tpause:1\tabsent\timages\tr\n"
      "now\tpackage\trunc\tii 1\n"
      "now\tpackage\tcontainerd\tii 1\n"
      "now\tdirectory\t/etc/x\tthere\n"
      "now\tdirectory\t/etc/x/y\tthere\n"
      "now\tfile\t/etc/x/y/z\twas 644 0 0 2.5 aa\n"
      "now\tunit\ta.service\tenabled active\n"
      "now\tunit\tb.swap\tgenerated inactive\n"
      "now\timage\tpause:1\tthere\n";
  CHECK(shown(back(text)) ==
        "undo/images: undo.image:pause:1\n"
        "undo/stop: undo.unit:a.service\n"
        "undo/things: undo.file:/etc/x/y/z\n"
        "undo/packages: undo.packages:containerd runc\n"
        "undo/directories: undo.directory:/etc/x/y undo.directory:/etc/x\n"
        "undo/start: undo.unit:b.swap\n"
        "undo/restart: undo.restart:q.service\n"
        "undo/journal: undo.journal\n");
}

TEST_CASE("undo: what a package needed stays upgraded, and what others have upgraded since is kept") {
  const std::string text =
      "log\tpackage\tlibc6\tii 2.36-9\tinstall\tr\n"
      "log\t+package\tlibc6\tany\tinstall\tr\n"
      "log\tpackage\tcontainerd\tii 1.6\tinstall\tr\n"
      "log\t+package\tcontainerd\thi 1.7\tinstall\tr\n"
      "now\tpackage\tlibc6\tii 2.36-10\n";
  const plan::UndoPlan way = back(text + "now\tpackage\tcontainerd\tii 1.7\n");
  CHECK(shown(way) == "undo/things: undo.package:containerd\nundo/journal: undo.journal\n");
  CHECK(way.upgraded == std::vector<std::string>{"libc6"});
  CHECK(way.kept.empty());

  const std::string since = text + "now\tpackage\tcontainerd\tii 1.8\n";
  CHECK(shown(back(since)).find("containerd") == std::string::npos);
  REQUIRE(back(since).kept.size() == 1);
  CHECK(back(since).kept[0].why == "it was changed by others since (--force restores it)");
  CHECK(shown(back(since, {.force = true})).find("undo.package:containerd") != std::string::npos);
}

TEST_CASE("undo: a package whose version is no longer available is kept, and the rest is undone") {
  const std::string text =
      "log\tpackage\tcontainerd\tii 1.6\tinstall\tr\n"
      "log\t+package\tcontainerd\tii 1.7\tinstall\tr\n"
      "log\tpackage\tsocat\tabsent\tinstall\tr\n"
      "now\tpackage\tcontainerd\tii 1.7\n"
      "now\tpackage\tsocat\tii 1\n"
      "lost\tpackage\tcontainerd\tii 1.6\tVersion '1.6' for 'containerd' was not found\n";
  for (const bool force : {false, true}) {
    const plan::UndoPlan way = back(text, {.force = force});
    CHECK(shown(way) == "undo/packages: undo.packages:socat\nundo/journal: undo.journal\n");
    REQUIRE(way.kept.size() == 1);
    const std::string why = "ii 1.6 cannot be installed again: Version '1.6' for 'containerd' was not found";
    CHECK(way.kept[0].why == why + (force ? "" : " (--force forgets its previous version)"));
    // What is forgotten is not in the journal any more.
    const auto& kept = way.stages.back().second.front().variables;
    const auto containerd =
        std::ranges::find_if(kept, [](const auto& variable) { return variable.first == "kept"; });
    CHECK(containerd->second.find("containerd") == (force ? std::string::npos : 8));
  }
}

TEST_CASE("undo: a package that was not installed before the first run is removed, whatever happened since") {
  const std::string text =
      "log\tpackage\tkubeadm\tabsent\tinstall\tr1\n"
      "log\tpackage\tkubeadm\thi 1.29\tupgrade\tr2\n"
      "log\t+package\tkubeadm\thi 1.30\tupgrade\tr2\n"
      "lost\tpackage\tkubeadm\thi 1.29\tVersion '1.29' for 'kubeadm' was not found\n";
  for (const char* now : {"hi 1.30", "ii 1.31"}) {
    const plan::UndoPlan way = back(text + "now\tpackage\tkubeadm\t" + now + "\n", {.all = true});
    CHECK(shown(way) == "undo/packages: undo.packages:kubeadm\nundo/journal: undo.journal\n");
    CHECK(way.kept.empty());
  }
  // Of the upgrade alone, the version before is what counts.
  CHECK(back(text + "now\tpackage\tkubeadm\thi 1.30\n", {.run = "r2"}).kept.size() == 1);
}

TEST_CASE(
    "undo: a package of which only the configuration files were left is removed with those of its step") {
  const plan::UndoPlan way = back(
      "log\tpackage\tkubelet\trc 1.28.2-1.1\tinstall\tr\n"
      "log\tpackage\tkubeadm\tabsent\tinstall\tr\n"
      "log\tpackage\tkubectl\thi 1.28.2-1.1\tinstall\tr\n"
      "now\tpackage\tkubelet\thi 1.36.2-1.1\n"
      "now\tpackage\tkubeadm\thi 1.36.2-1.1\n"
      "now\tpackage\tkubectl\thi 1.36.2-1.1\n");
  CHECK(shown(way) ==
        "undo/things: undo.package:kubectl\n"
        "undo/packages: undo.packages:kubeadm kubelet\n"
        "undo/journal: undo.journal\n");
}

TEST_CASE("undo: packages are removed in reverse order, because later ones may depend on earlier ones") {
  const plan::UndoPlan way = back(
      "log\tpackage\tcontainerd\tabsent\tb.runtime\tone\n"
      "log\tpackage\tiptables\tabsent\tb.runtime\tone\n"
      "log\tpackage\tconntrack\tabsent\ta.kube\ttwo\n"
      "log\tpackage\tkubelet\tabsent\ta.kube\ttwo\n"
      "now\tpackage\tcontainerd\tii 1\n"
      "now\tpackage\tiptables\tii 1\n"
      "now\tpackage\tconntrack\tii 1\n"
      "now\tpackage\tkubelet\tii 1\n",
      {.all = true});
  CHECK(shown(way) ==
        "undo/packages: undo.packages:kubelet conntrack undo.packages:iptables containerd\n"
        "undo/journal: undo.journal\n");
}

TEST_CASE("undo: the linker's cache in an old journal is not restored, and does not keep the journal") {
  const std::string cache =
      "log\tfile\t/etc/ld.so.cache\twas 644 0 0 1.5 aa\tgpu.driver.found\tr\n"
      "log\t+file\t/etc/ld.so.cache\twas 644 0 0 2.5 bb\tgpu.driver.found\tr\n"
      "now\tfile\t/etc/ld.so.cache\twas 644 0 0 3.5 cc\n";
  for (const plan::Undo& undo : {plan::Undo{}, plan::Undo{.all = true, .force = true}}) {
    const plan::UndoPlan way = back(cache, undo);
    CHECK(way.kept.empty());
    CHECK(shown(way) == "undo/journal: undo.journal\n");
  }
}

TEST_CASE("undo: a mode is restored whatever is in the file, before its package goes") {
  const plan::UndoPlan way = back(
      "log\tpackage\tkubelet\tabsent\tinstall\tr\n"
      "log\tmode\t/usr/lib/u\t644\tclose\tr\n"
      "now\tpackage\tkubelet\tii 1\n"
      "now\tmode\t/usr/lib/u\t600\n");
  CHECK(shown(way) ==
        "undo/things: undo.mode:/usr/lib/u\n"
        "undo/packages: undo.packages:kubelet\n"
        "undo/journal: undo.journal\n");
  CHECK(way.stages[0].second[0].title == "Restore mode /usr/lib/u: 644");
  CHECK(way.kept.empty());
}

TEST_CASE("undo: a run of an older version, whose id is the beginning of another one, is another run") {
  const std::string text =
      "log\tfile\t/etc/a\tabsent\ts\t20261128T100000Z-2\n"
      "log\tfile\t/etc/b\tabsent\ts\t20261128T100000Z-2-9f86d081884c7d65\n"
      "now\tfile\t/etc/a\twas 644 0 0 1.5 aa\nnow\tfile\t/etc/b\twas 644 0 0 1.5 aa\n";
  CHECK(back(text, {.run = "20261128T100000Z-2", .all = false, .force = true}).runs ==
        std::vector<std::string>{"20261128T100000Z-2"});
  CHECK(back(text, {.run = "", .all = false, .force = true}).runs ==
        std::vector<std::string>{"20261128T100000Z-2-9f86d081884c7d65"});
  CHECK(back(text, {.run = "", .all = true, .force = true}).runs.size() == 2);
}

TEST_CASE("undo: several runs of one thing come to one action, with what it was before the first") {
  const plan::UndoPlan way = back(
      "log\tsysctl\ta/b\t1\ts\tone\nlog\t+sysctl\ta/b\t2\ts\tone\n"
      "log\tsysctl\ta/b\t2\ts\ttwo\nlog\t+sysctl\ta/b\t3\ts\ttwo\nnow\tsysctl\ta/b\t3\n",
      {.all = true});
  REQUIRE(way.stages.size() == 2);
  REQUIRE(way.stages[0].second.size() == 1);
  CHECK(way.stages[0].second[0].variables.at("was") == "1");
  CHECK(way.stages[0].second[0].variables.at("now") == "3");
  CHECK(way.runs == std::vector<std::string>{"two", "one"});
}

TEST_CASE("undo: a cluster, a lost original and an unknown kind are refused before anything is changed") {
  const std::string cluster = "log\tfile\t/etc/a\tabsent\ts\tone\nlog\tcluster\tkubeadm\tabsent\ts\ttwo\n";
  for (const plan::Undo& undo : {plan::Undo{}, plan::Undo{.all = true}, plan::Undo{.run = "one"}}) {
    const base::Error error = refused(cluster + "now\tcluster\tkubeadm\tthere\n", undo);
    CHECK(error.fault == base::Fault::blocked);
    CHECK(error.hint.find("gpuadm reset") != std::string::npos);
  }
  CHECK(back(cluster + "now\tcluster\tkubeadm\tabsent\nnow\tfile\t/etc/a\tabsent\n", {.all = true})
            .runs.size() == 2);
  CHECK(refused("log\tfile\t/etc/a\twas 644 0 0 1.5 aa\ts\tr\nlog\t+file\t/etc/a\tabsent\ts\tr\n"
                "now\tfile\t/etc/a\tabsent\n")
            .what.find("is lost") != std::string::npos);
  CHECK(refused("log\tteapot\tx\tabsent\ts\tr\nnow\tteapot\tx\tunknown\n").what.find("teapot") !=
        std::string::npos);
}

TEST_CASE("reset: a cluster does not block if it is removed first") {
  const plan::UndoPlan way = back(
      "log\tcluster\tkubeadm\tabsent\tkube.init\tr\nnow\tcluster\tkubeadm\tthere\n"
      "log\tsysctl\ta/b\t1\ts\tr\nlog\t+sysctl\ta/b\t2\ts\tr\nnow\tsysctl\ta/b\t2\n",
      {.all = true, .after_reset = true});
  CHECK(shown(way) == "undo/things: undo.sysctl:a/b\nundo/journal: undo.journal\n");
}

TEST_CASE("undo: an unfinished cluster goes with every run that worked on it, and a working one is refused") {
  const std::string runs =
      "log\tsysctl\ta/b\t1\ts\tzero\nlog\t+sysctl\ta/b\t2\ts\tzero\n"
      "log\tcluster\tkubeadm\tabsent\tkube.init\tone\n"
      "log\tfile\t/etc/a\tabsent\ts\tone\nlog\t+file\t/etc/a\twas 644 0 0 1.5 aa\ts\tone\n"
      "log\tcluster\tkubeadm\tabsent\tkube.init\ttwo\n"
      "log\tfile\t/etc/b\tabsent\ts\ttwo\nlog\t+file\t/etc/b\twas 644 0 0 1.5 bb\ts\ttwo\n"
      "now\tfile\t/etc/a\twas 644 0 0 1.5 aa\nnow\tfile\t/etc/b\twas 644 0 0 1.5 bb\nnow\tsysctl\ta/b\t2\n";
  const std::string unfinished = runs + "now\tcluster\tkubeadm\tunfinished\n";
  CHECK(plan::has_unfinished_cluster(*plan::read_journal(unfinished + "end\n")));
  CHECK(!plan::has_unfinished_cluster(*plan::read_journal(runs + "now\tcluster\tkubeadm\tthere\nend\n")));
  CHECK(back(unfinished, {.after_reset = true}).runs == std::vector<std::string>{"two", "one"});
  CHECK(back(unfinished, {.all = true, .after_reset = true}).runs ==
        std::vector<std::string>{"two", "one", "zero"});
  CHECK(refused(unfinished, {.run = "two"}).fault == base::Fault::blocked);
  CHECK(refused(runs + "now\tcluster\tkubeadm\tthere\n", {}).hint.find("gpuadm reset") != std::string::npos);
}

TEST_CASE("plan: what is new in a plan is named; what is gone, or changes by itself, does not count") {
  const auto with = [](std::vector<plan::Action> actions) {
    plan::Plan plan;
    plan.stages = {{"one", "One", false, {{"box", std::move(actions)}}}};
    return plan;
  };
  plan::Action file;
  file.id = file.title = "/etc/a";
  file.variables = {{"content", "x"}};
  plan::Action other = file;
  other.variables = {{"content", "y"}};
  plan::Action unit;
  unit.id = unit.title = "a.service is stopped";
  plan::Action drifting = unit;
  drifting.drifts = true;
  CHECK(plan::additions(with({file, unit}), with({file})).empty());
  CHECK(plan::additions(with({file}), with({file, drifting})).empty());
  CHECK(plan::additions(with({file}), with({other, unit})) ==
        std::vector<std::string>{"box: /etc/a (the content differs)",
                                 "box: a.service is stopped (a new step)"});
}

TEST_CASE("reset: only a cluster created by a run is removed, unless forced") {
  const auto may = [](const std::string& text, bool force) {
    return plan::may_reset(*plan::read_journal(text + "end\n"), force);
  };
  const std::string there = "now\tcluster\tkubeadm\tthere\n";
  CHECK(may("", false));
  CHECK(may("now\tcluster\tkubeadm\tabsent\n", false));
  CHECK(may("log\tcluster\tkubeadm\tabsent\tkube.init\tr\n" + there, false));
  CHECK(may(there, true));
  const auto refused = may("log\tfile\t/etc/a\tabsent\ts\tr\n" + there, false);
  REQUIRE(!refused);
  CHECK(refused.error().fault == base::Fault::blocked);
  CHECK(refused.error().hint.find("--force") != std::string::npos);
}

TEST_CASE("undo: an object that others changed for the cluster is restored") {
  const std::string text = "log\tsysctl\ta/b\t1\ts\tr\nlog\t+sysctl\ta/b\tany\ts\tr\nnow\tsysctl\ta/b\t7\n";
  const plan::UndoPlan way = back(text, {.all = true});
  CHECK(way.kept.empty());
  CHECK(way.stages.at(0).second.at(0).variables.at("was") == "1");
}

TEST_CASE("undo: a file that others write is removed whatever it has become since the plan") {
  const auto now_of = [](const char* made) {
    const std::string text = std::string("log\tfile\t/var/log\tabsent\ts\tr\nlog\t+file\t/var/log\t") + made +
                             "\ts\tr\nnow\tfile\t/var/log\twas 600 0 0 1.5 aa\n";
    return back(text).stages.front().second.front().variables.at("now");
  };
  CHECK(now_of("any").empty());
  CHECK(now_of("was 600 0 0 1.5 aa") == "was 600 0 0 1.5 aa");
}

TEST_CASE("undo: kept objects are not reported, and remain in the journal") {
  const std::string text =
      "log\timage\tpause:1\tabsent\tkube.images:pause:1\tr\nnow\timage\tpause:1\tthere\n"
      "log\tpackage\tnvidia-driver\tabsent\tgpu.driver.packages\tr\nnow\tpackage\tnvidia-driver\tii 580\n"
      "log\tfile\t/etc/a\tabsent\ts\tr\nlog\t+file\t/etc/a\twas 644 0 0 1.5 aa\ts\tr\n"
      "now\tfile\t/etc/a\twas 644 0 0 1.5 aa\n";
  const plan::UndoPlan way = back(text, {.all = true, .keep = {"image", "gpu.driver"}});
  CHECK(way.kept.empty());
  CHECK(shown(way) == "undo/things: undo.file:/etc/a\nundo/journal: undo.journal\n");
  CHECK(way.stages.back().second.front().variables.at("kept") == "image\tpause:1\npackage\tnvidia-driver\n");
  // Nothing is left to do, and nothing to forget.
  const std::string rest = text.substr(0, text.find("log\tfile"));
  CHECK(back(rest, {.all = true, .keep = {"image", "gpu.driver"}}).stages.empty());
}
