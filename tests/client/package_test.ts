// needs: once
import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import clientPackage from "../../lib/client/npm/package.json" with { type: "json" };
import rootPackage from "../../package.json" with { type: "json" };
import denoJson from "../../deno.json" with { type: "json" };
import { type SandboxProcess, startSandbox } from "../e2e/sandbox_process.ts";
import { type Application, installBuilt, missing, ROOT } from "./built_package.ts";
import { inChromium } from "./in_chromium.ts";
import { longOnly } from "../tier.ts";

/** The report that every runtime must return. */
const SEEN = {
  writes: ["registerDevice", "registerAgent", "fundEscrow", "authorize", "claim"],
  seen: ["device.registered", "agent.registered", "escrow.funded", "payment.authorized"],
  check: "amount_exceeds_limit",
  left: "5.5",
  refused: "envelope_refused",
  received: "payment.claimed",
  stranger: "unauthorized",
};

const isWithout = await missing();
let app: Application;
let sandbox: SandboxProcess;
before(async () => {
  if (isWithout !== undefined) return;
  [app, sandbox] = await Promise.all([installBuilt(), startSandbox(undefined, ["--cors-origins", "*"])]);
});
after(async () => {
  await sandbox?.stop();
  await app?.remove();
});

/** The story's settings. */
function setting(runtime: string): string {
  const { gateway, apiKey, networkPassphrase, contracts, accounts, asset } = sandbox.info;
  return JSON.stringify({ gateway, apiKey, network: { networkPassphrase, contracts }, accounts, asset, runtime });
}

test("the client's package has the gateway's version and SDK range, and is exported to Deno", () => {
  assert.equal(clientPackage.version, rootPackage.version);
  assert.equal(
    clientPackage.peerDependencies["@stellar/stellar-sdk"],
    `^${rootPackage.dependencies["@stellar/stellar-sdk"]}`,
  );
  assert.deepEqual(denoJson.exports, { "./client": "./lib/client/client.ts" });
});

test("npm pack holds JavaScript and types only", { timeout: 240_000 }, (t) => {
  if (isWithout !== undefined) return t.skip(isWithout);
  assert.ok(app.files.includes("dist/client.js") && app.files.includes("dist/client.d.ts"));
  for (const path of app.files) assert.match(path, /^(package\.json|README\.md|dist\/[a-z_]+\.(js|d\.ts))$/);
});

for (const runtime of ["node", "deno", "bun"]) {
  const skip = runtime === "bun" ? longOnly : false;
  test(`the built client works on ${runtime}`, { timeout: 240_000, skip }, async (t) => {
    if (isWithout !== undefined) return t.skip(isWithout);
    if (await app.run(runtime, ["--version"]).catch(() => undefined) === undefined) return t.skip(`needs ${runtime}`);
    await cp(join(import.meta.dirname!, "story.js"), join(app.folder, "story.js"));
    const program = [
      'import { Keypair } from "@stellar/stellar-sdk/base";',
      'import * as client from "payment-escrow-gateway-client";',
      'import process from "node:process";',
      'import { tellStory } from "./story.js";',
      "console.log(JSON.stringify(await tellStory(client, Keypair, JSON.parse(process.env.SETTING))));",
    ];
    await writeFile(join(app.folder, "main.mjs"), program.join("\n"));
    const args = runtime === "deno"
      ? ["run", "-A", "--no-config", "--node-modules-dir=manual", "main.mjs"]
      : ["main.mjs"];
    const out = await app.run(runtime, args, { SETTING: setting(runtime) });
    assert.deepEqual(JSON.parse(out), SEEN);
  });
}

test(
  "the built client works in a browser, from a page of another origin",
  { timeout: 240_000, skip: longOnly },
  async (t) => {
    if (isWithout !== undefined) return t.skip(isWithout);
    await cp(join(import.meta.dirname!, "story.js"), join(app.folder, "story.js"));
    const told = await inChromium(app.folder, setting("chromium"));
    if (told === undefined) return t.skip("needs chromium");
    assert.deepEqual(told, SEEN);
  },
);

test(
  "an application compiles against the built client's types, which are those of the API",
  { timeout: 240_000, skip: longOnly },
  async (t) => {
    if (isWithout !== undefined) return t.skip(isWithout);
    const lines = [
      'import { createGatewayClient, type GatewayEvent, receive, verifyWebhook } from "payment-escrow-gateway-client";',
      'import { verifyWebhook as alone } from "payment-escrow-gateway-client/verify_webhook";',
      'const gateway = createGatewayClient({ baseUrl: "http://x", apiKey: "k" });',
      'const device = await gateway.device("x");',
      "if (device.ok) { const balance: string = device.escrowBalance; void balance; } else { const r: string = device.reason; void r; }",
      "// @ts-expect-error: it may have failed",
      "void device.escrowBalance;",
      "// @ts-expect-error: an amount is text",
      'void gateway.write({ kind: "claim", asset: 5 }, { publicKey: () => "", sign: (data) => data });',
      "// @ts-expect-error: there is no such type of event",
      'void gateway.events({ types: ["payment.made"] });',
      "for await (const event of gateway.events()) { const one: GatewayEvent = event; const ledger: number = one.ledger; void ledger; }",
      "void [receive, verifyWebhook, alone];",
    ];
    await writeFile(join(app.folder, "consumer.ts"), lines.join("\n"));
    const page = await readFile(join(ROOT, "lib/client/npm/README.md"), "utf8");
    const sample = /```ts\n([\s\S]*?)```/.exec(page)![1];
    const declared = "declare const apiKey: string, uid: string, merchant: string, asset: string, secret: string;\n" +
      'declare const network: import("payment-escrow-gateway-client").TrustedNetwork;\n';
    await writeFile(join(app.folder, "readme.ts"), declared + sample);
    const options = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: "ES2022",
      lib: ["ES2022", "DOM"],
      types: [],
    };
    for (const module of ["NodeNext", "Preserve"]) {
      const compilerOptions = { ...options, module };
      await writeFile(
        join(app.folder, "tsconfig.json"),
        JSON.stringify({ compilerOptions, files: ["consumer.ts", "readme.ts"] }),
      );
      await app.tsc("-p", "tsconfig.json");
    }
  },
);
