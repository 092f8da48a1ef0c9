// needs: once
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type HttpServer, serveHttp } from "../../lib/runtime/serve.ts";
import { createFixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { rpcId, type SimulatedNode } from "./simulated_node.ts";

/** Two nodes of one network, each behind its own real HTTP server. */
const { network, node: first } = simulate({ retention: 60 });
const second = network.node();
const servers: HttpServer[] = [];

before(async () => {
  for (const node of [first, second]) {
    const server = await serveHttp({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeoutMs: 60_000,
      fetch: async (request) => node.answer(await request.text()),
    });
    servers.push(server);
    node.url = server.url;
  }
});
after(async () => {
  for (const server of servers) await server.stop({ drainMs: 1_000 });
});

/** Changes the next answer to this method. */
function lieOnce(node: SimulatedNode, wanted: string, by: (answer: Record<string, unknown>) => object): void {
  node.bend = (method, answer) => {
    if (method !== wanted) return answer;
    node.bend = (_method, answer) => answer;
    return { ...answer, ...by(answer) };
  };
}

test("over real connections the watcher logs every event despite wrong answers, pruning, large pages, a failing node and a reset", async () => {
  let fixture = await createFixture(network, { nodes: [first, second], fetch });
  network.close({}, {});
  await untilAtTip(fixture);

  // One wrong answer after the other.
  const newest = (answer: Record<string, unknown>) => Number(answer.latestLedger);
  const lies: ((answer: Record<string, unknown>) => object)[] = [
    () => ({ latestLedger: 2 ** 31 - 1 }),
    () => ({ latestLedger: 2 ** 32 - 1 }),
    (answer) => ({ latestLedger: newest(answer) + 50, cursor: rpcId(newest(answer) + 50, 0xfffff, 0xfff, 0xffffffff) }),
    (answer) => ({ latestLedgerCloseTime: Number(answer.latestLedgerCloseTime) + 315_360_000 }),
    (answer) => ({
      latestLedger: 7,
      latestLedgerCloseTime: Number(answer.latestLedgerCloseTime) + 60,
      cursor: rpcId(6, 0, 0, 0),
    }),
    () => ({ events: [] }),
  ];
  for (const by of lies) {
    network.close({}, {});
    lieOnce(first, "getEvents", by);
    lieOnce(second, "getEvents", by);
    await fixture.turn();
    network.close({});
    await untilAtTip(fixture);
  }

  // More bytes than the gateway reads of one answer.
  network.close(...Array.from({ length: 60 }, () => ({ bytes: 400_000 })));
  await untilAtTip(fixture);

  // The second node holds ledgers that the first has pruned, and fails for a while.
  await fixture.watcher.stop();
  for (let ledger = 0; ledger < 100; ledger++) network.close({});
  // Remove an unused wrong answer: alone, the second node could omit events that the first has pruned.
  second.bend = (_method, answer) => answer;
  let silent = 3;
  second.beforeCall = () => {
    if (silent-- > 0) throw new Response("busy", { status: 503 });
  };
  fixture = await restart(fixture, { fetch });
  await untilAtTip(fixture);
  for (let looks = 0; looks < 14; looks++) {
    fixture.clock.pass(31_000);
    // Rescans follow the ledgers' close times: a network without new ledgers triggers no rescan.
    network.close();
    await untilAtTip(fixture);
  }
  assert.deepEqual((await readAll(fixture.history)).sort(), hashesOf(network.emitted));
  assert.deepEqual([(await fixture.state()).epoch, await fixture.gaps()], [0, []]);

  network.reset(500);
  network.close({}, {});
  await untilAtTip(fixture);
  assert.equal((await fixture.state()).epoch, 1);
  assert.deepEqual((await readAll(fixture.history)).sort(), hashesOf(network.emitted));
  await fixture.watcher.stop();
});
