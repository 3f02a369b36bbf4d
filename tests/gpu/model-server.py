"""An inference server for tests on a machine with a GPU: the machine's PyTorch and transformers, with random weights.

    python3 model-server.py CONFIG.json [--context TOKENS] [--sequences N] [--port PORT]

CONFIG.json is a model's config.json. The weights have the sizes and the type that it says; their values are random, so the words mean
nothing, and the arithmetic is that of the real model. The cache for `sequences` sequences of `context` tokens is allocated at the start, as
engines do. Answers GET /health and /v1/models and POST /v1/completions, streamed, with the key of $API_KEY.
"""

import argparse
import http.server
import json
import os
import sys
import threading
import time

import torch
import transformers

parser = argparse.ArgumentParser()
parser.add_argument("config")
parser.add_argument("--context", type=int, default=8192)
parser.add_argument("--sequences", type=int, default=1)
parser.add_argument("--port", type=int, default=8000)
options = parser.parse_args()
key = os.environ["API_KEY"]
started = time.monotonic()


def log(*words):
    print(f"{time.monotonic() - started:6.1f} s", *words, file=sys.stderr, flush=True)


def used():
    free, total = torch.cuda.mem_get_info()
    return f"{(total - free) / 2**30:.2f} GiB of the GPU are used, {torch.cuda.memory_reserved() / 2**30:.2f} GiB by PyTorch"


torch.manual_seed(1)
config = transformers.AutoConfig.from_pretrained(options.config)
kind = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None) or torch.bfloat16
torch.set_default_dtype(kind)
with torch.device("cuda"), torch.no_grad():
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
torch.set_default_dtype(torch.float32)
parameters = sum(parameter.numel() for parameter in model.parameters())
log(f"{parameters} parameters of {kind}, {sum(p.numel() * p.element_size() for p in model.parameters())} bytes;", used())
cache = transformers.StaticCache(config=config, max_cache_len=options.context)
head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
heads = config.num_key_value_heads
# One sequence is computed at a time; the others' part of the cache is reserved.
reserved = torch.empty(
    (options.sequences - 1) * options.context * config.num_hidden_layers * 2 * heads * head, dtype=kind, device="cuda"
)
turn = threading.Lock()


@torch.inference_mode()
def step(tokens, place):
    ids = torch.tensor([tokens], device="cuda")
    positions = torch.arange(place, place + len(tokens), device="cuda")
    output = model(input_ids=ids, past_key_values=cache, cache_position=positions, position_ids=positions[None], use_cache=True, logits_to_keep=1)
    return int(output.logits[0, -1].argmax())


def complete(tokens, count):
    """The tokens after these, one at a time."""
    with turn:
        with torch.inference_mode():
            cache.reset()
        token = step(tokens, 0)
        for place in range(len(tokens), len(tokens) + count):
            yield token
            if place + 1 < len(tokens) + count:
                token = step([token], place)


# The largest step: engines measure it before they allocate the cache.
for _ in complete([index % config.vocab_size for index in range(min(options.context - 8, 8192))], 4):
    pass
torch.cuda.synchronize()
log(f"ready; cache of {options.sequences} x {options.context} tokens;", used())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_allowed(self):
        if self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self.answer(401, {"error": {"message": "the API key is missing or wrong"}})
        return False

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, {})
        elif self.is_allowed():
            self.answer(200, {"object": "list", "data": [{"id": "model", "object": "model"}]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.is_allowed():
            return
        request = json.loads(body)
        prompt = [byte % config.vocab_size for byte in request["prompt"].encode()][: options.context // 2]
        count = min(int(request.get("max_tokens", 16)), options.context // 2)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for token in complete(prompt, count):
            self.event({"choices": [{"index": 0, "text": f" {token}", "finish_reason": None}]})
        self.event({"choices": [], "usage": {"prompt_tokens": len(prompt), "completion_tokens": count}})
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, content):
        self.chunk(b"data: " + json.dumps(content).encode() + b"\n\n")

    def chunk(self, content):
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()


http.server.ThreadingHTTPServer(("", options.port), Handler).serve_forever()
