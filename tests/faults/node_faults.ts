import type { SeededRandom } from "./seeded_random.ts";

/** Stands between a gateway and its node. */
export type NodeFaults = (init: RequestInit, ask: () => Promise<Response>) => Promise<Response>;

export interface NodeFaultCounts {
  lostQuestions: number;
  unresolvedSubmissions: number;
  lies: number;
  lateTimes: number;
}

/** How often each is made, of all questions. */
const RATES = { lostQuestion: 0.01, lostAnswer: 0.015, hangs: 0.3, notFound: 0.05, aheadOfTime: 0.01 };
const FAR_AHEAD_SECONDS = 1_000;

/**
 * A connection that loses questions and answers, by breaking off or by hanging; and a node that now and then says once that
 * it does not know a transaction that it knows, or that a ledger has closed long after the last one.
 */
export function createNodeFaults(random: SeededRandom): { faults: NodeFaults; counts: NodeFaultCounts } {
  const counts: NodeFaultCounts = { lostQuestions: 0, unresolvedSubmissions: 0, lies: 0, lateTimes: 0 };
  /** Of these it has lied last time: nobody lies always. */
  const lied = new Set<string>();

  function lost(): Promise<Response> {
    return random.next() < RATES.hangs ? new Promise(() => {}) : Promise.reject(new TypeError("connection reset"));
  }

  const faults: NodeFaults = async (init, ask) => {
    const { method, params } = JSON.parse(String(init.body));
    const choice = random.next();
    if (choice < RATES.lostQuestion) {
      counts.lostQuestions += 1;
      return await lost();
    }
    const response = await ask();
    if (choice < RATES.lostQuestion + RATES.lostAnswer) {
      counts.unresolvedSubmissions += 1;
      return await lost();
    }
    if (method !== "getTransaction") return response;
    const answer = await response.json();
    const { result } = answer;
    const isKnown = result?.status === "SUCCESS" || result?.status === "FAILED";
    if (isKnown && random.next() < RATES.notFound && !lied.has(params.hash)) {
      counts.lies += 1;
      lied.add(params.hash);
      const { latestLedger, latestLedgerCloseTime, oldestLedger, oldestLedgerCloseTime } = result;
      const ledgers = { latestLedger, latestLedgerCloseTime, oldestLedger, oldestLedgerCloseTime };
      answer.result = { status: "NOT_FOUND", txHash: params.hash, ...ledgers };
    } else if (isKnown) {
      lied.delete(params.hash);
    } else if (random.next() < RATES.aheadOfTime) {
      counts.lateTimes += 1;
      result.latestLedgerCloseTime = String(Number(result.latestLedgerCloseTime) + FAR_AHEAD_SECONDS);
    }
    return Response.json(answer, { status: response.status });
  };
  return { faults, counts };
}
