// @ts-check
/** @import { GatewayStatus } from "../../../status_response.ts" */
import { get, keepLoading } from "../api.js";
import { failure, fill, h, panel } from "../dom.js";
import { eventList } from "../event_views.js";
import { listen } from "../feed.js";
import { learnTime } from "../format.js";
import { gapNotes } from "../gap_notes.js";
import { answer, note } from "../overview/answer.js";
import { watchWebhooks } from "../overview/failing.js";
import { showHealth } from "../overview/healthy.js";
import { watchMoney } from "../overview/stuck.js";

const STATUS_MS = 10_000;

/** The first screen answers three questions: is it healthy, is money stuck, who fails? @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function overview({ session, signal }) {
  const healthy = panel("Is it healthy?");
  const stuck = panel("Is money stuck?");
  const failing = panel("Who fails?");
  const questions = h("div", { class: "questions" }, healthy.section, stuck.section, failing.section);
  const isSandbox = session.sandbox !== undefined;
  const updateFailing = watchWebhooks(failing.body, signal, isSandbox);
  if (session.network === undefined) {
    for (const { body } of [healthy, stuck]) {
      answer(body, "plain", "Not shown.", note("This key lacks the scope read."));
    }
    return { title: "Overview", content: [questions] };
  }
  const updateStuck = watchMoney(stuck.body, signal, isSandbox);
  keepLoading({
    load: () => get("v1/status"),
    show(/** @type {GatewayStatus} */ status) {
      const { closedAt, lagSeconds } = status.ledger;
      if (closedAt !== null) learnTime(closedAt, lagSeconds ?? 0);
      showHealth(healthy.body, status, isSandbox);
      updateStuck(status);
      updateFailing(status);
    },
    fail(error) {
      answer(healthy.body, "bad", "The gateway does not answer.", failure(error));
      updateStuck(undefined);
    },
    everyMs: STATUS_MS,
    signal,
  });
  return { title: "Overview", content: [questions, newest(signal)] };
}

/** The newest events. New ones come on top. @param {AbortSignal} signal */
function newest(signal) {
  const beside = h("a", { href: "#/events" }, "All events");
  const { section, body } = panel("Newest events", { class: "wide", beside });
  const list = eventList({}, signal, "No event yet.", { limit: 8, hasOlder: false });
  fill(body, gapNotes(signal), list.place);
  listen({ event: (event) => list.add(event) }, signal);
  return section;
}
