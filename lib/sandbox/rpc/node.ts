import type { Network } from "../network_types.ts";
import { INTERNAL_ERROR, JsonRpcError } from "./json_rpc.ts";

const MAX_LEDGER_AGE_MS = 30_000;

/** `getHealth`: -32603 when the latest ledger is older than 30 s, or than two ledgers when these take longer than 15 s. */
export function getHealth(network: Network, nowMs: number) {
  const latest = network.latestLedger();
  const oldest = network.oldestLedger();
  const ageMs = nowMs - latest.closeTime * 1000;
  const longestMs = Math.max(MAX_LEDGER_AGE_MS, 2 * network.ledgerMs);
  if (ageMs > longestMs) {
    throw new JsonRpcError(
      INTERNAL_ERROR,
      `latency (${seconds(ageMs)}) since last known ledger closed is too high (>${seconds(longestMs)})`,
    );
  }
  return {
    status: "healthy",
    latestLedger: latest.sequence,
    latestLedgerCloseTime: String(latest.closeTime),
    oldestLedger: oldest.sequence,
    oldestLedgerCloseTime: String(oldest.closeTime),
    ledgerRetentionWindow: network.retentionLedgers,
  };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)}s`;
}

/** `getNetwork`. */
export function getNetwork(network: Network, friendbotUrl: string | undefined) {
  return { friendbotUrl, passphrase: network.passphrase, protocolVersion: network.protocolVersion };
}

/** `getVersionInfo`: the version of the node that the sandbox behaves like, and the sandbox's own beside it. */
export function getVersionInfo(network: Network, version: string) {
  return {
    version: `${network.protocolVersion}.0.0`,
    sandboxVersion: version,
    commitHash: "",
    buildTimestamp: "",
    captiveCoreVersion: `sandbox ${version}`,
    protocolVersion: network.protocolVersion,
  };
}
