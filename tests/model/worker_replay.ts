import assert from "node:assert/strict";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock, Wait } from "../../lib/clock.ts";
import { openStore } from "../../lib/store/open.ts";
import { type Store, StoreError } from "../../lib/store/store.ts";
import { type NewAttempt, partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { createDeliveryWorker } from "../../lib/webhooks/delivery/worker.ts";
import { append, eventAt, insert, START_MS, subscriptionOf } from "../webhooks/parts.ts";
import type { State } from "./quint.ts";
import { endedOf } from "../store/webhook_samples.ts";

/** A tick of the model. */
const TICK_MS = 5_000;
const GATHER_MS = 7;
/** How long the loop that renews leases rests, and the one that delivers. */
const LEASES_REST_MS = 2_500;
const LOOK_MS = 1_000;
const SUBSCRIPTION = "wh_1";
const LEASE = partitionLease(partitionOf(SUBSCRIPTION));

async function flush(): Promise<void> {
  for (let turn = 0; turn < 25; turn++) await yieldToOthers();
}

/** A store call that waits until the trace does it; its answer waits until the trace delivers it. */
interface Held {
  does(): Promise<void>;
  hear(): void;
  result?: unknown;
  error?: unknown;
}

function hold(work: () => Promise<unknown>, keep: (held: Held) => void): Promise<never> {
  return new Promise<never>((resolve, reject) => {
    const held: Held = {
      async does() {
        try {
          held.result = await work();
        } catch (error) {
          held.error = error;
        }
      },
      hear: () => held.error === undefined ? resolve(held.result as never) : reject(held.error),
    };
    keep(held);
  });
}

/** One process of a gateway: the real worker, whose store, clock and endpoint do nothing until the trace says so. */
function createProcess(store: Store, holder: string, now: () => number) {
  let waits: { ms: number; ring: () => void }[] = [];
  const wait: Wait = (ms, signal) =>
    new Promise((resolve) => {
      const one = { ms, ring: resolve };
      waits.push(one);
      const cut = () => {
        waits = waits.filter((other) => other !== one);
        resolve();
      };
      if (signal?.aborted) cut();
      else signal?.addEventListener("abort", cut);
    });
  const clock: Clock = { now, monotonicMs: () => now() - START_MS, wait };
  const posts = new Map<number, (outcome: "delivered" | "rejected") => void>();
  const begun: number[] = [];
  const held: { loop?: Held; writing?: Held } = {};
  let mayRecheck = false;
  const leases: Store["leases"] = {
    acquire: (request) =>
      request.name === LEASE
        ? hold(() => store.leases.acquire(request), (one) => held.loop = one)
        : Promise.resolve(undefined),
    renew(own, durationMs) {
      if (!mayRecheck) return hold(() => store.leases.renew(own, durationMs), (one) => held.loop = one);
      mayRecheck = false;
      return store.leases.renew(own, durationMs);
    },
    release: (own) => store.leases.release(own),
  };
  /** The model has no shares: each worker sees no other one, and acquires every free partition. */
  const change: Store["sharedState"]["change"] = (_name, next) => Promise.resolve(next(undefined, now()).answer);
  const settle: Store["deliveries"]["settle"] = (step) =>
    hold(() => store.deliveries.settle(step), (one) => held.writing = one);
  const worker = createDeliveryWorker({
    store: Object.create(store, {
      leases: { value: leases },
      sharedState: { value: { ...store.sharedState, change } },
      deliveries: { value: Object.create(store.deliveries, { settle: { value: settle } }) },
    }),
    attempt: async ({ message }) => {
      const sequence = Number(message.json);
      begun.push(sequence);
      const outcome = await new Promise<NewAttempt["outcome"]>((resolve) => posts.set(sequence, resolve));
      return {
        replayId: null,
        eventId: message.id,
        eventType: message.type,
        number: 1,
        atMs: now(),
        durationMs: 10,
        outcome,
        statusCode: outcome === "delivered" ? 200 : 400,
        error: outcome === "delivered" ? null : "400",
        responseBody: null,
        nextAttemptAtMs: null,
      };
    },
    isKeyEnabled: () => Promise.resolve(true),
    recipient: ({ id, url }) => ({ id, url, secrets: [] }),
    message: ({ id, type, sequence }) => ({ id, type, json: String(sequence) }),
    clock,
    holder,
    onAttempt: () => {},
    onProblem: (message, cause) => assert.fail(`${message}: ${cause}`),
    limits: { postsPerEndpoint: 2, slowMs: 1e12 },
    gatherMs: GATHER_MS,
  });
  let isStarted = false;

  /** Ends the first rest of so long. */
  function ring(restMs: number): void {
    const at = waits.findIndex(({ ms }) => ms === restMs);
    assert.notEqual(at, -1, `${holder} waits for nothing`);
    waits.splice(at, 1)[0]!.ring();
  }

  return {
    held,
    begun,
    look() {
      // A worker without partitions at the fencing has nothing to do.
      mayRecheck = false;
      if (isStarted) ring(LEASES_REST_MS);
      else worker.start();
      isStarted = true;
    },
    answer: (sequence: number, outcome: "delivered" | "rejected") => posts.get(sequence)!(outcome),
    /** The loop that delivers looks, too, once that of leases has. */
    deliver: () => ring(LOOK_MS),
    settle: () => ring(GATHER_MS),
    heed() {
      mayRecheck = held.writing!.error !== undefined;
      held.writing!.hear();
      held.writing = undefined;
    },
    stop: () => worker.stop({ drainMs: 0 }),
  };
}

interface Gateway {
  term: number;
  reader: { term: number; inFlight: number[] };
  call: { stage: string; kind: string; term: number };
  writing: { stage: string };
}

/**
 * Does with real workers on one shared store what a trace of `partitions.qnt` says, and compares after each step: what
 * the store granted, wrote and fenced off, where the cursor stands, what is kept, and which posts were begun.
 */
export async function replay(trace: State[], gateways: number, events: number): Promise<void> {
  let ticks = 0;
  const now = () => START_MS + ticks * TICK_MS;
  const store = await openStore("memory:", { isShared: true, now });
  await insert(store, subscriptionOf(SUBSCRIPTION));
  await append(store, Array.from({ length: events }, (_, at) => eventAt(101 + at)), 100 + events);
  let lives = 0;
  const start = () => createProcess(store, `gateway ${++lives}`, now);
  const processes = Array.from({ length: gateways }, start);
  const accepted = new Set<number>();

  for (const [at, state] of trace.entries()) {
    const { what, gateway, event } = state.taken;
    const where = `step ${at}, ${what} ${gateway} ${event}`;
    const process = processes[gateway - 1]!;
    if (process !== undefined) process.begun.length = 0;
    if (what === "tick") ticks++;
    else if (what === "look") process.look();
    else if (what === "grant") await process.held.loop!.does();
    else if (what === "hear") {
      const { loop } = process.held;
      process.held.loop = undefined;
      loop!.hear();
      await flush();
      if (process.held.loop === undefined) process.deliver();
    } else if (what === "accept" || what === "reject") {
      process.answer(event, what === "accept" ? "delivered" : "rejected");
      if (what === "accept") accepted.add(event);
    } else if (what === "settle") process.settle();
    else if (what === "commit") await process.held.writing!.does();
    else if (what === "heed") process.heed();
    else if (what === "stop") await process.stop();
    if (what === "crash" || what === "stop") processes[gateway - 1] = start();
    await flush();
    if (gateway > 0) compare(processes[gateway - 1]!, state, trace[at - 1]!, gateway, where);
    await compareStore(store, state, accepted, where);
  }
  await store.close();
}

function compare(
  { held, begun }: ReturnType<typeof createProcess>,
  state: State,
  before: State,
  gateway: number,
  where: string,
): void {
  const of = (one: State): Gateway => one.gateways[gateway - 1][1];
  const [expected, former] = [of(state), of(before)];
  assert.equal(held.loop !== undefined, expected.call.stage !== "none", `${where}: asks the store`);
  assert.equal(held.writing !== undefined, expected.writing.stage !== "none", `${where}: settles`);
  if (expected.call.stage === "done") {
    const { result, error } = held.loop!;
    assert.equal(error, undefined, where);
    const granted = expected.call.kind === "renew" ? (result as { term: number }[])[0] : result as { term: number };
    assert.equal(granted?.term ?? 0, expected.call.term, `${where}: the term that was had`);
  }
  if (expected.writing.stage === "done") assert.equal(held.writing!.error, undefined, where);
  if (expected.writing.stage === "fenced") {
    const { error } = held.writing!;
    assert.ok(error instanceof StoreError && error.kind === "fenced", `${where}: not fenced off`);
  }
  const isNew = expected.reader.term !== former.reader.term;
  const expectedPosts = expected.reader.inFlight.filter((event) => isNew || !former.reader.inFlight.includes(event));
  assert.deepEqual([...begun].sort(), expectedPosts, `${where}: posts that were begun`);
}

async function compareStore(store: Store, state: State, accepted: Set<number>, where: string): Promise<void> {
  const { progress } = (await store.deliveries.consumer(SUBSCRIPTION))!;
  assert.equal(progress.cursor, state.cursor, `${where}: the cursor`);
  const ended = await endedOf(store, { subscriptionId: SUBSCRIPTION, limit: 200 });
  const kept = ended.map(({ delivery }) => delivery.sequence);
  for (const sequence of kept) assert.ok(state.kept.includes(sequence), `${where}: ${sequence} is kept`);
  for (let event = 1; event <= progress.cursor; event++) {
    assert.ok(kept.includes(event) || accepted.has(event), `${where}: ${event} was skipped`);
  }
}
