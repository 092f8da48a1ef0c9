import assert from "node:assert/strict";
import { createClient } from "./client.ts";
import { asArguments, flagsFor, runGateway, type SandboxInfo } from "./sandbox_process.ts";
import { freePort } from "../faults/serve_process.ts";
import { until } from "../until.ts";

interface Check {
  check: string;
  verdict: "ok" | "warn" | "fail" | "skip";
  found: string;
  todo?: string;
}

/**
 * An operator asks `gateway doctor` what is wrong with a gateway on the sandbox's network: nothing, and then a node
 * that is down. What it says of each other trouble `tests/cli/doctor` tests without a process.
 */
export async function tellDoctor(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  await tellAllIsWell(info, command);
  const down = `http://127.0.0.1:${await freePort()}`;
  const flags = flagsFor(info, { store: `sqlite:${folder}/gateway.db`, "rpc-url": `${down}/secret-token` });
  const { ok, checks } = await examined(asArguments(flags), command, 1);
  assert.equal(ok, false);
  const [failed, ...more] = checks.filter(({ verdict }) => verdict === "fail");
  assert.deepEqual([failed!.check, more], ["rpc node", []]);
  assert.match(failed!.found, new RegExp(`^the RPC node ${down} could not be reached`));
  assert.match(failed!.todo!, /that the node runs.*firewall/);
}

/** The sandbox's own gateway, with a card it can read both ways. */
async function tellAllIsWell(info: SandboxInfo, command: string[]): Promise<void> {
  const api = createClient(info.gateway, info.apiKey);
  const { owner, agent } = info.accounts;
  const deviceHash = "d0".repeat(32);
  const registered = await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  assert.equal(registered.status, 200, JSON.stringify(registered.body));
  const heldEvents = async () => {
    const { status, body } = await api.get(`/v1/events?deviceHash=${deviceHash}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.events.length;
  };
  const isCompared = async () => (await api.get("/v1/status")).body.solvency !== null;
  await until(async () => await heldEvents() > 0 && await isCompared());

  const flags = asArguments(flagsFor(info, { store: info.store, port: new URL(info.gateway).port }));
  const text = await runGateway(["doctor", ...flags], {}, command);
  assert.equal(text.code, 0, text.stdout);
  assert.match(text.stdout, /\n\n\d+ ok, 2 warnings, [12] skipped\n$/);
  for (const line of text.stdout.trimEnd().split("\n").slice(0, 13)) assert.match(line, /^ok {4}[a-z' ]{16,} \S/);
  const { ok, checks } = await examined(flags, command, 0);
  assert.ok(ok);
  const { check, verdict } = checks.pop()!;
  assert.equal(check, "books");
  assert.match(verdict, /^(skip|ok)$/, "the first reconciliation comes after a minute");
  assert.deepEqual(checks.map(({ check, verdict }) => `${verdict} ${check}`), [
    "ok settings",
    "ok store",
    "ok api keys",
    "ok webhook secrets",
    "ok port",
    "ok rpc node",
    "ok clock and ledger",
    "ok history",
    "ok device registry",
    "ok agent registry",
    "ok payment escrow",
    "ok escrow's registries",
    "ok reads",
    "warn card owners",
    "warn assets",
    "skip asset issuers",
    "ok movements",
    "ok escrow's money",
    "ok expired payments",
  ]);
}

/** What `gateway doctor --json` says, and that it exits with this code. */
async function examined(args: string[], command: string[], code: number): Promise<{ ok: boolean; checks: Check[] }> {
  const { stdout, stderr, ...run } = await runGateway(["doctor", "--json", ...args], {}, command);
  assert.equal(run.code, code, stdout + stderr);
  assert.equal(stderr, "");
  assert.match(stdout, /^[^\n]+\n$/, "one line");
  assert.doesNotMatch(stdout, /secret-token/);
  return JSON.parse(stdout);
}
