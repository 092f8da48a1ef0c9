// needs: neutral
import fc from "fast-check";
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { operation as operationSchema } from "../../../lib/escrow/operations/operations.ts";
import {
  type CheckRequest,
  checkRequest,
  createPaymentChecker,
  type PaymentVerdict,
  REFUSAL_REASONS,
} from "../../../lib/escrow/reads/payment_check.ts";
import { BALANCES, CAPS, CARDS, drawCards, type DrawnCards, REGISTERED } from "./drawn_cards.ts";
import { forTier, longOnly } from "../../tier.ts";

/** FUZZ_SEED: of a run with a seed of its own that is to be repeated. */
const FRESH_SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);

/** In fewer cases time passes faster, so that policies end on the way. */
const CASES = forTier({ test: 130, all: 400 });
const SECONDS_A_STEP = forTier({ test: 3, all: 1 });

const near = [...CAPS, ...BALANCES].flatMap((value) => [value, value + 1n]).filter((value) => value > 0n);

const asking = fc.record({
  card: fc.nat({ max: CARDS }),
  gateway: fc.nat({ max: 1 }),
  names: fc.constantFrom("nobody", "nobody", "the registered", "any"),
  agent: fc.nat({ max: 3 }),
  merchant: fc.constantFrom(0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6),
  namesMerchant: fc.integer({ min: 0, max: 3 }).map((n) => n > 0),
  /** A number, or the asset of the card's policy. */
  asset: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, 1, 2, 3),
  amount: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(1n, 2n, 10n) },
    { weight: 4, arbitrary: fc.constantFrom(...near) },
    fc.bigInt(1n, (1n << 127n) - 1n),
  ),
  passes: fc.constantFrom(0, 0, 0, 0, 1),
});
type Asking = typeof asking extends fc.Arbitrary<infer T> ? T : never;

/** Asks for a check, and for the payment itself; answers what each said. Undefined for what is refused for its form. */
async function bothAnswers(drawn: DrawnCards, { card, gateway, names, ...asked }: Asking) {
  const { cards, agents, assets, merchants, gateways, hashOf } = drawn;
  const registered = cards[card]!.policy?.agent;
  const agent = names === "any" ? agents[asked.agent] : names === "the registered" ? registered : undefined;
  const merchant = merchants[asked.merchant]!;
  const asset = assets[asked.asset ?? assets.indexOf(cards[card]!.policy?.asset ?? assets[0]!)]!;
  const payment = { deviceHash: hashOf(card), asset, amount: asked.amount.toString() };
  const request: CheckRequest = { ...payment, agent, ...(asked.namesMerchant ? { merchant } : {}) };
  const operation = { ...payment, kind: "authorize" as const, merchant };
  const source = agent ?? registered ?? drawn.sandbox.agent.publicKey();
  const hasForm = operationSchema.safeParse(operation).success;
  // A contract is neither a merchant nor a payer here. A check without a merchant cannot refuse one.
  if (asked.namesMerchant && !agent?.startsWith("C")) assert.equal(checkRequest.safeParse(request).success, hasForm);
  if (!hasForm || agent?.startsWith("C")) return undefined;

  const { escrow } = gateways[gateway]!;
  const verdict = await escrow.payments.check(request);
  if (source.startsWith("C")) return { request, verdict, source, prepared: "no account" };
  const prepared = await escrow.transactions.prepare({ source, operation }).then(
    () => "ok",
    (error) => {
      assert.ok(error instanceof GatewayError && error.status < 500, String(error));
      return `${error.reason ?? error.code}: ${error.message}`;
    },
  );
  return { request, verdict, source, prepared };
}

/** The check's answer if the registry knew the card: only the check reads the registry, the escrow contract does not. */
function checkAsIfRegistered(
  { sandbox, cards, assets, short, nobody }: DrawnCards,
  { card, gateway }: Asking,
  request: CheckRequest,
): Promise<PaymentVerdict> {
  const { sequence, closeTime } = sandbox.network.latestLedger();
  const checker = createPaymentChecker({
    card: () => ({ ledger: sequence, value: { ...cards[card]!, device: REGISTERED } }),
    ledgerTime: () => closeTime,
    assets: { has: (asset) => gateway === 0 || asset === assets[0] },
    contracts: sandbox.contracts,
    isFrozen: () => Promise.resolve(false),
    accountExists: (address) => Promise.resolve(address !== nobody),
    spendable: (_deviceHash, _asset, { value: { balance } }) => balance,
    payable: {
      ready: () => Promise.resolve(),
      cached({ asset, amount }) {
        const held = short.get(asset);
        const reason = held === undefined ? "asset_frozen" : "escrow_unfunded";
        const isPaid = !short.has(asset) || (held !== undefined && BigInt(amount) <= held);
        return Promise.resolve(isPaid ? {} : { refused: { reason } });
      },
    },
  });
  return checker.check(request);
}

const wordOf = (verdict: PaymentVerdict) => verdict.ok ? "ok" : verdict.reason;

/** Asks so many times, by choices of this seed; answers how often each answer came up. */
async function agree(seed: number, numRuns: number): Promise<Map<string, number>> {
  const drawn = await drawCards(seed);
  const { sandbox, gateways } = drawn;
  const seen = new Map<string, number>();
  const count = (what: string) => void seen.set(what, (seen.get(what) ?? 0) + 1);

  const property = fc.asyncProperty(asking, async (asked) => {
    if (asked.passes > 0) {
      sandbox.pass(asked.passes * SECONDS_A_STEP);
      sandbox.network.closeLedger();
      for (const { rpc } of gateways) await rpc.getHealth();
    }
    const answers = await bothAnswers(drawn, asked);
    if (answers === undefined) return count("no form");
    const { request, source, prepared } = answers;
    let { verdict } = answers;
    count(wordOf(verdict));
    if (wordOf(verdict) === "device_not_found") {
      verdict = await checkAsIfRegistered(drawn, asked, request);
      if (prepared === "ok") count("device_not_found, and is paid");
    }
    assert.equal(prepared === "ok", verdict.ok, `${wordOf(verdict)}, and prepare of ${source} says ${prepared}`);
  });
  try {
    await fc.assert(property, { numRuns, seed, endOnFailure: true });
    return seen;
  } finally {
    await sandbox.network.stop();
  }
}

describe("a payment check and prepare agree", () => {
  test("by fixed choices, with every reason", async () => {
    const seen = await agree(20261125, CASES);
    // The validators of a sandbox freeze nothing.
    const reasons = REFUSAL_REASONS.filter((reason) => reason !== "entry_frozen");
    const all = ["ok", ...reasons, "no form", "device_not_found, and is paid"];
    assert.deepEqual([...seen.keys()].sort(), all.sort(), "a reason did not come up");
    assert.ok(seen.get("ok")! >= CASES / 15, `ok came up ${seen.get("ok")} times`);
  });

  test("by random choices", { skip: longOnly }, async () => {
    console.log(`FUZZ_SEED=${FRESH_SEED}`);
    await agree(FRESH_SEED, 100);
  });
});
