// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashCard } from "../../lib/client/client.ts";
import { owner, stage, stageOfFile } from "./client_stage.ts";

stageOfFile();

test("who writes is told of what cannot be undone before it is signed, and what he throws then signs nothing", async () => {
  const gateway = stage.client();
  const deviceHash = await hashCard("given up with something in its escrow");
  const { asset, accounts: { agent: { address: agent } } } = stage;
  const warnings: string[] = [];
  const onWarning = (warning: string) => void warnings.push(warning);
  const setUp = [
    { kind: "registerDevice", deviceHash, agent },
    { kind: "registerAgent", deviceHash, agent, asset, maxAmount: "5" },
    { kind: "fundEscrow", deviceHash, asset, amount: "7" },
  ] as const;
  for (const operation of setUp) assert.ok((await gateway.write(operation, owner, { onWarning })).ok);
  assert.deepEqual(warnings, []);

  const giveUp = { kind: "revokeDevice", deviceHash } as const;
  const refused = await gateway.write(giveUp, owner, {
    onWarning: (warning) => Promise.reject(new Error(`not with this: ${warning}`)),
  });
  assert.ok(!refused.ok, JSON.stringify(refused));
  assert.deepEqual([refused.reason, refused.retry], ["not_signed", "never"]);
  assert.match(refused.message, /^not with this: .*escrow/);
  assert.ok((await gateway.device(deviceHash)).ok);

  assert.ok((await gateway.write(giveUp, owner, { onWarning })).ok);
  assert.equal(warnings.length, 1);
});
