// needs: neutral
import { Account, Asset, Keypair, Networks, Operation, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CARD_LIFE as TRIGGERED } from "../../../cli/card_life.ts";
import { signEnvelope } from "../../../lib/http/pages/console/signing.js";
import { CARD_LIFE } from "../../../lib/http/pages/console/card_life.js";
import { asCurl, hmac, signatureIn } from "../../../lib/http/pages/console/attempt_view.js";
import { CONSOLE_FILES } from "../../../lib/http/pages/console/files.ts";
import { grouped, inUnits, shortId, span } from "../../../lib/http/pages/console/format.js";
import { failingFirst, stuckMoney, troublesOf, unknownSince } from "../../../lib/http/pages/console/health.js";
import { firstLost, merchantsWaiting, pressing, withoutClaim } from "../../../lib/http/pages/console/pending.js";
import { WELL_STATUS } from "../../well_status.ts";
import { decodeKey, isAddress, SEED } from "../../../lib/http/pages/assets/strkey.js";
import { signatureHeaders, signingSecret } from "../../../lib/webhooks/delivery/signature.ts";

const FOLDER = fileURLToPath(new URL("../../../lib/http/pages/console", import.meta.url).href);

test("the gateway serves every file of the console, and the page loads all scripts of its first screen at once", async () => {
  const found = readdirSync(FOLDER, { recursive: true }).map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => /\.(js|css)$/.test(name)).map((name) => `/console/${name}`);
  const served = CONSOLE_FILES.map(({ path }) => path);
  assert.deepEqual(served.toSorted(), ["/console", ...found].toSorted());
  const page = String(await CONSOLE_FILES.find(({ path }) => path === "/console")!.read());
  const text = async (path: string) => String(await CONSOLE_FILES.find((file) => file.path === path)!.read());
  const needed = ["/console/main.js"];
  for (const path of needed) {
    assert.ok(page.includes(`href="${path.slice(1)}"`) || page.includes(`src="${path.slice(1)}"`), path);
    const imported = [...(await text(path)).matchAll(/^import .* from "\.\/([\w/]+\.js)";$/gm)].map(([, to]) =>
      `/console/${to}`
    );
    needed.push(...imported.filter((one) => !needed.includes(one)));
  }
  assert.equal(needed.length, page.split('.js"').length - 1, "and nothing else");
});

test("the console's page has no inline script or style, and its scripts never parse text as HTML", async () => {
  for (const file of CONSOLE_FILES) {
    const text = String(await file.read());
    if (file.path === "/console") assert.doesNotMatch(text, /<style|style=|\son\w+=|<script(?![^>]*src=)/);
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|localStorage|sessionStorage/,
    );
  }
});

test("the console plays the same card's life as gateway trigger", () => {
  const sandbox = {
    asset: "C",
    accounts: { owner: { address: "O" }, agent: { address: "A" }, merchant: { address: "M" } },
    deviceHash: "ab",
    // deno-lint-ignore no-explicit-any
  } as any;
  const shown = (steps: typeof TRIGGERED | typeof CARD_LIFE) =>
    steps.map(({ event, by, operation }) => ({ event, by, operation: operation(sandbox) }));
  assert.deepEqual(shown(CARD_LIFE), shown(TRIGGERED));
});

test("the console shows amounts in units without losing a digit", () => {
  const cases: [string, number, string][] = [
    ["0", 7, "0"],
    ["1", 7, "0.0000001"],
    ["12500000", 7, "1.25"],
    ["10000000", 7, "1"],
    ["170141183460469231731687303715884105727", 7, "17 014 118 346 046 923 173 168 730 371 588.4105727"],
    ["1234567", 0, "1 234 567"],
    ["5", 2, "0.05"],
    ["-12500000", 7, "-1.25"],
    ["-5", 2, "-0.05"],
    ["1", 38, `0.${"0".repeat(37)}1`],
    // A token may state any 32-bit number of decimals.
    ["-1234", 39, "-1 234 × 10^-39"],
    ["1", 4_294_967_295, "1 × 10^-4294967295"],
  ];
  for (const [amount, decimals, written] of cases) {
    assert.equal(inUnits(amount, decimals).replaceAll("\u202f", " "), written);
  }
  assert.equal(grouped(999), "999");
  assert.equal(shortId("ab".repeat(32)), "ababab…ababab");
});

test("the console shows a span of time in its two largest units", () => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [59, "59 s"],
    [60, "1 min"],
    [3_660, "1 h 1 min"],
    [86_400, "1 d"],
    [90_000, "1 d 1 h"],
    [20 * 86_400 + 7_200, "20 d"],
    [-5, "0 s"],
  ];
  for (const [seconds, shown] of cases) assert.equal(span(seconds), shown);
});

test("the console decodes the SDK's keys and addresses, and rejects an address with a changed letter", () => {
  for (let n = 0; n < 20; n++) {
    const pair = Keypair.random();
    assert.deepEqual(decodeKey(SEED, pair.secret()), new Uint8Array(pair.rawSecretKey()));
    assert.ok(isAddress(pair.publicKey()));
    assert.ok(!isAddress(pair.secret()));
    const changed = pair.publicKey().replace(/.$/, (last) => last === "A" ? "B" : "A");
    assert.ok(!isAddress(changed), changed);
  }
  assert.ok(isAddress(Asset.native().contractId(Networks.TESTNET)));
});

test("the console signs an envelope like the SDK, and refuses one whose hash differs from the gateway's", async () => {
  const pair = Keypair.random();
  const transaction = new TransactionBuilder(new Account(pair.publicKey(), "41"), {
    fee: "100",
    networkPassphrase: Networks.TESTNET,
    timebounds: { minTime: 0, maxTime: 2_000_000_000 },
  }).addOperation(Operation.bumpSequence({ bumpTo: "7" })).build();
  const prepared = {
    xdr: transaction.toXDR(),
    hash: transaction.hash().reduce((text: string, byte: number) => text + byte.toString(16).padStart(2, "0"), ""),
    networkPassphrase: Networks.TESTNET as string,
  };
  const signed = await signEnvelope(prepared, pair.secret());
  transaction.sign(pair);
  assert.equal(signed, transaction.toXDR());
  await assert.rejects(
    signEnvelope({ ...prepared, hash: "00".repeat(32) }, pair.secret()),
    /the page does not sign it/,
  );
  await assert.rejects(signEnvelope({ ...prepared, xdr: signed }, pair.secret()), /no unsigned transaction/);
  await assert.rejects(signEnvelope(prepared, pair.publicKey()), /no secret key/);
});

test("the console computes the gateway's webhook signature, and quotes any request for curl", async () => {
  const secret = `whsec_${btoa("0123456789abcdef0123456789abcdef")}`;
  const body = '{"text":"it\'s"}';
  const headers = signatureHeaders({ secrets: [signingSecret(secret)], eventId: "1", body, nowMs: 1_700_000_000_999 });
  const { t, v1 } = signatureIn(headers["X-Service-Signature"]!);
  assert.deepEqual(v1, [await hmac(secret, `${t}.${body}`)]);
  assert.equal(
    asCurl({ url: "https://a.example/x?y='z'", headers: { "a-b": "c" }, body }),
    `curl -X POST 'https://a.example/x?y='\\''z'\\''' \\\n  -H 'a-b: c' \\\n  --data-raw '{"text":"it'\\''s"}'`,
  );
});

test("the console lists merchants with a payment after their last claim, the longest wait first", () => {
  const event = (type: string, merchant: string, second: number) => ({
    id: `${second}`,
    type,
    merchant,
    asset: "C",
    contractId: "C",
    ledger: second,
    ledgerClosedAt: `2026-01-01T00:00:0${second}Z`,
    txHash: "t",
  });
  const waiting = merchantsWaiting([
    event("payment.authorized", "A", 9),
    event("payment.claimed", "B", 8),
    event("payment.authorized", "C", 7),
    event("payment.authorized", "B", 6),
    event("payment.authorized", "C", 5),
    event("payment.claimed", "A", 4),
    event("payment.authorized", "A", 3),
  ]);
  assert.deepEqual(waiting.map(({ merchant, since }) => [merchant, since.slice(17, 19)]), [["C", "05"], ["A", "09"]]);
});

test("the console marks a payment as doubt in the last quarter of its life, and as bad in the last sixteenth", () => {
  const now = Date.now() / 1_000;
  const living = (hoursLeft: number, ofHours: number) => ({
    deviceHash: "",
    amount: "1",
    authorizedAt: now + (hoursLeft - ofHours) * 3_600,
    expiresAt: now + hoursLeft * 3_600,
  });
  const first = (...payments: ReturnType<typeof living>[]) => pressing(firstLost({ pending: "1", payments }));
  assert.deepEqual(
    [first(living(30, 100)), first(living(30, 100), living(20, 100)), first(living(6, 100)), first(living(-1, 100))],
    ["good", "doubt", "bad", "bad"],
  );
  const undated = { deviceHash: "", amount: "1", authorizedAt: now, expiresAt: null };
  assert.equal(pressing(firstLost({ pending: "1", payments: [undated] })), "good", "the end is unknown");
  assert.equal(pressing(firstLost({ pending: "1", payments: null })), "good", "the gateway cannot list them");
});

// deno-lint-ignore no-explicit-any -- its forms are wider than those of one answer
const WELL: any = WELL_STATUS;

const TROUBLES: [what: string, change: Record<string, unknown>, tone: "bad" | "doubt", words: RegExp][] = [
  ["a store's problem", { troubles: ["the disk is full"] }, "bad", /the disk is full/],
  ["a missing ledger", { ledger: { ...WELL.ledger, sequence: 0 } }, "bad", /No RPC node has answered/],
  ["an old ledger", { ledger: { ...WELL.ledger, lagSeconds: 61 } }, "bad", /newest ledger is 1 min old/],
  ["a wrong clock", { ledger: { ...WELL.ledger, clockDisagreesBySeconds: -90 } }, "doubt", /clock.*differ by 1 min/],
  [
    "a failure of the only node",
    { nodes: [{ ...WELL.nodes[0], condition: "failing", problem: "HTTP 503" }] },
    "bad",
    /one is failing: HTTP 503/,
  ],
  [
    "a lag of one of two nodes",
    { nodes: [...WELL.nodes, { ...WELL.nodes[0], condition: "lagging" }] },
    "doubt",
    /is lagging/,
  ],
  [
    "a wrong contract",
    { contracts: [{ ...WELL.contracts[0], problem: "is no escrow" }] },
    "bad",
    /payment_escrow contract: is no/,
  ],
  [
    "a gap in the history",
    { history: { ...WELL.history, gaps: [{ fromLedger: 1, toLedger: 2 }] } },
    "doubt",
    /Ledgers 1 to 2 are a gap/,
  ],
  ["undecoded events", { history: { ...WELL.history, undecodedEvents: 2 } }, "doubt", /2 events cannot be decoded/],
  ["slow reads", { reads: { device: "calls" } }, "doubt", /Reads of device go the slow way/],
];
for (const [what, change, tone, words] of TROUBLES) {
  test(`the console shows ${what} as ${tone}`, () => {
    assert.deepEqual(troublesOf(WELL, false), []);
    const found = troublesOf({ ...WELL, ...change }, false);
    assert.equal(found.length, 1);
    assert.equal(found[0]!.tone, tone);
    assert.match(found[0]!.text, words);
  });
}

test("the console accepts an old ledger in the sandbox, where a ledger may close only after a transaction", () => {
  assert.deepEqual(troublesOf({ ...WELL, ledger: { ...WELL.ledger, lagSeconds: 600 } }, true), []);
});

test("the console lists unaccepted assets, payments that expire soon and late deliveries as problems of money", () => {
  assert.deepEqual(stuckMoney(WELL), []);
  const bypassMovements = { count: 2, last: { type: "escrow.funded", ledger: 12 } };
  const deliveries = { ...WELL.deliveries, pending: 3, oldestSeconds: 3_601 };
  const expiring = { payments: 2, merchants: 1, firstAt: Date.now() / 1_000 + 7_230, complete: true };
  const found = stuckMoney({ bypassMovements, deliveries, expiring });
  assert.deepEqual(found.map(({ tone }) => tone), ["bad", "doubt", "doubt"]);
  assert.match(found[1]!.text, /2 payments are lost to 1 merchant without a claim, the first within 2 h\./);
  assert.match(found[0]!.text, /2 movements were in an unaccepted asset, the last a escrow\.funded in ledger 12/);
  assert.match(found[2]!.text, /3 webhook deliveries wait, the oldest for 1 h/);
  const [unknown] = stuckMoney({ ...WELL, expiring: { payments: 0, merchants: 0, firstAt: null, complete: false } });
  assert.match(unknown!.text, /More payments may expire soon/);
  const [lost] = stuckMoney({ ...WELL, expired: { payments: 2, last: { expiredAt: "2026-01-01T17:05:09Z" } } });
  assert.deepEqual([lost!.tone, lost!.text.includes("2 payments expired unclaimed")], ["bad", true]);
  assert.deepEqual(withoutClaim(0), []);
  assert.match(withoutClaim(2)[0]!.text, /2 merchants are no longer pending, and the gateway saw no claim/);
});

test("the console shows payments as unknown while the history is behind, before the first ledger, and while ledgers lag", () => {
  const lagging = { ...WELL.ledger, closedAt: "2026-01-01T02:44:59Z", lagSeconds: 61 };
  const cases: [change: object, isSandbox: boolean, since: string | undefined][] = [
    [{}, false, undefined],
    [{ ledger: { ...WELL.ledger, sequence: 0, closedAt: null, lagSeconds: null } }, true, ""],
    [{ history: { ...WELL.history, unknownSince: "2026-01-01T17:05:09Z" } }, true, " since 2026-01-01 17:05:09 UTC"],
    [{ ledger: lagging }, false, " since 2026-01-01 02:44:59 UTC"],
    [{ ledger: lagging }, true, undefined],
  ];
  for (const [change, isSandbox, since] of cases) {
    assert.equal(unknownSince({ ...WELL, ...change }, isSandbox), since);
  }
  const lately = new Date(Date.now() - 3_600_000).toISOString();
  const history = { ...WELL.history, unknownSince: lately };
  assert.equal(unknownSince({ ...WELL, history }, false), ` since ${lately.slice(11, 16)} UTC`);
});

test("the console lists failing webhooks first, then webhooks with missed events, then the newest", () => {
  const webhook = (name: string, fields: Record<string, unknown>) =>
    ({ name, failingSince: null, retrying: 0, rejected: 0, dead: 0, createdAt: "2026-01-01T00:00:00Z", ...fields }) as {
      name: string;
      failingSince: string | null;
      retrying: number;
      rejected: number;
      dead: number;
      createdAt: string;
    };
  const sorted = failingFirst([
    webhook("old", {}),
    webhook("new", { createdAt: "2026-02-01T00:00:00Z" }),
    webhook("retrying", { retrying: 1 }),
    webhook("dead", { dead: 1 }),
    webhook("down", { failingSince: "2026-01-01T00:00:00Z" }),
  ]);
  assert.deepEqual(sorted.map(({ name }) => name), ["down", "dead", "retrying", "new", "old"]);
});
