#!/bin/sh
# Runs every check and every test on both runtimes and ends with the line `N passed, N failed`; exit code 1 when one failed.
# The two runtimes' tests run side by side, some files at a time each (TEST_JOBS: how many); what a suite wrote is shown
# when it failed. Where SIMULATE_SECONDS is set simulated worlds follow once either runtime is done, for that long: those from
# SIMULATE_FROM on, at most SIMULATE_SEEDS; and bugs that are planted have to be found in others.
# Bun and Deno come from npm at the versions of package.json; Rust's tests run where cargo is and can have their crates.
cd "$(dirname "$0")/.." || exit 1
version() { sed -n "s/^ *\"$1\": \"\([0-9.]*\)\",*$/\1/p" package.json | head -n 1; }
bun() { npx --yes "bun@$(version bun)" "$@"; }
deno() { npx --yes "deno@$(version deno)" "$@"; }
# Together two files a core, because much of a test is waiting; from 2 to 4 for each runtime.
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
bun_jobs=${TEST_JOBS:-$([ "$cores" -ge 4 ] && echo 4 || echo 2)}
# Once a day Deno asks for a newer one, in whatever environment a test has made for it.
export DENO_NO_UPDATE_CHECK=1 DENO_JOBS="$bun_jobs"
# Nobody debugs the contracts' tests here, and what a debugger needs takes long to make.
export CARGO_PROFILE_DEV_DEBUG=0
# What the tests start is on this machine, also where a proxy leads out of it.
export NO_PROXY="127.0.0.1,localhost,::1${NO_PROXY:+,$NO_PROXY}"
export no_proxy=$NO_PROXY
contracts=lib/sandbox/contracts/Cargo.toml
# What is the same whoever runs the tests (the executable, which Bun compiles; pages in a browser; samples and clients of
# other languages; what compares both runtimes) is tested once in a whole run, by Bun's.
once=tests/browser/,tests/compile_macos_test.ts,tests/e2e/executable_test.ts,tests/e2e/executable_operating_test.ts
once=$once,tests/client/package_test.ts,tests/docs/client_py_test.ts,tests/docs/deployment_files_test.ts
once=$once,tests/docs/dockerfile_test.ts,tests/sandbox/rpc/python_sdk_test.ts,tests/http/openapi_clients_test.ts
once=$once,tests/simulation/traces_test.ts
# What takes longest begins first: begun last, it would be waited for alone.
slow="tests/e2e/executable_operating_test.ts tests/faults/kill_test.ts tests/faults/rolling_restart_test.ts
tests/e2e/operating_test.ts tests/docs/several_gateways_test.ts tests/e2e/executable_test.ts tests/store/postgres_test.ts
tests/faults/fleet_test.ts tests/e2e/listen_test.ts tests/e2e/postgres_test.ts tests/faults/machine_test.ts
tests/http/openapi_clients_test.ts tests/store/sqlite_test.ts tests/cli/sandbox/tools_test.ts
tests/docs/deployment_files_test.ts tests/docs/task_pages_test.ts tests/docs/client_py_test.ts
tests/simulation/simulation_test.ts tests/http/pending_payments_test.ts tests/gateway/turn_test.ts"
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
# A shell lets what it runs in the background live on after Ctrl-C.
trap 'trap "" TERM; kill 0; exit 130' INT
passed=0
failed=0

# begin NAME COMMAND…: in the background.
begin() {
  name=$1
  shift
  { "$@" >"$out/$name" 2>&1; echo $? >"$out/$name.status"; } &
}

# checked NAME: how one check came out, passed when its command succeeded.
checked() {
  if [ "$(cat "$out/$1.status" 2>/dev/null || echo 1)" -eq 0 ]; then
    passed=$((passed + 1))
    echo "ok    $1"
  else
    failed=$((failed + 1))
    cat "$out/$1"
    echo "FAIL  $1"
  fi
}

# step NAME COMMAND…: one check, which is waited for.
step() {
  begin "$@"
  wait $!
  checked "$1"
}

# in_order: all files of tests, in the order in which they begin.
in_order() {
  find tests -name '*_test.ts' | awk -v slow="$(echo $slow)" '
    BEGIN { for (n = split(slow, names, " "); n > 0; n--) place[names[n]] = n }
    { print (($0 in place) ? place[$0] : 1000), $0 }' | sort -k 1,1n -k 2 | cut -d " " -f 2
}

# failing_tests: the file and the name of each test that failed, and of what, of what either runner wrote. Bun tells the error
# before the name, Deno behind it, and of a step the file only in the stack.
failing_tests() {
  awk '
    function tell(name) { if (!(name in told)) print "FAIL  " file ": " name why; told[name] = 1; why = "" }
    function tell_step() { if (step != "") tell(step); step = "" }
    /_test\.ts:$/ { file = substr($0, 1, length($0) - 1) }
    /^[A-Za-z]*[Ee]rror: / { if (why == "" || step == "") why = " (" substr($0, 1, 300) ")" }
    /^\(fail\) / { sub(/^\(fail\) /, ""); sub(/ \[[0-9.]+m?s\]$/, ""); tell($0) }
    step != "" && file == "" && match($0, /[^\/]*_test\.ts/) { file = substr($0, RSTART, RLENGTH) }
    / => (\.\/|ext:)[^ ]*:[0-9]+$/ {
      tell_step()
      why = ""; file = ""; step = $0; sub(/ => .*/, "", step)
      if (match($0, / => \.\/[^ ]*_test\.ts/)) file = substr($0, RSTART + 6, RLENGTH - 6)
    }
    END { tell_step() }'
}

# report NAME PASSED_PATTERN FAILED_PATTERN: how it came out; the patterns are sed's, for the runner's closing counts.
report() {
  status=$(cat "$out/$1.status" 2>/dev/null || echo 1)
  plain=$(sed "s/$(printf '\033')\[[0-9;]*m//g" "$out/$1")
  sum() { printf '%s\n' "$plain" | sed -n "$1" | awk '{ n += $1 } END { print n + 0 }'; }
  suite_passed=$(sum "$2")
  suite_failed=$(sum "$3")
  # A runner that dies without a count has failed all the same.
  [ "$status" -ne 0 ] && [ "$suite_failed" -eq 0 ] && suite_failed=1
  [ "$status" -eq 0 ] && [ "$suite_passed" -eq 0 ] && suite_failed=1
  # Deno tells what passed, too, before it shows the errors.
  [ "$suite_failed" -ne 0 ] && { printf '%s\n' "$plain" | sed -n '/^ ERRORS *$/,$p' | grep . || printf '%s\n' "$plain"; }
  # Once more at the very end, where somebody who has only the last lines looks.
  [ "$suite_failed" -eq 0 ] || printf '%s\n' "$plain" | failing_tests | sort -u >>"$out/names"
  passed=$((passed + suite_passed))
  failed=$((failed + suite_failed))
  echo "$([ "$suite_failed" -eq 0 ] && echo "ok   " || echo "FAIL ") $1: $suite_passed passed, $suite_failed failed"
}

if ! command -v cargo >/dev/null; then
  echo "skip  contracts (cargo test): no cargo on this machine"
elif ! cargo fetch --quiet --locked --manifest-path "$contracts" >"$out/step" 2>&1; then
  echo "skip  contracts (cargo test): cargo cannot have the crates: $(tail -n 1 "$out/step")"
else
  begin "cargo test" cargo test --quiet --locked --manifest-path "$contracts"
fi
begin "types" deno check main.ts cli compile lib tests
# Before the tests, some of which write samples into a folder here, into which these two would look.
step "format" deno fmt --check
step "lint" deno lint
# Bun begins with what takes longest by this file, and loads a module once for all files of a worker: that is half of the work.
in_order | awk '
  BEGIN { printf "{\"version\":1,\"files\":{" }
  { printf "%s\"%s\":%d", (NR > 1 ? "," : ""), $0, 1000000 - NR }
  END { print "}}" }' >"$out/timings"
begin "bun test" bun test --only-failures --parallel="$bun_jobs" --no-isolate --timings="$out/timings"
# shellcheck disable=SC2046 -- a word is a file
begin "deno test" deno test -A --no-check --parallel $(in_order | grep -vF "$(echo "$once" | tr , "\n")")
if [ -n "${SIMULATE_SECONDS:-}" ]; then
  # The other runtime alone leaves much of the machine idle.
  until [ -f "$out/bun test.status" ] || [ -f "$out/deno test.status" ]; do sleep 1; done
  # Worlds that nobody has lived through yet, by the seeds from this moment on, unless they are named.
  begin "simulation" bun tests/simulation/simulate.ts --from "${SIMULATE_FROM:-$(date +%s)}" \
    --seeds "${SIMULATE_SEEDS:-1000000}" --seconds "$SIMULATE_SECONDS"
  begin "planted bugs are found" bun tests/simulation/planted.ts
fi
wait
checked "types"
report "bun test" 's/^ *\([0-9]*\) pass$/\1/p' 's/^ *\([0-9]*\) fail$/\1/p'
report "deno test" 's/^.* | \([0-9]*\) passed.*$/\1/p' 's/^.* | \([0-9]*\) failed.*$/\1/p'
[ ! -f "$out/cargo test" ] ||
  report "cargo test" 's/^test result: .* \([0-9]*\) passed;.*$/\1/p' 's/^test result: .*; \([0-9]*\) failed;.*$/\1/p'

for name in "simulation" "planted bugs are found"; do
  [ -f "$out/$name" ] || continue
  # What it found is worth reading also when it passed.
  grep -qx 0 "$out/$name.status" 2>/dev/null && cat "$out/$name"
  checked "$name"
done

[ ! -f "$out/names" ] || cat "$out/names"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
