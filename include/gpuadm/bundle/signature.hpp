#pragma once

#include "gpuadm/base/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// Signatures of bundles: OpenSSH's, of the manifest, in the namespace gpuadm-bundle (ssh-keygen(1), -Y).
namespace bundle {

/// The signature of a text by a private key, or by the key in the agent whose public half the file holds.
[[nodiscard]] base::Result<std::string> sign(const std::string& text, const std::filesystem::path& key);

/// Files with those whose signatures count, in OpenSSH's form (ssh-keygen(1), ALLOWED SIGNERS).
using Signers = std::vector<std::filesystem::path>;

/// `asked`, else every one that is there of ~/.config/gpuadm/allowed_signers, the same file of who called
/// sudo, and /etc/gpuadm/allowed_signers. One that is there counts, also where it turns out that it cannot be
/// read.
[[nodiscard]] Signers signers_files(const std::filesystem::path& asked);

/// Who of the signers has signed the text; Fault::spec where nobody has; Fault::usage where a file cannot be
/// read, or others than its owner may write it. `source` names the bundle in errors.
[[nodiscard]] base::Result<std::string> signer_of(const std::string& text, const std::string& signature,
                                                  const Signers& signers, const std::string& source);

/// What is said where there are no signers.
[[nodiscard]] std::string nobody_verified(const std::filesystem::path& bundle);

}  // namespace bundle
