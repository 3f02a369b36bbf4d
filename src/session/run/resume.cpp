#include "session/run/resume.hpp"

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/shell.hpp"

#include <fmt/format.h>

#include <pwd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace session {

namespace {

namespace fs = std::filesystem;

constexpr const char* log_name = "resumed.log";
/// Environment that selects gpuadm's files, and the user who called sudo: not secret.
constexpr const char* kept[] = {"HOME",     "LANG",           "LC_ALL",          "SUDO_USER",     "SUDO_UID",
                                "SUDO_GID", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"};
/// A warning for the operator: unsaved work.
constexpr int grace_seconds = 30;

/// The path of the running program, if it still exists after a boot.
std::optional<fs::path> lasting_program() {
  constexpr auto of_memory = 0x01021994;  // TMPFS_MAGIC of linux/magic.h
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  struct statfs about{};
  if (error || ::statfs(program.c_str(), &about) != 0 || about.f_type == of_memory) return std::nullopt;
  return program;
}

std::string user_name() {
  const passwd* user = ::getpwuid(::getuid());
  return user ? user->pw_name : "";
}

}  // namespace

Result<> resume_at_boot(const assets::Store& assets, const RunFolder& folder, const Io& io,
                        run::Identity& who) {
  const auto program = lasting_program();
  const std::string user = user_name();
  std::error_code error;
  const fs::path directory = fs::current_path(error);
  if (!program || user.empty() || error || io.command.empty() || std::ranges::count(io.command, "--") > 0)
    return {};
  std::string command = "set -- env";
  for (const char* name : kept)
    if (const char* value = std::getenv(name))
      command += " " + base::quote(fmt::format("{}={}", name, value));
  command += " " + base::quote(program->string());
  for (std::size_t i = 1; i < io.command.size(); ++i) command += " " + base::quote(io.command[i]);
  command += " --yes --no-reboot\n";
  who.resume = base::assignments({{"resume_user", user},
                                  {"resume_directory", directory.string()},
                                  {"resume_log", fs::absolute(folder.path() / log_name).string()}}) +
               command + TRY(assets.read("playbooks/resume.sh"));
  who.resume_user = user;
  return {};
}

void reboot_own_host(const std::string& host, const RunContext& session, report::Reporter& reporter,
                     const Io& io) {
  transport::Fleet& fleet = *session.fleet;
  const std::string log = (session.folder.path() / log_name).string();
  notify(reporter, report::Did::note,
         fmt::format(
             "this machine reboots{}, and gpuadm continues after that: tail -f {}",
             io.page ? fmt::format(" in {}s (Ctrl-C to reboot it yourself later)", grace_seconds) : " now",
             log));
  for (int i = 0; io.page && i < grace_seconds && !fleet.interrupted(); ++i)
    (void)fleet.next_until(base::Clock::now() + std::chrono::seconds(1));
  if (fleet.interrupted())
    return notify(reporter, report::Did::note, "not rebooted: gpuadm continues after: systemctl reboot");
  const auto script = assets::Store::carried("playbooks/local/reboot.sh");
  if (!script) return notify(reporter, report::Did::note, script.error().what);
  fleet.submit(host,
               {.label = "reboot this machine", .script = *script, .effect = transport::Effect::changes});
  while (fleet.next()) {
  }
}

}  // namespace session
