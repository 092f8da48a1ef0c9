// Made by tests/client/make_api_types.ts from the schemas that the gateway checks requests and answers with: not to be
// edited. tests/client/api_types_test.ts says when it is no longer what they say.

/** Takes its place in a query as text; a list with commas between. */
export type QueryValue = string | number | readonly string[];

export type AgentRegistered = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "agent.registered";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent of the card: an account (G…) or a contract (C…). */
  agent: string;
  /** Contract id (C…) of the policy's asset; null when the gateway could not read it. */
  asset?: string | null;
};

export type AgentRevoked = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "agent.revoked";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
};

export type Asset = {
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Symbol of the asset, native for the network's own. A token's symbol proves nothing about the token. */
  symbol: string;
  /** Name of the asset, CODE:ISSUER for an issued asset. */
  name: string;
  /** Digits after the decimal point in one unit of the asset. */
  decimals: number;
};

export type Attempt = {
  /** Id of the attempt: a decimal string. */
  id: string;
  /** Id of the event; a test event's begins with test-. */
  eventId: string;
  /** Type of the event, webhook.test for a test event. */
  eventType: string;
  /** Id of the delivery: the event's id, in a replay followed by a colon and the replay's id. Null for a test event. */
  deliveryId: string | null;
  /** Number of the attempt in its delivery, from 1; 0 for an attempt that only checked whether a failing endpoint is back. */
  attempt: number;
  /** Start of the attempt, UTC. */
  at: string;
  /** Duration of the attempt in milliseconds. */
  durationMs: number;
  /** `rejected`: the receiver's response ended the retries. `dead`: the gateway stopped retrying. The gateway stores both, and can replay them. */
  outcome: "delivered" | "retry" | "rejected" | "dead";
  /** HTTP status of the receiver's response; null without a response. */
  statusCode: number | null;
  /** Why the attempt failed, for people; null after a success. */
  error: string | null;
  /** Beginning of the response's body; null when the gateway stored none. */
  responseBody: string | null;
  nextAttemptAt: string | null;
};

export type AttemptPage = {
  /** The attempts, newest first. */
  deliveries: (Attempt)[];
  /** Cursor of the next page, with older attempts; null on the last page. */
  cursor: string | null;
};

export type AuthorizeOperation = {
  /** Kind of the operation. */
  kind: "authorize";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Merchant that may claim the payment: an account (G… with its checksum). */
  merchant: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1. */
  amount: string;
  /** Number of the payment, above the previous payment's: a decimal string from 1 to 2^64 − 1. The gateway fills in the next number when nonce is absent. */
  nonce?: string;
};

export type ClaimOperation = {
  /** Kind of the operation. */
  kind: "claim";
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
};

export type ContractErrorName = "AlreadyInitialized" | "DeviceNotFound" | "NotOwner" | "AlreadyRegistered" | "AgentNotFound" | "InvalidPolicy" | "InsufficientBalance" | "AgentNotAuthorized" | "NotDeviceOwner" | "NothingToClaim" | "DuplicateAuth" | "AgentStillActive" | "DeviceNotRegistered" | "OperationNotSupportedError" | "AlreadyInitializedError" | "UnauthorizedError" | "AuthenticationError" | "AccountMissingError" | "AccountIsNotClassic" | "NegativeAmountError" | "AllowanceError" | "BalanceError" | "BalanceDeauthorizedError" | "OverflowError" | "TrustlineMissingError" | "InsufficientAccountReserve" | "TooManyAccountSubentries";

export type DefundEscrowOperation = {
  /** Kind of the operation. */
  kind: "defundEscrow";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1. */
  amount: string;
};

export type Deleted = {
  /** Always true. */
  deleted: true;
};

export type Device = {
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Owner of the card: an account (G…) or a contract (C…). */
  owner: string;
  policy: DevicePolicy;
  /** Balance of the card's escrow, in the asset's smallest unit: a decimal string. */
  escrowBalance: string;
};

export type DevicePolicy = {
  agent: string | null;
  maxAmount: string | null;
  asset: string | null;
  /** End of the policy in Unix seconds. Null means no end, unless note gives the end. */
  expiresAt: number | null;
  /** Only present when the end of the policy is larger than a JSON number can hold. */
  note?: string;
};

export type DeviceRegistered = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "device.registered";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent of the card: an account (G…) or a contract (C…). */
  agent: string;
};

export type DeviceRevoked = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "device.revoked";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
};

export type Difference = {
  /** `card`: the balance of a card. `merchant`: the pending payments of a merchant. `escrow`: what the escrow contract holds of an asset, which is less than it owes. */
  kind: "card" | "merchant" | "escrow";
  /** The card; null for other kinds. */
  deviceHash: string | null;
  /** The merchant, an account (G…) or a contract (C…); null for other kinds. */
  merchant: string | null;
  /** Contract id (C…) of the asset; null when it is not known, or when it is more than one. */
  asset: string | null;
  /** Amount by the log, in the asset's smallest unit. Negative: more of the asset was taken out than was put in. */
  log: string;
  /** Amount in the contract, in the asset's smallest unit. */
  chain: string;
  /** `bypass`: a movement past the gateway was in another asset than was put in or authorised. `clawback`: the asset's issuer can take back what the contract holds. `gap`: the history has a gap, or begins after the contract. `unknown`: none of these. */
  cause: "bypass" | "clawback" | "gap" | "unknown";
};

export type EscrowDefunded = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "escrow.defunded";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1. */
  amount: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
};

export type EscrowFunded = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "escrow.funded";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1. */
  amount: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
};

export type EscrowSwept = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "escrow.swept";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1. */
  amount: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
};

export type Event = DeviceRegistered | DeviceRevoked | AgentRegistered | AgentRevoked | EscrowFunded | EscrowDefunded | EscrowSwept | PaymentAuthorized | PaymentClaimed | PaymentExpiring | PaymentExpired;

export type EventPage = {
  /** The events of the page. */
  events: (Event)[];
  /** Cursor of the next page, present on every page. */
  cursor: string;
  /** Sequence of the latest ledger that the gateway knows. */
  latestLedger: number;
  oldestLedger: number | null;
};

export type FailedDelivery = {
  /** Id of the event, for a replay. */
  eventId: string;
  /** Type of the event. */
  eventType: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed" | "payment.expiring" | "payment.expired";
  /** Ledger of the event. */
  ledger: number;
  /** `rejected`: the receiver's response ended the retries. `dead`: the gateway stopped retrying. `retrying`: a retry follows. */
  state: "rejected" | "dead" | "retrying";
  /** Time of the first failure, or of the end without an attempt, UTC. */
  failedAt: string;
  /** Attempts so far. 0 means that the event became too old while the endpoint was failing. */
  attempts: number;
  nextAttemptAt: string | null;
  /** The last attempt; null when there was none, or when the gateway no longer stores it. */
  lastAttempt: Attempt | null;
};

export type FailedDeliveryPage = {
  /** The failed deliveries in the requested state. */
  deliveries: (FailedDelivery)[];
  /** Cursor of the next page; null on the last page. */
  cursor: string | null;
};

export type FundEscrowOperation = {
  /** Kind of the operation. */
  kind: "fundEscrow";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1. */
  amount: string;
};

export type Health = {
  /** Always true. */
  ok: true;
};

export type Network = {
  /** URL of a healthy RPC node of this network, without the secret parts of the URL. */
  rpcUrl: string;
  /** Passphrase of the network, which every signature covers. */
  networkPassphrase: string;
  /** The contracts that this gateway serves. */
  contracts: {
    /** Contract id (C…) of the device registry. */
    deviceRegistry: string;
    /** Contract id (C…) of the agent registry. */
    agentRegistry: string;
    /** Contract id (C…) of the payment escrow. */
    paymentEscrow: string;
  };
  /** Contract ids of the assets that this gateway accepts. Null means every asset. */
  assets: (string)[] | null;
};

export type Operation = AuthorizeOperation | ClaimOperation | RegisterAgentOperation | RevokeAgentOperation | FundEscrowOperation | DefundEscrowOperation | RegisterDeviceOperation | RevokeDeviceOperation | SweepEscrowOperation;

export type Payment = {
  /** Id of the payment: that of its `payment.authorized` event. */
  id: string;
  /** `pending`: no claim of the merchant took the payment yet. `claimed`: one did. `expired`: it ended unclaimed. `unknown`: the gateway cannot tell, because the network was reset or events are missing. */
  state: "pending" | "claimed" | "expired" | "unknown";
  /** True: the payment is pending, and three quarters of its life are over. */
  expiring: boolean;
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent that authorised the payment; null when the gateway could not read it. */
  agent: string | null;
  /** Merchant: an account (G…) or a contract (C…). */
  merchant: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
  /** Amount in the asset's smallest unit: a decimal string. */
  amount: string;
  /** Ledger of the authorisation. */
  ledger: number;
  /** Close time of that ledger, UTC. */
  authorizedAt: string;
  /** Hash of the transaction that authorised the payment. */
  txHash: string;
  /** Last ledger in which the merchant can claim, as last read; of the shortest life while the gateway has not read it. */
  expiresAtLedger: number;
  expiresAt: string | null;
  /** The payment's end; null unless the state is expired. */
  expired: PaymentExpiry | null;
  /** The claim that took the payment; null unless the state is claimed. */
  claim: PaymentClaim | null;
  /** Reference that the calling API key gave with prepare; null for none, and for other keys. */
  reference: string | null;
  /** Idempotency-Key that the calling API key sent with its submit; null for none, and for other keys. */
  idempotencyKey: string | null;
};

export type PaymentAuthorized = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "payment.authorized";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Merchant of the payment: an account (G…) or a contract (C…). */
  merchant: string;
  /** Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1. */
  amount: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
};

export type PaymentCheck = {
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1. */
  amount: string;
  /** Agent that would authorise the payment: an account (G… with its checksum). Absent: the card's agent. */
  agent?: string;
  /** Merchant of the payment: an account (G… with its checksum). With it the check covers the merchant's pending payments, and whether the merchant can be paid. */
  merchant?: string;
};

export type PaymentClaim = {
  /** Id of the `payment.claimed` event. */
  eventId: string;
  /** Hash of the claim's transaction. */
  txHash: string;
  /** Ledger of the claim. */
  ledger: number;
  /** Close time of that ledger, UTC. */
  claimedAt: string;
  /** Contract id (C…) of the asset that was paid out; null when the gateway could not read it. */
  asset: string | null;
};

export type PaymentClaimed = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "payment.claimed";
  /** Merchant of the payment: an account (G…) or a contract (C…). */
  merchant: string;
  /** Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1. */
  amount: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
};

export type PaymentDelivery = {
  /** Id of the webhook. */
  webhookId: string;
  /** Id of the event. */
  eventId: string;
  /** Type of the event. */
  type: string;
  /** `delivered`: the receiver accepted the event. `waiting`: the gateway has not delivered it yet. `retrying`: the delivery failed, and a retry is due. `rejected`: the receiver refused it. `dead`: the gateway gave it up. Of the last two a webhook keeps its newest 10000 each; an earlier one counts as `delivered`. */
  state: "delivered" | "waiting" | "retrying" | "rejected" | "dead";
  /** Attempts so far, with those of replays, and those that only checked a failing endpoint. The gateway keeps a webhook's newest 1000 attempts, for 30 days by default. Earlier ones may be missing in the number. Null: delivered, and the gateway no longer keeps an attempt. */
  attempts: number | null;
  lastAttemptAt: string | null;
  /** HTTP status of the receiver's response to the last attempt; null without a response, before the first attempt, and when the last attempt is no longer kept. */
  lastStatus: number | null;
};

export type PaymentExpired = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "payment.expired";
  /** Id of the payment: that of its `payment.authorized` event. */
  paymentId: string;
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent of the card: an account (G…) or a contract (C…). */
  agent?: string;
  /** Merchant of the payment: an account (G…) or a contract (C…). */
  merchant: string;
  /** Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1. */
  amount: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
};

export type PaymentExpiring = {
  /** Unique id of the event, by which receivers deduplicate. */
  id: string;
  /** Contract id (C…) of the contract that emitted the event. */
  contractId: string;
  /** Ledger of the event. */
  ledger: number;
  /** Close time of the ledger, UTC. */
  ledgerClosedAt: string;
  /** Hash of the transaction: 64 hex digits. */
  txHash: string;
  /** Reference of the transaction. Only for the API key that gave it with prepare, absent for other keys. */
  reference?: string;
  /** Type of the event. */
  type: "payment.expiring";
  /** Id of the payment: that of its `payment.authorized` event. */
  paymentId: string;
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent of the card: an account (G…) or a contract (C…). */
  agent?: string;
  /** Merchant of the payment: an account (G…) or a contract (C…). */
  merchant: string;
  /** Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1. */
  amount: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
};

export type PaymentExpiry = {
  /** Id of the `payment.expired` event. */
  eventId: string;
  /** First ledger that is known to be without the payment. */
  ledger: number;
  /** Close time of that ledger, UTC. */
  expiredAt: string;
};

export type PaymentPage = {
  /** The payments of the page. */
  payments: (Payment)[];
  /** Cursor of the next page; null on the last page. */
  cursor: string | null;
  /** The payments hold up to this ledger. 0 while the gateway has read none. */
  latestLedger: number;
};

export type PaymentTransaction = {
  /** Hash of the transaction: 64 hex digits. */
  hash: string;
  /** Ledger of the transaction. */
  ledger: number;
  /** Account whose sequence number the transaction used; null when the node does not return the transaction. */
  source: string | null;
  /** Fee that the network charged in stroops, a decimal string; null as source. */
  fee: string | null;
};

export type PaymentVerdict = PaymentWouldPass | PaymentWouldFail;

export type PaymentWithDeliveries = {
  /** Id of the payment: that of its `payment.authorized` event. */
  id: string;
  /** `pending`: no claim of the merchant took the payment yet. `claimed`: one did. `expired`: it ended unclaimed. `unknown`: the gateway cannot tell, because the network was reset or events are missing. */
  state: "pending" | "claimed" | "expired" | "unknown";
  /** True: the payment is pending, and three quarters of its life are over. */
  expiring: boolean;
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent that authorised the payment; null when the gateway could not read it. */
  agent: string | null;
  /** Merchant: an account (G…) or a contract (C…). */
  merchant: string;
  /** Contract id (C…) of the asset; null when the gateway could not read it. */
  asset: string | null;
  /** Amount in the asset's smallest unit: a decimal string. */
  amount: string;
  /** Ledger of the authorisation. */
  ledger: number;
  /** Close time of that ledger, UTC. */
  authorizedAt: string;
  /** Hash of the transaction that authorised the payment. */
  txHash: string;
  /** Last ledger in which the merchant can claim, as last read; of the shortest life while the gateway has not read it. */
  expiresAtLedger: number;
  expiresAt: string | null;
  /** The payment's end; null unless the state is expired. */
  expired: PaymentExpiry | null;
  /** The claim that took the payment; null unless the state is claimed. */
  claim: PaymentClaim | null;
  /** Reference that the calling API key gave with prepare; null for none, and for other keys. */
  reference: string | null;
  /** Idempotency-Key that the calling API key sent with its submit; null for none, and for other keys. */
  idempotencyKey: string | null;
  transaction: PaymentTransaction;
  /** Deliveries of the payment's events to the calling API key's webhooks. A webhook has those of its filter, of ledgers after its creation. Replays of earlier events are not in the list. */
  deliveries: (PaymentDelivery)[];
};

export type PaymentWouldFail = {
  /** False: the contracts would refuse the payment, or could not pay it out. */
  ok: false;
  /** First reason for which the payment would fail. */
  reason: "device_not_found" | "agent_not_found" | "agent_mismatch" | "policy_expired" | "asset_mismatch" | "amount_exceeds_limit" | "insufficient_escrow" | "entry_frozen" | "escrow_unfunded" | "asset_frozen";
};

export type PaymentWouldPass = {
  /** True: the contracts would authorise the payment. */
  ok: true;
  /** Why the merchant cannot claim the payment: it has no account, or its trustline for the asset is missing, not authorised or full. Only present when the request names the merchant. */
  warning?: string;
};

export type PendingPayments = {
  /** Sum of all pending payments, in the asset's smallest unit: a decimal string. */
  pending: string;
  /** At most 500 payments, oldest first; null when the gateway cannot read the contracts' storage and calls their functions instead. */
  payments: ({
    /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
    deviceHash: string;
    /** Amount of the payment, in the asset's smallest unit: a decimal string. */
    amount: string;
    /** Time of the authorisation, in Unix seconds. */
    authorizedAt: number;
    /** Approximate end of the payment in Unix seconds, estimated from the pace of the ledgers. Null while unknown. */
    expiresAt: number | null;
  })[] | null;
  /** Only present when the merchant has more payments than the list. */
  more?: true;
};

export type Policy = {
  /** Agent that may pay with the card: an account (G…) or a contract (C…). */
  agent: string;
  /** Most that one payment may move, in the asset's smallest unit: a decimal string, 0 for no cap. */
  maxAmount: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** End of the policy in Unix seconds. Null means no end, unless note gives the end. */
  expiresAt: number | null;
  /** Only present when the end of the policy is larger than a JSON number can hold. */
  note?: string;
};

export type PrepareRequest = {
  /** Account that signs and pays the fee: G and 55 base32 characters, with a checksum. */
  source: string;
  operation: Operation;
  /** The client's own name of the transaction: 1 to 128 printable ASCII characters, without a blank at either end. Only the API key that prepares sees it. */
  reference?: string;
};

export type PreparedAuthorizeOperation = {
  /** Kind of the operation. */
  kind: "authorize";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Merchant that may claim the payment: an account (G… with its checksum). */
  merchant: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1. */
  amount: string;
  /** Number of the payment, above the previous payment's: a decimal string from 1 to 2^64 − 1. */
  nonce: string;
};

export type PreparedOperation = PreparedAuthorizeOperation | ClaimOperation | PreparedRegisterAgentOperation | RevokeAgentOperation | FundEscrowOperation | DefundEscrowOperation | RegisterDeviceOperation | RevokeDeviceOperation | SweepEscrowOperation;

export type PreparedRegisterAgentOperation = {
  /** Kind of the operation. */
  kind: "registerAgent";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent of the card: an account (G… with its checksum). */
  agent: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Most that one payment may move, in the asset's smallest unit: a decimal string from 0 (no cap) to 2^127 − 1. */
  maxAmount: string;
  /** End of the policy: Unix seconds, from 1 to the year 9999. null for a policy without an end. */
  expiresAt: number | null;
};

export type PreparedTransaction = {
  /** Unsigned transaction envelope, base64. Absent only with status success, when the gateway no longer has the envelope. */
  xdr?: string;
  /** Passphrase of the network, which the signature covers. Absent only with status success, when the gateway no longer has the envelope. */
  networkPassphrase?: string;
  /** The operation, with the fields that the gateway filled in. Absent only with status success, when the gateway no longer has the envelope. */
  operation?: PreparedOperation;
  /** Hash of the transaction, which the source account signs: 64 hex digits. */
  hash: string;
  /** Most that the transaction can cost in stroops, a decimal string. Absent only with status success, when the gateway no longer has the envelope. */
  fee?: string;
  /** End of the envelope's validity (its time bound), in Unix seconds. Absent only with status success, when the gateway no longer has the envelope. */
  validUntil?: number;
  /** Only with an Idempotency-Key: the network has applied this transaction, and the client has nothing left to do. */
  status?: "success";
  /** Ledger that applied the transaction, only with status success. */
  ledger?: number;
  /** Only with an Idempotency-Key: hash of a transaction for the same operation. The network rejected it and may still apply it, but it applies at most one of the two. */
  replaces?: string;
  /** Facts that the client should know before it signs.

- Without an Idempotency-Key: this source submitted the same operation before, and its client did not get the outcome. The warning names the transaction to look up.
- registerDevice: the wallet has so many cards that the owner cannot revoke all of them, or the card already has an agent.
- authorize: the merchant has too many payments since its last claim, and no claim can ever collect them.
- authorize: the merchant cannot claim the payment now. It has no account, or its trustline for the asset is missing, not authorised or full.
- revokeDevice: the next owner who registers the card takes the balance of its escrow. */
  warning?: string;
};

export type Reconciliation = {
  /** True: the log and the contracts agree. */
  ok: boolean;
  /** The log begins at this ledger. */
  fromLedger: number;
  /** The log and the contracts were compared up to this ledger. */
  toLedger: number;
  /** When the reconciliation ended, UTC. */
  checkedAt: string;
  /** Number of all differences. */
  count: number;
  /** True: there are more differences than the 1000 that are stored. */
  more: boolean;
  /** The differences, at most 1000. */
  differences: (Difference)[];
};

export type RegisterAgentOperation = {
  /** Kind of the operation. */
  kind: "registerAgent";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent of the card: an account (G… with its checksum). */
  agent: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Most that one payment may move, in the asset's smallest unit: a decimal string from 0 (no cap) to 2^127 − 1. */
  maxAmount: string;
  /** End of the policy: Unix seconds, from 1 to the year 9999. null for a policy without an end. */
  expiresAt?: number | null;
};

export type RegisterDeviceOperation = {
  /** Kind of the operation. */
  kind: "registerDevice";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Agent of the card: an account (G… with its checksum). */
  agent: string;
};

export type Replay = {
  /** Id of the replay (rp_…); null with dryRun. */
  id: string | null;
  /** Number of events to send, at most 10000. */
  deliveries: number;
  /** True: there are more events, because the gateway counts at most 10000. */
  atLeast: boolean;
};

export type ReplayRequest = {
  /** First ledger of the range: 1 to 4294967295. Required without eventId. */
  fromLedger?: number;
  /** Last ledger of the range, inclusive: 1 to 4294967295. The end of the log when absent. */
  toLedger?: number;
  /** Id of the only event to send again, instead of a range of ledgers. */
  eventId?: string;
  /** True: count the events and send nothing. False when absent. */
  dryRun?: boolean;
};

export type RevokeAgentOperation = {
  /** Kind of the operation. */
  kind: "revokeAgent";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
};

export type RevokeDeviceOperation = {
  /** Kind of the operation. */
  kind: "revokeDevice";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
};

export type SentAttempt = {
  attempt: Attempt;
  /** The request of the attempt; null when the gateway no longer stores the event. */
  request: SentRequest | null;
  /** True: the secret was rotated after the attempt, or up to three seconds before it. The signatures are made with the present secrets. */
  secretRotatedSince: boolean;
};

export type SentRequest = {
  /** URL of the webhook. */
  url: string;
  /** The request's headers by name. */
  headers: Record<string, string>;
  /** The request's body, byte by byte as signed. */
  body: string;
};

export type Status = {
  /** Version of the gateway. */
  version: string;
  /** Start of this process, UTC. */
  startedAt: string;
  /** Present problems of the store's file, its disk and the event history, one sentence each; empty without problems. */
  troubles: (string)[];
  /** The latest ledger that this gateway knows. */
  ledger: {
    /** Sequence of the latest ledger; 0 before the node's first answer. */
    sequence: number;
    closedAt: string | null;
    /** Seconds since the latest ledger closed; null before the node's first answer. */
    lagSeconds: number | null;
    /** Seconds by which the network's time is ahead of this machine's clock. Null means that both agree within a minute. */
    clockDisagreesBySeconds: number | null;
  };
  /** The stored event history. */
  history: {
    /** Number of network resets that the gateway has seen. */
    epoch: number;
    /** Ledgers whose events the gateway stores. */
    ranges: ({
      /** Number of network resets before these ledgers. */
      epoch: number;
      /** First ledger of the range. */
      fromLedger: number;
      /** Last ledger of the range, inclusive. */
      toLedger: number;
    })[];
    /** Ledgers that the gateway has not read, with their contracts; it reads them when a node holds them. */
    gaps: ({
      /** Number of network resets before these ledgers. */
      epoch: number;
      /** First ledger of the range. */
      fromLedger: number;
      /** Last ledger of the range, inclusive. */
      toLedger: number;
      /** Contracts (C…) whose events may be missing. */
      contractIds: (string)[];
      /** Time at which the gateway found the gap, UTC. */
      detectedAt: string;
      /** `pruned` means that no node held the ledgers, and `contract` that the gateway did not watch the contract. `reset` means that the network was reset. With `start` the gateway is reading them, behind the newest ledgers. */
      reason: "pruned" | "contract" | "reset" | "start";
    })[];
    /** Events that the gateway stores raw because it cannot decode them; 100 means 100 or more. */
    undecodedEvents: number;
    unknownSince: string | null;
  };
  /** Whether the contract ids of the settings lead to the expected contracts. */
  contracts: ({
    /** Name of the contract. */
    contract: "device_registry" | "agent_registry" | "payment_escrow";
    /** Contract id (C…) of the contract, from the settings. */
    id: string;
    /** The contract or the error that the gateway found instead of the expected contract; null without a problem. */
    problem: string | null;
    checkedAt: string | null;
  })[];
  /** Payments that expire soon, and are lost to the merchant unless it claims them. */
  expiring: {
    /** Pending payments in the last quarter of their life. */
    payments: number;
    /** Merchants that have to claim these payments. */
    merchants: number;
    /** Time at which the first of these payments expires, in Unix seconds; null without such payments. */
    firstAt: number | null;
    /** False: there may be more, because there are a thousand, or the gateway still reads the log. */
    complete: boolean;
  };
  /** Payments whose merchants did not claim them in time, and lost them. */
  expired: {
    /** Payments of this gateway's API keys that ended unclaimed in the last seven days and are not acknowledged. */
    payments: number;
    /** Payments of other submitters that ended unclaimed in the last seven days. Anyone can make them. */
    others: number;
    /** The newest of the payments of this gateway's keys; null without any. */
    last: {
      /** Id of the payment: that of its `payment.authorized` event. */
      id: string;
      /** Merchant: an account (G…) or a contract (C…). */
      merchant: string;
      /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
      deviceHash: string;
      /** Amount in the asset's smallest unit: a decimal string. */
      amount: string;
      /** Contract id (C…) of the asset; null when the gateway could not read it. */
      asset: string | null;
      /** Hash of the transaction that authorised the payment. */
      txHash: string;
      /** Close time of the first ledger without the payment, UTC. */
      expiredAt: string;
    } | null;
  };
  /** Movements in an asset that the gateway would have refused: the escrow keeps one balance for all assets. */
  bypassMovements: {
    /** Movements among the newest 5000 events at the start, and since; the gateway logs one warning for each asset. */
    count: number;
    /** The newest of these movements; null without any. */
    last: {
      /** Id of the event. */
      eventId: string;
      /** Type of the event. */
      type: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed" | "payment.expiring" | "payment.expired";
      /** Ledger of the event. */
      ledger: number;
      /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
      asset: string;
      /** `not_listed`: SERVICE_API_ASSETS does not list the asset. `not_the_policys`: the owner funded a card in another asset than its policy names. `not_what_was_funded`: the owner funded a card in another asset than its escrow held, or a movement took more of an asset than the escrow held of it. `not_what_was_authorized`: a merchant claimed another asset than the agent authorised. */
      because: "not_listed" | "not_the_policys" | "not_what_was_funded" | "not_what_was_authorized";
    } | null;
  };
  /** The amounts that the escrow holds and owes, compared after movements and every ten minutes; null before that. */
  solvency: {
    /** Ledger of the comparison. */
    ledger: number;
    /** Why `owed` is null; null while it is known. `gap`: the history has a gap. `begins_later`: the history begins after the contract, or retention deleted its beginning. `asset_unknown`: the log does not know in which asset the escrow paid out. */
    unknownBecause: "gap" | "begins_later" | "asset_unknown" | null;
    /** The accepted assets; without SERVICE_API_ASSETS the first 50 assets of the log. */
    assets: ({
      /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
      asset: string;
      /** The contract's balance, in the smallest unit; null when the token does not answer. */
      held: string | null;
      /** Cards' escrow and pending payments by the log, expired ones included; null while unknown. */
      owed: string | null;
      /** By how much `held` is below `owed`; null while one of them is unknown. */
      missing: string | null;
      /** Whether the issuer has frozen the contract's balance, so that claims and defunds fail. */
      frozen: boolean;
    })[];
  } | null;
  /** How the gateway answers each kind of read. `entries`: from ledger entries, which agree with the contracts' functions. `calls`: by the contracts' functions, because the entries disagreed. `gateway doctor` reports details. `not_compared`: from ledger entries, and no read was comparable yet. */
  reads: Record<string, "entries" | "calls" | "not_compared">;
  /** The RPC nodes, in the order of the settings. */
  nodes: ({
    /** Scheme and host of the node. */
    node: string;
    /** Whether the gateway calls this node now. */
    inUse: boolean;
    /** `doubted`: the node failed just now. `failing` and `lagging`: the gateway avoids the node until it has been well for a while. */
    condition: "well" | "doubted" | "failing" | "lagging";
    /** The node's last problem, for people; null without a problem. */
    problem: string | null;
    /** Seconds by which this node's latest ledger is older than the latest ledger of all nodes; null while unknown. */
    lagSeconds: number | null;
  })[];
  /** Webhook deliveries of all keys. */
  deliveries: {
    /** Webhook deliveries that wait in the log or for a retry. */
    pending: number;
    /** True: there are more, because the gateway counts at most 10000 for each webhook. */
    atLeast: boolean;
    /** Pending deliveries that failed and wait for a retry. */
    retrying: number;
    /** Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again. */
    rejected: number;
    /** Deliveries without further retries, and undelivered events past retention; a replay sends them again. */
    dead: number;
    /** Webhooks whose endpoint fails, without those of disabled keys. */
    failingWebhooks: number;
    /** Age of the oldest pending delivery in seconds, without those of disabled keys; null without any. */
    oldestSeconds: number | null;
  };
};

export type SubmitRequest = {
  /** Signed transaction envelope, base64: the xdr of prepare, with the signature of its source. */
  xdr: string;
};

export type SubmittedByKey = {
  /** Hash of the transaction, of a fee bump the outer one: 64 hex digits. */
  hash: string;
  /** Kind of its operation. */
  kind: "authorize" | "claim" | "registerAgent" | "revokeAgent" | "fundEscrow" | "defundEscrow" | "registerDevice" | "revokeDevice" | "sweepEscrow";
  /** Account whose sequence number the transaction uses. */
  source: string;
  /** `pending`: the gateway does not know the outcome yet. `failed`: the network applied the transaction without success, or in no ledger before its time bound. `rejected`: the network refused the transaction. */
  status: "pending" | "success" | "failed" | "rejected";
  ledger: number | null;
  /** Reference that the calling API key gave with prepare; null for none, and for other keys. */
  reference: string | null;
  /** Idempotency-Key that the calling API key sent with its submit; null for none, and for other keys. */
  idempotencyKey: string | null;
  /** Time of the key's first submit of the transaction, UTC. */
  submittedAt: string;
};

export type SubmittedTransaction = {
  /** Hash of the transaction: 64 hex digits. */
  hash: string;
  /** Ledger that applied the transaction. */
  ledger: number;
};

export type SweepEscrowOperation = {
  /** Kind of the operation. */
  kind: "sweepEscrow";
  /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
  deviceHash: string;
  /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
  asset: string;
  /** Agent of the card: an account (G…) or a contract (C…) with its checksum. */
  agent: string;
};

export type TransactionPage = {
  /** The transactions of the page. */
  transactions: (SubmittedByKey)[];
  /** Cursor of the next page; null on the last page. */
  cursor: string | null;
};

export type TransactionStatus = {
  /** Hash of the transaction: 64 hex digits. */
  hash: string;
  /** failed: the network applied the transaction without success, or in no ledger before its time bound. rejected: the network refused the transaction. */
  status: "pending" | "success" | "failed" | "rejected";
  /** Ledger that applied the transaction; absent when no ledger did. */
  ledger?: number;
  /** Why the transaction failed or was rejected, for people; a program reads the fields below. */
  error?: string;
  /** Name of the contract's error, when a contract refused. An unknown error, or an error of another contract, has its number (#10) or the host's text instead. */
  contractError?: ContractErrorName | (string & Record<never, never>);
  /** The network's name for the reason why it did not apply the transaction: txBadSeq, txTooLate and others. */
  transactionError?: string;
  /** The reason of /v1/payments/check, when the contract's error has several causes. */
  reason?: "device_not_found" | "agent_not_found" | "agent_mismatch" | "policy_expired" | "asset_mismatch" | "amount_exceeds_limit" | "insufficient_escrow" | "entry_frozen" | "escrow_unfunded" | "asset_frozen";
  /** `same`: send the same request again after a pause. `prepare_again`: prepare, sign and submit a new envelope. `never`: the gateway refuses the same request until something else changes. */
  retry?: "same" | "prepare_again" | "never";
};

export type WalletDevices = {
  /** Hashes of the cards, 64 hex digits each, in the registry's order. */
  devices: (string)[];
};

export type Webhook = {
  /** Id of the webhook (wh_…). */
  id: string;
  /** URL to which the gateway POSTs events. */
  url: string;
  /** Types of the delivered events. Null means all but payment.expiring and payment.expired. */
  types: ("device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed" | "payment.expiring" | "payment.expired")[] | null;
  /** Card of the delivered events, 64 hex digits. Null means all cards. */
  deviceHash: string | null;
  /** Merchant of the delivered events (G… or C…). Null means all merchants. */
  merchant: string | null;
  /** Whether the gateway delivers strictly one event at a time. */
  ordered: boolean;
  /** Time of the creation, UTC. */
  createdAt: string;
  failingSince: string | null;
  /** Deliveries that failed and wait for a retry. */
  retrying: number;
  /** Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again. */
  rejected: number;
  /** Deliveries that failed until the last attempt or for three days; a replay sends them again. */
  dead: number;
  previousSecretUntil: string | null;
};

export type WebhookList = {
  /** The webhooks of the calling key. */
  webhooks: (Webhook)[];
};

export type WebhookRequest = {
  /** Public https:// URL to which the gateway POSTs events. A sandbox also accepts http:// URLs of this machine. */
  url: string;
  /** Only events of these types; all but payment.expiring and payment.expired when absent or null. */
  types?: ("device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed" | "payment.expiring" | "payment.expired")[] | null;
  /** Only events of this card (64 hex digits); all cards when absent or null. */
  deviceHash?: string | null;
  /** Only events of this merchant (G… or C…); all merchants when absent or null. */
  merchant?: string | null;
  /** True: strictly one delivery at a time, and a failed delivery blocks all later ones. False when absent. */
  ordered?: boolean;
};

export type WebhookTest = {
  /** The attempt to deliver the test event. */
  attempt: Attempt;
};

export type WebhookWithSecret = {
  /** Id of the webhook (wh_…). */
  id: string;
  /** URL to which the gateway POSTs events. */
  url: string;
  /** Types of the delivered events. Null means all but payment.expiring and payment.expired. */
  types: ("device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed" | "payment.expiring" | "payment.expired")[] | null;
  /** Card of the delivered events, 64 hex digits. Null means all cards. */
  deviceHash: string | null;
  /** Merchant of the delivered events (G… or C…). Null means all merchants. */
  merchant: string | null;
  /** Whether the gateway delivers strictly one event at a time. */
  ordered: boolean;
  /** Time of the creation, UTC. */
  createdAt: string;
  failingSince: string | null;
  /** Deliveries that failed and wait for a retry. */
  retrying: number;
  /** Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again. */
  rejected: number;
  /** Deliveries that failed until the last attempt or for three days; a replay sends them again. */
  dead: number;
  previousSecretUntil: string | null;
  /** Secret (whsec_…) that signs every delivery; the gateway shows it only in this response. */
  secret: string;
};

/** Every endpoint: what it takes and what it answers. */
export interface Endpoints {
  /** Whether the gateway is alive */
  "GET /v1/health": {
    answer: Health;
  };
  /** The network and the contracts behind this gateway */
  "GET /v1/network": {
    answer: Network;
  };
  /** A card with its policy and its escrow balance */
  "GET /v1/devices/:hash": {
    params: {
      /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
      hash: string;
    };
    answer: Device;
  };
  /** The policy of a card's agent */
  "GET /v1/devices/:hash/policy": {
    params: {
      /** Card: the SHA-256 of its UID, 64 hex digits (lower case in responses). */
      hash: string;
    };
    answer: Policy;
  };
  /** The cards of a wallet, in the registry's order */
  "GET /v1/wallets/:address/devices": {
    params: {
      /** Account (G…) or contract (C…): 56 base32 characters, with a checksum. */
      address: string;
    };
    answer: WalletDevices;
  };
  /** A merchant's pending payments, with their sum */
  "GET /v1/merchants/:address/pending": {
    params: {
      /** Merchant: an account (G…) or a contract (C…) with its checksum. */
      address: string;
    };
    answer: PendingPayments;
  };
  /** Check whether the contracts would authorise a payment now */
  "POST /v1/payments/check": {
    body: PaymentCheck;
    answer: PaymentVerdict;
  };
  /** Payments with their states, the newest first */
  "GET /v1/payments": {
    query: {
      /** Only payments in this state. */
      state?: "pending" | "claimed" | "expired" | "unknown";
      /** Only payments to this merchant: an account (G…) or a contract (C…). */
      merchant?: QueryValue;
      /** Only payments of this card: 64 hex digits. */
      deviceHash?: QueryValue;
      /** Only payments of this agent: an account (G…) or a contract (C…). */
      agent?: QueryValue;
      /** Only payments whose transaction the calling API key prepared with this reference. */
      reference?: QueryValue;
      /** Only payments authorised at this time or later: ISO 8601 with a zone, or Unix seconds. */
      from?: QueryValue;
      /** Only payments authorised before this time: ISO 8601 with a zone, or Unix seconds. */
      to?: QueryValue;
      /** `desc`: the newest payment first. `asc`: the oldest first. `desc` when absent. */
      order?: "asc" | "desc";
      /** Most payments in the page: 1 to 1000, 100 when absent. */
      limit?: QueryValue;
      /** Cursor of an earlier page with the same filters. */
      cursor?: QueryValue;
      /** `csv` or `jsonl`: a file with all payments, or limit of them. The header Accept decides when absent. */
      format?: "json" | "csv" | "jsonl";
    };
    answer: PaymentPage;
  };
  /** One payment with its state, its transaction, and the deliveries to the key's webhooks */
  "GET /v1/payments/:id": {
    params: {
      /** Id of the event: 19 and 10 digits with a hyphen, after a network reset with the epoch and a hyphen in front. */
      id: string;
    };
    answer: PaymentWithDeliveries;
  };
  /** The symbol, the name and the decimals of an asset */
  "GET /v1/assets/:asset": {
    params: {
      /** Contract id of the asset: C and 55 base32 characters, with a checksum. */
      asset: string;
    };
    answer: Asset;
  };
  /** The event history, in the order of the log */
  "GET /v1/events": {
    query: {
      /** Only events from this ledger on: 1 to 4294967295. It excludes cursor. */
      fromLedger?: QueryValue;
      /** Cursor of an earlier response, at most 200 characters. It excludes fromLedger. */
      cursor?: QueryValue;
      /** Only events of these types, comma-separated; all but payment.expiring and payment.expired when absent. */
      types?: QueryValue;
      /** Only events of this card: 64 hex digits. */
      deviceHash?: QueryValue;
      /** Only events of this merchant: an account (G…) or a contract (C…). */
      merchant?: QueryValue;
      /** Only events of this agent: an account (G…) or a contract (C…). */
      agent?: QueryValue;
      /** Only events of this transaction: 64 hex digits. */
      txHash?: QueryValue;
      /** Only events up to this ledger, inclusive: 1 to 4294967295. The page's cursor continues with the same limit. */
      toLedger?: QueryValue;
      /** Only events of ledgers that closed at this time or later: ISO 8601 with a zone, or Unix seconds. */
      from?: QueryValue;
      /** Only events of ledgers that closed before this time: ISO 8601 with a zone, or Unix seconds. */
      to?: QueryValue;
      /** `asc`: the order of the log. `desc`: the newest entry of the log first. `asc` when absent. */
      order?: "asc" | "desc";
      /** Most events in the page: 1 to 1000, 100 when absent. */
      limit?: QueryValue;
      /** `csv` or `jsonl`: a file with all events, or limit of them. The header Accept decides when absent. */
      format?: "json" | "csv" | "jsonl";
    };
    answer: EventPage;
  };
  /** The event history and all later events, as server-sent events */
  "GET /v1/events/stream": {
    query: {
      /** Only events from this ledger on: 1 to 4294967295. It excludes cursor. */
      fromLedger?: QueryValue;
      /** Cursor of an earlier response, at most 200 characters. It excludes fromLedger. */
      cursor?: QueryValue;
      /** Only events of these types, comma-separated; all but payment.expiring and payment.expired when absent. */
      types?: QueryValue;
      /** Only events of this card: 64 hex digits. */
      deviceHash?: QueryValue;
      /** Only events of this merchant: an account (G…) or a contract (C…). */
      merchant?: QueryValue;
      /** Only events of this agent: an account (G…) or a contract (C…). */
      agent?: QueryValue;
      /** Only events of this transaction: 64 hex digits. */
      txHash?: QueryValue;
    };
    answer: Event;
  };
  /** One event */
  "GET /v1/events/:id": {
    params: {
      /** Id of the event: 19 and 10 digits with a hyphen, after a network reset with the epoch and a hyphen in front. */
      id: string;
    };
    answer: Event;
  };
  /** Prepare a transaction for its source account to sign */
  "POST /v1/transactions/prepare": {
    body: PrepareRequest;
    answer: PreparedTransaction;
  };
  /** Submit a signed envelope, and wait until the network has applied it */
  "POST /v1/transactions/submit": {
    body: SubmitRequest;
    answer: SubmittedTransaction;
  };
  /** The transactions that the calling API key submitted, the newest first */
  "GET /v1/transactions": {
    query: {
      /** Only transactions of this account (G…). */
      source?: QueryValue;
      /** Only transactions with an operation of this kind. */
      kind?: "authorize" | "claim" | "registerAgent" | "revokeAgent" | "fundEscrow" | "defundEscrow" | "registerDevice" | "revokeDevice" | "sweepEscrow";
      /** Only transactions with this status. */
      status?: "pending" | "success" | "failed" | "rejected";
      /** Only transactions that this API key prepared with this reference. */
      reference?: QueryValue;
      /** Only transactions submitted at this time or later: ISO 8601 with a zone, or Unix seconds. */
      from?: QueryValue;
      /** Only transactions submitted before this time: ISO 8601 with a zone, or Unix seconds. */
      to?: QueryValue;
      /** `desc`: the newest transaction first. `asc`: the oldest first. `desc` when absent. */
      order?: "asc" | "desc";
      /** Most transactions in the page: 1 to 1000, 100 when absent. */
      limit?: QueryValue;
      /** Cursor of an earlier page with the same filters. */
      cursor?: QueryValue;
      /** `csv` or `jsonl`: a file with all transactions, or limit of them. The header Accept decides when absent. */
      format?: "json" | "csv" | "jsonl";
    };
    answer: TransactionPage;
  };
  /** The status of a transaction */
  "GET /v1/transactions/:hash": {
    params: {
      /** Hash of the transaction, which its source signs: 64 hex digits (lower case in responses). */
      hash: string;
    };
    answer: TransactionStatus;
  };
  /** Subscribe a URL to events */
  "POST /v1/webhooks": {
    body: WebhookRequest;
    answer: WebhookWithSecret;
  };
  /** The webhooks of the calling key */
  "GET /v1/webhooks": {
    answer: WebhookList;
  };
  /** One webhook */
  "GET /v1/webhooks/:id": {
    params: {
      /** Id of the webhook: wh_ and 1 to 40 letters or digits. */
      id: string;
    };
    answer: Webhook;
  };
  /** Delete a webhook, with its pending deliveries */
  "DELETE /v1/webhooks/:id": {
    params: {
      /** Id of the webhook: wh_ and 1 to 40 letters or digits. */
      id: string;
    };
    answer: Deleted;
  };
  /** Give a webhook a new secret */
  "POST /v1/webhooks/:id/secret": {
    params: {
      /** Id of the webhook: wh_ and 1 to 40 letters or digits. */
      id: string;
    };
    answer: WebhookWithSecret;
  };
  /** Send a signed test event now */
  "POST /v1/webhooks/:id/test": {
    params: {
      /** Id of the webhook: wh_ and 1 to 40 letters or digits. */
      id: string;
    };
    answer: WebhookTest;
  };
  /** Send past events to a webhook again */
  "POST /v1/webhooks/:id/replay": {
    params: {
      /** Id of the webhook: wh_ and 1 to 40 letters or digits. */
      id: string;
    };
    body: ReplayRequest;
    answer: Replay;
  };
  /** The attempts to deliver to a webhook, or its failed deliveries */
  "GET /v1/webhooks/:id/deliveries": {
    params: {
      /** Id of the webhook: wh_ and 1 to 40 letters or digits. */
      id: string;
    };
    query: {
      /** Return the failed deliveries in this state instead of the attempts. */
      state?: "rejected" | "dead" | "retrying";
      /** Most entries in the page: 1 to 200, 50 when absent. */
      limit?: QueryValue;
      /** Cursor of an earlier page with the same state. */
      cursor?: QueryValue;
    };
    answer: AttemptPage | FailedDeliveryPage;
  };
  /** One attempt, with its request */
  "GET /v1/webhooks/:id/deliveries/:attempt": {
    params: {
      /** Id of the webhook: wh_ and 1 to 40 letters or digits. */
      id: string;
      /** Id of the attempt: a decimal string of 1 to 15 digits. */
      attempt: string;
    };
    answer: SentAttempt;
  };
  /** The last comparison of the log with the contracts, card by card and merchant by merchant */
  "GET /v1/reconciliation": {
    answer: Reconciliation;
  };
  /** Ledger and lag, stored history, contracts, RPC nodes, webhook backlog, version */
  "GET /v1/status": {
    answer: Status;
  };
}
