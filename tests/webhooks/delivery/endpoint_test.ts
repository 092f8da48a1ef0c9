// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Endpoint,
  type EndpointOutcome,
  hasBreaks,
  isKnownToFail,
  isProbed,
  next,
  probedAmong,
  readyAt,
  slowed,
  unasked,
  unknownEndpoint,
  windowOf,
} from "../../../lib/webhooks/delivery/endpoint.ts";
import { breakAfter } from "../../../lib/webhooks/delivery/schedule.ts";

const NOW = 1_000;
const MOST = 16;

function after(...outcomes: EndpointOutcome[]): Endpoint {
  return outcomes.reduce((endpoint, outcome) => next(endpoint, outcome, NOW, MOST), unknownEndpoint(false));
}

const failed = (times: number) => Array<EndpointOutcome>(times).fill("failed");

test("with each quick answer an endpoint gets more concurrent posts, up to a limit", () => {
  assert.deepEqual([0, 1, 3, 40].map((n) => windowOf(after(...Array(n).fill("quick")))), [1, 2, 4, MOST]);
});

test("a slow or long-pending answer limits an endpoint to one post at a time", () => {
  assert.deepEqual(after("quick", "quick", "slow"), { state: "slow" });
  assert.deepEqual(slowed(after("quick")), { state: "slow" });
  assert.deepEqual(after("slow", "quick"), { state: "healthy", window: 2 });
  const down = after(...failed(9));
  assert.equal(slowed(down), down);
});

test("a failing endpoint gets pauses from its second failure on, and counts as down from its eighth", () => {
  for (let failures = 1; failures <= 12; failures++) {
    const endpoint = after(...failed(failures));
    assert.equal(endpoint.state, failures < 8 ? "backingOff" : "down", `${failures}`);
    assert.equal(readyAt(endpoint), NOW + breakAfter(failures));
    assert.equal(hasBreaks(endpoint), failures >= 2);
    assert.equal(windowOf(endpoint), 1);
  }
  assert.deepEqual(after("quick", ...failed(20), "quick"), { state: "healthy", window: 2 });
});

test("an endpoint that is down gets four probes and then one real post; so does a delivery that others wait for", () => {
  const probed = Array.from({ length: 13 }, (_, n) => n).filter((n) => isProbed(after(...failed(n)), false));
  assert.deepEqual(probed, [8, 9, 11, 12]);
  assert.deepEqual([0, 1, 2, 8].map((n) => isProbed(after(...failed(n)), true)), [false, false, true, true]);
  assert.deepEqual([8, 9, 11, 12].map((n) => probedAmong(after(...failed(n)), 9)), [0, 1, 3, 0]);
  assert.deepEqual([8, 9, 11].map((n) => probedAmong(after(...failed(n)), 2)), [0, 1, 1]);
});

test("an endpoint counts as failing only after a post since the worker opened it or its key was enabled", () => {
  const opened = unknownEndpoint(true);
  assert.deepEqual([hasBreaks(opened), isKnownToFail(opened), readyAt(opened)], [true, false, -Infinity]);
  const asked = next(opened, "failed", NOW, MOST);
  assert.deepEqual([isKnownToFail(asked), isKnownToFail(unasked(asked))], [true, false]);
  assert.equal(isKnownToFail(after("failed")), false);
});
