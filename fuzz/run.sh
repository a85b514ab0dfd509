#!/usr/bin/env bash
# Fuzzes every target for so many seconds (60 unless told), one after the other. What makes one fail is kept in
# fuzz/artifacts; `fuzz/run.sh 0 FILE` runs the targets on that file alone.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
# libvirt is not called, but the package that is fuzzed is built with it
. ../deploy/libvirt/env.sh
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../target}/fuzz
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
 -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
cargo build --release --locked >&2
programs=$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release
mkdir -p artifacts
for target in bytes documents mutations; do
	if [ $# -gt 1 ]; then
		"$programs/$target" "$2"
		continue
	fi
	corpus=$CARGO_TARGET_DIR/corpus/$target
	mkdir -p "$corpus"
	seeds=()
	[ "$target" != bytes ] || seeds=(../examples)
	echo "fuzz: $target for $seconds s" >&2
	log=$(mktemp)
	rc=0
	"$programs/$target" "$corpus" "${seeds[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
		-artifact_prefix="artifacts/$target-" -print_final_stats=1 >"$log" 2>&1 || rc=$?
	grep -E 'panicked|admitted, but|ERROR|Test unit written|stat::(number_of_executed_units|peak_rss_mb)' "$log" >&2 || true
	rm -f "$log"
	[ "$rc" = 0 ] || { echo "fuzz: $target failed with $rc; what did it is in fuzz/artifacts" >&2; exit 1; }
done
