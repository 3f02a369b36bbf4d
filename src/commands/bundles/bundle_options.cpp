#include "commands/bundles/bundle_options.hpp"

namespace commands {

void add_source(Line& line, BundleSource& source, const char* summary) {
  line.value("--source", source.place, "public|DIR|URL", summary);
  line.list("--mirror", source.mirrors, "REGISTRY=URL,...", "Use another registry in place of this one");
  line.value("--registry-logins", source.logins, "FILE",
             "Registry credentials as written by `docker login` or `skopeo login --authfile`, mode 0600 "
             "(default ~/.docker/config.json)");
}

void add_bundle_output(Line& line, std::filesystem::path& output) {
  line.value("-o,--output", output, "DIR|FILE", "Directory (must be empty or not exist) or FILE.tar.zst")
      .required();
}

void add_sign(Line& line, std::filesystem::path& key) {
  line.value("--sign", key, "FILE", "Sign with this SSH key, as for `ssh-keygen -Y sign -f`");
}

void add_signers(Line& line, std::filesystem::path& signers) {
  line.value("--signers", signers, "FILE",
             "Trusted signers, in OpenSSH's allowed_signers format (default: in ~/.config/gpuadm and "
             "/etc/gpuadm)");
}

}  // namespace commands
