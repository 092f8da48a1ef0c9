import type { Attempt, Backlog, Subscription } from "../lib/store/webhook_store.ts";

/** A kind of line: one piece of text for each column. Widths are fixed: the whole list is never in memory. */
export interface Columns {
  headings: string[];
  widths: number[];
}

export const WEBHOOK_COLUMNS: Columns = {
  headings: ["ID", "KEY", "URL", "HEARS", "CREATED", "PENDING", "DEAD"],
  widths: [27, 14, 42, 32, 18, 9, 6],
};

export const ATTEMPT_COLUMNS: Columns = {
  headings: ["AT", "OUTCOME", "STATUS", "TOOK", "ATTEMPT", "TYPE", "EVENT", "NEXT", "ERROR"],
  widths: [21, 11, 8, 10, 9, 20, 33, 21, 40],
};

/** The head of a table for eyes. */
export function tableHead({ headings, widths }: Columns): string {
  return aligned(headings, widths);
}

/** A line of a table for eyes: what is too long is cut, times are UTC without fractions. */
export function tableLine(texts: string[], { widths }: Columns): string {
  const shortened = texts.map((text, i) => {
    const readable = text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d+Z$/, "$1 $2");
    const room = widths[i]! - 2;
    return readable.length > room ? readable.slice(0, room - 1) + "…" : readable;
  });
  return aligned(shortened, widths);
}

/** A line of plain columns, with tabs between them. */
export function plainLine(texts: string[]): string {
  return texts.map((text) => text.replace(/[\t\r\n]+/g, " ")).join("\t") + "\n";
}

export function webhookTexts(subscription: Subscription, { pending, dead }: Backlog): string[] {
  const { id, keyId, url, createdAt } = subscription;
  return [id, keyId, url, filterText(subscription), createdAt, String(pending), String(dead)];
}

export function webhookJson(subscription: Subscription, { pending, dead }: Backlog): string {
  const { id, keyId, url, types, deviceHash, merchant, createdAt } = subscription;
  return JSON.stringify({ id, keyId, url, types, deviceHash, merchant, createdAt, pending, dead }) + "\n";
}

export function attemptTexts(attempt: Attempt): string[] {
  const { atMs, outcome, statusCode, durationMs, number, eventType, eventId, nextAttemptAtMs, error } = attempt;
  return [
    isoTime(atMs),
    outcome,
    statusCode === null ? "-" : String(statusCode),
    `${Math.round(durationMs)} ms`,
    String(number),
    eventType,
    eventId,
    nextAttemptAtMs === null ? "-" : isoTime(nextAttemptAtMs),
    error ?? "-",
  ];
}

export function attemptJson({ atMs, nextAttemptAtMs, number, subscriptionId: _, ...rest }: Attempt): string {
  const nextAttemptAt = nextAttemptAtMs === null ? null : isoTime(nextAttemptAtMs);
  return JSON.stringify({ ...rest, attempt: number, at: isoTime(atMs), nextAttemptAt }) + "\n";
}

function filterText({ types, deviceHash, merchant }: Subscription): string {
  const parts = [
    ...(types ?? []),
    ...(deviceHash === null ? [] : [`device ${deviceHash}`]),
    ...(merchant === null ? [] : [`merchant ${merchant}`]),
  ];
  return parts.length === 0 ? "everything" : parts.join(", ");
}

function aligned(texts: string[], widths: number[]): string {
  return texts.map((text, i) => text.padEnd(widths[i]!)).join("").trimEnd() + "\n";
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
