sweep examples/experts_two_kinds.toml --vary deployment.nodes=h100,h200 --vary deployment.expert_nodes=h100,h200 --store "$work/sweep.sqlite"
