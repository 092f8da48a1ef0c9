// needs: once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { startReadySandboxHere } from "../cli/sandbox/sandbox_here.ts";
import { createClient, signed } from "../e2e/client.ts";
import type { SandboxProcess } from "../e2e/sandbox_process.ts";
import { INSTALL_MS, PACKAGE, pythonWithSdk } from "../sandbox/rpc/python.ts";
import { longOnly } from "../tier.ts";
import { importSamples, samples } from "./tools.ts";

const run = promisify(execFile);
const STORY_MS = 120_000;
/** In the order of a card's life: each page continues where the previous one ends. */
const TASKS = ["take-a-payment", "get-paid", "lost-card"];
const LIFE = [
  "device.registered",
  "agent.registered",
  "escrow.funded",
  "payment.authorized",
  "payment.claimed",
  "agent.revoked",
  "escrow.swept",
  "device.revoked",
];

let sandbox: SandboxProcess;
before(async () => {
  sandbox = await startReadySandboxHere();
});
after(() => sandbox.stop());

const blocks = (page: string, tab: string) => samples(`${page}.md`, tab, sandbox.info);

/** Waits for the events after the first `count`; returns their types in order. */
async function eventsSince(count: number): Promise<string[]> {
  const client = createClient(sandbox.info.gateway, sandbox.info.apiKey);
  while (true) {
    const { body } = await client.get("/v1/events?limit=1000");
    const types = body.events.slice(count).map(({ type }: { type: string }) => type);
    if (types.length >= LIFE.length) return types;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test(
  "the TypeScript samples of the task pages perform a card's life on the sandbox",
  { timeout: STORY_MS },
  async () => {
    const [write] = blocks("signing", "TypeScript");
    const tasks = TASKS.map((name) => [`${name}.ts`, blocks(name, "TypeScript").join("\n")]);
    assert.ok(tasks.every(([, text]) => text!.length > 100));
    await importSamples({ "write.ts": write!, ...Object.fromEntries(tasks) });
    assert.deepEqual(await eventsSince(0), LIFE);
  },
);

test("two calls of the signing page's write with intent null make two payments", async () => {
  const { asset, accounts: { owner, agent } } = sandbox.info;
  const [module] = await importSamples({ "write.ts": blocks("signing", "TypeScript")[0]! });
  const write = module!.write as (secret: string, operation: object, intent?: string | null) => Promise<object>;
  const deviceHash = "cd".repeat(32);
  await write(owner.secret, { kind: "registerDevice", deviceHash, agent: agent.address });
  const funding = { kind: "fundEscrow", deviceHash, asset, amount: "7" };
  for (const intent of [null, null]) await write(owner.secret, funding, intent);
  const { body } = await createClient(sandbox.info.gateway, sandbox.info.apiKey).get(`/v1/devices/${deviceHash}`);
  assert.equal(body.escrowBalance, "14");
});

test("the signing page's TypeScript sample makes the same signature as the SDK", async () => {
  const { gateway, apiKey, networkPassphrase, accounts: { owner, agent } } = sandbox.info;
  const operation = { kind: "registerDevice", deviceHash: "ab".repeat(32), agent: agent.address };
  const { body } = await createClient(gateway, apiKey)
    .post("/v1/transactions/prepare", { source: owner.address, operation });
  const [module] = await importSamples({ "sign.ts": blocks("signing", "TypeScript")[1]! });
  const sign = module!.sign as typeof signed;
  assert.equal(sign(body.xdr, networkPassphrase, owner.secret), signed(body.xdr, networkPassphrase, owner.secret));
});

test(
  "the Python samples of the task pages perform a card's life on the sandbox",
  { skip: longOnly, timeout: INSTALL_MS + STORY_MS },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "docs-python-"));
    try {
      const python = await pythonWithSdk(folder);
      if (python === undefined) return t.skip(`needs python3 with venv, and ${PACKAGE}`);
      const held =
        (await createClient(sandbox.info.gateway, sandbox.info.apiKey).get("/v1/events?limit=1000")).body.events;
      const [write, sign] = blocks("signing", "Python");
      const written =
        `write("${sandbox.info.accounts.owner.secret}", {"kind": "claim", "asset": "${sandbox.info.asset}"}, "")`;
      writeFileSync(
        join(folder, "empty.py"),
        `from write import write\ntry:\n    ${written}\nexcept RuntimeError as e:\n    print(e)\n`,
      );
      writeFileSync(join(folder, "write.py"), write!);
      writeFileSync(join(folder, "sign.py"), sign!);
      for (const name of ["sign", ...TASKS]) {
        const file = join(folder, `${name.replaceAll("-", "_")}.py`);
        if (name !== "sign") writeFileSync(file, blocks(name, "Python").join("\n\n"));
        await run(python, [file], { timeout: STORY_MS });
      }
      assert.deepEqual(await eventsSince(held.length), LIFE);
      const { stdout } = await run(python, [join(folder, "empty.py")]);
      assert.match(stdout, /Idempotency-Key must be 1 to 255/, "the gateway refuses an empty intent");
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
