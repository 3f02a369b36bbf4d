#include "gpuadm/bundle/signature.hpp"

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/transport/run_local.hpp"

#include <fmt/format.h>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace bundle {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using base::Result;

constexpr std::chrono::seconds timeout{60};

/// A private directory (0700) that the destructor removes.
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
  return base::fail(Fault::usage, "cannot create a temporary directory",
                    "set TMPDIR to a directory that you can write to");
}

}  // namespace

base::Result<std::string> sign(const std::string& text, const std::filesystem::path& key) {
  const Scratch scratch;
  TRY(needs_folder(scratch));
  TRY(base::write_file(scratch.path / "text", text));
  const auto exit = TRY(transport::run_local(
      "sign the bundle", {{"key", fs::absolute(key).string()}, {"text", (scratch.path / "text").string()}},
      TRY(assets::Store::carried("playbooks/local/sign.sh")), timeout));
  if (exit.status != 0)
    return base::fail(Fault::usage,
                      fmt::format("cannot sign with {}: {}", key.string(), base::tail(exit.err, 3)),
                      "use a private key without a passphrase, or the .pub file of a key in ssh-agent");
  return base::read_file(scratch.path / "text.sig", 64u << 10);
}

Signers signers_files(const std::filesystem::path& asked) {
  if (!asked.empty()) return {asked};
  constexpr const char* name = "gpuadm/allowed_signers";
  Signers places = {base::config_directory() / "allowed_signers", fs::path("/etc") / name};
  // sudo may have set HOME to root's.
  const char* caller = ::geteuid() == 0 ? std::getenv("SUDO_USER") : nullptr;
  if (const passwd* entry = caller ? ::getpwnam(caller) : nullptr)
    places.push_back(fs::path(entry->pw_dir) / ".config" / name);
  std::ranges::sort(places);
  const auto same = std::ranges::unique(places);
  places.erase(same.begin(), same.end());
  // A dangling link counts as existing, and so does an unreadable path.
  std::erase_if(places, [](const fs::path& place) {
    std::error_code error;
    return fs::symlink_status(place, error).type() == fs::file_type::not_found;
  });
  return places;
}

std::string nobody_verified(const std::filesystem::path& bundle) {
  return fmt::format(
      "{}: SIGNATURE NOT VERIFIED: no trusted signers are configured; add them to "
      "~/.config/gpuadm/allowed_signers or /etc/gpuadm/allowed_signers",
      base::printable(bundle.string()));
}

namespace {

/// The lines of all files.
base::Result<std::string> signers_text(const Signers& signers) {
  std::string text;
  for (const fs::path& file : signers) {
    const char* form = "each line is a name and a public key; see allowed_signers in ssh-keygen(1)";
    std::error_code error;
    if (!fs::is_regular_file(file, error))
      return base::fail(Fault::usage,
                        fmt::format("{}: {}", file.string(), error ? error.message() : "not a regular file"),
                        form);
    struct stat about{};
    if (::stat(file.c_str(), &about) != 0 || (about.st_mode & 022) != 0)
      return base::fail(Fault::usage, file.string() + ": other users can write to it, so it is not used",
                        fmt::format("chmod go-w {}", base::quote(file.string())));
    text += TRY(base::read_file(file, 1u << 20)) + "\n";
  }
  return text;
}

std::string names_of(const Signers& signers) {
  std::vector<std::string> names;
  for (const fs::path& file : signers) names.push_back(file.string());
  return base::join(names, ", ");
}

}  // namespace

base::Result<std::string> signer_of(const std::string& text, const std::string& signature,
                                    const Signers& signers, const std::string& source) {
  const std::string all = TRY(signers_text(signers));
  if (signature.empty())
    return base::fail(Fault::spec,
                      fmt::format("{}: not signed, but {} lists trusted signers", source, names_of(signers)),
                      "sign it: `gpuadm bundle create --sign KEY`");
  const Scratch scratch;
  TRY(needs_folder(scratch));
  TRY(base::write_file(scratch.path / "text", text));
  TRY(base::write_file(scratch.path / "sig", signature));
  TRY(base::write_file(scratch.path / "signers", all));
  const auto exit =
      TRY(transport::run_local("verify the signature",
                               {{"signers", (scratch.path / "signers").string()},
                                {"text", (scratch.path / "text").string()},
                                {"sig", (scratch.path / "sig").string()}},
                               TRY(assets::Store::carried("playbooks/local/signer.sh")), timeout));
  if (exit.status != 0)
    return base::fail(
        Fault::spec,
        fmt::format("{}: the signature is not from a signer in {}, or not of this manifest ({})", source,
                    names_of(signers), base::tail(exit.err, 1)),
        "do not use the bundle unless you know who changed it");
  return base::printable(base::trim(exit.out), 200);
}

}  // namespace bundle
