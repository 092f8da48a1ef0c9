#!/bin/sh
# Builds the sandbox's WebAssembly from its Rust sources with Debian's compiler and its own copy of std; no rustup
# target is needed. Writes wasm/*.wasm, the hostile contract of the tests, and wasm/manifest.json, by which
# tests/sandbox/wasm_manifest_test.ts tells when they are out of date. The same compiler gives the same bytes.
set -eu

usage="usage: $0 engine_27 | engine_28 | contracts | all"
cd "$(dirname "$0")/../.."
project=$PWD
sandbox=lib/sandbox
hostile=tests/sandbox/hostile
cargo_home=${CARGO_HOME:-$HOME/.cargo}
rust_source=/usr/lib/rustlib/src/rust
manifest=$sandbox/wasm/manifest.json

need() { # path, Debian package
  [ -e "$1" ] || { echo "$0: $1 is missing: apt-get install $2" >&2; exit 1; }
}

check_tools() {
  need /usr/bin/cargo cargo-web
  need /usr/bin/rustc rustc-web
  need "$rust_source/library/std" rust-web-src
  need /usr/bin/wasm-ld lld
  need /usr/bin/wasm-opt binaryen
  need /usr/bin/patch patch
}

# Runs Debian's cargo in a folder; later remappings win over earlier ones.
build() { # folder, cargo arguments…
  folder=$project/$1
  shift
  # The crates have to be there before their paths can be kept out of what is built.
  (cd "$folder" && RUSTC=/usr/bin/rustc /usr/bin/cargo fetch --locked --quiet)
  flags="--remap-path-prefix=$project=/project --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$rust_source=/rust --remap-path-prefix=$folder=/source"
  for registry in "$cargo_home"/registry/src/*; do
    flags="$flags --remap-path-prefix=$registry=/crates"
  done
  (
    cd "$folder"
    export RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc RUSTFLAGS="${linker_flags:-} $flags"
    export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}"
    /usr/bin/cargo build --locked -j "${JOBS:-2}" "$@"
    cd "$CARGO_TARGET_DIR" && pwd >"$target_file"
  )
  target=$(cat "$target_file")
}

# Nothing of the machine may be in what is shipped.
check_paths() { # files…
  for file; do
    if grep -a -q -F -e "$HOME" -e "$project" -e "$cargo_home" -e /registry/src/ "$file"; then
      echo "$0: $file holds a path of this machine" >&2
      exit 1
    fi
  done
}

# The hash over the hashes of all files that make a part, by their paths.
hash_sources() { # paths…
  find "$@" -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1
}

hash_files() { # files…
  for file; do
    printf '%s"%s": "%s"' "${separator:-}" "$file" "$(sha256sum "$file" | cut -d' ' -f1)"
    separator=', '
  done
}

# One line for each part, so that a part can be rebuilt alone.
record() { # part, hash of the sources, files…
  part=$1
  sources=$2
  shift 2
  compiler=$(/usr/bin/rustc --version)
  line="  \"$part\": { \"compiler\": \"$compiler\", \"sources\": \"$sources\", \"files\": { $(hash_files "$@") } }"
  other=$(grep -v "^  \"$part\": " "$manifest" 2>/dev/null | grep '^  "' | sed 's/,$//' || true)
  {
    echo "{"
    printf '%s\n%s\n' "$other" "$line" | grep . | LC_ALL=C sort | sed '$!s/$/,/'
    echo "}"
  } >"$manifest.new"
  mv "$manifest.new" "$manifest"
}

# The host's crate with our patch, in the folder that the engine's Cargo.toml names.
patch_host() { # folder of the engine's Cargo.toml
  host=$project/$1/target/soroban-env-host
  version=$(sed -n 's/^soroban-env-host = .*"=\([0-9.]*\)".*/\1/p' "$1/Cargo.toml")
  scratch=$(mktemp -d)
  mkdir "$scratch/src"
  touch "$scratch/src/lib.rs"
  printf '[package]\nname = "scratch"\nedition = "2021"\n[dependencies]\nsoroban-env-host = "=%s"\n' "$version" >"$scratch/Cargo.toml"
  (cd "$scratch" && RUSTC=/usr/bin/rustc /usr/bin/cargo fetch --quiet)
  rm -rf "$scratch" "$host"
  mkdir -p "$(dirname "$host")"
  set -- "$cargo_home"/registry/src/*/soroban-env-host-"$version"
  cp -r "$1" "$host"
  patch --quiet --strip=1 --directory="$host" <$sandbox/engine/soroban-env-host.patch
}

build_engine() { # protocol of the host
  e=$sandbox/engine
  crate=$e/protocol_$1
  wasm=$sandbox/wasm/engine_$1.wasm
  patch_host "$crate"
  # The stack is for nested values; 512 MiB of memory are far beyond what the network's limits let a contract use.
  linker_flags="-C link-arg=-zstack-size=8388608 -C link-arg=--max-memory=536870912"
  build "$crate" --profile small -Zbuild-std=std,panic_abort --target wasm32-unknown-unknown
  # No wasm-opt here: version 108 makes an invalid module of it or a slower one.
  install -m 644 "$target/wasm32-unknown-unknown/small/engine.wasm" "$wasm"
  check_paths "$wasm"
  record "engine_$1" "$(hash_sources "$crate/Cargo.toml" "$crate/Cargo.lock" $e/*.patch $e/.cargo $e/src $e/vendor)" "$wasm"
}

shrink() { # built module, shipped module
  wasm-opt -Oz --mvp-features --enable-mutable-globals -o "$2" "$1"
  check_paths "$2"
}

build_contracts() {
  linker_flags=
  build $sandbox/contracts --release -Zbuild-std=core,alloc --target wasm32v1-none
  for contract in device_registry agent_registry payment_escrow; do
    shrink "$target/wasm32v1-none/release/$contract.wasm" $sandbox/wasm/$contract.wasm
  done
  build $hostile --release -Zbuild-std=core,alloc --target wasm32v1-none
  shrink "$target/wasm32v1-none/release/hostile.wasm" $hostile/hostile.wasm
  c=$sandbox/contracts
  h=$hostile
  sources=$(hash_sources $c/Cargo.toml $c/Cargo.lock $c/.cargo $c/*/Cargo.toml $c/*/src $h/Cargo.toml $h/Cargo.lock $h/.cargo $h/src)
  record contracts "$sources" $sandbox/wasm/[adp]*.wasm $hostile/hostile.wasm
}

[ $# -eq 1 ] || { echo "$usage" >&2; exit 2; }
check_tools
mkdir -p $sandbox/wasm
target_file=$(mktemp)
trap 'rm -f "$target_file"' EXIT
case $1 in
  engine_27) build_engine 27 ;;
  engine_28) build_engine 28 ;;
  contracts) build_contracts ;;
  all) build_engine 27 && build_engine 28 && build_contracts ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
