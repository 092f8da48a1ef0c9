import { nativeToScVal, StrKey, xdr } from "@stellar/stellar-sdk/base";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import type { RawEvent } from "../../lib/stellar/rpc/schemas.ts";
import { rpcId } from "../events/simulated_node.ts";
import { START_MS, type World } from "./world.ts";

const contractId = (byte: number) => StrKey.encodeContract(new Uint8Array(32).fill(byte));
export const CONTRACTS: ContractIds = {
  deviceRegistry: contractId(1),
  agentRegistry: contractId(2),
  paymentEscrow: contractId(3),
};
export const PASSPHRASE = "A simulated network";

/** How long a ledger takes. */
export const LEDGER_MS = 5_000;

/** One thing that happened on the network. */
export interface Happened {
  generation: number;
  ledger: number;
  txHash: string;
  type: "escrow.funded" | "device.revoked";
  deviceHash: string;
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
  ledgers: Ledgers;
  /** As it was before its last reset; some nodes may not have noticed yet. */
  former: Ledgers | undefined;
  #count = 0;

  constructor(readonly world: World, firstLedger: number) {
    this.ledgers = newLedgers(0, firstLedger);
    this.close([]);
  }

  /** Closes a ledger in which these cards were funded or revoked. */
  close(cards: string[]): void {
    const { ledgers, world } = this;
    const ledger = ledgers.latest += 1;
    ledgers.closeTimes.set(ledger, Math.floor((START_MS + world.nowMs) / 1_000));
    ledgers.hashes.set(ledger, (++this.#count).toString(16).padStart(64, "f"));
    if (cards.length > 0) ledgers.events.set(ledger, cards.map((card, index) => this.#event(card, ledger, index)));
    world.note(`ledger ${ledger} with ${cards.length}`);
  }

  /** The network begins anew, as test networks do every few months. */
  reset(firstLedger: number): void {
    this.former = this.ledgers;
    this.ledgers = newLedgers(this.former.generation + 1, firstLedger);
    this.world.note(`network reset to ${firstLedger}`);
    this.close([]);
  }

  #event(deviceHash: string, ledger: number, index: number): RawEvent {
    const { generation } = this.ledgers;
    const type = index % 4 === 3 ? "device.revoked" : "escrow.funded";
    const txHash = (++this.#count).toString(16).padStart(64, "0");
    this.happened.push({ generation, ledger, txHash, type, deviceHash });
    const isFunding = type === "escrow.funded";
    return {
      type: "contract",
      ledger,
      ledgerClosedAt: new Date(this.ledgers.closeTimes.get(ledger)! * 1_000).toISOString().replace(".000Z", "Z"),
      contractId: isFunding ? CONTRACTS.paymentEscrow : CONTRACTS.deviceRegistry,
      id: rpcId(ledger, index + 1, 1, 0),
      txHash,
      topic: [symbol(isFunding ? "fund" : "revoke"), bytes(deviceHash)],
      value: isFunding ? nativeToScVal(1_000n, { type: "i128" }).toXdr("base64") : xdr.ScVal.scvVoid().toXdr("base64"),
      inSuccessfulContractCall: true,
    } as RawEvent;
  }
}

function newLedgers(generation: number, first: number): Ledgers {
  return { generation, first, latest: first - 1, closeTimes: new Map(), hashes: new Map(), events: new Map() };
}

const symbol = (name: string) => nativeToScVal(name, { type: "symbol" }).toXdr("base64");
const bytes = (hex: string) => nativeToScVal(Uint8Array.fromHex(hex)).toXdr("base64");
