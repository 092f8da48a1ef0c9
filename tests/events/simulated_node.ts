import type { CallOptions } from "../../lib/stellar/rpc/nodes.ts";
import type { EventsAnswer, RawEvent } from "../../lib/stellar/rpc/schemas.ts";
import type { EventsRequest, RpcClient } from "../../lib/stellar/rpc/client.ts";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";

export const CONTRACT = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

export interface EmittedEvent {
  generation: number;
  ledger: number;
  txHash: string;
  decodable: boolean;
}

/** What a test says of an event; the rest is filled in. */
export interface EventWish {
  type?: string;
  contractId?: string;
  decodable?: boolean;
  deviceHash?: string;
  merchant?: string;
  inSuccessfulContractCall?: boolean;
  ledgerClosedAt?: string;
}

export interface SimulatedNode {
  rpc: RpcClient;
  /** Ledgers the node shows fewer than there are. */
  lag: number;
  /** Whether it still shows the network before the last reset. */
  showsFormer: boolean;
  /** Which answers say a close time. */
  tellsCloseTime: { events: boolean; health: boolean; latest: boolean };
  /** Called before each call is answered; what it throws is what the call rejects with. */
  beforeCall: (method: string, signal?: AbortSignal) => void | Promise<void>;
  /** Bends an answer of getEvents. */
  bend: (answer: EventsAnswer) => EventsAnswer;
  /** Every event of the watched contract, in order. */
  readonly emitted: EmittedEvent[];
  readonly requests: EventsRequest[];
  /** Counts resets. */
  readonly generation: number;
  readonly latest: number;
  readonly oldest: number;
  readonly closeTime: number;
  /** Closes a ledger with these events, one transaction each; answers its sequence. */
  close(...wishes: EventWish[]): number;
  /** Closes so many empty ledgers. */
  closeEmpty(ledgers: number): void;
  /** The network begins anew, with lower ledger numbers and a later close time. */
  reset(firstLedger: number): void;
}

interface Network {
  generation: number;
  first: number;
  latest: number;
  latestCloseTime: number;
  /** By ledger; a ledger without events is absent. */
  events: Map<number, RawEvent[]>;
}

/** Within a test an event's value says what it decodes to. */
export function decodeSimulated({ value }: { value: string }) {
  return value === "?" ? undefined : JSON.parse(value) as { type: string; deviceHash?: string; merchant?: string };
}

/**
 * A Stellar RPC node's getEvents, getHealth and getLatestLedger, after stellar-rpc v28: ranges, scan limit, cursors and
 * errors are the real ones. Tests bend it: it lags, prunes, is reset, fails.
 */
export function createSimulatedNode(options: {
  first?: number;
  retention?: number;
  scanLimit?: number;
  maxLimit?: number;
  closeTime?: number;
} = {}): SimulatedNode {
  const { retention = 1_000_000, scanLimit = 10_000, maxLimit = 10_000 } = options;
  const first = options.first ?? 1_000;
  let network: Network = {
    generation: 0,
    first,
    latest: first,
    latestCloseTime: options.closeTime ?? 1_700_000_000,
    events: new Map(),
  };
  let former: Network | undefined;
  let txCount = 0;
  const emitted: EmittedEvent[] = [];
  const requests: EventsRequest[] = [];
  const node: SimulatedNode = {
    lag: 0,
    showsFormer: false,
    tellsCloseTime: { events: true, health: true, latest: true },
    beforeCall: () => {},
    bend: (answer) => answer,
    emitted,
    requests,
    get generation() {
      return network.generation;
    },
    get latest() {
      return network.latest;
    },
    get oldest() {
      return oldestOf(network);
    },
    get closeTime() {
      return network.latestCloseTime;
    },
    close(...wishes) {
      network.latest += 1;
      network.latestCloseTime += 5;
      if (wishes.length > 0) {
        network.events.set(network.latest, wishes.map((wish, index) => rawEvent(network, wish, index)));
      }
      return network.latest;
    },
    closeEmpty(ledgers) {
      network.latest += ledgers;
      network.latestCloseTime += 5 * ledgers;
    },
    reset(firstLedger) {
      former = network;
      const latestCloseTime = network.latestCloseTime + 1_000;
      network = {
        generation: network.generation + 1,
        first: firstLedger,
        latest: firstLedger,
        latestCloseTime,
        events: new Map(),
      };
    },

    rpc: {
      async getHealth(options?: CallOptions) {
        await node.beforeCall("getHealth", options?.signal);
        const shown = view();
        return {
          status: "healthy",
          latestLedger: shown.latest,
          oldestLedger: shown.oldest,
          ledgerRetentionWindow: retention,
          ...(node.tellsCloseTime.health ? { latestLedgerCloseTime: shown.closeTime } : {}),
        };
      },
      async getLatestLedger(options?: CallOptions) {
        await node.beforeCall("getLatestLedger", options?.signal);
        const shown = view();
        return {
          sequence: shown.latest,
          id: "00".repeat(32),
          protocolVersion: 28,
          ...(node.tellsCloseTime.latest ? { closeTime: shown.closeTime } : {}),
        };
      },
      async getEvents(request: EventsRequest, options?: CallOptions) {
        requests.push(request);
        await node.beforeCall("getEvents", options?.signal);
        return node.bend(getEvents(request));
      },
    } as RpcClient,
  };

  function oldestOf({ first, latest }: Network): number {
    return Math.max(first, latest - retention + 1);
  }

  function view(): { shown: Network; oldest: number; latest: number; closeTime: number } {
    const shown = node.showsFormer && former !== undefined ? former : network;
    const oldest = oldestOf(shown);
    const latest = Math.max(shown.first, shown.latest - node.lag);
    const closeTime = shown.latestCloseTime - 5 * (shown.latest - latest);
    return { shown, oldest: Math.min(oldest, latest), latest, closeTime };
  }

  function rawEvent({ generation, latest, latestCloseTime }: Network, wish: EventWish, index: number): RawEvent {
    const { type = "escrow.funded", decodable = true, contractId = CONTRACT, deviceHash, merchant } = wish;
    const txHash = (++txCount).toString(16).padStart(64, "0");
    const watched = contractId === CONTRACT && wish.inSuccessfulContractCall !== false;
    if (watched) emitted.push({ generation, ledger: latest, txHash, decodable });
    return {
      type: "contract",
      ledger: latest,
      ledgerClosedAt: wish.ledgerClosedAt ?? new Date(latestCloseTime * 1_000).toISOString().replace(".000Z", "Z"),
      contractId,
      id: rpcId(latest, index + 1, 1, 0),
      txHash,
      topic: ["topic"],
      value: decodable ? JSON.stringify({ type, deviceHash, merchant }) : "?",
      ...(wish.inSuccessfulContractCall === undefined
        ? {}
        : { inSuccessfulContractCall: wish.inSuccessfulContractCall }),
    };
  }

  function getEvents({ startLedger, cursor, contractIds, limit }: EventsRequest): EventsAnswer {
    if (limit > maxLimit) throw new RpcError("getEvents", -32602, `limit must not exceed ${maxLimit}`);
    const { shown, oldest, latest, closeTime } = view();
    const start = cursor === undefined ? startLedger! : Number(BigInt(cursor.slice(0, 19)) >> 32n);
    if (start < oldest || start > latest) {
      const message = `startLedger must be within the ledger range: ${oldest} - ${latest}`;
      throw new RpcError("getEvents", -32600, message);
    }
    const endLedger = Math.min(latest + 1, start + scanLimit);
    const events: RawEvent[] = [];
    for (let ledger = start; ledger < endLedger && events.length < limit; ledger++) {
      for (const event of shown.events.get(ledger) ?? []) {
        const wanted = contractIds.includes(event.contractId) && event.id > (cursor ?? "");
        if (wanted && events.length < limit) events.push(event);
      }
    }
    return {
      events,
      cursor: events.length === limit ? events.at(-1)!.id : rpcId(endLedger - 1, 0xfffff, 0xfff, 0xffffffff),
      latestLedger: latest,
      oldestLedger: oldest,
      ...(node.tellsCloseTime.events ? { latestLedgerCloseTime: closeTime } : {}),
    };
  }

  return node;
}

/** An event id or cursor of the node: TOID (SEP-35) and index. */
export function rpcId(ledger: number, transaction: number, operation: number, index: number): string {
  const toid = (BigInt(ledger) << 32n) | (BigInt(transaction) << 12n) | BigInt(operation);
  return `${String(toid).padStart(19, "0")}-${String(index).padStart(10, "0")}`;
}
