import type { PaymentChecker } from "../escrow/reads/payment_check.ts";
import type { EscrowReads } from "../escrow/reads/reads.ts";
import type { History } from "../events/history.ts";
import type { Subscriptions } from "../webhooks/subscriptions.ts";
import type { AnyRoute } from "./route.ts";
import { deviceRoutes } from "./routes/devices.ts";
import { eventRoutes } from "./routes/events.ts";
import { healthRoutes } from "./routes/health.ts";
import { merchantRoutes } from "./routes/merchants.ts";
import { type NetworkAnswer, networkRoutes } from "./routes/network.ts";
import { paymentRoutes } from "./routes/payments.ts";
import { type GatewayStatus, statusRoutes } from "./routes/status.ts";
import { type TransactionParts, transactionRoutes } from "./routes/transactions.ts";
import { walletRoutes } from "./routes/wallets.ts";
import { webhookRoutes } from "./routes/webhooks.ts";

/** What the routes are handed: one part a noun. */
export interface RouteParts {
  network(): NetworkAnswer;
  reads: EscrowReads;
  payments: PaymentChecker;
  transactions: TransactionParts;
  history: History;
  webhooks: Subscriptions;
  status(): Promise<GatewayStatus>;
}

/** Every endpoint of the gateway. */
export function allRoutes(parts: RouteParts): AnyRoute[] {
  return [
    ...healthRoutes(),
    ...networkRoutes(parts.network),
    ...deviceRoutes(parts.reads),
    ...walletRoutes(parts.reads),
    ...merchantRoutes(parts.reads),
    ...paymentRoutes(parts.payments),
    ...eventRoutes(parts.history),
    ...transactionRoutes(parts.transactions),
    ...webhookRoutes(parts.webhooks),
    ...statusRoutes(parts.status),
  ];
}

/** The routes without anything behind them: enough to describe them. */
export function describedRoutes(): AnyRoute[] {
  return allRoutes({} as RouteParts);
}
