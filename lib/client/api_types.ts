// Made by tests/client/make_api_types.ts from the schemas that the gateway checks requests and answers with: not to be
// edited. tests/client/api_types_test.ts says when it is no longer what they say.

/** Takes its place in a query as text; a list with commas between. */
export type QueryValue = string | number | readonly string[];

export type AgentRegistered = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "agent.registered";
  deviceHash: string;
  agent: string;
  /** The policy's; null: not known */
  asset?: string | null;
};

export type AgentRevoked = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "agent.revoked";
  deviceHash: string;
};

export type Asset = {
  asset: string;
  /** native for the network's own. What a token calls itself proves nothing */
  symbol: string;
  /** CODE:ISSUER of an issued asset */
  name: string;
  /** Digits after the point in one unit */
  decimals: number;
};

export type Attempt = {
  id: string;
  eventId: string;
  eventType: string;
  /** null: a test event */
  deliveryId: string | null;
  /** 1 for the first attempt of a delivery; 0 for one that only asked whether a failing endpoint is back */
  attempt: number;
  at: string;
  durationMs: number;
  /** rejected: an answer that ends the retries; dead: given up; both are kept and can be replayed */
  outcome: "delivered" | "retry" | "rejected" | "dead";
  /** null: there was no answer */
  statusCode: number | null;
  error: string | null;
  /** The beginning of the answer's body */
  responseBody: string | null;
  nextAttemptAt: string | null;
};

export type AttemptPage = {
  deliveries: (Attempt)[];
  /** Where older attempts go on; null: there are none */
  cursor: string | null;
};

export type AuthorizeOperation = {
  kind: "authorize";
  deviceHash: string;
  merchant: string;
  asset: string;
  amount: string;
  nonce?: string;
};

export type ClaimOperation = {
  kind: "claim";
  asset: string;
};

export type ContractErrorName = "AlreadyInitialized" | "DeviceNotFound" | "NotOwner" | "AlreadyRegistered" | "AgentNotFound" | "InvalidPolicy" | "InsufficientBalance" | "AgentNotAuthorized" | "NotDeviceOwner" | "NothingToClaim" | "DuplicateAuth" | "AgentStillActive" | "DeviceNotRegistered" | "OperationNotSupportedError" | "AlreadyInitializedError" | "UnauthorizedError" | "AuthenticationError" | "AccountMissingError" | "AccountIsNotClassic" | "NegativeAmountError" | "AllowanceError" | "BalanceError" | "BalanceDeauthorizedError" | "OverflowError" | "TrustlineMissingError" | "InsufficientAccountReserve" | "TooManyAccountSubentries";

export type DefundEscrowOperation = {
  kind: "defundEscrow";
  deviceHash: string;
  asset: string;
  amount: string;
};

export type Deleted = {
  deleted: true;
};

export type Device = {
  deviceHash: string;
  owner: string;
  /** All null while no agent is registered */
  policy: Policy | NoPolicy;
  escrowBalance: string;
};

export type DeviceRegistered = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "device.registered";
  deviceHash: string;
  agent: string;
};

export type DeviceRevoked = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "device.revoked";
  deviceHash: string;
};

export type EscrowDefunded = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "escrow.defunded";
  deviceHash: string;
  /** Decimal string of the asset's smallest unit */
  amount: string;
  /** null: not known. It was read before this was kept, or could not be learnt */
  asset: string | null;
};

export type EscrowFunded = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "escrow.funded";
  deviceHash: string;
  /** Decimal string of the asset's smallest unit */
  amount: string;
  /** null: not known. It was read before this was kept, or could not be learnt */
  asset: string | null;
};

export type EscrowSwept = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "escrow.swept";
  deviceHash: string;
  /** Decimal string of the asset's smallest unit */
  amount: string;
  /** null: not known. It was read before this was kept, or could not be learnt */
  asset: string | null;
};

export type Event = DeviceRegistered | DeviceRevoked | AgentRegistered | AgentRevoked | EscrowFunded | EscrowDefunded | EscrowSwept | PaymentAuthorized | PaymentClaimed;

export type EventPage = {
  events: (Event)[];
  /** Where the next page starts; always there */
  cursor: string;
  latestLedger: number;
  /** The first ledger whose events are all held: what was asked for from before it is missing */
  oldestLedger: number | null;
};

export type FailedDelivery = {
  eventId: string;
  eventType: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed";
  ledger: number;
  state: "rejected" | "dead" | "retrying";
  /** When it first failed, or was given up without an attempt */
  failedAt: string;
  /** How often it was tried; 0: it was given up for its age while the endpoint was failing */
  attempts: number;
  /** null unless it is retrying */
  nextAttemptAt: string | null;
  /** null: there was none, or it is not kept any more */
  lastAttempt: Attempt | null;
};

export type FailedDeliveryPage = {
  deliveries: (FailedDelivery)[];
  /** Where the list goes on; null: it ends here */
  cursor: string | null;
};

export type FundEscrowOperation = {
  kind: "fundEscrow";
  deviceHash: string;
  asset: string;
  amount: string;
};

export type Health = {
  ok: true;
};

export type Network = {
  /** An RPC node of this network that is well, without what is secret in its URL */
  rpcUrl: string;
  networkPassphrase: string;
  contracts: {
    deviceRegistry: string;
    agentRegistry: string;
    paymentEscrow: string;
  };
  /** The contracts of the assets that are dealt in; null: none is refused */
  assets: (string)[] | null;
};

export type NewWebhook = {
  /** Where events are POSTed to; https only, but in the sandbox */
  url: string;
  /** Only these event types; all when absent */
  types?: ("device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed")[] | null;
  /** Only events with this device hash */
  deviceHash?: string | null;
  /** Only events with this merchant */
  merchant?: string | null;
  /** Strictly one delivery at a time, waiting at one that failed; false when absent */
  ordered?: boolean;
};

export type NoPolicy = {
  agent: null;
  maxAmount: null;
  asset: null;
  expiresAt: null;
};

export type Operation = AuthorizeOperation | ClaimOperation | RegisterAgentOperation | RevokeAgentOperation | FundEscrowOperation | DefundEscrowOperation | RegisterDeviceOperation | RevokeDeviceOperation | SweepEscrowOperation;

export type PaymentAuthorized = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "payment.authorized";
  deviceHash: string;
  merchant: string;
  /** Decimal string of the asset's smallest unit */
  amount: string;
  /** null: not known. It was read before this was kept, or could not be learnt */
  asset: string | null;
};

export type PaymentCheck = {
  deviceHash: string;
  asset: string;
  amount: string;
  agent?: string;
  merchant?: string;
};

export type PaymentClaimed = {
  /** Unique: deduplicate on it */
  id: string;
  /** The contract that said it */
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  /** 64 hex digits */
  txHash: string;
  type: "payment.claimed";
  merchant: string;
  /** Decimal string of the asset's smallest unit */
  amount: string;
  /** null: not known. It was read before this was kept, or could not be learnt */
  asset: string | null;
};

export type PaymentVerdict = PaymentWouldPass | PaymentWouldFail;

export type PaymentWouldFail = {
  ok: false;
  reason: "device_not_found" | "agent_not_found" | "agent_mismatch" | "policy_expired" | "asset_mismatch" | "amount_exceeds_limit" | "insufficient_escrow";
};

export type PaymentWouldPass = {
  ok: true;
};

export type PendingPayments = {
  /** The sum of all of them */
  pending: string;
  /** At most 500, the oldest first; null where the contracts' storage can't be read and their functions are asked */
  payments: ({
    deviceHash: string;
    amount: string;
    authorizedAt: number;
    /** About when it can't be claimed any more, reckoned from the pace of the ledgers; null when that is not known */
    expiresAt: number | null;
  })[] | null;
  /** There are more than are listed */
  more?: true;
};

export type Policy = {
  agent: string;
  /** 0: no cap */
  maxAmount: string;
  asset: string;
  /** Unix seconds; null: never, unless note says when */
  expiresAt: number | null;
  /** There when the policy ends at more seconds than a JSON number holds */
  note?: string;
};

export type PrepareRequest = {
  source: string;
  operation: Operation;
};

export type PreparedAuthorizeOperation = {
  kind: "authorize";
  deviceHash: string;
  merchant: string;
  asset: string;
  amount: string;
  nonce: string;
};

export type PreparedOperation = PreparedAuthorizeOperation | ClaimOperation | PreparedRegisterAgentOperation | RevokeAgentOperation | FundEscrowOperation | DefundEscrowOperation | RegisterDeviceOperation | RevokeDeviceOperation | SweepEscrowOperation;

export type PreparedRegisterAgentOperation = {
  kind: "registerAgent";
  deviceHash: string;
  agent: string;
  asset: string;
  maxAmount: string;
  expiresAt: number | null;
};

export type PreparedTransaction = {
  /** Unsigned transaction envelope, base64. Absent only with status success, when the gateway no longer has the envelope */
  xdr?: string;
  /** Absent only with status success, when the gateway no longer has the envelope */
  networkPassphrase?: string;
  /** What will be called, with what the gateway filled in. Absent only with status success, when the gateway no longer has the envelope */
  operation?: PreparedOperation;
  /** What the source account has to sign */
  hash: string;
  /** Most that the transaction can cost, stroops. Absent only with status success, when the gateway no longer has the envelope */
  fee?: string;
  /** Absent only with status success, when the gateway no longer has the envelope */
  validUntil?: number;
  /** Only with an Idempotency-Key: this very transaction was applied, there is nothing left to do */
  status?: "success";
  /** The ledger that it was applied in, with status success */
  ledger?: number;
  /** Only with an Idempotency-Key: the hash of a transaction for the same, which the network has turned down and may apply all the same; of the two it applies at most one */
  replaces?: string;
  /** What to know before it is signed. Without an Idempotency-Key: the same operation of this source was submitted before and nobody was told how that ended, and which transaction to ask for. Of registerDevice: with so many cards in one wallet not every one can be revoked, or the card has an agent already. Of authorize: the merchant has so many payments since the last claim that none can ever be claimed. Of revokeDevice: what the card's escrow holds is taken by whoever registers it next */
  warning?: string;
};

export type RegisterAgentOperation = {
  kind: "registerAgent";
  deviceHash: string;
  agent: string;
  asset: string;
  maxAmount: string;
  expiresAt?: number | null;
};

export type RegisterDeviceOperation = {
  kind: "registerDevice";
  deviceHash: string;
  agent: string;
};

export type Replay = {
  /** The job; null with dryRun */
  id: string | null;
  /** How many events are sent again */
  deliveries: number;
  /** There are more: no more than 10000 are counted */
  atLeast: boolean;
};

export type ReplayRequest = {
  fromLedger?: number;
  /** Inclusive; all that is held when absent */
  toLedger?: number;
  /** This event alone, instead of ledgers */
  eventId?: string;
  /** Only count, send nothing */
  dryRun?: boolean;
};

export type RevokeAgentOperation = {
  kind: "revokeAgent";
  deviceHash: string;
};

export type RevokeDeviceOperation = {
  kind: "revokeDevice";
  deviceHash: string;
};

export type SentAttempt = {
  attempt: Attempt;
  /** null: the event is not held any more */
  request: SentRequest | null;
  /** The secret was rotated after the attempt, or up to three seconds before: the signatures are those of the secrets that sign now */
  secretRotatedSince: boolean;
};

export type SentRequest = {
  url: string;
  headers: Record<string, string>;
  /** Exactly as it is signed */
  body: string;
};

export type Status = {
  version: string;
  startedAt: string;
  /** What is wrong with the store's file or its disk at this moment */
  troubles: (string)[];
  ledger: {
    /** The newest ledger seen; 0 before the node has answered */
    sequence: number;
    closedAt: string | null;
    /** How long ago it closed */
    lagSeconds: number | null;
    /** By how much the network's time is ahead of this machine's clock; null when they agree within a minute */
    clockDisagreesBySeconds: number | null;
  };
  history: {
    /** Counts network resets */
    epoch: number;
    /** Ledgers whose events are held */
    ranges: ({
      epoch: number;
      fromLedger: number;
      toLedger: number;
    })[];
    /** Ledgers that could not be read, of which contracts; they are asked for again now and then */
    gaps: ({
      epoch: number;
      fromLedger: number;
      toLedger: number;
      contractIds: (string)[];
      detectedAt: string;
    })[];
    /** Events kept raw because they could not be decoded; 100 stands for 100 or more */
    undecodedEvents: number;
  };
  /** Whether the contract ids of the settings lead to the contracts expected */
  contracts: ({
    contract: "device_registry" | "agent_registry" | "payment_escrow";
    id: string;
    /** What is there instead of the contract expected; null when nothing is wrong */
    problem: string | null;
    /** When it was last looked at; null: not yet */
    checkedAt: string | null;
  })[];
  /** What merchants have to claim before it is lost to them; null when it can't be told now */
  expiring: {
    /** Pending payments in the last quarter of their life, as of a minute ago at most */
    payments: number;
    /** How many merchants have to claim them */
    merchants: number;
    /** When the first of them expires, Unix seconds */
    firstAt: number | null;
    /** False: there may be more. The log is still being gone through after a start, there are more merchants than are asked at once (100 a minute), or the node does not tell their payments */
    complete: boolean;
  } | null;
  /** Movements in an asset that they should not be in: the escrow keeps one balance for all assets */
  bypassMovements: {
    /** Of the newest 5000 events at the start, and since; each asset is warned of once in the log */
    count: number;
    last: {
      eventId: string;
      type: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed";
      ledger: number;
      asset: string;
      /** not_listed: the asset is none of SERVICE_API_ASSETS. not_the_policys: a card was funded in another asset than its policy names. not_what_was_funded: a card was funded in another asset than its escrow held, or more of an asset was paid, or paid out, than was there of it. not_what_was_authorized: a merchant claimed another asset than the payments were authorised in */
      because: "not_listed" | "not_the_policys" | "not_what_was_funded" | "not_what_was_authorized";
    } | null;
  };
  /** How each kind of read is answered. entries: from ledger entries, the fast way, which was found to agree with the contracts' functions. calls: by the contracts' functions, because the entries said something else. not_compared: from ledger entries too, but nothing has been read yet that could be compared. Nothing needs to be done but for calls: gateway doctor says more */
  reads: Record<string, "entries" | "calls" | "not_compared">;
  /** The RPC nodes, in the order of the settings */
  nodes: ({
    /** Scheme and host */
    node: string;
    /** Whether it is the one that is asked now */
    inUse: boolean;
    /** doubted: failed just now; failing, lagging: left alone until it has been well for a while */
    condition: "well" | "doubted" | "failing" | "lagging";
    problem: string | null;
    /** How much older its newest ledger was than the newest of any node */
    lagSeconds: number | null;
  })[];
  deliveries: {
    /** Webhook deliveries that wait in the log or are to be tried again */
    pending: number;
    /** There are more: of one webhook no more than 10000 are counted */
    atLeast: boolean;
    /** Of them, those that failed and are to be tried again */
    retrying: number;
    /** Those that an answer (4xx and the like) ended: replay them */
    rejected: number;
    /** Those given up, and events forgotten undelivered: replay them */
    dead: number;
    /** Webhooks whose endpoint fails, without those of disabled keys */
    failingWebhooks: number;
    /** How long the oldest one has been owed, tried already or not, without those of disabled keys */
    oldestSeconds: number | null;
  };
};

export type SubmitRequest = {
  xdr: string;
};

export type SubmittedTransaction = {
  hash: string;
  ledger: number;
};

export type SweepEscrowOperation = {
  kind: "sweepEscrow";
  deviceHash: string;
  asset: string;
  agent: string;
};

export type TransactionStatus = {
  hash: string;
  /** failed: applied without success, or in no ledger before its time bound; rejected: the network turned it down */
  status: "pending" | "success" | "failed" | "rejected";
  /** The ledger that it was applied in */
  ledger?: number;
  /** Why it failed or was rejected, for people; a program goes by what follows */
  error?: string;
  /** Name of the contract's error, where a contract refused; of a contract that is none of ours, or an error that this version does not know, its number (#10) or the host's words for it */
  contractError?: ContractErrorName | (string & Record<never, never>);
  /** The network's name for why it did not apply the transaction: txBadSeq, txTooLate, … */
  transactionError?: string;
  /** That of /v1/payments/check, where the contract's name stands for several causes */
  reason?: "device_not_found" | "agent_not_found" | "agent_mismatch" | "policy_expired" | "asset_mismatch" | "amount_exceeds_limit" | "insufficient_escrow";
  /** same: send the same again after a pause. prepare_again: the envelope is spent, prepare another. never: the same is refused again, until something else has changed */
  retry?: "same" | "prepare_again" | "never";
};

export type WalletDevices = {
  devices: (string)[];
};

export type Webhook = {
  id: string;
  url: string;
  /** null: all */
  types: ("device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed")[] | null;
  deviceHash: string | null;
  merchant: string | null;
  ordered: boolean;
  createdAt: string;
  /** Since when its endpoint has been failing; null: it is well */
  failingSince: string | null;
  /** Deliveries that failed and are to be tried again */
  retrying: number;
  /** Deliveries that an answer (4xx and the like) ended: replay them */
  rejected: number;
  /** Deliveries given up after the last attempt or three days: replay them */
  dead: number;
  /** Until then the secret before the last rotation signs too */
  previousSecretUntil: string | null;
};

export type WebhookList = {
  webhooks: (Webhook)[];
};

export type WebhookTest = {
  attempt: Attempt;
};

export type WebhookWithSecret = {
  id: string;
  url: string;
  /** null: all */
  types: ("device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed")[] | null;
  deviceHash: string | null;
  merchant: string | null;
  ordered: boolean;
  createdAt: string;
  /** Since when its endpoint has been failing; null: it is well */
  failingSince: string | null;
  /** Deliveries that failed and are to be tried again */
  retrying: number;
  /** Deliveries that an answer (4xx and the like) ended: replay them */
  rejected: number;
  /** Deliveries given up after the last attempt or three days: replay them */
  dead: number;
  /** Until then the secret before the last rotation signs too */
  previousSecretUntil: string | null;
  /** Signs every delivery (whsec_…); shown this once */
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
  /** A device with its policy and its escrow balance */
  "GET /v1/devices/:hash": {
    params: {
      hash: string;
    };
    answer: Device;
  };
  /** The policy of a device's agent */
  "GET /v1/devices/:hash/policy": {
    params: {
      hash: string;
    };
    answer: Policy;
  };
  /** The devices of a wallet, in the registry's order */
  "GET /v1/wallets/:address/devices": {
    params: {
      address: string;
    };
    answer: WalletDevices;
  };
  /** A merchant's pending payments: their sum, and one by one */
  "GET /v1/merchants/:address/pending": {
    params: {
      address: string;
    };
    answer: PendingPayments;
  };
  /** Whether the contracts would authorise a payment now */
  "POST /v1/payments/check": {
    body: PaymentCheck;
    answer: PaymentVerdict;
  };
  /** The symbol, the name and the decimals of an asset */
  "GET /v1/assets/:asset": {
    params: {
      asset: string;
    };
    answer: Asset;
  };
  /** The event history, in the order in which events became known */
  "GET /v1/events": {
    query: {
      /** Only events from this ledger on; not together with cursor */
      fromLedger?: QueryValue;
      /** From an earlier answer */
      cursor?: QueryValue;
      /** Only these event types, comma-separated */
      types?: QueryValue;
      deviceHash?: QueryValue;
      merchant?: QueryValue;
      agent?: QueryValue;
      /** Only the events of this transaction */
      txHash?: QueryValue;
      /** Only events up to this ledger, inclusive; a cursor that was made with it goes on with it */
      toLedger?: QueryValue;
      /** asc, or desc: the last one that became known first; asc when absent */
      order?: "asc" | "desc";
      /** 1 to 1000, 100 when absent */
      limit?: QueryValue;
    };
    answer: EventPage;
  };
  /** The event history and what comes after it, as server-sent events */
  "GET /v1/events/stream": {
    query: {
      /** Only events from this ledger on; not together with cursor */
      fromLedger?: QueryValue;
      /** From an earlier answer */
      cursor?: QueryValue;
      /** Only these event types, comma-separated */
      types?: QueryValue;
      deviceHash?: QueryValue;
      merchant?: QueryValue;
      agent?: QueryValue;
      /** Only the events of this transaction */
      txHash?: QueryValue;
    };
    answer: Event;
  };
  /** One event */
  "GET /v1/events/:id": {
    params: {
      id: string;
    };
    answer: Event;
  };
  /** Prepare a transaction for its source account to sign */
  "POST /v1/transactions/prepare": {
    body: PrepareRequest;
    answer: PreparedTransaction;
  };
  /** Submit a signed envelope and wait for its confirmation */
  "POST /v1/transactions/submit": {
    body: SubmitRequest;
    answer: SubmittedTransaction;
  };
  /** What became of a transaction */
  "GET /v1/transactions/:hash": {
    params: {
      hash: string;
    };
    answer: TransactionStatus;
  };
  /** Subscribe a URL to events */
  "POST /v1/webhooks": {
    body: NewWebhook;
    answer: WebhookWithSecret;
  };
  /** The webhooks of the calling key */
  "GET /v1/webhooks": {
    answer: WebhookList;
  };
  /** One webhook */
  "GET /v1/webhooks/:id": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: Webhook;
  };
  /** Delete a webhook, with what is still owed to it */
  "DELETE /v1/webhooks/:id": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: Deleted;
  };
  /** Give a webhook a new secret */
  "POST /v1/webhooks/:id/secret": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: WebhookWithSecret;
  };
  /** Send a signed test event now */
  "POST /v1/webhooks/:id/test": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: WebhookTest;
  };
  /** Send past events to a webhook again */
  "POST /v1/webhooks/:id/replay": {
    params: {
      /** wh_… */
      id: string;
    };
    body: ReplayRequest;
    answer: Replay;
  };
  /** The attempts to deliver to a webhook, newest first; or what failed */
  "GET /v1/webhooks/:id/deliveries": {
    params: {
      /** wh_… */
      id: string;
    };
    query: {
      /** Not the attempts, but the deliveries that are kept because they failed */
      state?: "rejected" | "dead" | "retrying";
      /** 1 to 200, 50 when absent */
      limit?: QueryValue;
      /** From an earlier answer */
      cursor?: QueryValue;
    };
    answer: AttemptPage | FailedDeliveryPage;
  };
  /** One attempt, with what was sent */
  "GET /v1/webhooks/:id/deliveries/:attempt": {
    params: {
      /** wh_… */
      id: string;
      /** Its id */
      attempt: string;
    };
    answer: SentAttempt;
  };
  /** Ledger height and lag, held history, contracts, RPC nodes, webhook backlog, version */
  "GET /v1/status": {
    answer: Status;
  };
}
