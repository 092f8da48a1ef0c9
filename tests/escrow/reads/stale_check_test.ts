// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Operation } from "../../../lib/escrow/operations/operations.ts";
import { sandboxOfFile } from "../sandbox.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();

const act = (operation: Operation) => sandbox.gateway().act(sandbox.owner, operation);

test("a check does not go by what the answer that was the first to speak of a ledger said of the one before", async () => {
  const { agent, asset } = sandbox;
  await act({ kind: "registerDevice", deviceHash: CARD, agent: agent.publicKey() });
  await act({ kind: "registerAgent", deviceHash: CARD, agent: agent.publicKey(), asset, maxAmount: "0" });
  await act({ kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });

  // A node that says the number of the newest ledger, and once the entries of the one before.
  const held = new Map<string, { xdr: string }>();
  let isEarly = false;
  const { escrow } = sandbox.gateway({
    fetch: async (url, init) => {
      const response = await sandbox.fetch(url, init);
      const { method } = JSON.parse(String(init.body));
      if (method !== "getLedgerEntries") return response;
      const answer = await response.json();
      for (const entry of answer.result.entries) {
        if (isEarly) entry.xdr = held.get(entry.key)?.xdr ?? entry.xdr;
        else held.set(entry.key, entry);
      }
      isEarly = false;
      return Response.json(answer);
    },
  });
  const check = (amount: string) => escrow.payments.check({ deviceHash: CARD, asset, amount });
  assert.deepEqual(await check("1"), { ok: true });

  await act({ kind: "fundEscrow", deviceHash: CARD, asset, amount: "100" });
  isEarly = true;
  assert.deepEqual(await check("1"), { ok: true });
  assert.equal((await escrow.reads.device(CARD)).escrowBalance, "200");
  assert.deepEqual(await check("150"), { ok: true });
});
