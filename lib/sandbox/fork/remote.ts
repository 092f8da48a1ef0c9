import { createXdrWriter, fromHex } from "../ledger/bytes.ts";
import type { StateEntry } from "../ledger/state.ts";

/** The network that a fork continues, read from its RPC node. */
export interface Remote {
  passphrase: string;
  protocolVersion: number;
  /** The ledger that the fork begins after. */
  ledger: { sequence: number; hash: Uint8Array; closeTime: number };
  /**
   * Reads entries by their keys (`keyOf`). The answer lacks keys without an entry.
   * @throws {RemoteError}
   */
  read(keys: string[]): Promise<Map<string, StateEntry>>;
}

/** The other network cannot be read. The message names only its host, because the rest of the URL may hold a token. */
export class RemoteError extends Error {
  override name = "RemoteError";
}

/** Keys per getLedgerEntries. */
const MAX_KEYS = 200;
const TIMEOUT_MS = 15_000;
/** Public nodes limit the rate of calls. These are the waits before the second and the third try. */
const RETRY_AFTER_MS = [300, 1_500];

/**
 * Reads passphrase, protocol and latest ledger of the network behind an RPC node.
 * @throws {RemoteError} when no RPC node answers there
 */
export async function openRemote(url: string): Promise<Remote> {
  const ask = asker(url);
  const [network, latest] = await Promise.all([ask("getNetwork"), ask("getLatestLedger")]);
  const { sequence, id, protocolVersion } = latest;
  const isNode = typeof network.passphrase === "string" && Number.isInteger(sequence) && /^[0-9a-f]{64}$/.test(`${id}`);
  if (!isNode) throw new RemoteError(`no Stellar RPC node answers at ${hostOf(url)}`);
  const closeTime = await closeTimeOf(latest, ask);
  return {
    passphrase: network.passphrase,
    protocolVersion,
    ledger: { sequence, hash: fromHex(id), closeTime },
    read: reader(ask),
  };
}

// deno-lint-ignore no-explicit-any -- answers are looked into field by field
type Ask = (method: string, params?: unknown) => Promise<any>;

function asker(url: string): Ask {
  const host = hostOf(url);
  return async (method, params = {}) => {
    for (let attempt = 0;; attempt++) {
      const answer = await post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      if (typeof answer === "object" && answer.result !== undefined) return answer.result;
      const waitMs = RETRY_AFTER_MS[attempt];
      if (typeof answer === "object" || waitMs === undefined) {
        const why = typeof answer === "object" ? answer.error?.message ?? "no answer of a Stellar RPC node" : answer;
        throw new RemoteError(`the network at ${host} cannot be read: ${why}`);
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  };
}

/** The answer, or the reason for a failure that a retry may solve. */
async function post(url: string, body: string): Promise<{ result?: unknown; error?: { message?: string } } | string> {
  const headers = { "Content-Type": "application/json" };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { method: "POST", headers, body, signal }).catch(() => undefined);
  if (response === undefined) return "it does not answer";
  const text = await response.text().catch(() => "");
  if (response.status === 429 || response.status >= 500) return `it answers with ${response.status}`;
  try {
    const answer = JSON.parse(text);
    return typeof answer === "object" && answer !== null ? answer : {};
  } catch {
    return {};
  }
}

function reader(ask: Ask): Remote["read"] {
  return async (keys) => {
    const found = new Map<string, StateEntry>();
    for (let at = 0; at < keys.length; at += MAX_KEYS) {
      const asked = keys.slice(at, at + MAX_KEYS).map((key) => btoa(key));
      const { entries } = await ask("getLedgerEntries", { keys: asked });
      for (const entry of entries ?? []) found.set(atob(entry.key), stateEntry(entry));
    }
    return found;
  };
}

interface EntryAnswer {
  key: string;
  /** LedgerEntryData, base64. */
  xdr: string;
  /** LedgerEntryExt in base64, with the sponsor. Older nodes omit it. */
  extXdr?: string;
  lastModifiedLedgerSeq: number;
  liveUntilLedgerSeq?: number;
}

/** The LedgerEntryExt of an entry that never had a sponsor. */
const VOID_EXTENSION = "AAAAAA==";

function stateEntry({ xdr, extXdr, lastModifiedLedgerSeq, liveUntilLedgerSeq }: EntryAnswer): StateEntry {
  const data = Uint8Array.fromBase64(xdr);
  const ext = Uint8Array.fromBase64(extXdr ?? VOID_EXTENSION);
  const entryXdr = createXdrWriter().uint32(lastModifiedLedgerSeq).raw(data).raw(ext).finish();
  if (liveUntilLedgerSeq === undefined) return { entryXdr };
  // An archived entry has 0 here, which would mean that it never expires.
  return { entryXdr, liveUntilLedger: Math.max(1, liveUntilLedgerSeq), ttlModifiedLedger: lastModifiedLedgerSeq };
}

/** Older nodes omit the close time of their latest ledger. */
async function closeTimeOf(latest: { sequence: number; closeTime?: unknown }, ask: Ask): Promise<number> {
  if (latest.closeTime !== undefined) return Number(latest.closeTime);
  const { ledgers } = await ask("getLedgers", { startLedger: latest.sequence, pagination: { limit: 1 } });
  return Number(ledgers[0].ledgerCloseTime);
}

function hostOf(url: string): string {
  return new URL(url).origin;
}
