#include "gpuadm/base/text.hpp"

#include "kube/log/logs.hpp"
#include "kube/pod/out_of_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

constexpr int signal_base = 128;  // a shell's status for a program that a signal ended

struct ExitText {
  int code;
  std::string_view reason, what, fix;
};
constexpr std::array<ExitText, 6> exit_texts = {
    {{126, "command-not-executable", "a command is not executable", "make it executable in the image"},
     {127, "command-not-found", "a command does not exist in the image",
      "correct the command, or install it in the image"},
     {132, "illegal-instruction", "the program has instructions that the node's CPU does not have (SIGILL)",
      "use an image for the CPU of the node"},
     {134, "aborted", "the program aborted (SIGABRT)", "see the last log lines"},
     {139, "segmentation-fault", "the program crashed (SIGSEGV)", "see the last log lines"},
     {143, "terminated", "the program was stopped (SIGTERM)", "see the events of the pod"}}};

int code_of(const ContainerState& ended) {
  return ended.exit_code == 0 && ended.signal > 0 ? signal_base + ended.signal : ended.exit_code;
}

std::string ended_text(const Context& context, const Container& container, const ContainerState& ended) {
  std::string text =
      fmt::format("{} ended with exit code {}{}{}", named(container), ended.exit_code,
                  ended.reason.empty() || ended.reason == "Error" ? "" : ", " + ended.reason,
                  ended.finished ? " at " + clock_text(*ended.finished, context.view.cluster.clock) : "");
  if (container.restarts > 0)
    text += fmt::format("; {} restart{}", container.restarts, container.restarts == 1 ? "" : "s");
  return text;
}

/// The probe that made the kubelet kill the container; nothing: none did. `is_certain`: only if the kubelet
/// reported that it killed this run, which explains its end more than its log does.
std::optional<PodLink> killed_by_probe(const Context& context, const Container& container,
                                       const ContainerState& ended, bool is_certain,
                                       std::vector<std::string> seen) {
  constexpr double longest_grace = 120;  // seconds between the report and the end
  const PodEvent *killing = nullptr, *unhealthy = nullptr;
  for (const PodEvent* event : context.events) {
    if (event->reason == "Killing" && mentions(event->message, container.name) &&
        mentions(event->message, "probe"))
      killing = event;
    if (event->reason == "Unhealthy" && !mentions(event->message, "readiness")) unhealthy = event;
  }
  const bool is_kill = code_of(ended) == 137 || code_of(ended) == 143;
  const bool is_of_this_run =
      killing && (is_kill || (killing->last && ended.finished && *killing->last <= *ended.finished &&
                              *ended.finished - *killing->last <= longest_grace));
  if (is_certain ? !is_of_this_run : !killing && !(is_kill && unhealthy)) return std::nullopt;
  const bool is_startup = mentions((killing ? killing : unhealthy)->message, "startup");
  const Probe& probe = is_startup ? container.startup : container.liveness;
  const char* kind = is_startup ? "startup" : "liveness";
  for (const PodEvent* event : {unhealthy, killing})
    if (event) seen.push_back(evidence(*event, context.view));
  if (!probe.target.empty())
    seen.push_back(fmt::format("the probe allows {:g} s for an answer, and {} failures, one each {:g} s",
                               probe.timeout, probe.failures, probe.period));
  return broken(
      "run", fmt::format("{}-probe", kind),
      fmt::format("the kubelet killed {} because its {} probe failed{}", named(container), kind,
                  probe.target.empty() ? "" : ": " + brief(probe.target, 120)),
      std::move(seen),
      fmt::format("increase initialDelaySeconds, timeoutSeconds or failureThreshold of the {} probe", kind));
}

/// A process that a signal ended, below a launcher that ended with an exit code.
PodLink process_killed(const Container& container, const LastError& error, const std::string& shm,
                       std::vector<std::string> seen) {
  const std::string process = fmt::format(
      "a process of {}{}{}{}", named(container), error.rank.empty() ? "" : ", rank " + error.rank,
      error.host.empty() ? "" : " on " + error.host, error.rank.empty() && error.host.empty() ? "" : ",");
  if (error.signal == 7)
    return broken("run", "shared-memory", fmt::format("{} ended with SIGBUS: /dev/shm has {}", process, shm),
                  std::move(seen),
                  "mount an emptyDir with medium: Memory at /dev/shm; notebooks and training jobs of gpuadm: "
                  "--shm 8Gi");
  if (error.signal == 9)
    return broken(
        "run", "killed",
        fmt::format("{} was killed with SIGKILL{}", process,
                    limit_of(container).empty() ? ", often because memory ran out"
                                                : ", often at its memory limit of " + limit_of(container)),
        std::move(seen),
        "increase the memory limit, or use less memory: batch size, workers of data loaders");
  return broken("run", "process-killed",
                fmt::format("{} was ended by signal {}{}{}", process, error.signal,
                            error.text.empty() ? "" : ": ", brief(error.text, 160)),
                std::move(seen), "see the last log lines");
}

PodLink by_exit_code(const Context& context, const Container& container, const ContainerState& ended,
                     const LastError& error, std::vector<std::string> seen) {
  const int code = code_of(ended);
  const std::string logs = fmt::format("kubectl -n {} logs {} -c {}{}", context.pod.ns, context.pod.name,
                                       container.name, container.restarts > 0 ? " --previous" : "");
  const std::string last =
      (error.rank.empty() || error.text.empty() ? "" : "rank " + error.rank + ": ") + brief(error.text, 240);
  const std::string after = last.empty() ? "" : ": " + last;
  // What ends itself with a signal has named the reason before.
  if (code == 137 && error.is_complete)
    return broken("run", "exit-code",
                  fmt::format("{} ended with exit code {}{}", named(container), code, after), std::move(seen),
                  logs);
  if (code == 137 && !memory_below_limit(context, container).empty())
    return out_of_memory(context, container, std::move(seen));
  if (code == 137)
    return broken(
        "run", "killed",
        fmt::format(
            "{} was killed with SIGKILL{}", named(container),
            limit_of(container).empty() ? "" : ", often at its memory limit of " + limit_of(container)),
        std::move(seen), fmt::format("compare its memory use with its limit; {}", logs));
  for (const ExitText& text : exit_texts)
    if (text.code == code)
      return broken("run", std::string(text.reason),
                    fmt::format("{} ended with exit code {}: {}{}", named(container), code, text.what, after),
                    std::move(seen), std::string(text.fix));
  if (code == 0)
    return broken("run", "completed-and-restarted",
                  fmt::format("{} ends with exit code 0 and is restarted each time", named(container)),
                  std::move(seen), "use a Job, or a command that keeps running");
  return broken(
      "run", "exit-code",
      fmt::format("{} ended with exit code {}{}{}", named(container), code,
                  ended.reason.empty() || ended.reason == "Error" ? "" : ", " + ended.reason, after),
      std::move(seen), logs);
}

/// {peer}: the pod that closed the connection, unless only its address is known; {read_only_mount}: the path
/// of the volume that the line names a file of.
void add_words(const Context& context, const Container& container, const std::string& line, Words& words) {
  constexpr std::string_view before = "remote peer ";
  if (const std::size_t at = line.find(before); at != std::string::npos) {
    const std::string name = line.substr(at + before.size());
    const std::string peer = name.substr(0, name.find_first_of(".<: "));
    if (std::ranges::any_of(peer, [](char c) { return c >= 'a' && c <= 'z'; })) words["peer"] = peer;
  }
  for (const ContainerMount& mount : container.mounts) {
    const bool is_named = mount.path.size() > 1 && line.contains(mount.path);
    const auto volume = std::ranges::find(context.pod.volumes, mount.volume, &PodVolume::name);
    const bool can_be_written =
        volume == context.pod.volumes.end() || (volume->kind != "configMap" && volume->kind != "secret");
    if (is_named && mount.is_read_only && can_be_written) words["read_only_mount"] = mount.path;
  }
}

PodLink ended_badly(const Context& context, const Container& container, const ContainerState& ended) {
  std::vector<std::string> seen = {ended_text(context, container, ended)};
  if (!ended.message.empty()) seen.push_back("message: " + brief(ended.message));
  if (ended.reason == "OOMKilled") return out_of_memory(context, container, std::move(seen));
  Words words = words_of(context, &container);
  words["shm"] = shared_memory(context.pod, container);
  words["less_gpu_memory"] = less_gpu_memory(context);
  if (auto link = killed_by_probe(context, container, ended, true, seen)) return std::move(*link);
  const std::vector<std::string> log = failed_log(container);
  const LastError error = last_error(log);
  const LogReason found = reason_in_log(context, container, log, error);
  // What the kubelet did explains more than a line before the end.
  if (!found.is_of_error)
    if (auto link = killed_by_probe(context, container, ended, false, seen)) return std::move(*link);
  if (found.pattern) seen.push_back("log: " + found.line);
  if (!error.previous.empty() && brief(error.previous, 200) != found.line)
    seen.push_back("log: " + brief(error.previous, 200));
  if (!error.origin.empty()) seen.push_back("at: " + brief(error.origin, 200));
  // A shell ends with 126 if it may not execute a file, not for one that it may not read or write.
  const bool is_of_shell =
      code_of(ended) == 126 && found.pattern && found.pattern->reason == "folder-not-writable";
  if (found.pattern && !is_of_shell) {
    words["line"] = brief(found.line, 160);
    add_words(context, container, found.line, words);
    for (const std::string& one : log)
      if (const std::size_t at = one.find("NCCL WARN "); at != std::string::npos) {
        words["nccl_warning"] = brief(base::printable(one.substr(at + 10)), 160);
        break;
      }
    PodLink link = broken("run", *found.pattern, words, std::move(seen));
    if (is_about_gpus(link.reason)) add_host_facts(context, container, link);
    return link;
  }
  if (code_of(ended) == signal_base + 7)
    return broken("run", "shared-memory",
                  fmt::format("{} ended with SIGBUS: /dev/shm has {}", named(container), words["shm"]),
                  std::move(seen),
                  "mount an emptyDir with medium: Memory at /dev/shm; notebooks and training jobs of gpuadm: "
                  "--shm 8Gi");
  if (error.signal > 0 && (code_of(ended) < signal_base || !error.host.empty())) {
    seen.push_back("log: " + brief(error.text, 200));
    return process_killed(container, error, words["shm"], std::move(seen));
  }
  PodLink link = by_exit_code(context, container, ended, error, std::move(seen));
  if (link.reason == "exit-code" && container.limits.contains("nvidia.com/gpu"))
    add_host_facts(context, container, link);
  return link;
}

}  // namespace

PodLink run(const Context& context) {
  if (context.pod.phase == "Succeeded") return passed("run", "all containers completed");
  const Container* container = culprit(context.pod);
  if (container) {
    const ContainerState* ended = ending(*container);
    const bool is_running = container->state.kind == "running";
    if (ended && !is_running && (code_of(*ended) != 0 || container->state.kind == "waiting"))
      return ended_badly(context, *container, *ended);
    // It was restarted, and is not ready again.
    if (ended && is_running && code_of(*ended) != 0 && !container->is_init)
      return ended_badly(context, *container, *ended);
    if (container->is_init && is_running && container->restarts_always) {
      if (auto failure = probe_failure(context, *container, "run")) return std::move(*failure);
      return pending("run", fmt::format("sidecar {} has not started yet; the containers start after it",
                                        container->name));
    }
    if (container->is_init && is_running) {
      PodLink waits =
          pending("run", fmt::format("{} is running; the containers start after it", named(*container)));
      add_error_of_running(*container, waits.seen);
      if (!waits.seen.empty())
        waits.fix =
            fmt::format("kubectl -n {} logs {} -c {}", context.pod.ns, context.pod.name, container->name);
      return waits;
    }
    if (container->state.kind == "waiting")
      return pending("run",
                     fmt::format("{} waits{}", named(*container),
                                 container->state.reason.empty() ? "" : ": " + container->state.reason),
                     {brief(container->state.message)});
  }
  if (context.pod.phase == "Failed")
    return broken(
        "run", "failed",
        fmt::format("the pod failed{}{}{}{}", context.pod.reason.empty() ? "" : ": ", context.pod.reason,
                    context.pod.message.empty() ? "" : ": ", brief(context.pod.message)),
        {}, fmt::format("kubectl -n {} describe pod {}", context.pod.ns, context.pod.name));
  if (!has_started(context.pod)) return pending("run", "no container runs yet");
  for (const Container& one : context.pod.containers)
    if (one.restarts > 0 && one.last.kind == "terminated")
      return {"run",
              LinkState::passed,
              {},
              fmt::format("{} runs after {} restarts", named(one), one.restarts),
              {ended_text(context, one, one.last)},
              {}};
  return passed("run", "all containers run");
}

}  // namespace kube::pod
