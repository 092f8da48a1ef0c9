import assert from "node:assert/strict";
import { createServer } from "node:net";
import { createClient } from "./client.ts";
import { contractTroubles, hereTroubles, nodeTroubles, type Trouble } from "./doctor_troubles.ts";
import { type RpcProxy, startRpcProxy } from "./rpc_proxy.ts";
import { asArguments, flagsFor, runGateway, type SandboxInfo } from "./sandbox_process.ts";

interface Check {
  check: string;
  verdict: "ok" | "warn" | "fail" | "skip";
  found: string;
  todo?: string;
}

/**
 * An operator at night asks `gateway doctor` what is wrong with a gateway on the sandbox's network: nothing, or one thing
 * at a time. Each is told apart from the others by the check that fails, and comes with what to do about it. The same
 * story is told to the sources on both runtimes and to the compiled executable.
 *
 * A ledger that stands still is not told here: the doctor watches it for a quarter of a minute.
 *
 * @param folder where stores could be
 */
export async function tellDoctor(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  await tellAllIsWell(info, command);
  const proxy = await startRpcProxy(info.rpc);
  const other = createServer((connection) => connection.destroy());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = other.address() as { port: number };
    const troubles = [
      ...await nodeTroubles(info),
      ...contractTroubles(info),
      ...hereTroubles(info, folder, port),
    ];
    for (const trouble of troubles) await tellTrouble(info, command, folder, trouble);
    await tellTwoNodes(info, command, folder, proxy);
    await tellClocks(info, command, folder, proxy);
    await tellRetention(info, command, proxy);
  } finally {
    await new Promise((resolve) => other.close(resolve));
    await proxy.stop();
  }
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
  while (await heldEvents() === 0) await new Promise((resolve) => setTimeout(resolve, 50));

  const flags = asArguments(flagsFor(info, { store: info.store, port: new URL(info.gateway).port }));
  const text = await runGateway(["doctor", ...flags], {}, command);
  assert.equal(text.code, 0, text.stdout);
  assert.match(text.stdout, /\n\n\d+ ok, 2 warnings\n$/);
  for (const line of text.stdout.trimEnd().split("\n").slice(0, 13)) assert.match(line, /^ok {4}[a-z' ]{16,} \S/);
  const { ok, checks } = await examined(flags, command, 0);
  assert.ok(ok);
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
    "ok movements",
  ]);
}

/** Of two nodes one is down: worth a look, and no more, while the other is well. */
async function tellTwoNodes(info: SandboxInfo, command: string[], folder: string, proxy: RpcProxy): Promise<void> {
  proxy.fault = "breaks off";
  for (const urls of [`${proxy.url},${info.rpc}`, `${info.rpc},${proxy.url}`]) {
    const flags = flagsFor(info, { store: `sqlite:${folder}/gateway.db`, "rpc-url": urls });
    const { ok, checks } = await examined(asArguments(flags), command, 0);
    assert.ok(ok);
    const nodes = checks.filter(({ check }) => check === "rpc node");
    const down = nodes.find(({ verdict }) => verdict === "warn")!;
    assert.equal(nodes.filter(({ verdict }) => verdict === "ok").length, 1, JSON.stringify(nodes));
    assert.match(down.found, new RegExp(`^the RPC node ${proxy.url} could not be reached`));
    assert.match(down.todo!, /whether it runs.*; until then another node is asked$/);
  }
  proxy.fault = undefined;
}

/** The node's clock against this machine's: nobody sets the clock of a machine for a test. */
async function tellClocks(info: SandboxInfo, command: string[], folder: string, proxy: RpcProxy): Promise<void> {
  const flags = { "rpc-url": proxy.url };
  const shifted = (seconds: number) => {
    let later = 0;
    proxy.change = (result, method) => {
      if (method === "getHealth") {
        const { latestLedgerCloseTime, ...more } = result;
        return { ...more, latestLedgerCloseTime: String(Number(latestLedgerCloseTime) + seconds) };
      }
      // Ledgers go on closing.
      return method === "getLatestLedger" ? { ...result, sequence: result.sequence + ++later } : result;
    };
  };
  shifted(60);
  await tellTrouble(info, command, folder, {
    what: "this machine's clock is behind",
    flags,
    fails: [["clock and ledger", /this machine's clock is (5|6)\d s behind the newest ledger/, /set the clock.* NTP/]],
  });
  shifted(-3_600);
  await tellTrouble(info, command, folder, {
    what: "this machine's clock is ahead",
    flags,
    fails: [[
      "clock and ledger",
      /ledgers close at .*, but 36\d\d s ago by this machine's clock/,
      /set the clock.* NTP/,
    ]],
  });
}

/** The sandbox's store against a node that has gone on for two weeks and keeps one. */
async function tellRetention(info: SandboxInfo, command: string[], proxy: RpcProxy): Promise<void> {
  const weeks = 120_960;
  proxy.change = (result, method) => {
    if (method !== "getHealth") return result;
    const latestLedger = result.latestLedger + 2 * weeks;
    return { ...result, latestLedger, oldestLedger: latestLedger - weeks };
  };
  await tellTrouble(info, command, "", {
    what: "the gateway was off for longer than the node keeps events",
    flags: { "rpc-url": proxy.url, store: info.store },
    fails: [["history", /off for longer .*: ledgers \d+–12\d{4} are gone from it/, /a node that still holds them/]],
  });
}

async function tellTrouble(
  info: SandboxInfo,
  command: string[],
  folder: string,
  { what, flags, fails }: Trouble,
): Promise<void> {
  const all = asArguments(flagsFor(info, { store: `sqlite:${folder}/gateway.db`, ...flags }));
  const { ok, checks } = await examined(all, command, 1);
  const failed = checks.filter(({ verdict }) => verdict === "fail");
  assert.equal(ok, false);
  assert.deepEqual(
    failed.map(({ check }) => check),
    fails.map(([check]) => check),
    `${what}: ${JSON.stringify(failed)}`,
  );
  for (const [index, [, found, todo]] of fails.entries()) {
    assert.match(failed[index]!.found, found, what);
    assert.match(failed[index]!.todo!, todo, what);
  }
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
