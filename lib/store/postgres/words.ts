import { createHash } from "node:crypto";
import { givenRows, type PostgresContext, type Queries } from "./database.ts";

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
export function postgresWords(
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
