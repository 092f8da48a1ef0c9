// @ts-check
/** @import { PublicAttempt, PublicWebhook } from "../../../../webhooks/public_webhook.ts" */
import { get, post } from "../api.js";
import { button, facts, failure, fill, h, moreButton, panel, say, tableRow } from "../dom.js";
import { attemptDetails } from "../attempt_view.js";
import { outcomeTag } from "../deliveries.js";
import { ago, grouped, msOf, nowMs, timeLeft } from "../format.js";
import { accountLink, cardLink } from "../links.js";
import { listen } from "../feed.js";
import { replayForm } from "../replay_form.js";
import { condition } from "./webhooks.js";

const PAGE = 50;
/** The pause between an event and the reload, in which the gateway makes and stores the attempt. */
const AFTER_EVENT_MS = 1_500;
const HEADINGS = ["When", "Outcome", "Event", "Attempt", "Took", "Next", ""];

/** A webhook with its deliveries. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function webhook({ part: id, signal }) {
  const about = panel("State", { class: "wide" });
  const onlyFailed = h("input", { type: "checkbox", id: "only-failed" });
  const sent = panel("Deliveries, the newest first", {
    class: "wide",
    beside: h("label", { class: "choice", for: "only-failed" }, onlyFailed, " Only failed"),
  });
  const acting = h("div", { class: "acting" });

  /** Whether the reader loaded older attempts. */
  let isFarBack = false;

  /** Whether the reader has details open or loaded older attempts. The list then stays as it is. */
  function isRead() {
    return isFarBack || sent.body.querySelector(".more") !== null;
  }

  /** @param {() => boolean} [keepsList] */
  async function load(keepsList = () => false) {
    try {
      /** @type {PublicWebhook} */
      const found = await get(`v1/webhooks/${id}`, {}, signal);
      fill(about.body, webhookFacts(found), actions(found));
      if (!keepsList()) await list();
    } catch (error) {
      if (signal.aborted) return;
      fill(about.body, failure(error));
      if (!keepsList()) fill(sent.body);
    }
  }

  /** @param {PublicWebhook} found */
  function actions(found) {
    const test = button("Send a test event", async () => {
      test.disabled = true;
      await run(async () => {
        const { attempt } = await post(`v1/webhooks/${id}/test`);
        return [
          h("p", {}, "The test event: ", outcomeTag(attempt)),
          attemptDetails(found.id, attempt, () => void load()),
        ];
      });
      test.disabled = false;
    });
    const replay = button("Replay …", () => fill(acting, replayForm(id, () => void load())));
    return h("div", { class: "actions" }, test, replay);
  }

  /** Runs an action and shows its result. @param {() => Promise<import("../dom.js").Child[]>} act */
  async function run(act) {
    try {
      fill(acting, ...await act());
      say("Done");
      await load();
    } catch (error) {
      fill(acting, failure(error));
    }
  }

  async function list() {
    const rows = h("tbody");
    const older = moreButton("Older attempts", more);
    const attempts = attemptTable(rows);
    const none = h(
      "p",
      { class: "dim" },
      onlyFailed.checked ? "None of the newest failed." : "The gateway has sent nothing yet.",
    );
    /** @type {string | undefined} */
    let cursor;
    async function more() {
      /** @type {{ deliveries: PublicAttempt[], cursor: string | null }} */
      const page = await get(`v1/webhooks/${id}/deliveries`, { limit: PAGE, cursor }, signal);
      isFarBack = cursor !== undefined;
      cursor = page.cursor ?? undefined;
      const wanted = page.deliveries.filter(({ outcome }) => !onlyFailed.checked || outcome !== "delivered");
      rows.append(...wanted.map((attempt) => attemptRow(id, attempt, () => void load())));
      attempts.hidden = rows.childElementCount === 0;
      none.hidden = !attempts.hidden;
      older.hidden = page.cursor === null;
    }
    await more();
    fill(sent.body, none, attempts, older);
  }

  onlyFailed.addEventListener("change", () => list().catch((error) => fill(sent.body, failure(error))));
  void load();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  listen({
    event() {
      // Events may come without a pause, so the first one starts the timer.
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!signal.aborted) void load(isRead);
      }, AFTER_EVENT_MS);
    },
  }, signal);
  return { title: "Webhook", content: [about.section, acting, sent.section] };
}

/** @param {PublicWebhook} webhook */
function webhookFacts(webhook) {
  const { id, url, types, deviceHash, merchant, ordered, createdAt, retrying, rejected, dead, previousSecretUntil } =
    webhook;
  const counts = [[retrying, "retrying"], [rejected, "rejected"], [dead, "dead"]].filter(([n]) => n).map((
    [n, state],
  ) => `${grouped(n ?? 0)} ${state}`);
  /** @type {[string, import("../dom.js").Child][]} */
  const rows = [
    ["URL", h("code", {}, url)],
    ["State", [condition(webhook), counts.length > 0 && ` ${counts.join(", ")}`]],
    ["Receives", types === null ? "all events" : types.join(", ")],
  ];
  if (deviceHash !== null) rows.push(["Only card", cardLink(deviceHash)]);
  if (merchant !== null) rows.push(["Only merchant", accountLink(merchant)]);
  if (ordered) rows.push(["Order", "strictly one at a time"]);
  if (previousSecretUntil !== null) rows.push(["Former secret", ["also signs, ", timeLeft(previousSecretUntil)]]);
  rows.push(["Id", h("code", {}, id)], ["Created", ago(createdAt)]);
  return facts(rows);
}

/** @param {HTMLElement} rows */
function attemptTable(rows) {
  return h(
    "table",
    { class: "attempts" },
    h("caption", { class: "unseen" }, "Attempts to deliver"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        HEADINGS.map((heading) => h("th", { scope: "col" }, heading || h("span", { class: "unseen" }, "Details"))),
      ),
    ),
    rows,
  );
}

/**
 * @param {string} webhookId
 * @param {PublicAttempt} attempt
 * @param {() => void} onSent
 */
function attemptRow(webhookId, attempt, onSent) {
  const open = button("Details", () => {
    const isOpen = open.getAttribute("aria-expanded") === "true";
    open.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) row.nextElementSibling?.remove();
    else {row.after(
        h("tr", { class: "more" }, h("td", { colspan: HEADINGS.length }, attemptDetails(webhookId, attempt, onSent))),
      );}
  }, { class: "small quiet", "aria-expanded": "false", "aria-label": `Details of attempt ${attempt.id}` });
  const row = tableRow(HEADINGS, [
    ago(attempt.at),
    outcomeTag(attempt),
    attempt.eventType,
    attempt.attempt === 0 ? "probe" : attempt.attempt,
    `${grouped(attempt.durationMs)} ms`,
    attempt.nextAttemptAt === null || msOf(attempt.nextAttemptAt) < nowMs() ? null : ago(attempt.nextAttemptAt),
    open,
  ]);
  return row;
}
