#!/bin/sh
# Builds the executable for this machine into dist/, or rebuilds the sandbox's wasm files.
#   ./compile.sh             dist/gateway
#   ./compile.sh engine      lib/sandbox/wasm/engine.wasm
#   ./compile.sh contracts   lib/sandbox/wasm/{device_registry,agent_registry,payment_escrow}.wasm
set -eu
cd "$(dirname "$0")"
case "${1:-}" in
  "") ;;
  engine | contracts) exec lib/sandbox/build_wasm.sh "$1" ;;
  *)
    echo "compile.sh: there is no target \"$1\"; targets: engine, contracts, or none for the executable" >&2
    exit 2
    ;;
esac
bun_version=$(sed -n 's/^ *"bun": "\([0-9.]*\)",*$/\1/p' package.json | head -n 1)
npm run --silent setup
mkdir -p dist
npx --yes "bun@$bun_version" build main.ts --compile --minify --outfile dist/gateway
ls -l dist/gateway
