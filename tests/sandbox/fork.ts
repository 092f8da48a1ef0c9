/** Networks that tests fork. */
import { xdr } from "@stellar/stellar-sdk";
import { openRemote, type Remote } from "../../lib/sandbox/fork/remote.ts";
import { keyOf } from "../../lib/sandbox/ledger/bytes.ts";
import { NEWEST_PROTOCOL } from "../../lib/sandbox/ledger/protocol.ts";
import type { NetworkOptions, SandboxNetwork } from "../../lib/sandbox/network.ts";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";
import { START_SECONDS } from "./sandbox_network.ts";

/** The passphrase of the forked network. */
export const FORKED = "the network that is forked";

export type SandboxNode = SandboxRpc & { network: SandboxNetwork };

/** A node of the network to fork. */
export const openOrigin = async (options: Partial<NetworkOptions> = {}) =>
  await openSandboxRpc({ passphrase: FORKED, ...options }) as SandboxNode;

/** A node of a fork of the network at the URL. */
export const openFork = async (url: string) => await openSandboxRpc({ forkOf: await openRemote(url) }) as SandboxNode;

/** A network to fork that holds these entries. */
export function remoteWith(...held: [keyXdr: Uint8Array, data: xdr.LedgerEntryData][]): Remote {
  const entries = new Map(held.map(([key, data]) => {
    const entry = new xdr.LedgerEntry({ lastModifiedLedgerSeq: 7, data, ext: xdr.LedgerEntryExt.v0() });
    return [keyOf(key), { entryXdr: entry.toXdr() }];
  }));
  return {
    passphrase: FORKED,
    protocolVersion: NEWEST_PROTOCOL,
    ledger: { sequence: 100, hash: new Uint8Array(32), closeTime: START_SECONDS - 5 },
    read: (keys) => Promise.resolve(new Map([...entries].filter(([key]) => keys.includes(key)))),
  };
}
