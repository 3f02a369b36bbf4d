#include "http/answer.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <charconv>

namespace http {

namespace {

using base::Fault;

constexpr std::size_t most_head = 64u << 10;

std::unexpected<base::Error> not_http(const char* why) {
  return base::fail(Fault::parse, std::string("the answer is not HTTP: ") + why);
}

}  // namespace

std::optional<std::string> AnswerReader::take_line() {
  const std::size_t end = input_.find("\r\n");
  if (end == std::string::npos) return std::nullopt;
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 2);
  return line;
}

Result<> AnswerReader::read_head(std::string_view head) {
  const auto lines = base::split(head, '\n');
  const auto words = base::words(lines.front());
  const long long code = words.size() > 1 ? base::to_int(words[1]).value_or(0) : 0;
  if (!lines.front().starts_with("HTTP/1.") || code < 100 || code > 599) return not_http("it has no status");
  status_ = static_cast<int>(code);
  stage_ = Stage::body;
  for (const std::string_view line : lines) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string name = base::lower(std::string(line.substr(0, colon)));
    const std::string value = base::lower(std::string(base::trim(line.substr(colon + 1))));
    if (name == "transfer-encoding" && value.ends_with("chunked")) stage_ = Stage::chunk_size;
    if (name != "content-length") continue;
    const auto length = base::to_int(value);
    if (!length || *length < 0) return not_http("its length is not a number");
    has_length_ = true;
    expected_ = static_cast<std::size_t>(*length);
  }
  if (stage_ == Stage::body && has_length_ && expected_ == 0) stage_ = Stage::complete;
  return {};
}

Result<> AnswerReader::pass(std::size_t size) {
  if (size > left_) return base::fail(Fault::parse, "the answer is too long");
  left_ -= size;
  if (size > 0 && part_) part_(std::string_view(input_).substr(0, size));
  input_.erase(0, size);
  return {};
}

Result<bool> AnswerReader::read_chunk_size() {
  const auto line = take_line();
  if (!line) return input_.size() > most_head ? Result<bool>(not_http("a chunk has no size")) : false;
  const char* end = line->data() + line->size();
  const auto [stop, error] = std::from_chars(line->data(), end, expected_, 16);
  if (error != std::errc() || stop == line->data()) return not_http("the size of a chunk is not a number");
  stage_ = expected_ == 0 ? Stage::trailer : Stage::chunk;
  return true;
}

/// Returns whether there may be more to do.
Result<bool> AnswerReader::step() {
  switch (stage_) {
    case Stage::head: {
      const std::size_t end = input_.find("\r\n\r\n");
      if (end == std::string::npos)
        return input_.size() > most_head ? Result<bool>(not_http("its headers do not end")) : false;
      const std::string head = input_.substr(0, end);
      input_.erase(0, end + 4);
      TRY(read_head(head));
      return true;
    }
    case Stage::body: {
      const std::size_t size = has_length_ ? std::min(expected_, input_.size()) : input_.size();
      TRY(pass(size));
      expected_ -= has_length_ ? size : 0;
      if (has_length_ && expected_ == 0) stage_ = Stage::complete;
      return false;
    }
    case Stage::chunk_size:
      return read_chunk_size();
    case Stage::chunk: {
      const std::size_t size = std::min(expected_, input_.size());
      TRY(pass(size));
      expected_ -= size;
      if (expected_ > 0) return false;
      stage_ = Stage::chunk_end;
      return true;
    }
    case Stage::chunk_end:
      if (input_.size() < 2) return false;
      if (!input_.starts_with("\r\n")) return not_http("a chunk is longer than its size");
      input_.erase(0, 2);
      stage_ = Stage::chunk_size;
      return true;
    case Stage::trailer: {
      const auto line = take_line();
      if (!line && input_.size() > most_head) return not_http("its trailer does not end");
      if (line && line->empty()) stage_ = Stage::complete;
      return line && !line->empty();
    }
    case Stage::complete:
      return false;
  }
  return false;
}

Result<> AnswerReader::take(std::string_view bytes) {
  // Sizes of chunks and trailers count, too.
  if (bytes.size() > wire_left_) return base::fail(Fault::parse, "the answer is too long");
  wire_left_ -= bytes.size();
  input_.append(bytes);
  while (TRY(step())) {
  }
  return {};
}

bool AnswerReader::is_complete(bool closed) const {
  return stage_ == Stage::complete || (closed && stage_ == Stage::body && !has_length_);
}

}  // namespace http
