// @ts-check
/** @import { StreamGap } from "../../../events/stream.ts" */
import { fill, h } from "./dom.js";
import { listen } from "./feed.js";
import { grouped } from "./format.js";
import { findings } from "./overview/answer.js";

/** Which events a live list may lack, for who looks at it; nothing while it lacks none. @param {AbortSignal} signal */
export function gapNotes(signal) {
  const place = h("div", { role: "status" });
  listen({ gaps: (gaps) => fill(place, findings(gaps.map((gap) => ({ tone: "doubt", text: worded(gap) })))) }, signal);
  return place;
}

/** @param {StreamGap} gap */
function worded(gap) {
  if (gap.reason === "not_read") {
    const ledgers = `${grouped(gap.fromLedger)} to ${grouped(gap.toLedger)}`;
    return `Events of ledgers ${ledgers} may be missing: no node could be asked for them. They come late, or never.`;
  }
  const which = gap.oldestLedger === null ? "Events" : `Events of before ledger ${grouped(gap.oldestLedger)}`;
  return `${which} were forgotten before they could be shown here.`;
}
