#include "transport/ssh/config/config_cache.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace transport {

namespace {
struct Spoken {
  std::set<std::string> files;  ///< that were read
  std::string message;          ///< without what -v adds
};

/// What ssh prints to stderr. Names of files are cut after 200 bytes.
Spoken spoken(const std::string& text) {
  static constexpr std::string_view debug = "debug1: ", reads = "debug1: Reading configuration data ";
  Spoken found;
  for (const auto line : base::lines(text)) {
    if (line.starts_with(reads))
      found.files.emplace(line.substr(reads.size()));
    else if (!line.starts_with(debug) && !line.starts_with("OpenSSH_"))
      found.message.append(line) += '\n';
  }
  return found;
}
}  // namespace

std::vector<std::string> ConfigCache::command(const ConfigQuestion& question) const {
  std::vector<std::string> argv{"ssh", "-T", "-G", "-v"};  // -v: which files it reads
  if (!file_.empty()) argv.insert(argv.end(), {"-F", file_.string()});
  if (question.port != 0) argv.insert(argv.end(), {"-p", std::to_string(question.port)});
  if (!question.user.empty()) argv.insert(argv.end(), {"-l", question.user});
  argv.insert(argv.end(), {"--", question.host});
  return argv;
}

std::string ConfigCache::key_of(const ConfigQuestion& question) const {
  const std::string shared =
      fmt::format("{} {} {}", patterns_.class_of(question.host), question.port, question.user);
  return own_question_.contains(shared) ? shared + " " + question.host : shared;
}

base::Result<std::optional<Config>> ConfigCache::ask(const ConfigQuestion& question) {
  const std::string key = key_of(question);
  auto& query = queries_[key];
  if (!query) {
    query = std::make_unique<Query>();
    query->asked_host = question.host;
    auto child = Child::spawn(command(question), Child::Wiring::pipes);
    if (child) {
      query->child = std::move(*child);
      query->child.in.reset();
    } else if (patterns_.files().empty() && file_.empty()) {
      query->answer = plain_config(question.host);  // without OpenSSH: its defaults
    } else {
      query->answer = base::fail(
          base::Fault::spec,
          fmt::format("ssh cannot be started, so its configuration is not known: {}", child.error().what),
          "install the OpenSSH client");
    }
  }
  if (!query->answer) proceed(*query);
  if (!query->answer) return std::nullopt;
  if (query->asked_host != question.host && key_of(question) != key) return ask(question);
  if (!*query->answer) return std::unexpected(query->answer->error());

  Config config = **query->answer;
  if (query->asked_host != question.host) {
    if (config.host_name != canonical(query->asked_host)) {
      own_question_[key] = true;
      return ask(question);
    }
    config.host_name = canonical(question.host);
  }
  if (question.port != 0) config.port = question.port;
  if (!question.user.empty()) config.user = question.user;
  return config;
}

void ConfigCache::proceed(Query& query) {
  const auto status = query.child.status();  // before the streams, so that all that it wrote is read
  for (auto* stream : {&query.child.out, &query.child.err})
    while (stream->is_open())
      if (Child::read(*stream, stream == &query.child.out ? query.out : query.err) == Child::Read::later)
        break;
  if (!status) return;
  query.child = Child();
  const auto [files, message] = spoken(query.err);
  patterns_.confirm(files);
  if (*status != 0) {
    query.answer =
        base::fail(base::Fault::spec, "ssh -G: " + base::tail(base::trim(message), 2),
                   fmt::format("check ~/.ssh/config and /etc/ssh/ssh_config: ssh -G {}", query.asked_host));
    return;
  }
  Config config = parse_config(query.out);
  for (const auto& [option, list] : {std::pair{"UserKnownHostsFile", &config.user_known_hosts},
                                     {"GlobalKnownHostsFile", &config.global_known_hosts}})
    if (list->size() > 1 && config.unclear_files.empty() &&
        patterns_.may_have_blanks(base::lower(option), files))
      config.unclear_files = option;
  query.answer = std::move(config);
}

void ConfigCache::interests(const ConfigQuestion& question, std::vector<pollfd>& into) const {
  const auto found = queries_.find(key_of(question));
  if (found != queries_.end() && !found->second->answer)
    found->second->child.interests(into, Child::Writes::no);
}

bool ConfigCache::ready(const ConfigQuestion& question) const {
  const auto found = queries_.find(key_of(question));
  return found == queries_.end() || found->second->answer;
}

}  // namespace transport
