traffic examples/traffic/client-trace.csv --window 0h 3h --format servegen --out /dev/null
