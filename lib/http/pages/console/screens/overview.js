// @ts-check
/** @import { GatewayStatus } from "../../../routes/status.ts" */
/** @import { PublicWebhook } from "../../../../webhooks/public_webhook.ts" */
import { get, isOutOfScope, keepLoading } from "../api.js";
import { amountOf } from "../assets.js";
import { facts, failure, fill, h, panel } from "../dom.js";
import { eventList } from "../event_views.js";
import { listen } from "../feed.js";
import { ago, counted, grouped, learnTime, span, timeLeft } from "../format.js";
import { failingFirst, isFailing, stuckDeliveries, troublesOf } from "../health.js";
import { accountLink, webhookLink } from "../links.js";
import { firstLost, loadWaiting, pressing } from "../pending.js";

const STATUS_MS = 10_000;
const WEBHOOKS_MS = 20_000;
const MONEY_MS = 60_000;
/** What a payment's event changes is asked for so long after it, and with it what others change meanwhile. */
const AFTER_EVENT_MS = 1_500;
const MERCHANTS_SHOWN = 5;

/** The first screen: is it healthy, is money stuck, who fails. @param {import("../main.js").Visit} visit @returns {import("../main.js").Screen} */
export function overview(visit) {
  const healthy = panel("Is it healthy?");
  const stuck = panel("Is money stuck?");
  const failing = panel("Who fails?");
  const questions = h("div", { class: "questions" }, healthy.section, stuck.section, failing.section);
  if (visit.session.network === undefined) {
    for (const { body } of [healthy, stuck]) fill(body, h("p", { class: "dim" }, "This key has no scope read."));
    watchWebhooks(failing.body, visit);
    return { title: "Overview", content: [questions] };
  }
  const deliveries = watchStatus(healthy.body, visit);
  watchMoney(stuck.body, visit, deliveries);
  watchWebhooks(failing.body, visit);
  return { title: "Overview", content: [questions, newest(visit)] };
}

/**
 * A question's answer: one sentence that is read first, and what it rests on.
 * @param {Element} place
 * @param {import("../dom.js").Tone} tone
 * @param {string} sentence
 * @param {...import("../dom.js").Child} rest
 */
function answer(place, tone, sentence, ...rest) {
  fill(place, h("p", { class: `answer ${tone}` }, sentence), ...rest);
}

/** @param {import("../health.js").Finding[]} found */
function findings(found) {
  return found.length === 0
    ? null
    : h("ul", { class: "findings" }, found.map(({ tone, text }) => h("li", { class: tone }, text)));
}

/** @param {Element} place @param {import("../main.js").Visit} visit @returns {{ stuck: import("../health.js").Finding[] }} what the next question needs of it */
function watchStatus(place, { session, signal }) {
  /** @type {{ stuck: import("../health.js").Finding[] }} */
  const deliveries = { stuck: [] };
  keepLoading({
    load: () => get("v1/status"),
    show(/** @type {GatewayStatus} */ status) {
      deliveries.stuck = stuckDeliveries(status.deliveries);
      const { ledger } = status;
      if (ledger.closedAt !== null) learnTime(ledger.closedAt, ledger.lagSeconds ?? 0);
      const found = troublesOf(status, session.sandbox !== undefined);
      const isBad = found.some(({ tone }) => tone === "bad");
      const words = isBad ? "No." : `Yes, but for ${counted(found.length, "thing")}.`;
      if (found.length === 0) answer(place, "good", "Yes.", standing(status));
      else answer(place, isBad ? "bad" : "doubt", words, findings(found), standing(status));
    },
    fail: (error) => answer(place, "bad", "It does not say.", failure(error)),
    everyMs: STATUS_MS,
    signal,
  });
  return deliveries;
}

/** @param {GatewayStatus} status */
function standing({ ledger, nodes, history, deliveries, version, startedAt }) {
  const first = history.ranges[0];
  const inUse = nodes.find((node) => node.inUse) ?? nodes[0];
  return facts([
    [
      "Newest ledger",
      ledger.closedAt === null ? "none yet" : [grouped(ledger.sequence), ", closed ", ago(ledger.closedAt)],
    ],
    [
      "Node",
      inUse === undefined
        ? "none"
        : `${inUse.node.replace(/^https?:\/\//, "")}${
          nodes.length > 1
            ? `, ${nodes.filter(({ condition }) => condition === "well").length} of ${nodes.length} well`
            : ""
        }`,
    ],
    [
      "History",
      first === undefined
        ? "none yet"
        : `from ledger ${grouped(first.fromLedger)}${
          history.gaps.length === 0 ? ", no gaps" : `, ${counted(history.gaps.length, "gap")}`
        }`,
    ],
    [
      "Deliveries waiting",
      `${grouped(deliveries.pending)}${deliveries.atLeast ? " or more" : ""}${
        deliveries.oldestSeconds ? `, the oldest for ${span(deliveries.oldestSeconds)}` : ""
      }`,
    ],
    ["Running", [`version ${version}, started `, ago(startedAt)]],
  ]);
}

/**
 * @param {Element} place
 * @param {import("../main.js").Visit} visit
 * @param {{ stuck: import("../health.js").Finding[] }} deliveries
 */
function watchMoney(place, { signal }, deliveries) {
  const again = keepLoading({
    load: () => loadWaiting(MERCHANTS_SHOWN),
    show({ waiting, more }) {
      const soon = waiting.filter(({ pending }) => pressing(firstLost(pending)) !== "good");
      const isBad = waiting.some(({ pending }) => pressing(firstLost(pending)) === "bad");
      const list = waiting.length === 0 ? null : h("ul", { class: "rows" }, waiting.map(waitingRow));
      const others = more > 0 &&
        h(
          "p",
          { class: "dim" },
          `and ${counted(more, "merchant")} more: `,
          h("a", { href: "#/payments" }, "all payments"),
        );
      const told = findings(deliveries.stuck);
      if (soon.length > 0) {
        answer(
          place,
          isBad ? "bad" : "doubt",
          `${counted(soon.length, "merchant")} should claim soon.`,
          told,
          list,
          others,
        );
      } else if (deliveries.stuck.length > 0) answer(place, "doubt", "No money, but news of it.", told, list, others);
      else if (waiting.length > 0) {
        answer(
          place,
          "good",
          "No.",
          h("p", { class: "dim" }, `${counted(waiting.length + more, "merchant")} can claim:`),
          list,
          others,
        );
      } else {answer(
          place,
          "good",
          "No.",
          h("p", { class: "dim" }, "Every payment of the newest 500 events was claimed."),
        );}
    },
    fail: (error) => answer(place, "doubt", "It does not say.", failure(error)),
    everyMs: MONEY_MS,
    signal,
  });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  listen({
    event({ type }) {
      if (!type.startsWith("payment.") || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        again();
      }, AFTER_EVENT_MS);
    },
  }, signal);
}

/** @param {import("../pending.js").Waiting} one */
function waitingRow({ merchant, asset, since, pending }) {
  const lost = firstLost(pending);
  return h(
    "li",
    {},
    h("span", {}, accountLink(merchant), h("small", { class: "dim" }, "waits since ", ago(since))),
    h(
      "span",
      { class: "end" },
      amountOf(pending.pending, asset),
      lost !== undefined && h("small", { class: pressing(lost) }, timeLeft(lost / 1_000)),
    ),
  );
}

/** @param {Element} place @param {import("../main.js").Visit} visit */
function watchWebhooks(place, { signal }) {
  keepLoading({
    load: () => get("v1/webhooks"),
    show(/** @type {{ webhooks: PublicWebhook[] }} */ { webhooks }) {
      const failing = failingFirst(webhooks).filter(isFailing);
      const down = failing.filter(({ failingSince }) => failingSince !== null);
      if (webhooks.length === 0) {
        return answer(place, "plain", "Nobody.", h("p", { class: "dim" }, "This key has no webhooks."));
      }
      if (failing.length === 0) {
        return answer(
          place,
          "good",
          "Nobody.",
          h(
            "p",
            { class: "dim" },
            `This key's ${counted(webhooks.length, "webhook takes", "webhooks take")} what they are sent.`,
          ),
        );
      }
      const sentence = down.length > 0
        ? `${counted(down.length, "endpoint fails", "endpoints fail")}.`
        : `${counted(failing.length, "webhook")} missed something.`;
      answer(
        place,
        down.length > 0 ? "bad" : "doubt",
        sentence,
        h("ul", { class: "rows" }, failing.slice(0, 5).map(failingRow)),
        h("p", {}, h("a", { href: "#/webhooks" }, "All webhooks")),
      );
    },
    fail: (error) =>
      isOutOfScope(error)
        ? answer(place, "plain", "Not shown.", h("p", { class: "dim" }, "This key has no scope webhooks."))
        : answer(place, "doubt", "It does not say.", failure(error)),
    everyMs: WEBHOOKS_MS,
    signal,
  });
}

/** @param {PublicWebhook} webhook */
function failingRow(webhook) {
  const { failingSince, retrying, rejected, dead } = webhook;
  const counts = [[retrying, "to be tried again"], [rejected, "rejected"], [dead, "given up"]].filter(([n]) => n);
  return h(
    "li",
    {},
    h(
      "span",
      {},
      webhookLink(webhook),
      failingSince !== null && h("small", { class: "bad" }, "failing since ", ago(failingSince)),
    ),
    h("span", { class: "end" }, counts.map(([n, words]) => h("small", {}, `${grouped(n ?? 0)} ${words}`))),
  );
}

/** The newest events; those that come are put on top. @param {import("../main.js").Visit} visit */
function newest({ signal }) {
  const { section, body } = panel("Newest events", {
    class: "wide",
    beside: h("a", { href: "#/events" }, "All events"),
  });
  const list = eventList({}, signal, "No event yet.", { limit: 8, hasOlder: false });
  fill(body, list.place);
  listen({ event: (event) => list.add(event) }, signal);
  return section;
}
