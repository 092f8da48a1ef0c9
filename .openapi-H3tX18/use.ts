import type { components, operations } from "./gateway.ts";
type Schemas = components["schemas"];

export function whoseMoney(event: Schemas["Event"]): string {
  switch (event.type) {
    case "payment.authorized":
      return event.merchant + event.amount;
    case "escrow.funded":
      return event.deviceHash + (event.asset ?? "");
    case "agent.registered":
      return event.agent;
    default:
      return event.id;
  }
}
export const query: operations["listEvents"]["parameters"]["query"] = { limit: 10, types: ["payment.claimed"] };
export const operation: Schemas["Operation"] = { kind: "claim", asset: "C" };
export function maxOf(device: Schemas["Device"]): string {
  return device.policy.maxAmount ?? "none";
}
export function mayRetry({ error }: Schemas["Error"]): boolean {
  return error.retry !== "never";
}
export const named: Schemas["ContractErrorName"] = "DuplicateAuth";
export const unnamed: Schemas["ErrorDetail"]["contractError"] = "#77";
export function again(status: Schemas["TransactionStatus"]): boolean {
  return status.retry === "prepare_again";
}
export type Webhook = Schemas["Webhook"];
export type Attempt = Schemas["Attempt"];
export type Delivery = Schemas["WebhookDelivery"];
// @ts-expect-error: there is no such event
export const guessed: Schemas["Event"]["type"] = "payment.guessed";
// @ts-expect-error: numbers are numbers
export const text: operations["listEvents"]["parameters"]["query"] = { limit: "10" };
// @ts-expect-error: no contract has such an error
export const misnamed: Schemas["ContractErrorName"] = "DoubleAuth";
// @ts-expect-error: this kind has no amount
export const wrong: Schemas["Operation"] = { kind: "claim", asset: "C", amount: "1" };
