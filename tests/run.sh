#!/bin/sh
# Runs every check and every test on both runtimes and ends with the line `N passed, N failed`.
# Bun and Deno come from npm at the versions of package.json; Rust's tests run where cargo is.
cd "$(dirname "$0")/.." || exit 1
version() { sed -n "s/^ *\"$1\": \"\([0-9.]*\)\",*$/\1/p" package.json | head -n 1; }
bun() { npx --yes "bun@$(version bun)" "$@"; }
deno() { npx --yes "deno@$(version deno)" "$@"; }
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
passed=0
failed=0

# step NAME COMMAND…: one check, passed when the command succeeds.
step() {
  name=$1
  shift
  if "$@" >"$out/step" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $name"
  else
    failed=$((failed + 1))
    cat "$out/step"
    echo "FAIL  $name"
  fi
}

# suite NAME PASSED_PATTERN FAILED_PATTERN COMMAND…: a test runner; the patterns are sed's, for its closing counts.
suite() {
  name=$1 pass_pattern=$2 fail_pattern=$3
  shift 3
  "$@" >"$out/suite" 2>&1
  status=$?
  plain=$(sed 's/\x1b\[[0-9;]*m//g' "$out/suite")
  sum() { printf '%s\n' "$plain" | sed -n "$1" | awk '{ n += $1 } END { print n + 0 }'; }
  suite_passed=$(sum "$pass_pattern")
  suite_failed=$(sum "$fail_pattern")
  # A runner that dies without a count has failed all the same.
  [ "$status" -ne 0 ] && [ "$suite_failed" -eq 0 ] && suite_failed=1
  [ "$status" -eq 0 ] && [ "$suite_passed" -eq 0 ] && suite_failed=1
  [ "$suite_failed" -ne 0 ] && printf '%s\n' "$plain"
  passed=$((passed + suite_passed))
  failed=$((failed + suite_failed))
  echo "$([ "$suite_failed" -eq 0 ] && echo "ok   " || echo "FAIL ") $name: $suite_passed passed, $suite_failed failed"
}

step "types" deno check main.ts cli lib tests
step "format" deno fmt --check
step "lint" deno lint
suite "bun test" 's/^ *\([0-9]*\) pass$/\1/p' 's/^ *\([0-9]*\) fail$/\1/p' bun test
suite "deno test" 's/^.* | \([0-9]*\) passed.*$/\1/p' 's/^.* | \([0-9]*\) failed.*$/\1/p' deno test -A --no-check
if command -v cargo >/dev/null; then
  suite "contracts (cargo test)" 's/^test result: .* \([0-9]*\) passed;.*$/\1/p' 's/^test result: .*; \([0-9]*\) failed;.*$/\1/p' \
    cargo test --quiet --manifest-path lib/sandbox/contracts/Cargo.toml
else
  echo "skip  contracts (cargo test): no cargo on this machine"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
