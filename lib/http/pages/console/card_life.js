// @ts-check
/** @import { SandboxInfo } from "./session.js" */

/** @typedef {{ deviceHash: string } & Pick<SandboxInfo, "asset" | "accounts">} SandboxCard */
/**
 * One thing that happens to a card in the sandbox.
 * @typedef {object} Step
 * @property {string} event the type of its event
 * @property {string} title
 * @property {"owner" | "agent" | "merchant"} by who signs
 * @property {(card: SandboxCard) => Record<string, string>} operation
 */

/** Of the smallest unit: small, so that the accounts last for thousands of cards. */
const AMOUNTS = { funded: "10000000", paid: "4000000", defunded: "1000000", cap: "5000000" };

/** The life of a card, in its order, as `gateway trigger` plays it. @type {Step[]} */
export const CARD_LIFE = [
  {
    event: "device.registered",
    title: "The owner registers the card",
    by: "owner",
    operation: ({ deviceHash, accounts }) => ({ kind: "registerDevice", deviceHash, agent: accounts.agent.address }),
  },
  {
    event: "agent.registered",
    title: "The owner lets an agent spend, up to a cap",
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
    title: "The owner puts money into escrow",
    by: "owner",
    operation: ({ deviceHash, asset }) => ({ kind: "fundEscrow", deviceHash, asset, amount: AMOUNTS.funded }),
  },
  {
    event: "payment.authorized",
    title: "The agent authorises a payment",
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
    title: "The merchant claims it",
    by: "merchant",
    operation: ({ asset }) => ({ kind: "claim", asset }),
  },
  {
    event: "escrow.defunded",
    title: "The owner takes some back",
    by: "owner",
    operation: ({ deviceHash, asset }) => ({ kind: "defundEscrow", deviceHash, asset, amount: AMOUNTS.defunded }),
  },
  {
    event: "agent.revoked",
    title: "The card is lost: the owner revokes the agent",
    by: "owner",
    operation: ({ deviceHash }) => ({ kind: "revokeAgent", deviceHash }),
  },
  {
    event: "escrow.swept",
    title: "What is left comes back to the owner",
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
    title: "The card is taken off the registry",
    by: "owner",
    operation: ({ deviceHash }) => ({ kind: "revokeDevice", deviceHash }),
  },
];
