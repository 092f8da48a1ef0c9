import assert from "node:assert/strict";
import { setTimeout as passed } from "node:timers/promises";
import { forTier } from "../tier.ts";
import { type Cluster, startCluster } from "../store/postgres_cluster.ts";
import type { Happening } from "./card_traffic.ts";
import { type Fleet, type FleetGateway, startFleet } from "./fleet.ts";
import { type Admission, ask, followPages, followStream, overload } from "./fleet_clients.ts";
import { faultRound, type FleetFaultsParts, GATEWAYS_USER, OTHERS_USER } from "./fleet_faults.ts";
import { type KillStage, newKey, setKillStage } from "./kill_stage.ts";
import { type Listener, missing } from "./listener.ts";
import type { Receipt } from "./moody_receiver.ts";
import { type SeededRandom, seededRandom } from "./seeded_random.ts";

export interface FleetRunOptions extends Pick<FleetFaultsParts, "kills" | "troubles"> {
  seed: number;
  rounds: number;
  /** How many gateways: two, or four. */
  count: number;
  /** Directory of PostgreSQL's programs. */
  programs: string;
}

export interface FleetRun {
  happenings: Happening[];
  listeners: Listener[];
  receipts: Receipt[];
  /** The whole log at the end, in order, from each gateway. */
  logs: { id: string; txHash: string }[][];
  /** The event ids that each reader got, by the reader's name. */
  followed: Map<string, string[]>;
  /** The requests that each gateway admitted for the key of `RATE`. */
  admissions: Admission[][];
  /** The stored failed deliveries at the end, by the listener's name. */
  kept: Map<string, KeptDelivery[]>;
  /** Their count in each gateway's status. */
  saidKept: { retrying: number; rejected: number; dead: number }[];
  /** Deliveries that wait in the log without a reason. */
  waiting: number;
  /** Logs of gateways that ended by themselves. */
  ended: string[];
  /** The time from the last fault to full recovery. */
  recoveryMs: number;
}

export interface KeptDelivery {
  /** Of the event: its place in the log, from 1. */
  sequence: number;
  state: "retrying" | "rejected" | "dead";
  attempts: number;
  /** From the end of the run on. */
  dueInMs: number;
}

/** Requests per minute of the key that asks for more. */
export const RATE = 120;
const MAX_CONNECTIONS = 40;
const LONGEST_LEDGER_MS = forTier({ test: 1_000, all: 400 });
/** Generous: a machine may be busy. */
const RECOVERY_MS = 180_000;

/**
 * Gateways on one PostgreSQL database, each on its own way to it, go through rounds of faults while cards pay and
 * endpoints misbehave. Nobody does anything about the faults but to start again what was killed.
 */
export async function runFleet(options: FleetRunOptions): Promise<FleetRun> {
  const { seed, programs, count } = options;
  const random = seededRandom(seed);
  const cluster = await startCluster(programs, { settings: [`max_connections = ${MAX_CONNECTIONS}`] });
  const storeAt = (port: number) => `postgres://${GATEWAYS_USER}@127.0.0.1:${port}/gateway?pool=5`;
  try {
    await cluster.sql(`CREATE ROLE ${GATEWAYS_USER} LOGIN; CREATE ROLE ${OTHERS_USER} LOGIN;
      GRANT CREATE ON DATABASE gateway TO ${GATEWAYS_USER}`);
    const stage = await setKillStage(storeAt(cluster.port), random);
    try {
      const fleet = await startFleet(stage, { count, databasePort: cluster.port, storeAt });
      try {
        const limitedKey = await newKey(storeAt(cluster.port), { name: "busy", scopes: ["read"], rate: RATE });
        return await endure({ ...options, cluster, stage, fleet, random, limitedKey });
      } finally {
        await fleet.stop();
      }
    } finally {
      await stage.close();
    }
  } finally {
    await cluster.remove();
  }
}

interface FleetRunParts extends FleetRunOptions {
  cluster: Cluster;
  stage: KillStage;
  fleet: Fleet;
  random: SeededRandom;
  limitedKey: string;
}

async function endure(parts: FleetRunParts): Promise<FleetRun> {
  const { cluster, stage, fleet, random, rounds, limitedKey } = parts;
  const { traffic, receiver, listeners, apiKey } = stage;
  const { gateways } = fleet;
  const anyGateway = () => random.pick(gateways);
  // So that no retry is due later than in the schedule, and no request waits at the end.
  for (const { moods } of listeners) delete moods.tooMany, delete moods.hang;
  const names = new Map<string, string>();
  const subscribe = async (wanted: Listener[]) => {
    for (const one of wanted) names.set(await subscribed(one, receiver.url, anyGateway, apiKey), one.name);
  };
  await subscribe(listeners.filter(({ isLate }) => !isLate));

  const followers = new Map([
    ...gateways.map((gateway, n) => [`pages of gateway ${n}`, followPages(() => gateway, apiKey)] as const),
    ["pages of any gateway", followPages(anyGateway, apiKey)],
    ["streams of any gateway", followStream(anyGateway, apiKey)],
  ]);
  const overloads = gateways.map((gateway) => overload(gateway, limitedKey));
  let isOver = false;
  const trafficking = (async () => {
    for (; !isOver; await passed(random.between(20, LONGEST_LEDGER_MS))) traffic.closeLedger();
  })();
  const late = (async () => {
    await passed(5_000);
    await subscribe(listeners.filter(({ isLate }) => isLate));
    const [id] = [...names].find(([, name]) => name === "late")!;
    await replayed(id, traffic.happenings()[0]!.ledger, anyGateway, apiKey);
  })();
  for (let round = 0; round < rounds; round++) {
    await faultRound({ ...parts, maxConnections: MAX_CONNECTIONS }, round === 0);
  }
  const faultlessAt = performance.now();
  await late;
  isOver = true;
  await trafficking;
  await Promise.all(overloads.map(({ stop }) => stop()));
  receiver.calmDown();

  const happenings = traffic.happenings();
  const recovered = await recovery({ fleet, apiKey, cluster, names, happenings, followers: [...followers.values()] });
  const recoveryMs = performance.now() - faultlessAt;
  await Promise.all([...followers.values()].map(({ stop }) => stop()));
  return {
    ...recovered,
    happenings,
    listeners,
    receipts: receiver.receipts,
    followed: new Map([...followers].map(([what, { ids }]) => [what, ids])),
    admissions: overloads.map(({ admissions }) => admissions),
    ended: fleet.ended,
    recoveryMs,
  };
}

/**
 * Waits until nothing is under way at any gateway and what each has is whole, at most so long; answers how it is. A status
 * may be some seconds old: a gateway caches its count of deliveries.
 */
async function recovery(
  { fleet: { gateways, ended }, cluster, names, apiKey, happenings, followers }: {
    fleet: Fleet;
    cluster: Cluster;
    names: Map<string, string>;
    apiKey: string;
    happenings: Happening[];
    followers: { ids: string[] }[];
  },
): Promise<Pick<FleetRun, "logs" | "saidKept" | "kept" | "waiting">> {
  for (const startedAt = performance.now();; await passed(200)) {
    const logs = await Promise.all(gateways.map((gateway) => wholeLog(gateway, apiKey)));
    const statuses = await Promise.all(gateways.map((gateway) => ask(gateway, apiKey, "/v1/status")));
    const saidKept = statuses.flatMap((one) => one?.status === 200 ? [one.body.deliveries] : []);
    const waiting = Math.max(0, ...saidKept.map(({ pending, retrying }) => pending - retrying));
    const hasAll = (list: unknown[]) => list.length >= happenings.length;
    const isWhole = logs.every(hasAll) && followers.every(({ ids }) => ids.length >= logs[0]!.length);
    const kept = await keptDeliveries(cluster, names);
    const count = [...kept.values()].flat().length;
    const areCountsNew = saidKept.length === gateways.length && saidKept.every(({ retrying }) => retrying >= count);
    const isOver = isWhole && areCountsNew && waiting === 0;
    const isHopeless = ended.length > 0 || performance.now() - startedAt > RECOVERY_MS;
    if (isOver || isHopeless) return { logs, saidKept, kept, waiting };
  }
}

async function wholeLog(gateway: FleetGateway, apiKey: string): Promise<{ id: string; txHash: string }[]> {
  const log: { id: string; txHash: string }[] = [];
  for (let query = "";;) {
    const answer = await ask(gateway, apiKey, `/v1/events?limit=1000${query}`);
    if (answer?.status !== 200) return [];
    const { events, cursor } = answer.body;
    for (const { id, txHash } of events) log.push({ id, txHash });
    if (events.length < 1_000) return log;
    query = `&cursor=${encodeURIComponent(cursor)}`;
  }
}

/** Subscribes at any gateway, as one who asks until there is an answer and wants one subscription. */
async function subscribed(
  { name, filter }: Listener,
  receiverUrl: string,
  choose: () => FleetGateway,
  apiKey: string,
): Promise<string> {
  const request = { body: { url: `${receiverUrl}/${name}`, ...filter }, headers: { "idempotency-key": name } };
  for (;; await passed(200)) {
    const answer = await ask(choose(), apiKey, "/v1/webhooks", request);
    if (answer?.status === 201) return answer.body.id;
    assert.ok(answer === undefined || answer.status >= 409, JSON.stringify(answer));
  }
}

/** Has all from this ledger on sent again; once or twice, where an answer was lost. */
async function replayed(id: string, fromLedger: number, choose: () => FleetGateway, apiKey: string): Promise<void> {
  for (;; await passed(200)) {
    const answer = await ask(choose(), apiKey, `/v1/webhooks/${id}/replay`, { body: { fromLedger } });
    // 400: there is one already.
    if (answer?.status === 202 || answer?.status === 400) return;
    assert.ok(answer === undefined || answer.status >= 500, JSON.stringify(answer));
  }
}

async function keptDeliveries(cluster: Cluster, names: Map<string, string>): Promise<Map<string, KeptDelivery[]>> {
  const rows = await cluster.sql(
    `SELECT subscription.id, sequence, state, attempts, due_at_ms - extract(epoch FROM clock_timestamp()) * 1000
    FROM gateway.failed_delivery AS failed JOIN gateway.subscription AS subscription ON subscription.number = failed.subscription`,
  );
  const kept = new Map([...names.values()].map((name) => [name, [] as KeptDelivery[]]));
  for (const row of rows === "" ? [] : rows.split("\n")) {
    const [id, sequence, state, attempts, dueInMs] = row.split("|") as [
      string,
      string,
      KeptDelivery["state"],
      string,
      string,
    ];
    const numbers = { sequence: Number(sequence), attempts: Number(attempts), dueInMs: Number(dueInMs) };
    kept.get(names.get(id)!)!.push({ state, ...numbers });
  }
  return kept;
}

/** A listener's events that it has not accepted and that are not stored for a retry. */
export function lost({ happenings, receipts, kept, logs }: FleetRun, listener: Listener): Happening[] {
  const hashes = new Set(kept.get(listener.name)!.map(({ sequence }) => logs[0]![sequence - 1]?.txHash));
  return missing(listener, happenings, receipts).filter(({ txHash }) => !hashes.has(txHash));
}
