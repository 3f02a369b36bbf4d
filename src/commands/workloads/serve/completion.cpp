#include "commands/workloads/serve/completion.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <poll.h>

#include <optional>
#include <span>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr std::size_t most_words = 16u << 10;
constexpr int proof_tokens = 32;
constexpr int milliseconds_between_attempts = 500;
constexpr int unauthorized = 401, forbidden = 403;

double seconds_between(base::Instant from, base::Instant to) {
  return std::chrono::duration<double>(to - from).count();
}

http::Call call_of(const CompletionTarget& target, int tokens) {
  // An end that the model chooses would make the number of tokens random.
  const Tree body = Tree::map_of({{"model", target.model},
                                  {"prompt", "The capital of France is"},
                                  {"max_tokens", tokens},
                                  {"ignore_eos", true},
                                  {"stream", true},
                                  {"stream_options", Tree::map_of({{"include_usage", true}})}});
  http::Call call{
      .address = target.address, .port = target.port, .method = "POST", .path = "/v1/completions"};
  call.headers = {{"Content-Type", "application/json"}};
  if (!target.key.empty()) call.headers.emplace_back("Authorization", "Bearer " + target.key.reveal());
  call.body = base::json::write(body, 0);
  return call;
}

}  // namespace

/// The events of the answer: "data: {JSON}" on a line each.
struct Completion::Stream {
  base::Instant began = base::Clock::now();
  std::optional<base::Instant> first, last;
  std::string line, words;  ///< an incomplete line; the answer if it is not a stream
  long long events = 0, reported = 0;

  void take(std::string_view part) {
    if (words.size() < most_words) words.append(part.substr(0, most_words - words.size()));
    line.append(part);
    for (std::size_t end = 0; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1))
      take_line(base::trim(std::string_view(line).substr(0, end)));
    if (line.size() > (1u << 20)) line.clear();
  }

  void take_line(std::string_view text) {
    if (!text.starts_with("data:")) return;
    const auto event = base::json::read(base::trim(text.substr(5)), "event");
    if (!event) return;
    if (const Tree* usage = event->at({"usage", "completion_tokens"})) reported = usage->as_int().value_or(0);
    const Tree* choices = event->find("choices");
    if (!choices || choices->items().empty()) return;
    last = base::Clock::now();
    if (!first) first = last;
    ++events;
  }
};

Completion::Completion(const CompletionTarget& target, int tokens) : stream_(std::make_shared<Stream>()) {
  http::Call call = call_of(target, tokens);
  call.part = [stream = stream_](std::string_view part) { stream->take(part); };
  exchange_ = std::make_unique<http::Exchange>(std::move(call));
}
Completion::Completion(Completion&&) noexcept = default;
Completion& Completion::operator=(Completion&&) noexcept = default;
Completion::~Completion() = default;

int Completion::status() const {
  const auto& answer = exchange_->answer();
  return answer ? answer->status : 0;
}

Result<> Completion::result() const {
  const auto& answer = exchange_->answer();
  if (!answer) return std::unexpected(answer.error());
  const std::string words = base::printable(base::trim(stream_->words), 500);
  if (answer->status != 200)
    return base::fail(Fault::remote,
                      fmt::format("a completion was answered with the status {}: {}", answer->status, words));
  if (tokens() == 0)
    return base::fail(Fault::remote, fmt::format("a completion was answered without a token: {}", words));
  return {};
}

long long Completion::tokens() const {
  return stream_->reported > 0 ? stream_->reported : stream_->events;
}

double Completion::first_token() const {
  return stream_->first ? seconds_between(stream_->began, *stream_->first) : 0;
}

double Completion::tokens_a_second() const {
  const double time = stream_->first ? seconds_between(*stream_->first, *stream_->last) : 0;
  return time > 0 ? static_cast<double>(tokens() - 1) / time : 0;
}

Result<ServeProof> prove_completion(const CompletionTarget& target, std::chrono::seconds timeout,
                                    base::Interrupt& interrupt) {
  const base::Instant deadline = base::Clock::now() + timeout;
  ServeProof proof;
  const auto complete = [&](const CompletionTarget& to) -> Result<Completion> {
    while (true) {
      Completion completion(to, proof_tokens);
      http::Exchange* const only = &completion.exchange();
      TRY(http::drive(std::span(&only, 1), deadline, interrupt));
      const auto& answer = only->answer();
      if (answer || answer.error().fault != Fault::unreachable || base::Clock::now() >= deadline)
        return completion;
      pollfd signal{interrupt.descriptor(), POLLIN, 0};
      ::poll(&signal, 1, milliseconds_between_attempts);
      if (interrupt.count() > 0) return base::fail(Fault::interrupted, "interrupted");
    }
  };
  const Completion answered = TRY(complete(target));
  TRY(answered.result());
  proof.tokens = answered.tokens();
  proof.first_token = answered.first_token();
  proof.tokens_a_second = answered.tokens_a_second();
  if (target.key.empty()) return proof;
  CompletionTarget without = target;
  without.key = base::Secret();
  const Completion refused = TRY(complete(without));
  proof.refused = refused.status();
  if (proof.refused == unauthorized || proof.refused == forbidden) return proof;
  if (proof.refused == 0) return std::unexpected(refused.result().error());
  return base::fail(
      Fault::remote,
      fmt::format("a completion without the key is answered with the status {}, and not refused",
                  proof.refused));
}

Result<std::string> first_model(const CompletionTarget& target, std::chrono::seconds timeout,
                                base::Interrupt& interrupt) {
  http::Call call{.address = target.address, .port = target.port, .path = "/v1/models"};
  if (!target.key.empty()) call.headers = {{"Authorization", "Bearer " + target.key.reveal()}};
  const auto answer = http::call(std::move(call), base::Clock::now() + timeout, interrupt);
  if (!answer && answer.error().fault == Fault::parse) return std::string();
  if (!answer) return std::unexpected(answer.error());
  const auto tree =
      answer->status == 200 ? base::json::read(answer->body, "/v1/models") : Result<Tree>(Tree());
  const Tree* models = tree && tree->is_map() ? tree->find("data") : nullptr;
  if (!models || models->items().empty() || !models->items().front().is_map()) return std::string();
  return base::text_of(models->items().front(), "id");
}

std::string describe(const ServeProof& proof) {
  const std::string answered = fmt::format("{} tokens, the first after {:.2f}s, then {:.1f} a second",
                                           proof.tokens, proof.first_token, proof.tokens_a_second);
  return proof.refused == 0 ? answered
                            : fmt::format("{}; refused without the key ({})", answered, proof.refused);
}

}  // namespace commands
