import type { ContractEventType } from "../lib/escrow/events.ts";
import type { Operation } from "../lib/escrow/operations/operations.ts";
import type { SandboxInfo } from "./sandbox/running_sandbox.ts";

/** One step in the life of a card. */
export interface Step {
  event: ContractEventType;
  /** The events that come before this one. */
  needs: ContractEventType[];
  /** The account that signs. */
  by: keyof SandboxInfo["accounts"];
  operation(card: { deviceHash: string } & SandboxInfo): Operation;
}

/** Stroops: small, so that the accounts last for thousands of cards. */
const AMOUNTS = { funded: "10000000", paid: "4000000", defunded: "1000000", cap: "5000000" };

/** The life of a card, in order. */
export const CARD_LIFE: Step[] = [
  {
    event: "device.registered",
    needs: [],
    by: "owner",
    operation: ({ deviceHash, accounts }) => ({ kind: "registerDevice", deviceHash, agent: accounts.agent.address }),
  },
  {
    event: "agent.registered",
    needs: ["device.registered"],
    by: "owner",
    operation: ({ deviceHash, accounts, asset }) => ({
      kind: "registerAgent",
      deviceHash,
      agent: accounts.agent.address,
      asset,
      maxAmount: AMOUNTS.cap,
    }),
  },
  {
    event: "escrow.funded",
    needs: ["device.registered"],
    by: "owner",
    operation: ({ deviceHash, asset }) => ({ kind: "fundEscrow", deviceHash, asset, amount: AMOUNTS.funded }),
  },
  {
    event: "payment.authorized",
    needs: ["device.registered", "agent.registered", "escrow.funded"],
    by: "agent",
    operation: ({ deviceHash, accounts, asset }) => ({
      kind: "authorize",
      deviceHash,
      merchant: accounts.merchant.address,
      asset,
      amount: AMOUNTS.paid,
    }),
  },
  {
    event: "payment.claimed",
    needs: ["device.registered", "agent.registered", "escrow.funded", "payment.authorized"],
    by: "merchant",
    operation: ({ asset }) => ({ kind: "claim", asset }),
  },
  {
    event: "escrow.defunded",
    needs: ["device.registered", "escrow.funded"],
    by: "owner",
    operation: ({ deviceHash, asset }) => ({ kind: "defundEscrow", deviceHash, asset, amount: AMOUNTS.defunded }),
  },
  {
    event: "agent.revoked",
    needs: ["device.registered", "agent.registered"],
    by: "owner",
    operation: ({ deviceHash }) => ({ kind: "revokeAgent", deviceHash }),
  },
  {
    event: "escrow.swept",
    needs: ["device.registered", "escrow.funded"],
    by: "owner",
    operation: ({ deviceHash, asset, accounts }) => ({
      kind: "sweepEscrow",
      deviceHash,
      asset,
      agent: accounts.agent.address,
    }),
  },
  {
    event: "device.revoked",
    needs: ["device.registered"],
    by: "owner",
    operation: ({ deviceHash }) => ({ kind: "revokeDevice", deviceHash }),
  },
];
