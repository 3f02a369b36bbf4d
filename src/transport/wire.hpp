#pragma once

#include "gpuadm/transport/transport.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The wire form: what is sent to a host's login shell, and how its answer is told from everything around it.
namespace transport {

/// How a command becomes root on a host.
enum class Root {
  is_login,  ///< the login user is root, or root is not wanted
  ask,       ///< finds out: root already, or sudo, with a password where sudo prompts for one
  free,      ///< sudo is known to ask for nothing
  forbidden  ///< no sudo: the login user must be root
};

/// Lines that a program prints to be recognised by. The random part keeps them apart from what a host says by
/// itself.
struct Marks {
  explicit Marks(const std::string& nonce);
  std::string start;     ///< first line of the program's own stdout and stderr
  std::string end;       ///< with the status behind it, where nothing else tells it
  std::string root;      ///< the login user is root: the program may be sent
  std::string sudo;      ///< sudo has let us through: the program may be sent
  std::string no_sudo;   ///< there is no sudo
  std::string password;  ///< sudo's prompt, on stderr
  std::string file;      ///< in names of files
};

/// What a channel carries of a file that goes over one or over two channels of a connection: sshd lets 2 MiB
/// of a channel be on their way (CHAN_SES_WINDOW_DEFAULT of its channels.h; decision 17), which is what a
/// long way there is waited for. With two, blocks go over each in turn.
struct Share {
  static constexpr std::uint64_t block = 1u << 20;  ///< bytes
  enum class Part { whole, first, second } part = Part::whole;
  std::string meeting;  ///< a path on the host where the second channel's blocks are handed to the first's
                        ///< program
};

/// What runs behind the second channel of a file that is the input of `command`.
[[nodiscard]] Command second_half(const Command& command, const Share& share);

/// Whether the exit status must be told by the program, because the way there cannot tell it from its own.
enum class StatusFrom { channel_status, end_mark };

/// The command line for the login shell: constant text, one of few forms; never the script, which may be
/// longer than a packet of SSH.
[[nodiscard]] std::string command_line(const Command& command, Root root, const Marks& marks,
                                       StatusFrom status_from, const Share& share = {});

/// What goes to stdin first, before a file (Command::input): a program that does nothing unless it has
/// arrived wholly. Its stdin is the whole file, however that travels.
[[nodiscard]] std::string program(const Command& command, const Marks& marks, const Share& share = {});

}  // namespace transport
