// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_SUBMITS } from "../../lib/http/intents/submit_limit.ts";
import { signed } from "../e2e/client.ts";
import { networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();

test("a gateway allows 50 simultaneous submits for one API key, and still accepts submits of another key", async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => release = resolve);
  const api = await startGateway(on, {
    async fetch(url, init) {
      if (String(init.body).includes("sendTransaction")) await released;
      return await on.fetch(url, init);
    },
  });
  const { owner, agent } = on.sandbox.accounts;
  const operation = { kind: "registerDevice", deviceHash: "ab".repeat(32), agent: agent.address };
  const { body } = await api.prepare(owner, operation);
  const xdr = signed(body.xdr, body.networkPassphrase, owner.secret);
  const submit = (key?: string) => api.request("POST", "/v1/transactions/submit", { body: { xdr }, key });
  const answers = Array.from({ length: MOST_SUBMITS + 1 }, () => submit());
  // The others are under way until the node answers.
  const refused = await Promise.race(answers);
  assert.deepEqual([refused.status, refused.body.error.code], [429, "rate_limited"]);
  assert.match(refused.body.error.message, /^50 submits of this API key are under way/);
  assert.equal(refused.headers.get("retry-after"), "1");
  const others = submit(await api.newKey());
  release();
  const statuses = (await Promise.all([...answers, others])).map(({ status }) => status);
  assert.deepEqual(statuses.toSorted(), [...Array(MOST_SUBMITS + 1).fill(200), 429]);
  assert.equal((await submit()).status, 200);
  await api.stop();
});
