/**
 * An application's use of the client in plain JavaScript, equal on Node, Deno, Bun and in a browser. Answers what
 * it has seen.
 */
export async function tellStory(client, Keypair, { gateway: baseUrl, apiKey, network, accounts, asset, runtime }) {
  const { createGatewayClient, fromUnits, deviceHash: hashOf, receive, toUnits } = client;
  const gateway = createGatewayClient({ baseUrl, apiKey, network });
  const deviceHash = await hashOf(new TextEncoder().encode(runtime.padEnd(7).slice(0, 7)));
  const owner = Keypair.fromSecret(accounts.owner.secret);
  const payer = Keypair.fromSecret(accounts.agent.secret);
  const merchant = Keypair.fromSecret(accounts.merchant.secret);
  const agent = accounts.agent.address;

  const before = await gateway.eventPage({ limit: 1 });
  const ending = new AbortController();
  const feed = gateway.events({ fromLedger: before.latestLedger + 1, deviceHash, signal: ending.signal });
  const seen = [];
  const watching = (async () => {
    for await (const event of feed) if (seen.push(event.type) === 4) ending.abort();
  })();

  const writes = [];
  const write = async (operation, key) => {
    const written = await gateway.write(operation, key);
    writes.push(written.ok ? operation.kind : `${operation.kind}: ${written.reason}: ${written.message}`);
  };
  await write({ kind: "registerDevice", deviceHash, agent }, owner);
  await write({ kind: "registerAgent", deviceHash, agent, asset, maxAmount: toUnits("5") }, owner);
  await write({ kind: "fundEscrow", deviceHash, asset, amount: toUnits("10") }, owner);
  const check = await gateway.checkPayment({ deviceHash, asset, amount: toUnits("6") });
  const payment = { kind: "authorize", deviceHash, merchant: accounts.merchant.address, asset, amount: toUnits("4.5") };
  await write(payment, payer);
  await write({ kind: "claim", asset }, merchant);
  await watching;
  const device = await gateway.device(deviceHash);

  const thief = createGatewayClient({
    baseUrl,
    apiKey,
    network: { ...network, contracts: { ...network.contracts, paymentEscrow: network.contracts.agentRegistry } },
  });
  const refused = await thief.write({ ...payment, amount: "1" }, payer);

  const secret = `whsec_${btoa("k".repeat(32))}`;
  const body = JSON.stringify({ subscription: "wh_1", event: { id: "1", type: "payment.claimed" } });
  const seconds = Math.floor(Date.now() / 1000);
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(`${seconds}.${body}`)));
  const hex = Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const headers = { "x-service-signature": `t=${seconds},v1=${hex}` };
  const received = await receive(new Request("http://shop.test/", { method: "POST", headers, body }), secret);

  return {
    writes,
    seen,
    check: check.reason,
    left: fromUnits(device.escrowBalance),
    refused: refused.reason,
    received: received.ok && received.event.type,
    stranger: (await createGatewayClient({ baseUrl, apiKey: "service_sk_x" }).network()).reason,
  };
}
