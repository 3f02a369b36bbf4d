#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/serve.hpp"

#include <fmt/format.h>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* option_names[] = {"storage", "hub", "revision", "gpus", "context"};

std::vector<std::string> words_of(const Tree* list) {
  std::vector<std::string> words;
  if (list)
    for (const Tree& word : list->items()) words.push_back(word.text());
  return words;
}

}  // namespace

std::vector<std::string> engine_names(const Tree& catalog) {
  std::vector<std::string> names;
  if (const Tree* rows = catalog.find("serve"))
    for (const auto& [name, row] : rows->entries()) names.push_back(name);
  return names;
}

Result<Engine> engine_of(const Tree& catalog, const std::string& name) {
  const Tree* row = catalog.at({"serve", name});
  if (!row)
    return base::fail(Fault::usage, fmt::format("--engine: unknown engine {}", base::printable(name, 50)),
                      fmt::format("one of {}; or --image IMAGE --server-port PORT --health PATH",
                                  base::join(engine_names(catalog), ", ")));
  Engine engine;
  engine.name = name;
  if (const Tree* images = row->find("images")) engine.images = *images;
  engine.command = words_of(row->find("command"));
  for (const char* option : option_names)
    if (const Tree* words = row->find(option)) engine.options[option] = words_of(words);
  engine.port = static_cast<std::uint16_t>(base::to_int(text_of(*row, "port")).value_or(0));
  engine.health = text_of(*row, "health");
  engine.metrics = text_at(*row, {"metrics", "path"});
  engine.metrics_port =
      static_cast<std::uint16_t>(base::to_int(text_at(*row, {"metrics", "port"})).value_or(engine.port));
  engine.metrics_need_key = text_at(*row, {"metrics", "key"}) == "true";
  engine.no_key = text_at(*row, {"key", "none"});
  engine.key_variable = text_at(*row, {"key", "variable"});
  engine.key_option = text_at(*row, {"key", "option"});
  engine.key_text = text_at(*row, {"key", "text"});
  engine.formats = words_of(row->find("formats"));
  if (const Tree* variables = row->find("environment"))
    for (const auto& [variable, value] : variables->entries()) engine.environment[variable] = value.text();
  engine.user = base::to_int(text_of(*row, "user")).value_or(0);
  engine.api = row->find("api") ? text_of(*row, "api") : "openai";
  return engine;
}

}  // namespace workload
