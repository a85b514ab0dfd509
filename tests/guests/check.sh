#!/bin/bash
# Checks tiny's reader of #cloud-config: each cases/NAME.yaml must give the lines of cases/NAME.want.
# With --update it writes what it gives now. Uses busybox's awk, which the guest has, where it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

awk=(awk)
if command -v busybox >/dev/null; then awk=(busybox awk); fi
good=0 bad=0
for input in cases/*.yaml; do
  want=${input%.yaml}.want
  got=$("${awk[@]}" -f tiny/root/usr/lib/seed/cloud-config.awk "$input")
  if [ "${1:-}" = --update ]; then printf '%s\n' "$got" >"$want"; fi
  if diff -u "$want" <(printf '%s\n' "$got"); then good=$((good + 1)); else bad=$((bad + 1)); fi
done
echo "$good passed, $bad failed"
[ "$bad" = 0 ]
