import { StrKey } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { join } from "node:path";
import { type ServeProcess, startServe } from "../faults/serve_process.ts";
import { createClient } from "./client.ts";
import { startRpcProxy } from "./rpc_proxy.ts";
import { flagsFor, makeKey, type SandboxInfo } from "./sandbox_process.ts";

const NOWHERE = StrKey.encodeContract(new Uint8Array(32).fill(7));

interface Shown {
  contract: string;
  id: string;
  problem: string | null;
  checkedAt: string | null;
}

/**
 * An operator mistypes the escrow's id on a new store, sets the right one, and then takes another contract's: each start
 * says in one line which setting it is, and what is behind it. The same story is told to the sources on both runtimes
 * and to the compiled executable.
 *
 * @param folder where the store goes
 */
export async function tellWrongContract(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const store = `sqlite:${join(folder, "wrong-contract.db")}`;
  const key = await makeKey(command, store, { scopes: "read", rate: 6_000 });
  const { agentRegistry, paymentEscrow } = info.contracts;
  const start = (flags: Record<string, string>) =>
    startServe(flagsFor(info, { store, "poll-ms": "100", ...flags }), { command });

  await withServe(await start({ "payment-escrow": NOWHERE }), key, async (gateway, contracts) => {
    const problem = `there is no contract ${NOWHERE} on this network`;
    assert.equal((await contracts())[2]!.problem, problem);
    assert.deepEqual(warnings(gateway), [[
      "the contract is not as expected; gateway doctor says more",
      "SERVICE_API_PAYMENT_ESCROW (--payment-escrow)",
      problem,
    ]]);
  });
  await withServe(await start({}), key, async (gateway, contracts) => {
    assert.deepEqual((await contracts()).map(({ problem }) => problem), [null, null, null]);
    const [[message, kind]] = await untilWarned(gateway);
    assert.equal(kind, "contracts_changed");
    assert.equal(
      message,
      `other contracts are watched now; SERVICE_API_PAYMENT_ESCROW (--payment-escrow) is ${paymentEscrow}; ${NOWHERE} ` +
        "is watched no more; earlier events of a new one are read as far back as an RPC node holds them",
    );
  });
  await tellNodeThatComesBack(info, { store, "payment-escrow": agentRegistry }, command, key);
}

/** The node is away at the start: the contracts are looked at when it is back, and requests do not wait for that. */
async function tellNodeThatComesBack(
  info: SandboxInfo,
  flags: Record<string, string>,
  command: string[],
  key: string,
): Promise<void> {
  const node = await startRpcProxy(info.rpc);
  node.fault = "breaks off";
  try {
    const gateway = await startServe(flagsFor(info, { ...flags, "rpc-url": node.url, "poll-ms": "100" }), { command });
    await withServe(gateway, key, async (gateway, contracts) => {
      const status = await createClient(gateway.url, key).get("/v1/status");
      assert.deepEqual(status.body.contracts.map(({ checkedAt }: Shown) => checkedAt), [null, null, null]);
      node.fault = undefined;
      const { agentRegistry } = info.contracts;
      const problem = `${agentRegistry} is the agent registry, not the payment escrow`;
      assert.equal((await contracts())[2]!.problem, problem);
      const tellings = () => gateway.lines().filter((line) => line.problem === problem);
      // A line may come a little later than the answer.
      for (let tries = 0; tries < 500 && tellings().length === 0; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const told = tellings();
      assert.deepEqual(told.map(({ level, setting }) => [level, setting]), [
        ["warn", "SERVICE_API_PAYMENT_ESCROW (--payment-escrow)"],
      ]);
    });
  } finally {
    await node.stop();
  }
}

/** Tells a story to a gateway, `contracts` of whose status waits until they were looked at, and ends it. */
async function withServe(
  gateway: ServeProcess,
  key: string,
  story: (gateway: ServeProcess, contracts: () => Promise<Shown[]>) => Promise<void>,
): Promise<void> {
  const api = createClient(gateway.url, key);
  try {
    await story(gateway, async () => {
      for (const deadline = Date.now() + 300_000;;) {
        const { contracts } = (await api.get("/v1/status")).body as { contracts: Shown[] };
        if (contracts.every(({ checkedAt }) => checkedAt !== null)) return contracts;
        assert.ok(Date.now() < deadline, gateway.log());
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    gateway.signal("SIGTERM");
    assert.equal(await gateway.ended, 0, gateway.log());
  } finally {
    gateway.kill();
  }
}

/** Message, setting or kind, and problem of each warning so far. */
function warnings(gateway: ServeProcess): [string, ...unknown[]][] {
  return gateway.lines().filter(({ level }) => level === "warn")
    .map(({ message, setting, kind, problem }) => [message, setting ?? kind, problem] as [string, ...unknown[]]);
}

async function untilWarned(gateway: ServeProcess): Promise<[[string, ...unknown[]]]> {
  for (const deadline = Date.now() + 300_000; warnings(gateway).length === 0;) {
    assert.ok(Date.now() < deadline, gateway.log());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(warnings(gateway).length, 1, gateway.log());
  return warnings(gateway) as [[string, ...unknown[]]];
}
