import { type CallOptions, createRpcNodes, type NodeReport, type RpcNodes, type RpcNodesParts } from "./nodes.ts";
import * as schemas from "./schemas.ts";

/**
 * What the gateway asks of a Stellar RPC node. Every method rejects with a `GatewayError` `upstream_error` when the node
 * is down, slow or answers nonsense, and with an `RpcError` when it answers with a JSON-RPC error object, or with more
 * than is read.
 */
export interface RpcClient {
  getHealth(options?: CallOptions): Promise<schemas.Health>;
  getNetwork(options?: CallOptions): Promise<schemas.NetworkAnswer>;
  getLatestLedger(options?: CallOptions): Promise<schemas.LatestLedger>;
  getFeeStats(options?: CallOptions): Promise<schemas.FeeStats>;
  /** At most 200 keys (base64 LedgerKey XDR) at a call; absent ones are missing from the answer, and none is there twice. */
  getLedgerEntries(keys: string[], options?: CallOptions): Promise<schemas.LedgerEntriesAnswer>;
  simulateTransaction(envelope: string, options?: CallOptions): Promise<schemas.RawSimulation>;
  sendTransaction(envelope: string, options?: CallOptions): Promise<schemas.SendAnswer>;
  getTransaction(hash: string, options?: CallOptions): Promise<schemas.TransactionAnswer>;
  /** At most `limit` (≤ 200) transactions after this place (a TOID, SEP-35), oldest first, whatever ledger they are of. */
  getTransactions(
    request: { cursor: string; limit: number },
    options?: CallOptions,
  ): Promise<schemas.TransactionsAnswer>;
  getEvents(request: EventsRequest, options?: CallOptions): Promise<schemas.EventsAnswer>;
  /** Ledgers from `startLedger` on, at most `limit` (≤ 200); their metadata may be megabytes each. */
  getLedgers(request: { startLedger: number; limit: number }, options?: CallOptions): Promise<schemas.LedgersAnswer>;
}

export interface EventsRequest {
  /** Either this (inclusive) or `cursor`. */
  startLedger?: number;
  cursor?: string;
  contractIds: string[];
  limit: number;
}

/** A client that also says how its nodes stand. */
export interface NodesRpcClient extends RpcClient {
  /** In the order of the URLs. */
  nodes(): NodeReport[];
  networks: RpcNodes["networks"];
}

/**
 * A client of the Stellar RPC protocol over HTTP. A call is tried at most twice, or once per node where there are more
 * (`sendTransaction` only once), within one time budget; every answer is checked for what the gateway relies on.
 * Messages name a node by scheme and host only.
 */
export function createRpcClient(parts: RpcNodesParts): NodesRpcClient {
  const { call, reports, networks } = createRpcNodes(parts);
  return {
    getHealth: (options) => call("getHealth", undefined, schemas.health, options),
    getNetwork: (options) => call("getNetwork", undefined, schemas.network, options),
    getLatestLedger: (options) => call("getLatestLedger", undefined, schemas.latestLedger, options),
    getFeeStats: (options) => call("getFeeStats", undefined, schemas.feeStats, options),
    getLedgerEntries(keys, options) {
      // A node refuses all when it is asked for one twice.
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
