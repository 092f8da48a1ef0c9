import { Keypair } from "@stellar/stellar-sdk";
import { formatEventId } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import { MAX_PAYMENT_ROWS, type StoredPayment } from "../../lib/store/payment.ts";
import type { SandboxInfo } from "../e2e/sandbox_process.ts";
import { watcherLease } from "../store/samples.ts";
import type { RuntimeName } from "./processes.ts";

/** A store of many payments, to measure on. */
export interface PaymentsBench {
  root: string;
  runtime: RuntimeName;
  /** `sqlite` or `PostgreSQL`. */
  kind: string;
  store: string;
  payments: number;
  rounds: number;
  /** The network of the store. */
  info: SandboxInfo;
}

const [PAYMENTS_PER_CARD, PAYMENTS_PER_MERCHANT] = [100, 1_000];
const FIRST_SECONDS = 1_750_000_000;
/** The sandbox does not reach it, so none of its own payments has the id of one of these. */
const FIRST_LEDGER = 1_000_000;

/** What lists of the payments of a filled store are asked for. */
export interface FilledStore {
  /** Authorisation of the payment in the middle, Unix seconds. */
  middleSeconds: number;
  /** One value of each subject. */
  merchant: string;
  deviceHash: string;
  agent: string;
}

/** Fills a store with so many claimed payments, one a second. */
export async function fillWithPayments(
  setting: string,
  payments: number,
  { contracts, asset, accounts }: SandboxInfo,
): Promise<FilledStore> {
  const cards = payments / PAYMENTS_PER_CARD;
  const merchants = Array.from({ length: payments / PAYMENTS_PER_MERCHANT }, () => Keypair.random().publicKey());
  const store = await openStore(setting);
  const lease = await watcherLease(store);
  const paymentOf = (n: number): StoredPayment => {
    const ledger = FIRST_LEDGER + n;
    return {
      id: formatEventId({ epoch: 0, ledger, order: 4_096, index: 0 }),
      state: "claimed",
      contractId: contracts.paymentEscrow,
      ledger,
      authorizedAt: FIRST_SECONDS + n,
      txHash: n.toString(16).padStart(64, "a"),
      deviceHash: (n % cards).toString(16).padStart(64, "c"),
      merchant: merchants[n % merchants.length]!,
      amount: String(1_000_000 + n),
      agent: accounts.agent.address,
      asset,
      expiresAtLedger: ledger + 17_280,
      claim: {
        eventId: formatEventId({ epoch: 0, ledger: ledger + 50, order: 4_096, index: 0 }),
        txHash: n.toString(16).padStart(64, "b"),
        ledger: ledger + 50,
        claimedAt: FIRST_SECONDS + 250 + n,
        asset,
      },
    };
  };
  try {
    for (let n = 0; n < payments; n += MAX_PAYMENT_ROWS) {
      const rows = Array.from({ length: Math.min(MAX_PAYMENT_ROWS, payments - n) }, (_, at) => paymentOf(n + at));
      await store.payments.commit({ lease, rows });
      if (n % 1_000 === 0) await store.leases.renew([lease], 60_000);
    }
    const { merchant, deviceHash, agent = "" } = paymentOf(0);
    return { middleSeconds: FIRST_SECONDS + Math.floor(payments / 2), merchant, deviceHash, agent };
  } finally {
    await store.leases.release([lease]);
    await store.close();
  }
}
