// needs: once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs ./compile.sh with stubs for the programs that it calls; returns how it ended, and the content of `dist`. */
function compiled(programs: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-compile-"));
  try {
    const bin = join(folder, "bin");
    const dist = join(folder, "dist");
    mkdirSync(bin);
    for (const [name, script] of Object.entries({ npm: "exit 0", ...programs })) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    const { status, signal } = spawnSync("sh", [join(ROOT, "compile.sh")], {
      env: { PATH: `${bin}:${process.env.PATH}`, DIST: dist, CALLED: join(folder, "called") },
    });
    return { status, signal, left: readdirSync(dist), isBuilt: existsSync(join(folder, "called")) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const skip = process.platform === "win32";

test("compile.sh leaves no file behind when SIGTERM ends it in the middle of a build", { skip }, () => {
  const { status, signal, left } = compiled({ npx: "kill -TERM $PPID; sleep 0.2; exit 1" });
  assert.ok(status === 143 || signal === "SIGTERM", `${status} ${signal}`);
  assert.deepEqual(left, []);
});

test("compile.sh starts no build when it cannot create a build folder", { skip }, () => {
  const { status, isBuilt } = compiled({ mktemp: "exit 1", npx: "touch $CALLED; exit 1" });
  assert.deepEqual([status, isBuilt], [1, false]);
});
