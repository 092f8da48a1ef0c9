// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, type FixtureOptions, hashesOf, readAll, simulate } from "./parts.ts";

/** Gateways with an older and a newer program on one store. The older program can decode no event. */
async function stage() {
  const { network, node, clock } = simulate();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const gateway = (decoder: string, more: FixtureOptions = {}) =>
    createFixture(network, { nodes: [node], store, decoder, ...more });
  const newer = () => gateway("newer", { decode: () => ({ type: "escrow.funded" }) });
  const older = () => gateway("older", { decode: () => undefined });
  return { network, clock, older, newer };
}

test("the next turn of a newer program decodes raw events of an older one", async () => {
  const { network, clock, older, newer } = await stage();
  const [old, young] = [await older(), await newer()];
  for (const each of [old, young, old, young]) {
    network.close({});
    await each.turn();
    clock.pass(60_000);
  }
  assert.equal((await young.history.status()).undecodedEvents, 0);
  assert.deepEqual((await readAll(young.history)).toSorted(), hashesOf(network.emitted).toSorted());
});

test("a newer program that starts later decodes raw events of an older one in its first turn", async () => {
  const { network, clock, older, newer } = await stage();
  const [old, young] = [await older(), await newer()];
  for (const each of [old, young, old]) {
    network.close({});
    await each.turn();
    clock.pass(60_000);
  }
  const started = await newer();
  await started.turn();
  assert.equal((await started.history.status()).undecodedEvents, 0);
  assert.deepEqual((await readAll(started.history)).toSorted(), hashesOf(network.emitted).toSorted());
});
