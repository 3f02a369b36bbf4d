#pragma once

#include "gpuadm/http/client.hpp"

#include <string>
#include <string_view>

namespace http {

/// Reads an answer from its bytes, piece by piece: status, headers, and a body with a length, in chunks, or
/// until the end of the connection.
class AnswerReader {
 public:
  /// Parts of the body are passed to `part`.
  AnswerReader(std::size_t limit, std::function<void(std::string_view part)> part)
      : left_(limit), wire_left_(most_wire(limit)), part_(std::move(part)) {}

  /// Fault::parse if it is not an answer, or too long.
  [[nodiscard]] Result<> take(std::string_view bytes);
  /// Whether it is complete. `closed`: the connection has ended.
  [[nodiscard]] bool is_complete(bool closed) const;
  [[nodiscard]] int status() const { return status_; }

 private:
  enum class Stage { head, body, chunk_size, chunk, chunk_end, trailer, complete };
  /// An event of a stream is a chunk, whose size takes a few bytes.
  [[nodiscard]] static std::size_t most_wire(std::size_t limit) { return 2 * limit + (128u << 10); }
  [[nodiscard]] Result<bool> step();
  [[nodiscard]] Result<> read_head(std::string_view head);
  [[nodiscard]] Result<bool> read_chunk_size();
  [[nodiscard]] Result<> pass(std::size_t size);
  [[nodiscard]] std::optional<std::string> take_line();

  std::size_t left_;       ///< bytes of the body
  std::size_t wire_left_;  ///< bytes of everything
  std::function<void(std::string_view part)> part_;
  Stage stage_ = Stage::head;
  int status_ = 0;
  bool has_length_ = false;
  std::size_t expected_ = 0;  ///< bytes of the body or chunk
  std::string input_;
};

}  // namespace http
