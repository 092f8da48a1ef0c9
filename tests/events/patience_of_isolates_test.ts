// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, type Fixture, hashesOf, readAll, simulate } from "./parts.ts";
import type { SimulatedNode } from "./simulated_node.ts";

/** A network, and gateways that each live for one turn per minute. */
async function isolates({ retention }: { retention?: number } = {}) {
  const { network, node, clock } = simulate({ retention });
  const other = network.node();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  /** The time after which a node fails, and the method that fails. */
  const failing = new Map<SimulatedNode, { afterMs: number; method?: string }>();

  return {
    network,
    node,
    other,
    failing,
    async turns(nodes: SimulatedNode[], minutes: number): Promise<Fixture> {
      const fetch = async (url: string, init: RequestInit) => {
        const asked = nodes.find((node) => new URL(node.url).href === url)!;
        const failure = failing.get(asked);
        const body = String(init.body);
        if (failure === undefined || !body.includes(failure.method ?? "")) return asked.answer(body);
        await clock.wait(failure.afterMs);
        return new Response("no", { status: 403 });
      };
      let last: Fixture;
      do {
        for (let ledger = 0; ledger < 6; ledger++) network.close({});
        last = await createFixture(network, { nodes, store, fetch });
        await last.watcher.pollFor(25_000);
        await last.watcher.stop();
      } while (--minutes > 0);
      return last;
    },
  };
}

for (const afterMs of [50, 10_000]) {
  test(`gateways that each live for one turn read a node whose getLedgers fails after ${afterMs} ms`, async () => {
    const { network, node, failing, turns } = await isolates();
    assert.ok((await (await turns([node], 3)).state()).checkpoints.length > 0);
    failing.set(node, { afterMs, method: "getLedgers" });
    const { history } = await turns([node], 2);
    assert.deepEqual(await readAll(history), hashesOf(network.emitted));
  });

  test(`ledgers pruned at one node are a gap while the other node fails after ${afterMs} ms, and the recovered node fills the gap`, async () => {
    const { network, node, other, failing, turns } = await isolates({ retention: 20 });
    await turns([node, other], 2);
    failing.set(other, { afterMs });
    network.closeEmpty(50);
    const last = await turns([node, other], 2);
    assert.ok((await last.state()).scannedLedger >= network.latest - 6);
    assert.equal((await last.gaps()).length, 1);

    failing.clear();
    const { history, gaps } = await turns([node, other], 2);
    assert.deepEqual(await gaps(), []);
    assert.deepEqual((await readAll(history)).sort(), hashesOf(network.emitted));
  });
}
