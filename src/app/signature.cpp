#include "app/signature.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "app/here.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace app {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using base::Result;

constexpr std::chrono::seconds patience{60};

/// A folder of ours (0700) that goes when this does.
struct Scratch {
  fs::path path;
  Scratch() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "gpuadm-sign.XXXXXX").string();
    if (!error && ::mkdtemp(name.data())) path = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    if (!path.empty()) fs::remove_all(path, error);
  }
};

Result<> needs_folder(const Scratch& scratch) {
  if (!scratch.path.empty()) return {};
  return base::fail(Fault::usage, "cannot make a temporary folder",
                    "set TMPDIR to a folder that you may write to");
}

}  // namespace

base::Result<std::string> sign(const std::string& text, const std::filesystem::path& key) {
  const Scratch scratch;
  TRY(needs_folder(scratch));
  TRY(base::write_file(scratch.path / "text", text));
  const auto exit = TRY(run_here(
      "sign the bundle", {{"key", fs::absolute(key).string()}, {"text", (scratch.path / "text").string()}},
      "command -v ssh-keygen >/dev/null || { echo 'there is no ssh-keygen' >&2; exit 1; }\n"
      "SSH_ASKPASS=/bin/false ssh-keygen -q -Y sign -f \"$key\" -n gpuadm-bundle \"$text\"\n",
      patience));
  if (exit.status != 0)
    return base::fail(
        Fault::usage, fmt::format("cannot sign with {}: {}", key.string(), base::tail(exit.err, 3)),
        "name a private key without a passphrase, or the .pub file of a key that ssh-agent holds");
  return base::read_file(scratch.path / "text.sig", 64u << 10);
}

std::filesystem::path signers_file(const std::filesystem::path& asked) {
  std::error_code error;
  const fs::path usual = base::config_directory() / "allowed_signers";
  if (asked.empty() && fs::exists(usual, error)) return usual;
  return asked;
}

base::Result<std::string> signer_of(const std::string& text, const std::string& signature,
                                    const std::filesystem::path& signers, const std::string& source) {
  std::error_code error;
  if (!fs::is_regular_file(signers, error))
    return base::fail(Fault::usage, fmt::format("{}: no such file", signers.string()),
                      "each line of it is a name and a public key, as ssh-keygen(1) says of allowed_signers");
  if (signature.empty())
    return base::fail(
        Fault::spec,
        fmt::format("{}: is not signed, and {} says whose signatures count", source, signers.string()),
        "have it signed: `gpuadm bundle create --sign KEY`");
  const Scratch scratch;
  TRY(needs_folder(scratch));
  TRY(base::write_file(scratch.path / "text", text));
  TRY(base::write_file(scratch.path / "sig", signature));
  const auto exit =
      TRY(run_here("verify the signature",
                   {{"signers", fs::absolute(signers).string()},
                    {"text", (scratch.path / "text").string()},
                    {"sig", (scratch.path / "sig").string()}},
                   "command -v ssh-keygen >/dev/null || { echo 'there is no ssh-keygen' >&2; exit 1; }\n"
                   "who=$(ssh-keygen -Y find-principals -s \"$sig\" -f \"$signers\" </dev/null) || exit\n"
                   "who=$(printf '%s\\n' \"$who\" | head -n 1)\n"
                   "ssh-keygen -q -Y verify -f \"$signers\" -I \"$who\" -n gpuadm-bundle -s \"$sig\" "
                   "<\"$text\" >&2 || exit\n"
                   "printf '%s\\n' \"$who\"\n",
                   patience));
  if (exit.status != 0)
    return base::fail(
        Fault::spec,
        fmt::format("{}: its signature is of nobody whom {} names, or not of this manifest ({})", source,
                    signers.string(), base::tail(exit.err, 1)),
        "do not use it, unless you know who has changed it");
  return base::printable(base::trim(exit.out), 200);
}

}  // namespace app
