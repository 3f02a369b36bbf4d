#pragma once

#include "gpuadm/base/error.hpp"

#include <filesystem>
#include <string>

/// Signatures of bundles: OpenSSH's, of the manifest, in the namespace gpuadm-bundle (ssh-keygen(1), -Y).
namespace app {

/// The signature of a text by a private key, or by the key in the agent whose public half the file holds.
[[nodiscard]] base::Result<std::string> sign(const std::string& text, const std::filesystem::path& key);

/// The file with those whose signatures count: `asked`, else ~/.config/gpuadm/allowed_signers where it is
/// there, else nothing.
[[nodiscard]] std::filesystem::path signers_file(const std::filesystem::path& asked);

/// Who of the signers has signed the text; Fault::spec where nobody has. `source` names the bundle in errors.
[[nodiscard]] base::Result<std::string> signer_of(const std::string& text, const std::string& signature,
                                                  const std::filesystem::path& signers,
                                                  const std::string& source);

}  // namespace app
