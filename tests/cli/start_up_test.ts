// needs: once
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const IMPORT = /^(?:import|export)(?! type)\b(?:[^"=();]*\bfrom)? *"([^"]+)"/gm;

/** The packages that are loaded with these files, each with the file that imports it; types are loaded by nobody. */
function packagesLoadedWith(...entries: string[]): string[] {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const queue = entries.map((entry) => join(ROOT, entry));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const [, to] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      if (to!.startsWith(".")) queue.push(join(dirname(file), to!));
      else if (!/^(node|bun):/.test(to!)) packages.add(`${to} (${relative(ROOT, file)})`);
    }
  }
  assert.ok(seen.size > 1);
  return [...packages];
}

test("help loads no package: neither the SDK nor zod", () => {
  assert.deepEqual(packagesLoadedWith("main.ts"), []);
});

test("keygen on a store loads no package", () => {
  const sqlite = ["lib/runtime/sqlite_bun.ts", "lib/runtime/sqlite_deno.ts"];
  assert.deepEqual(packagesLoadedWith("main.ts", "cli/keygen.ts", "lib/store/open.ts", ...sqlite), []);
});

test("serve loads packages, which shows that these checks can fail", () => {
  assert.match(packagesLoadedWith("cli/serve.ts").join("\n"), /stellar-sdk/);
});
