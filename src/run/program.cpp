#include "run/program.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <optional>
#include <random>

namespace run {

namespace {

std::string function(const char* name, const std::string& body) {
  return fmt::format("{}() {{\n:\n{}\n}}\n", name, body);
}

std::string functions(const plan::Action& action) {
  return function("step_check", action.check) + function("step_apply", action.apply) +
         function("step_needs_reboot", action.needs_reboot.empty() ? "return 1" : action.needs_reboot);
}

std::string program(const plan::Action& action, const std::string& prelude, const Identity& who,
                    const char* last) {
  return head(prelude, who, action.id, action.timeout) + base::assignments(action.variables) +
         functions(action) + last;
}

/// What a program printed between its marks number `i`, and the rest of the line of the second mark.
struct Marked {
  std::string_view text, end;
};

std::optional<Marked> between_marks(std::string_view output, const std::string& nonce, std::size_t i) {
  const std::string begin = fmt::format("\n{}-begin-{}\n", nonce, i);
  const std::string end = fmt::format("\n{}-end-{} ", nonce, i);
  const std::size_t from = output.find(begin);
  const std::size_t to = from == std::string_view::npos ? from : output.find(end, from + begin.size() - 1);
  if (to == std::string_view::npos) return std::nullopt;
  const std::size_t text = from + begin.size();
  const std::string_view rest = output.substr(to + end.size());
  return Marked{to > text ? output.substr(text, to - text) : std::string_view(),
                rest.substr(0, rest.find('\n'))};
}

}  // namespace

std::string nonce() {
  std::random_device device;
  return fmt::format("gpuadm-{:08x}{:08x}{:08x}", device(), device(), device());
}

std::string head(const std::string& prelude, const Identity& who, const std::string& step,
                 std::chrono::seconds timeout) {
  return prelude + base::assignments({{"gpuadm_run", who.run},
                                      {"gpuadm_step", step},
                                      {"gpuadm_client", who.client},
                                      {"gpuadm_owner", who.owner},
                                      {"gpuadm_timeout", std::to_string(timeout.count())}});
}

std::string step_program(const plan::Action& action, const std::string& prelude, const Identity& who) {
  return program(action, prelude, who, "step_run\n");
}

std::string wait_program(const plan::Action& action, const std::string& prelude, const Identity& who,
                         const Round& round) {
  const std::string last = base::assignments({{"gpuadm_round", std::to_string(round.length.count())},
                                              {"gpuadm_last", round.last ? "yes" : "no"},
                                              {"gpuadm_waited", std::to_string(round.waited.count())}}) +
                           "step_wait\n";
  return program(action, prelude, who, last.c_str());
}

std::string check_program(const plan::Action& action, const std::string& prelude, const Identity& who) {
  return program(action, prelude, who, "set -eu\nstep_check\n");
}

std::string upload_program(const plan::Action& action, const std::string& prelude, const Identity& who) {
  return program(action, prelude, who, "step_upload\n");
}

std::string reboot_program(const std::string& step, const std::string& prelude, const Identity& who,
                           std::chrono::seconds timeout) {
  return head(prelude, who, step, timeout) +
         base::assignments({{"gpuadm_resume", who.resume},
                            {"gpuadm_resume_user", who.resume_user},
                            {"gpuadm_client_boot", who.boot}}) +
         "reboot_order\n";
}

std::string rebooted_program(const std::string& step, const std::string& prelude, const Identity& who,
                             const std::string& boot) {
  return head(prelude, who, step, boot_timeout) + base::assignments({{"gpuadm_boot", boot}}) +
         "reboot_look\n";
}

std::string upload_check_program(const plan::Action& action, const std::string& prelude,
                                 const std::string& depot, const Identity& who) {
  // In a subshell: a failing check ends it, but not the depot's report.
  return program(action, prelude, who, "") + depot +
         "(\nset -eu\nstep_check\n) </dev/null\ngpuadm_rc=$?\n[ \"$gpuadm_rc\" -ne 1 ] || depot_look\nexit "
         "$gpuadm_rc\n";
}

std::string depot_program(const char* function, const plan::Action& action, const std::string& prelude,
                          const std::string& depot, const base::Variables& further, const Identity& who) {
  return head(prelude, who, action.id, action.timeout) + base::assignments(action.variables) +
         base::assignments(further) + depot + fmt::format("depot_step {}\n", function);
}

std::string together_program(std::span<const InDepot> uploads, const std::string& prelude,
                             const std::string& depot, const Identity& who, const std::string& nonce) {
  std::string text = head(prelude, who, uploads.front().action->id, uploads.front().action->timeout) + depot;
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    const auto& [action, passing] = uploads[i];
    base::Variables variables = action->variables;
    variables["gpuadm_step"] = action->id;
    variables["depot_then"] = passing == Passing::on ? "depot_placed" : "depot_used";
    text += fmt::format("item_{}() {{\n{}{}}}\n", i + 1, base::assignments(variables), functions(*action));
  }
  return text + fmt::format("depot_install_together {} {}\n", uploads.size(), nonce);
}

std::vector<transport::Exit> read_together(std::string_view output, std::size_t uploads,
                                           const std::string& nonce) {
  std::vector<transport::Exit> results(uploads);
  for (std::size_t i = 0; i < uploads; ++i) {
    results[i].status = -1;
    const auto block = between_marks(output, nonce, i + 1);
    if (!block) continue;
    const std::vector<std::string_view> words = base::split(block->end, ' ');
    results[i].status = static_cast<int>(base::to_int(words[0]).value_or(-1));
    results[i].err = std::string(block->text);
    if (words.size() == 2) results[i].seconds = static_cast<double>(base::to_int(words[1]).value_or(0)) / 100;
  }
  return results;
}

std::string depot_upload_program(const plan::Action& action, const std::string& prelude,
                                 const std::string& depot, Passing passing, const Identity& who) {
  return program(action, prelude, who, "") + depot +
         (passing == Passing::on ? "trap depot_placed EXIT\n"
                                 : "gpuadm_arrived=$depot_file\ntrap depot_used EXIT\n") +
         "step_upload <\"$depot_file\"\n";
}

namespace {

/// "/bin/sh: 512: eval: kubectl: not found" and "bash: line 3: kubectl: command not found" starting at
/// "kubectl"; nothing if it is not the shell's own message.
std::optional<std::string_view> said_by_shell(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || !line.substr(0, colon).ends_with("sh")) return std::nullopt;
  line.remove_prefix(colon + 2);
  if (line.starts_with("line ")) line.remove_prefix(5);
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || !line.substr(digits).starts_with(": "))
    return std::nullopt;
  line.remove_prefix(digits + 2);
  if (line.starts_with("eval: ")) line.remove_prefix(6);
  return line;
}

/// "kubectl: not found", in the formats of dash and bash.
std::string_view program_not_found(std::string_view said) {
  for (const std::string_view end : {": command not found", ": not found"})
    if (said.ends_with(end)) return said.substr(0, said.size() - end.size());
  return {};
}

}  // namespace

std::string without_shell_noise(std::string_view text) {
  std::string out;
  for (const std::string_view line : base::lines(text)) {
    const auto said = said_by_shell(line);
    const std::string_view program = said ? program_not_found(*said) : std::string_view();
    out += out.empty() ? "" : "\n";
    out += program.empty() ? std::string(said.value_or(line))
                           : fmt::format("{} is not installed (not in PATH)", program);
  }
  return out;
}

std::string missing_program(std::string_view text) {
  std::string program;
  for (const std::string_view line : base::lines(text))
    if (const auto said = said_by_shell(line))
      if (const std::string_view name = program_not_found(*said); !name.empty()) program = std::string(name);
  return program;
}

std::string preview_program(std::span<const plan::Action* const> actions, const std::string& prelude,
                            const Identity& who, const std::string& nonce) {
  std::string text = head(prelude, who, "preview", std::chrono::seconds(0)) + "preview_begin\n";
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const plan::Action& action = *actions[i];
    if (!action.later.empty()) continue;  // its inputs are unknown before earlier steps have run
    text += fmt::format(
        "echo; echo {0}-begin-{1}\n(\n{2}{3}set -eu\nstep_check\n) </dev/null 2>&1\ngpuadm_rc=$?\necho; echo "
        "{0}-end-{1} $gpuadm_rc\n",
        nonce, i, base::assignments(action.variables), function("step_check", action.check));
  }
  return text + "exit 0\n";
}

std::vector<Checked> read_preview(std::string_view output, std::size_t actions, const std::string& nonce) {
  std::vector<Checked> results(actions);
  for (std::size_t i = 0; i < actions; ++i) {
    const auto block = between_marks(output, nonce, i);
    if (!block) continue;
    results[i].status = static_cast<int>(base::to_int(block->end).value_or(-1));
    results[i].said = std::string(block->text);
  }
  return results;
}

}  // namespace run
