// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { STREAM_LIMITS } from "../../lib/events/streams.ts";
import { KEPT_INTENTS } from "../../lib/http/intents/intent_errors.ts";
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES } from "../../lib/http/validation/body.ts";
import { LONGEST_VALIDITY_SECONDS } from "../../lib/stellar/transactions/envelope.ts";
import { VALID_FOR_SECONDS } from "../../lib/stellar/transactions/prepare.ts";
import { MAX_COUNTED } from "../../lib/store/event.ts";
import { MAX_INTENT_ENVELOPES } from "../../lib/store/transaction_intent.ts";
import { ATTEMPTS_KEPT, FAILED_KEPT } from "../../lib/store/webhook.ts";
import { MAX_REPLAYED, MAX_TESTS } from "../../lib/webhooks/allowances.ts";
import { MAX_SUBSCRIPTIONS_PER_KEY } from "../../lib/webhooks/creation.ts";
import { MAX_URL_LENGTH } from "../../lib/webhooks/targets/policy.ts";
import { readDoc } from "./tools.ts";

/** Groups the digits of numbers from 10 000: 10 000, but 1000. */
const spaced = (value: number) => value < 10_000 ? String(value) : String(value).replaceAll(/\B(?=(\d{3})+$)/g, " ");

const LIMITS: Record<string, string> = {
  "body of a request": `${MAX_BODY_BYTES / 1024} KiB, within ${BODY_TIMEOUT_MS / 1_000} seconds`,
  "idempotency keys": `${spaced(KEPT_INTENTS.mostOfKey)} of an API key`,
  "open envelopes of an idempotency key": `${MAX_INTENT_ENVELOPES}`,
  "webhooks of a key": `${MAX_SUBSCRIPTIONS_PER_KEY}, each URL at most ${MAX_URL_LENGTH} characters`,
  "test events of a webhook": `${MAX_TESTS} a minute`,
  "stored for a webhook": `the newest ${spaced(ATTEMPTS_KEPT)} attempts, and the newest ${
    spaced(FAILED_KEPT)
  } rejected`,
  "event streams": `${STREAM_LIMITS.perKey} of a key, ${spaced(STREAM_LIMITS.inAll)} at a gateway`,
  "replays of a webhook": `its count stops at ${spaced(MAX_COUNTED)}`,
  "replays of a key": `${spaced(MAX_REPLAYED)} events in a day`,
  "a prepared envelope": `valid for ${VALID_FOR_SECONDS / 60} minutes; a submitted one for at most an hour`,
};

test("the limits page states the limits that the code has", () => {
  assert.equal(KEPT_INTENTS.mostInAll, 1_000_000, "a million in all");
  assert.equal(LONGEST_VALIDITY_SECONDS, 3_600, "an hour");
  const rows = new Map(
    [...readDoc("limits.md").matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, what, limit]) => [what, limit!]),
  );
  for (const [what, limit] of Object.entries(LIMITS)) assert.ok(rows.get(what)?.includes(limit), `${what}: ${limit}`);
});
