// needs: neutral
/** The shipped wasm must be built from the Rust sources here. `lib/sandbox/build_wasm.sh` builds it. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

interface Part {
  compiler: string;
  /** Hash over the hashes of the part's sources. */
  sources: string;
  /** Hash of each file that is built, by its path. */
  files: Record<string, string>;
}

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const ENGINE = "lib/sandbox/engine";
const CONTRACTS = "lib/sandbox/contracts";
const HOSTILE = "tests/sandbox/hostile";
const CRATES = ["agent_registry", "device_registry", "payment_escrow"];

function engineSources(crate: string): string[] {
  const shared = ["soroban-env-host.patch", ".cargo", "src", "vendor"];
  return [`${crate}/Cargo.toml`, `${crate}/Cargo.lock`, ...shared].map((path) => `${ENGINE}/${path}`);
}

const SOURCES: Record<string, string[]> = {
  engine_27: engineSources("protocol_27"),
  engine_28: engineSources("protocol_28"),
  contracts: [
    ...["Cargo.toml", "Cargo.lock", ".cargo"].map((path) => `${CONTRACTS}/${path}`),
    ...CRATES.flatMap((crate) => [`${CONTRACTS}/${crate}/Cargo.toml`, `${CONTRACTS}/${crate}/src`]),
    ...["Cargo.toml", "Cargo.lock", ".cargo", "src"].map((path) => `${HOSTILE}/${path}`),
  ],
};

const manifest: Record<string, Part> = JSON.parse(readFileSync(join(ROOT, "lib/sandbox/wasm/manifest.json"), "utf8"));
const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");
const hashOf = (path: string) => sha256(readFileSync(join(ROOT, path)));

function filesUnder(path: string): string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return readdirSync(join(ROOT, path)).flatMap((name) => filesUnder(`${path}/${name}`));
}

test("the manifest lists every part", () => {
  assert.deepEqual(Object.keys(manifest).sort(), Object.keys(SOURCES).sort());
});

for (const [part, { sources, files, compiler }] of Object.entries(manifest)) {
  test(`the manifest has the hash of the ${part} sources`, () => {
    const paths = SOURCES[part]!.flatMap(filesUnder).sort();
    const listing = paths.map((path) => `${hashOf(path)}  ${path}\n`).join("");
    assert.equal(sha256(listing), sources, "run lib/sandbox/build_wasm.sh");
    assert.match(compiler, /^rustc \d/);
  });

  for (const [path, hash] of Object.entries(files)) {
    test(`the manifest has the hash of ${path}`, () =>
      assert.equal(hashOf(path), hash, "run lib/sandbox/build_wasm.sh"));
  }
}

test("the manifest lists every shipped wasm", () => {
  const shipped = filesUnder("lib/sandbox/wasm").filter((path) => path.endsWith(".wasm"));
  const built = Object.values(manifest).flatMap(({ files }) => Object.keys(files));
  assert.deepEqual(built.toSorted(), [...shipped, `${HOSTILE}/hostile.wasm`].toSorted());
});
