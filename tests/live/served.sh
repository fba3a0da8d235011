# What the shell tests share, with $program set: a folder $work that goes with the test, as does the server of
# start_server ARGUMENT... and stop_server.
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
start_server() {
  : >"$work/server.log"
  "$program" serve --port 0 "$@" >"$work/report.txt" 2>"$work/server.log" &
  server=$!
  for _ in $(seq 200); do
    port=$(sed -n 's|^Serving .* on http://127.0.0.1:\([0-9]*\)/v1 .*|\1|p' "$work/server.log")
    [ -n "$port" ] && return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
  done
  cat "$work/server.log" >&2
  return 1
}

stop_server() {
  kill -INT "$server"
  wait "$server"
  server=
}
