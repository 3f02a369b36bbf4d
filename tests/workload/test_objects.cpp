#include "gpuadm/workload/objects.hpp"

#include <doctest/doctest.h>

namespace {

/// What Kubernetes makes of a value if no variable exists but X (third_party/forked/golang/expansion).
std::string expanded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + 1);
    if (text[i] == '$' && rest.starts_with('$')) {
      ++i;
    } else if (text[i] == '$' && rest.starts_with("(X)")) {
      out += "value of X";
      i += 3;
      continue;
    }
    out += text[i];
  }
  return out;
}

}  // namespace

TEST_CASE("values of the command line are literal in a container") {
  for (const char* text :
       {"$(X)", "$$(X)", "$$$(X)", "$$", "$$$", "echo $$ $(X) $HOME $", "$($(X))", "plain", ""})
    CHECK_MESSAGE(expanded(workload::literal(text)) == text, text);
  // What is not expanded is not changed.
  CHECK(workload::literal("echo $HOME ${X} $") == "echo $HOME ${X} $");
}

TEST_CASE("a name must be a DNS label that leaves space for suffixes") {
  CHECK(workload::check_name("notebook", "anna-2"));
  for (const char* bad : {"", "Anna", "a_b", "-a", "a-", "a.b", "ä", "a b"})
    CHECK_MESSAGE(!workload::check_name("notebook", bad), bad);
  CHECK(!workload::check_name("notebook", std::string(51, 'a')));
  const auto error = workload::check_name("notebook", "Anna");
  CHECK(error.error().what == "invalid name of a notebook: Anna: 'A' is not allowed");
}

TEST_CASE("a new workload with a Service begins with a letter") {
  CHECK(workload::check_service_name("notebook", "a1"));
  const auto error = workload::check_service_name("training job", "1m");
  REQUIRE(!error);
  CHECK(error.error().what == "invalid name of a training job: 1m: it begins with a digit");
  CHECK(error.error().hint.find("beginning with a letter") != std::string::npos);
  CHECK(workload::check_name("storage claim", "1m"));
  CHECK(workload::check_namespace("1m"));
}

TEST_CASE("the selector of all workloads needs the label of a kind") {
  CHECK(workload::selector_of("notebook", "anna") ==
        "app.kubernetes.io/managed-by=gpuadm,gpuadm.io/kind=notebook,gpuadm.io/name=anna");
  CHECK(workload::selector_of("") == "app.kubernetes.io/managed-by=gpuadm,gpuadm.io/kind");
}

TEST_CASE("quantities are those of Kubernetes") {
  CHECK(*workload::bytes_of("--size", "10Gi") == 10LL << 30);
  CHECK(*workload::bytes_of("--size", "500M") == 500'000'000);
  CHECK(*workload::bytes_of("--size", "1.5Ki") == 1536);
  CHECK(*workload::millicpus_of("--cpus", "0.5") == 500);
  CHECK(*workload::millicpus_of("--cpus", "500m") == 500);
  for (const char* bad : {"", "0", "-1", "10GB", "ten", "1e3", "nan", "inf", "Gi", "9999999999Pi"})
    CHECK_MESSAGE(!workload::bytes_of("--size", bad), bad);
}

TEST_CASE("a size below 1Mi is refused, because its unit is missing") {
  CHECK(*workload::size_of("--size", "1Mi") == 1LL << 20);
  CHECK(*workload::size_of("--size", "10737418240") == 10LL << 30);
  const auto refused = [](std::string_view option, std::string_view size) {
    const auto bytes = workload::size_of(option, size);
    return bytes ? "accepted" : bytes.error().what + " / " + bytes.error().hint;
  };
  CHECK(refused("--memory", "10") == "--memory: 10 is 10 B, less than 1Mi / did you mean 10Gi?");
  CHECK(refused("--set size", "1k") ==
        "--set size: 1k is 1000 B, less than 1Mi / for example --set size=10Gi");
  CHECK(refused("--size", "ten") == "--size: not a quantity above zero: ten / for example --size 10Gi");
}

TEST_CASE("a volume is mounted at a directory in which a container can run") {
  const auto refused = [](std::string_view directory) {
    const auto checked = workload::check_mount("--mount", directory, "--mount /data");
    return checked ? "accepted" : checked.error().what;
  };
  for (const char* good : {"/data", "/home/jovyan/work/", "/dev/shmx", "/a..b", "/procedures"})
    CHECK_MESSAGE(refused(good) == "accepted", good);
  CHECK(refused("work") == "--mount: work: not an absolute directory");
  for (const char* root : {"/", "//", "/."})
    CHECK(refused(root) ==
          std::string("--mount: ") + root + ": it is the root directory, which holds the files of the image");
  CHECK(refused("/dev/shm/") == "--mount: /dev/shm/: it is shared memory: see --shm");
  for (const char* kernel : {"/proc", "/sys/x", "/dev"})
    CHECK(refused(kernel) == std::string("--mount: ") + kernel + ": it belongs to the kernel");
  CHECK(refused("/a/..") == "--mount: /a/..: '..' is not allowed");
  CHECK(refused("/a:b") == "--mount: /a:b: ':' is not allowed");
  CHECK(refused("/" + std::string(1024, 'a')).ends_with("the path is too long"));
}
