// @ts-check
/** @import { GatewayStatus } from "../../../status_response.ts" */
/** @import { PublicWebhook } from "../../../../webhooks/public_webhook.ts" */
import { get, isOutOfScope, keepLoading } from "../api.js";
import { failure, h } from "../dom.js";
import { ago, counted, grouped } from "../format.js";
import { failingFirst, isFailing, unknownSince } from "../health.js";
import { webhookLink } from "../links.js";
import { answer, note } from "./answer.js";

const EVERY_MS = 20_000;
const SHOWN = 5;

/**
 * Answers "Who fails?": this key's webhooks by name, and the number of other keys' endpoints.
 * @param {Element} place
 * @param {AbortSignal} signal
 * @param {boolean} isSandbox
 * @returns {(status: GatewayStatus) => void} takes the newest status
 */
export function watchWebhooks(place, signal, isSandbox) {
  /** The number of failing endpoints of all keys. */
  let inAll = 0;
  /** As of `unknownSince`. @type {string | undefined} */
  let since;
  /** @type {PublicWebhook[] | undefined} */
  let webhooks;

  function show() {
    if (webhooks === undefined) return;
    const failing = failingFirst(webhooks).filter(isFailing);
    const down = failing.filter(({ failingSince }) => failingSince !== null).length;
    const others = inAll > down
      ? note(`${counted(inAll - down, "endpoint")} of other keys ${inAll - down === 1 ? "fails" : "fail"}.`)
      : null;
    if (failing.length > 0) {
      const sentence = down > 0
        ? `${counted(down, "endpoint fails", "endpoints fail")}.`
        : `${counted(failing.length, "webhook")} missed events.`;
      const list = h("ul", { class: "rows" }, failing.slice(0, SHOWN).map(failingRow));
      answer(
        place,
        down > 0 ? "bad" : "doubt",
        sentence,
        list,
        h("p", {}, h("a", { href: "#/webhooks" }, "All webhooks")),
        others,
      );
    } else if (others !== null) answer(place, "doubt", "None of this key's webhooks.", others);
    else if (webhooks.length === 0) answer(place, "plain", "No webhook.", note("This key has no webhooks."));
    else if (since !== undefined) {
      answer(place, "doubt", `Not known${since}.`, note("Webhooks receive no event that the gateway has not read."));
    } else {
      const all = `This key's ${counted(webhooks.length, "webhook receives", "webhooks receive")} all events.`;
      answer(place, "good", "No webhook.", note(all));
    }
  }

  keepLoading({
    load: () => get("v1/webhooks"),
    show(/** @type {{ webhooks: PublicWebhook[] }} */ loaded) {
      webhooks = loaded.webhooks;
      show();
    },
    fail(error) {
      if (isOutOfScope(error)) answer(place, "plain", "Not shown.", note("This key lacks the scope webhooks."));
      else answer(place, "doubt", "The gateway does not answer.", failure(error));
    },
    everyMs: EVERY_MS,
    signal,
  });
  return (status) => {
    const before = [inAll, since];
    [inAll, since] = [status.deliveries.failingWebhooks, unknownSince(status, isSandbox)];
    if (inAll !== before[0] || since !== before[1]) show();
  };
}

/** @param {PublicWebhook} webhook */
function failingRow(webhook) {
  const { failingSince, retrying, rejected, dead } = webhook;
  const counts = [[retrying, "retrying"], [rejected, "rejected"], [dead, "dead"]].filter(([n]) => n);
  const since = failingSince !== null && h("small", { class: "bad" }, "failing since ", ago(failingSince));
  return h(
    "li",
    {},
    h("span", {}, webhookLink(webhook), since),
    h("span", { class: "end" }, counts.map(([n, state]) => h("small", {}, `${grouped(n ?? 0)} ${state}`))),
  );
}
