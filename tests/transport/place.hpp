#pragma once

#include "gpuadm/transport/fleet.hpp"

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace testing_transport {

/// A temporary directory, removed at the end.
class Place {
 public:
  Place() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpuadm-test-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
  std::filesystem::path path;
};

inline transport::Command reads(std::string script) {
  transport::Command command;
  command.label = "test";
  command.script = std::move(script);
  command.as = transport::As::login;
  command.timeout = std::chrono::seconds(60);  // 40 MB through SSH, on a busy machine
  return command;
}

/// Runs one command on one transport to its end.
inline transport::Result<transport::Exit> run(transport::Fleet& fleet, const std::string& host,
                                              transport::Command command) {
  fleet.submit(host, std::move(command));
  auto completion = fleet.next();
  if (!completion) return base::fail(base::Fault::bug, "nothing came back");
  return std::move(completion->result);
}

}  // namespace testing_transport
