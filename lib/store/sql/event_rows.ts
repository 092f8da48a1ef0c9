import { isoSeconds } from "../../clock.ts";
import {
  formatEventId,
  heightOf,
  ledgerOfHeight,
  LEDGERS_PER_EPOCH,
  type LoggedEvent,
  type NewEvent,
  parseEventId,
  publicEvent,
  type UndecodedEvent,
} from "../event.ts";
import type { Sql } from "./database.ts";

/** An event's id as columns. The last two are the event's place in its ledger. */
export interface IdColumns {
  height: number;
  place: number;
  event_index: number;
}

/** The columns of an id. Undefined for text that is no event id. */
export function idColumns(id: string): IdColumns | undefined {
  const parts = parseEventId(id);
  return parts && { height: heightOf(parts.epoch, parts.ledger), place: parts.order, event_index: parts.index };
}

/** The columns of an id. Throws a plain Error for other text: the gateway itself made the ids of such events. */
export function requireId(id: string): IdColumns {
  const columns = idColumns(id);
  if (columns === undefined) throw new Error(`not an event id: ${JSON.stringify(id)}`);
  return columns;
}

/** The columns of decoded and undecoded events. `Packed` is the form of hashes and addresses. */
export interface OriginRow<Packed> extends IdColumns {
  contract: number;
  closed_at: number;
  tx_hash: Packed;
}

export interface EventRow<Packed> extends OriginRow<Packed> {
  sequence: number;
  type: number;
  known_at: number;
  device_hash: Packed | null;
  agent: Packed | null;
  merchant: Packed | null;
  amount: string | null;
  /** JSON: `PaymentFacts`. */
  payment: string | null;
}

export interface UndecodedRow<Packed> extends OriginRow<Packed> {
  /** JSON. */
  raw: string;
}

/** How a driver stores the fields of an event. */
export interface EventColumns<Row, Packed> {
  hashOf(packed: Packed): string;
  addressOf(packed: Packed): string;
  amountOf(row: Row, contractOf: Map<number, string>): { amount?: string; asset?: string };
  /** The numbers of the contracts that a row names. */
  contractsOf(row: Row): number[];
}

/** How events are read from rows. */
export interface EventReader<Row, Packed> {
  types: NumberedTexts;
  toEvents(rows: Row[]): Promise<LoggedEvent[]>;
  toUndecoded(rows: UndecodedRow<Packed>[]): Promise<UndecodedEvent[]>;
}

export function sqlEventReader<Row extends EventRow<Packed>, Packed>(
  sql: Sql,
  columns: EventColumns<Row, Packed>,
): EventReader<Row, Packed> {
  const { hashOf, addressOf, amountOf, contractsOf } = columns;
  const types = sqlNumberedTexts(sql, "event_type");
  const contracts = sqlNumberedTexts(sql, "contract");

  function originOf(row: OriginRow<Packed>, contractOf: Map<number, string>) {
    const { height, place: order, event_index: index } = row;
    const [epoch, ledger] = [Math.floor(height / LEDGERS_PER_EPOCH), ledgerOfHeight(height)];
    return {
      id: formatEventId({ epoch, ledger, order, index }),
      contractId: contractOf.get(row.contract)!,
      ledger,
      ledgerClosedAt: isoSeconds(row.closed_at * 1_000),
      txHash: hashOf(row.tx_hash),
    };
  }

  function toEvent(row: Row, typeOf: Map<number, string>, contractOf: Map<number, string>): LoggedEvent {
    const { id, ...origin } = originOf(row, contractOf);
    const { sequence, known_at: knownAt } = row;
    const event: LoggedEvent = { sequence, id, type: typeOf.get(row.type)!, ...origin, knownAt };
    if (row.device_hash !== null) event.deviceHash = hashOf(row.device_hash);
    if (row.agent !== null) event.agent = addressOf(row.agent);
    if (row.merchant !== null) event.merchant = addressOf(row.merchant);
    if (row.payment !== null) event.payment = JSON.parse(row.payment);
    return Object.assign(event, amountOf(row, contractOf));
  }

  return {
    types,
    async toEvents(rows) {
      const typeOf = await types.texts(rows.map(({ type }) => type));
      const contractOf = await contracts.texts(rows.flatMap(contractsOf));
      return rows.map((row) => toEvent(row, typeOf, contractOf));
    },
    async toUndecoded(rows) {
      const contractOf = await contracts.texts(rows.map(({ contract }) => contract));
      return rows.map((row) => {
        const { id, ...origin } = originOf(row, contractOf);
        return { id, type: null, ...origin, raw: JSON.parse(row.raw) };
      });
    },
  };
}

/** A new event with the sequence that the log gave it, as the store reads it again. */
export function loggedEvent(event: NewEvent, sequence: number): LoggedEvent {
  const { asset: _, paymentId: __, ...shown } = publicEvent(event);
  const logged: LoggedEvent = { ...shown, knownAt: event.knownAt, sequence };
  if (event.asset !== undefined) logged.asset = event.asset;
  if (event.payment !== undefined) logged.payment = event.payment;
  return logged;
}

/** An event with the columns of its id. */
export interface Placed<Event> {
  event: Event;
  id: IdColumns;
}

/** The events with the columns of their ids, each id once. */
export function placedOnce<Event extends NewEvent | UndecodedEvent>(events: Event[]): Placed<Event>[] {
  const byId = new Map<string, Placed<Event>>();
  for (const event of events) if (!byId.has(event.id)) byId.set(event.id, { event, id: requireId(event.id) });
  return [...byId.values()];
}

/** The texts that events name by number. They are few, so memory keeps all of them. Nothing is ever deleted from a table. */
export interface NumberedTexts {
  /** The number of a text, undefined when the table does not have it. */
  find(text: string): Promise<number | undefined>;
  numbers(): Promise<number[]>;
  /** The texts by number: at least those of these numbers. */
  texts(numbers: Iterable<number>): Promise<Map<number, string>>;
}

function sqlNumberedTexts(sql: Sql, table: "event_type" | "contract"): NumberedTexts {
  const readAll = sql.prepare<{ number: number; text: string }>(`SELECT number, text FROM ${sql.prefix}${table}`);
  const textOf = new Map<number, string>();
  const numberOf = new Map<string, number>();

  /** Another gateway may have added some. */
  async function refresh(): Promise<void> {
    for (const { number, text } of await sql.read(readAll())) {
      textOf.set(number, text);
      numberOf.set(text, number);
    }
  }

  return {
    async find(text) {
      if (!numberOf.has(text)) await refresh();
      return numberOf.get(text);
    },
    async numbers() {
      await refresh();
      return [...textOf.keys()];
    },
    async texts(numbers) {
      for (const number of numbers) if (!textOf.has(number)) await refresh();
      return textOf;
    },
  };
}
