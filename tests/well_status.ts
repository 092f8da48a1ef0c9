/** The status of deliveries when none is pending or failed. */
export const NOTHING_OWED = {
  pending: 0,
  atLeast: false,
  retrying: 0,
  rejected: 0,
  dead: 0,
  failingWebhooks: 0,
  oldestSeconds: null,
};

/** `GET /v1/status` of a gateway that is well. */
export const WELL_STATUS = {
  version: "1",
  startedAt: "2026-01-01T00:00:00Z",
  troubles: [],
  ledger: { sequence: 9, closedAt: "2026-01-01T00:00:00Z", lagSeconds: 0, clockDisagreesBySeconds: null },
  history: { epoch: 0, ranges: [], gaps: [], undecodedEvents: 0, unknownSince: null },
  contracts: [{ contract: "payment_escrow", id: "C", problem: null, checkedAt: null }],
  expiring: { payments: 0, merchants: 0, firstAt: null, complete: true },
  bypassMovements: { count: 0, last: null },
  reads: { device: "entries" },
  nodes: [{ node: "https://one", inUse: true, condition: "well", problem: null, lagSeconds: 0 }],
  deliveries: NOTHING_OWED,
};
