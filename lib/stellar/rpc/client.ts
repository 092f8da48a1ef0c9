import { type CallOptions, createRpcNodes, type NodeReport, type RpcNodes, type RpcNodesParts } from "./nodes.ts";
import * as schemas from "./schemas.ts";

/**
 * The calls of a Stellar RPC node. Every method rejects with a `GatewayError` `upstream_error` when the node is down,
 * slow or answers nonsense. It rejects with an `RpcError` when the node answers a JSON-RPC error object, or more than
 * the gateway reads.
 */
export interface RpcClient {
  getHealth(options?: CallOptions): Promise<schemas.Health>;
  getNetwork(options?: CallOptions): Promise<schemas.NetworkAnswer>;
  getLatestLedger(options?: CallOptions): Promise<schemas.LatestLedger>;
  getFeeStats(options?: CallOptions): Promise<schemas.FeeStats>;
  /** At most 200 keys (base64 LedgerKey XDR) a call. The answer leaves absent entries out and holds each entry once. */
  getLedgerEntries(keys: string[], options?: CallOptions): Promise<schemas.LedgerEntriesAnswer>;
  simulateTransaction(envelope: string, options?: CallOptions): Promise<schemas.RawSimulation>;
  sendTransaction(envelope: string, options?: CallOptions): Promise<schemas.SendAnswer>;
  getTransaction(hash: string, options?: CallOptions): Promise<schemas.TransactionAnswer>;
  /** At most `limit` (≤ 200) transactions after this cursor (a TOID, SEP-35), oldest first, of any ledger. */
  getTransactions(
    request: { cursor: string; limit: number },
    options?: CallOptions,
  ): Promise<schemas.TransactionsAnswer>;
  getEvents(request: EventsRequest, options?: CallOptions): Promise<schemas.EventsAnswer>;
  /** Ledgers from `startLedger` on, at most `limit` (≤ 200). The metadata of one may be megabytes. */
  getLedgers(request: { startLedger: number; limit: number }, options?: CallOptions): Promise<schemas.LedgersAnswer>;
}

export interface EventsRequest {
  /** Either this (inclusive) or `cursor`. */
  startLedger?: number;
  cursor?: string;
  contractIds: string[];
  limit: number;
}

/** A client that also reports the state of its nodes. */
export interface NodesRpcClient extends RpcClient {
  /** In the order of the URLs. */
  nodes(): NodeReport[];
  networks: RpcNodes["networks"];
}

/**
 * Creates a client of the Stellar RPC protocol over HTTP. A call makes at most two attempts, or one per node if there
 * are more, in one time budget. `sendTransaction` makes one. The client checks every answer. Messages name a node by
 * scheme and host only.
 */
export function createRpcClient(parts: RpcNodesParts): NodesRpcClient {
  const { call, reports, networks } = createRpcNodes(parts);
  return {
    getHealth: (options) => call("getHealth", undefined, schemas.health, options),
    getNetwork: (options) => call("getNetwork", undefined, schemas.network, options),
    getLatestLedger: (options) => call("getLatestLedger", undefined, schemas.latestLedger, options),
    getFeeStats: (options) => call("getFeeStats", undefined, schemas.feeStats, options),
    getLedgerEntries(keys, options) {
      // A node rejects a call that names a key twice.
      return call("getLedgerEntries", { keys: [...new Set(keys)] }, schemas.ledgerEntries, options);
    },
    simulateTransaction: (transaction, options) =>
      call("simulateTransaction", { transaction }, schemas.simulation, options),
    sendTransaction: (transaction, options) => call("sendTransaction", { transaction }, schemas.sendAnswer, options),
    getTransaction: (hash, options) => call("getTransaction", { hash }, schemas.transactionAnswer, options),
    getTransactions: (pagination, options) =>
      call("getTransactions", { pagination }, schemas.transactionsAnswer, options),
    getEvents({ startLedger, cursor, contractIds, limit }, options) {
      const params = {
        ...(cursor === undefined ? { startLedger } : {}),
        filters: [{ type: "contract", contractIds }],
        pagination: cursor === undefined ? { limit } : { cursor, limit },
      };
      return call("getEvents", params, schemas.eventsAnswer, options);
    },
    getLedgers: ({ startLedger, limit }, options) =>
      call("getLedgers", { startLedger, pagination: { limit } }, schemas.ledgersAnswer, options),
    nodes: reports,
    networks,
  };
}
