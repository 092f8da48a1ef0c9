// needs: neutral
import { xdr } from "@stellar/stellar-sdk";
import fc from "fast-check";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { checkRequest, paymentRefusal, type RefusalReason } from "../../../lib/escrow/reads/payment_check.ts";
import type { Card } from "../../../lib/escrow/reads/read_source.ts";
import { simulationEnvelope } from "../../../lib/stellar/transactions/contract_call.ts";
import { traceError } from "../../../lib/escrow/refusals/error_trace.ts";
import { type Sandbox, startSandbox } from "../sandbox.ts";
import { forTier, isLong } from "../../tier.ts";
import { i128, u64 } from "../../sandbox/sandbox_network.ts";
import { addressVal, hashVal } from "../../../lib/escrow/reads/storage_keys.ts";

const AGENT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";
const OTHER_AGENT = "GAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQTCQKRMFYYDENBWHA5DYPSABOV";
const ASSET = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";
const OTHER_ASSET = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";

const card: Card = {
  device: { owner: AGENT, agent: AGENT, status: 0, createdAt: 1n },
  policy: { agent: AGENT, maxAmount: 100n, asset: ASSET, expiresAt: 1_000n },
  balance: 60n,
};
const withPolicy = (change: Partial<NonNullable<Card["policy"]>>): Card => ({
  ...card,
  policy: { ...card.policy!, ...change },
});

describe("a payment check", () => {
  const scenarios: [string, Card, { amount?: string; asset?: string; agent?: string }, number, RefusalReason | "ok"][] =
    [
      ["passes a payment within everything", card, { amount: "60" }, 1_000, "ok"],
      ["passes the registered agent when named", card, { agent: AGENT }, 0, "ok"],
      [
        "an unknown device comes before everything",
        { ...card, device: undefined, policy: undefined, balance: 0n },
        {},
        0,
        "device_not_found",
      ],
      ["a device without an agent", { ...card, policy: undefined }, {}, 0, "agent_not_found"],
      ["another agent comes before expiry", card, { agent: OTHER_AGENT }, 2_000, "agent_mismatch"],
      ["a policy holds through its last second", card, {}, 1_000, "ok"],
      ["and no longer, before the asset is checked", card, { asset: OTHER_ASSET }, 1_001, "policy_expired"],
      ["a policy without an end never expires", withPolicy({ expiresAt: 0n }), {}, 4_000_000_000, "ok"],
      ["another asset comes before the amount", card, { asset: OTHER_ASSET, amount: "101" }, 0, "asset_mismatch"],
      ["the cap comes before the balance", card, { amount: "101" }, 0, "amount_exceeds_limit"],
      ["the cap itself is within it", { ...card, balance: 100n }, { amount: "100" }, 0, "ok"],
      ["a cap of zero is none", withPolicy({ maxAmount: 0n }), { amount: "61" }, 0, "insufficient_escrow"],
      ["the balance comes last", card, { amount: "61" }, 0, "insufficient_escrow"],
    ];
  for (const [name, held, request, nowSeconds, expected] of scenarios) {
    test(name, () => {
      const refusal = paymentRefusal(held, { asset: ASSET, amount: "1", ...request }, nowSeconds);
      assert.equal(refusal?.reason ?? "ok", expected);
    });
  }

  test("refuses invalid amounts, invalid addresses and unknown fields", () => {
    const right = { deviceHash: "AB".repeat(32), asset: ASSET, amount: "1" };
    assert.equal(checkRequest.parse(right).deviceHash, "ab".repeat(32));
    assert.equal(checkRequest.safeParse({ ...right, merchant: "nobody" }).success, false);
    assert.equal(checkRequest.safeParse({ ...right, amount: 1 }).success, false);
    assert.equal(checkRequest.safeParse({ ...right, amout: "1" }).success, false);
  });
});

describe("a payment check against the contracts themselves", () => {
  let sandbox: Sandbox;
  const hashOf = (index: number) => (index + 1).toString(16).padStart(64, "0");

  const CAPS = [0n, 1n, 10n, 1_000n];
  const BALANCES = [0n, 1n, 10n, 500n, 5_000n];
  const cards: Card[] = [];
  let startSeconds: number;

  before(async () => {
    sandbox = await startSandbox();
    startSeconds = Math.floor(sandbox.nowMs() / 1000);
    const { owner, agent, contracts, asset } = sandbox;
    const [ownerVal, agentVal] = [addressVal(owner.publicKey()), addressVal(agent.publicKey())];
    for (let i = 0; i < 16; i += 1) {
      const hash = hashVal(hashOf(i));
      sandbox.invoke(owner, contracts.deviceRegistry, "register", ownerVal, hash, agentVal);
      const balance = BALANCES[i % BALANCES.length]!;
      if (balance > 0n) {
        const args = [addressVal(asset), ownerVal, hash, i128(balance)];
        sandbox.invoke(owner, contracts.paymentEscrow, "fund_escrow", ...args);
      }
      const device = { owner: owner.publicKey(), agent: agent.publicKey(), status: 0, createdAt: 0n };
      if (i % 8 === 7) {
        cards.push({ device, policy: undefined, balance });
        continue;
      }
      const maxAmount = CAPS[i % CAPS.length]!;
      const expiresAt = i % 3 === 0 ? 0n : BigInt(startSeconds + 50 + i);
      const args = [ownerVal, hash, agentVal, i128(maxAmount), addressVal(asset), u64(expiresAt)];
      sandbox.invoke(owner, contracts.agentRegistry, "register_agent", ...args);
      cards.push({ device, policy: { agent: agent.publicKey(), maxAmount, asset, expiresAt }, balance });
    }
  });
  after(() => sandbox.network.stop());

  /** The answer of payment_escrow.authorize, on a snapshot. */
  function contractVerdict(hash: string, agent: string, asset: string, amount: bigint): string {
    const args = [addressVal(agent), hashVal(hash), addressVal(agent), addressVal(asset), i128(amount), u64(1n)];
    const call = { contract: sandbox.contracts.paymentEscrow, function: "authorize", args };
    const envelope = simulationEnvelope(call, agent, sandbox.network.passphrase);
    const outcome = sandbox.network.simulate(xdr.decodeBytes(envelope, "base64"), {});
    if (outcome.ok) return "ok";
    const events = outcome.diagnosticEventsXdr.map((event) => xdr.encodeBytes(event, "base64"));
    const { error, raisedBy } = traceError(events, outcome.error)!;
    assert.equal(raisedBy, sandbox.contracts.paymentEscrow);
    return { "#2": "InsufficientBalance", "#3": "AgentNotAuthorized" }[error.code] ?? error.code;
  }

  /** Without the reasons of claims: to authorise moves no token. */
  const CONTRACT_SAYS: Partial<Record<RefusalReason | "ok", string>> = {
    ok: "ok",
    // payment_escrow.authorize does not ask the device registry; every card here is registered.
    device_not_found: "",
    agent_not_found: "AgentNotAuthorized",
    agent_mismatch: "AgentNotAuthorized",
    policy_expired: "AgentNotAuthorized",
    asset_mismatch: "AgentNotAuthorized",
    amount_exceeds_limit: "AgentNotAuthorized",
    insufficient_escrow: "InsufficientBalance",
    // Of the network's validators, not of the contracts.
    entry_frozen: "",
  };

  test("agrees with check_payment and authorize in hundreds of cases", () => {
    const numRuns = forTier({ test: 125, all: 500 });
    const seen = new Map<string, number>();
    let cases = 0;
    const { agent, merchant, asset, contracts } = sandbox;
    const near = (values: bigint[]) =>
      fc.constantFrom(...values.flatMap((value) => [value, value + 1n]).filter((v) => v > 0n));
    fc.assert(
      fc.property(
        fc.nat({ max: cards.length - 1 }),
        fc.oneof({ weight: 3, arbitrary: fc.constant(agent.publicKey()) }, fc.constant(merchant.publicKey())),
        fc.oneof({ weight: 3, arbitrary: fc.constant(asset) }, fc.constant(contracts.agentRegistry)),
        fc.oneof(near(CAPS), near(BALANCES), fc.bigInt(1n, (1n << 127n) - 1n)),
        (index, asAgent, inAsset, amount) => {
          const nowSeconds = Math.floor(sandbox.nowMs() / 1000);
          const request = { agent: asAgent, asset: inAsset, amount: amount.toString() };
          const said = paymentRefusal(cards[index]!, request, nowSeconds)?.reason ?? "ok";
          seen.set(said, (seen.get(said) ?? 0) + 1);
          assert.equal(contractVerdict(hashOf(index), asAgent, inAsset, amount), CONTRACT_SAYS[said], said);
          // A hundred seconds over the first four fifths of the cases: every policy with an end ends on the way.
          if (++cases % (numRuns / 125) === 0 && nowSeconds < startSeconds + 100) {
            sandbox.pass(1);
            // A simulation sees the time at which the latest ledger closed.
            sandbox.network.closeLedger();
          }
        },
      ),
      // The short form has the same cases each time: in so few a reason might not come up.
      { numRuns, endOnFailure: true, ...(isLong ? {} : { seed: 20261122 }) },
    );
    const reasons = Object.entries(CONTRACT_SAYS).filter(([, error]) => error !== "").map(([reason]) => reason);
    assert.deepEqual([...seen.keys()].sort(), reasons.sort(), "a reason did not come up");
  });

  test("takes the ledger's time, not the local clock's", async () => {
    const gateway = sandbox.gateway();
    const index = cards.findIndex(({ policy }) => (policy?.expiresAt ?? 0n) > 0n);
    const request = { deviceHash: hashOf(index), asset: sandbox.asset, amount: "1" };
    sandbox.network.closeLedger();
    const expected = paymentRefusal(cards[index]!, request, sandbox.network.latestLedger().closeTime);
    assert.equal(expected?.reason, "policy_expired");
    assert.deepEqual(await gateway.escrow.payments.check(request), { ok: false, reason: "policy_expired" });
  });
});
