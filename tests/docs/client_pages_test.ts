// needs: once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { webhookBody } from "../../lib/webhooks/delivery/attempt.ts";
import { createSecret, signatureHeaders, signingSecret } from "../../lib/webhooks/delivery/signature.ts";
import { startReadySandboxHere } from "../cli/sandbox/sandbox_here.ts";
import { createClient } from "../e2e/client.ts";
import { runHere } from "../e2e/here.ts";
import type { SandboxProcess } from "../e2e/sandbox_process.ts";
import { INSTALL_MS, PACKAGE, pythonWithSdk } from "../sandbox/rpc/python.ts";
import { longOnly } from "../tier.ts";
import { importSamples, isInstalled, readDoc, samples, sampleTexts } from "./tools.ts";

const run = promisify(execFile);
const PAYMENT_MS = 120_000;

let sandbox: SandboxProcess;
before(async () => {
  sandbox = await startReadySandboxHere();
});
after(() => sandbox.stop());

const blocks = (page: string, tab: string) => samples(`${page}.md`, tab, sandbox.info);

/** The amount that the merchant can claim, in stroops. */
async function pending(): Promise<string> {
  const { gateway, apiKey, accounts: { merchant } } = sandbox.info;
  return (await createClient(gateway, apiKey).get(`/v1/merchants/${merchant.address}/pending`)).body.pending;
}

test("the TypeScript samples of the clients page make a payment", { timeout: PAYMENT_MS }, async () => {
  const [write] = blocks("signing", "TypeScript");
  const [card] = blocks("take-a-payment", "TypeScript");
  const [, ...client] = blocks("clients", "TypeScript");
  await importSamples({ "write.ts": write!, "card.ts": card!, "client.ts": client.join("\n") });
  assert.equal(await pending(), "40000000");
});

/** Uses the card of the previous test. */
test(
  "the Python samples of the clients page make a payment",
  { skip: longOnly, timeout: INSTALL_MS + PAYMENT_MS },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "docs-python-"));
    try {
      const python = await pythonWithSdk(folder);
      if (python === undefined) return t.skip(`needs python3 with venv, and ${PACKAGE}`);
      writeFileSync(join(folder, "client.py"), readDoc("client.py"));
      writeFileSync(join(folder, "pay.py"), blocks("clients", "Python").slice(1).join("\n"));
      const { stdout } = await run(python, [join(folder, "pay.py")], { timeout: PAYMENT_MS });
      // The history may have the new payment a moment later.
      assert.match(stdout, /^paid in ledger \d+\n(?:.+ 40000000\n){1,2}continue with \S+\n$/);
      assert.equal(await pending(), "80000000");
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

const SECRET = createSecret((length) => crypto.getRandomValues(new Uint8Array(length)));
const BODY = webhookBody("wh_1", JSON.stringify({ id: "0-7-1-0", type: "payment.claimed" }));
const FORGED = BODY.replace("claimed", "forged");

function signed() {
  return signatureHeaders({ secrets: [signingSecret(SECRET)], eventId: "0-7-1-0", body: BODY, nowMs: Date.now() });
}

for (const tab of ["TypeScript", "Standard Webhooks"]) {
  test(`the ${tab} receiver of the webhooks page accepts only signed bodies`, async () => {
    const [module] = await importSamples({ "hook.ts": sampleTexts("webhooks.md", tab)[0]! });
    const hook = module!.hook as (request: Request, secret: string) => Promise<Response>;
    const { log } = console;
    console.log = () => {};
    try {
      const request = (body: string) =>
        new Request("https://shop.example.com/hook", { method: "POST", headers: signed(), body });
      assert.equal((await hook(request(BODY), SECRET)).status, 204);
      assert.equal((await hook(request(FORGED), SECRET)).status, 400);
    } finally {
      console.log = log;
    }
  });
}

test("the Python receiver of the webhooks page accepts only signed bodies", {
  skip: !isInstalled("python3") && "needs python3",
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "docs-python-"));
  try {
    writeFileSync(join(folder, "client.py"), readDoc("client.py"));
    writeFileSync(join(folder, "hook.py"), sampleTexts("webhooks.md", "Python")[0]!);
    const calling = "import json, sys\nfrom hook import hook\n" +
      "bodies, headers, secret = json.loads(sys.argv[1])\n" +
      "print([hook(body.encode(), headers, secret) for body in bodies])\n";
    writeFileSync(join(folder, "main.py"), calling);
    const given = JSON.stringify([[BODY, FORGED], { ...signed() }, SECRET]);
    const { stdout } = await run("python3", [join(folder, "main.py"), given]);
    assert.equal(stdout, "payment.claimed 0-7-1-0\n[204, 400]\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the commands of the testing page succeed on a running sandbox", async () => {
  const commands = [...readDoc("testing.md").matchAll(/^gateway (sandbox (?!--).*?)\s*(#.*)?$/gm)].map(([, text]) =>
    text!
  );
  assert.deepEqual(commands.map((text) => text.split(" ")[1]), [
    "fund",
    "advance",
    "snapshot",
    "revert",
    "impersonate",
    "status",
  ]);
  const { owner, merchant } = sandbox.info.accounts;
  for (const text of commands) {
    const args = text.replace("$OWNER", owner.address).replace("$MERCHANT", merchant.address).split(" ");
    const { code, stderr } = await runHere([...args, "--sandbox", sandbox.info.rpc], {});
    assert.equal(code, 0, `${text}: ${stderr}`);
  }
});
