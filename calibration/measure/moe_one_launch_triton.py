#!/usr/bin/env python3
"""A whole layer of experts in one launch, as RaMP's kernel runs it, and the choice of its configuration
on the GPU.

One grid of as many programs as the GPU holds at once goes through three stages with a barrier between:
tokens are quantised (fp8, a scale for 128 of a row) while assignments are counted; assignments get their
each expert's rows padded to whole tiles; then programs take tiles in turn. A tile is `block_m`
assignments of one expert times `block_n` columns of gate and up (RaMP's bm and ttn): the gate-up product,
SiLU and multiply and the quantisation of the middle stay on chip, the down product of that slice is added
to the tokens' rows. Weights have a scale for 128 x 128. Products are computed transposed, so that a tile
of 8 assignments is no dearer in tensor cores than it must be. With split_k > 1 that many programs share
the depth of the first product, and the last to come goes on. GROUP_M orders tiles for the L2 cache.

Left out: RaMP's kernel is CuTe with warp specialisation and bulk copies (unpublished); this one is
Triton's, so absolute times are not comparable, the choice between configurations is. Run alone it checks
and times a few layers, and times the dispatcher (histogram, cost, argmin) inside a CUDA graph.
"""

import argparse
import itertools
import math
import statistics

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import fused_moe_triton as moe

GROUP = 128  # values that share a scale
FP8_MAX = 448.0


@triton.jit
def wait_for_all(counter, programs):
    """Every program's writes before it are seen by every program's reads after it."""
    tl.debug_barrier()
    seen = tl.atomic_add(counter, 1, sem="acq_rel", scope="gpu") + 1
    while seen < programs:
        seen = tl.atomic_add(counter, 0, sem="acq_rel", scope="gpu")
    tl.debug_barrier()


@triton.jit
def quantise_tokens(x, x8, x_scales, y, pid, programs, values, BLOCK: tl.constexpr):
    """bf16 -> fp8 with a scale for each 128 values; the sums of the layer start at zero."""
    row = tl.arange(0, BLOCK)
    lane = tl.arange(0, 128)
    groups = values // 128
    for start in range(pid * BLOCK, groups, programs * BLOCK):
        group = start + row
        inside = (group < groups)[:, None]
        at = group[:, None].to(tl.int64) * 128 + lane[None, :]
        value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.maximum(tl.max(tl.abs(value), 1), 1e-8) / 448.0
        tl.store(x8 + at, (value / scale[:, None]).to(x8.dtype.element_ty), mask=inside)
        tl.store(x_scales + group, scale, mask=group < groups)
        tl.store(y + at, tl.zeros([BLOCK, 128], tl.float32), mask=inside)


@triton.jit
def gated(w, row, scales, width, x8, x_scales, k_first, k_steps, token, valid, depth,
          WIDE: tl.constexpr, M: tl.constexpr, STAGES: tl.constexpr):
    """Gate and up [WIDE columns of the middle, M tokens] in one loop over the depth; the gate's weights
    are rows row... of w, the up product's `width` further on."""
    x_at = x8 + token[None, :].to(tl.int64) * depth + tl.arange(0, 128)[:, None]
    blocks = depth // 128
    up_scales = scales + width // 128 * blocks
    gate = tl.zeros([WIDE, M], tl.float32)
    up = tl.zeros([WIDE, M], tl.float32)
    for k in tl.range(k_first, k_first + k_steps, num_stages=STAGES):
        tokens = tl.load(x_at + k * 128, mask=valid[None, :], other=0.0)
        token_scale = tl.load(x_scales + token * blocks + k, mask=valid, other=0.0)
        gate_weights = w.load([row, k * 128])
        up_weights = w.load([row + width, k * 128])
        gate += tl.dot(gate_weights, tokens) * (tl.load(scales + k) * token_scale)[None, :]
        up += tl.dot(up_weights, tokens) * (tl.load(up_scales + k) * token_scale)[None, :]
    return gate, up


@triton.jit
def leave_part(parts, slot, part, gate, up, WIDE: tl.constexpr, M: tl.constexpr, SPLIT: tl.constexpr):
    at = tl.arange(0, WIDE)[:, None] * M + tl.arange(0, M)[None, :]
    own = parts + (slot.to(tl.int64) * SPLIT + part) * (2 * WIDE * M)
    tl.store(own + at, gate)
    tl.store(own + WIDE * M + at, up)


@triton.jit
def sum_of_parts(parts, slot, WIDE: tl.constexpr, M: tl.constexpr, SPLIT: tl.constexpr):
    at = tl.arange(0, WIDE)[:, None] * M + tl.arange(0, M)[None, :]
    gate = tl.zeros([WIDE, M], tl.float32)
    up = tl.zeros([WIDE, M], tl.float32)
    for i in range(SPLIT):
        part = parts + (slot.to(tl.int64) * SPLIT + i) * (2 * WIDE * M)
        gate += tl.load(part + at, cache_modifier=".cg")
        up += tl.load(part + WIDE * M + at, cache_modifier=".cg")
    return gate, up


@triton.jit
def is_last_of(arrived, tile, SPLIT: tl.constexpr):
    tl.debug_barrier()
    ticket = tl.atomic_add(arrived + tile, 1, sem="acq_rel", scope="gpu")
    tl.debug_barrier()
    return ticket % SPLIT == SPLIT - 1


@triton.jit
def middle_of(gate, up):
    """SiLU(gate) * up in fp8, with a scale for each token of this slice."""
    value = (gate * tl.sigmoid(gate) * up).to(tl.bfloat16).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-8) / 448.0
    return (value / scale[None, :]).to(tl.float8e4nv), scale


@triton.jit
def down_product(w, row, scales, y, column, middle, scale, middle_2, scale_2, token, gates, valid, hidden,
                 blocks, TWO: tl.constexpr, STAGES: tl.constexpr):
    """Adds this slice's part of the tokens' outputs: y[token] += gate * w[:, columns] . middle."""
    y_at = y + token[:, None].to(tl.int64) * hidden + tl.arange(0, 128)[None, :]
    weight = scale * gates
    weight_2 = scale_2 * gates
    for j in tl.range(0, hidden // 128, num_stages=STAGES):
        part = tl.dot(w.load([row + j * 128, column]), middle)
        part *= (tl.load(scales + j * blocks) * weight)[None, :]
        if TWO:
            more = tl.dot(w.load([row + j * 128, column + 128]), middle_2)
            part += more * (tl.load(scales + j * blocks + 1) * weight_2)[None, :]
        tl.atomic_add(y_at + j * 128, tl.trans(part), mask=valid[:, None], sem="relaxed")


@triton.jit(do_not_specialize=["tokens", "assignments", "experts", "topk", "group", "programs"])
def layer_kernel(x, w_up, s_up, w_down, s_down, ids, gates, x8, x_scales, y, out, counts, ranks,
                 rows, parts, arrived, barrier, tokens, assignments, experts, topk, hidden,
                 width, group, programs, EXPERTS: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                 SPLIT: tl.constexpr, STAGES: tl.constexpr):
    pid = tl.program_id(0)
    wide: tl.constexpr = N // 2 if N // 2 < 128 else 128  # columns of the middle a product takes
    two: tl.constexpr = N // 2 > 128
    halves: tl.constexpr = 2 if N // 2 > 128 else 1
    which = tl.arange(0, EXPERTS)

    # Tokens in fp8; assignments counted.
    quantise_tokens(x, x8, x_scales, y, pid, programs, tokens * hidden, 16)
    lane = tl.arange(0, 128)
    for start in range(pid * 128, assignments, programs * 128):
        place = start + lane
        expert = tl.load(ids + place, mask=place < assignments, other=0)
        rank = tl.atomic_add(counts + expert, 1, mask=place < assignments, sem="relaxed")
        tl.store(ranks + place, rank, mask=place < assignments)
    if pid == 0:
        tl.store(barrier + 2, 0)
    wait_for_all(barrier, programs)

    # Every assignment's row, by expert.
    count = tl.load(counts + which, cache_modifier=".cg")
    padded = (count + M - 1) // M * M
    end = tl.cumsum(padded, 0)
    first = end - padded
    for start in range(pid * 128, assignments, programs * 128):
        place = start + lane
        valid = place < assignments
        expert = tl.load(ids + place, mask=valid, other=0)
        rank = tl.load(ranks + place, mask=valid, other=0)
        begin = tl.gather(first, expert, 0)
        tl.store(rows + begin + rank, place, mask=valid)
    wait_for_all(barrier + 1, programs)
    if pid == 0:
        tl.store(counts + which, tl.zeros([EXPERTS], tl.int32))  # for the next launch

    # Tiles.
    tiles_m = tl.max(end, 0) // M
    tiles_n = width // (N // 2)
    blocks = hidden // 128
    for task in range(pid, tiles_m * tiles_n * SPLIT, programs):
        part = task % SPLIT
        tile = task // SPLIT
        group_size = group * tiles_n
        first_m = tile // group_size * group
        in_group = tl.minimum(tiles_m - first_m, group)
        tile_m = first_m + tile % group_size % in_group
        column = tile % group_size // in_group * (N // 2)
        begin = tile_m * M
        expert = tl.sum((end <= begin).to(tl.int32), 0)
        is_own = which == expert
        left = tl.sum(tl.where(is_own, first + count, 0), 0) - begin
        valid = tl.arange(0, M) < left
        place = tl.load(rows + begin + tl.arange(0, M), mask=valid, other=0, cache_modifier=".cg")
        token = place // topk
        weight = tl.load(gates + place, mask=valid, other=0.0)
        row = expert * 2 * width + column
        up_scales = s_up + (row // 128) * blocks
        k_steps = blocks // SPLIT
        gate, up = gated(w_up, row, up_scales, width, x8, x_scales, part * k_steps, k_steps, token, valid,
                         hidden, wide, M, STAGES)
        if two:
            gate_2, up_2 = gated(w_up, row + 128, up_scales + blocks, width, x8, x_scales, part * k_steps,
                                 k_steps, token, valid, hidden, wide, M, STAGES)
        goes_on = True
        if SPLIT > 1:
            leave_part(parts, tile * halves, part, gate, up, wide, M, SPLIT)
            if two:
                leave_part(parts, tile * halves + 1, part, gate_2, up_2, wide, M, SPLIT)
            goes_on = is_last_of(arrived, tile, SPLIT)
        if goes_on:
            if SPLIT > 1:
                gate, up = sum_of_parts(parts, tile * halves, wide, M, SPLIT)
            middle, scale = middle_of(gate, up)
            middle_2, scale_2 = middle, scale
            if two:
                if SPLIT > 1:
                    gate_2, up_2 = sum_of_parts(parts, tile * halves + 1, wide, M, SPLIT)
                middle_2, scale_2 = middle_of(gate_2, up_2)
            down_scales = s_down + expert * blocks * (width // 128) + column // 128
            down_product(w_down, expert * hidden, down_scales, y, column, middle, scale, middle_2, scale_2,
                         token, weight, valid, hidden, width // 128, two, STAGES)
    wait_for_all(barrier + 2, programs)
    if pid == 0:
        tl.store(barrier, 0)
        tl.store(barrier + 1, 0)

    # Sums leave in bf16.
    lane = tl.arange(0, 2048)
    for start in range(pid * 2048, tokens * hidden, programs * 2048):
        inside = start + lane < tokens * hidden
        total = tl.load(y + start + lane, mask=inside, cache_modifier=".cg")
        tl.store(out + start + lane, total.to(tl.bfloat16), mask=inside)


@triton.jit(do_not_specialize=["assignments", "columns", "configurations"])
def dispatch_kernel(ids, terms, tiles, heights, chosen, assignments, columns, configurations, sm_count,
                    EXPERTS: tl.constexpr, CONFIGURATIONS: tl.constexpr, HEIGHTS: tl.constexpr):
    """RaMP's choice in one program: experts' histogram, each configuration's grid and cost (Equations 1
    and 6), the cheapest one's number. Rows of tiles are counted once for each tile height."""
    counts = tl.zeros([EXPERTS], tl.int32)
    lane = tl.arange(0, 1024)
    for start in range(0, assignments, 1024):
        valid = start + lane < assignments
        counts += tl.histogram(tl.load(ids + start + lane, mask=valid, other=0), EXPERTS, mask=valid)
    height = tl.load(heights + tl.arange(0, HEIGHTS))
    rows = tl.sum((counts[:, None] + height[None, :] - 1) // height[None, :], 0)
    which = tl.arange(0, CONFIGURATIONS)
    inside = which < configurations
    tile_m = tl.load(tiles + which * 3, mask=inside, other=0)  # its place among the heights
    tile_n = tl.load(tiles + which * 3 + 1, mask=inside, other=1)
    split = tl.load(tiles + which * 3 + 2, mask=inside, other=1)
    grid = (tl.gather(rows, tile_m, 0) * ((columns + tile_n - 1) // tile_n) * split).to(tl.float32)
    base = tl.load(terms + which * 4, mask=inside, other=float("inf"))
    wave = tl.load(terms + which * 4 + 1, mask=inside, other=0.0)
    task = tl.load(terms + which * 4 + 2, mask=inside, other=0.0)
    below = tl.load(terms + which * 4 + 3, mask=inside, other=0.0)
    cost = base + wave * tl.ceil(grid / sm_count) + task * grid + below * tl.log(grid + 1.0)
    tl.store(chosen, tl.argmin(cost, 0))


def pool_of_configurations():
    """Tiles of RaMP's two ttn and one below; warps and stages that fit; GROUP_M or split-K."""
    for m, n, warps, stages, (group, split) in itertools.product(
            (8, 16, 32, 64, 128), (128, 256, 512), (4, 8), (3, 4), ((1, 1), (8, 1), (1, 4))):
        shared = stages * 128 * (m + 2 * min(n // 2, 128))
        accumulators = m * n // (32 * warps)
        if (shared <= 200_000 and accumulators <= 128 and (split == 1 or m <= 64) and
                (warps == 4 or n > 128)):
            yield moe.Configuration(m, n, 128, group, split, warps, stages)


class OneLaunch:
    """Buffers of a problem under a configuration, and its single launch."""

    PARTS_MAX = 600_000_000  # floats

    def __init__(self, problem, configuration, pool):
        p, c = problem, configuration
        self.p, self.c = p, c
        if p.width % (c.n // 2) or p.hidden % (128 * c.split):
            raise ValueError("the tile does not divide the layer")
        count = p.elements()
        self.room = max(1, min(4, pool.numel() * pool.element_size() // count))
        flat = pool.view(moe.FP8)
        self.copies = []
        for i in range(self.room):
            w = flat[i * count:(i + 1) * count]
            self.copies.append((w[:2 * count // 3].view(p.experts * 2 * p.width, p.hidden),
                                w[2 * count // 3:].view(p.experts * p.hidden, p.width)))
        wide = min(c.n // 2, 128)  # columns of the middle that a product takes
        self.tiled = [(TensorDescriptor.from_tensor(up, [wide, 128]),
                       TensorDescriptor.from_tensor(down, [128, wide])) for up, down in self.copies]
        if not hasattr(p, "shared"):
            p.shared = self.make_shared(p)
        self.x, self.x8, self.x_scales, self.s_up, self.s_down, self.y, self.out, self.small = p.shared
        tiles = (p.assignments // c.m + p.experts + 1) * (p.width // (c.n // 2))
        self.parts, self.arrived = self.x_scales, self.small["none"]
        if c.split > 1:
            floats = tiles * c.split * c.n * c.m
            if floats > self.PARTS_MAX:
                raise ValueError("too many parts")
            self.parts = torch.empty(floats, device=p.device)
            self.arrived = torch.zeros(2 * tiles, dtype=torch.int32, device=p.device)
        rows = p.assignments + p.experts * c.m
        self.rows = torch.empty(rows, dtype=torch.int32, device=p.device)

    @staticmethod
    def make_shared(p):
        generator = p.x_generator
        empty = lambda *shape, t: torch.empty(*shape, dtype=t, device=p.device)
        x = torch.randn(p.tokens, p.hidden, device=p.device, dtype=torch.bfloat16, generator=generator)
        blocks, wide = p.hidden // GROUP, -(-p.width // GROUP)
        draw = lambda *shape: torch.rand(*shape, device=p.device, generator=generator) + 0.5
        s_up = draw(p.experts, 2 * wide, blocks) * (2 / math.sqrt(p.hidden))
        s_down = draw(p.experts, blocks, wide) * (2 / math.sqrt(p.width))
        experts = 128 if p.experts < 128 else 512  # two compiled variants do for all layers
        whole = lambda length: torch.zeros(length, dtype=torch.int32, device=p.device)
        small = {"counts": whole(experts), "ranks": whole(p.assignments), "barrier": whole(3), "none": whole(1), "experts": experts}
        return (x, empty(p.tokens, p.hidden, t=moe.FP8), empty(p.tokens, blocks, t=torch.float32),
                s_up, s_down, empty(p.tokens, p.hidden, t=torch.float32),
                empty(p.tokens, p.hidden, t=torch.bfloat16), small)

    def run(self, i, programs):
        p, c, s = self.p, self.c, self.small
        up_weights, down_weights = self.tiled[i % self.room]
        return layer_kernel[(programs,)](
            self.x, up_weights, self.s_up, down_weights, self.s_down, p.ids, p.gates, self.x8,
            self.x_scales, self.y, self.out, s["counts"], s["ranks"], self.rows, self.parts,
            self.arrived, s["barrier"], p.tokens, p.assignments, p.experts, p.topk, p.hidden, p.width,
            c.group, programs, s["experts"], c.m, c.n, c.split, c.stages, num_warps=c.warps,
            launch_cooperative_grid=True)

    fitting = {}  # configuration -> programs that the GPU holds at once

    def launch(self, i):
        key = (*self.c.columns(), self.small["experts"])
        if key not in self.fitting:
            sms = torch.cuda.get_device_properties(self.p.device).multi_processor_count
            kernel = self.run(i, 1)  # registers are known once it is compiled
            by_registers = 65536 // max(1, kernel.n_regs * 32 * self.c.warps)
            by_shared = 232_448 // (kernel.metadata.shared + 1024)
            self.fitting[key] = sms * max(1, min(4, by_registers, by_shared))
        self.run(i, self.fitting[key])

    def reference(self):
        """The same layer in PyTorch, expert by expert, in fp32 from the same rounded inputs."""
        p, group = self.p, min(self.c.n // 2, GROUP)
        up_weights = self.copies[0][0].view(p.experts, 2 * p.width, p.hidden)
        down_weights = self.copies[0][1].view(p.experts, p.hidden, p.width)
        x = rounded(self.x.float(), GROUP)
        y = torch.zeros(p.tokens, p.hidden, device=p.device)
        for expert in range(p.experts):
            token, slot = torch.where(p.ids == expert)
            if token.numel() == 0:
                continue
            up = x[token] @ unscaled(up_weights[expert], self.s_up[expert]).T
            mid = torch.nn.functional.silu(up[:, :p.width]) * up[:, p.width:]
            mid = rounded(mid.bfloat16().float(), group)
            down = mid @ unscaled(down_weights[expert], self.s_down[expert]).T
            y.index_add_(0, token, down * p.gates[token, slot][:, None])
        return y

    def is_right(self):
        self.launch(0)
        kept = self.p.__dict__.setdefault("references", {})
        group = min(self.c.n // 2, GROUP)
        if group not in kept:
            kept[group] = self.reference()
        self.off = ((self.out.float() - kept[group]).norm() / kept[group].norm().clamp_min(1e-20)).item()
        return self.off < 0.02


def rounded(x, group):
    """Through fp8 and back, with a scale for `group` values of a row."""
    parts = x.view(x.shape[0], -1, group)
    scale = parts.abs().amax(2, keepdim=True).clamp_min(1e-8) / FP8_MAX
    return ((parts / scale).to(moe.FP8).float() * scale).view_as(x)


def unscaled(weights, scales):
    whole = scales.repeat_interleave(GROUP, 0).repeat_interleave(GROUP, 1)
    return weights.float() * whole[:weights.shape[0], :weights.shape[1]]


def time_dispatch(bench, device):
    """A choice among 268 configurations inside a CUDA graph: (experts, assignments, us, is it right)."""
    terms = torch.rand(268, 4, device=device)
    whole = lambda values: torch.tensor(values, dtype=torch.int32, device=device)
    heights = whole([8 * (1 + i % 13) for i in range(16)])
    tiles = whole([[i % 13, 256 << i % 2, 1 + 3 * (i % 3 == 0)] for i in range(268)])
    chosen = torch.zeros(1, dtype=torch.int32, device=device)
    for experts, assignments in ((64, 512), (64, 8192), (256, 512), (256, 8192)):
        ids = torch.randint(0, experts, (assignments,), dtype=torch.int32, device=device)

        def call(_):
            dispatch_kernel[(1,)](ids, terms, tiles, heights, chosen, assignments, 2048, 268, 132.0,
                                  experts, 512, 16, num_warps=8)
        call(0)
        counts = torch.bincount(ids.long(), minlength=experts)
        height = heights[tiles[:, 0].long()].long()
        rows = ((counts[None, :] + height[:, None] - 1) // height[:, None]).sum(1)
        grid = (rows * ((2048 + tiles[:, 1] - 1) // tiles[:, 1]) * tiles[:, 2]).float()
        cost = (terms[:, 0] + terms[:, 1] * torch.ceil(grid / 132) + terms[:, 2] * grid +
                terms[:, 3] * torch.log(grid + 1))
        is_right = (cost[chosen.item()] / cost.min()).item() <= 1 + 1e-4
        graph = bench.capture(call, 16, False)
        yield experts, assignments, statistics.median(bench.replay(graph, 16, 15, False)), is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="configuration of the pool")
    arguments = parser.parse_args()
    device = torch.device("cuda", 0)
    torch.backends.cuda.matmul.allow_tf32 = False
    bench = moe.MoeBench(device)
    bench.fill(True)
    with torch.cuda.stream(bench.stream), torch.no_grad():
        for experts, assignments, time_us, is_right in time_dispatch(bench, device):
            print(f"dispatch, {experts} experts, {assignments} assignments: {time_us:.1f} us, "
                  f"{'right' if is_right else 'WRONG'}")
        for model, tokens in (((2048, 1024, 64, 8), 16), ((2048, 1024, 64, 8), 256),
                              ((7168, 256, 32, 8), 64)):
            problem = moe.Problem(model, 1, tokens, 0.8, True, 1, device)
            plain = moe.Layer(problem, moe.default_configuration(tokens, model[2], True), bench.weights)
            plain.launch(0)
            print(f"{model}, {tokens} tokens; seven launches, default: "
                  f"{statistics.median(bench.time(plain, 5)[0]):.1f} us")
            for configuration in list(pool_of_configurations())[::arguments.every]:
                try:
                    layer = OneLaunch(problem, configuration, bench.weights)
                    is_right = layer.is_right()
                    cold, _, _ = bench.time(layer, 5)
                    print(configuration.columns(), f"{statistics.median(cold):.1f} us, off "
                          f"{100 * layer.off:.2f} %", "" if is_right else "WRONG")
                except Exception as error:  # does not compile, or too much shared memory
                    print(configuration.columns(), repr(error)[:300])


if __name__ == "__main__":
    main()
