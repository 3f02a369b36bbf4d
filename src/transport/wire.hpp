#pragma once

#include "gpuadm/transport/transport.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The wire format: the input of a host's login shell, and how its output is distinguished from other output.
namespace transport {

/// How a command becomes root on a host.
enum class Root {
  is_login,  ///< the login user is root, or root is not required
  ask,       ///< detects it: already root, or sudo, with a password if sudo prompts for one
  free,      ///< sudo is known to need no password
  forbidden  ///< no sudo: the login user must be root
};

/// Lines that a program prints as marks. The random part distinguishes them from other output of the host.
struct Marks {
  explicit Marks(const std::string& nonce);
  std::string start;     ///< first line of the program's own stdout and stderr
  std::string end;       ///< with the status after it, if nothing else reports it
  std::string root;      ///< the login user is root: the program may be sent
  std::string sudo;      ///< sudo has succeeded: the program may be sent
  std::string no_sudo;   ///< sudo is not installed
  std::string password;  ///< sudo's prompt, on stderr
  std::string file;      ///< in names of files
};

/// The part of a file that a channel carries, if the file uses one or two channels of a connection: sshd
/// allows 2 MiB in flight per channel (CHAN_SES_WINDOW_DEFAULT of its channels.h; decision 17), which limits
/// the speed at high round-trip times. With two, blocks alternate between them.
struct Share {
  static constexpr std::uint64_t block = 1u << 20;  ///< bytes
  enum class Part { whole, first, second } part = Part::whole;
  std::string
      meeting;  ///< a path on the host where the second channel's blocks are passed to the first's program
};

/// The program of the second channel for a file that is the input of `command`.
[[nodiscard]] Command second_half(const Command& command, const Share& share);

/// Whether the program must report the exit status, because the connection does not distinguish it from its
/// own.
enum class StatusFrom { channel_status, end_mark };

/// The command line for the login shell: constant text, one of few forms; never the script, which may be
/// longer than an SSH packet.
[[nodiscard]] std::string command_line(const Command& command, Root root, const Marks& marks,
                                       StatusFrom status_from, const Share& share = {});

/// The first bytes for stdin, before a file (Command::input): a program that does nothing unless it has
/// arrived completely. Its stdin is the whole file, however it is transferred.
[[nodiscard]] std::string program(const Command& command, const Marks& marks, const Share& share = {});

}  // namespace transport
