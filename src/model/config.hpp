#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/model/read.hpp"

#include <string>

namespace model {

/// How weights are quantized, as config.json says.
struct Quantization {
  std::string method;  ///< "awq", "fp8", "mxfp4", "compressed-tensors"; empty: not quantized
  std::string type;    ///< of weights: a name of types.hpp; empty: not known
};

/// What config.json says: architecture, layers, cache, and how weights are stored. Fault::parse if it is no
/// JSON object.
struct Config {
  Model model;
  Quantization quantization;
};
/// `quantization`: hf_quant_config.json of ModelOpt, which is used if config.json says nothing; nullptr:
/// there is none.
[[nodiscard]] Result<Config> read_config(const File& file, const File* quantization);

}  // namespace model
