import { Keypair } from "@stellar/stellar-sdk";
import fc from "fast-check";
import { addressVal, hashVal } from "../../../lib/escrow/reads/storage_keys.ts";
import type { Card } from "../../../lib/escrow/reads/read_source.ts";
import { issueNow } from "../../sandbox/past_the_gateway.ts";
import { type GatewayView, type Sandbox, startSandbox } from "../sandbox.ts";
import { i128, u64 } from "../../sandbox/sandbox_network.ts";

export const CARDS = 40;
export const CAPS = [0n, 0n, 10n, 1_000n];
export const BALANCES = [0n, 10n, 500n, 5_000n, 5_000n];

/** The amount that the issuer leaves of an asset. */
const LEFT = 7n;

/** A registered card; these tests do not read its fields. */
export const REGISTERED: Card["device"] = { owner: "", agent: "", status: 0, createdAt: 0n };

/** Cards of all kinds on a network, and the accounts that pay with them. */
export interface DrawnCards {
  sandbox: Sandbox;
  /** A gateway that accepts every asset, and one that accepts lumens only. */
  gateways: GatewayView[];
  /** An account that is not there. */
  nobody: string;
  /** Accounts that are there, `nobody`, and a contract. */
  agents: string[];
  /** The accounts that are paid. */
  merchants: string[];
  /** The first two are lumens. */
  assets: string[];
  /** The escrow contract's balance of each asset that it cannot pay. Undefined for a frozen one. */
  short: Map<string, bigint | undefined>;
  hashOf(card: number): string;
  /** The contracts' state of each card; the card after the last is unregistered. */
  cards: Card[];
}

/** A network with the cards that this seed draws. */
export async function drawCards(seed: number): Promise<DrawnCards> {
  const sandbox = await startSandbox();
  const { owner, agent, merchant, contracts, network, asset } = sandbox;
  const [stranger, nobody] = [(await sandbox.account()).publicKey(), Keypair.random().publicKey()];
  const agents = [agent.publicKey(), agent.publicKey(), stranger, nobody, contracts.deviceRegistry];
  const [scarce, frozen] = [issueNow(network, owner, "SCARCE"), issueNow(network, owner, "FROZEN")];
  const assets = [asset, asset, scarce.contract, frozen.contract];
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
    { numRuns: 1, seed },
  );
  const startSeconds = Math.floor(sandbox.nowMs() / 1_000);
  const hashOf = (index: number) => (index + 1).toString(16).padStart(64, "0");
  const self = owner.publicKey();
  const cards = drawn!.map(({ isKnown, hasPolicy, balance, endsIn, ...policy }, index): Card => ({
    // The contracts keep what a card has when the registry does not know it any more.
    device: isKnown || index % 3 !== 0 ? REGISTERED : undefined,
    balance,
    policy: hasPolicy
      ? { ...policy, maxAmount: policy.cap, expiresAt: endsIn === 0 ? 0n : BigInt(startSeconds + endsIn) }
      : undefined,
  }));
  cards.forEach((card, index) => makeCard(sandbox, hashOf(index), card));
  const held = cards.reduce((sum, { policy, balance }) => policy?.asset === scarce.contract ? sum + balance : sum, 0n);
  if (held > LEFT) scarce.clawback(contracts.paymentEscrow, held - LEFT);
  const hasFrozen = cards.some(({ policy, balance }) => policy?.asset === frozen.contract && balance > 0n);
  if (hasFrozen) frozen.authorize(contracts.paymentEscrow, false);
  const short = new Map([[scarce.contract, held > LEFT ? LEFT : held], [frozen.contract, hasFrozen ? undefined : 0n]]);
  return {
    sandbox,
    gateways: [sandbox.gateway(), sandbox.gateway({ assets: ["native"] })],
    nobody,
    agents,
    merchants: [merchant.publicKey(), stranger, nobody, agent.publicKey(), self, contracts.paymentEscrow, asset],
    assets,
    short,
    hashOf,
    cards: [...cards, { device: undefined, policy: undefined, balance: 0n }],
  };
}

function makeCard({ owner, contracts, asset, invoke }: Sandbox, hash: string, { device, policy, balance }: Card): void {
  const [self, card] = [addressVal(owner.publicKey()), hashVal(hash)];
  const token = addressVal(policy?.asset ?? asset);
  invoke(owner, contracts.deviceRegistry, "register", self, card, self);
  if (balance > 0n) invoke(owner, contracts.paymentEscrow, "fund_escrow", token, self, card, i128(balance));
  if (device === undefined) invoke(owner, contracts.deviceRegistry, "revoke", self, card);
  if (policy === undefined) return;
  const { agent, maxAmount, expiresAt } = policy;
  const terms = [addressVal(agent), i128(maxAmount), token, u64(expiresAt)];
  invoke(owner, contracts.agentRegistry, "register_agent", self, card, ...terms);
}
