import process from "node:process";
import { systemClock } from "../../lib/clock.ts";
import { randomBase62 } from "../../lib/random.ts";
import type { NewEvent } from "../../lib/store/event.ts";
import { type Lease, type Store, WATCHER_LEASE } from "../../lib/store/store.ts";
import { createPoster } from "../../lib/webhooks/post/post.ts";
import { createSecretCipher } from "../../lib/webhooks/secrets/secrets.ts";
import { createTargetPolicy } from "../../lib/webhooks/targets/policy.ts";
import { createWebhooks, type Webhooks } from "../../lib/webhooks/webhooks.ts";

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

/** What one commit of the store takes. */
const EVENTS_AT_ONCE = 100;
const LEASE_MS = 60_000;

/** The only event of a ledger. */
export function eventAt(ledger: number): NewEvent {
  return {
    id: `${String(BigInt(ledger) << 32n).padStart(19, "0")}-0000000001`,
    type: "payment.authorized",
    contractId: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
    ledger,
    ledgerClosedAt: "2026-01-01T00:00:00Z",
    txHash: "cd".repeat(32),
    deviceHash: "ab".repeat(32),
    merchant: "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7",
    amount: "40000",
    knownAt: 1_767_225_600,
  };
}

/** The ledger of an event, by its id. */
export function ledgerOf(eventId: string): number {
  return Number(eventId.slice(0, 19)) / 2 ** 32;
}

/** The secret of the subscription with this number, which a receiver knows without being told. */
export function secretOf(n: number): string {
  return `whsec_${btoa(String.fromCharCode(...new Uint8Array(32).fill(n)))}`;
}

/** Has the subscriptions 0 to `count` − 1 hear every event: of the number N at `URL/hook/N`. */
export async function subscribe(store: Store, url: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await store.subscriptions.insert({
      id: subscriptionId(n),
      keyId: `key${n}`,
      url: `${url}/hook/${n}`,
      types: null,
      deviceHash: null,
      merchant: null,
      secret: secretOf(n),
      previousSecret: null,
      createdAt: new Date().toISOString(),
      ordered: false,
      startHeight: 1,
    }, 100);
  }
}

export const subscriptionId = (n: number) => `wh_${String(n).padStart(22, "0")}`;

/** Appends events as the watcher does, one a ledger. */
export interface Ingest {
  /** Appends those of the ledgers after the last one, up to this. */
  appendUpTo(ledger: number): Promise<void>;
}

/** @param after the last ledger whose event the store holds */
export function createIngest(store: Store, after = 0): Ingest {
  let lease: Lease | undefined;
  let leasedAt = -Infinity;
  let last = after;
  return {
    async appendUpTo(ledger) {
      while (last < ledger) {
        if (performance.now() - leasedAt > LEASE_MS / 2) {
          leasedAt = performance.now();
          lease = await store.leases.acquire({ name: WATCHER_LEASE, holder: "bench", durationMs: LEASE_MS });
        }
        const count = Math.min(EVENTS_AT_ONCE, ledger - last);
        const scannedLedger = last + count;
        await store.events.append({
          lease: lease!,
          events: Array.from({ length: count }, (_, n) => eventAt(last + 1 + n)),
          state: {
            epoch: 0,
            latestLedger: scannedLedger,
            latestLedgerCloseTime: 1_767_225_600,
            settledLedger: 0,
            rescans: [],
            checkpoints: [],
            formerCheckpoints: [],
            scannedLedger,
            contracts: {},
            gaps: [],
            formerEpochs: [],
          },
        });
        last = scannedLedger;
      }
    },
  };
}

/** Webhooks as a gateway has them, but to this machine's own addresses. */
export function localWebhooks(store: Store): Webhooks {
  const policy = createTargetPolicy({ resolve: () => Promise.reject(new Error("none")), allowLoopbackHttp: true });
  return createWebhooks({
    store,
    targets: policy,
    poster: createPoster({ policy, now: Date.now }),
    secrets: createSecretCipher(undefined),
    isKeyEnabled: () => Promise.resolve(true),
    isKeyThere: () => Promise.resolve(true),
    startHeight: () => Promise.resolve(1),
    randomBytes: random,
    randomText: (length) => randomBase62(length, random),
    clock: systemClock,
    onAttempt: () => {},
    onProblem: (message, cause) => process.stderr.write(`${message}: ${cause}\n`),
  });
}
