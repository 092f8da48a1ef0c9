import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { SandboxInfo } from "../e2e/sandbox_process.ts";

/** A file of docs/. */
export function readDoc(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url).href), "utf8");
}

/** The samples of a page that stand under a tab, filled as the page in the browser fills them on this sandbox. */
export function samples(page: string, tab: string, sandbox: SandboxInfo): string[] {
  const { gateway, apiKey, asset, accounts: { owner, agent, merchant } } = sandbox;
  const known: Record<string, string> = {
    GATEWAY: gateway,
    KEY: apiKey,
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

/** The samples of a page that stand under a tab, as the page has them. */
export function sampleTexts(page: string, tab: string): string[] {
  const blocks = [...readDoc(page).matchAll(/\n#### (.+)\n\n```[^\n]*\n([\s\S]*?)\n```/g)];
  return blocks.filter(([, title]) => title === tab).map(([, , code]) => code!);
}

/** Whether a program is on this machine; servers are where only root has them in its path. */
export function isInstalled(program: string): boolean {
  return spawnSync("sh", ["-c", `PATH="$PATH:/usr/sbin" command -v ${program}`]).status === 0;
}

/** Runs a program to its end and answers what it wrote; throws with its words when it fails. */
export function run(program: string, args: string[], env: Record<string, string> = {}): string {
  const result = spawnSync(program, args, { encoding: "utf8", env: { PATH: "/usr/bin:/bin:/usr/sbin", ...env } });
  const output = `${result.stdout}${result.stderr}`;
  if (result.status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${result.status}:\n${output}`);
  return output;
}

/** Replaces each of these once; throws when one is not there exactly once, so that a test follows its document. */
export function replaceEach(text: string, replacements: [string, string][]): string {
  for (const [what, by] of replacements) {
    if (text.split(what).length !== 2) throw new Error(`${JSON.stringify(what)} is not there once`);
    text = text.replace(what, () => by);
  }
  return text;
}
