import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import clientPackage from "../../lib/client/npm/package.json" with { type: "json" };
import type { SandboxInfo } from "../e2e/sandbox_process.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** A file of docs/. */
export function readDoc(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url).href), "utf8");
}

/** The samples under a tab of a page, filled with this sandbox's values as the browser fills them. */
export function samples(page: string, tab: string, sandbox: SandboxInfo): string[] {
  const { gateway, apiKey, asset, contracts, networkPassphrase, accounts: { owner, agent, merchant } } = sandbox;
  // A name that starts with another name comes before it.
  const known: Record<string, string> = {
    GATEWAY: gateway,
    KEY: apiKey,
    PASSPHRASE: networkPassphrase,
    DEVICE_REGISTRY: contracts.deviceRegistry,
    AGENT_REGISTRY: contracts.agentRegistry,
    PAYMENT_ESCROW: contracts.paymentEscrow,
    ASSET: asset,
    OWNER_SECRET: owner.secret,
    AGENT_SECRET: agent.secret,
    MERCHANT_SECRET: merchant.secret,
    OWNER: owner.address,
    AGENT: agent.address,
    MERCHANT: merchant.address,
  };
  return sampleTexts(page, tab).map((text) =>
    Object.entries(known).reduce((filled, [word, value]) => filled.replaceAll(`$${word}`, value), text)
  );
}

/** The samples under a tab of a page, with their placeholders. */
export function sampleTexts(page: string, tab: string): string[] {
  const blocks = [...readDoc(page).matchAll(/\n#### (.+)\n\n```[^\n]*\n([\s\S]*?)\n```/g)];
  return blocks.filter(([, title]) => title === tab).map(([, , code]) => code!);
}

/** Imports these files in turn, as a project with the packages would, with console.log silenced. */
export async function importSamples(files: Record<string, string>): Promise<Record<string, unknown>[]> {
  const folder = mkdtempSync(join(ROOT, ".docs-"));
  const { log } = console;
  console.log = () => {};
  try {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text.replace(`"${clientPackage.name}"`, '"../lib/client/client.ts"'));
    }
    const modules = [];
    for (const name of Object.keys(files)) modules.push(await import(pathToFileURL(join(folder, name)).href));
    return modules;
  } finally {
    console.log = log;
    rmSync(folder, { recursive: true });
  }
}

/** Whether a program is on this machine, also in /usr/sbin, which only root has in its path. */
export function isInstalled(program: string): boolean {
  return spawnSync("sh", ["-c", `PATH="$PATH:/usr/sbin" command -v ${program}`]).status === 0;
}

/** Runs a program to its end and returns its output; throws an error with that output when it fails. */
export function run(program: string, args: string[], env: Record<string, string> = {}): string {
  const result = spawnSync(program, args, { encoding: "utf8", env: { PATH: "/usr/bin:/bin:/usr/sbin", ...env } });
  const output = `${result.stdout}${result.stderr}`;
  if (result.status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${result.status}:\n${output}`);
  return output;
}

/** Replaces each text once; throws when the document does not contain it exactly once. */
export function replaceEach(text: string, replacements: [string, string][]): string {
  for (const [what, by] of replacements) {
    if (text.split(what).length !== 2) throw new Error(`${JSON.stringify(what)} is not there once`);
    text = text.replace(what, () => by);
  }
  return text;
}
