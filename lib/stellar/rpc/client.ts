import type { RpcClient } from "./rpc.ts";
import { createRpcNodes, type NodeReport, type RpcNodes, type RpcNodesParts } from "./nodes.ts";
import * as schemas from "./schemas.ts";
import type { LedgerTip } from "../ledger/tip.ts";

export interface RpcClientParts extends RpcNodesParts {
  /** Told of every ledger an answer speaks of. */
  tip?: LedgerTip;
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
export function createRpcClient(parts: RpcClientParts): NodesRpcClient {
  const { tip } = parts;
  const { call, reports, networks } = createRpcNodes(parts);

  /** Tells the tip which ledger an answer speaks of. */
  function seen<T>(answer: T, sequence: number, closeTime?: number): T {
    tip?.observe(sequence, closeTime);
    return answer;
  }

  return {
    async getHealth(options) {
      const answer = await call("getHealth", undefined, schemas.health, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
    getNetwork: (options) => call("getNetwork", undefined, schemas.network, options),
    async getLatestLedger(options) {
      const answer = await call("getLatestLedger", undefined, schemas.latestLedger, options);
      return seen(answer, answer.sequence, answer.closeTime);
    },
    getFeeStats: (options) => call("getFeeStats", undefined, schemas.feeStats, options),
    async getLedgerEntries(keys, options) {
      const answer = await call("getLedgerEntries", { keys }, schemas.ledgerEntries, options);
      return seen(answer, answer.latestLedger);
    },
    async simulateTransaction(envelope, options) {
      const answer = await call("simulateTransaction", { transaction: envelope }, schemas.simulation, options);
      return seen(answer, answer.latestLedger);
    },
    async sendTransaction(envelope, options) {
      const answer = await call("sendTransaction", { transaction: envelope }, schemas.sendAnswer, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
    async getTransaction(hash, options) {
      const answer = await call("getTransaction", { hash }, schemas.transactionAnswer, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
    async getEvents({ startLedger, cursor, contractIds, limit }, options) {
      const params = {
        ...(cursor === undefined ? { startLedger } : {}),
        filters: [{ type: "contract", contractIds }],
        pagination: cursor === undefined ? { limit } : { cursor, limit },
      };
      const answer = await call("getEvents", params, schemas.eventsAnswer, options);
      return seen(answer, answer.latestLedger, answer.latestLedgerCloseTime);
    },
    nodes: reports,
    networks,
  };
}
