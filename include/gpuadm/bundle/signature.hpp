#pragma once

#include "gpuadm/base/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// Bundle signatures: OpenSSH signatures of the manifest, in the namespace gpuadm-bundle (ssh-keygen(1), -Y).
namespace bundle {

/// Signs a text with a private key, or with the key in the agent whose public half is in the file.
[[nodiscard]] base::Result<std::string> sign(const std::string& text, const std::filesystem::path& key);

/// Files with trusted signers, in OpenSSH's format (ssh-keygen(1), ALLOWED SIGNERS).
using Signers = std::vector<std::filesystem::path>;

/// `asked`, otherwise each existing file of ~/.config/gpuadm/allowed_signers, the same file of the user who
/// called sudo, and /etc/gpuadm/allowed_signers. Existing files are used even if they turn out to be
/// unreadable.
[[nodiscard]] Signers signers_files(const std::filesystem::path& asked);

/// The signer of the text; Fault::spec if it is signed by none of them; Fault::usage if a file cannot be
/// read, or can be written by others than its owner. `source` is the bundle's name in errors.
[[nodiscard]] base::Result<std::string> signer_of(const std::string& text, const std::string& signature,
                                                  const Signers& signers, const std::string& source);

/// The warning if there are no trusted signers.
[[nodiscard]] std::string nobody_verified(const std::filesystem::path& bundle);

}  // namespace bundle
