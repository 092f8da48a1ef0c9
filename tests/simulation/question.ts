import { heightOf, heightOfEvent, type LoggedEvent, matches, OWN_EVENT_TYPES } from "../../lib/store/event.ts";
import { cardAt, TYPES } from "./chain.ts";
import type { Climate } from "./climate.ts";
import { FIRST_LEDGER } from "./site.ts";
import type { Dice } from "./world.ts";

/** What is asked of the history, and which of its events answer that. */
export interface Question {
  query: Record<string, string>;
  isAnswer(event: LoggedEvent): boolean;
}

export const EVERYTHING: Question = { query: {}, isAnswer: (event) => matches({}, event) };
/** Own events come only to a question that names their types. */
const types = [...OWN_EVENT_TYPES];
export const OWN_EVENTS: Question = { query: { types: types.join() }, isAnswer: (event) => matches({ types }, event) };

/** The path, or a name, with the question behind it. Where it begins a cursor says by itself. */
export function asked(
  path: string,
  { query }: Question,
  page: { limit?: number; order?: "desc"; cursor?: string } = {},
): string {
  const given = Object.entries({ ...query, ...page })
    .filter(([name, value]) => value !== undefined && (name !== "fromLedger" || page.cursor === undefined))
    .map(([name, value]) => [name, String(value)]);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** Draws one. Ledgers are those of the network as it is: of one that begins anew they are not asked for. */
export function drawQuestion(dice: Dice, { misfortunes }: Climate, mayEnd: boolean): Question {
  const isOneNetwork = !misfortunes.some(([what]) => what === "reset");
  const types = dice.chance(0.5) ? [...new Set([dice.random.pick(TYPES), dice.random.pick(TYPES)])] : undefined;
  const deviceHash = dice.chance(0.5) ? cardAt(dice) : undefined;
  const fromLedger = isOneNetwork && dice.chance(0.5) ? FIRST_LEDGER + dice.integer(0, 40) : undefined;
  const toLedger = isOneNetwork && mayEnd && dice.chance(0.5)
    ? (fromLedger ?? FIRST_LEDGER + 30) + dice.integer(0, 20)
    : undefined;
  return {
    query: {
      ...(types && { types: types.join() }),
      ...(deviceHash && { deviceHash }),
      ...(fromLedger && { fromLedger: String(fromLedger) }),
      ...(toLedger && { toLedger: String(toLedger) }),
    },
    isAnswer: (event) =>
      matches({ types, deviceHash }, event) && heightOfEvent(event) >= heightOf(0, fromLedger ?? 0) &&
      heightOfEvent(event) <= (toLedger === undefined ? Infinity : heightOf(0, toLedger)),
  };
}
