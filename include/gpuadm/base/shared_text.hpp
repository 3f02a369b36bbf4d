#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace base {

/// An immutable text that its copies share: for texts that exist once per host otherwise.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  [[nodiscard]] const std::string& text() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return text(); }
  operator std::string_view() const { return text(); }

  [[nodiscard]] bool empty() const { return !text_; }
  [[nodiscard]] std::size_t size() const { return text().size(); }
  [[nodiscard]] bool starts_with(std::string_view part) const { return text().starts_with(part); }
  [[nodiscard]] bool contains(std::string_view part) const { return text().contains(part); }
  [[nodiscard]] bool contains(char part) const { return text().contains(part); }
  [[nodiscard]] std::size_t find(std::string_view part) const { return text().find(part); }
  [[nodiscard]] std::size_t find(char part) const { return text().find(part); }
  [[nodiscard]] std::string substr(std::size_t from, std::size_t length = std::string::npos) const {
    return text().substr(from, length);
  }

  SharedText& operator+=(std::string_view more) { return *this = text() + std::string(more); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.text() == b.text();
  }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.text() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.text() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.text() == b; }
  friend std::string operator+(std::string a, const SharedText& b) { return std::move(a) + b.text(); }
  friend std::string operator+(const SharedText& a, std::string_view b) { return a.text() + std::string(b); }

 private:
  std::shared_ptr<const std::string> text_;
};

/// Gives equal texts one copy.
class SharedTexts {
 public:
  [[nodiscard]] SharedText get(std::string_view text) {
    if (text.empty()) return {};
    if (const auto known = known_.find(text); known != known_.end()) return known->second;
    const SharedText shared(text);
    known_.emplace(shared, shared);
    return shared;
  }

 private:
  std::unordered_map<std::string_view, SharedText> known_;  ///< the keys point into the values
};

}  // namespace base

template <>
struct fmt::formatter<base::SharedText> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const base::SharedText& shared, Context& context) const {
    return fmt::formatter<std::string_view>::format(shared.text(), context);
  }
};
