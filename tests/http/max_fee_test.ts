// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

test("a node's fee estimate above SERVICE_API_MAX_FEE gets 502 upstream_error with the name of the setting", async () => {
  const { owner, agent } = on.sandbox.accounts;
  const operation = { kind: "registerDevice", deviceHash: "ab".repeat(32), agent: agent.address };
  const usual = await startGateway(on);
  const { status, body: { fee } } = await usual.prepare(owner, operation);
  assert.equal(status, 200);
  await usual.stop();
  for (const [maxFee, expected] of [[Number(fee), 200], [Number(fee) - 1, 502]]) {
    const api = await startGateway(on, { settings: { maxFee: String(maxFee) } });
    const { status, body } = await api.prepare(owner, operation);
    assert.equal(status, expected, JSON.stringify(body));
    if (status === 502) {
      assert.equal(body.error.code, "upstream_error");
      assert.match(
        body.error.message,
        new RegExp(`estimates a fee of ${fee} stroops; SERVICE_API_MAX_FEE allows ${maxFee}`),
      );
    }
    await api.stop();
  }
});
