traffic examples/traffic/aiperf_inputs.json --format aiperf_inputs --json
