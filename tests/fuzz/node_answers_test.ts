// needs: neutral
// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep, systemClock } from "../../lib/clock.ts";
import type { SeededRandom } from "../faults/seeded_random.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "../http/test_gateway.ts";
import { assertSound } from "./answers.ts";
import { count, fuzzRandom, inputCount, report, seed, timeoutMs } from "./inputs.ts";
import { mutatedBytes, mutatedJson } from "./mutations.ts";

const deviceHash = "5a".repeat(32);

/** A random distortion of the sandbox's answer, or the answer itself. */
async function bent(answer: Response, random: SeededRandom): Promise<Response> {
  const how = random.next();
  if (how < 0.3) return answer;
  const text = await answer.text();
  const headers = { "content-type": "application/json" };
  if (how < 0.35) return new Response(mutatedBytes(new TextEncoder().encode(text), random), { headers });
  if (how < 0.38) return new Response("no", { status: random.pick([301, 400, 404, 429, 500, 503]) });
  const reply = JSON.parse(text);
  if (how < 0.42) {
    const code = random.pick([-32600, -32601, -32602, -32603, -32001, 0, 1.5, "x"]);
    return Response.json({
      ...reply,
      result: undefined,
      error: { code, message: random.pick(["", "limit", "ledger range: 1 - 9", "x".repeat(9_999)]) },
    });
  }
  if (how < 0.5) return Response.json(mutatedJson(reply, random));
  return Response.json({ ...reply, result: mutatedJson(reply.result, random) });
}

type Ask = [method: string, path: string, body?: unknown];

async function asks(on: TestNetwork, api: GatewayUnderTest): Promise<Ask[]> {
  const { owner, agent, merchant } = on.sandbox.accounts;
  const { asset } = on.sandbox;
  const prepare = (
    source: string,
    operation: unknown,
  ): Ask => ["POST", "/v1/transactions/prepare", { source, operation }];
  const xdr = await api.signedEnvelope(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  const { body: { hash } } = await api.submit(xdr);
  await api.write(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "50000" });
  await api.write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100000" });
  return [
    ["GET", `/v1/devices/${deviceHash}`],
    ["GET", `/v1/devices/${deviceHash}/policy`],
    ["GET", `/v1/wallets/${owner.address}/devices`],
    ["GET", `/v1/merchants/${merchant.address}/pending`],
    ["POST", "/v1/payments/check", { deviceHash, asset, amount: "1" }],
    ["GET", `/v1/transactions/${hash}`],
    ["GET", `/v1/transactions/${"ab".repeat(32)}`],
    ["POST", "/v1/transactions/submit", { xdr }],
    ["GET", "/v1/events"],
    ["GET", "/v1/status"],
    prepare(agent.address, { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "1" }),
    prepare(owner.address, { kind: "defundEscrow", deviceHash, asset, amount: "1" }),
    prepare(merchant.address, { kind: "claim", asset }),
  ];
}

test("the gateway gives sound answers while a node answers nonsense, and recovers when the node does", {
  timeout: timeoutMs,
}, async () => {
  const on = await startTestNetwork();
  const random = fuzzRandom();
  let isBent = false;
  const clock = { aheadMs: 0 };
  const api = await startGateway(on, {
    // Without this the test spends most of its time on waits for a node.
    wait: (ms, signal) => sleep(ms / 20, signal),
    monotonicMs: () => systemClock.monotonicMs() + clock.aheadMs,
    fetch: async (url, init) => isBent ? await bent(await on.fetch(url, init), random) : await on.fetch(url, init),
  });
  const calls = await asks(on, api);
  const outcomes = new Map<string, number>();
  const inputs = inputCount(100);
  // The gateway rescans only after minutes for events that an answer omitted, so all events are read before the node is bent.
  await isWell(api, clock);
  isBent = true;
  for (let n = 0; n < inputs; n++) {
    const [method, path, body] = random.pick(calls);
    const answer = await api.request(method, path, { body });
    count(outcomes, `${answer.status} ${answer.body.error?.code ?? ""}`);
    const about = `seed ${seed}, input ${n}: ${method} ${path}`;
    assertSound({ ...answer, text: JSON.stringify(answer.body) }, about, { nodeFails: true });
    assert.doesNotMatch(JSON.stringify(answer.body), /secret-token/, about);
  }
  isBent = false;
  report("a node's answers", inputs, outcomes);
  assert.doesNotMatch(api.log(), /"level":"error"|secret-token/);
  await isWell(api, clock);
  await api.stop();
  await on.network.stop();
});

/**
 * Waits until the gateway uses the healthy node, and the history has each event once. A head that two wrong answers
 * raised falls in two steps, each after 30 s of the gateway's time.
 */
async function isWell(api: GatewayUnderTest, clock: { aheadMs: number }): Promise<void> {
  for (const deadline = Date.now() + 50_000;;) {
    const device = await api.request("GET", `/v1/devices/${deviceHash}`);
    const events = await api.request("GET", "/v1/events");
    const types = events.body.events?.map(({ type }: { type: string }) => type);
    try {
      assert.deepEqual([device.status, device.body.escrowBalance], [200, "100000"], JSON.stringify(device.body));
      assert.deepEqual(types, ["device.registered", "agent.registered", "escrow.funded"]);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(api.log(), { cause: error });
    }
    clock.aheadMs += 10_000;
    await sleep(50);
  }
}
