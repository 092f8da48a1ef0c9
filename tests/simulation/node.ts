import { rpcId } from "../events/simulated_node.ts";
import { type Chain, type Ledgers, PASSPHRASE } from "./chain.ts";
import type { World } from "./world.ts";

/** What ails a node for a while. */
export interface Ailment {
  /** Ledgers it shows fewer than there are. */
  lag: number;
  /** Whether it shows the network as it was before the reset. */
  showsFormer: boolean;
  /** How many of its newest ledgers it holds. */
  retention: number;
  /** Probabilities of each answer. */
  refuses: number;
  stalls: number;
  /** Says a height or a close time that is far off. */
  lies: number;
  /** Leaves one event out. */
  omits: number;
  /** Answers the events before the cursor once more, or in another order. */
  repeats: number;
}

export const WELL: Ailment = {
  lag: 0,
  showsFormer: false,
  retention: 100_000,
  refuses: 0,
  stalls: 0,
  lies: 0,
  omits: 0,
  repeats: 0,
};

type Answer = Record<string, unknown>;

interface Params {
  startLedger?: number;
  filters?: { contractIds: string[] }[];
  pagination?: { limit: number; cursor?: string };
}

class Refusal extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** A Stellar RPC node of the simulated network: it may lag, lie, forget, refuse and stall. */
export class SimulatedNode {
  ailment: Ailment = WELL;

  constructor(readonly name: string, readonly world: World, readonly chain: Chain) {}

  get url(): string {
    return `http://${this.name}.test/`;
  }

  /** Answers a JSON-RPC request; undefined: never. */
  answer(body: string): Response | undefined {
    const { id, method, params = {} } = JSON.parse(body) as { id: number; method: string; params?: Params };
    const { world, ailment } = this;
    if (world.chance(ailment.stalls)) return undefined;
    if (world.chance(ailment.refuses)) return new Response("bad gateway", { status: 502 });
    try {
      const answer = this.#methods[method];
      if (answer === undefined) throw new Refusal(-32601, "method not found");
      return Response.json({ jsonrpc: "2.0", id, result: this.#bent(method, answer(params)) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return Response.json({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } });
    }
  }

  get #shown(): Ledgers {
    return this.ailment.showsFormer && this.chain.former !== undefined ? this.chain.former : this.chain.ledgers;
  }

  #range() {
    const { ledgers, latest: newest, first } = { ledgers: this.#shown, ...this.#shown };
    const latest = Math.max(first, newest - this.ailment.lag);
    const oldest = Math.min(latest, Math.max(first, newest - this.ailment.retention + 1));
    return { ledgers, oldest, latest, closeTime: ledgers.closeTimes.get(latest)! };
  }

  #newest() {
    const { oldest, latest, closeTime } = this.#range();
    return { latestLedger: latest, oldestLedger: oldest, latestLedgerCloseTime: closeTime };
  }

  readonly #methods: Record<string, (params: Params) => Answer> = {
    getNetwork: () => ({ passphrase: PASSPHRASE, protocolVersion: 28 }),
    getHealth: () => ({ status: "healthy", ledgerRetentionWindow: this.ailment.retention, ...this.#newest() }),
    getLatestLedger: () => {
      const { ledgers, latest, closeTime } = this.#range();
      return { sequence: latest, id: ledgers.hashes.get(latest), protocolVersion: 28, closeTime };
    },
    getLedgers: ({ startLedger = 0, pagination }) => {
      const { ledgers, oldest, latest } = this.#range();
      if (startLedger < oldest || startLedger > latest) {
        const range = `between the oldest ledger: ${oldest} and the latest ledger: ${latest} for this rpc instance`;
        throw new Refusal(-32600, `start ledger (${startLedger}) must be ${range}`);
      }
      const end = Math.min(latest, startLedger + pagination!.limit - 1);
      const list = [];
      for (let sequence = startLedger; sequence <= end; sequence++) {
        const ledgerCloseTime = String(ledgers.closeTimes.get(sequence));
        list.push({ sequence, hash: ledgers.hashes.get(sequence), ledgerCloseTime });
      }
      return { ledgers: list, cursor: String(end), ...this.#newest() };
    },
    getEvents: (params) => this.#events(params),
  };

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
        if (!world.chance(ailment.omits)) events.push(event);
      }
    }
    const isFull = events.length === limit;
    if (world.chance(ailment.repeats)) events.reverse();
    const last = events.reduce((newest, { id }) => id > newest ? id : newest, "");
    return {
      events,
      cursor: isFull ? last : rpcId(latest, 0xfffff, 0xfff, 0xffffffff),
      ...this.#newest(),
    };
  }

  /** Lies about heights and times. */
  #bent(method: string, answer: Answer): Answer {
    const { world } = this;
    if (!world.chance(this.ailment.lies)) return answer;
    const bent = { ...answer };
    const field = method === "getLatestLedger" ? "sequence" : "latestLedger";
    const way = world.integer(0, 3);
    if (way === 0) bent[field] = (answer[field] as number) + world.random.pick([1, 50, 1_000_000, 2 ** 32]);
    if (way === 1) bent[field] = Math.max(1, (answer[field] as number) - world.random.pick([1, 50, 900]));
    const time = method === "getLatestLedger" ? "closeTime" : "latestLedgerCloseTime";
    if (way === 2) bent[time] = (answer[time] as number) + world.random.pick([3_600, 86_400 * 3_650, -3_600]);
    if (way === 3) bent.oldestLedger = (answer.oldestLedger as number ?? 1) + world.random.pick([10, 5_000]);
    world.note(`${this.name} lies in ${method} ${way}`);
    return bent;
  }
}
