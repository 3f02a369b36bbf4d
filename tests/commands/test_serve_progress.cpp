#include "commands/workloads/serve/model/copy_model.hpp"
#include "commands/workloads/serve/progress.hpp"

#include <doctest/doctest.h>

using Kind = workload::ModelSource::Kind;

TEST_CASE("an engine that loads says how much of the model it has") {
  constexpr std::uint64_t gib = 1u << 30;
  CHECK(commands::loading_line("gpu1", Kind::hub, 7 * gib, 15 * gib) ==
        "downloading the model on gpu1: 7.0 GiB of 15.0 GiB");
  CHECK(commands::loading_line("gpu1", Kind::hub, 7 * gib, 0) == "downloading the model on gpu1: 7.0 GiB");
  CHECK(commands::loading_line("gpu1", Kind::hub, 15 * gib, 15 * gib) == "loading the model on gpu1");
  CHECK(commands::loading_line("gpu1", Kind::hub, std::nullopt, 15 * gib) ==
        "downloading or loading the model on gpu1");
  CHECK(commands::loading_line("", Kind::storage, std::nullopt, 0) == "loading the model");
}

TEST_CASE("a path of this machine is known from a claim and a hub") {
  for (const char* text : {"./m", "/srv/m", "../m", "m.gguf"}) CHECK(commands::is_local_model(text));
  for (const char* text : {"models:/m.gguf", "hf:a/b", "hf:a/b-GGUF", "m", "models:/m"})
    CHECK_FALSE(commands::is_local_model(text));
}
