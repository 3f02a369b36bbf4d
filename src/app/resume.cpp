#include "app/resume.hpp"

#include "gpuadm/base/shell.hpp"

#include <fmt/format.h>

#include <pwd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace app {

namespace {

namespace fs = std::filesystem;

constexpr const char* log_name = "resumed.log";

/// The program that runs, where it will be there after a boot.
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
  const char* home = std::getenv("HOME");
  const std::string user = user_name();
  std::error_code error;
  const fs::path directory = fs::current_path(error);
  if (!program || !home || user.empty() || error || io.command.empty() ||
      std::ranges::count(io.command, "--") > 0)
    return {};
  std::string command = "set -- " + base::quote(program->string());
  for (std::size_t i = 1; i < io.command.size(); ++i) command += " " + base::quote(io.command[i]);
  command += " --yes --no-reboot\n";
  who.resume = base::assignments({{"resume_user", user},
                                  {"resume_home", home},
                                  {"resume_directory", directory.string()},
                                  {"resume_log", fs::absolute(folder.path() / log_name).string()}}) +
               command + TRY(assets.read("playbooks/resume.sh"));
  who.resume_user = user;
  return {};
}

void reboot_own_host(const std::string& host, const Visit& visit, report::Reporter& reporter) {
  tell(reporter, report::Did::note,
       fmt::format("this machine is rebooted now, and gpuadm goes on by itself: tail -f {}",
                   (visit.folder.path() / log_name).string()));
  // Behind the answer, so that the report is written before the machine goes.
  visit.fleet->submit(host,
                      {.label = "reboot this machine",
                       .script = "sync\nsetsid sh -c 'sleep 5; systemctl reboot || reboot' >/dev/null 2>&1 "
                                 "</dev/null &\n",
                       .effect = transport::Effect::changes,
                       .timeout = std::chrono::seconds(30)});
  while (visit.fleet->next()) {
  }
}

}  // namespace app
