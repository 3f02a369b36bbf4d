#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// Knows nothing of hosts or GPUs.
namespace base {

/// What failed, named by what the caller can do about it. Only `commands` maps it to an exit code.
enum class Fault {
  usage,        ///< the command line is wrong
  spec,         ///< a file the operator wrote is wrong
  unreachable,  ///< no connection to the host
  auth,         ///< the host refused every credential
  host_key,     ///< the host's key is unknown or has changed
  timeout,      ///< a deadline passed
  remote,       ///< the host answered with a failure
  parse,        ///< text from a host or a file is invalid
  blocked,      ///< findings block the run; nothing was changed
  interrupted,  ///< the operator pressed Ctrl-C
  bug           ///< an invariant of gpuadm is broken
};

/// `what`: what happened; `hint`: what the operator can type, or empty.
struct Error {
  Fault fault = Fault::bug;
  std::string what;
  std::string hint;
};

template <class T = void>
using Result = std::expected<T, Error>;

/// `return fail(Fault::spec, "…", "…");`
[[nodiscard]] inline std::unexpected<Error> fail(Fault fault, std::string what, std::string hint = {}) {
  return std::unexpected(Error{fault, std::move(what), std::move(hint)});
}

/// The kebab-case name of a fault, for JSON.
[[nodiscard]] std::string_view name_of(Fault fault);

/// Moves the value out of a result that holds one. Used by TRY.
template <class T>
T take(Result<T>& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace base

/// The value of a Result, or return its error from the enclosing function. May be nested. Not after a comma
/// in braces, nor in `new`: g++ 12 does not destroy what was built before
/// (tests/rules/try-is-not-in-braces.sh).
#define TRY(expr) BASE_TRY_NAMED(expr, __COUNTER__)
#define BASE_TRY_NAMED(expr, number) BASE_TRY_AS(expr, number)
#define BASE_TRY_AS(expr, number)                                               \
  __extension__({                                                               \
    auto try_##number = (expr);                                                 \
    if (!try_##number) return std::unexpected(std::move(try_##number).error()); \
    ::base::take(try_##number);                                                 \
  })
