#include "gpuadm/base/text.hpp"
#include "gpuadm/model/fit.hpp"

#include "model/remarks.hpp"

#include <fmt/format.h>

#include <cmath>

namespace model {

namespace {

using base::Tree;

const char* name_of(Verdict verdict) {
  return verdict == Verdict::fits ? "fits" : verdict == Verdict::unknown ? "unknown" : "does not fit";
}
const char* name_of(Remark::Weight weight) {
  return weight == Remark::Weight::blocks ? "blocks" : weight == Remark::Weight::warns ? "warns" : "unknown";
}

std::string gpus_text(int gpus) {
  return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
}

template <class T>
Tree or_null(const std::optional<T>& value) {
  return value ? Tree(*value) : Tree();
}

}  // namespace

std::string sentence_of(const Fit& fit) {
  std::string text = "weights " + base::human_bytes(fit.weights);
  if (fit.cache)
    text += fmt::format(" + cache {} ({} tokens x {})", base::human_bytes(*fit.cache), grouped(fit.context),
                        fit.concurrency);
  else
    text += " + cache unknown";
  text += fit.overhead ? " + " + base::human_bytes(*fit.overhead) : " + engine unknown";
  text += fit.gpus > 1 ? " on each GPU" : "";
  if (fit.available > 0) {
    text += fmt::format(", of {}", base::human_bytes(fit.available));
    text += fit.available < fit.free
                ? fmt::format(" that {} uses of {} free", fit.engine, base::human_bytes(fit.free))
                : " free";
  }
  if (fit.verdict == Verdict::fits)
    text += fmt::format(": fits on {}", gpus_text(fit.gpus));
  else if (fit.verdict == Verdict::does_not_fit)
    text += fmt::format(": does not fit on {}", gpus_text(fit.gpus));
  else
    text += ": unknown whether it fits";
  if (fit.most_concurrency > 0)
    text += fmt::format("; at most {} x {}", grouped(fit.most_context), grouped(fit.most_concurrency));
  return text;
}

Tree to_tree(const Model& model) {
  Tree cache = Tree::list();
  for (const CacheLayers& layers : model.cache)
    cache.push(Tree::map_of({{"layers", layers.layers},
                             {"valuesPerToken", layers.values},
                             {"window", layers.window},
                             {"chunked", layers.chunked},
                             {"dividedByHeads", layers.by_heads}}));
  return Tree::map_of({{"place", model.place},
                       {"format", model.format == Format::gguf ? "gguf" : "safetensors"},
                       {"architecture", model.architecture},
                       {"unknown", model.unknown},
                       {"parameters", or_null(model.parameters)},
                       {"bytes", model.bytes},
                       {"storedBytes", model.stored},
                       {"files", model.files},
                       {"type", model.type},
                       {"quantization", model.quantization},
                       {"cacheType", model.cache_type},
                       {"weightsRead", model.weights_read},
                       {"layers", model.layers},
                       {"heads", model.heads},
                       {"kvHeads", model.kv_heads},
                       {"headSize", model.head_size},
                       {"kvRank", model.kv_rank},
                       {"ropeSize", model.rope_size},
                       {"vocabulary", model.vocabulary},
                       {"context", model.context},
                       {"experts", model.experts},
                       {"expertsUsed", model.experts_used},
                       {"cache", cache}});
}

Tree to_tree(const Fit& fit) {
  Tree remarks = Tree::list();
  for (const Remark& remark : fit.remarks)
    remarks.push(
        Tree::map_of({{"weight", name_of(remark.weight)}, {"what", remark.what}, {"fix", remark.fix}}));
  return Tree::map_of({{"verdict", name_of(fit.verdict)},
                       {"summary", sentence_of(fit)},
                       {"engine", fit.engine},
                       {"gpus", fit.gpus},
                       {"context", fit.context},
                       {"concurrency", fit.concurrency},
                       {"weightsBytes", fit.weights},
                       {"cacheBytes", or_null(fit.cache)},
                       {"cacheBytesPerToken", or_null(fit.bytes_per_token)},
                       {"overheadBytes", or_null(fit.overhead)},
                       {"freeBytes", fit.free},
                       {"availableBytes", fit.available},
                       {"mostContext", fit.most_context},
                       {"mostConcurrency", fit.most_concurrency},
                       {"diskBytes", fit.disk},
                       {"hostMemoryBytes", fit.host_memory},
                       {"shmBytes", fit.shm},
                       {"remarks", remarks},
                       {"alternatives", Tree::list_of(fit.alternatives)}});
}

}  // namespace model
