import { Address, nativeToScVal, StrKey, xdr } from "@stellar/stellar-sdk/base";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import type { RawEvent } from "../../lib/stellar/rpc/schemas.ts";
import { rpcId } from "../events/simulated_node.ts";
import { Accounts, type Applied } from "./accounts.ts";
import type { Climate } from "./climate.ts";
import { Dice, START_MS, type World } from "./world.ts";

const contractId = (byte: number) => StrKey.encodeContract(new Uint8Array(32).fill(byte));
export const CONTRACTS: ContractIds = {
  deviceRegistry: contractId(1),
  agentRegistry: contractId(2),
  paymentEscrow: contractId(3),
};
export const ASSET = contractId(4);
export const PASSPHRASE = "A simulated network";

/** What its events are of, and of which cards. */
export const TYPES = ["escrow.funded", "device.revoked", "payment.authorized"];
const CARDS = 5;
export const cardAt = (dice: Dice) => dice.integer(1, CARDS).toString(16).padStart(64, "0");

/** How long a ledger takes. */
export const LEDGER_MS = 5_000;
/** So many ledgers there are from the beginning: a node that lags shows others, and not one for long, as one that rests does. */
const HISTORY = 25;

/** Apart from the dice of all else. */
const DICE = 12_000_000_017;

/** One thing that happened on the network. */
export interface Happened {
  generation: number;
  ledger: number;
  txHash: string;
}

/** One life of a network, from its beginning to its reset. */
export interface Ledgers {
  generation: number;
  first: number;
  latest: number;
  closeTimes: Map<number, number>;
  hashes: Map<number, string>;
  events: Map<number, RawEvent[]>;
}

/** What really happens: the network whose nodes may lie about it. */
export class Chain {
  readonly happened: Happened[] = [];
  /** Transactions of events that some node left out. */
  readonly withheld = new Set<string>();
  readonly accounts: Accounts;
  ledgers: Ledgers;
  /** As it was before its last reset; some nodes may not have noticed yet. */
  former: Ledgers | undefined;
  /** When its last ledger closed, the world's ms. */
  closedAtMs = 0;
  #count = 0;
  readonly #dice: Dice;
  readonly #mostUnknown: number;

  constructor(readonly world: World, firstLedger: number, { payments, unknownEvents }: Climate) {
    this.#dice = new Dice(world.seed + DICE);
    this.#mostUnknown = unknownEvents;
    this.accounts = new Accounts(world, PASSPHRASE, payments);
    this.ledgers = newLedgers(0, firstLedger);
    for (let age = HISTORY; age > 0; age--) this.#closeEmpty(START_MS - age * LEDGER_MS);
    this.close([]);
  }

  /** Answers its number and its close time. */
  #closeEmpty(atMs: number): { ledger: number; closeTime: number } {
    const { ledgers } = this;
    const ledger = ledgers.latest += 1;
    const closeTime = Math.floor(atMs / 1_000);
    ledgers.closeTimes.set(ledger, closeTime);
    ledgers.hashes.set(ledger, (++this.#count).toString(16).padStart(64, "f"));
    return { ledger, closeTime };
  }

  /** Closes a ledger in which these cards were funded or revoked, and some of the payments made that wait. */
  close(cards: string[]): void {
    const { ledgers, world } = this;
    this.closedAtMs = world.nowMs;
    const { ledger, closeTime } = this.#closeEmpty(START_MS + world.nowMs);
    const paid = this.accounts.close(ledger, closeTime);
    const events = [
      ...cards.map((card, index) => this.#cardEvent(card, ledger, index)),
      ...paid.filter(({ isSuccess }) => isSuccess).map((one, index) => this.#payment(one, cards.length + index)),
    ];
    events.push(...this.#unknownEvents(ledger, events.length));
    if (events.length > 0) ledgers.events.set(ledger, events);
    world.note(`ledger ${ledger} with ${events.length}${paid.map(({ amount }) => ` paid ${amount}`).join("")}`);
  }

  /** The network begins anew, as test networks do every few months. */
  reset(firstLedger: number): void {
    this.former = this.ledgers;
    this.ledgers = newLedgers(this.former.generation + 1, firstLedger);
    this.world.note(`network reset to ${firstLedger}`);
    this.close([]);
  }

  #cardEvent(deviceHash: string, ledger: number, index: number): RawEvent {
    const txHash = (++this.#count).toString(16).padStart(64, "0");
    const isFunding = index % 4 !== 3;
    return this.#event(ledger, index, txHash, {
      contractId: isFunding ? CONTRACTS.paymentEscrow : CONTRACTS.deviceRegistry,
      topic: [symbol(isFunding ? "fund" : "revoke"), bytes(deviceHash)],
      value: isFunding ? i128(1_000n) : xdr.ScVal.scvVoid().toXdr("base64"),
    });
  }

  #payment({ ledger, hash, source, amount }: Applied, index: number): RawEvent {
    return this.#event(ledger, index, hash, {
      contractId: CONTRACTS.paymentEscrow,
      topic: [symbol("authorize"), bytes("1".padStart(64, "0")), new Address(source).toScVal().toXdr("base64")],
      value: i128(BigInt(amount)),
    });
  }

  /** What an unknown version of a contract tells: nothing that the gateway can read. */
  #unknownEvents(ledger: number, from: number): RawEvent[] {
    return Array.from({ length: this.#dice.integer(0, this.#mostUnknown) }, (_, n) => {
      const txHash = (++this.#count).toString(16).padStart(64, "a");
      return this.#raw(ledger, from + n, txHash, {
        contractId: CONTRACTS.paymentEscrow,
        topic: [symbol(n % 2 === 0 ? "refund" : "fund")],
        value: i128(1n),
      });
    });
  }

  #event(ledger: number, index: number, txHash: string, event: Pick<RawEvent, "contractId" | "topic" | "value">) {
    this.happened.push({ generation: this.ledgers.generation, ledger, txHash });
    return this.#raw(ledger, index, txHash, event);
  }

  #raw(ledger: number, index: number, txHash: string, event: Pick<RawEvent, "contractId" | "topic" | "value">) {
    return {
      type: "contract",
      ledger,
      ledgerClosedAt: new Date(this.ledgers.closeTimes.get(ledger)! * 1_000).toISOString().replace(".000Z", "Z"),
      id: rpcId(ledger, index + 1, 1, 0),
      txHash,
      inSuccessfulContractCall: true,
      ...event,
    };
  }
}

function newLedgers(generation: number, first: number): Ledgers {
  return { generation, first, latest: first - 1, closeTimes: new Map(), hashes: new Map(), events: new Map() };
}

const symbol = (name: string) => nativeToScVal(name, { type: "symbol" }).toXdr("base64");
const bytes = (hex: string) => nativeToScVal(Uint8Array.fromHex(hex)).toXdr("base64");
const i128 = (amount: bigint) => nativeToScVal(amount, { type: "i128" }).toXdr("base64");
