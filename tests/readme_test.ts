import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { sandboxExports } from "../cli/sandbox/banner.ts";
import { ENV_PREFIX, SETTINGS } from "../lib/config.ts";
import { webhookBody } from "../lib/webhooks/delivery/attempt.ts";
import { MAX_ATTEMPTS, SCHEDULE } from "../lib/webhooks/delivery/schedule.ts";
import { createSecret, signatureHeaders, signingSecret } from "../lib/webhooks/delivery/signature.ts";
import { isInstalled } from "./docs/tools.ts";
import { environment, startSandbox } from "./e2e/sandbox_process.ts";
import { freePort } from "./faults/serve_process.ts";

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

/** The README's table of retries, a column for each attempt. */
function scheduleTable(): string {
  const row = (cells: (string | number)[]) => `| ${cells.join(" | ")} |`;
  const attempts = Array.from({ length: MAX_ATTEMPTS }, (_, index) => index + 1);
  const days = Math.round(SCHEDULE.reduce((sum, seconds) => sum + seconds) / 86_400);
  return [
    row(["attempt", ...attempts]),
    `|${"---|".repeat(MAX_ATTEMPTS + 1)}`,
    row(["wait before it", "–", ...SCHEDULE.map(duration)]),
    "",
    `${MAX_ATTEMPTS} attempts over about ${days} days.`,
  ].join("\n");
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}

test("the README's table of retries is that of lib/webhooks/delivery/schedule.ts", () => {
  const found = /<!-- schedule:.*-->\n([\s\S]*?)\n<!-- \/schedule -->/.exec(readme)?.[1];
  assert.equal(found, scheduleTable());
});

test("the README's samples believe what is signed, and nothing else", async () => {
  const samples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1]!);
  assert.equal(samples.length, 2);
  // In the project's folder: their imports are resolved as in a project that has the packages.
  const folder = mkdtempSync(join(ROOT, ".readme-"));
  const { log } = console;
  console.log = () => {};
  try {
    for (const [index, sample] of samples.entries()) {
      const file = join(folder, `sample_${index}.ts`);
      writeFileSync(file, sample.replace("./lib/", "../lib/"));
      const { receive } = await import(pathToFileURL(file).href);
      const secret = createSecret((length) => crypto.getRandomValues(new Uint8Array(length)));
      const event = { id: "0-7-1-0", type: "payment.claimed" };
      const body = webhookBody("wh_1", JSON.stringify(event));
      const signing = { secrets: [signingSecret(secret)], eventId: event.id, body, nowMs: Date.now() };
      const headers = signatureHeaders(signing);
      const request = (sent: string) =>
        new Request("https://shop.example.com/hook", { method: "POST", headers, body: sent });
      assert.equal((await receive(request(body), secret)).status, 204);
      assert.equal((await receive(request(body.replace("claimed", "forged")), secret)).status, 400);
    }
  } finally {
    console.log = log;
    rmSync(folder, { recursive: true });
  }
});

test("the README and the other pages link to files that are there", () => {
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

const missing = ["bash", "curl", "node", "sha256sum"].filter((program) => !isInstalled(program));

test("the README's walk-through runs as it stands", {
  skip: missing.length > 0 && `not installed: ${missing.join(", ")}`,
}, async () => {
  const walk = /## Walk-through[\s\S]*?(?=\n## )/.exec(readme)![0];
  const blocks = [...walk.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!);
  assert.ok(blocks.length >= 4);
  const folder = mkdtempSync(join(tmpdir(), "gateway-readme-"));
  const sandbox = await startSandbox();
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const port = String(await freePort());
    const walked = blocks.join("\n");
    assert.equal(walked.split("9099").length, 3, "the receiver's port");
    // A failing step must not leave the receiver behind: its output would never end.
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
  } finally {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
