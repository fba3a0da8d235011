#!/usr/bin/env bash
# huge_line.sh PROGRAM: a file that unpacks to one line of 1.2 GB is refused in every format, with its
# name and a remedy, in bounded memory and whatever it begins like.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -v $((4 << 20)) # KiB
for beginning in 'a,b' '{"custom_id": "' '# HELP vllm:' '{"benchmarks": [{"requests": {"successful": [{"output": "'; do
  python3 - "$work/huge.gz" "$beginning" <<'END'
import sys, zlib
pack = zlib.compressobj(1, zlib.DEFLATED, 31)
with open(sys.argv[1], "wb") as file:
    file.write(pack.compress(sys.argv[2].encode()))
    for _ in range(1200):
        file.write(pack.compress(b"a" * 1_000_000))
    file.write(pack.flush())
END
  status=0
  "$program" traffic "$work/huge.gz" >"$work/out" 2>"$work/told" || status=$?
  [ $status -eq 2 ] && grep -q "huge.gz" "$work/told" && [ ! -s "$work/out" ] ||
    { echo "status $status for '$beginning': $(head -c 500 "$work/told")"; exit 1; }
done
