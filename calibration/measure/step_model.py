"""One rank of a dense transformer as serving engines run it, on random weights: for step_executor.py.

A step is a list of (role, call) in launch order, with the roles of `foretoken step`. Products are
PyTorch's (cuBLAS), attention is PyTorch's FlashAttention-2 for variable lengths on a KV cache of
slots, the small kernels are those of step_kernels.cu. A rank of a tensor-parallel layout has its
share of heads, widths and vocabulary; without a group its collectives are left out.
"""

import ctypes
import math
import pathlib
import tomllib

import torch

PAGE_TOKENS = 16  # a sequence's slots begin at a multiple of it
POSITIONS = 131072
ROPE_BASE = 500000.0
EPSILON = 1e-6


class Config:
    """The sizes of models/specs/*.toml that a dense model needs."""

    def __init__(self, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        if "moe" in values or "mla" in values:
            raise SystemExit(f"{path}: only dense models with plain attention can be executed")
        for name in ("name", "layers", "hidden", "intermediate", "query_heads", "kv_heads",
                     "head_dim", "vocabulary"):
            setattr(self, name, values[name])
        self.qk_norm = values.get("qk_norm", False)
        self.qkv_bias = values.get("qkv_bias", False)


class Batch:
    """A line of a --steps file: prefill [[new, context after]], decode [[context, sequences]]."""

    run, stands_for = "", 1  # the run that it is of, and of how many steps there it tells the time

    def __init__(self, prefill, decode):
        self.prefill = [tuple(entry) for entry in prefill]
        self.decode = [tuple(entry) for entry in decode]
        self.queries = [1] * sum(count for _, count in self.decode)
        self.contexts = [context for context, count in self.decode for _ in range(count)]
        self.queries += [new for new, _ in self.prefill]
        self.contexts += [context for _, context in self.prefill]

    @property
    def tokens(self):
        return sum(self.queries)

    @property
    def sequences(self):
        return len(self.queries)

    @property
    def phase(self):
        return "mixed" if self.prefill and self.decode else "prefill" if self.prefill else "decode"

    def slots(self):
        return sum(-(-context // PAGE_TOKENS) * PAGE_TOKENS for context in self.contexts)

    def key(self):
        return (tuple(self.prefill), tuple(self.decode))


class CudaKernels:
    """step_kernels.cu, and FlashAttention-2."""

    attention_source = "flash_attention_2"

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))

    def _call(self, name, *arguments):
        pointers = [ctypes.c_void_p(a.data_ptr()) if isinstance(a, torch.Tensor)
                    else ctypes.c_int(a) for a in arguments]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = getattr(self.library, name)(*pointers, stream)
        if status != 0:
            raise RuntimeError(f"{name}: CUDA error {status}")

    def rms_norm(self, x, weight):
        out = torch.empty_like(x)
        self._call("step_rms_norm", out, x, weight, *x.shape)
        return out

    def fused_add_rms_norm(self, x, residual, weight):
        self._call("step_fused_add_rms_norm", x, residual, weight, *x.shape)

    def qk_norm(self, qkv, weights, query_heads, kv_heads, head_dim):
        self._call("step_qk_norm", qkv, weights, qkv.shape[0], query_heads, kv_heads, head_dim,
                   qkv.shape[1])

    def rope(self, qkv, table, positions, heads, head_dim):
        self._call("step_rope", qkv, table, positions, qkv.shape[0], heads, head_dim, qkv.shape[1])

    def kv_write(self, keys, values, new, slots, width):
        self._call("step_kv_write", keys, values, new, slots, new.shape[0], width, new.stride(0))

    def silu_and_mul(self, x):
        out = x.new_empty(x.shape[0], x.shape[1] // 2)
        self._call("step_silu_and_mul", out, x, *out.shape)
        return out

    def embedding(self, table, ids):
        out = table.new_empty(ids.shape[0], table.shape[1])
        self._call("step_embedding", out, table, ids, *out.shape)
        return out

    def sample(self, logits):
        probabilities = torch.empty_like(logits)
        drawn = logits.new_empty(logits.shape[0])
        self._call("step_sample", probabilities, drawn, logits, *logits.shape)
        return probabilities

    def attention(self, q, keys, values, batch):
        """Sequences that are all alike, decodes or whole prompts, take the interface for dense
        batches, which copies no queries and may split contexts; others that for variable lengths."""
        forward = torch.ops.aten._flash_attention_forward
        if batch.is_dense:
            count = batch.batch.sequences
            keys, values = (cache[:count * batch.room].unflatten(0, (count, batch.room))
                            [:, :batch.contexts_max] for cache in (keys, values))
            return forward(q.unflatten(0, (count, -1)), keys, values, None, None,
                           batch.queries_max, batch.contexts_max, 0.0, batch.queries_max > 1,
                           False)[0].flatten(0, 1)
        return forward(q, keys, values, batch.query_offsets, batch.slot_offsets, batch.queries_max,
                       batch.contexts_max, 0.0, True, False, seqused_k=batch.context_lengths)[0]


class PlainKernels:
    """The same in plain PyTorch and float32 where it matters: what the others are checked against."""

    attention_source = "plain"

    def rms_norm(self, x, weight):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPSILON)
        return (y * weight.float()).to(x.dtype)

    def fused_add_rms_norm(self, x, residual, weight):
        residual += x
        x.copy_(self.rms_norm(residual, weight))

    def qk_norm(self, qkv, weights, query_heads, kv_heads, head_dim):
        heads = qkv[:, :(query_heads + kv_heads) * head_dim].unflatten(1, (-1, head_dim))
        heads[:, :query_heads] = self.rms_norm(heads[:, :query_heads], weights[0])
        heads[:, query_heads:] = self.rms_norm(heads[:, query_heads:], weights[1])

    def rope(self, qkv, table, positions, heads, head_dim):
        x = qkv[:, :heads * head_dim].unflatten(1, (heads, head_dim))
        cosine, sine = table[positions.long()].float()[:, None].chunk(2, dim=-1)
        first, second = x.float().chunk(2, dim=-1)
        x.copy_(torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1))

    def kv_write(self, keys, values, new, slots, width):
        keys[slots.long()] = new[:, :width].unflatten(1, keys.shape[1:])
        values[slots.long()] = new[:, width:2 * width].unflatten(1, keys.shape[1:])

    def silu_and_mul(self, x):
        gate, up = x.float().chunk(2, dim=-1)
        return (torch.nn.functional.silu(gate) * up).to(x.dtype)

    def embedding(self, table, ids):
        return table[ids.long()]

    def sample(self, logits):
        return torch.softmax(4.0 * logits, -1)

    def attention(self, q, keys, values, batch):
        outs = []
        group = q.shape[1] // keys.shape[1]
        offsets, starts = batch.query_offsets.tolist(), batch.slot_offsets.tolist()
        for i, (new, context) in enumerate(zip(batch.batch.queries, batch.batch.contexts)):
            k, v = (cache[starts[i]:starts[i] + context].float().repeat_interleave(group, 1)
                    for cache in (keys, values))
            scores = torch.einsum("qhd,khd->hqk", q[offsets[i]:offsets[i] + new].float(), k)
            seen = torch.arange(context, device=q.device) <= torch.arange(
                context - new, context, device=q.device)[:, None]
            scores = (scores / math.sqrt(q.shape[2])).masked_fill(~seen, -math.inf)
            outs.append(torch.einsum("hqk,khd->qhd", torch.softmax(scores, -1), v))
        return torch.cat(outs).to(q.dtype)


class DeviceBatch:
    """What the kernels read of a batch, on the device. Slots of consecutive sequences follow each
    other; token ids are random, the context's keys and values whatever the cache holds."""

    def __init__(self, batch, model, generator=None, ids=None):
        device, self.batch = model.device, batch

        def ints(values):
            return torch.tensor(values, dtype=torch.int32, device=device)

        starts = [0]
        for context in batch.contexts:
            starts.append(starts[-1] + -(-context // PAGE_TOKENS) * PAGE_TOKENS)
        ends = [0]
        for new in batch.queries:
            ends.append(ends[-1] + new)
        self.queries_max, self.contexts_max = max(batch.queries), max(batch.contexts)
        self.room = starts[1]
        self.is_dense = (len({*zip(batch.queries, batch.contexts)}) == 1
                         and self.queries_max in (1, self.contexts_max))
        self.query_offsets, self.slot_offsets = ints(ends), ints(starts)
        self.context_lengths = ints(batch.contexts)
        new = torch.tensor(batch.queries)
        first = torch.tensor([c - n for c, n in zip(batch.contexts, batch.queries)])
        within = torch.arange(ends[-1]) - torch.repeat_interleave(torch.tensor(ends[:-1]), new)
        positions = torch.repeat_interleave(first, new) + within
        slots = torch.repeat_interleave(torch.tensor(starts[:-1]), new) + positions
        self.positions = positions.to(device, torch.int32)
        self.slots = slots.to(device, torch.int32)
        self.logit_rows = torch.tensor(ends[1:], device=device) - 1
        if ids is None:
            ids = torch.randint(model.config.vocabulary, (ends[-1],), generator=generator)
        # Ids of another rank's share point at a row of zeros behind the table.
        share = model.vocabulary
        local = ids - model.rank * share
        if model.group is None and model.world == 1:
            local = local % share  # a share alone: every lookup finds a row
        local[(local < 0) | (local >= share)] = share
        self.ids = local.to(model.device, torch.int32)


class RankModel:
    """`tp` ways of sharding, of which this is rank `rank`. `world` > 1: other ranks exist, joined by
    `group` or in lock step by the caller, who then sums what "all_reduce" roles leave alone."""

    def __init__(self, config, tp, rank, device, kernels, dtype=torch.bfloat16, group=None,
                 world=1, seed=1):
        if config.query_heads % tp or config.intermediate % tp or config.vocabulary % (4 * tp):
            raise SystemExit(f"{config.name} cannot be shared among {tp} ranks")
        self.config, self.tp, self.rank, self.device = config, tp, rank, device
        self.kernels, self.group, self.world, self.dtype = kernels, group, world, dtype
        self.query_heads = config.query_heads // tp
        self.kv_heads = max(1, config.kv_heads // tp)
        self.intermediate = config.intermediate // tp
        self.vocabulary = config.vocabulary // tp
        self.generator = torch.Generator(device=device).manual_seed(seed * 1000 + rank)
        self.layers = [self._layer() for _ in range(config.layers)]
        self.table = self._normal(self.vocabulary + 1, config.hidden, std=1.0)
        self.table[-1].zero_()
        self.head = self._normal(self.vocabulary, config.hidden)
        self.final_norm = self._norm(config.hidden)
        angles = torch.outer(torch.arange(POSITIONS, dtype=torch.float32), ROPE_BASE ** (
            -torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim))
        self.rope_table = torch.cat((angles.cos(), angles.sin()), -1).to(device, dtype)
        self.cache = None

    def _normal(self, *shape, std=None):
        tensor = torch.empty(*shape, dtype=self.dtype, device=self.device)
        return tensor.normal_(0.0, std or shape[-1] ** -0.5, generator=self.generator)

    def _norm(self, *shape):
        return torch.ones(*shape, dtype=self.dtype, device=self.device)

    def _layer(self):
        c, d = self.config, self.config.head_dim
        width = (self.query_heads + 2 * self.kv_heads) * d
        layer = {
            "input_norm": self._norm(c.hidden),
            "qkv": self._normal(width, c.hidden),
            "o": self._normal(c.hidden, self.query_heads * d, std=(c.query_heads * d) ** -0.5),
            "post_norm": self._norm(c.hidden),
            "gate_up": self._normal(2 * self.intermediate, c.hidden),
            "down": self._normal(c.hidden, self.intermediate, std=c.intermediate ** -0.5),
        }
        if c.qk_norm:
            layer["qk_norm"] = self._norm(2, d)
        if c.qkv_bias:
            layer["qkv_bias"] = self._normal(width, std=0.02)
        return layer

    def cache_bytes_per_token(self):
        return 2 * len(self.layers) * self.kv_heads * self.config.head_dim * self.dtype.itemsize

    def allocate_cache(self, tokens):
        """Keys and values of `tokens` slots in every layer, filled as if they had been computed."""
        self.cache = torch.empty(len(self.layers), 2, tokens, self.kv_heads, self.config.head_dim,
                                 dtype=self.dtype, device=self.device)
        for layer in self.cache:
            layer.normal_(generator=self.generator)

    def _all_reduce(self, name):
        if self.group is not None:
            self.group.all_reduce(getattr(self, name))

    def _gather_logits(self):
        """Every rank's share of the vocabulary side by side. A share alone reads what is there."""
        rows = self.logits.shape[0]
        if self.group is not None:
            shares = self.logits.new_empty(self.tp, *self.logits.shape)
            self.group.all_gather(shares, self.logits)
            self.all_logits = shares.transpose(0, 1).reshape(rows, -1)

    def program(self, batch):
        """The calls of a step on a DeviceBatch; the state between them is in attributes."""
        c, k, d = self.config, self.kernels, self.config.head_dim
        linear = torch.nn.functional.linear
        q_width, kv_width = self.query_heads * d, self.kv_heads * d
        steps = []

        def embed():
            self.x = k.embedding(self.table, batch.ids)

        def first_norm():
            self.residual = self.x
            self.x = k.rms_norm(self.x, self.layers[0]["input_norm"])

        def norm(weight):
            return lambda: k.fused_add_rms_norm(self.x, self.residual, weight)

        def qkv(layer):
            def call():
                self.qkv = linear(self.x, layer["qkv"], layer.get("qkv_bias"))
            return call

        def attend(keys, values):
            def call():
                q = self.qkv[:, :q_width].unflatten(1, (self.query_heads, d))
                self.attended = k.attention(q, keys, values, batch).flatten(1)
            return call

        def project(name, source, target):
            def make(layer):
                def call():
                    setattr(self, target, linear(getattr(self, source), layer[name]))
                return call
            return make

        def activate():
            self.activated = k.silu_and_mul(self.gate_up)

        def pick():
            self.last = self.x.index_select(0, batch.logit_rows)

        def head():
            self.logits = linear(self.last, self.head)
            if self.tp == 1:
                self.all_logits = self.logits

        def cast():
            self.float_logits = self.all_logits[:batch.batch.sequences].float()

        def sample():
            self.probabilities = k.sample(self.float_logits)

        def all_reduce(role):
            if self.tp > 1 and (self.group is not None or self.world > 1):
                steps.append((role, lambda: self._all_reduce("x")))

        steps.append(("embedding", embed))
        all_reduce("embedding_all_reduce")
        for i, layer in enumerate(self.layers):
            keys, values = self.cache[i]
            steps.append(("input_norm", first_norm if i == 0 else norm(layer["input_norm"])))
            steps.append(("qkv_proj", qkv(layer)))
            if c.qk_norm:
                steps.append(("qk_norm", lambda w=layer["qk_norm"]: k.qk_norm(
                    self.qkv, w, self.query_heads, self.kv_heads, d)))
            steps.append(("rope", lambda: k.rope(
                self.qkv, self.rope_table, batch.positions, self.query_heads + self.kv_heads, d)))
            steps.append(("kv_write", lambda keys=keys, values=values: k.kv_write(
                keys, values, self.qkv[:, q_width:], batch.slots, kv_width)))
            steps.append(("attention", attend(keys, values)))
            steps.append(("o_proj", project("o", "attended", "x")(layer)))
            all_reduce("attention_all_reduce")
            steps.append(("post_attention_norm", norm(layer["post_norm"])))
            steps.append(("gate_up_proj", project("gate_up", "x", "gate_up")(layer)))
            steps.append(("activation", activate))
            steps.append(("down_proj", project("down", "activated", "x")(layer)))
            all_reduce("mlp_all_reduce")
        steps.append(("final_norm", norm(self.final_norm)))
        steps.append(("logits_gather", pick))
        steps.append(("lm_head", head))
        if self.tp > 1:
            if self.group is not None or self.world > 1:
                steps.append(("logits_all_gather", self._gather_logits))
            else:  # the other ranks' logits have no meaning here, but their number has a cost
                self.all_logits = self._normal(batch.batch.sequences, c.vocabulary, std=1.0)
        steps.append(("logits_cast", cast))
        steps.append(("sampling", sample))
        return steps


def specification(name, root=pathlib.Path(__file__).resolve().parents[2]):
    specs = root / "models" / "specs"
    path = pathlib.Path(name) if name.endswith(".toml") else specs / f"{name}.toml"
    if not path.exists():
        raise SystemExit(f"{path} does not exist: name a file of {specs} or one of your own")
    return path
