import type { PublicEvent } from "../lib/store/event.ts";
import { visible } from "../lib/visible_text.ts";
import { cut } from "./terminal/text_width.ts";

/** Room for every field of a usual event. */
const FULL_WIDTH = 142;
/** Room for ledger, card and amount. Below it no line has the ledger, so that the other fields stay in columns. */
const LEDGER_WIDTH = 92;
/** A line that is too long loses its fields in this order. */
const LEAST_NEEDED = ["agent", "merchant", "card", "ledger", "answer", "amount"];

/** The outcome of a delivery, in a long and a short form. */
export interface Outcome {
  whole: string;
  short: string;
}

/** The outcome of a delivery that `listen` answered with this status. */
export function answeredWith(status: number): Outcome {
  return { whole: `signature right, answered ${status}`, short: `signed, ${status}` };
}

/** The outcome of a forwarded event; `status` is undefined when the receiver did not answer. */
export function forwardedWith(status: number | undefined): Outcome {
  const answer = status === undefined ? "no answer" : `answered ${status}`;
  return { whole: `forwarded, ${answer}`, short: `forwarded, ${status ?? "no answer"}` };
}

/**
 * One delivery in one line of at most `room` characters. A narrow terminal gets the short outcome and fewer fields.
 *
 * `12:00:05  payment.authorized  signature right, answered 204  ledger 7  card 9a41…07e2  merchant GDIY…K4QL  amount 40000000`
 */
export function deliveryLine(event: PublicEvent, outcome: Outcome | undefined, nowMs: number, room: number): string {
  const { deviceHash, agent, merchant, amount } = event;
  const parts: [name: string, text: string][] = [
    ["time", new Date(nowMs).toTimeString().slice(0, 8)],
    ["type", event.type.padEnd(18)],
    ...(outcome === undefined
      ? []
      : [["answer", room < FULL_WIDTH ? outcome.short : outcome.whole] as [string, string]]),
    ...named("ledger", room < LEDGER_WIDTH ? undefined : String(event.ledger)),
    ...named("card", deviceHash && shortId(deviceHash)),
    ...named("agent", agent && shortId(agent)),
    ...named("merchant", merchant && shortId(merchant)),
    ...named("amount", amount),
  ];
  const lineOf = (some: typeof parts) => visible(some.map(([, text]) => text).join("  ").trimEnd());
  let kept = parts;
  for (const least of LEAST_NEEDED) {
    if (lineOf(kept).length <= room) break;
    kept = kept.filter(([name]) => name !== least);
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
