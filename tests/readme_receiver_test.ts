// needs: once
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { signatureHeaders, signingSecret } from "../lib/webhooks/delivery/signature.ts";
import { isInstalled } from "./docs/tools.ts";
import { freePort } from "./faults/serve_process.ts";
import { until } from "./until.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OLD = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

test("the README's receiver accepts a delivery signed with its secret, also during a rotation, and refuses others", {
  skip: !isInstalled("node") && "needs node",
}, async () => {
  const source = /cat > receiver\.mjs <<'END'\n([\s\S]*?)\nEND\n/.exec(
    readFileSync(join(ROOT, "README.md"), "utf8"),
  )![1]!;
  const folder = mkdtempSync(join(tmpdir(), "readme-receiver-"));
  const port = String(await freePort());
  writeFileSync(join(folder, "receiver.mjs"), source.replace("9099", port));
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: OLD };
  const receiver = spawn("node", [join(folder, "receiver.mjs")], { env, stdio: "ignore" });
  try {
    const body = '{"subscription":"wh_1","event":{"id":"1"}}';
    const post = (secrets: string[], headers: Record<string, string> = {}) => {
      const signed = signatureHeaders({ secrets: secrets.map(signingSecret), eventId: "1", body, nowMs: Date.now() });
      return fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers: { ...signed, ...headers } });
    };
    await until(() => post([OLD]).then(() => true, () => false));
    const statuses = [];
    for (const secrets of [[OLD], [NEW, OLD], [NEW]]) statuses.push((await post(secrets)).status);
    for (const odd of ["", "t=1", "v1=ab"]) statuses.push((await post([OLD], { "X-Service-Signature": odd })).status);
    assert.deepEqual(statuses, [204, 204, 400, 400, 400, 400]);
  } finally {
    receiver.kill();
    rmSync(folder, { recursive: true });
  }
});
