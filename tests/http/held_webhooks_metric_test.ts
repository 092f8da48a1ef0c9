// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../until.ts";
import { answerWith, api, key, newWebhook, startWebhookStage } from "./webhook_stage.ts";

startWebhookStage();

const owed = async () => (await api.request("GET", "/v1/status")).body.deliveries;

test("the status does not count a webhook of a disabled key as failing or late, and still counts its pending delivery", async () => {
  answerWith(500);
  await newWebhook();
  await api.registerDevice();
  await until(async () => (await owed()).failingWebhooks === 1);
  await api.store.keys.setDisabled(key.split("_")[2]!, true);
  const { pending, oldestSeconds } = await until(async () => {
    const reported = await owed();
    return reported.failingWebhooks === 0 && reported;
  });
  assert.deepEqual({ pending, oldestSeconds }, { pending: 1, oldestSeconds: null }, "the delivery is still pending");
});
