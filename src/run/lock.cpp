#include "gpuadm/base/files.hpp"
#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/run/run.hpp"

#include "run/program.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace run {

namespace {

void note(report::Reporter& reporter, const std::string& host, const std::string& stage,
          const std::string& text) {
  report::Event event{base::now(), host, stage, ""};
  event.detail = text;
  reporter.on(event);
}

constexpr std::chrono::seconds program_timeout{600};  // for a command that a failed run left running
constexpr std::chrono::seconds heartbeat_interval{20};
constexpr int held = 10;
constexpr int still_running = 11;
constexpr int another_name = 12;

/// Field 22 of /proc/PID/stat, or nothing if there is no such process.
std::string start_time(long pid) {
  const auto stat = base::read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat) return {};
  const auto fields = base::words(std::string_view(*stat).substr(stat->rfind(')') + 1));
  return fields.size() > 19 ? std::string(fields[19]) : std::string();
}

std::string machine_id() {
  const auto id = base::read_file("/etc/machine-id", 4096);
  if (id && !base::trim(*id).empty()) return std::string(base::trim(*id));
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// The namespace of this machine's process numbers: "pid:[4026531836]". Containers have their own.
std::string pid_namespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

/// lock/owner: "RUN CLIENT WHO pid PID start START"; WHO may contain blanks.
struct Owner {
  std::string line, run, client, who, pid, start;
};

Owner read_owner(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto words = base::words(base::trim(line));
  Owner owner;
  if (words.size() < 7) return owner;
  owner.line = line;
  owner.run = words[0];
  owner.client = words[1];
  const auto* end = words.data() + words.size();
  owner.who = base::printable(base::join(std::vector<std::string>(words.data() + 2, end - 4), " "), 200);
  owner.pid = end[-3];
  owner.start = end[-1];
  return owner;
}

/// Whether the owner ran on this machine and has certainly ended. What cannot be seen, such as another user's
/// process with hidepid or one of another container, may be running.
bool is_dead(const Owner& owner, const Identity& who) {
  const auto pid = base::to_int(owner.pid);
  const std::string_view start = owner.start;
  const std::size_t at = start.find('/');
  const bool same_namespace = at != std::string_view::npos && start.substr(at + 1) == pid_namespace();
  if (owner.run.empty() || owner.client != who.client || !pid || *pid < 1 || !same_namespace) return false;
  if (::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH) return true;
  const std::string now = start_time(static_cast<long>(*pid));
  return !now.empty() && now != start.substr(0, at);
}

transport::Command lock_command(const std::string& prelude, const std::string& lock_script,
                                const Identity& who, const std::string& host, const std::string& steal) {
  transport::Command command;
  command.label = "lock the host";
  command.script = head(prelude, who, "lock", program_timeout) +
                   base::assignments({{"gpuadm_steal", steal}, {"gpuadm_host", host}}) + lock_script;
  command.effect = transport::Effect::changes;
  command.timeout = program_timeout + std::chrono::seconds(30);
  return command;
}

}  // namespace

Result<Identity> identity() {
  const base::Secret random = TRY(base::random_secret(8));
  Identity who;
  who.pid = ::getpid();
  who.started = fmt::format("{}/{}", start_time(who.pid), pid_namespace());
  who.run = fmt::format("{}-{}-{}", base::stamp(base::now()), who.pid, random.reveal());
  who.client = machine_id();
  who.boot = base::trim(base::read_file("/proc/sys/kernel/random/boot_id", 4096).value_or(""));
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  const char* user = std::getenv("SUDO_USER") ? std::getenv("SUDO_USER") : std::getenv("USER");
  // One line: the host compares it with the line that it has stored.
  who.owner = fmt::format("{} pid {} start {}",
                          base::printable(fmt::format("{}@{}", user ? user : "root", name), 200), who.pid,
                          who.started);
  return who;
}

Result<> lock(const std::vector<std::string>& hosts, transport::Fleet& fleet, report::Reporter& reporter,
              const Scripts& scripts, const Identity& who) {
  std::vector<std::string> taken;
  std::vector<base::Error> errors;
  for (const std::string& host : hosts)
    fleet.submit(host, lock_command(scripts.prelude, scripts.lock, who, host, ""));
  while (auto completion = fleet.next()) {
    const std::string& host = completion->host;
    if (!completion->result) {
      errors.push_back(completion->result.error());
      continue;
    }
    const transport::Exit& exit = *completion->result;
    if (!base::trim(exit.err).empty() && exit.status == 0)
      note(reporter, host, "lock", base::tail(exit.err, 2));
    if (exit.status == 0) {
      taken.push_back(host);
      continue;
    }
    const Owner owner = read_owner(exit.out);
    if (exit.status == held && is_dead(owner, who)) {
      reporter.on(
          {base::now(), host, "lock", "", report::Did::note,
           fmt::format(
               "the run {} of {} has died; waiting for its last command to end, then taking over its lock",
               owner.run, owner.who),
           "", "", "", 0});
      fleet.submit(host, lock_command(scripts.prelude, scripts.lock, who, host, owner.line));
    } else if (exit.status == held) {
      errors.push_back(
          {base::Fault::blocked,
           fmt::format("{}: the host is locked by another run: {} of {} (pid {})", host, owner.run, owner.who,
                       owner.pid),
           "wait until it ends; if its machine has failed, the lock expires 90s after its last heartbeat"});
    } else if (exit.status == another_name) {
      errors.push_back({base::Fault::blocked,
                        fmt::format("{}: the same machine under another name: {}", host,
                                    base::printable(base::trim(exit.out), 253)),
                        "specify only one of the two names, then run again"});
    } else if (exit.status == still_running) {
      errors.push_back({base::Fault::timeout,
                        fmt::format("{}: a command of the failed run {} is still running after {}s", host,
                                    owner.run, program_timeout.count()),
                        "to find it: ps -o pid,etime,args -p $(cut -d' ' -f1 /var/lib/gpuadm/lock/program)"});
    } else {
      errors.push_back({base::Fault::remote,
                        fmt::format("{}: cannot lock the host: {}", host, base::tail(exit.err, 3)), ""});
    }
  }
  if (errors.empty()) return {};
  unlock(taken, fleet, reporter, scripts, who);
  return std::unexpected(base::joined(errors));
}

KeepLocks::KeepLocks(std::function<std::vector<std::string>()> hosts, transport::Fleet& fleet,
                     const std::string& prelude, const Identity& who)
    : fleet_(fleet) {
  transport::Command command;
  command.label = "keep the lock";
  command.script = head(prelude, who, "beat", heartbeat_interval) + "lock_enter\nlock_leave\n";
  command.effect = transport::Effect::changes;
  command.purpose = transport::Purpose::keep_alive;
  command.timeout = heartbeat_interval;
  fleet.every(heartbeat_interval, [&fleet, command = std::move(command), hosts = std::move(hosts)] {
    for (const std::string& host : hosts()) fleet.submit(host, command);
  });
}

KeepLocks::~KeepLocks() {
  fleet_.every(heartbeat_interval, {});
}

void unlock(const std::vector<std::string>& hosts, transport::Fleet& fleet, report::Reporter& reporter,
            const Scripts& scripts, const Identity& who) {
  for (const std::string& host : hosts) {
    transport::Command command;
    command.label = "unlock the host";
    command.purpose = transport::Purpose::clean_up;
    command.script = head(scripts.prelude, who, "unlock", std::chrono::seconds(20)) + "lock_release\n";
    command.effect = transport::Effect::changes;
    command.timeout = std::chrono::seconds(20);
    fleet.submit(host, std::move(command));
  }
  while (auto completion = fleet.next()) {
    if (!completion->result)
      note(reporter, completion->host, "unlock", "cannot unlock the host; the lock expires within 90s");
    else if (completion->result->status == 5)
      note(
          reporter, completion->host, "unlock",
          "a command that lost its connection is still running: the lock is kept, and the next run waits for "
          "it");
  }
}

}  // namespace run
