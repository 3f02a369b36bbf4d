#pragma once

#include "transport/ssh/config/config.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace transport {

/// The home directory that OpenSSH uses for ~: that of the account, regardless of $HOME, so that keys and
/// known_hosts are in the same place.
[[nodiscard]] std::filesystem::path login_home();
/// The name of this process's user.
[[nodiscard]] std::string login_name();

/// What is replaced in a value (ssh_config(5), TOKENS and ENVIRONMENT VARIABLES).
enum class Expansion {
  key_file,   ///< a leading ~, ${NAME} and tokens, as in IdentityFile
  proxy,      ///< the tokens of ProxyCommand
  tilde,      ///< a leading ~
  completed,  ///< a leading ~; the rest was replaced by `ssh -G`
};
/// The value with its replacements. Nothing if only OpenSSH knows them: a token such as %C, whose value
/// depends on the version, ~user, a variable that is not set; or, if they are completed, a text that looks
/// like a token.
[[nodiscard]] std::optional<std::string> expand(std::string_view text, const Config& config,
                                                const std::string& typed_host,
                                                Expansion expansion = Expansion::key_file);

}  // namespace transport
