#include "commands/workloads/serve/model/model_place.hpp"
#include "model/files.hpp"
#include "transport/place.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& head, std::uint64_t size) {
  std::ofstream(path, std::ios::binary) << head;
  fs::resize_file(path, size);
}

/// A storage of this machine with models in the claim `models` of the namespace `default`.
struct WithModels {
  testing_transport::Place place;
  fs::path claim = place.path / "gpuadm-data/claims/default/models";
  transport::SessionPtr session = transport::make_session({}, {});
  transport::Fleet fleet{1, nullptr};
  spec::Cluster cluster;
  assets::Store assets = assets::Store::open({}).value();

  WithModels() {
    fs::create_directories(claim / "llama");
    fs::permissions(place.path / "gpuadm-data", fs::perms::owner_all);
    fs::permissions(claim, fs::perms::all);
    for (const model::File& file : model_files::tiny_safetensors().files)
      write(claim / "llama" / file.name, file.head, file.size);
    const model::File gguf =
        model_files::tiny_gguf().tokens(1'000'000).file("x.gguf", model_files::tiny_gguf_data);
    write(claim / "x.gguf", gguf.head, gguf.size);
    fleet.add("here", transport::open(*session, "here", {.local = true}));
    cluster.hosts.push_back({.name = "here"});
    spec::Storage storage;
    storage.name = "data";
    storage.kind = spec::StorageKind::path;
    storage.path = place.path.string();
    cluster.storage.push_back(storage);
  }
  commands::Result<model::Model> read(const char* text) {
    const auto model_place = TRY(commands::parse_model_place(text));
    return model::read(TRY(commands::read_storage_model(model_place, "default", cluster, fleet, assets)));
  }
};

}  // namespace

TEST_CASE("serve check: a model on a storage is read by the claim, or by the storage and the claim") {
  if (::geteuid() != 0) {
    MESSAGE("left out: needs root");
    return;
  }
  WithModels with;
  for (const char* text : {"models:/llama", "data:/models/llama"}) {
    CAPTURE(text);
    const auto model = with.read(text);
    REQUIRE_MESSAGE(model, (model ? "" : model.error().what));
    CHECK(model->bytes == 4096);
    CHECK(model->place == text);
  }
  // The header is larger than the first piece.
  const auto gguf = with.read("models:/x.gguf");
  REQUIRE_MESSAGE(gguf, (gguf ? "" : gguf.error().what));
  CHECK(gguf->architecture == "llama");
  const auto missing = with.read("models:/none");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().fault == base::Fault::usage);
  CHECK(missing.error().what.find("claims/default/models/none does not exist") != std::string::npos);
  write(with.claim / "llama/model.safetensors", "<!doctype html><html>", 21);
  const auto page = with.read("models:/llama");
  REQUIRE_FALSE(page);
  CHECK(page.error().what ==
        "models:/llama: model.safetensors: is an HTML page and not a part of a model: a login or "
        "error page was downloaded");
}
