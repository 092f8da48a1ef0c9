import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createClient } from "./client.ts";
import type { SandboxInfo } from "./sandbox_process.ts";

/**
 * The whole life of a card, told to a running sandbox gateway over HTTP: every amount, event and error on the way is
 * checked. The same story is told to the sources on both runtimes and to the compiled executable.
 */
export async function tellStory(info: SandboxInfo): Promise<void> {
  const api = createClient(info.gateway, info.apiKey);
  const { owner, agent, merchant } = info.accounts;
  const { asset } = info;
  const deviceHash = createHash("sha256").update("card 04:A2:2B:11").digest("hex");

  const device = async () => (await api.get(`/v1/devices/${deviceHash}`)).body;
  const pending = async () => (await api.get(`/v1/merchants/${merchant.address}/pending`)).body;
  const check = async (body: Record<string, unknown>) =>
    (await api.post("/v1/payments/check", { deviceHash, asset, amount: "40000", ...body })).body;
  const done = async (signer: { address: string; secret: string }, operation: Record<string, unknown>) => {
    const answer = await api.write(signer, operation);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.match(answer.body.hash, /^[0-9a-f]{64}$/);
    return answer;
  };
  const refused = async (signer: { address: string; secret: string }, operation: Record<string, unknown>) => {
    const answer = await api.write(signer, operation);
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    assert.equal(answer.body.error.code, "contract_refused");
    return answer.body.error;
  };

  const network = await api.get("/v1/network");
  assert.deepEqual(network.body.contracts, info.contracts);
  assert.equal(network.body.networkPassphrase, info.networkPassphrase);

  // Nothing is registered yet.
  assert.equal((await api.get(`/v1/devices/${deviceHash}`)).body.error.code, "device_not_found");
  assert.equal((await api.get(`/v1/devices/${deviceHash}/policy`)).body.error.code, "agent_not_found");
  assert.deepEqual(await check({}), { ok: false, reason: "device_not_found" });
  const unknown = await refused(owner, { kind: "fundEscrow", deviceHash, asset, amount: "1" });
  assert.equal(unknown.contractError, "DeviceNotRegistered");

  await done(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  assert.deepEqual(await device(), {
    deviceHash,
    owner: owner.address,
    policy: { agent: null, maxAmount: null, asset: null, expiresAt: null },
    escrowBalance: "0",
  });
  assert.deepEqual((await api.get(`/v1/wallets/${owner.address}/devices`)).body, { devices: [deviceHash] });
  assert.deepEqual(await check({}), { ok: false, reason: "agent_not_found" });

  await done(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "50000" });
  const policy = { agent: agent.address, maxAmount: "50000", asset, expiresAt: null };
  assert.deepEqual((await api.get(`/v1/devices/${deviceHash.toUpperCase()}/policy`)).body, policy);
  assert.equal(
    (await refused(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "1" }))
      .contractError,
    "AlreadyRegistered",
  );

  assert.deepEqual(await check({}), { ok: false, reason: "insufficient_escrow" });
  await done(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100000" });
  assert.deepEqual(await device(), { deviceHash, owner: owner.address, policy, escrowBalance: "100000" });

  assert.deepEqual(await check({}), { ok: true });
  assert.deepEqual(await check({ agent: merchant.address }), { ok: false, reason: "agent_mismatch" });
  assert.deepEqual(await check({ asset: info.contracts.paymentEscrow }), { ok: false, reason: "asset_mismatch" });
  assert.deepEqual(await check({ amount: "50001" }), { ok: false, reason: "amount_exceeds_limit" });

  const payment = { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "40000" };
  const paid = await done(agent, { ...payment, nonce: "7" });
  const { payments: [listed], ...owed } = await pending();
  assert.deepEqual(owed, { pending: "40000" });
  assert.deepEqual([listed.deviceHash, listed.amount], [deviceHash, "40000"]);
  assert.ok(listed.expiresAt > listed.authorizedAt);
  assert.equal((await device()).escrowBalance, "60000");
  const again = await api.post("/v1/transactions/submit", { xdr: paid.xdr });
  assert.deepEqual([again.status, again.body], [200, paid.body], "the same answer to the same envelope");
  assert.deepEqual((await api.get(`/v1/transactions/${paid.body.hash}`)).body, { ...paid.body, status: "success" });
  const duplicate = await refused(agent, { ...payment, nonce: "7" });
  assert.equal(duplicate.contractError, "DuplicateAuth");
  assert.match(duplicate.message, /payment_escrow\.authorize .*#6/);
  assert.equal((await refused(agent, { ...payment, amount: "50001" })).contractError, "AgentNotAuthorized");

  await done(merchant, { kind: "claim", asset });
  assert.deepEqual(await pending(), { pending: "0", payments: [] });
  assert.equal((await refused(merchant, { kind: "claim", asset })).contractError, "NothingToClaim");

  await done(owner, { kind: "defundEscrow", deviceHash, asset, amount: "10000" });
  assert.equal((await device()).escrowBalance, "50000");
  const notOwner = await api.write(agent, { kind: "defundEscrow", deviceHash, asset, amount: "1" });
  assert.equal(notOwner.body.error.code, "invalid_request");
  assert.ok(notOwner.body.error.message.includes(owner.address), "the message names who would have to be the source");

  const sweep = { kind: "sweepEscrow", deviceHash, asset, agent: agent.address };
  assert.equal((await refused(owner, sweep)).contractError, "AgentStillActive");
  await done(owner, { kind: "revokeAgent", deviceHash });
  await done(owner, { kind: "sweepEscrow", deviceHash, asset, agent: agent.address });
  assert.equal((await device()).escrowBalance, "0");
  await done(owner, { kind: "revokeDevice", deviceHash });
  assert.equal((await api.get(`/v1/devices/${deviceHash}`)).status, 404);
  assert.deepEqual((await api.get(`/v1/wallets/${owner.address}/devices`)).body, { devices: [] });
  const passedThrough = await refused(owner, { kind: "defundEscrow", deviceHash, asset, amount: "1" });
  const says = "payment_escrow.defund_escrow refused: device_registry error #2 (DeviceNotFound)";
  assert.equal(passedThrough.message, says);

  await checkEvents(info, deviceHash);
}

async function checkEvents(info: SandboxInfo, deviceHash: string): Promise<void> {
  const api = createClient(info.gateway, info.apiKey);
  const { asset } = info;
  const merchant = info.accounts.merchant.address;
  const agent = info.accounts.agent.address;
  const expected = [
    { type: "device.registered", deviceHash, agent },
    { type: "agent.registered", deviceHash, agent, asset },
    { type: "escrow.funded", deviceHash, amount: "100000", asset },
    { type: "payment.authorized", deviceHash, merchant, amount: "40000", asset },
    { type: "payment.claimed", merchant, amount: "40000", asset },
    { type: "escrow.defunded", deviceHash, amount: "10000", asset },
    { type: "agent.revoked", deviceHash },
    { type: "escrow.swept", deviceHash, amount: "50000", asset },
    { type: "device.revoked", deviceHash },
  ];
  const events = await pull(api, "", expected.length);
  const fields = ({ id, contractId, ledger, ledgerClosedAt, txHash, ...own }: Record<string, unknown>) => {
    assert.match(String(txHash), /^[0-9a-f]{64}$/);
    assert.match(String(ledgerClosedAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.ok(
      Number.isInteger(ledger) && typeof id === "string" && Object.values(info.contracts).includes(String(contractId)),
    );
    return own;
  };
  assert.deepEqual(events.map(fields), expected);
  assert.equal(new Set(events.map(({ id }) => id)).size, expected.length);

  const byMerchant = await pull(api, `&merchant=${merchant}`, 2);
  assert.deepEqual(byMerchant.map(({ type }) => type), ["payment.authorized", "payment.claimed"]);
  const byType = await pull(api, "&types=escrow.swept,escrow.funded", 2);
  assert.deepEqual(byType.map(({ type }) => type), ["escrow.funded", "escrow.swept"]);
}

/** Pages of two through the history until `count` events are there: the watcher may be a poll behind. */
async function pull(
  api: ReturnType<typeof createClient>,
  filter: string,
  count: number,
): Promise<Record<string, unknown>[]> {
  const events: Record<string, unknown>[] = [];
  let cursor = "";
  const deadline = Date.now() + 20_000;
  while (events.length < count && Date.now() < deadline) {
    const page = await api.get(`/v1/events?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}${filter}`);
    assert.equal(page.status, 200, JSON.stringify(page.body));
    events.push(...page.body.events);
    cursor = page.body.cursor;
    if (page.body.events.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return events;
}
