import * as kinds from "./kinds.ts";

/** A bug: what stands in a file, and what stands there instead. */
export interface PlantedBug {
  name: string;
  file: string;
  from: string;
  to: string;
  /** A world that breaks of it. */
  seed: number;
  /** What kind of world shows it; absent: any. */
  kind?: kinds.Kind;
  /** It was not planted at first: the simulation found it in the product. */
  wasReal?: true;
}

const COURIER = "lib/webhooks/delivery/courier.ts";
const READERS = "lib/webhooks/delivery/readers.ts";
const ONCE = "lib/http/intents/once.ts";
const READER = "lib/webhooks/delivery/reader.ts";

export const PLANTED: PlantedBug[] = [
  {
    name: "a cursor passes what is still being posted",
    file: READER,
    from: "  for (const first of outstanding) return first - 1;\n",
    to: "  void outstanding;\n",
    seed: 14,
  },
  {
    name: "settled before it is posted",
    file: READER,
    from: "  track.outstanding.add(event.sequence);\n",
    to: "",
    seed: 26,
  },
  {
    name: "a page's cursor passes one event too many",
    file: "lib/events/log_reader.ts",
    from: "lastRead ?? Math.max(place.sequence, last)",
    to: "(lastRead ?? Math.max(place.sequence, last) - 1) + 1",
    seed: 1,
  },
  {
    name: "commits are not fenced",
    file: "lib/store/sqlite/leases.ts",
    from: "if (isOwn.get(name, term) === undefined) {",
    to: "if (isOwn.get(name, term) === null) {",
    seed: 11,
  },
  {
    name: "the leases of the dead are never over",
    file: "lib/store/sqlite/leases.ts",
    from: "return remainingMs <= 0 || remainingMs > durationMs + LEASE_SLACK_MS;",
    to: "return remainingMs > Infinity;",
    seed: 1,
  },
  {
    name: "what a stop cuts off counts as delivered",
    file: COURIER,
    from: `if (aborting.signal.aborted && made.outcome !== "delivered") return;`,
    to: `if (aborting.signal.aborted) made.outcome = "delivered";`,
    seed: 55,
  },
  {
    name: "a reset is believed at one answer",
    file: "lib/events/reset_check.ts",
    from: `if (nowMs - suspicion.atMs < apartMs) return { kind: "doubtful" };`,
    to: "void apartMs;",
    seed: 21,
  },
  {
    name: "due times stand where a jumping clock put them",
    file: READERS,
    from: "await store.deliveries.clampDue(reader.subscription.id, latestDueAtMs);\n    reader.nextDueAtMs = Math.min(",
    to: "reader.nextDueAtMs = Math.max(",
    seed: 2,
  },
  {
    name: "there is no second look",
    file: "lib/events/repairs.ts",
    from: "if (nowMs < nextMs || toLedger <= checkedLedger) return 0;",
    to: "if (nowMs < Infinity) return 0;",
    seed: 75,
    kind: kinds.withheld,
  },
  {
    name: "what a node has pruned is passed over in silence",
    file: "lib/events/coverage.ts",
    from: "  const next = withGap(rest, state.scannedLedger + 1, oldestLedger - 1, ids, noticedAt);\n",
    to: "  const next = withGap(rest, oldestLedger, oldestLedger - 1, ids, noticedAt);\n",
    seed: 46,
  },
  {
    name: "one that is full misses the event that comes next",
    file: COURIER,
    from: "reader.log.readThrough = event.sequence - 1;",
    to: "reader.log.readThrough = event.sequence;",
    seed: 21,
  },
  {
    name: "a disabled key's webhooks go on",
    file: COURIER,
    from: "if (!await parts.isKeyEnabled(reader.subscription.keyId)) {",
    to: "if (await parts.isKeyEnabled(reader.subscription.keyId) === undefined) {",
    seed: 6,
  },
  {
    name: "a disabled key is let in",
    file: "lib/keys/verifier.ts",
    from: "      if (await source.changed()) {\n",
    to: "      if (await source.changed() && cache.size < 0) {\n",
    seed: 6,
  },
  {
    name: "leased tokens are not taken from the bucket",
    file: "lib/limits/leased_bucket.ts",
    from: "    units -= leased * UNITS_PER_TOKEN;\n",
    to: "",
    seed: 4,
  },
  {
    name: "leased tokens are spent again and again",
    file: "lib/limits/shared_limiter.ts",
    from: "      key.tokens -= cost;\n",
    to: "",
    seed: 10,
  },
  {
    name: "what failed is tried only once",
    file: COURIER,
    from: "      reader.retrying.delete(delivery.sequence);\n",
    to: "",
    seed: 2,
  },
  {
    name: "types are not looked at",
    file: "lib/webhooks/delivery/matching.ts",
    from: "if (matches(filter, event)) found.push(listener);",
    to: "if (matches({ ...filter, types: undefined }, event)) found.push(listener);",
    seed: 2,
  },
  {
    name: "ordered webhooks have several posts under way",
    file: READER,
    from: "isDown(reader) || reader.subscription.ordered ? 1",
    to: "isDown(reader) ? 1",
    seed: 5,
  },
  {
    name: "ordered webhooks do not wait at what failed",
    file: READER,
    from: "reader.retryingCount + reader.unsettledFailures > 0",
    to: "reader.retryingCount + reader.unsettledFailures > 1_000",
    seed: 55,
  },
  {
    name: "the next attempt is months away",
    file: "lib/webhooks/delivery/schedule.ts",
    from: "  5,\n  30,\n",
    to: "  5_000_000,\n  30,\n",
    seed: 5,
  },
  {
    name: "a failure is not kept",
    file: "lib/webhooks/delivery/settlement.ts",
    from: "if (delivery.failed !== undefined) (settlement.failed ??= []).push(delivery.failed);",
    to: 'if (delivery.failed?.state === "dead") (settlement.failed ??= []).push(delivery.failed);',
    seed: 2,
  },
  {
    name: "a webhook that is gone is delivered to",
    file: READERS,
    from: "    for (const [id, reader] of readers) if (!there.has(id) ||",
    to: '    for (const [id, reader] of readers) if (id === "" && !there.has(id) ||',
    seed: 14,
  },
  {
    name: "what is read of a gap is not kept",
    file: "lib/events/repairs.ts",
    from: "found += (await log.commit(events.filter(({ ledger }) => ledger <= toLedger), next)).added;",
    to: "found += (await log.commit(events.slice(events.length), next)).added;",
    seed: 46,
  },
  {
    name: "a lease lasts for as long as a clock was set back",
    file: "lib/store/sqlite/leases.ts",
    from: " || remainingMs > durationMs + LEASE_SLACK_MS",
    to: "",
    seed: 1,
    wasReal: true,
  },
  {
    name: "a reset is told by what one's own view holds",
    file: "lib/events/reset_check.ts",
    from: "const { latestLedger: latest } = await rpc.getHealth({ node, signal });",
    to: "const { sequence: latest } = view.confirmed;",
    seed: 229,
    kind: kinds.resetAmongMany,
    wasReal: true,
  },
  {
    name: "former secrets end by the machine's clock",
    file: "lib/gateway/gateway.ts",
    from: "createGatewayWebhooks(options, { clock: storeClock,",
    to: "createGatewayWebhooks(options, { clock,",
    seed: 21,
    wasReal: true,
  },
  {
    name: "a former secret ends at once",
    file: "lib/webhooks/secrets/rotation.ts",
    from: "previousSecret: { secret, untilMs: now() + ROTATION_MS },",
    to: "previousSecret: { secret, untilMs: now() },",
    seed: 15,
  },
  {
    name: "a webhook that was made is made again",
    file: "lib/http/intents/webhooks.ts",
    from: "webhooks.create(keyId, wanted, `wh_${intentId}`)",
    to: 'webhooks.create(keyId, wanted, intentId === "" ? intentId : undefined)',
    seed: 3106,
    kind: kinds.madeAmongKills,
  },
  {
    name: "an envelope is answered before it is kept",
    file: ONCE,
    from: "const isMine = await completed(claim, { request: task.request, result: work.result });",
    to:
      "const isMine = true;\n    void clock.wait(100).then(() => completed(claim, { request: task.request, result: work.result })).catch(() => {});",
    seed: 44,
  },
  {
    name: "an intent is dated by a clock that may be days behind",
    file: ONCE,
    from: "{ ...done, atMs: networkSeconds() * 1_000 }",
    to: "{ ...done, atMs: networkSeconds() * 0 }",
    seed: 544,
    kind: kinds.paidAgain,
    wasReal: true,
  },
  {
    name: "an envelope's fate is judged before its time is over",
    file: "lib/stellar/transactions/outcome.ts",
    from: "view.confirmed.closeTime > validUntil;",
    to: "view.confirmed.closeTime > validUntil - 290;",
    seed: 4,
  },
  {
    name: "one answer that does not find an envelope is enough",
    file: "lib/stellar/transactions/fate.ts",
    from: "const again = await ask((asked + 1) % nodes).catch(() => ask());",
    to: "const again = nodes + asked < 0 ? await ask() : answer;",
    seed: 10811,
    kind: kinds.paidAmongLies,
  },
  {
    name: "an envelope ends by the machine's clock",
    file: "lib/stellar/transactions/prepare.ts",
    from: "const validUntil = parts.view.networkSeconds() + VALID_FOR_SECONDS;",
    to: "const validUntil = Math.floor(Date.now() / 1_000) + VALID_FOR_SECONDS;",
    seed: 4,
  },
  {
    name: "the nodes' word on the time is not waited for",
    file: "lib/stellar/transactions/prepare.ts",
    from: "if (!await parts.view.whenTimeCertain()) throw timeInDoubt();",
    to: "void timeInDoubt;",
    seed: 38832,
    kind: kinds.paidByClock,
    wasReal: true,
  },
  {
    name: "a second look waits for a time that a wrong clock said",
    file: "lib/events/repairs.ts",
    from: "const marks = secondLook.marks.filter((mark) => mark.seconds <= seconds);",
    to: "const { marks } = secondLook;",
    seed: 1247,
    kind: kinds.withheldByClock,
    wasReal: true,
  },
  {
    name: "a second look comes by the machine's clock",
    file: "lib/events/watcher.ts",
    from: "secondLook.look({ seconds: view.confirmed.closeTime, lastNode }, signal);",
    to: "secondLook.look({ seconds: Math.floor(clock.now() / 1_000), lastNode }, signal);",
    seed: 311,
    kind: kinds.withheldByClock,
    wasReal: true,
  },
  {
    name: "what a node has forgotten is told by a time that a wrong clock said",
    file: "lib/stellar/transactions/fate.ts",
    from: "  if (sinceLedger !== undefined) return answer.oldestLedger > sinceLedger + 1;\n",
    to: "",
    seed: 100_281,
    kind: kinds.paidAndForgotten,
    wasReal: true,
  },
  {
    name: "how old a verified key is goes by the wall clock",
    file: "lib/gateway/gateway.ts",
    from: "createKeyVerifier({ source: keys, clock: storeClock,",
    to: "createKeyVerifier({ source: keys, clock: { ...storeClock, monotonicMs: storeClock.now },",
    seed: 1764,
    kind: kinds.disabledByClock,
    wasReal: true,
  },
  {
    name: "what is kept of failures is taken for known while it is read again",
    file: "lib/webhooks/delivery/reader.ts",
    from: "  return keptChanges === keptLearnt;\n",
    to: "  return keptChanges >= keptLearnt;\n",
    seed: 400_437,
    kind: kinds.orderedAmongFaults,
    wasReal: true,
  },
];
