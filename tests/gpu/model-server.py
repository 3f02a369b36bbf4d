"""An inference server for tests on a machine with a GPU: a Llama in the machine's PyTorch, with random weights.

    python3 model-server.py CONFIG.json [--context TOKENS] [--sequences N] [--port PORT] [--device cuda|cpu] [--no-graph]

CONFIG.json is a model's config.json. The weights have the sizes and the type that it says; their values are random, so the words mean
nothing, and the arithmetic is that of the real model. The cache for `sequences` sequences of `context` tokens is allocated at the start, as
engines do, and a token is computed by a CUDA graph. If the container has several GPUs, each of them has a part of every matrix and of the
cache (tensor parallelism), with one process a GPU, and NCCL between them. Answers GET /health and /v1/models and POST /v1/completions,
streamed, with the key of $API_KEY.
"""

import argparse
import http.server
import json
import os
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as distributed
import torch.nn.functional as functional

parser = argparse.ArgumentParser()
parser.add_argument("config")
parser.add_argument("--context", type=int, default=8192)
parser.add_argument("--sequences", type=int, default=1)
parser.add_argument("--port", type=int, default=8000)
parser.add_argument("--device", default="cuda")
parser.add_argument("--ranks", type=int, help="by default the number of GPUs")
parser.add_argument("--no-graph", action="store_true")
options = parser.parse_args()
key = os.environ["API_KEY"]
started = time.monotonic()
rank = int(os.environ.get("RANK", "0"))
on_gpu = options.device == "cuda"
ranks = options.ranks or (torch.cuda.device_count() if on_gpu else 1)
device = torch.device(options.device, rank) if on_gpu else torch.device("cpu")
with open(options.config) as file:
    config = json.load(file)
kind = getattr(torch, config["torch_dtype"])
layers, hidden = config["num_hidden_layers"], config["hidden_size"]
head = hidden // config["num_attention_heads"]
# The part of this process.
heads, kv_heads = config["num_attention_heads"] // ranks, config["num_key_value_heads"] // ranks
inner, vocabulary = config["intermediate_size"] // ranks, config["vocab_size"] // ranks


def log(*words):
    print(f"{time.monotonic() - started:6.1f} s", *words, file=sys.stderr, flush=True)


def used():
    if not on_gpu:
        return "no GPU"
    free, total = torch.cuda.mem_get_info()
    return f"{(total - free) / 2**30:.2f} GiB of the GPU are used, {torch.cuda.memory_reserved() / 2**30:.2f} GiB by PyTorch"


followers = []
if ranks > 1:
    os.environ.setdefault("USE_LIBUV", "0")  # PyTorch may have been built without libuv
    if rank == 0:
        followers = [
            subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": str(other)}, stdin=subprocess.PIPE, text=True)
            for other in range(1, ranks)
        ]
    if on_gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group(
        "nccl" if on_gpu else "gloo", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=ranks, device_id=device if on_gpu else None
    )


def total(values):
    """The sum over all ranks."""
    if ranks > 1:
        distributed.all_reduce(values)
    return values


def matrix(rows, columns):
    return torch.empty(rows, columns, dtype=kind, device=device).normal_(0, 0.02)


torch.manual_seed(1 + rank)
embedding, output = matrix(vocabulary, hidden), matrix(vocabulary, hidden)
weights = [
    {
        "qkv": matrix((heads + 2 * kv_heads) * head, hidden),
        "o": matrix(hidden, heads * head),
        "up": matrix(2 * inner, hidden),
        "down": matrix(hidden, inner),
        "norms": torch.ones(2, hidden, dtype=kind, device=device),
    }
    for _ in range(layers)
]
last_norm = torch.ones(hidden, dtype=kind, device=device)
size = sum(values.numel() * values.element_size() for layer in weights for values in layer.values())
log(f"rank {rank} of {ranks}: {size + 2 * embedding.numel() * embedding.element_size()} bytes of {kind};", used())
# One sequence is computed at a time; the others' part of the cache is reserved.
cache = torch.zeros(layers, 2, kv_heads, options.context, head, dtype=kind, device=device)
reserved = torch.empty((options.sequences - 1) * cache.numel(), dtype=kind, device=device)
places = torch.arange(options.context, device=device)
angles = places[:, None] * config["rope_theta"] ** (-torch.arange(0, head, 2, device=device) / head)
cosines, sines = torch.cos(angles).to(kind), torch.sin(angles).to(kind)


def norm(values, scale):
    return functional.rms_norm(values, (hidden,), scale, config["rms_norm_eps"])


def turned(values, at):
    """Rotary position embedding; values: heads, tokens, numbers."""
    left, right = values.chunk(2, dim=-1)
    cosine, sine = cosines[at], sines[at]
    return torch.cat([left * cosine - right * sine, right * cosine + left * sine], dim=-1)


def attention(query, layer, at):
    """Of all tokens among themselves, or of one token with the cache up to it."""
    keys, values = cache[layer]
    if len(at) > 1:
        keys, values = keys[:, : len(at)], values[:, : len(at)]
        groups = heads // kv_heads
        keys, values = keys.repeat_interleave(groups, 0), values.repeat_interleave(groups, 0)
        return functional.scaled_dot_product_attention(query[None], keys[None], values[None], is_causal=True)[0]
    scores = query.view(kv_heads, -1, head) @ keys.transpose(1, 2) / head**0.5
    scores = scores.masked_fill(places > at, float("-inf"))
    return (scores.float().softmax(-1).to(kind) @ values).view(heads, 1, head)


def next_token(tokens, at):
    """The token after these, which are at the places `at`, as a tensor."""
    local = tokens - rank * vocabulary
    outside = (local < 0) | (local >= vocabulary)
    state = total(embedding[local.clamp(0, vocabulary - 1)].masked_fill(outside[:, None], 0))
    for layer, part in enumerate(weights):
        rows = functional.linear(norm(state, part["norms"][0]), part["qkv"]).view(len(tokens), -1, head).transpose(0, 1)
        query, keys, values = rows.split([heads, kv_heads, kv_heads])
        cache[layer, 0].index_copy_(1, at, turned(keys, at))
        cache[layer, 1].index_copy_(1, at, values)
        seen = attention(turned(query, at), layer, at).transpose(0, 1).reshape(len(tokens), -1)
        state = state + total(functional.linear(seen, part["o"]))
        gate, up = functional.linear(norm(state, part["norms"][1]), part["up"]).chunk(2, dim=-1)
        state = state + total(functional.linear(functional.silu(gate) * up, part["down"]))
    logits = functional.linear(norm(state[-1:], last_norm), output)[0]
    if ranks > 1:
        all_logits = torch.empty(ranks * vocabulary, dtype=kind, device=device)
        distributed.all_gather_into_tensor(all_logits, logits)
        logits = all_logits
    return logits.argmax()


graph = None
one_token = torch.zeros(1, dtype=torch.int64, device=device)
one_place = torch.zeros(1, dtype=torch.int64, device=device)


@torch.inference_mode()
def step(tokens, place):
    for follower in followers:
        follower.stdin.write(json.dumps([tokens, place]) + "\n")
        follower.stdin.flush()
    if len(tokens) > 1 or not graph:
        return int(next_token(torch.tensor(tokens, device=device), torch.arange(place, place + len(tokens), device=device)))
    one_token.fill_(tokens[0])
    one_place.fill_(place)
    graph.replay()
    return int(graph_result)


@torch.inference_mode()
def capture():
    """A graph of one token's step: of each rank at the same time."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            next_token(one_token, one_place)
    torch.cuda.current_stream().wait_stream(side)
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        result = next_token(one_token, one_place)
    return made, result


if on_gpu and not options.no_graph:
    graph, graph_result = capture()
    log(f"rank {rank}: the graph is captured;", used())
if rank > 0:
    for line in sys.stdin:
        step(*json.loads(line))
    raise SystemExit
turn = threading.Lock()


def complete(tokens, count):
    """The tokens after these, one at a time."""
    with turn:
        token = step(tokens, 0)
        for place in range(len(tokens), len(tokens) + count):
            yield token
            if place + 1 < len(tokens) + count:
                token = step([token], place)


# The largest step: engines measure it before they allocate the cache.
for _ in complete([index % config["vocab_size"] for index in range(min(options.context - 8, 8192))], 4):
    pass
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
        prompt = [byte % config["vocab_size"] for byte in request["prompt"].encode()][: options.context // 2]
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
