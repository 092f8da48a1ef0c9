// @ts-check
import { get, isMissing } from "../api.js";
import { facts, failure, fill, h, panel, tag } from "../dom.js";
import { eventList } from "../event_views.js";
import { grouped } from "../format.js";
import { wholeId } from "../links.js";

/** @type {Record<string, import("../dom.js").Tone>} */
const TONES = { success: "good", pending: "doubt", failed: "bad", rejected: "bad" };

/** A transaction: its outcome and its events. @param {import("../screens.js").Visit} visit @returns {import("../screens.js").Screen} */
export function transaction({ part: hash, signal }) {
  const outcome = panel("Outcome", { class: "wide" });
  const its = panel("Its events", { class: "wide" });
  get(`v1/transactions/${hash}`, {}, signal).then(
    ({ status, ledger, error }) =>
      fill(
        outcome.body,
        facts([
          ["Status", tag(TONES[status] ?? "plain", status)],
          ...(ledger === undefined ? [] : [/** @type {[string, string]} */ (["Ledger", grouped(ledger)])]),
          ...(error === undefined
            ? []
            : [/** @type {[string, string]} */ (["Why", typeof error === "string" ? error : error.message])]),
        ]),
      ),
    (error) =>
      signal.aborted ||
      fill(
        outcome.body,
        isMissing(error)
          ? h("p", { class: "dim" }, "Neither this gateway nor its node has this transaction.")
          : failure(error),
      ),
  );
  fill(its.body, eventList({ txHash: hash }, signal, "The history has no event of this transaction.").place);
  return {
    title: "Transaction",
    content: [h("p", {}, wholeId(hash, "transaction's hash")), outcome.section, its.section],
  };
}
