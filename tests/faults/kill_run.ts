import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Happening } from "./card_traffic.ts";
import { setKillStage } from "./kill_stage.ts";
import { type Listener, missing } from "./listener.ts";
import type { Receipt } from "./moody_receiver.ts";
import type { MortalGateway } from "./mortal_gateway.ts";
import { seededRandom } from "./seeded_random.ts";

export interface KillRun {
  happenings: Happening[];
  listeners: Listener[];
  receipts: Receipt[];
  /** Where `receipts` were when all was delivered: what comes behind came although nothing was owed any more. */
  deliveredAt: number;
  /** What was owed in the end. */
  backlog: { pending: number; dead: number };
  /** What the gateways wrote to standard error. */
  log: string;
}

/** A moment at which a gateway dies: while it starts, when a post was just begun, or right after that write to its store. */
export type Moment = "starting" | "posting" | "leases.acquire" | "events.append" | "deliveries.settle";

export interface KillRunOptions {
  seed: number;
  kills: number;
  /** The moments of the kills, one each; absent: chosen by the seed. */
  moments?: readonly Moment[];
  /** Of the store's file: `sqlite` or `deno-kv`. */
  driver: string;
  postsPerEndpoint: number;
}

/** Nobody leases for longer, so a gateway whose clock is so far ahead of a dead one's finds nothing leased. */
const LEASE_MS = 30_000;
/** Longer than any retry is put off. */
const LONGEST_RETRY_MS = 30 * 3_600_000;
/** The longest of most lives, after a start that takes about so long. */
const LIFE_MS = 600;
const STARTING_MS = 500;
/** Longer than a post may take: some see their time-out. */
const LONG_LIFE_MS = 10_500;
const LONG_LIFE_EVERY = 10;
const AFTER_RECEIPT_MS = 20;
/** Of the lives that end with a write to the store. */
const MOST_WRITES = 25;
const DRAIN_TIMEOUT_MS = 300_000;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * Lets a gateway live and die many times while cards pay and endpoints misbehave, then once in peace until all is
 * delivered. Each life's clock is ahead of the one before: leases and retries come due without waiting for them.
 */
export async function runKills(options: KillRunOptions): Promise<KillRun> {
  const { seed, driver, postsPerEndpoint, moments } = options;
  const kills = moments === undefined ? options.kills : moments.length + 2;
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), "gateway-kills-"));
  const stage = await setKillStage(`${driver}:${join(folder, "gateway.store")}`, random);
  const { traffic, receiver, listeners } = stage;
  const soon = (ms: number) => pause(random.between(0, ms));
  let aheadMs = 0;
  let log = "";

  /** A life that is over when `work` is done. */
  async function live(
    work: (gateway: MortalGateway) => Promise<unknown>,
    writes = 0,
    countedWrite?: string,
  ): Promise<void> {
    const gateway = stage.live({ aheadMs, postsPerEndpoint, writes, countedWrite });
    await work(gateway);
    await gateway.kill();
    log += gateway.log();
  }

  /** A life that ends at any moment from its first one on, most often at one at which something is half done. */
  async function liveAwhile(): Promise<void> {
    const choice = random.next();
    if (choice < 0.1) return await live(() => soon(STARTING_MS));
    if (choice < 0.5) {
      return await live(async ({ ready, gone }) => {
        if (await ready !== undefined) { for (let ledgers = 10; ledgers > 0; ledgers--) traffic.closeLedger(); }
        await Promise.race([gone, pause(2 * LIFE_MS)]);
      }, Math.ceil(random.between(0, MOST_WRITES)));
    }
    await live(async ({ ready }) => {
      await ready;
      if (choice < 0.75) return await soon(LIFE_MS);
      await Promise.race([receiver.next(), pause(LIFE_MS)]);
      await soon(AFTER_RECEIPT_MS);
    });
  }

  /** A life that ends at this moment, which is bound to come. */
  async function liveUntil(moment: Moment): Promise<void> {
    if (moment === "starting") return await live(() => soon(STARTING_MS));
    if (moment === "posting") {
      return await live(async ({ ready }) => {
        await ready;
        const arrival = receiver.next();
        traffic.closeLedger();
        await arrival;
      });
    }
    await live(
      async ({ ready, gone }) => {
        if (await ready !== undefined) { for (let ledgers = 10; ledgers > 0; ledgers--) traffic.closeLedger(); }
        await gone;
      },
      1,
      moment,
    );
  }

  async function subscribe(gateway: MortalGateway, { name, filter }: Listener): Promise<string> {
    const api = stage.clientOf((await gateway.ready)!);
    const { status, body } = await api.post("/v1/webhooks", { url: `${receiver.url}/${name}`, ...filter });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  /** Those who come late have what they missed sent again. */
  async function subscribeLate(gateway: MortalGateway): Promise<void> {
    for (const listener of listeners.filter(({ isLate }) => isLate)) {
      const id = await subscribe(gateway, listener);
      const api = stage.clientOf((await gateway.ready)!);
      const { ledger } = traffic.happenings()[0]!;
      const { status, body } = await api.post(`/v1/webhooks/${id}/replay`, { fromLedger: ledger });
      assert.equal(status, 202, JSON.stringify(body));
    }
  }

  /** Waits until all has arrived and nothing is owed, at most so long; answers what is. */
  async function drained(gateway: MortalGateway, happenings: Happening[]): Promise<KillRun["backlog"]> {
    const api = stage.clientOf((await gateway.ready)!);
    const isComplete = () => listeners.every((one) => missing(one, happenings, receiver.receipts).length === 0);
    for (const deadlineMs = Date.now() + DRAIN_TIMEOUT_MS;; await pause(50)) {
      const { pending, dead } = (await api.get("/v1/status")).body.deliveries;
      if ((isComplete() && pending === 0) || Date.now() > deadlineMs) return { pending, dead };
    }
  }

  await live(async (gateway) => {
    for (const listener of listeners.filter(({ isLate }) => !isLate)) await subscribe(gateway, listener);
  });
  let isOver = false;
  const trafficking = (async () => {
    for (; !isOver; await pause(random.between(20, LIFE_MS / 2))) traffic.closeLedger();
  })();
  const left = [...moments ?? []];
  for (let kill = 2; kill <= kills; kill++) {
    aheadMs += Math.round(random.between(0, 3 * LEASE_MS));
    if (kill === Math.ceil(kills / 2)) await live(subscribeLate);
    else if (left.length > 0) await liveUntil(left.shift()!);
    else if (kill % LONG_LIFE_EVERY === 0) await live(() => pause(LONG_LIFE_MS));
    else await liveAwhile();
  }
  isOver = true;
  await trafficking;

  receiver.calmDown();
  aheadMs += LONGEST_RETRY_MS;
  const happenings = traffic.happenings();
  let backlog = { pending: NaN, dead: NaN };
  await live(async (gateway) => backlog = await drained(gateway, happenings));
  const deliveredAt = receiver.receipts.length;
  aheadMs += LONGEST_RETRY_MS;
  await live(async ({ ready }) => {
    await ready;
    await pause(LIFE_MS);
  });
  await stage.close();
  rmSync(folder, { recursive: true });
  return { happenings, listeners, receipts: receiver.receipts, deliveredAt, backlog, log };
}
