// @ts-check
import { get, post, postOnce } from "./api.js";
import { button, failure, fill, h, say } from "./dom.js";
import { counted } from "./format.js";

/**
 * Past events again: first how many that would be, then, when somebody says so, the sending.
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

  /** What is to be counted and sent. */
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
      const words = `${counted(deliveries, "delivery", "deliveries")}${atLeast ? " or more" : ""}`;
      if (deliveries === 0) {
        return fill(result, h("p", {}, "No event of these ledgers matches: nothing would be sent."));
      }
      fill(
        result,
        h("p", {}, `That makes ${words}.`),
        button(`Send ${words}`, () => begin(() => replay({ ...range, dryRun: false })), { class: "primary" }),
      );
      say(`That makes ${words}`);
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
        h("p", { role: "status" }, `Replay ${id} is under way: ${counted(deliveries, "delivery", "deliveries")}.`),
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
      "Sends past events again. Receivers know them by their ids: whoever deduplicates does nothing twice. It takes 10 requests of the key's rate.",
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
