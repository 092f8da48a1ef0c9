#!/bin/sh
# Builds the executable into dist/ (another folder: DIST=…), or rebuilds the sandbox's wasm files.
#   ./compile.sh               dist/gateway, for this machine
#   ./compile.sh all           dist/gateway-PLATFORM for every platform below, and dist/SHA256SUMS
#   ./compile.sh PLATFORM…     dist/gateway-PLATFORM for these; Bun's runtime for each comes from the npm registry
#   ./compile.sh deno          dist/gateway-deno: the same program on Deno, for this machine; denort comes from
#                              where Deno downloads it, or from DENORT_BIN=/path/to/denort
#   ./compile.sh engine_28     lib/sandbox/wasm/engine_28.wasm, the Soroban host of protocol 28; engine_27: that of 27
#   ./compile.sh contracts     lib/sandbox/wasm/{device_registry,agent_registry,payment_escrow}.wasm
#   ./compile.sh reference     lib/http/pages/reference, the script of the API reference; `notices` afterwards
#   ./compile.sh notices       cli/notices.json, the licenses of what is inside; needs cargo, and is kept in git
#   ./compile.sh --help        these lines
set -eu
cd "$(dirname "$0")"
platforms="linux-x64 linux-arm64 linux-x64-musl linux-arm64-musl darwin-x64 darwin-arm64 windows-x64"
dist=${DIST:-dist}

fail() { # exit code, message
  echo "compile.sh: $2" >&2
  exit "$1"
}

pinned() { # bun | deno
  sed -n "s/^ *\"$1\": \"\([0-9.]*\)\",*\$/\1/p" package.json | head -n 1
}

# What the sources were: the commit, marked when they differ from it; nothing outside of a git checkout.
commit() {
  git rev-parse --short=12 HEAD 2>/dev/null || return 0
  git diff --quiet HEAD -- 2>/dev/null || echo "-changed"
}

# What a build that failed, or was ended, has left.
build=
discard() {
  [ -z "$build" ] || rm -rf "$build"
  build=
}
trap discard EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# One executable. Built beside and moved into place: Bun leaves source maps next to what it builds, and a gateway that is
# running keeps its file.
#   --bytecode, --splitting  `help` and `keygen` load neither the SDK nor zod; what is loaded comes parsed
#   --sourcemap              a stack in the log names files and lines of the sources
#   --no-compile-autoload-…  a .env or bunfig.toml in the working directory does not change what runs
compile() { # outfile, Bun's target or nothing
  build=$(mktemp -d "$dist/.build.XXXXXX") || return 1
  npx --yes "bun@$(pinned bun)" build main.ts --compile ${2:+"--target=$2"} --outfile "$build/gateway" \
    --format=esm --minify --bytecode --splitting --sourcemap=linked \
    --no-compile-autoload-dotenv --no-compile-autoload-bunfig \
    --define "BUILD_COMMIT=\"$(commit | tr -d '\n')\"" >"$build/log" 2>&1 || {
    cat "$build/log" >&2
    discard
    return 1
  }
  case ${2:-"$(uname -sm)"} in
    bun-darwin-x64 | "Darwin x86_64") npx --yes "bun@$(pinned bun)" compile/macos.ts "$build/gateway" || { discard; return 1; } ;;
  esac
  if [ -f "$build/gateway.exe" ]; then mv "$build/gateway.exe" "$1"; else mv "$build/gateway" "$1"; fi || return 1
  discard
}

checksums() { # files…
  if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

compile_platforms() { # platforms…
  failed=
  for platform; do
    out=$dist/gateway-$platform
    case $platform in windows-*) out=$out.exe ;; esac
    rm -f "$out"
    if compile "$out" "bun-$platform"; then ls -l "$out"; else failed="$failed $platform"; fi
  done
  [ -z "$failed" ] || fail 1 "could not be built:$failed"
}

# One executable for all commands and stores, so paths, hosts and variables are not named. No --allow-run, --allow-ffi,
# --allow-sys or --allow-import: the program starts nothing and loads no library.
compile_with_deno() {
  npx --yes "deno@$(pinned deno)" compile --allow-net --allow-env --allow-read --allow-write --unstable-kv --unstable-no-legacy-abort --no-check --frozen --include lib/sandbox/wasm --include lib/http/pages/reference/scalar.js.gz \
    --output "$dist/gateway-deno" main.ts
  ls -l "$dist/gateway-deno"
}

case "${1:-}" in
  -h | --help | help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p;}' compile.sh && exit ;;
  engine_27 | engine_28 | contracts) exec lib/sandbox/build_wasm.sh "$1" ;;
  reference) npm run --silent setup && exec npx --yes "bun@$(pinned bun)" compile/reference.ts ;;
  notices) npm run --silent setup && exec npx --yes "bun@$(pinned bun)" compile/notices.ts ;;
  "" | all | deno) [ $# -le 1 ] || fail 2 "unexpected \"$2\" after \"$1\"" ;;
  *)
    for target; do
      case " $platforms " in *" $target "*) continue ;; esac
      fail 2 "there is no target \"$target\"; targets: all, $(echo "$platforms" | sed 's/ /, /g'), deno, engine, contracts, reference, notices, or none for this machine"
    done
    ;;
esac
npm run --silent setup
mkdir -p "$dist"
case "${1:-}" in
  "")
    compile "$dist/gateway" || fail 1 "could not be built"
    ls -l "$dist/gateway"
    ;;
  all)
    # shellcheck disable=SC2086 -- a list of words
    compile_platforms $platforms
    (cd "$dist" && checksums gateway-*-* >SHA256SUMS)
    cat "$dist/SHA256SUMS"
    ;;
  deno) compile_with_deno ;;
  *) compile_platforms "$@" ;;
esac
