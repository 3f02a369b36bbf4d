#!/usr/bin/env bash
# Whether a model fits, from the headers of its files: a folder, a GGUF file and a hub. An invalid model is named with place and reason.
. "$(dirname "$0")/common"
needs python3

cat >make.py <<'END'
import json, os, struct

def safetensors(path, cut=0):
    header = json.dumps({"model.layers.0.w": {"dtype": "BF16", "shape": [1024, 512], "data_offsets": [0, 1 << 20]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + (1 << 20) - cut)

def text(value):
    return struct.pack("<Q", len(value)) + value.encode()

def gguf(path, cut=0):
    numbers = {"block_count": 32, "embedding_length": 4096, "attention.head_count": 32, "attention.head_count_kv": 8,
               "context_length": 8192, "feed_forward_length": 14336, "vocab_size": 128256}
    keys = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in numbers.items():
        keys += text("llama." + key) + struct.pack("<II", 4, value)
    # A vocabulary that is larger than the first piece that is read.
    tokens = text("token-of-the-vocabulary")
    keys += text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 400000) + tokens * 400000
    tensor = text("blk.0.attn_q.weight") + struct.pack("<IQQIQ", 2, 4096, 4096, 12, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(numbers) + 2) + keys + tensor
    head += bytes(-len(head) % 32)
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + 4096 * 4096 // 256 * 144 - cut)

config = {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
          "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
          "torch_dtype": "bfloat16"}
for name, changes in {"llama": {}, "strange": {"architectures": ["MambaForCausalLM"]}, "cut": {}, "page": {}, "empty": {}}.items():
    os.mkdir(name)
    json.dump(config | changes, open(f"{name}/config.json", "w"))
    if name != "empty":
        safetensors(f"{name}/model.safetensors", cut=10 if name == "cut" else 0)
open("page/config.json", "w").write("<!DOCTYPE html><html><body>Sign in</body></html>")
gguf("llama.gguf")
gguf("cut.gguf", cut=1)
open("wrong.gguf", "w").write("PK\3\4 and more")
open("pointer.gguf", "w").write("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4920734624\n")
END
python3 make.py

# --- What fits ----------------------------------------------------------------------------------------------
exits 0 gpuadm serve check llama --gpu-memory 80GiB --gpu-product H200 --context 32768 --concurrency 4
says 'weights 1.0 MiB + cache 16.0 GiB (32,768 tokens x 4) + 3.0 GiB, of 72.0 GiB that vllm uses of 80.0 GiB free: fits on 1 GPU; at most 131,072 x 4'
says 'cache     128.0 KiB a token'
exits 3 gpuadm serve check llama --gpu-memory 16GiB --gpu-product T4
says 'does not fit on 1 GPU'
says 'T4 lacks bf16: its compute capability is 7.5, needed is 8.0'
says '--dtype half'
exits 3 gpuadm serve check llama --gpu-memory 24GiB --gpu-product L4 --concurrency 2
says 'fits with a context of 76,288 tokens (--context 76288); or 1 at once (--concurrency 1); or a cache of 8 bits (--cache-type fp8)'
exits 3 gpuadm serve check llama --gpu-memory 80GiB --gpu-product H200 --gpus 3
says '32 attention heads cannot be divided among 3 GPUs'
exits 3 gpuadm serve check llama --gpu-memory 80GiB --gpu-product H200 --context 200000
says 'is longer than the 131,072 that the model was trained for: --context 131072'
exits 0 gpuadm serve check llama.gguf --gpu-memory 24GiB
says 'llama, 16.8 million parameters, Q4_K'
says 'of 24.0 GiB free: fits on 1 GPU; at most 8,192 x'
exits 0 gpuadm serve check llama.gguf --gpu-memory 24GiB -o json
python3 -c 'import json; r = json.load(open("out")); h = r["hosts"][0]
assert r["fits"] and h["fits"] and h["cacheBytes"] == 8192 * 131072 and r["model"]["quantization"] == "Q4_K", r' || fail "the JSON differs"
# Never fine what is unknown.
exits 3 gpuadm serve check strange --gpu-memory 80GiB --gpu-product H200
says 'unknown whether it fits'
says 'gpuadm does not know the architecture MambaForCausalLM'
exits 3 gpuadm serve check llama --gpu-memory 80GiB
says "the GPU's compute capability is unknown"
# On 80 columns every line fits.
python3 - "$GPUADM" <<'END' || fail "a line is wider than 80 columns"
import os, pty, subprocess, struct, fcntl, termios, sys
main, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
subprocess.run([sys.argv[1], "serve", "check", "llama", "--gpu-memory", "24GiB", "--gpu-product", "L4", "--concurrency", "2"], stdout=side, env=os.environ | {"TERM": "xterm"})
os.close(side)
text = b""
try:
    while piece := os.read(main, 65536): text += piece
except OSError: pass
sys.exit(max(len(line) for line in text.decode().splitlines()) > 80)
END

# --- Invalid models ---------------------------------------------------------------------------------------
exits 1 gpuadm serve check cut --gpu-memory 80GiB
complains 'cut: model.safetensors: truncated: it has'
exits 1 gpuadm serve check page --gpu-memory 80GiB
complains 'page: config.json: is an HTML page and not a part of a model'
exits 1 gpuadm serve check empty --gpu-memory 80GiB
complains 'no .safetensors and no .gguf file'
exits 1 gpuadm serve check cut.gguf --gpu-memory 80GiB
complains 'cut.gguf: truncated'
exits 1 gpuadm serve check wrong.gguf --gpu-memory 80GiB
complains "is not a GGUF file: it begins with"
exits 1 gpuadm serve check pointer.gguf --gpu-memory 80GiB
complains 'is a pointer of git-lfs'
exits 2 gpuadm serve check none --gpu-memory 80GiB
complains 'none: no such file'
mkfifo fifo.gguf
exits 2 timeout 10 "$GPUADM" serve check fifo.gguf --gpu-memory 80GiB
exits 2 gpuadm serve check llama --gpu-memory 80
complains '--gpu-memory 80: not a size'
exits 2 gpuadm serve check llama --gpu-memory 80GiB --gpu-product H2000
complains 'no product in data/gpus.csv has this name'
exits 2 gpuadm serve check llama --gpu-memory 80GiB --cache-type q3
complains '--cache-type q3: unknown'
exits 2 gpuadm serve check hf:llama --gpu-memory 80GiB
complains 'not a model of a hub'

# --- A hub --------------------------------------------------------------------------------------------------
python3 "$top/tests/lib/hub-double" >hub.log 2>&1 &
hub=$!
trap 'kill "$hub"; rm -rf "$place"' EXIT
for _ in $(seq 100); do [ ! -e port ] || break; sleep 0.1; done
HF_ENDPOINT=http://127.0.0.1:$(cat port)
export HF_ENDPOINT
checks() { gpuadm serve check "$@" --gpu-memory 80GiB --gpu-product H200; }
exits 0 checks hf:org/indexed@v1
says 'weights 15.0 GiB'
says '8.0 billion parameters, bf16'
exits 0 checks hf:org/single
says 'weights 1.0 MiB'
grep -qF '/org/single/resolve/main/config.json -' asked || fail "another revision was asked"
exits 4 checks hf:org/gated
complains 'hf:org/gated@main: gated:'
complains 'accept the license at'
exits 4 checks hf:org/private
complains '(401)'
exits 2 checks hf:org/missing
complains 'has no such model'
exits 2 checks hf:org/single@v9
complains 'has no revision v9'
exits 1 checks hf:org/busy
complains '(429): too many requests'
complains 'try again in 17s'
# An answer that ends before its announced length is not read as a model.
exits 4 checks hf:org/cut
complains '/org/cut/resolve/main/config.json'
hides 'fits on'
exits 4 checks hf:org/forbidden
complains '(403) gives this account no access'
exits 1 checks hf:org/page
complains 'hf:org/page: config.json: is an HTML page'
printf 'hf_secret-of-the-test\n' >token
exits 2 checks hf:org/gated --token-file token
chmod 0600 token
exits 4 checks hf:org/gated --token-file token
complains 'gives this account no access'
hides 'secret-of-the-test'
grep -qF 'Bearer hf_secret-of-the-test' asked || fail "the token was not sent"
HF_ENDPOINT=http://192.0.2.1 exits 2 checks hf:org/gated --token-file token
complains 'a token is not sent without TLS'
exits 2 checks llama --token-file token
complains '--token-file is for models of a hub'
HF_ENDPOINT=ftp://x exits 2 checks hf:org/single
complains 'HF_ENDPOINT'
