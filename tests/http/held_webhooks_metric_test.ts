// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../until.ts";
import { answerWith, api, key, newWebhook, startWebhookStage } from "./webhook_stage.ts";

startWebhookStage();

const owed = async () => (await api.request("GET", "/v1/status")).body.deliveries;

test("of a webhook whose key was disabled nobody is told that its endpoint fails, or does not take what it is owed", async () => {
  answerWith(500);
  await newWebhook();
  await api.registerDevice();
  await until(async () => (await owed()).failingWebhooks === 1);
  await api.store.keys.setDisabled(key.split("_")[2]!, true);
  const { pending, oldestSeconds } = await until(async () => {
    const told = await owed();
    return told.failingWebhooks === 0 && told;
  });
  assert.deepEqual({ pending, oldestSeconds }, { pending: 1, oldestSeconds: null }, "it is owed all the same");
});
