"""Writes the files of Llama 3.1 8B, as far as gpuadm reads them: python3 model-files.py FOLDER

config.json has the values of https://huggingface.co/meta-llama/Llama-3.1-8B; model.safetensors has the header with all tensors, and a hole
of their size in place of their values.
"""

import json
import os
import struct
import sys

folder = sys.argv[1]
hidden, inner, layers, heads, kv_heads, vocabulary = 4096, 14336, 32, 32, 8, 128256
config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": inner,
    "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": vocabulary,
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False, "hidden_act": "silu",
}  # fmt: skip
narrow = hidden // heads * kv_heads
shapes = {"model.embed_tokens.weight": [vocabulary, hidden], "model.norm.weight": [hidden], "lm_head.weight": [vocabulary, hidden]}
for layer in range(layers):
    parts = {
        "self_attn.q_proj": [hidden, hidden], "self_attn.k_proj": [narrow, hidden], "self_attn.v_proj": [narrow, hidden],
        "self_attn.o_proj": [hidden, hidden], "mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden],
        "mlp.down_proj": [hidden, inner], "input_layernorm": [hidden], "post_attention_layernorm": [hidden],
    }  # fmt: skip
    shapes.update({f"model.layers.{layer}.{name}.weight": shape for name, shape in parts.items()})
header, end = {}, 0
for name, shape in shapes.items():
    size = 2
    for number in shape:
        size *= number
    header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
    end += size
text = json.dumps(header).encode()
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "config.json"), "w") as file:
    json.dump(config, file)
with open(os.path.join(folder, "model.safetensors"), "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    file.truncate(8 + len(text) + end)
