// @ts-check
/** @import { StreamGap } from "../../../events/stream.ts" */
import { fill, h } from "./dom.js";
import { listen } from "./feed.js";
import { grouped } from "./format.js";
import { findings } from "./overview/answer.js";

/** Notes on events that a live list may lack; empty while it lacks none. @param {AbortSignal} signal */
export function gapNotes(signal) {
  const place = h("div", { role: "status" });
  listen({ gaps: (gaps) => fill(place, findings(gaps.map((gap) => ({ tone: "doubt", text: worded(gap) })))) }, signal);
  return place;
}

/** @param {StreamGap} gap */
function worded(gap) {
  if (gap.reason === "not_read") {
    const ledgers = `${grouped(gap.fromLedger)} to ${grouped(gap.toLedger)}`;
    return `Events of ledgers ${ledgers} may be missing, because the gateway could not read them from a node. They come late, or never.`;
  }
  const which = gap.oldestLedger === null ? "events" : `events before ledger ${grouped(gap.oldestLedger)}`;
  return `The retention job deleted ${which} before this page could show them.`;
}
