// @ts-check
/** @import { StreamGap } from "../../../events/stream.ts" */
/** @import { PublicEvent } from "../../../store/event.ts" */
import { ApiError, get, open, refused } from "./api.js";

/** Follows the gateway's live stream, once for the whole page. */

/** `away` means that the page is reconnecting. @typedef {"live" | "away"} State */

/**
 * @typedef {object} Listener
 * @property {(event: PublicEvent) => void} [event]
 * @property {(ledger: number) => void} [ledger] the latest ledger
 * @property {(state: State) => void} [state]
 * @property {(gaps: StreamGap[]) => void} [gaps] all gaps since the page follows the stream
 */

/** @type {Set<Listener>} */
const listeners = new Set();
/** @type {State} */
let state = "away";
let ledger = 0;
/** @type {StreamGap[]} */
let gaps = [];

const AGAIN_MS = 2_000;
/** A stream without a frame for this time is dead. Its heartbeat comes every few seconds. */
const SILENT_MS = 45_000;

/**
 * Calls the listener for each event until `signal` aborts, and at once with the present state.
 * @param {Listener} listener
 * @param {AbortSignal} signal
 */
export function listen(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
  listener.state?.(state);
  if (ledger > 0) listener.ledger?.(ledger);
  if (gaps.length > 0) listener.gaps?.(gaps);
}

/** @param {State} to */
function become(to) {
  if (to === state) return;
  state = to;
  for (const listener of listeners) listener.state?.(to);
}

/** @param {unknown} height */
function reach(height) {
  if (typeof height !== "number" || height <= ledger) return;
  ledger = height;
  for (const listener of listeners) listener.ledger?.(height);
}

/** @param {StreamGap[]} known */
function learnGaps(known) {
  gaps = known;
  for (const listener of listeners) listener.gaps?.(gaps);
}

/** Adds a gap. A gap that has grown replaces its smaller form. @param {StreamGap} gap */
function learnGap(gap) {
  learnGaps([...gaps.filter((known) => !isPartOf(known, gap)), gap]);
}

/** @param {StreamGap} gap @param {StreamGap} whole */
function isPartOf(gap, whole) {
  if (gap.reason === "not_held" || whole.reason === "not_held") return gap.reason === whole.reason;
  return gap.epoch === whole.epoch && whole.fromLedger <= gap.fromLedger && gap.toLedger <= whole.toLedger;
}

/** Follows the log from now on until `signal` aborts. @param {AbortSignal} signal */
export async function follow(signal) {
  ledger = 0;
  learnGaps([]);
  become("away");
  /** The cursor of the last frame. A reconnect with it misses nothing. */
  let cursor = "";
  while (!signal.aborted) {
    let waitMs = AGAIN_MS;
    try {
      if (cursor === "") cursor = await cursorOfNow(signal);
      await stream(cursor, signal, (last) => cursor = last);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status === 403) return;
      // The gateway refuses a cursor of another store. Begin again: the ledger of that network may be lower.
      if (error instanceof ApiError && error.status === 400) {
        cursor = "";
        ledger = 0;
        learnGaps([]);
      }
      if (error instanceof ApiError) waitMs = Math.max(waitMs, error.retryAfterSeconds * 1_000);
    }
    become("away");
    await pause(waitMs, signal);
  }
}

/** @param {AbortSignal} signal */
async function cursorOfNow(signal) {
  const { latestLedger } = await get("v1/events", { limit: 1, order: "desc" }, signal);
  const page = await get("v1/events", { fromLedger: latestLedger + 1, limit: 1 }, signal);
  reach(latestLedger);
  return page.cursor;
}

/** @param {PublicEvent} event */
function notify(event) {
  for (const listener of listeners) listener.event?.(event);
}

/**
 * Reads the stream to its end.
 * @param {string} cursor
 * @param {AbortSignal} signal
 * @param {(cursor: string) => void} onCursor
 */
async function stream(cursor, signal, onCursor) {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), SILENT_MS);
  try {
    const response = await open("GET", "v1/events/stream", {
      headers: { "Accept": "text/event-stream", "Last-Event-ID": cursor },
      signal: AbortSignal.any([signal, silent.signal]),
    });
    if (!response.ok || response.body === null) throw refused(response, await response.json().catch(() => undefined));
    become("live");
    // Each stream reports the open gaps again. It reports deleted events only once.
    learnGaps(gaps.filter(({ reason }) => reason === "not_held"));
    for await (const frame of frames(response.body)) {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENT_MS);
      if (frame.id !== "") onCursor(frame.id);
      if (frame.name === "") notify(JSON.parse(frame.data));
      else if (frame.name === "gap") learnGap(JSON.parse(frame.data));
      else if (frame.name === "revoked") return void await get("v1/network", {}, signal);
      else if (frame.name === "ledger" || frame.name === "caught_up") reach(JSON.parse(frame.data).latestLedger);
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The frames of server-sent events (HTML standard, §9.2): blocks of `field: value` lines with an empty line between them.
 * `EventSource` cannot send the key.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 */
async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const blocks = (rest + read.value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) yield frame(block);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** @param {string} block */
function frame(block) {
  const made = { id: "", name: "", data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "id") made.id = value ?? "";
    if (field === "event") made.name = value ?? "";
    if (field === "data") made.data += (made.data === "" ? "" : "\n") + value;
  }
  // A comment only keeps the connection open.
  return made.data === "" && made.name === "" ? { ...made, name: "comment" } : made;
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve(undefined);
    }, { once: true });
  });
}
