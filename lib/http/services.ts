import type { TransactionStatus } from "../escrow/escrow.ts";
import type { AssetReader } from "../escrow/reads/asset_info.ts";
import type { PaymentChecker } from "../escrow/reads/payment_check.ts";
import type { EscrowReads } from "../escrow/reads/reads.ts";
import type { History } from "../events/history.ts";
import type { EventStreams } from "../events/streams.ts";
import type { Subscriptions } from "../webhooks/subscriptions.ts";
import type { TransactionIntents } from "./intents/transactions.ts";
import type { ReplayWebhook } from "./intents/replays.ts";
import type { CreateWebhook } from "./intents/webhooks.ts";
import type { NetworkAnswer } from "./routes/network.ts";
import type { GatewayStatus } from "./routes/status.ts";

/** What the handlers call: one part a noun. */
export interface Services {
  network(): NetworkAnswer;
  reads: EscrowReads;
  payments: PaymentChecker;
  assets: AssetReader;
  transactions: Omit<TransactionIntents, "status"> & {
    /** What became of a transaction. `signal`: aborted when the caller leaves before the answer. */
    status(hash: string, signal: AbortSignal): Promise<TransactionStatus>;
  };
  history: History;
  streams: Pick<EventStreams, "open">;
  webhooks: Omit<Subscriptions, "create" | "replay"> & { create: CreateWebhook; replay: ReplayWebhook };
  status(): Promise<GatewayStatus>;
}
