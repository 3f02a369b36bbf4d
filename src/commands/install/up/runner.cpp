#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/up/stage_lines.hpp"
#include "commands/install/up/up.hpp"
#include "commands/workloads/service/first_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace commands {

namespace {

using base::Tree;

constexpr const char* nothing_to_do = "nothing to do";

/// The cluster file gets the storage, too.
std::string added_to(const std::filesystem::path& file) {
  return file.empty() ? "" : fmt::format("; {} gets it, too", file.string());
}

double seconds_now() {
  return std::chrono::duration<double>(base::Clock::now().time_since_epoch()).count();
}

/// Runs the stages one after the other: the output of their commands is kept, and shown if one fails.
class Up {
 public:
  Up(const UpOptions& options, Io& io)
      : run_{.options = options, .notebook = options.notebook, .computed = {}},
        io_(io),
        stages_(up_stages(options)),
        lines_(options.format == Format::text ? io.out : io.err,
               options.format == Format::text ? io.out_style : io.err_style, stages_.size()),
        times_(StageTimes::read(base::state_directory() / "up-seconds.json")) {
    run_.on_url = [this](const std::string& url) { opened(url); };
  }

  /// The plan, as text; Outcome::blocked if the hosts do not allow it.
  Result<Outcome> preview() {
    const UpSurvey seen = TRY(survey_for_up(run_.options, io_));
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Stage& stage : {Stage{"doctor", preview_fixes}, Stage{"init", preview_init}}) {
      Io io = stage_io();
      const auto result = stage.run(run_, io);
      lines_.erase();
      const bool done = result && result->outcome == Outcome::done;
      io_.err(done ? warnings_ : kept_);
      if (!result) return std::unexpected(result.error());
      if (!done && !rows.empty() && rows.front().second != nothing_to_do)
        io_.err(fmt::format("{} first: gpuadm doctor --fix; then run the same command again\n",
                            rows.front().second));
      if (!done) return result->outcome;
      const std::string what = run_.needed == 0 ? nothing_to_do
                               : rows.empty()   ? "safe fixes: " + base::join(run_.titles, ", ")
                                                : base::join(run_.notes, "; ");
      rows.emplace_back(stage.name, what);
    }
    rows.emplace_back("verify", gpus_of(seen));
    if (!run_.options.notebook.name.empty()) add_notebook(seen, rows);
    show(rows);
    return Outcome::done;
  }

  /// Outcome::failed, blocked or interrupted where a stage ends so; the next run continues there.
  Result<Outcome> run() {
    is_running_ = true;
    for (const Stage& stage : stages_) {
      const double began = seconds_now();
      Io io = stage_io();
      lines_.begin(stage.name, times_.of(stage.name), began);
      const auto result = stage.run(run_, io);
      const double seconds = seconds_now() - began;
      const bool done = result && result->outcome == Outcome::done;
      if (ended_ && !result) return std::unexpected(result.error());
      if (ended_) return result->outcome;
      const std::string detail = done ? result->detail : why_not_done(result);
      lines_.end(done ? detail : "failed: " + detail.substr(0, detail.find('\n')), seconds_now());
      record(stage.name, done ? "done" : "failed", detail, seconds);
      if (!done) return stopped(stage, result);
      if (result->worked) times_.save(stage.name, seconds);
    }
    conclude({});
    return Outcome::done;
  }

 private:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  static std::string gpus_of(const UpSurvey& seen) {
    if (seen.gpus == 0) return "test the pod network and DNS; no NVIDIA GPU was found";
    return fmt::format("test the pod network, and compute on {} GPU{}{} in pods", seen.gpus,
                       seen.gpus == 1 ? "" : "s", seen.models.empty() ? "" : " (" + seen.models + ")");
  }

  void add_notebook(const UpSurvey& seen, Rows& rows) const {
    const workload::NotebookRequest& notebook = run_.notebook;
    const std::string gpus = !notebook.gpus.empty() ? notebook.gpus : seen.gpus > 0 ? "1" : "0";
    if (notebook.storage.empty())
      rows.emplace_back("storage",
                        fmt::format("if the cluster has none: a local storage for the volume in {} on "
                                    "the host with the most space{}",
                                    FirstStorage().path, added_to(run_.options.hosts.file)));
    rows.emplace_back("notebook", fmt::format("{}/{}: GPUs {}, {}", notebook.ns, notebook.name, gpus,
                                              notebook.size.empty() ? "files on " + notebook.storage
                                                                    : "a volume of " + notebook.size));
    if (run_.options.tunnel) rows.emplace_back("tunnel", "from 127.0.0.1 to the notebook, until Ctrl-C");
  }

  void show(const Rows& rows) {
    if (run_.options.format == Format::json) {
      if (run_.options.consent != Consent::preview) return;
      for (const auto& [name, what] : rows) record(name.c_str(), "planned", what, 0);
      return io_.out(base::json::write(tree({})) + "\n");
    }
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i)
      text += report::wrapped(
                  fmt::format("{} {:<8}  {}", i + 1, rows[i].first, base::printable(rows[i].second, 4000)),
                  12, io_.out_style.width) +
              "\n";
    io_.out(text);
  }

  /// Input and output of a command that is a stage. Its events show what it does.
  Io stage_io() {
    kept_.clear();
    warnings_.clear();
    run_.changed = run_.needed = 0;
    run_.titles.clear();
    run_.notes.clear();
    Io io = io_;
    const auto keep = [this](std::string_view text) {
      kept_ += text;
      if (!ended_) lines_.progress(std::string(base::trim(text)), seconds_now());
    };
    io.out = keep;
    io.err = [this, keep](std::string_view text) {
      warnings_ += text;
      keep(text);
    };
    io.out_style.view = io.err_style.view = report::View::plain;
    io.confirm = {};
    io.log = [this](std::string_view text) { heard(text); };
    io.ask_secret = [this, asked = std::make_shared<std::set<std::string>>()](const std::string& prompt) {
      return secret(prompt, *asked);
    };
    return io;
  }

  /// A password that one stage was given is the answer in the next ones, once each.
  std::optional<base::Secret> secret(const std::string& prompt, std::set<std::string>& asked) {
    const auto known = secrets_.find(prompt);
    if (asked.insert(prompt).second && known != secrets_.end()) return known->second;
    lines_.erase();
    auto answer = io_.ask_secret ? io_.ask_secret(prompt) : std::nullopt;
    if (answer) secrets_.insert_or_assign(prompt, *answer);
    return answer;
  }

  /// Events as JSON lines.
  void heard(std::string_view text) {
    if (io_.log) io_.log(text);
    for (const std::string_view line : base::lines(text)) {
      const auto event = base::json::read(line, "event");
      if (!event) continue;
      const auto field = [&](const char* name) {
        const Tree* found = event->find(name);
        return found ? found->text() : std::string();
      };
      const std::string did = field("did"), detail = field("detail");
      if (did == "applied") ++run_.changed;
      if (did == "needed") {
        ++run_.needed;
        if (std::ranges::find(run_.titles, detail) == run_.titles.end()) run_.titles.push_back(detail);
      }
      if (did == "note") note(detail);
      if (did == "started" || did == "waiting") lines_.progress(detail, seconds_now());
    }
  }

  /// Shown once: before the question as a part of the preview, otherwise above the line of the stage.
  void note(const std::string& text) {
    run_.notes.push_back(text);
    if (!noted_.insert(text).second || !is_running_) return;
    lines_.erase();
    io_.err(base::printable(text, 1000) + "\n");
  }

  /// Why a stage has not done what it is for.
  std::string why_not_done(const Result<StageResult>& result) const {
    if (!result) return result.error().what;
    const std::string after = run_.changed > 0 ? fmt::format(" after {} steps", run_.changed) : "";
    switch (result->outcome) {
      case Outcome::blocked:
        return "blocked by findings" + after;
      case Outcome::unreachable:
        return "hosts could not be reached" + after;
      case Outcome::interrupted:
        return "interrupted" + after;
      default:
        return result->why.empty() ? "not complete" + after : result->why;
    }
  }

  /// Why the run ends here. Everything that was done is kept.
  Result<Outcome> stopped(const Stage& stage, const Result<StageResult>& result) {
    io_.err(kept_);
    if (run_.options.format == Format::json) io_.out(base::json::write(tree({})) + "\n");
    const std::string again =
        fmt::format("stopped at {}: run the same command again to continue\n", stage.name);
    if (!result) {
      io_.err(again);
      return std::unexpected(result.error());
    }
    io_.err(again);
    return result->outcome;
  }

  /// The address of the notebook is known, and its tunnel is open.
  void opened(const std::string& url) {
    lines_.end("open", seconds_now());
    record("tunnel", "open", "", 0);
    conclude(url);
    ended_ = true;
  }

  void conclude(const std::string& url) {
    if (run_.options.format == Format::json) return io_.out(base::json::write(tree(url)) + "\n");
    Io io = stage_io();
    io.out_style = io_.out_style;
    const auto text = up_closing(run_, io);
    lines_.erase();
    io_.out(text
                ? *text
                : "the state of the cluster could not be read: " + base::printable(text.error().what) + "\n");
    if (!url.empty()) io_.out(fmt::format("notebook {}: {}\n", run_.notebook.name, url));
    if (!url.empty() && io_.err_style.verbosity != report::Verbosity::quiet)
      io_.err("the tunnel is open until Ctrl-C\n");
  }

  void record(const char* stage, const char* state, const std::string& detail, double seconds) {
    stages_done_.push(Tree::map_of({{"name", stage},
                                    {"state", state},
                                    {"detail", base::printable(detail, 1000)},
                                    {"seconds", seconds}}));
  }

  [[nodiscard]] Tree tree(const std::string& url) const {
    Tree all = Tree::map_of({{"stages", stages_done_}});
    if (!run_.notebook.name.empty())
      all.set("notebook",
              Tree::map_of({{"namespace", run_.notebook.ns}, {"name", run_.notebook.name}, {"url", url}}));
    return all;
  }

  UpRun run_;
  Io& io_;
  std::vector<Stage> stages_;
  StageLines lines_;
  StageTimes times_;
  std::string kept_;  ///< output of the command of the current stage
  std::map<std::string, base::Secret> secrets_;
  Tree stages_done_ = Tree::list();
  std::string warnings_;         ///< its part that is not the result
  std::set<std::string> noted_;  ///< notes of all stages
  bool is_running_ = false;      ///< not a preview
  bool ended_ = false;           ///< the end was shown, and only the tunnel remains
};

}  // namespace

Result<Outcome> run_up(const UpOptions& options, Io& io) {
  Up up(options, io);
  if (options.consent != Consent::given) {
    const Outcome outcome = TRY(up.preview());
    if (outcome != Outcome::done) return outcome;
    if (options.consent == Consent::preview) {
      io.err("dry run: nothing was changed\n");
      return Outcome::done;
    }
    if (!TRY(session::confirmed("Continue? (-y: do not ask)", io))) {
      io.err("nothing was changed\n");
      return Outcome::interrupted;
    }
  }
  return up.run();
}

}  // namespace commands
