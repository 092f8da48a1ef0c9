import assert from "node:assert/strict";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { LeasedBucket } from "../../lib/limits/leased_bucket.ts";
import { createSharedLimiter } from "../../lib/limits/shared_limiter.ts";
import type { Verdict } from "../../lib/limits/token_bucket.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { START_MS } from "../webhooks/parts.ts";
import type { State } from "./quint.ts";

const KEY = "key1";

async function flush(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await yieldToOthers();
}

/** A gateway's real limiter, whose question to the store and whose answer wait until the trace lets them through. */
function createGateway(store: Store, number: number, rate: number, now: () => number) {
  const question: { does?: () => Promise<void>; hear?: () => void } = {};
  const sharedState = Object.create(store.sharedState, {
    change: {
      value: (name: string, change: never) =>
        new Promise((resolve) => {
          question.does = async () => {
            const answer = await store.sharedState.change(name, change);
            question.does = undefined;
            question.hear = () => {
              question.hear = undefined;
              resolve(answer);
            };
          };
        }),
    },
  });
  const limiter = createSharedLimiter({
    store: { sharedState },
    monotonicNow: now,
    defaultRate: rate,
    holder: String(number),
    onProblem: (message, cause) => assert.fail(`${message}: ${cause}`),
  });
  let told: Verdict | undefined;
  return {
    question,
    /** The answer to the last request. */
    told: () => told === undefined ? "" : told.allowed ? "yes" : "no",
    forget: () => void (told = undefined),
    async take(cost: number) {
      const verdict = limiter.take(KEY, rate, cost);
      if (verdict instanceof Promise) void verdict.then((later) => told = later);
      else told = verdict;
      await flush();
    },
    async giveBack() {
      void limiter.flush();
      await flush();
    },
  };
}

/**
 * Does with real limiters on one shared store what a trace of `limiter.qnt` says, and compares after each step: what
 * each request was told, and the bucket with its leases.
 */
export async function replay(trace: State[], gateways: number, rate: number): Promise<void> {
  let nowMs = 0;
  const store = await openStore("memory:", { isShared: true, now: () => START_MS + nowMs });
  const all = Array.from({ length: gateways }, (_, at) => createGateway(store, at + 1, rate, () => nowMs));
  for (const [at, state] of trace.entries()) {
    const { what, gateway, cost, told } = state.taken;
    const where = `step ${at}, ${what} ${gateway} ${cost}`;
    const one = all[gateway - 1]!;
    nowMs = state.now;
    one?.forget();
    if (what === "take") await one.take(cost);
    else if (what === "giveBack") await one.giveBack();
    else if (what === "change") await one.question.does!();
    else if (what === "hear") one.question.hear!();
    await flush();
    if (one === undefined) continue;
    assert.equal(one.told(), told, `${where}: what the request was told`);
    const { stage } = state.gateways[gateway - 1][1].call;
    assert.equal(one.question.does !== undefined, stage === "asked", `${where}: asks the store`);
    assert.equal(one.question.hear !== undefined, stage === "done", `${where}: hears the store`);
    const kept = await store.sharedState.read<LeasedBucket>(`limit/${KEY}`);
    if (kept === undefined) continue;
    assert.deepEqual(
      {
        units: kept.units,
        leases: kept.leases.map(({ holder, units, untilMs }) => [holder, units, untilMs - START_MS]),
      },
      {
        units: state.bucket.units,
        leases: state.bucket.leases.map((lease: State) => [String(lease.holder), lease.units, lease.until]),
      },
      `${where}: the bucket`,
    );
  }
  await store.close();
}
