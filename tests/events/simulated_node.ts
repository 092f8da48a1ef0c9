import { createRpcClient, type NodesRpcClient } from "../../lib/stellar/rpc/client.ts";
import type { Head } from "../../lib/stellar/head.ts";
import type { EventsAnswer, RawEvent } from "../../lib/stellar/rpc/schemas.ts";
import type { Fetch } from "../../lib/stellar/rpc/transport.ts";
import type { FakeClock } from "../stellar/rpc/stub_rpc.ts";

export const CONTRACT = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

export interface EmittedEvent {
  generation: number;
  ledger: number;
  txHash: string;
  contractId: string;
  decodable: boolean;
}

/** The fields of an event that a test sets; the rest has default values. */
export interface EventWish {
  type?: string;
  contractId?: string;
  decodable?: boolean;
  deviceHash?: string;
  merchant?: string;
  inSuccessfulContractCall?: boolean;
  ledgerClosedAt?: string;
  /** The length of its value in bytes. */
  bytes?: number;
}

export interface SimulatedNetwork {
  readonly clock: FakeClock;
  /** Every event, in order. */
  readonly emitted: EmittedEvent[];
  /** Counts resets. */
  readonly generation: number;
  readonly latest: number;
  /** The close time of the newest ledger, Unix seconds. */
  readonly closeTime: number;
  /** Closes a ledger with these events, one transaction each; returns its sequence. */
  close(...wishes: EventWish[]): number;
  /** Closes this number of empty ledgers. */
  closeEmpty(ledgers: number): void;
  /** Removes the newest ledgers and moves time back, as a restored snapshot does. */
  goBack(ledgers: number, seconds?: number): void;
  /** Resets the network to this first ledger. */
  reset(firstLedger: number): void;
  /** A node of this network. */
  node(options?: { retention?: number; scanLimit?: number; maxLimit?: number }): SimulatedNode;
}

type Answer = Record<string, unknown>;

export interface SimulatedNode {
  url: string;
  retention: number;
  /** How many of the newest ledgers it does not show. */
  lag: number;
  /** Whether it still shows the network before the last reset. */
  showsFormer: boolean;
  /** Which answers contain a close time. */
  tellsCloseTime: { getEvents: boolean; getHealth: boolean; getLatestLedger: boolean };
  /** Methods that the node does not support. */
  lacks: Set<string>;
  /** Events that the node omits, by transaction hash. */
  omits: Set<string>;
  /** Called before each call is answered; a Response or a JSON-RPC error thrown here is its answer. */
  beforeCall: (method: string) => void;
  /** Changes its answers. */
  bend: (method: string, answer: Answer) => Answer;
  /** Every call, in order. */
  readonly calls: { method: string; params: Params }[];
  readonly oldest: number;
  /** Answers a JSON-RPC request. */
  answer(body: string): Response;
}

interface Params {
  startLedger?: number;
  filters?: { contractIds: string[] }[];
  pagination?: { limit: number; cursor?: string };
}

/** An error object of JSON-RPC, to be thrown in `beforeCall`. */
export class NodeRefusal extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

interface Ledgers {
  generation: number;
  first: number;
  latest: number;
  closeTimes: Map<number, number>;
  hashes: Map<number, string>;
  /** By ledger; a ledger without events is absent. */
  events: Map<number, RawEvent[]>;
}

/** In a test an event's value is its decoded form. */
export function decodeSimulated({ value }: { value: string }) {
  if (value.startsWith("?")) return undefined;
  const { type, deviceHash, merchant } = JSON.parse(value) as { type: string; deviceHash?: string; merchant?: string };
  return { type, ...(deviceHash && { deviceHash }), ...(merchant && { merchant }) };
}

/**
 * A network that closes ledgers when told to, and nodes of it with getEvents, getTransactions (of those with events),
 * getLedgers, getHealth and getLatestLedger, after stellar-rpc v28: ranges, scan limit, cursors and errors are the real ones. Tests bend the nodes: they lag, prune,
 * lie, fail. The network's clock has nothing to do with the wall clock of the gateway.
 */
export function createSimulatedNetwork(machine: FakeClock, firstLedger = 1_000, ledgerMs = 5_000): SimulatedNetwork {
  const reverts: number[] = [];
  const clock = { ...machine, networkReverts: () => reverts };
  const startSeconds = Math.floor(clock.now() / 1000);
  let backSeconds = 0;
  const nowSeconds = () => startSeconds - backSeconds + Math.floor(clock.monotonicMs() / 1000);
  let txCount = 0;
  let nodeCount = 0;
  let hashCount = 0;
  const emitted: EmittedEvent[] = [];
  let ledgers = begin(0, firstLedger);
  let former: Ledgers | undefined;

  function begin(generation: number, first: number): Ledgers {
    const fresh = { generation, first, latest: first - 1, closeTimes: new Map(), hashes: new Map(), events: new Map() };
    closeIn(fresh, []);
    return fresh;
  }

  function closeIn(into: Ledgers, wishes: EventWish[]): number {
    const ledger = into.latest += 1;
    into.closeTimes.set(ledger, nowSeconds());
    into.hashes.set(ledger, (++hashCount).toString(16).padStart(64, "f"));
    if (wishes.length > 0) into.events.set(ledger, wishes.map((wish, index) => rawEvent(into, wish, index)));
    return ledger;
  }

  function rawEvent({ generation, latest }: Ledgers, wish: EventWish, index: number): RawEvent {
    const { type = "escrow.funded", decodable = true, contractId = CONTRACT, deviceHash, merchant, bytes = 0 } = wish;
    const txHash = (++txCount).toString(16).padStart(64, "0");
    if (wish.inSuccessfulContractCall !== false) {
      emitted.push({ generation, ledger: latest, txHash, contractId, decodable });
    }
    return {
      type: "contract",
      ledger: latest,
      ledgerClosedAt: wish.ledgerClosedAt ?? new Date(nowSeconds() * 1_000).toISOString().replace(".000Z", "Z"),
      contractId,
      id: rpcId(latest, index + 1, 1, 0),
      txHash,
      topic: ["topic"],
      value: (decodable ? JSON.stringify({ type, deviceHash, merchant }) : "?").padEnd(bytes, decodable ? " " : "?"),
      ...(wish.inSuccessfulContractCall === undefined
        ? {}
        : { inSuccessfulContractCall: wish.inSuccessfulContractCall }),
    };
  }

  const network: SimulatedNetwork = {
    clock,
    emitted,
    get generation() {
      return ledgers.generation;
    },
    get latest() {
      return ledgers.latest;
    },
    get closeTime() {
      return ledgers.closeTimes.get(ledgers.latest)!;
    },
    close(...wishes) {
      clock.pass(ledgerMs);
      return closeIn(ledgers, wishes);
    },
    closeEmpty(count) {
      for (let closed = 0; closed < count; closed++) network.close();
    },
    goBack(count, seconds = 0) {
      backSeconds += seconds;
      clock.step(-seconds * 1000);
      for (let gone = 0; gone < count; gone++) {
        ledgers.events.delete(ledgers.latest);
        ledgers.latest -= 1;
      }
      reverts.push(ledgers.latest);
    },
    reset(first) {
      former = ledgers;
      clock.pass(5_000);
      ledgers = begin(ledgers.generation + 1, first);
    },
    node({ retention = 1_000_000, scanLimit = 10_000, maxLimit = 10_000 } = {}) {
      return createNode(() => ({ ledgers, former }), `http://node-${++nodeCount}.test`, retention, scanLimit, maxLimit);
    },
  };
  return network;
}

function createNode(
  now: () => { ledgers: Ledgers; former: Ledgers | undefined },
  url: string,
  retention: number,
  scanLimit: number,
  maxLimit: number,
): SimulatedNode {
  const node: SimulatedNode = {
    url,
    retention,
    lag: 0,
    showsFormer: false,
    tellsCloseTime: { getEvents: true, getHealth: true, getLatestLedger: true },
    lacks: new Set(),
    omits: new Set(),
    beforeCall: () => {},
    bend: (_method, answer) => answer,
    calls: [],
    get oldest() {
      return range().oldest;
    },
    answer(body) {
      const { id, method, params = {} } = JSON.parse(body) as { id: number; method: string; params?: Params };
      node.calls.push({ method, params });
      try {
        node.beforeCall(method);
        if (node.lacks.has(method)) throw new NodeRefusal(-32601, "method not found");
        const result = node.bend(method, methods[method]!(params) as Answer);
        return Response.json({ jsonrpc: "2.0", id, result });
      } catch (error) {
        if (error instanceof Response) return error;
        if (!(error instanceof NodeRefusal)) throw error;
        return Response.json({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } });
      }
    },
  };

  function range() {
    const { ledgers, former } = now();
    const shown = node.showsFormer && former !== undefined ? former : ledgers;
    const latest = Math.max(shown.first, shown.latest - node.lag);
    const oldest = Math.min(latest, Math.max(shown.first, shown.latest - node.retention + 1));
    return { shown, oldest, latest, closeTime: shown.closeTimes.get(latest)! };
  }

  const newest = (method: keyof SimulatedNode["tellsCloseTime"]) => {
    const { oldest, latest, closeTime } = range();
    const timed = node.tellsCloseTime[method] ? { latestLedgerCloseTime: closeTime } : {};
    return { latestLedger: latest, oldestLedger: oldest, ...timed };
  };

  const methods: Record<string, (params: Params) => unknown> = {
    getHealth: () => ({ status: "healthy", ledgerRetentionWindow: node.retention, ...newest("getHealth") }),
    getLatestLedger() {
      const { latest, shown, closeTime } = range();
      const timed = node.tellsCloseTime.getLatestLedger ? { closeTime } : {};
      return { sequence: latest, id: shown.hashes.get(latest), protocolVersion: 28, ...timed };
    },
    getLedgers({ startLedger = 0, pagination }) {
      const { shown, oldest, latest } = range();
      if (startLedger < oldest || startLedger > latest) {
        const range = `between the oldest ledger: ${oldest} and the latest ledger: ${latest} for this rpc instance`;
        throw new NodeRefusal(-32600, `start ledger (${startLedger}) must be ${range}`);
      }
      const end = Math.min(latest, startLedger + pagination!.limit - 1);
      const ledgers = [];
      for (let sequence = startLedger; sequence <= end; sequence++) {
        const closeTime = String(shown.closeTimes.get(sequence));
        ledgers.push({ sequence, hash: shown.hashes.get(sequence), ledgerCloseTime: closeTime });
      }
      return { ledgers, cursor: String(end), ...newest("getHealth") };
    },
    getTransactions({ pagination }) {
      const { limit, cursor } = pagination!;
      requireLimit(limit);
      const { shown, latest } = range();
      const after = BigInt(cursor!);
      const events = [...shown.events.values()].flat().filter(({ id, ledger }) =>
        ledger <= latest && BigInt(id.slice(0, 19)) > after
      );
      const transactions = events.slice(0, limit).map(({ ledger, txHash }) => ({ status: "SUCCESS", ledger, txHash }));
      return { transactions, cursor, ...newest("getEvents") };
    },
    getEvents,
  };

  function requireLimit(limit: number): void {
    if (limit > maxLimit) throw new NodeRefusal(-32602, `limit must not exceed ${maxLimit}`);
  }

  function getEvents({ startLedger, filters, pagination }: Params): EventsAnswer {
    const { limit, cursor } = pagination!;
    requireLimit(limit);
    const { shown, oldest, latest } = range();
    const start = cursor === undefined ? startLedger! : Number(BigInt(cursor.slice(0, 19)) >> 32n);
    if (start < oldest || start > latest) {
      throw new NodeRefusal(-32600, `startLedger must be within the ledger range: ${oldest} - ${latest}`);
    }
    const endLedger = Math.min(latest + 1, start + scanLimit);
    const events: RawEvent[] = [];
    for (let ledger = start; ledger < endLedger && events.length < limit; ledger++) {
      for (const event of shown.events.get(ledger) ?? []) {
        const isWanted = filters![0]!.contractIds.includes(event.contractId) && !node.omits.has(event.txHash);
        if (isWanted && event.id > (cursor ?? "") && events.length < limit) events.push(event);
      }
    }
    return {
      events,
      cursor: events.length === limit ? events.at(-1)!.id : rpcId(endLedger - 1, 0xfffff, 0xfff, 0xffffffff),
      ...newest("getEvents"),
    };
  }

  return node;
}

/** The gateway's own client over these nodes. */
export function clientOf(
  nodes: SimulatedNode[],
  head: Head,
  clock: FakeClock,
  fetch: Fetch = (url, init) => {
    const node = nodes.find((node) => new URL(node.url).href === url)!;
    return Promise.try(() => node.answer(String(init.body)));
  },
): NodesRpcClient {
  const timeoutMs = 100_000;
  return createRpcClient({
    urls: nodes.map(({ url }) => url),
    fetch,
    timeoutMs,
    head,
    // These nodes answer at once or never: time-outs have no use here, and would move the clock.
    clock: {
      ...clock,
      wait: (ms, signal) =>
        ms > 3_000 ? new Promise((over) => signal?.addEventListener("abort", () => over())) : clock.wait(ms, signal),
    },
  });
}

/** An event id or cursor of the node: TOID (SEP-35) and index. */
export function rpcId(ledger: number, transaction: number, operation: number, index: number): string {
  const toid = (BigInt(ledger) << 32n) | (BigInt(transaction) << 12n) | BigInt(operation);
  return `${String(toid).padStart(19, "0")}-${String(index).padStart(10, "0")}`;
}
