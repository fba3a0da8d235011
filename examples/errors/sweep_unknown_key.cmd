sweep examples/quickstart.toml --vary "workload.raet=4 /s,8 /s" --vary engine.sequences_maxx=8,64 --store "$work/sweep.sqlite"
