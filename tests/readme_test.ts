import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sandboxExports } from "../cli/sandbox_banner.ts";
import { ENV_PREFIX, SETTINGS } from "../lib/config.ts";
import { environment, startSandbox } from "./e2e/sandbox_process.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

/** The README's table of settings. What stands when nothing is said of the store depends on the runtime. */
function settingsTable(): string {
  const rows = Object.values(SETTINGS).map((setting) => {
    const { env, flag, standard, help } = setting as { env: string; flag?: string; standard?: string; help: string };
    const value = env === "STORE"
      ? "`sqlite:gateway.db`, on Deno `deno-kv:gateway.kv`"
      : standard
      ? `\`${standard}\``
      : "–";
    return `| \`${ENV_PREFIX}${env}\` | ${flag === undefined ? "–" : `\`--${flag}\``} | ${value} | ${help} |`;
  });
  return ["| setting | flag | standard | |", "|---|---|---|---|", ...rows].join("\n");
}

test("the README's table of settings is that of lib/config.ts", () => {
  const found = /<!-- settings:.*-->\n([\s\S]*?)\n<!-- \/settings -->/.exec(readme)?.[1];
  assert.equal(found, settingsTable());
});

test("the README's walk-through runs as it stands", { timeout: 120_000 }, async () => {
  const walk = /## Walk-through[\s\S]*?(?=\n## )/.exec(readme)![0];
  const blocks = [...walk.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!);
  assert.ok(blocks.length >= 4);
  const folder = mkdtempSync(join(tmpdir(), "gateway-readme-"));
  const sandbox = await startSandbox();
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const script = ["set -eu", sandboxExports(sandbox.info), ...blocks].join("\n");
    const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd: folder, env: environment() });
    assert.doesNotMatch(stdout, /"error"/);
    assert.equal(stdout.match(/"hash":"[0-9a-f]{64}","ledger":\d+/g)?.length, 9, stdout);
    assert.match(stdout, /"escrowBalance":"100000000"/);
    assert.match(stdout, /\{"ok":true\}/);
    assert.match(stdout, /"pending":"40000000"/);
    assert.match(stdout, /escrow\.swept/);
  } finally {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
