// @ts-check
import { get, post, postOnce } from "./api.js";
import { button, failure, fill, h, say } from "./dom.js";
import { counted } from "./format.js";

/**
 * A form that replays past events: it counts them first, and sends them after a second click.
 * @param {string} webhookId
 * @param {() => void} onBegun
 */
export function replayForm(webhookId, onBegun) {
  const from = h("input", {
    id: "from",
    type: "number",
    min: 1,
    max: 4294967295,
    required: true,
    inputmode: "numeric",
  });
  const to = h("input", {
    id: "to",
    type: "number",
    min: 1,
    max: 4294967295,
    inputmode: "numeric",
    placeholder: "the newest",
  });
  const result = h("div");
  get("v1/events", { limit: 1 }).then(({ oldestLedger }) => from.value ||= String(oldestLedger ?? 1), () => {});

  /** The chosen range of ledgers. */
  function chosen() {
    return { fromLedger: Number(from.value), ...(to.value !== "" && { toLedger: Number(to.value) }) };
  }

  async function count() {
    const range = chosen();
    const isStale = () => JSON.stringify(range) !== JSON.stringify(chosen());
    const replay = postOnce(`v1/webhooks/${webhookId}/replay`);
    try {
      const { deliveries, atLeast } = await post(`v1/webhooks/${webhookId}/replay`, { ...range, dryRun: true });
      if (isStale()) return;
      const text = `${counted(deliveries, "delivery", "deliveries")}${atLeast ? " or more" : ""}`;
      if (deliveries === 0) {
        return fill(result, h("p", {}, "No event of these ledgers matches the webhook."));
      }
      fill(
        result,
        h("p", {}, `The replay sends ${text}.`),
        button(`Send ${text}`, () => begin(() => replay({ ...range, dryRun: false })), { class: "primary" }),
      );
      say(`The replay sends ${text}`);
    } catch (error) {
      if (!isStale()) fill(result, failure(error));
    }
  }

  /** @param {() => Promise<{ id: string, deliveries: number }>} send */
  async function begin(send) {
    try {
      const { id, deliveries } = await send();
      fill(
        result,
        h("p", { role: "status" }, `Replay ${id} is running: ${counted(deliveries, "delivery", "deliveries")}.`),
      );
      onBegun();
    } catch (error) {
      fill(result, failure(error));
    }
  }

  for (const input of [from, to]) input.addEventListener("input", () => fill(result));
  return h(
    "form",
    {
      class: "panel wide",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void count();
      },
    },
    h("h2", {}, "Replay"),
    h(
      "p",
      { class: "dim" },
      "Sends past events again, with their ids, so that a receiver can skip duplicates. A replay takes 10 requests of the key's rate.",
    ),
    h(
      "div",
      { class: "actions" },
      h("label", { for: "from" }, "From ledger"),
      from,
      h("label", { for: "to" }, "to"),
      to,
      h("button", { type: "submit" }, "Count first"),
    ),
    result,
  );
}
