// @ts-check
/** @import { GatewayStatus } from "../../../status_response.ts" */
import { facts } from "../dom.js";
import { ago, counted, grouped, span } from "../format.js";
import { troublesOf } from "../health.js";
import { answer, findings, worstOf } from "./answer.js";

/**
 * Answers "Is it healthy?".
 * @param {Element} place
 * @param {GatewayStatus} status
 * @param {boolean} isSandbox
 */
export function showHealth(place, status, isSandbox) {
  const found = troublesOf(status, isSandbox);
  const worst = worstOf(found);
  const sentence = worst === "bad" ? "No." : `Yes, with ${counted(found.length, "warning")}.`;
  if (found.length === 0) answer(place, "good", "Yes.", standing(status));
  else answer(place, worst, sentence, findings(found), standing(status));
}

/** @param {GatewayStatus} status */
function standing({ ledger, nodes, history, deliveries, version, startedAt }) {
  const { pending, atLeast, oldestSeconds } = deliveries;
  const since = oldestSeconds ? `, the oldest for ${span(oldestSeconds)}` : "";
  return facts([
    ["Newest ledger", ledger.closedAt ? [grouped(ledger.sequence), ", closed ", ago(ledger.closedAt)] : "none yet"],
    ["Node", nodeInUse(nodes)],
    ["History", held(history)],
    ["Deliveries waiting", `${grouped(pending)}${atLeast ? " or more" : ""}${since}`],
    ["Running", [`version ${version}, started `, ago(startedAt)]],
  ]);
}

/** @param {GatewayStatus["nodes"]} nodes */
function nodeInUse(nodes) {
  const inUse = nodes.find((node) => node.inUse) ?? nodes[0];
  if (inUse === undefined) return "none";
  const name = inUse.node.replace(/^https?:\/\//, "");
  const well = nodes.filter(({ condition }) => condition === "well").length;
  return nodes.length === 1 ? name : `${name}, ${well} of ${nodes.length} well`;
}

/** @param {GatewayStatus["history"]} history */
function held({ ranges: [first], gaps }) {
  if (first === undefined) return "none yet";
  return `from ledger ${grouped(first.fromLedger)}, ${gaps.length === 0 ? "no gaps" : counted(gaps.length, "gap")}`;
}
