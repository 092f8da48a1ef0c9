import { Asset, Keypair, nativeToScVal, Operation as Classic } from "@stellar/stellar-sdk";
import fc from "fast-check";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GatewayError } from "../../../lib/errors.ts";
import { type CheckRequest, REFUSAL_REASONS } from "../../../lib/escrow/reads/payment_check.ts";
import { addressVal, hashVal } from "../../../lib/escrow/reads/storage_keys.ts";
import { applyNow } from "../../sandbox/past_the_gateway.ts";
import { type GatewayView, type Sandbox, startSandbox } from "../sandbox.ts";

const CARDS = 40;
const CAPS = [0n, 0n, 10n, 1_000n];
const BALANCES = [0n, 10n, 500n, 5_000n, 5_000n];
const hashOf = (index: number) => (index + 1).toString(16).padStart(64, "0");
const i128 = (value: bigint) => nativeToScVal(value, { type: "i128" });
const u64 = (value: bigint) => nativeToScVal(value, { type: "u64" });

let sandbox: Sandbox;
/** One that deals in everything, and one that deals in lumens alone. */
let gateways: GatewayView[];
/** Accounts that are there, one that is not, and contracts. */
let agents: string[];
let assets: string[];
/** The agent of each card, undefined without a policy. */
const agentOf: (string | undefined)[] = [];

before(async () => {
  sandbox = await startSandbox();
  const { owner, agent, contracts, network, asset } = sandbox;
  gateways = [sandbox.gateway(), sandbox.gateway({ assets: ["native"] })];
  const stranger = await sandbox.account();
  agents = [
    agent.publicKey(),
    agent.publicKey(),
    stranger.publicKey(),
    Keypair.random().publicKey(),
    contracts.deviceRegistry,
  ];
  const other = new Asset("OTHER", owner.publicKey());
  applyNow(network, owner, Classic.createStellarAssetContract({ asset: other }));
  assets = [asset, asset, other.contractId(network.passphrase)];
  // Drawn once, of a seed: what the cards are is part of what is tried.
  const [drawn] = fc.sample(
    fc.array(
      fc.record({
        isKnown: fc.boolean(),
        hasPolicy: fc.integer({ min: 0, max: 6 }).map((n) => n > 0),
        agent: fc.constantFrom(agents[0]!, ...agents),
        asset: fc.constantFrom(...assets),
        cap: fc.constantFrom(...CAPS),
        balance: fc.constantFrom(...BALANCES),
        endsIn: fc.constantFrom(0, 0, 30, 60),
      }),
      { minLength: CARDS, maxLength: CARDS },
    ),
    { numRuns: 1, seed: 20261122 },
  );
  const self = addressVal(owner.publicKey());
  const startSeconds = Math.floor(sandbox.nowMs() / 1_000);
  for (const [index, card] of drawn!.entries()) {
    const hash = hashVal(hashOf(index));
    const token = addressVal(card.asset);
    sandbox.invoke(owner, contracts.deviceRegistry, "register", self, hash, self);
    if (card.balance > 0n) {
      sandbox.invoke(owner, contracts.paymentEscrow, "fund_escrow", token, self, hash, i128(card.balance));
    }
    // The escrow keeps what a card has when nobody knows it any more.
    if (!card.isKnown && index % 3 === 0) sandbox.invoke(owner, contracts.deviceRegistry, "revoke", self, hash);
    agentOf.push(card.hasPolicy ? card.agent : undefined);
    if (!card.hasPolicy) continue;
    const end = u64(card.endsIn === 0 ? 0n : BigInt(startSeconds + card.endsIn));
    const policy = [addressVal(card.agent), i128(card.cap), token, end];
    sandbox.invoke(owner, contracts.agentRegistry, "register_agent", self, hash, ...policy);
  }
});
after(() => sandbox.network.stop());

describe("a payment check and prepare", () => {
  test("agree: what is called ok can be prepared, and what is not is refused", async () => {
    const seen = new Map<string, number>();
    const near = [...CAPS, ...BALANCES].flatMap((value) => [value, value + 1n]).filter((value) => value > 0n);
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          card: fc.nat({ max: CARDS }),
          gateway: fc.nat({ max: 1 }),
          names: fc.constantFrom("nobody", "nobody", "the registered", "any"),
          agent: fc.nat({ max: 3 }),
          asset: fc.nat({ max: 2 }),
          amount: fc.oneof(
            { weight: 4, arbitrary: fc.constantFrom(1n, 2n, 10n) },
            { weight: 4, arbitrary: fc.constantFrom(...near) },
            fc.bigInt(1n, (1n << 127n) - 1n),
          ),
          passes: fc.constantFrom(0, 0, 0, 0, 1),
        }),
        async ({ card, gateway, names, agent, asset, amount, passes }) => {
          if (passes > 0) {
            sandbox.pass(passes);
            sandbox.network.closeLedger();
            for (const { rpc } of gateways) await rpc.getHealth();
          }
          const registered = agentOf[card];
          const named = names === "any" ? agents[agent] : names === "the registered" ? registered : undefined;
          // A contract is no agent that could be asked for: the request is refused for its form.
          if (named?.startsWith("C")) return;
          const request: CheckRequest = {
            deviceHash: hashOf(card),
            asset: assets[asset]!,
            amount: amount.toString(),
            agent: named,
          };
          const { escrow } = gateways[gateway]!;
          const verdict = await escrow.payments.check(request);
          const said = verdict.ok ? "ok" : verdict.reason;
          seen.set(said, (seen.get(said) ?? 0) + 1);
          const source = named ?? registered ?? sandbox.agent.publicKey();
          if (source.startsWith("C")) return assert.equal(verdict.ok, false);
          const { deviceHash } = request;
          const merchant = sandbox.merchant.publicKey();
          const operation = {
            kind: "authorize" as const,
            deviceHash,
            merchant,
            asset: request.asset,
            amount: request.amount,
          };
          const prepared = await escrow.transactions.prepare({ source, operation }).then(
            () => "ok",
            (error) => {
              assert.ok(error instanceof GatewayError && error.status < 500, String(error));
              return `${error.reason ?? error.code}: ${error.message}`;
            },
          );
          // The escrow pays for a card that the device registry does not know; the check is the stricter one.
          if (said === "device_not_found") return;
          assert.equal(prepared === "ok", verdict.ok, `${said}, and prepare says ${prepared}`);
        },
      ),
      { numRuns: 400, seed: 20261122, endOnFailure: true },
    );
    assert.deepEqual([...seen.keys()].sort(), ["ok", ...REFUSAL_REASONS].sort(), "a reason did not come up");
    assert.ok(seen.get("ok")! >= 30, `ok came up ${seen.get("ok")} times`);
  });
});
