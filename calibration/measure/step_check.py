"""Is a step of step_model.py the transformer that it should be? Steps of a small model (chunked
prefill, a mixed batch, decodes, and sequences that are all alike) against a plain float32 transformer
without a cache that sees each sequence whole, for one rank and for two that add up their parts.
"""

import math

import torch

import step_model


class SmallConfig:
    name = "check"
    layers, hidden, intermediate, vocabulary = 2, 256, 512, 1024
    query_heads, kv_heads, head_dim = 8, 2, 128
    qkv_bias = False

    def __init__(self, qk_norm):
        self.qk_norm = qk_norm


LENGTHS = [37, 130, 300, 64, 50, 50]  # of the sequences after their prompts
SLOTS = 512  # a sequence
# Steps: [(sequence, new tokens, context after the step)], decodes first.
STEPS = [[(1, 100, 100), (2, 299, 299), (3, 63, 63)],
         [(2, 1, 300), (3, 1, 64), (0, 37, 37), (1, 30, 130)],
         [(0, 1, 38), (1, 1, 131), (2, 1, 301), (3, 1, 65)],
         [(4, 50, 50), (5, 50, 50)],
         [(4, 1, 51), (5, 1, 51)]]


def whole(models):
    """The unsharded weights, float32: layers, table, head."""
    layers = []
    for parts in zip(*(model.layers for model in models)):
        layer = {}
        for name in parts[0]:
            pieces = [part[name].float() for part in parts]
            if name == "qkv":
                widths = [models[0].query_heads * 128] + 2 * [models[0].kv_heads * 128]
                layer[name] = [torch.cat(piece) for piece in
                               zip(*(p.split(widths) for p in pieces))]
            elif name == "gate_up":
                layer[name] = [torch.cat(piece) for piece in zip(*(p.chunk(2) for p in pieces))]
            elif name in ("o", "down"):
                layer[name] = torch.cat(pieces, dim=1)
            else:
                layer[name] = pieces[0]
        layers.append(layer)
    return (layers, torch.cat([m.table[:-1].float() for m in models]),
            torch.cat([m.head.float() for m in models]))


def norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + step_model.EPSILON) * weight


def rotate(x):
    tokens, _, dim = x.shape
    angles = torch.outer(torch.arange(tokens).float(), step_model.ROPE_BASE ** (
        -torch.arange(0, dim, 2).float() / dim)).to(x.device)[:, None]
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)


def reference_logits(config, weights, ids):
    """Logits behind the last of `ids`."""
    layers, table, head = weights
    x = table[ids]
    for layer in layers:
        y = norm(x, layer["input_norm"])
        q, k, v = ((y @ w.T).unflatten(1, (-1, config.head_dim)) for w in layer["qkv"])
        if config.qk_norm:
            q, k = norm(q, layer["qk_norm"][0]), norm(k, layer["qk_norm"][1])
        q, k = rotate(q), rotate(k)
        group = config.query_heads // config.kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(config.head_dim)
        scores += torch.full_like(scores, -math.inf).triu(1)
        y = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v).flatten(1)
        x = x + y @ layer["o"].T
        y = norm(x, layer["post_norm"])
        gate, up = (y @ w.T for w in layer["gate_up"])
        x = x + (torch.nn.functional.silu(gate) * up) @ layer["down"].T
    return norm(x[-1:], torch.ones_like(x[-1])) @ head.T


def run_step(models, batches):
    """One step of all ranks in lock step, what they would exchange added up here."""
    programs = [model.program(batch) for model, batch in zip(models, batches)]
    for calls in zip(*programs):
        for _, call in calls:
            call()
        role = calls[0][0]
        if role.endswith("_all_reduce"):
            total = sum(model.x.float() for model in models).to(models[0].dtype)
            for model in models:
                model.x = total.clone()
        elif role == "logits_all_gather":
            for model in models:
                model.all_logits = torch.cat([m.logits for m in models], -1)


def check(kernels, device, dtype=torch.bfloat16):
    """The largest error of a logit, in units of the logits' standard deviation, over all cases."""
    worst = 0.0
    for tp, qk_norm in ((1, False), (1, True), (2, True)):
        config = SmallConfig(qk_norm)
        models = [step_model.RankModel(config, tp, rank, device, kernels, dtype, world=tp)
                  for rank in range(tp)]
        for model in models:
            for layer in model.layers:  # norms of ones would hide a wrong weight
                for name in layer:
                    if "norm" in name:
                        layer[name].uniform_(0.5, 1.5, generator=torch.Generator(
                            device=device).manual_seed(len(name)))
            model.allocate_cache(SLOTS * len(LENGTHS))
        weights = whole(models)
        drawn = torch.Generator().manual_seed(5)
        ids = [torch.randint(config.vocabulary, (length + 1,), generator=drawn)
               for length in LENGTHS]
        for step in STEPS:
            batch = step_model.Batch([(n, c) for _, n, c in step if n > 1],
                                     [(c, 1) for _, n, c in step if n == 1])
            new = torch.cat([ids[s][c - n:c] for s, n, c in step])
            device_batches = [step_model.DeviceBatch(batch, model, ids=new.clone())
                              for model in models]
            for device_batch in device_batches:
                place(device_batch, step)
            run_step(models, device_batches)
            for row, (s, _, context) in enumerate(step):
                expected = reference_logits(config, weights, ids[s][:context].to(device))[0]
                error = (models[0].all_logits[row].float() - expected).abs().max()
                worst = max(worst, (error / expected.std()).item())
    return worst


def place(device_batch, step):
    """Gives every sequence slots that it keeps from step to step; those alike lie side by side, as
    the dense interface takes them."""
    device = device_batch.slots.device
    first = step[0][0] if device_batch.is_dense else 0
    starts = [SLOTS * (s - first) for s, _, _ in step]
    device_batch.room = SLOTS
    device_batch.slot_offsets = torch.tensor(starts + [starts[-1] + SLOTS], dtype=torch.int32,
                                             device=device)
    device_batch.slots = torch.cat([torch.arange(start + context - new, start + context)
                                    for start, (_, new, context) in zip(starts, step)]).to(
                                        device, torch.int32)
