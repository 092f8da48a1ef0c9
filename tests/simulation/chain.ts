import { Address, nativeToScVal, StrKey, xdr } from "@stellar/stellar-sdk/base";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import type { RawEvent } from "../../lib/stellar/rpc/schemas.ts";
import { rpcId } from "../events/simulated_node.ts";
import { Accounts, type Applied } from "./accounts.ts";
import type { Climate } from "./climate.ts";
import { drawHabits, EscrowState, type Habits, merchantOf, type TrueClaim, type TruePayment } from "./escrow_state.ts";
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

/** All payments are made with this card, which has enough from the beginning. */
export const PAYING_CARD = "1".padStart(64, "0");
const ENOUGH = 1_000_000_000n;
/** How often each stranger pays in a ledger, and how much at most. */
const STRANGERS = { pays: 0.4, most: 50 };

/** Apart from the dice of all else. */
const DICE = 12_000_000_017;
const ESCROW = 16_000_000_003;

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
  escrow: EscrowState;
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
  /** From now on merchants claim nothing, and payers pay through gateways only. */
  isQuiet = false;
  #count = 0;
  readonly #dice: Dice;
  readonly #escrowDice: Dice;
  readonly #habits: Habits;
  readonly #isPaying: boolean;

  constructor(readonly world: World, firstLedger: number, readonly climate: Climate) {
    this.#dice = new Dice(world.seed + DICE);
    this.#escrowDice = new Dice(world.seed + ESCROW);
    this.#habits = drawHabits(this.#escrowDice);
    this.#isPaying = climate.payers + climate.strangers > 0;
    this.accounts = new Accounts(world, PASSPHRASE, climate.payments);
    this.ledgers = this.#newLedgers(0, firstLedger);
    for (let age = HISTORY; age > 0; age--) this.#closeEmpty(START_MS - age * LEDGER_MS);
    this.close([]);
  }

  #newLedgers(generation: number, first: number): Ledgers {
    return {
      generation,
      first,
      latest: first - 1,
      closeTimes: new Map(),
      hashes: new Map(),
      events: new Map(),
      escrow: new EscrowState(this.#habits, this.#escrowDice),
    };
  }

  /** Answers its number and its close time. */
  #closeEmpty(atMs: number): { ledger: number; closeTime: number } {
    const { ledgers } = this;
    const ledger = ledgers.latest += 1;
    // The protocol has every ledger close later than the one before it.
    const closeTime = Math.max(Math.floor(atMs / 1_000), 1 + (ledgers.closeTimes.get(ledger - 1) ?? 0));
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
    const events = cards.map((card, index) => this.#cardEvent(card, ledger, index));
    if (this.#isPaying && ledgers.events.size === 0) {
      events.push(this.#funding(PAYING_CARD, ENOUGH, ledger, events.length));
    }
    events.push(...this.#escrowEvents(ledger, closeTime, paid.filter(({ isSuccess }) => isSuccess), events.length));
    events.push(...this.#unknownEvents(ledger, events.length));
    if (events.length > 0) ledgers.events.set(ledger, events);
    world.note(`ledger ${ledger} with ${events.length}${paid.map(({ amount }) => ` paid ${amount}`).join("")}`);
  }

  /** The network begins anew, as test networks do every few months. */
  reset(firstLedger: number): void {
    this.former = this.ledgers;
    this.ledgers = this.#newLedgers(this.former.generation + 1, firstLedger);
    this.world.note(`network reset to ${firstLedger}`);
    this.close([]);
  }

  /** The payment that this transaction made, and in which life of the network. */
  truthOf(txHash: string): { payment: TruePayment; life: Ledgers } | undefined {
    for (const life of [this.ledgers, this.former]) {
      const payment = life?.escrow.payments.find((one) => one.txHash === txHash);
      if (payment !== undefined) return { payment, life: life! };
    }
    return undefined;
  }

  /** The payments and claims of a ledger, in their order. */
  #escrowEvents(ledger: number, at: number, paid: Applied[], from: number): RawEvent[] {
    const { escrow } = this.ledgers;
    const events: RawEvent[] = [];
    const claim = () => {
      if (this.isQuiet) return;
      for (const one of escrow.claimSome(ledger, () => this.#nextHash("c"))) {
        events.push(this.#claim(one, from + events.length));
      }
    };
    const isClaimFirst = this.#escrowDice.chance(0.5);
    if (isClaimFirst) claim();
    for (const { hash: txHash, merchant, deviceHash, amount } of [...paid, ...this.#strangersPayments()]) {
      escrow.authorize({ txHash, merchant, deviceHash, amount: BigInt(amount), ledger, at });
      events.push(this.#payment({ txHash, merchant, deviceHash, amount }, ledger, from + events.length));
    }
    if (!isClaimFirst) claim();
    escrow.extendOne(ledger);
    return events;
  }

  /** Payments past the gateways. Two equal ones of a ledger differ by their slots only, which a gateway may not know. */
  #strangersPayments(): Pick<Applied, "hash" | "merchant" | "deviceHash" | "amount">[] {
    const dice = this.#escrowDice;
    return Array.from({ length: this.isQuiet ? 0 : this.climate.strangers }, (_, n) => n)
      .filter(() => dice.chance(STRANGERS.pays))
      .map((n) => ({
        hash: this.#nextHash("b"),
        merchant: merchantOf(n),
        deviceHash: PAYING_CARD,
        amount: String(n * STRANGERS.most + dice.integer(1, STRANGERS.most)),
      }));
  }

  /** Hashes whose last digits are by chance, as those of transactions are. */
  #nextHash(kind: string): string {
    const byChance = this.#escrowDice.integer(0, 255).toString(16).padStart(2, "0");
    return ((++this.#count).toString(16) + byChance).padStart(64, kind);
  }

  #cardEvent(deviceHash: string, ledger: number, index: number): RawEvent {
    if (index % 4 !== 3) return this.#funding(deviceHash, 1_000n, ledger, index);
    const txHash = (++this.#count).toString(16).padStart(64, "0");
    return this.#event(ledger, index, txHash, {
      contractId: CONTRACTS.deviceRegistry,
      topic: [symbol("revoke"), bytes(deviceHash)],
      value: xdr.ScVal.scvVoid().toXdr("base64"),
    });
  }

  #funding(deviceHash: string, amount: bigint, ledger: number, index: number): RawEvent {
    this.ledgers.escrow.fund(deviceHash, amount, ledger);
    const txHash = (++this.#count).toString(16).padStart(64, "0");
    return this.#event(ledger, index, txHash, {
      contractId: CONTRACTS.paymentEscrow,
      topic: [symbol("fund"), bytes(deviceHash)],
      value: i128(amount),
    });
  }

  #payment(
    { txHash, merchant, deviceHash, amount }: { txHash: string; merchant: string; deviceHash: string; amount: string },
    ledger: number,
    index: number,
  ): RawEvent {
    return this.#event(ledger, index, txHash, {
      contractId: CONTRACTS.paymentEscrow,
      topic: [symbol("authorize"), bytes(deviceHash), new Address(merchant).toScVal().toXdr("base64")],
      value: i128(BigInt(amount)),
    });
  }

  #claim({ txHash, merchant, amount, ledger }: TrueClaim, index: number): RawEvent {
    return this.#event(ledger, index, txHash, {
      contractId: CONTRACTS.paymentEscrow,
      topic: [symbol("claim"), new Address(merchant).toScVal().toXdr("base64")],
      value: i128(amount),
    });
  }

  /** What an unknown version of a contract tells: nothing that the gateway can read. */
  #unknownEvents(ledger: number, from: number): RawEvent[] {
    return Array.from({ length: this.#dice.integer(0, this.climate.unknownEvents) }, (_, n) => {
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

const symbol = (name: string) => nativeToScVal(name, { type: "symbol" }).toXdr("base64");
const bytes = (hex: string) => nativeToScVal(Uint8Array.fromHex(hex)).toXdr("base64");
const i128 = (amount: bigint) => nativeToScVal(amount, { type: "i128" }).toXdr("base64");
