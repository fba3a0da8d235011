"""Random scenarios for report_agrees.py, by seed."""
import random


def scenario(seed):
    """A TOML text: layouts, pools, failures, autoscalers, drafts, tiers, sessions, clients that give up."""
    pick = random.Random(seed)
    chance = lambda percent: pick.random() * 100 < percent
    pools = pick.random() < 0.35
    extra = random.Random(f"{seed} tenants")  # of its own: older seeds keep what they draw
    has_tenants = extra.random() < 0.35
    ranks = 2 if not pools and chance(20) else 1  # attention ranks share experts
    lines = ["[model]", f'name = "{"llama-3.1-8b" if ranks == 1 else "olmoe-1b-7b"}"', "[predictor]", 'name = "roofline"']

    def engine(prefix):
        scheduler = pick.choice(["vllm_v1", "orca", "sarathi", "sglang", "tensorrt_llm", "static", "priority"])
        if has_tenants and extra.random() < 0.5:
            scheduler = "vtc"
        text = [f"[{prefix}engine]", f'scheduler = "{scheduler}"',
                f"kv_blocks = {pick.choice([60, 300, 2000])}"]
        if not prefix:
            text += [f"batch_tokens_max = {pick.choice([1024, 4096])}",
                     f"sequences_max = {pick.choice([4, 32, 128])}"]
            if chance(40):
                text.append('host_time = "2 ms"')
            if chance(20):
                text.append(f"context_max = {pick.choice([300, 500])}")
        if chance(30):
            text += ['host_kv = "1 GiB"', f'preemption = "{pick.choice(["swap", "recompute"])}"']
        if chance(30):
            text += [f"[{prefix}engine.speculative]", f'method = "{pick.choice(["ngram", "eagle"])}"',
                     f"drafts = {pick.randint(1, 4)}", f"acceptance = {pick.choice([0.0, 0.6, 1.0])}"]
        return text

    def autoscaler(prefix, most):
        return [f"[{prefix}autoscaler]", "min = 1", f"max = {most}",
                f'metric = "{pick.choice(["queue", "outstanding", "utilization"])}"',
                f"target = {pick.choice([0.05, 0.3, 0.9])}", f'interval = "{pick.randint(20, 200)} ms"',
                'cooldown_up = "0 s"', f'cooldown_down = "{pick.randint(0, 500)} ms"']

    body, gpus, changes = [], 0, chance(35)
    if pools:
        body += ["[deployment]", f'kv_transfer = "{pick.choice(["after_prefill", "layer_wise"])}"',
                 f'first_token = "{pick.choice(["prefill", "decode"])}"'] + engine("")
        for name in ["prefill", "decode"]:
            tensor, pipeline, replicas = pick.choice([1, 2]), pick.choice([1, 1, 2]), pick.randint(1, 2)
            most = replicas + (1 if changes and chance(50) else 0)
            gpus += tensor * pipeline * most
            body += [f"[pool.{name}]", f'role = "{name}"', f"tensor_parallel = {tensor}",
                     f"pipeline_parallel = {pipeline}", f"replicas = {replicas}"]
            body += engine(f"pool.{name}.")
            if most > replicas:
                body += autoscaler(f"pool.{name}.", most)
    else:
        tensor, pipeline = pick.choice([1, 1, 2]), pick.choice([1, 1, 2, 4])
        replicas = pick.randint(1, 3)
        most = replicas + (1 if changes and chance(50) else 0)
        gpus = tensor * pipeline * ranks * most
        body += ["[deployment]", f"tensor_parallel = {tensor}", f"pipeline_parallel = {pipeline}",
                 f"data_parallel_attention = {ranks}", f"replicas = {replicas}",
                 f'router = "{pick.choice(["round_robin", "least_outstanding", "sticky"])}"'] + engine("")
        if most > replicas:
            body += autoscaler("", most)
    nodes = (gpus + 7) // 8
    lines += ["[cluster]", f'name = "h200-sxm-8{"" if nodes == 1 else f"x{nodes}"}"']
    if changes:
        for _ in range(pick.randint(0, 3)):
            body += ["[[failures]]", f'at = "{pick.randint(100, 2500)} ms"', f"gpu = {pick.randrange(gpus)}"]
            if chance(75):
                body.append(f'recovers_after = "{pick.randint(50, 1200)} ms"')
        body += ["[startup]", f'time = "{pick.choice([0, 200])} ms"']
    body += ["[front_end]", f"attempts_max = {pick.randint(1, 3)}", f'retry_delay = "{pick.choice([0, 50])} ms"',
             f"outstanding_max = {8 if chance(15) else 4 if has_tenants else 0}"]
    if has_tenants and extra.random() < 0.7:
        body += [f"queue_max = {extra.choice([1, 6, 40])}", f'queue_order = "{extra.choice(["fcfs", "round_robin"])}"',
                 f"classes = [{{ priority = 1, queue_max = {extra.choice([0, 3])} }}]"]
    if has_tenants and extra.random() < 0.3:
        body.append('tenants = [{ tenant = "b", token_rate = "4000 /s", burst = "2 s" }]')
    body += ["[slo]", f'ttft = "{pick.choice([50, 300])} ms"', f'tpot = "{pick.choice([8, 20])} ms"', "percentile = 90"]
    slo_end = len(body)
    body += ["[workload]", f"requests = {pick.choice([1, 2, 20, 60, 120])}",
             'prompt_tokens = { distribution = "uniform", min = 1, max = 500 }',
             'output_tokens = { distribution = "uniform", min = 1, max = 60 }']
    kind = pick.choice(["poisson", "poisson", "interval", "all_at_once", "closed_loop"])
    body.append(f'arrivals = "{kind}"')
    if kind in ("poisson", "interval"):
        body.append(f'rate = "{pick.choice([3, 40, 400])} /s"')
    if kind == "closed_loop":
        body += ["users = 9", f'think_time = "{pick.choice([0, 20])} ms"']
    if chance(25):
        body.append('timeout = { distribution = "exponential", mean = "1200 ms" }')
    if chance(25):
        body.append('cancellations = { share = 0.4, after = { distribution = "uniform", min = "0 s", max = "900 ms" } }')
    has_priorities = chance(25)
    if has_tenants:
        body.append('classes = [{ tenant = "a", share = 1, weight = 2.0 }, { tenant = "b", share = 2, priority = 1, '
                    'output_tokens = 90 }, { tenant = "c", share = 1, prompt_tokens = 40 }]')
    elif has_priorities:
        body.append("priorities = [{ priority = 0, share = 0.3 }, { priority = 2, share = 0.7 }]")
    if seed % 3 == 0:  # of priorities that requests have
        other = 1 if has_tenants else 2
        upper = f'{{ priority = {other}, ttft = "1 s" }}, ' if has_tenants or has_priorities else ""
        body.insert(slo_end, f'classes = [{upper}{{ priority = 0, e2e = "600 ms" }}]')
    if chance(35):
        body += ["[workload.sessions]", 'turns = { distribution = "uniform", min = 1, max = 4 }',
                 'think_time = { distribution = "exponential", mean = "100 ms" }',
                 "[workload.system_prompts]", "count = 3", "tokens = 100"]
    body += ["[run]", f"seed = {seed}"]
    if chance(20):
        body.append('warmup = "300 ms"')
    if chance(15):
        body.append(f'horizon = "{pick.randint(400, 2500)} ms"')
    return "\n".join(lines + body) + "\n"
