const STATES = "lib/escrow/payments/payment_states.ts";
const ENTRIES = "lib/escrow/payments/payment_entries.ts";
const RETELLING = "lib/escrow/payments/retelling.ts";

/** Bugs of what became of payments, and of the books. */
export const IN_PAYMENTS = [
  {
    name: "a payment whose claim may be in a gap has expired",
    file: STATES,
    from: '  if (mayHideClaim(history, payment, ledger)) return { state: "unknown" };\n',
    to: "",
    seed: 3,
    focus: "claims",
  },
  {
    name: "the entry in a slot is a payment's, though a later payment wrote it",
    file: ENTRIES,
    from: "entry !== undefined && isEntryOf(payment, entryValue(entry.xdr, asPayment));",
    to: "entry !== undefined;",
    seed: 3,
    focus: "claims",
  },
  {
    name: "a reading that does not find a payment's entry shows it alive",
    file: RETELLING,
    from: "  if (absentAt === undefined) return { ...before, ledger,",
    to: "  if (absentAt === undefined) return { ...before, ledger, aliveAt: ledger,",
    seed: 10,
    focus: "claims",
  },
  {
    name: "that the end of a payment was announced is not kept",
    file: RETELLING,
    from: "  if (isAnnounced) row.isAnnounced = true;\n",
    to: "",
    seed: 1,
    focus: "claims",
  },
  {
    name: "a payment has expired before the ledger without its entry is settled",
    file: RETELLING,
    from: "settledLedger: state.settledLedger,",
    to: "settledLedger: state.scannedLedger,",
    seed: 10,
    focus: "claims",
  },
  {
    name: "a payment that is shown late is not decided by the claim that took it",
    file: RETELLING,
    from: 'const next = (await claims(to + 1, end, "asc")).sort(newestLedgerFirst).at(-1);',
    to: 'const next = (await claims(end + 1, end, "asc")).sort(newestLedgerFirst).at(-1);',
    seed: 23,
    focus: "claims",
  },
  {
    name: "the first claim of a merchant decides no earlier payments",
    file: RETELLING,
    from: "last === undefined ? begin : heightOfEvent(last);",
    to: "last === undefined ? from : heightOfEvent(last);",
    seed: 5,
    focus: "claims",
  },
  {
    name: "a payment stays unknown when the gap is filled",
    file: "lib/escrow/payments/projection.ts",
    from: '["pending", "unknown"] : ["unknown"];',
    to: '["pending", "unknown"] : ["pending"];',
    seed: 7,
    focus: "claims",
  },
  {
    name: "the books leave out what the log was shown late",
    file: "lib/escrow/books/log_balances.ts",
    from: "page.filter(({ contractId }) => contractId === paymentEscrow)",
    to:
      "page.filter(({ contractId, ledger }, at) => contractId === paymentEscrow && ledger >= (page[at - 1]?.ledger ?? 0))",
    seed: 4,
    focus: "claims",
  },
] as const;
