#include "transport/recording.hpp"

#include "gpuadm/base/fault.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include <fmt/format.h>

#include <cctype>

namespace transport {

namespace {
using base::Fault;

std::string slug(std::string_view label) {
  std::string text;
  for (char c : label.substr(0, 40)) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!text.empty() && text.back() != '-')
      text += '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text.empty() ? "command" : text;
}

Result<base::Error> read_error(const base::Tree& tree, const std::string& source) {
  const base::Tree* what = tree.find("what");
  const base::Tree* hint = tree.find("hint");
  const std::string name = tree.find("fault")->text();
  if (const auto fault = base::fault_named(name))
    return base::Error{*fault, what ? what->text() : "", hint ? hint->text() : ""};
  return base::fail(Fault::parse, fmt::format("{}: unknown fault: {}", source, name));
}
}  // namespace

std::string mask(std::string text, const Command& command) {
  for (const auto& secret : command.secrets) {
    if (secret.empty()) continue;
    const std::string quoted = base::quote(secret.reveal());
    text =
        base::replace_all(std::move(text), std::string_view(quoted).substr(1, quoted.size() - 2), "<secret>");
    text = base::replace_all(std::move(text), secret.reveal(), "<secret>");
  }
  return text;
}

Result<> write_answer(const std::filesystem::path& folder, std::size_t number, const Command& command,
                      const Result<Exit>& result) {
  const auto place = folder / fmt::format("{:04}-{}", number, slug(command.label));
  base::Tree tree = base::Tree::map();
  tree.set("label", command.label);
  tree.set("effect", command.effect == Effect::reads ? "reads" : "changes");
  tree.set("as", command.as == As::root ? "root" : "login");
  if (command.input) tree.set("input", command.input->filename().string());
  if (result) {
    tree.set("status", result->status);
    tree.set("seconds", result->seconds);
    if (result->dropped > 0) tree.set("dropped", static_cast<std::int64_t>(result->dropped));
    const auto text = [&](const std::string& raw) {
      return command.output == Output::secret ? std::string("<secret>\n") : mask(raw, command);
    };
    TRY(base::write_file(place / "out", text(result->out)));
    TRY(base::write_file(place / "err", text(result->err)));
  } else {
    tree.set("fault", base::name_of(result.error().fault));
    tree.set("what", mask(result.error().what, command));
    tree.set("hint", mask(result.error().hint, command));
  }
  TRY(base::write_file(place / "command.sh", mask(command.script, command)));
  return base::write_file(place / "answer.yaml", base::yaml::write(tree));
}

Result<Answer> read_answer(const std::filesystem::path& folder) {
  const std::string source = (folder / "answer.yaml").string();
  Answer answer;
  answer.script = TRY(base::read_file(folder / "command.sh"));
  const std::string text = TRY(base::read_file(source));
  const base::Tree tree = TRY(base::yaml::read(text, source));
  if (tree.find("fault")) {
    answer.result = std::unexpected(TRY(read_error(tree, source)));
    return answer;
  }
  const base::Tree* status = tree.find("status");
  if (!status || !status->as_int())
    return base::fail(Fault::parse, fmt::format("{}: `status` or `fault` is required", source));
  Exit exit;
  exit.status = static_cast<int>(*status->as_int());
  if (const auto* seconds = tree.find("seconds")) exit.seconds = seconds->as_real().value_or(0);
  if (const auto* dropped = tree.find("dropped"))
    exit.dropped = static_cast<std::size_t>(std::max<std::int64_t>(dropped->as_int().value_or(0), 0));
  if (std::filesystem::exists(folder / "out")) exit.out = TRY(base::read_file(folder / "out"));
  if (std::filesystem::exists(folder / "err")) exit.err = TRY(base::read_file(folder / "err"));
  answer.result = std::move(exit);
  return answer;
}

}  // namespace transport
