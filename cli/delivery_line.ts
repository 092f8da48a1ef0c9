import type { PublicEvent } from "../lib/store/event.ts";
import { cut } from "./terminal/text_width.ts";

/** A line with all that an event usually has. */
const FULL_WIDTH = 142;
/** A line with ledger, card and amount. Where it does not fit no line has the ledger, so that what follows is in columns. */
const LEDGER_WIDTH = 92;
/** What is left out of a line that is too long: the first one first. */
const GOES = ["agent", "merchant", "card", "ledger", "answer", "amount"];

/** What became of an event, as long as there is room, and as short as it gets. */
export interface Told {
  whole: string;
  short: string;
}

/** Of a delivery that came here and was answered with this status. */
export function answeredWith(status: number): Told {
  return { whole: `signature right, answered ${status}`, short: `signed, ${status}` };
}

/** Of an event that was handed on, and answered with this status; undefined: with none. */
export function forwardedWith(status: number | undefined): Told {
  const answer = status === undefined ? "no answer" : `answered ${status}`;
  return { whole: `forwarded, ${answer}`, short: `forwarded, ${status ?? "no answer"}` };
}

/**
 * One delivery in one line of at most `room` characters. Where they are few the answer is told in fewer words, and what is
 * needed least is left out.
 *
 * `12:00:05  payment.authorized  signature right, answered 204  ledger 7  card 9a41…07e2  merchant GDIY…K4QL  amount 40000000`
 */
export function deliveryLine(event: PublicEvent, told: Told | undefined, nowMs: number, room: number): string {
  const { deviceHash, agent, merchant, amount } = event;
  const parts: [name: string, text: string][] = [
    ["time", new Date(nowMs).toTimeString().slice(0, 8)],
    ["type", event.type.padEnd(18)],
    ...(told === undefined ? [] : [["answer", room < FULL_WIDTH ? told.short : told.whole] as [string, string]]),
    ...named("ledger", room < LEDGER_WIDTH ? undefined : String(event.ledger)),
    ...named("card", deviceHash && shortId(deviceHash)),
    ...named("agent", agent && shortId(agent)),
    ...named("merchant", merchant && shortId(merchant)),
    ...named("amount", amount),
  ];
  const lineOf = (some: typeof parts) => some.map(([, text]) => text).join("  ").trimEnd();
  let kept = parts;
  for (const goes of GOES) {
    if (lineOf(kept).length <= room) break;
    kept = kept.filter(([name]) => name !== goes);
  }
  return cut(lineOf(kept), room) + "\n";
}

function named(name: string, text: string | undefined): [name: string, text: string][] {
  return text === undefined ? [] : [[name, `${name} ${text}`]];
}

/** `9a41…07e2`. */
export function shortId(text: string): string {
  return `${text.slice(0, 4)}…${text.slice(-4)}`;
}
