import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type LoggedEvent, type NewEvent, publicEvent, type UndecodedEvent } from "../event.ts";
import { packAddress, packHash, unixSeconds, unpackAddress, unpackHash } from "../codec.ts";
import { type IdColumns, type OriginRow, toOrigin } from "../sql/event_rows.ts";
import { givenRows, type PostgresContext, type Queries } from "./database.ts";

export interface EventRow extends OriginRow<Uint8Array> {
  sequence: number;
  type: number;
  known_at: number;
  device_hash: Uint8Array | null;
  agent: Uint8Array | null;
  merchant: Uint8Array | null;
  amount: string | null;
  /** Among the contracts. */
  asset: number | null;
}

export interface UndecodedRow extends OriginRow<Uint8Array> {
  /** JSON. */
  raw: string;
}

const ORIGIN = "contract, height, place, event_index, closed_at, tx_hash";
export const EVENT_COLUMNS = `sequence, type, ${ORIGIN}, known_at, device_hash, agent, merchant, amount, asset`;
export const UNDECODED_COLUMNS = `${ORIGIN}, raw`;

/** An event that is to be written at its place. */
export interface Placed<Event> {
  event: Event;
  id: IdColumns;
}

/** A new event with the sequence that the log gave it, as it is read again. */
export function loggedEvent(event: NewEvent, sequence: number): LoggedEvent {
  const { asset: _, ...shown } = publicEvent(event);
  const logged: LoggedEvent = { ...shown, knownAt: event.knownAt, sequence };
  if (event.asset !== undefined) logged.asset = event.asset;
  return logged;
}

/** How events are written as rows and read from them. */
export interface EventRows {
  types: Words;
  toEvents(rows: EventRow[]): Promise<LoggedEvent[]>;
  toUndecoded(rows: UndecodedRow[]): Promise<UndecodedEvent[]>;
  /** Both to be called within a transaction that holds the log's end. */
  insert(queries: Queries, placed: (Placed<NewEvent> & { sequence: number; isLate: boolean })[]): Promise<void>;
  insertUndecoded(queries: Queries, placed: Placed<UndecodedEvent>[]): Promise<void>;
}

export function postgresEventRows(context: Pick<PostgresContext, "database" | "prefix">): EventRows {
  const { prefix } = context;
  const types = postgresWords(context, "event_type");
  const contracts = postgresWords(context, "contract");

  function originOf(row: OriginRow<Uint8Array>, ids: Map<number, string>) {
    return toOrigin(row, { contractId: ids.get(row.contract)!, txHash: unpack(row.tx_hash, unpackHash) });
  }

  function toEvent(row: EventRow, names: Map<number, string>, ids: Map<number, string>): LoggedEvent {
    const { id, ...rest } = originOf(row, ids);
    const event: LoggedEvent = {
      sequence: row.sequence,
      id,
      type: names.get(row.type)!,
      ...rest,
      knownAt: row.known_at,
    };
    if (row.device_hash !== null) event.deviceHash = unpack(row.device_hash, unpackHash);
    if (row.agent !== null) event.agent = unpack(row.agent, unpackAddress);
    if (row.merchant !== null) event.merchant = unpack(row.merchant, unpackAddress);
    if (row.amount !== null) event.amount = row.amount;
    if (row.asset !== null) event.asset = ids.get(row.asset)!;
    return event;
  }

  return {
    types,
    async toEvents(rows) {
      const names = await types.texts(rows.map(({ type }) => type));
      const ids = await contracts.texts(
        rows.flatMap(({ contract, asset }) => asset === null ? contract : [contract, asset]),
      );
      return rows.map((row) => toEvent(row, names, ids));
    },
    async toUndecoded(rows) {
      const ids = await contracts.texts(rows.map(({ contract }) => contract));
      return rows.map((row) => {
        const { id, ...rest } = originOf(row, ids);
        return { id, type: null, ...rest, raw: JSON.parse(row.raw) };
      });
    },
    async insert(queries, placed) {
      if (placed.length === 0) return;
      const named = placed.flatMap(({ event: { contractId, asset } }) =>
        asset === undefined ? contractId : [contractId, asset]
      );
      const [typeOf, contractOf] = await Promise.all([
        types.add(queries, placed.map(({ event }) => event.type)),
        contracts.add(queries, named),
      ]);
      const rows = placed.map(({ event, id, sequence, isLate }) => ({
        ...id,
        sequence,
        type: typeOf.get(event.type),
        contract: contractOf.get(event.contractId),
        closed_at: unixSeconds(event.ledgerClosedAt),
        known_at: event.knownAt,
        is_late: isLate,
        tx_hash: hexOf(packHash(event.txHash)),
        device_hash: event.deviceHash === undefined ? null : hexOf(packHash(event.deviceHash)),
        agent: event.agent === undefined ? null : hexOf(packAddress(event.agent)),
        merchant: event.merchant === undefined ? null : hexOf(packAddress(event.merchant)),
        amount: event.amount ?? null,
        asset: event.asset === undefined ? null : contractOf.get(event.asset),
      }));
      await queries.write(
        `INSERT INTO ${prefix}event (is_late, indexed_sequence, ${EVENT_COLUMNS})
        SELECT is_late, sequence, sequence, type, contract, height, place, event_index, closed_at, decode(tx_hash, 'hex'), known_at,
          decode(device_hash, 'hex'), decode(agent, 'hex'), decode(merchant, 'hex'), amount, asset
        FROM json_to_recordset($1::text::json) AS given (sequence bigint, type integer, contract integer, height bigint,
          place bigint, event_index bigint, closed_at bigint, known_at bigint, is_late boolean, tx_hash text,
          device_hash text, agent text, merchant text, amount text, asset integer)`,
        [rows],
      );
    },
    async insertUndecoded(queries, placed) {
      if (placed.length === 0) return;
      const contractOf = await contracts.add(queries, placed.map(({ event }) => event.contractId));
      const rows = placed.map(({ event, id }) => ({
        ...id,
        contract: contractOf.get(event.contractId),
        closed_at: unixSeconds(event.ledgerClosedAt),
        tx_hash: hexOf(packHash(event.txHash)),
        raw: JSON.stringify(event.raw),
      }));
      await queries.write(
        `INSERT INTO ${prefix}undecoded_event (${UNDECODED_COLUMNS})
        SELECT contract, height, place, event_index, closed_at, decode(tx_hash, 'hex'), raw
        FROM json_to_recordset($1::text::json) AS given (height bigint, place bigint, event_index bigint,
          contract integer, closed_at bigint, tx_hash text, raw text)`,
        [rows],
      );
    },
  };
}

/** The first byte of a packed text: whether the bytes it stands for follow, or, where it has another form, its UTF-8. */
const BYTES = 0;
const TEXT = 1;

/** A hash or an address as one column of bytes. */
export function columnOf(packed: Uint8Array | string): Uint8Array {
  const isText = typeof packed === "string";
  return Buffer.concat([Buffer.of(isText ? TEXT : BYTES), isText ? Buffer.from(packed) : packed]);
}

function hexOf(packed: Uint8Array | string): string {
  return Buffer.from(columnOf(packed)).toString("hex");
}

function unpack(column: Uint8Array, unpacked: (bytes: Uint8Array) => string): string {
  const bytes = column.subarray(1);
  return column[0] === TEXT ? Buffer.from(bytes).toString() : unpacked(bytes);
}

/** The texts that events name by number: few, so all of them are kept in memory. */
export interface Words {
  /** The number of a text, undefined when it is not held. */
  find(text: string): Promise<number | undefined>;
  /** All numbers there are. */
  numbers(): Promise<number[]>;
  /** The texts of numbers that are held. */
  texts(numbers: Iterable<number>): Promise<Map<number, string>>;
  /**
   * The numbers of texts, which are added when they are new. To be called within a transaction that holds the log's end:
   * what that has written may be rolled back, and is not remembered.
   */
  add(queries: Queries, texts: Iterable<string>): Promise<Map<string, number>>;
}

/**
 * What is remembered stays true also after a standby was promoted that lacks what was added last: a text has the same
 * number whenever it is added, and no other text has that.
 *
 * @param table `event_type` or `contract`: nothing is ever deleted from them
 */
function postgresWords(
  { database, prefix }: Pick<PostgresContext, "database" | "prefix">,
  table: "event_type" | "contract",
): Words {
  const textOf = new Map<number, string>();
  const numberOf = new Map<string, number>();

  /** Another gateway may have added some. */
  async function refresh(): Promise<void> {
    const rows = await database.read<{ number: number; text: string }>(`SELECT number, text FROM ${prefix}${table}`);
    for (const { number, text } of rows) {
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
    async add(queries, texts) {
      const wanted = [...new Set(texts)];
      // Not as remembered: a standby that was promoted may lack what was added last.
      const held = await queries.read<{ number: number; text: string }>(
        `SELECT number, text FROM ${prefix}${table} WHERE text IN (SELECT text FROM ${givenRows("text text")})`,
        [wanted.map((text) => ({ text }))],
      );
      const numbers = new Map(held.map(({ number, text }) => [text, number]));
      for (const text of wanted) {
        if (!numbers.has(text)) numbers.set(text, await addOne(queries, `${prefix}${table}`, text));
      }
      return numbers;
    },
  };
}

async function addOne(queries: Queries, table: string, text: string): Promise<number> {
  // By the text itself, 30 bits of it; where that is another's, the next.
  for (let number = createHash("sha256").update(text).digest().readUInt32BE() >>> 2;; number++) {
    await queries.write(
      `INSERT INTO ${table} (number, text) VALUES ($1::integer, $2::text) ON CONFLICT DO NOTHING`,
      [number, text],
    );
    const [row] = await queries.read<{ number: number }>(`SELECT number FROM ${table} WHERE text = $1`, [text]);
    if (row !== undefined) return row.number;
  }
}
