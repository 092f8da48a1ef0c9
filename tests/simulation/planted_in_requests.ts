import * as kinds from "./kinds.ts";

const ONCE = "lib/http/intents/once.ts";

/** Bugs of what is answered to requests: keys, limits, payments and intents. */
export const IN_REQUESTS = [
  {
    name: "a disabled key is let in",
    file: "lib/keys/verifier.ts",
    from: "      if (await source.changed()) {\n",
    to: "      if (await source.changed() && cache.size < 0) {\n",
    seed: 5,
  },
  {
    name: "leased tokens are not taken from the bucket",
    file: "lib/limits/leased_bucket.ts",
    from: "    units -= leased * UNITS_PER_TOKEN;\n",
    to: "",
    seed: 43,
  },
  {
    name: "leased tokens are spent again and again",
    file: "lib/limits/shared_limiter.ts",
    from: "      key.tokens -= cost;\n",
    to: "",
    seed: 43,
  },
  {
    name: "a webhook that was made is made again",
    file: "lib/http/intents/webhooks.ts",
    from: "webhooks.create(keyId, wanted, claim)",
    to: 'webhooks.create(keyId, wanted, claim.id === "" ? claim : undefined)',
    seed: 659,
    kind: kinds.madeAmongFaults,
  },
  {
    name: "an envelope is answered before it is kept",
    file: ONCE,
    from: "const isMine = await completed(claim, { request: task.request, result: work.result });",
    to:
      "const isMine = true;\n    void clock.wait(100).then(() => completed(claim, { request: task.request, result: work.result })).catch(() => {});",
    seed: 1825,
    kind: kinds.paidAmongDeaths,
  },
  {
    name: "an envelope's fate is judged before its time is over",
    file: "lib/stellar/transactions/outcome.ts",
    from: "view.confirmed.closeTime > validUntil;",
    to: "view.confirmed.closeTime > validUntil - 290;",
    seed: 13,
  },
  {
    name: "what was turned down is forgotten once another is in its place",
    file: "lib/http/intents/transactions.ts",
    from: "kept({ ...made, inPlaceOf: refused })",
    to: "kept(made)",
    seed: 440,
    kind: kinds.paidAmongRefusals,
    wasReal: true,
  },
  {
    name: "one answer that does not find an envelope is enough",
    file: "lib/stellar/transactions/fate.ts",
    from: "const again = await lookup.again(answer, (one) => mayHaveForgotten(one, envelope));",
    to: "const again = answer;",
    seed: 24157,
    kind: kinds.paidAmongLies,
  },
  {
    name: "an envelope ends by the machine's clock",
    file: "lib/stellar/transactions/prepare.ts",
    from: "const validUntil = await parts.ledgers.certainTime() + VALID_FOR_SECONDS;",
    to: "const validUntil = Math.floor(Date.now() / 1_000) + VALID_FOR_SECONDS;",
    seed: 4,
  },
  {
    name: "the nodes' word on the time is not waited for",
    file: "lib/stellar/ledger/waiting.ts",
    from: "      if (view.timeDoubt() === undefined) return view.networkSeconds();\n      return await",
    to: "      if (view.timeDoubt() !== null) return view.networkSeconds();\n      return await",
    seed: 539,
    kind: kinds.paidByClock,
    wasReal: true,
  },
  {
    name: "how old a verified key is goes by the wall clock",
    file: "lib/gateway/gateway.ts",
    from: "createKeyVerifier({ source: keys, clock: storeClock,",
    to: "createKeyVerifier({ source: keys, clock: { ...storeClock, monotonicMs: storeClock.now },",
    seed: 21036,
    kind: kinds.disabledByClock,
    wasReal: true,
  },
  {
    name: "a page backwards begins one event too late",
    file: "lib/events/log_reader.ts",
    from: "lastRead!.sequence - 1",
    to: "lastRead!.sequence - 2",
    seed: 28,
  },
  {
    name: "who comes back when it was told to is refused",
    file: "lib/limits/shared_limiter.ts",
    from: "Math.max(1, refusedUntil - nowMs, refillMs)",
    to: "Math.max(1, refusedUntil - nowMs)",
    seed: 28,
  },
];
