import { Keypair, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { Gateway } from "../../lib/gateway/gateway.ts";
import { forTier } from "../tier.ts";
import { type IntentsStage, setIntentsStage } from "./intents_stage.ts";
import type { Life } from "./mortal_part.ts";
import { createNodeFaults, type NodeFaultCounts } from "./node_faults.ts";
import { seededRandom } from "./seeded_random.ts";
import type { SharedStore } from "./shared_stores.ts";

export interface IntentRunOptions {
  seed: number;
  intents: number;
  store: SharedStore;
}

export interface IntentRun {
  /** Of each intent: the hashes of its applied transactions that succeeded. */
  applied: Map<number, string[]>;
  /** Of each intent: the hash that its client was told is its success. */
  told: Map<number, string>;
  /** Of each intent: how many different envelopes it was handed out. */
  envelopes: number[];
  counts: NodeFaultCounts & ClientCounts;
  virtualHours: number;
}

interface ClientCounts {
  requests: number;
  kills: number;
  lostRequests: number;
  unresolvedSubmissions: number;
  /** Clients that slept until their envelope could not be applied any more. */
  overslept: number;
  /** Clients that forgot what they had. */
  crashed: number;
  /** Intents that two clients were at, at once. */
  doubled: number;
  /** Answers other than 200, by status and code. */
  refusals: Record<string, number>;
}

const GATEWAYS = 2;
const CARDS = 6;
const CLIENTS = 16;
/** Of store calls and questions to the node, two each: a payment takes about a hundred. */
const LONGEST_LIFE = forTier({ test: 600, all: 1_500 });
const RATES = { lostRequest: 0.03, lostAnswer: 0.05, overslept: 0.03, crashed: 0.05, doubled: 0.08, askedAgain: 0.3 };
const HEADERS = { "content-type": "application/json" };
const CLIENT_TIMEOUT_MS = 75_000;
const MOST_TRIES = 400;

interface Living {
  gateway: Gateway;
  life: Life;
}

/**
 * Clients that each mean one payment, always under the same key, until they are told that it was applied; while gateways
 * on one store are killed at any step, and requests and answers are lost on either side.
 */
export async function runIntents({ seed, intents, store }: IntentRunOptions): Promise<IntentRun> {
  const random = seededRandom(seed);
  const stage = await setIntentsStage(store, CARDS);
  const { faults, counts: nodeCounts } = createNodeFaults(random);
  const counts: ClientCounts = {
    requests: 0,
    kills: 0,
    lostRequests: 0,
    unresolvedSubmissions: 0,
    overslept: 0,
    crashed: 0,
    doubled: 0,
    refusals: {},
  };
  const { time, network } = stage;
  const startedMs = time.now();
  const startedAfter = network.latestLedger().sequence;
  const living: (Living | Promise<Living>)[] = [];
  const told = new Map<number, string>();
  const envelopes = Array.from({ length: intents }, () => new Set<string>());

  /** The gateway in this place, or the one that comes after it. */
  async function gatewayAt(place: number): Promise<Living> {
    const now = await living[place];
    if (now !== undefined && !now.life.isOver) return now;
    if (now !== undefined && living[place] instanceof Promise === false) counts.kills += 1;
    const next = stage.live(Math.ceil(random.between(50, LONGEST_LIFE)), faults);
    living[place] = next;
    return living[place] = await next;
  }

  /** Asks a gateway; undefined when no answer came. */
  async function ask(
    path: string,
    intent: number,
    body: unknown,
  ): Promise<{ status: number; body: Answer } | undefined> {
    counts.requests += 1;
    const [toGateway, back] = [random.next(), random.next()];
    if (toGateway < RATES.lostRequest) {
      counts.lostRequests += 1;
      return undefined;
    }
    const { gateway, life } = await gatewayAt(Math.floor(random.between(0, GATEWAYS)));
    const request = new Request(`http://gateway.test${path}`, {
      method: "POST",
      headers: { ...HEADERS, authorization: `Bearer ${stage.apiKey}`, "idempotency-key": `intent-${intent}` },
      body: JSON.stringify(body),
    });
    const answered = Promise.resolve(gateway.fetch(request, { remoteAddress: "198.51.100.7" }));
    const nothing = () => undefined;
    const hung = new AbortController();
    const late = time.wait(CLIENT_TIMEOUT_MS, hung.signal);
    const response = await Promise.race([answered.catch(nothing), life.over.then(nothing), late.then(nothing)]);
    hung.abort();
    if (response === undefined) return undefined;
    const answer = { status: response.status, body: await response.json() };
    if (back < RATES.lostAnswer) {
      counts.unresolvedSubmissions += 1;
      return undefined;
    }
    if (answer.status !== 200) {
      const { code, message, contractError, transactionError } = answer.body.error;
      const what = `${answer.status} ${contractError ?? transactionError ?? code}`;
      if (counts.refusals[what] === undefined) console.log(what, message);
      counts.refusals[what] = (counts.refusals[what] ?? 0) + 1;
    }
    return answer;
  }

  async function succeed(intent: number): Promise<void> {
    const { source, operation } = wantedBy(stage, intent);
    const request = { source: source.publicKey(), operation };
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (tries > 0) await time.wait(random.between(100, 8_000));
      const prepared = await ask("/v1/transactions/prepare", intent, request);
      if (prepared?.status !== 200) continue;
      envelopes[intent]!.add(prepared.body.hash);
      if (prepared.body.status === "success") return void told.set(intent, prepared.body.hash);
      const choice = random.next();
      if (choice < RATES.crashed) {
        counts.crashed += 1;
        continue;
      }
      if (choice < RATES.crashed + RATES.overslept) {
        counts.overslept += 1;
        await time.wait(random.between(250_000, 400_000));
      }
      const submitted = await ask("/v1/transactions/submit", intent, {
        xdr: signedBy(source, prepared.body.xdr, network.passphrase),
      });
      if (submitted?.status !== 200) continue;
      told.set(intent, submitted.body.hash);
      if (random.next() > RATES.askedAgain) return;
    }
    throw new Error(`intent ${intent} has not succeeded after ${MOST_TRIES} tries`);
  }

  async function client(queue: Iterator<number>): Promise<void> {
    for (let next = queue.next(); !next.done; next = queue.next()) {
      const isDoubled = random.next() < RATES.doubled;
      if (isDoubled) counts.doubled += 1;
      await Promise.all(Array.from({ length: isDoubled ? 2 : 1 }, () => succeed(next.value)));
    }
  }

  try {
    const queue = Array.from({ length: intents }, (_, n) => n).values();
    await time.until(Promise.all(Array.from({ length: CLIENTS }, () => client(queue))));
    // What was sent and not applied yet would be now.
    await time.until(time.wait(600_000));
    return {
      applied: appliedOf(stage, startedAfter, intents),
      told,
      envelopes: envelopes.map(({ size }) => size),
      counts: { ...counts, ...nodeCounts },
      virtualHours: (time.now() - startedMs) / 3_600_000,
    };
  } finally {
    for (const one of living) (await one).life.end();
    await stage.close();
  }
}

interface Answer {
  hash: string;
  xdr: string;
  status?: string;
  error: { code: string; message: string; contractError?: string; transactionError?: string };
}

/** No two intents are of the same amount, by which they are told apart on the ledger. */
const amountOf = (intent: number) => 1_000 + intent;

function wantedBy({ cards, asset }: IntentsStage, intent: number) {
  const { deviceHash, owner, agent } = cards[intent % cards.length]!;
  const amount = String(amountOf(intent));
  if (intent % 3 === 0) return { source: owner, operation: { kind: "fundEscrow", deviceHash, asset, amount } };
  const merchant = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(intent % 200)).publicKey();
  return { source: agent, operation: { kind: "authorize", deviceHash, merchant, asset, amount } };
}

function signedBy(source: Keypair, envelope: string, passphrase: string): string {
  const transaction = TransactionBuilder.fromXdr(envelope, passphrase);
  transaction.sign(source);
  return transaction.toXdr();
}

/** The successful transactions of each intent, from the ledger itself. */
function appliedOf({ network }: IntentsStage, afterLedger: number, intents: number): Map<number, string[]> {
  const applied = new Map<number, string[]>();
  for (let n = 0; n < intents; n++) applied.set(n, []);
  for (const event of network.eventsAfter("", network.latestLedger().sequence)) {
    if (event.ledger <= afterLedger) continue;
    const amount = amountIn(xdr.ScVal.fromXdr(event.valueXdr));
    const hashes = amount === undefined ? undefined : applied.get(amount - 1_000);
    if (hashes !== undefined && !hashes.includes(event.txHash)) hashes.push(event.txHash);
  }
  return applied;
}

/** The amount in an event's value, wherever it stands. */
function amountIn(value: xdr.ScVal): number | undefined {
  if (value.type === "scvI128") return Number(i128(value));
  const parts = value.type === "scvVec"
    ? value.vec ?? []
    : value.type === "scvMap"
    ? (value.map ?? []).map(({ val }) => val)
    : [];
  for (const part of parts) {
    const amount = amountIn(part);
    if (amount !== undefined) return amount;
  }
  return undefined;
}

function i128(value: Extract<xdr.ScVal, { type: "scvI128" }>): bigint {
  return (BigInt(value.i128.hi) << 64n) + BigInt(value.i128.lo);
}
