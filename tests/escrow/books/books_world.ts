import { Address, Keypair, nativeToScVal, xdr } from "@stellar/stellar-sdk";
import type { ReconcileParts } from "../../../lib/escrow/books/reconcile.ts";
import { balanceKey, pendingIndexKey, pendingPaymentKey } from "../../../lib/escrow/reads/storage_keys.ts";
import type { report } from "../../../lib/escrow/books/report.ts";
import { isoSeconds } from "../../../lib/clock.ts";
import { formatEventId, type NewEvent } from "../../../lib/store/event.ts";
import { matchesPayment, type PaymentStore, type StoredPayment } from "../../../lib/store/payment.ts";
import type { WatcherState } from "../../../lib/store/store.ts";
import { CONTRACT, sampleEvent, sampleState } from "../../store/samples.ts";
import { logOf } from "../memory_log.ts";

/** A number from 0 up to this one, exclusive. */
export type Draw = (below: number) => number;

const START = 1_793_491_200;
export const timeOf = (ledger: number) => START + 5 * ledger;
const addressOf = (n: number) => Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(n)).publicKey();
export const ASSETS = [1, 2, 3].map((n) => Address.contract(new Uint8Array(32).fill(n)).toString());

type ReportStore = Parameters<typeof report>[0]["store"];

interface Entry {
  slot: number;
  amount: bigint;
  endLedger: number;
  payment: StoredPayment;
}

/** The escrow contract and the log of a gateway, ledger by ledger. */
export class BooksWorld {
  ledger = 1;
  readonly cards = new Map<string, bigint>();
  readonly merchants = new Map<string, { count: number; entries: Entry[] }>();
  readonly tokens = new Map<string, bigint>(ASSETS.map((asset) => [asset, 0n]));
  readonly events: NewEvent[] = [];
  readonly payments: StoredPayment[] = [];
  readonly state: Partial<WatcherState> = {};
  /** Entries of cards and merchants that a reconciliation read, and its calls. */
  calls = 0;
  waitedMs = 0;
  #index = 0;

  constructor(readonly life = 10) {}

  #event(type: string, fields: Partial<NewEvent>): NewEvent {
    const { ledger } = this;
    const id = formatEventId({ epoch: 0, ledger, order: 4_096, index: this.#index++ });
    const event = sampleEvent(0, { id, type, ledger, ledgerClosedAt: isoSeconds(timeOf(ledger) * 1_000), ...fields });
    this.events.push(event);
    return event;
  }

  #move(deviceHash: string, by: bigint): void {
    this.cards.set(deviceHash, (this.cards.get(deviceHash) ?? 0n) + by);
  }

  pay(asset: string, by: bigint): void {
    this.tokens.set(asset, this.tokens.get(asset)! + by);
  }

  close(): void {
    this.ledger += 1;
    this.#index = 0;
  }

  fund(deviceHash: string, asset: string, amount: bigint): void {
    this.#event("escrow.funded", { deviceHash, asset, amount: `${amount}` });
    this.#move(deviceHash, amount);
    this.pay(asset, amount);
  }

  defund(deviceHash: string, asset: string, amount: bigint, type = "escrow.defunded"): void {
    if (amount <= 0n || amount > (this.cards.get(deviceHash) ?? 0n) || amount > this.tokens.get(asset)!) return;
    this.#event(type, { deviceHash, asset, amount: `${amount}` });
    this.#move(deviceHash, -amount);
    this.pay(asset, -amount);
  }

  authorize(deviceHash: string, merchant: string, asset: string, amount: bigint): void {
    if (amount <= 0n || amount > (this.cards.get(deviceHash) ?? 0n)) return;
    const { id, ledger, txHash } = this.#event("payment.authorized", {
      deviceHash,
      merchant,
      asset,
      amount: `${amount}`,
    });
    this.#move(deviceHash, -amount);
    const of = this.merchants.get(merchant) ?? { count: 0, entries: [] };
    this.merchants.set(merchant, of);
    const [slot, endLedger] = [of.count++, ledger + this.life - 1];
    const payment: StoredPayment = {
      ...{
        id,
        state: "pending",
        contractId: CONTRACT,
        ledger,
        authorizedAt: timeOf(ledger),
        txHash,
        deviceHash,
        merchant,
      },
      ...{ amount: `${amount}`, asset, slot, expiresAtLedger: endLedger },
    };
    this.payments.push(payment);
    of.entries.push({ slot, amount, endLedger, payment });
  }

  living(merchant: string): Entry[] {
    return this.merchants.get(merchant)?.entries.filter(({ endLedger }) => endLedger >= this.ledger) ?? [];
  }

  claim(merchant: string, asset: string): void {
    const taken = this.living(merchant);
    const amount = taken.reduce((sum, one) => sum + one.amount, 0n);
    if (amount === 0n || amount > this.tokens.get(asset)!) return;
    const { id: eventId, txHash, ledger } = this.#event("payment.claimed", { merchant, asset, amount: `${amount}` });
    this.pay(asset, -amount);
    for (const { payment } of taken) {
      Object.assign(payment, {
        state: "claimed",
        claim: { eventId, txHash, ledger, claimedAt: timeOf(ledger), asset },
      });
    }
    this.#expire(merchant, ledger);
    this.merchants.set(merchant, { count: 0, entries: [] });
  }

  /** Anyone may extend an entry. `isRead`: the gateway has read it since. */
  extend(entry: Entry, by: number, isRead: boolean): void {
    if (entry.endLedger < this.ledger) return;
    entry.endLedger += by;
    if (isRead) entry.payment.expiresAtLedger = entry.endLedger;
  }

  /** The gateway learns which payments have ended. */
  expire(): void {
    for (const merchant of this.merchants.keys()) this.#expire(merchant, this.ledger);
  }

  #expire(merchant: string, ledger: number): void {
    for (const { payment, endLedger } of this.merchants.get(merchant)!.entries) {
      if (endLedger >= ledger || payment.state !== "pending") continue;
      payment.expiresAtLedger = endLedger;
      Object.assign(payment, { state: "expired", expired: { eventId: `${payment.id}-e`, ledger, at: timeOf(ledger) } });
    }
  }

  /** The entries of the contract by key. */
  entries(): Map<string, { val: xdr.ScVal; until?: number }> {
    const found = new Map<string, { val: xdr.ScVal; until?: number }>();
    for (const [card, balance] of this.cards) found.set(balanceKey(CONTRACT, card), { val: i128(balance) });
    for (const [merchant, { count, entries }] of this.merchants) {
      found.set(pendingIndexKey(CONTRACT, merchant), { val: xdr.ScVal.scvU32(count) });
      for (const { slot, endLedger, payment } of entries) {
        const val = nativeToScVal({
          amount: BigInt(payment.amount),
          device_hash: xdr.decodeBytes(payment.deviceHash, "hex"),
          timestamp: BigInt(payment.authorizedAt),
        }, { type: { amount: ["symbol", "i128"], device_hash: ["symbol"], timestamp: ["symbol", "u64"] } });
        found.set(pendingPaymentKey(CONTRACT, merchant, slot), { val, until: endLedger });
      }
    }
    return found;
  }

  /** A store with this log, which may grow. `events`: those that the gateway knows. */
  store(events = this.events): ReconcileParts["store"] & ReportStore {
    let log = logOf(events);
    let known = events.length;
    const grown = () => {
      if (events.length !== known) [log, known] = [logOf(events), events.length];
      return log;
    };
    const state = () => ({
      ...{ scannedLedger: this.ledger, settledLedger: this.ledger },
      contracts: { [CONTRACT]: { fromLedger: 1, toLedger: null } },
      epoch: 0,
      ...this.state,
    });
    const list: PaymentStore["list"] = ({ filter, order, after, limit }) => {
      const found = this.payments.filter((one) => matchesPayment(filter, one));
      if (order === "desc") found.reverse();
      const at = after === undefined ? 0 : found.findIndex(({ id }) => id === after.id) + 1;
      return Promise.resolve(found.slice(at, at + limit));
    };
    const cursor = () => ({
      epoch: state().epoch,
      contractId: CONTRACT,
      sequence: Infinity,
      latestLedger: 0,
      settledLedger: 0,
      gaps: [],
    });
    return {
      events: {
        read: (query: Parameters<typeof log.read>[0]) => grown().read(query),
        watcherState: () => Promise.resolve(sampleState(0, state())),
        bounds: () => grown().bounds(),
        before: (height: number) => grown().before(height),
      },
      payments: { list, cursor: () => Promise.resolve(cursor()) },
      sharedState: { read: () => Promise.resolve(undefined) },
    } as unknown as ReconcileParts["store"] & ReportStore;
  }

  /** A reconciliation of this world. `clawback`: the assets that their issuers can take back. */
  parts({ events = this.events, clawback = [] as readonly string[], assets = ASSETS } = {}): ReconcileParts {
    const { ledger } = this;
    const rows = this.entries();
    return {
      store: this.store(events),
      paymentEscrow: CONTRACT,
      assets,
      entries: {
        read: (keys) => {
          this.calls += Math.ceil(keys.length / 200);
          const entries = keys.map((key) => {
            const row = rows.get(key);
            return row && { key, xdr: entryOf(row.val), lastModifiedLedgerSeq: 1, liveUntilLedgerSeq: row.until };
          });
          return Promise.resolve({ ledger, entries });
        },
      },
      pending: (merchant) => {
        this.calls += 2;
        const payments = this.living(merchant).map(({ amount, endLedger, payment: { deviceHash, authorizedAt } }) => {
          return { deviceHash, amount, timestamp: BigInt(authorizedAt), liveUntilLedger: endLedger };
        });
        return Promise.resolve({ ledger, value: { total: 0n, payments } });
      },
      held: (ids) => {
        this.calls += 1;
        const held = ids.map((id) => ({
          amount: this.tokens.get(id)!,
          frozen: false,
          clawback: clawback.includes(id),
        }));
        return Promise.resolve({ ledger, instance: { key: "", xdr: "", lastModifiedLedgerSeq: 1 }, held });
      },
      clock: {
        now: () => timeOf(ledger) * 1_000,
        monotonicMs: () => this.waitedMs,
        wait: (ms) => Promise.resolve(void (this.waitedMs += ms)),
      },
    };
  }
}

export function cardOf(n: number): string {
  return String(n).padStart(64, "0");
}

export function merchantOf(n: number): string {
  return addressOf(n + 1);
}

/** Lives through these ledgers. Card n has the asset n % 3, and merchant m gets the asset m % 3. */
export function live(world: BooksWorld, draw: Draw, ledgers: number, { bypass = 0 } = {}): void {
  const isBypass = () => draw(100) < bypass;
  for (let n = 0; n < ledgers; n++) {
    for (let step = draw(4); step > 0; step--) {
      const card = draw(6);
      const merchant = isBypass() ? draw(6) : card;
      const asset = ASSETS[isBypass() ? draw(3) : card % 3]!;
      const amount = BigInt(1 + draw(20));
      const action = draw(8);
      if (action < 2) world.fund(cardOf(card), asset, amount);
      else if (action < 4) world.authorize(cardOf(card), merchantOf(merchant), asset, amount);
      else if (action === 4) world.claim(merchantOf(merchant), asset);
      else if (action === 5) world.defund(cardOf(card), asset, amount);
      else if (action === 6) world.defund(cardOf(card), asset, world.cards.get(cardOf(card)) ?? 0n, "escrow.swept");
      else world.pay(ASSETS[draw(3)]!, BigInt(draw(3)));
    }
    for (const [merchant] of world.merchants) {
      for (const entry of world.living(merchant)) if (draw(20) === 0) world.extend(entry, draw(12), draw(2) === 0);
    }
    if (draw(4) === 0) world.expire();
    world.close();
  }
}

function i128(value: bigint): xdr.ScVal {
  return nativeToScVal(value, { type: "i128" });
}

export function entryOf(val: xdr.ScVal): string {
  return xdr.LedgerEntryData.contractData(
    new xdr.ContractDataEntry({
      ext: xdr.ExtensionPoint.v0(),
      contract: Address.fromString(CONTRACT).toScAddress(),
      key: xdr.ScVal.scvVoid(),
      durability: xdr.ContractDataDurability.persistent,
      val,
    }),
  ).toXdr("base64");
}
