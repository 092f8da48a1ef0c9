import { visible } from "../../lib/visible_text.ts";
import { shortId } from "../delivery_line.ts";
import { hanging, wrapped } from "../terminal/line_width.ts";
import type { Money, Refusal, Step, Story } from "./step.ts";

const LABEL_WIDTH = 10;
/** A narrower terminal gets the texts under the time. */
const WIDE = 72;
const NARROW_INDENT = 2;

/** A story in lines of at most `room` characters: what it is about, then the steps, each under its time. */
export function storyText({ hash, payments, steps, nodeProblem }: Story, room: number): string {
  const lines = [hanging("transaction ", hash, room)];
  for (const payment of payments) {
    lines.push(hanging("payment ", payment.id, room));
    lines.push(hanging("", `${payment.state}, ${moneyText(payment)} to ${shortId(payment.merchant)}`, room));
  }
  let day = "";
  for (const step of steps) {
    if (step.at !== null && step.at.slice(0, 10) !== day) {
      day = step.at.slice(0, 10);
      lines.push("", `${day} UTC`);
    }
    lines.push(...stepLines(step, day, room));
  }
  if (nodeProblem !== null) lines.push("", ...wrapped(`From the store alone, because ${nodeProblem}`, room));
  return lines.join("\n") + "\n";
}

function stepLines(step: Step, day: string, room: number): string[] {
  const { label, texts } = toldStep(step, day);
  const head = `${(step.at?.slice(11, 19) ?? "").padEnd(10)}${label.padEnd(LABEL_WIDTH)}`;
  const shown = texts.flatMap((text) => text ? [visible(text)] : []);
  const [first = "", ...others] = shown;
  if (room >= WIDE) {
    return [
      hanging(head, first, room).trimEnd(),
      ...others.flatMap((text) => indented(text, head.length, room)),
    ];
  }
  const isBeside = head.length + first.length <= room;
  const below = isBeside ? others : shown;
  return [(isBeside ? head + first : head).trimEnd(), ...below.flatMap((text) => indented(text, NARROW_INDENT, room))];
}

/** Lines that begin so far right, but for a word that does not fit there. */
function indented(text: string, indent: number, room: number): string[] {
  return wrapped(text, room - indent).map((line) =>
    " ".repeat(Math.max(0, Math.min(indent, room - line.length))) + line
  );
}

/** @param day of the line above: times of that day stand alone */
function toldStep(step: Step, day: string): { label: string; texts: (string | null)[] } {
  switch (step.step) {
    case "prepared":
      return { label: "prepared", texts: [`reference ${step.reference}`, keyText(step.keyId, step.keyName)] };
    case "sent": {
      const { keyId, keyName, kind, source, idempotencyKey } = step;
      const what = [kind ?? "", source === null ? "" : `from ${shortId(source)}`].filter((text) => text !== "");
      const by = keyId === null ? "" : keyText(keyId, keyName);
      return { label: "sent", texts: [what.join(" "), by, idempotencyKey && `Idempotency-Key ${idempotencyKey}`] };
    }
    case "applied":
      return { label: "ledger", texts: [`success in ${step.ledger}`] };
    case "failed":
      return {
        label: "failed",
        texts: [step.ledger === null ? "" : `in ledger ${step.ledger}`, ...refusalTexts(step.refusal)],
      };
    case "rejected":
      return { label: "rejected", texts: refusalTexts(step.refusal) };
    case "unresolved": {
      if (!step.isSent) return { label: "not sent", texts: ["by this gateway", step.why] };
      const until = step.validUntil && `the network can include it until ${timeText(step.validUntil, day)}`;
      return { label: "unknown", texts: [step.why, until] };
    }
    case "event": {
      const { deviceHash, merchant, agent, amount } = step;
      const details = [
        ...(amount === undefined ? [] : [moneyText(step as Money)]),
        ...(deviceHash === null ? [] : [`card ${shortId(deviceHash)}`]),
        ...(merchant === null ? [] : [`merchant ${shortId(merchant)}`]),
        ...(agent === null ? [] : [`agent ${shortId(agent)}`]),
      ];
      return { label: "event", texts: [step.type, details.join(", ")] };
    }
    case "attempt":
      return { label: "webhook", texts: [`${step.webhook} ${attemptText(step, day)}`, ofEvent(step)] };
    case "delivery":
      return { label: "webhook", texts: [`${step.webhook} ${DELIVERY_TEXTS[step.state]}`, ofEvent(step)] };
    case "collected": {
      const { payments, isMore } = step;
      const count = payments.length === 1 ? "1 payment" : `${payments.length}${isMore ? " or more" : ""} payments`;
      return { label: "took", texts: [count, ...payments.slice(0, SHOWN), ...(payments.length > SHOWN ? ["…"] : [])] };
    }
    case "claimed":
      return { label: "claimed", texts: [`in ledger ${step.ledger}, by transaction`, step.txHash] };
    case "expired":
      return { label: "expired", texts: [`the merchant did not claim it by ledger ${step.ledger}`] };
    case "pending": {
      const until = step.expiresAt === null ? "" : `, about ${timeText(step.expiresAt, day)}`;
      return { label: "pending", texts: [`the merchant can claim it until ledger ${step.expiresAtLedger}${until}`] };
    }
    case "unknown":
      return { label: "unknown", texts: ["the gateway lacks events, so it does not know the payment's end"] };
  }
}

function keyText(keyId: string, name: string | null): string {
  return `by ${name === null ? keyId : `${name} (${keyId})`}`;
}

/** Payments of a claim in a text. `--json` has all. */
const SHOWN = 10;

const DELIVERY_TEXTS = {
  delivered: "delivered; its attempts are no longer stored",
  waiting: "not delivered yet",
  retrying: "failed; a retry is due",
  rejected: "rejected by the receiver",
  dead: "given up",
};

function attemptText(
  { attempt, outcome, statusCode, error, nextAttemptAt, isReplay }: Extract<Step, { step: "attempt" }>,
  day: string,
): string {
  const answer = statusCode === null ? error ?? "no answer" : `answered ${statusCode}`;
  const which = attempt > 1 ? `, attempt ${attempt}` : "";
  const next = nextAttemptAt === null ? "" : `; next ${timeText(nextAttemptAt, day)}`;
  const end = { delivered: "", retry: next, rejected: "; no retry", dead: "; given up" }[outcome];
  return `${answer}${which}${isReplay ? ", replay" : ""}${end}`;
}

/** The origin of the receiver, and the event. */
function ofEvent({ url, eventType }: { url: string; eventType: string }): string {
  return `${eventType} to ${new URL(url).host}`;
}

const AGAIN: Record<string, string> = {
  same: "Send the same envelope again.",
  prepare_again: "Prepare and sign it again.",
};

function refusalTexts({ message, retry, advice }: Refusal): string[] {
  const why = message.replace(/^transaction [0-9a-f]{64} (was rejected|failed in ledger \d+): /, "");
  if (advice === null) return [why, AGAIN[retry ?? ""] ?? ""];
  const isComplete = retry === "same" || /\bprepare/i.test(advice);
  return [why, `To let it pass: ${advice}${isComplete ? "" : " Then prepare and sign it again."}`];
}

function moneyText({ amount, amountUnits, asset, symbol }: Money): string {
  if (amountUnits !== null && symbol !== null) return `${amountUnits} ${symbol}`;
  return asset === null ? `${amount} of an unknown asset` : `${amount} of ${shortId(asset)}`;
}

/** `2026-01-31 12:00:05`, on this day `12:00:05`. */
function timeText(iso: string, day: string): string {
  const time = iso.slice(11, 19);
  return iso.startsWith(day) && day !== "" ? time : `${iso.slice(0, 10)} ${time}`;
}
