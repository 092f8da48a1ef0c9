// needs: once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sandboxExports } from "../cli/sandbox/banner.ts";
import { startReadySandboxHere } from "./cli/sandbox/sandbox_here.ts";
import { isInstalled } from "./docs/tools.ts";
import { environment } from "./e2e/sandbox_process.ts";
import { freePort } from "./faults/serve_process.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

test("the README and the other pages link only to existing files", () => {
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    ...readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
  ];
  const links = pages.flatMap((page) =>
    [...readFileSync(join(ROOT, page), "utf8").matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, to]) =>
      join(dirname(page), to!)
    )
  );
  assert.ok(links.length >= 8);
  assert.deepEqual(links.filter((path) => !existsSync(join(ROOT, path))), []);
});

test("the README warns that anyone may call the contracts directly, and links the security page", () => {
  const start = readme.slice(0, readme.indexOf("\n## "));
  assert.match(start, /anyone\s+may\s+call\s+them\s+directly[\s\S]+\]\(docs\/security\.md\)/);
  assert.match(readme.slice(readme.indexOf("\n## Documentation")), /\]\(docs\/security\.md\)/);
});

test("the README fits under 150 lines", () => {
  assert.ok(readme.trimEnd().split("\n").length < 150);
});

const missing = ["bash", "curl", "node", "sha256sum"].filter((program) => !isInstalled(program));

test("the README's walk-through runs unchanged", {
  skip: missing.length > 0 && `not installed: ${missing.join(", ")}`,
}, async () => {
  const walk = /## Walk-through[\s\S]*?(?=\n## )/.exec(readme)![0];
  const blocks = [...walk.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!);
  assert.ok(blocks.length >= 4);
  const folder = mkdtempSync(join(tmpdir(), "gateway-readme-"));
  const sandbox = await startReadySandboxHere();
  try {
    for (const name of ["node_modules", "package.json"]) symlinkSync(join(ROOT, name), join(folder, name));
    symlinkSync(join(ROOT, "main.ts"), join(folder, "main.ts"));
    const port = String(await freePort());
    const walked = blocks.join("\n");
    assert.equal(walked.split("9099").length, 3, "the receiver's port");
    // Stop the receiver also after a failing step: its output would never end.
    const script = ["set -eu", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", sandboxExports(sandbox.info)]
      .concat(walked.replaceAll("9099", port)).join("\n");
    const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd: folder, env: environment() });
    assert.doesNotMatch(stdout, /"error":\{/);
    assert.equal(stdout.match(/"hash":"[0-9a-f]{64}","ledger":\d+/g)?.length, 9, stdout);
    assert.match(stdout, /"escrowBalance":"100000000"/);
    assert.match(stdout, /\{"ok":true\}/);
    assert.match(stdout, /"pending":"40000000"/);
    assert.match(stdout, /escrow\.swept/);
    assert.equal(stdout.match(/webhook \{"subscription":"wh_/g)?.length, 9, stdout);
    assert.match(
      stdout,
      /claimed, 4 XLM to[\s\S]+prepared {2}reference order-1001[\s\S]+answered 204[\s\S]+claimed {3}in ledger/,
    );
  } finally {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
