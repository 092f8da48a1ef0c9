// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { Keypair, Operation } from "@stellar/stellar-sdk";
import { apply, build, signed } from "../sandbox/sandbox_network.ts";
import { gatewayOfFile } from "./test_gateway.ts";

const { on, api } = gatewayOfFile();

test('prepare refuses an account that has used its last sequence number, with retry "never" and the reason', async () => {
  const source = Keypair.random();
  await on.network.fund(source.publicKey());
  const bump = Operation.bumpSequence({ bumpTo: String(2n ** 63n - 1n) });
  assert.equal(apply(on.network, signed(build(on.network, source, [bump]), source)).successful, true);
  const operation = { kind: "registerDevice", deviceHash: "ab".repeat(32), agent: on.sandbox.accounts.agent.address };
  for (const headers of [{}, { "idempotency-key": "order-1" }] as Record<string, string>[]) {
    const { status, body } = await api.request("POST", "/v1/transactions/prepare", {
      body: { source: source.publicKey(), operation },
      headers,
    });
    assert.deepEqual([status, body.error.code, body.error.retry, body.error.param], [
      400,
      "invalid_request",
      "never",
      "source",
    ]);
    assert.match(body.error.message, /has used its last sequence number, 9223372036854775807; use another account/);
  }
});
