import { nativeToScVal, SorobanDataBuilder, StrKey, xdr } from "@stellar/stellar-sdk/base";
import { rpcId } from "../events/simulated_node.ts";
import { accountEntry } from "../stellar/account_entry.ts";
import { calledIn } from "../../lib/stellar/transactions/envelope.ts";
import { appliedTransactions } from "./applied_transactions.ts";
import { type Chain, type Ledgers, PASSPHRASE } from "./chain.ts";
import type { Climate } from "./climate.ts";
import { contractEntry, lifeEntry, pendingEntry, toldBy } from "./contract_state.ts";
import type { EscrowState } from "./escrow_state.ts";
import { type Answer, bend, type Lie } from "./lies.ts";
import { type Owner, START_MS, type World } from "./world.ts";

/** What ails a node for a while. */
export interface Ailment {
  /** Ledgers it shows fewer than there are. */
  lag: number;
  /** Whether it shows the network as it was before the reset. */
  showsFormer: boolean;
  /** Probabilities of each question: it refuses, never answers, or does as asked and never answers, or breaks off. */
  refuses: number;
  stalls: number;
  loses: number;
  /** Of each event: it is not shown for as long as this lasts, while it is new. */
  withholds: number;
  /** Of each answer: the events before the cursor come once more, or in another order. */
  repeats: number;
}

export const WELL: Ailment = {
  lag: 0,
  showsFormer: false,
  refuses: 0,
  stalls: 0,
  loses: 0,
  withholds: 0,
  repeats: 0,
};
export const AILMENTS = Object.keys(WELL) as (keyof Ailment)[];

/** An older event is shown by all: who looks a second time some minutes later must find it. */
const WITHHELD_MS = 100_000;
/** The settings of the network that nodes know. A network without frozen keys needs no entry of them. */
const SETTINGS: Record<string, ((escrow: EscrowState) => string) | undefined> = {
  configSettingStateArchival: ({ habits }) => lifeEntry(habits.life),
  configSettingFrozenLedgerKeys: undefined,
};
export const HELD_LEDGERS = 100_000;

interface Params {
  startLedger?: number;
  filters?: { contractIds: string[] }[];
  pagination?: { limit: number; cursor?: string };
  keys?: string[];
  transaction?: string;
  hash?: string;
}

class Refusal extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** A Stellar RPC node of the simulated network: it may lag, lie, forget, refuse and stall. */
export class SimulatedNode {
  /** How many of its newest ledgers it holds. */
  retention = HELD_LEDGERS;
  #ailment: Ailment = WELL;
  /** Which events are not shown for now, by transaction. */
  #withheld = new Map<string, boolean>();
  #lie: Lie | undefined;
  #lied: () => void = () => {};
  #showsFormerUntilMs = 0;

  /** Whether contracts have storage: where nobody looks at it there is none. */
  readonly #hasCards: boolean;

  constructor(readonly name: string, readonly world: World, readonly chain: Chain, { lookers }: Climate) {
    this.#hasCards = lookers > 0;
  }

  get url(): string {
    return `http://${this.name}.test/`;
  }

  get ailment(): Ailment {
    return this.#ailment;
  }

  suffer(ailment: Ailment): void {
    this.#ailment = ailment;
    this.#withheld = new Map();
  }

  becomeWell(): void {
    this.suffer(WELL);
    this.retention = HELD_LEDGERS;
    this.#lie = undefined;
    this.#showsFormerUntilMs = 0;
  }

  /** From now on it shows the network before the reset, for so long. */
  showFormer(lastsMs: number): void {
    this.world.note(`${this.name} shows the former network for ${lastsMs} ms`);
    this.#showsFormerUntilMs = this.world.nowMs + lastsMs;
  }

  /** The next answer that this lie fits into says it, and tells that it did. */
  lieOnce(lie: Lie | undefined, lied = () => {}): void {
    this.#lie = lie;
    this.#lied = lied;
  }

  /**
   * Answers a JSON-RPC request; undefined: never.
   * @param asker who asks
   * @param told hears the newest ledger of each answer that arrives whole and says when that closed, and of which one what
   *   it shows is
   */
  answer(body: string, asker: Owner, told = (_named: number, _shown: number) => {}): Response | undefined {
    const { id, method, params = {} } = JSON.parse(body) as { id: number; method: string; params?: Params };
    const { world, ailment } = this;
    if (world.chance(ailment.stalls)) return undefined;
    if (world.chance(ailment.refuses)) return new Response("bad gateway", { status: 502 });
    const isLost = world.chance(ailment.loses);
    try {
      const answer = this.#methods[method];
      if (answer === undefined) throw new Refusal(-32601, "method not found");
      const result = this.#bent(method, answer(params), asker);
      const answered = JSON.stringify({ jsonrpc: "2.0", id, result });
      if (!isLost && result.latestLedgerCloseTime !== undefined) {
        told(Number(result.latestLedger), this.#range().latest);
      }
      if (!isLost) return new Response(answered);
      return world.chance(0.5) ? undefined : new Response(answered.slice(0, answered.length >> 1));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return Response.json({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } });
    }
  }

  get #shown(): Ledgers {
    const { former, ledgers } = this.chain;
    return (this.ailment.showsFormer || this.#lingers) && former !== undefined ? former : ledgers;
  }

  get #lingers(): boolean {
    return this.world.nowMs < this.#showsFormerUntilMs;
  }

  #range() {
    const ledgers = this.#shown;
    // Who shows a network that has ended for long shows all of it.
    const latest = Math.max(ledgers.first, ledgers.latest - (this.#lingers ? 0 : this.ailment.lag));
    const oldest = Math.min(latest, Math.max(ledgers.first, ledgers.latest - this.retention + 1));
    return { ledgers, oldest, latest, closeTime: ledgers.closeTimes.get(latest)! };
  }

  #newest() {
    const { oldest, latest, closeTime } = this.#range();
    return { latestLedger: latest, oldestLedger: oldest, latestLedgerCloseTime: closeTime };
  }

  readonly #methods: Record<string, (params: Params) => Answer> = {
    getNetwork: () => ({ passphrase: PASSPHRASE, protocolVersion: 28 }),
    getHealth: () => ({ status: "healthy", ledgerRetentionWindow: this.retention, ...this.#newest() }),
    getLatestLedger: () => {
      const { ledgers, latest, closeTime } = this.#range();
      return { sequence: latest, id: ledgers.hashes.get(latest), protocolVersion: 28, closeTime };
    },
    getLedgers: (params) => this.#ledgers(params),
    getEvents: (params) => this.#events(params),
    getFeeStats: () => ({ sorobanInclusionFee: FEES, inclusionFee: FEES, latestLedger: this.#range().latest }),
    getLedgerEntries: ({ keys }) => ({ entries: keys!.flatMap((key) => this.#entry(key)), ...this.#newest() }),
    simulateTransaction: ({ transaction }) => this.#simulation(transaction!),
    sendTransaction: ({ transaction }) => this.#send(transaction!),
    getTransaction: ({ hash }) => this.#transaction(hash!),
    getTransactions: ({ pagination }) => this.#transactions(pagination!),
  };

  #ledgers({ startLedger = 0, pagination }: Params): Answer {
    const { ledgers, oldest, latest } = this.#range();
    if (startLedger < oldest || startLedger > latest) throw outOfRange(startLedger, oldest, latest);
    const end = Math.min(latest, startLedger + pagination!.limit - 1);
    const list = [];
    for (let sequence = startLedger; sequence <= end; sequence++) {
      const ledgerCloseTime = String(ledgers.closeTimes.get(sequence));
      list.push({ sequence, hash: ledgers.hashes.get(sequence), ledgerCloseTime });
    }
    return { ledgers: list, cursor: String(end), ...this.#newest() };
  }

  #events({ startLedger, filters, pagination }: Params): Answer {
    const { world, ailment } = this;
    const { limit, cursor } = pagination!;
    const { ledgers, oldest, latest } = this.#range();
    const start = cursor === undefined ? startLedger! : Number(BigInt(cursor.slice(0, 19)) >> 32n);
    if (start < oldest || start > latest) {
      throw new Refusal(-32600, `startLedger must be within the ledger range: ${oldest} - ${latest}`);
    }
    const wanted = filters![0]!.contractIds;
    const isBefore = (id: string) => id <= (cursor ?? "") && !world.chance(ailment.repeats);
    const events = [];
    for (let ledger = start; ledger <= latest && events.length < limit; ledger++) {
      for (const event of ledgers.events.get(ledger) ?? []) {
        if (!wanted.includes(event.contractId) || isBefore(event.id) || events.length === limit) continue;
        if (!this.#isWithheld(event.txHash, ledgers.closeTimes.get(ledger)!)) events.push(event);
      }
    }
    const isFull = events.length === limit;
    if (world.chance(ailment.repeats)) events.reverse();
    const last = events.reduce((newest, { id }) => id > newest ? id : newest, "");
    return { events, cursor: isFull ? last : rpcId(latest, 0xfffff, 0xfff, 0xffffffff), ...this.#newest() };
  }

  #isWithheld(txHash: string, closeTime: number): boolean {
    if (this.ailment.withholds === 0 || START_MS + this.world.nowMs - closeTime * 1_000 > WITHHELD_MS) return false;
    const known = this.#withheld.get(txHash) ?? this.world.chance(this.ailment.withholds);
    this.#withheld.set(txHash, known);
    if (known) this.chain.withheld.add(txHash);
    return known;
  }

  #entry(key: string): Answer[] {
    const decoded = xdr.LedgerKey.fromXdr(key, "base64");
    const { ledgers: { escrow }, latest } = this.#range();
    if (decoded.type === "configSetting") {
      const { name } = decoded.configSetting.configSettingId;
      if (!Object.hasOwn(SETTINGS, name)) throw new TypeError(`nobody reads the setting ${name} in a world`);
      const setting = SETTINGS[name]?.(escrow);
      return setting === undefined ? [] : [{ key, xdr: setting, lastModifiedLedgerSeq: 1 }];
    }
    const pending = decoded.type === "contractData" ? pendingEntry(decoded.contractData, escrow, latest) : undefined;
    if (pending !== undefined) return [{ key, ...pending }];
    if (decoded.type === "contractData" && this.#hasCards) {
      const entry = contractEntry(decoded.contractData, latest);
      return entry === undefined ? [] : [{ key, xdr: entry, lastModifiedLedgerSeq: latest }];
    }
    if (decoded.type !== "account") return [];
    const address = StrKey.encodeEd25519PublicKey(decoded.account.accountId.ed25519.value);
    const sequence = this.chain.accounts.sequence(address, latest);
    return [{ key, xdr: accountEntry(address, sequence), lastModifiedLedgerSeq: 1 }];
  }

  #simulation(envelope: string): Answer {
    const { latest } = this.#range();
    const told = this.#hasCards ? toldBy(calledIn(envelope), latest) : undefined;
    return {
      ...SIMULATED,
      ...(told === undefined ? {} : { results: [{ xdr: told, auth: [] }] }),
      latestLedger: latest,
    };
  }

  #send(envelope: string): Answer {
    const { latest, closeTime } = this.#range();
    const { hash, verdict } = this.chain.accounts.send(envelope, latest, closeTime);
    this.world.note(`${this.name} is sent ${hash.slice(0, 8)}: ${verdict}`);
    const isTaken = verdict === "PENDING" || verdict === "DUPLICATE" || verdict === "TRY_AGAIN_LATER";
    const said = isTaken ? { status: verdict } : { status: "ERROR", errorResultXdr: resultXdr(verdict) };
    return { ...said, hash, latestLedger: latest, latestLedgerCloseTime: String(closeTime) };
  }

  #transaction(hash: string): Answer {
    const { ledgers, oldest, latest, closeTime } = this.#range();
    const found = this.chain.accounts.transaction(hash, oldest, latest);
    return {
      ...(found === undefined
        ? { status: "NOT_FOUND" }
        : { status: found.isSuccess ? "SUCCESS" : "FAILED", ledger: found.ledger, envelopeXdr: found.xdr }),
      txHash: hash,
      latestLedger: latest,
      latestLedgerCloseTime: String(closeTime),
      oldestLedger: oldest,
      oldestLedgerCloseTime: String(ledgers.closeTimes.get(oldest)),
    };
  }

  #transactions({ limit, cursor }: Params["pagination"] & object): Answer {
    const { ledgers, oldest, latest } = this.#range();
    const place = BigInt(cursor!);
    const first = Number(place >> 32n);
    if (first < oldest || first > latest) throw outOfRange(first, oldest, latest);
    const transactions = appliedTransactions(this.chain, ledgers, { place, latest, limit });
    return { transactions, cursor, ...this.#newest() };
  }

  /** Says what it is to say that is wrong, where it fits. */
  #bent(method: string, answer: Answer, asker: Owner): Answer {
    const lie = this.#lie;
    const bent = lie === undefined ? undefined : bend(lie, method, answer, { world: this.world, asker });
    if (bent === undefined || (lie === "higher" && this.#isHidden(method, bent))) return answer;
    this.#lie = undefined;
    this.world.note(`${this.name} lies in ${method}: ${lie}`);
    this.#lied();
    return bent;
  }

  /** Whether old entries would look like those of a ledger that may be there: nobody could tell them from the truth. */
  #isHidden(method: string, { latestLedger }: Answer): boolean {
    const hasEntries = method === "getLedgerEntries" || method === "simulateTransaction";
    return hasEntries && this.ailment.lag > 0 && Number(latestLedger) <= this.chain.ledgers.latest + MAY_BE_THERE;
  }
}

function outOfRange(startLedger: number, oldest: number, latest: number): Refusal {
  const range = `between the oldest ledger: ${oldest} and the latest ledger: ${latest} for this rpc instance`;
  return new Refusal(-32600, `start ledger (${startLedger}) must be ${range}`);
}

/** Ledgers above the newest that a gateway believes at once, at most: what it is told further up may not be there yet. */
const MAY_BE_THERE = 200;

const FEES = Object.fromEntries(["max", "min", "mode", "p50", "p90", "p95", "p99"].map((name) => [name, "100"]));

/** What any call comes to: it touches nothing, and its source alone has to sign. */
const SIMULATED = {
  transactionData: new SorobanDataBuilder().setResourceFee(100).build().toXdr("base64"),
  minResourceFee: "100",
  results: [{ xdr: nativeToScVal(true).toXdr("base64"), auth: [] }],
};

function resultXdr(code: "txBadSeq" | "txTooLate" | "txInsufficientFee"): string {
  const result = xdr.TransactionResultResult[code]();
  return new xdr.TransactionResult({ feeCharged: 0n, result, ext: xdr.TransactionResultExt.v0() }).toXdr("base64");
}
