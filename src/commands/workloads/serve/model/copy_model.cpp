#include "commands/workloads/serve/model/copy_model.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/model/read.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/storage.hpp"

#include "commands/workloads/storage/claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace commands {

namespace {

using namespace std::chrono_literals;
using base::Fault;
namespace fs = std::filesystem;

constexpr int no_claim_here = 4;  ///< exit status of playbooks/storage-model.sh
constexpr std::chrono::seconds look_timeout{7200}, between_lines{10};
/// A copy that is slower than this is given up.
constexpr std::uint64_t least_rate = 256u << 10;

struct CopyTarget {
  const spec::Storage* storage;
  std::string host;
};

base::Variables variables_of(const CopyTarget& target, const LocalModel& model, const std::string& claim,
                             const std::string& ns) {
  return {{"storage_name", target.storage->name},
          {"storage_kind", std::string(spec::row_of(target.storage->kind).name)},
          {"storage_place", spec::place_of(*target.storage)},
          {"namespace", ns},
          {"name", claim},
          {"model_folder", model.folder}};
}

Result<transport::Command> command_of(const char* label, base::Variables variables,
                                      std::chrono::seconds timeout, ReachedCluster& cluster) {
  auto command = TRY(session::command_of({.label = label,
                                          .asset = "playbooks/storage-model.sh",
                                          .variables = std::move(variables),
                                          .timeout = timeout},
                                         cluster.assets()));
  command.effect = transport::Effect::changes;
  return command;
}

/// What the host has of the files, by name.
struct Held {
  std::uint64_t free = 0;
  std::set<std::string> whole;
  std::map<std::string, std::uint64_t> parts;  ///< bytes
  [[nodiscard]] std::uint64_t bytes_of(const LocalFile& file) const {
    if (whole.contains(file.name)) return file.size;
    const auto part = parts.find(file.name);
    return part == parts.end() ? 0 : part->second;
  }
};

Result<std::optional<Held>> look(const CopyTarget& target, const LocalModel& model, const std::string& claim,
                                 const std::string& ns, transport::Fleet& fleet, ReachedCluster& cluster) {
  base::Variables variables = variables_of(target, model, claim, ns);
  variables["action"] = "look";
  for (const LocalFile& file : model.files)
    variables["files"] += fmt::format("{} {} {}\n", file.sum, file.size, file.name);
  auto command =
      TRY(command_of("compare the files of the model", std::move(variables), look_timeout, cluster));
  const transport::Exit exit = TRY(session::ask(target.host, std::move(command), fleet));
  if (exit.status == no_claim_here) return std::nullopt;
  if (exit.status != 0)
    return base::fail(Fault::remote,
                      fmt::format("{}: {}", base::printable(target.host), base::tail(exit.err, 3)));
  Held held;
  for (const std::string_view line : base::lines(exit.out)) {
    const auto words = base::words(line);
    if (words.size() < 2) continue;
    const std::string name(line.substr(words[0].size() + 1));
    if (words[0] == "free")
      held.free = static_cast<std::uint64_t>(std::max(0LL, base::to_int(words[1]).value_or(0)));
    if (words[0] == "whole") held.whole.insert(name);
    if (words[0] != "part" || words.size() < 3) continue;
    const std::string file = name.substr(words[1].size() + 1);
    const auto bytes = static_cast<std::uint64_t>(std::max(0LL, base::to_int(words[1]).value_or(0)));
    // A longer one is not a beginning of this file.
    for (const LocalFile& one : model.files)
      if (one.name == file && bytes <= one.size) held.parts[file] = bytes;
  }
  return held;
}

class CopyProgress {
 public:
  CopyProgress(std::string host, std::uint64_t done, std::uint64_t total, Io& io)
      : host_(std::move(host)), first_(done), total_(total), io_(io) {}

  void show(std::uint64_t done) {
    const base::Instant now = base::Clock::now();
    if (now < next_ || io_.err_style.verbosity == report::Verbosity::quiet) return;
    next_ = now + between_lines;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    std::string line = fmt::format("copying the model to {}: {} of {}", base::printable(host_),
                                   base::human_bytes(done), base::human_bytes(total_));
    if (done > first_ && seconds > 1) {
      const double rate = static_cast<double>(done - first_) / seconds;
      line += fmt::format(", {} a second, about {} left", base::human_bytes(static_cast<std::uint64_t>(rate)),
                          base::human_seconds(static_cast<double>(total_ - std::min(total_, done)) / rate));
    }
    io_.err(line + "\n");
  }

 private:
  std::string host_;
  std::uint64_t first_, total_;
  Io& io_;
  base::Instant began_ = base::Clock::now(), next_ = began_;
};

Result<> send(const LocalFile& file, std::uint64_t from, transport::Command command, const CopyTarget& target,
              transport::Fleet& fleet, const std::function<void(std::uint64_t)>& progress) {
  command.input = file.path;
  command.input_offset = from;
  fleet.submit(target.host, std::move(command));
  while (true) {
    if (auto completion = fleet.next_until(base::Clock::now() + 500ms)) {
      const transport::Exit exit = TRY(std::move(completion->result));
      if (fleet.interrupted()) return base::fail(Fault::interrupted, "interrupted");
      if (exit.status == 0) return {};
      return base::fail(Fault::remote,
                        fmt::format("{}: {}", base::printable(target.host), base::tail(exit.err, 3)),
                        "run again: what was copied is kept");
    }
    if (fleet.interrupted())
      return base::fail(Fault::interrupted, "interrupted: the files that were copied are kept");
    progress(fleet.at(target.host).sent());
  }
}

/// Hosts with the storage of the claim. Fault::blocked: it is on none of gpuadm.
Result<std::vector<CopyTarget>> targets_of(const std::string& claim, const std::string& ns,
                                           const spec::Cluster& cluster, ReachedCluster& reached) {
  const auto objects = TRY(reached.client().get({{"persistentvolumeclaims"}, ns, {}}));
  std::vector<CopyTarget> targets;
  for (const workload::ClaimOnStorage& one : workload::claims_in(objects)) {
    const spec::Storage* storage = one.name == claim ? spec::find_storage(cluster, one.storage) : nullptr;
    if (!storage) continue;
    for (const spec::Host& host : cluster.hosts)
      if (spec::is_on(*storage, host)) targets.push_back({storage, host.name});
  }
  if (!targets.empty()) return targets;
  return base::fail(
      Fault::blocked,
      fmt::format("--model: there is no claim {} on a storage of gpuadm in the namespace {}, to which it "
                  "could be copied",
                  claim, ns),
      fmt::format("gpuadm storage claim {} --size 100Gi --on STORAGE -n {}; or --copy-to with another one",
                  claim, ns));
}

constexpr std::size_t digest_in_name = 12;

/// The sums of the files, their digest, and the folder that is named after it.
Result<> add_sums(LocalModel& model, const std::string& name, const Io& io) {
  std::uint64_t bytes = 0;
  for (const LocalFile& file : model.files) bytes += file.size;
  if (bytes > (1u << 30) && io.err_style.verbosity != report::Verbosity::quiet)
    io.err(
        fmt::format("computing the SHA-256 of {} files, {}\n", model.files.size(), base::human_bytes(bytes)));
  std::string lines;
  for (LocalFile& file : model.files) {
    file.sum = TRY(base::sha256_of_file(file.path));
    lines += fmt::format("{}  {}\n", file.sum, file.name);
  }
  model.digest = base::sha256(lines);
  model.folder = name + "." + model.digest.substr(0, digest_in_name);
  return {};
}

/// A name that a shell script reads as a word of a line.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() < 200 && name.front() != '.' && name.front() != '-' &&
         name.find_first_of(" \t\n\r\\'\"") == std::string::npos && base::printable(name, 300) == name;
}

Result<> add_file(LocalModel& model, const fs::path& path) {
  const std::string name = path.filename().string();
  if (!is_plain_name(name))
    return base::fail(Fault::usage,
                      fmt::format("--model: {}: its name has characters that are not allowed",
                                  base::printable(path.string(), 300)),
                      "rename the file: letters, digits, '.', '_' and '-'");
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error)
    return base::fail(Fault::usage,
                      fmt::format("--model: {}: {}", base::printable(path.string(), 300), error.message()));
  model.files.push_back({path, name, {}, size});
  return {};
}

}  // namespace

bool is_local_model(std::string_view source) {
  return source.starts_with('/') || source.starts_with("./") || source.starts_with("../") ||
         (source.ends_with(".gguf") && source.find(':') == std::string_view::npos);
}

std::string LocalModel::source_in(const std::string& claim) const {
  return fmt::format("{}:/{}{}", claim, folder, file.empty() ? "" : "/" + file);
}

Result<LocalModel> read_local_model(const std::string& source, const Io& io) {
  LocalModel model;
  model.path = source;
  TRY(model::read(TRY(model::open_local(model.path))));
  std::error_code error;
  std::string name = model.path.filename().string();
  if (fs::is_directory(model.path, error)) {
    name = fs::canonical(model.path, error).filename().string();
    for (const auto& entry : fs::directory_iterator(model.path, error)) {
      const std::string part = entry.path().filename().string();
      if (part.starts_with('.')) continue;
      if (entry.is_regular_file(error))
        TRY(add_file(model, entry.path()));
      else
        model.skipped.push_back(part);
    }
    if (error)
      return base::fail(Fault::usage,
                        fmt::format("--model: {}: {}", base::printable(source, 300), error.message()));
  } else {
    model.file = name;
    for (const std::string& part : model::parts_of(model.file))
      TRY(add_file(model, model.path.parent_path() / part));
  }
  if (!is_plain_name(name))
    return base::fail(Fault::usage,
                      fmt::format("--model: {}: its name has characters that are not allowed",
                                  base::printable(source, 300)),
                      "rename it: letters, digits, '.', '_' and '-'");
  std::ranges::sort(model.files, {}, &LocalFile::name);
  TRY(add_sums(model, name, io));
  return model;
}

Result<> copy_model(const LocalModel& model, const std::string& claim, const std::string& ns,
                    const Hosts& hosts, ReachedCluster& cluster, Io& io) {
  const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), cluster.client()));
  const auto targets = TRY(targets_of(claim, ns, known, cluster));
  if (!model.skipped.empty())
    io.err(fmt::format("not copied, because only readable files are: {}\n",
                       base::printable(base::join(model.skipped, ", "), 300)));
  const auto fleet = cluster.connections().fleet(session::Access::full);
  std::optional<Held> held;
  std::optional<base::Error> unread;
  const CopyTarget* target = nullptr;
  for (const CopyTarget& candidate : targets) {
    auto read = look(candidate, model, claim, ns, *fleet, cluster);
    if (!read && read.error().fault == Fault::interrupted) return std::unexpected(std::move(read).error());
    if (!read && !unread) unread = read.error();  // another host may have the storage, too
    if (!read || !*read) continue;
    held = std::move(*read);
    target = &candidate;
    break;
  }
  if (!held && unread) return std::unexpected(std::move(*unread));
  if (!held)
    return base::fail(
        Fault::remote,
        fmt::format("--model: the storage of the claim {} is mounted on none of its hosts", claim),
        "gpuadm storage list");
  std::uint64_t total = 0, done = 0;
  for (const LocalFile& file : model.files) {
    total += file.size;
    done += held->bytes_of(file);
  }
  if (total - done > held->free)
    return base::fail(
        Fault::blocked,
        fmt::format("--model: {} are to be copied, and the storage {} has {} free",
                    base::human_bytes(total - done), target->storage->name, base::human_bytes(held->free)),
        "delete files there, or name another claim with --copy-to");
  const std::uint64_t first = done;
  CopyProgress progress(target->host, done, total, io);
  for (const LocalFile& file : model.files) {
    if (held->whole.contains(file.name)) continue;
    const std::uint64_t from = held->bytes_of(file);
    base::Variables variables = variables_of(*target, model, claim, ns);
    variables.merge(base::Variables{{"action", "receive"},
                                    {"file_name", file.name},
                                    {"file_sum", file.sum},
                                    {"file_size", std::to_string(file.size)}});
    auto command =
        TRY(command_of("copy the model", std::move(variables),
                       std::chrono::seconds(static_cast<long long>(600 + file.size / least_rate)), cluster));
    TRY(send(file, from, std::move(command), *target, *fleet,
             [&](std::uint64_t sent) { progress.show(done + sent); }));
    done += file.size - from;
  }
  io.err(fmt::format("the claim {} has the {} of the model on {}: {} copied, {} already there\n", claim,
                     model.files.size() == 1 ? "file" : fmt::format("{} files", model.files.size()),
                     base::printable(target->host), base::human_bytes(done - first),
                     base::human_bytes(first)));
  return {};
}

}  // namespace commands
