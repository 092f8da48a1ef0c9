// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { xdr } from "@stellar/stellar-sdk";
import { openRemote } from "../../lib/sandbox/fork/remote.ts";
import { accountKeyXdr, newAccount } from "../../lib/sandbox/ledger/accounts.ts";
import { PROTOCOL_VERSION } from "../../lib/sandbox/ledger/protocol.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice } from "./envelope_parts.ts";
import { openSandboxRpc, type SandboxRpc } from "./rpc/sandbox_rpc.ts";
import { engineModule, START_SECONDS } from "./sandbox_network.ts";

/** What RevokeSponsorship leaves: stellar-core takes the sponsor out of the extension, and leaves the extension. */
const FORMERLY_SPONSORED = xdr.LedgerEntryExt.v1(
  new xdr.LedgerEntryExtensionV1({ sponsoringId: null, ext: xdr.LedgerEntryExtensionV1Ext.v0() }),
);

test("an account that somebody sponsored once is read on a fork as on its network", async (t) => {
  const key = accountKeyXdr(alice.rawPublicKey()).toBase64();
  const data = xdr.LedgerEntryData.account(newAccount(alice.rawPublicKey(), 1_000_000_000n, 7)).toXdr("base64");
  const answers: Record<string, unknown> = {
    getNetwork: { passphrase: "the network that is forked" },
    getLatestLedger: {
      id: "00".repeat(32),
      sequence: 100,
      protocolVersion: PROTOCOL_VERSION,
      closeTime: `${START_SECONDS - 5}`,
    },
    getLedgerEntries: {
      entries: [{ key, xdr: data, extXdr: FORMERLY_SPONSORED.toXdr("base64"), lastModifiedLedgerSeq: 7 }],
    },
  };
  const realFetch = globalThis.fetch;
  const origin = "http://origin.example";
  globalThis.fetch = (async (url: string, init: RequestInit) => {
    if (!String(url).startsWith(origin)) return await realFetch(url, init);
    const { method, params } = JSON.parse(String(init.body));
    const isAsked = method !== "getLedgerEntries" || params.keys.includes(key);
    return Response.json({ jsonrpc: "2.0", id: 1, result: isAsked ? answers[method] : { entries: [] } });
  }) as typeof fetch;
  t.after(() => void (globalThis.fetch = realFetch));

  const forkOf = await openRemote(origin);
  const fork = await openSandboxRpc({ engineWasm: await engineModule(), forkOf }) as SandboxRpc & {
    network: SandboxNetwork;
  };
  t.after(fork.stop);
  const { result } = await fork.call("getLedgerEntries", { keys: [key] });
  assert.equal(result.entries[0].xdr, data);
  assert.equal(result.entries[0].extXdr, FORMERLY_SPONSORED.toXdr("base64"));
  assert.equal((await fork.rpc.getAccountEntry(alice.publicKey())).balance, 1_000_000_000n);
});
