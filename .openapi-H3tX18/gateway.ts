export interface paths {
  "/v1/health": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Whether the gateway is alive */
    get: operations["getHealth"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/network": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** The network and the contracts behind this gateway */
    get: operations["getNetwork"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/devices/{hash}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** A card with its policy and its escrow balance */
    get: operations["getDevice"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/devices/{hash}/policy": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The policy of a card's agent
     * @description The gateway also answers for a card that the device registry does not know.
     */
    get: operations["getDevicePolicy"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/wallets/{address}/devices": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** The cards of a wallet, in the registry's order */
    get: operations["listWalletDevices"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/merchants/{address}/pending": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * A merchant's pending payments, with their sum
     * @description Pending payments are temporary entries of the ledger. The merchant loses a payment that it does not claim in time.
     */
    get: operations["getPendingPayments"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/payments/check": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Check whether the contracts would authorise a payment now
     * @description A payment with ok: true can be prepared. The reason is the first that applies, in the order of the enumeration.
     *
     *     - agent_not_found: also when the agent's account does not exist on the network.
     *     - agent_mismatch: also when the agent is a contract.
     *     - asset_mismatch: also when this gateway does not accept the asset.
     *     - insufficient_escrow: also when the escrow holds enough, but in another asset.
     */
    post: operations["checkPayment"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/assets/{asset}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** The symbol, the name and the decimals of an asset */
    get: operations["getAsset"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/events": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The event history, in the order of the log
     * @description The log has the order of the ledgers, except for events that the gateway found late: these come at the end. A client that follows the cursor gets every event exactly once. A page shorter than limit has reached the end of the log. Its cursor stays valid for the next poll.
     */
    get: operations["listEvents"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/events/stream": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The event history and all later events, as server-sent events
     * @description Each event is a frame without a name: data is the event, and id is its cursor. A page or another stream continues right after this cursor.
     *
     *     Named frames:
     *
     *     - caught_up { latestLedger }: the stream has sent the whole log.
     *     - ledger { latestLedger }: the same again, every few seconds.
     *     - gap { reason, … }: events may be missing. The reason is not_held (with oldestLedger) or not_read (with epoch, fromLedger, toLedger, contractIds and detectedAt).
     *     - revoked { reason }: the key is no longer valid, and the stream ends.
     *
     *     The header Last-Event-ID takes precedence over the query. The gateway ends a stream that the client does not read for half a minute. A key has at most 20 streams.
     */
    get: operations["streamEvents"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/events/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** One event */
    get: operations["getEvent"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/transactions/prepare": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Prepare a transaction for its source account to sign
     * @description Two prepares of one source before a submit share a sequence number: the second submit gets txBadSeq.
     *
     *     With an Idempotency-Key the gateway returns the same envelope while the network may apply it, with status success once the network has applied it. It returns a new envelope only when the network can never apply the earlier ones. So a client can prepare, sign and submit again, and never pays twice.
     */
    post: operations["prepareTransaction"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/transactions/submit": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Submit a signed envelope, and wait until the network has applied it
     * @description A repeated submit of the same envelope returns the same response. Prepare and submit of one operation share their Idempotency-Key. With it the gateway accepts another envelope only for the same operation with the same sequence number, or when the network can apply none of the earlier envelopes.
     */
    post: operations["submitTransaction"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/transactions/{hash}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** The status of a transaction */
    get: operations["getTransaction"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/webhooks": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** The webhooks of the calling key */
    get: operations["listWebhooks"];
    put?: never;
    /**
     * Subscribe a URL to events
     * @description The gateway delivers events of ledgers after the latest ledger at the creation; a replay delivers older events. The gateway shows the secret only in this response. A repeated request with the same Idempotency-Key gets the same webhook with its secret, and creates no second one.
     */
    post: operations["createWebhook"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/webhooks/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** One webhook */
    get: operations["getWebhook"];
    put?: never;
    post?: never;
    /** Delete a webhook, with its pending deliveries */
    delete: operations["deleteWebhook"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/webhooks/{id}/secret": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Give a webhook a new secret
     * @description For 24 hours the gateway signs deliveries with the previous secret too. It shows the new secret only in this response. A second request within half a minute gets the same secret, for a client that lost the response. The gateway refuses a rotation while two previous secrets still sign.
     */
    post: operations["rotateWebhookSecret"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/webhooks/{id}/test": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send a signed test event now
     * @description At most six tests a minute for each webhook.
     */
    post: operations["testWebhook"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/webhooks/{id}/replay": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send past events to a webhook again
     * @description A replay sends the events of a range of ledgers, or one event. It runs in the background, one at a time for each webhook. With dryRun the gateway only counts the events. The replays of a key scan at most a million events a day.
     *
     *     A repeated request with the same Idempotency-Key returns the same replay. One exception: the gateway was killed while it began a replay that has ended since. It begins this replay again.
     */
    post: operations["replayWebhook"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/webhooks/{id}/deliveries": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The attempts to deliver to a webhook, or its failed deliveries
     * @description Attempts come newest first. With state the gateway returns the failed deliveries in this state instead (FailedDeliveryPage). The newest 10000 rejected and the newest 10000 dead deliveries come newest event first. Retrying deliveries come oldest first. A replay with the eventId sends one of them again.
     */
    get: operations["listWebhookDeliveries"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/webhooks/{id}/deliveries/{attempt}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * One attempt, with its request
     * @description The gateway does not store headers and bodies. It rebuilds them from the event, the secret and the time of the attempt.
     */
    get: operations["getWebhookDelivery"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/status": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Ledger and lag, stored history, contracts, RPC nodes, webhook backlog, version */
    get: operations["getStatus"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface webhooks {
  event: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * The gateway delivers an event to a webhook
     * @description The gateway delivers an event at least once: deduplicate on the event's id. Check the signature on the raw body first.
     */
    post: operations["receiveEvent"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface components {
  schemas: {
    /** @description An agent may pay with a card, within a policy. */
    AgentRegistered: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "agent.registered";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Agent of the card: an account (G…) or a contract (C…).
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent: string;
      /**
       * @description Contract id (C…) of the policy's asset; null: unknown, because the gateway could not read it.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset?: string | null;
    };
    /** @description No agent may pay with a card any more. */
    AgentRevoked: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "agent.revoked";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
    };
    /** @description Names of an asset, and the decimals of its amounts. */
    Asset: {
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Symbol of the asset, native for the network's own. A token's symbol proves nothing about the token.
       * @example native
       */
      symbol: string;
      /**
       * @description Name of the asset, CODE:ISSUER for an issued asset.
       * @example native
       */
      name: string;
      /**
       * @description Digits after the decimal point in one unit of the asset.
       * @example 7
       */
      decimals: number;
    };
    /** @description One attempt to deliver an event to a webhook. */
    Attempt: {
      /**
       * @description Id of the attempt: a decimal string.
       * @example 3
       */
      id: string;
      /**
       * @description Id of the event; a test event's begins with test-.
       * @example 0000000068719480832-0000000000
       */
      eventId: string;
      /**
       * @description Type of the event, webhook.test for a test event.
       * @example payment.authorized
       */
      eventType: string;
      /**
       * @description Id of the delivery: the event's id, with the id of the replay after a colon in a replay; null for a test event.
       * @example 0000000068719480832-0000000000
       */
      deliveryId: string | null;
      /**
       * @description Number of the attempt in its delivery, from 1; 0 for an attempt that only checked whether a failing endpoint is back.
       * @example 1
       */
      attempt: number;
      /**
       * Format: date-time
       * @description Start of the attempt, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      at: string;
      /**
       * @description Duration of the attempt in milliseconds.
       * @example 23
       */
      durationMs: number;
      /**
       * @description rejected: the receiver's response ended the retries. dead: the gateway stopped retrying. The gateway stores both, and can replay them.
       * @example delivered
       * @enum {string}
       */
      outcome: "delivered" | "retry" | "rejected" | "dead";
      /**
       * @description HTTP status of the receiver's response; null without a response.
       * @example 200
       */
      statusCode: number | null;
      /**
       * @description Why the attempt failed, for people; null after a success.
       * @example null
       */
      error: string | null;
      /**
       * @description Beginning of the response's body; null when the gateway stored none.
       * @example thanks
       */
      responseBody: string | null;
      /**
       * @description Time of the next attempt, UTC; null when there is no retry.
       * @example 2026-11-28T06:12:29Z
       */
      nextAttemptAt: string | null;
    };
    /** @description Attempts to deliver to a webhook. */
    AttemptPage: {
      /** @description The attempts, newest first. */
      deliveries: components["schemas"]["Attempt"][];
      /**
       * @description Cursor of the next page, with older attempts; null on the last page.
       * @example 1
       */
      cursor: string | null;
    };
    /** @description The agent reserves a payment of a card for a merchant. */
    AuthorizeOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "authorize";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Merchant that may claim the payment: an account (G… with its checksum).
       * @example GCJQK7KSRXDZFSXA6AVZ6MMAQJZEDU6GZCQG744KJOLPBB7QGP4VNEE6
       */
      merchant: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Number of the payment, above the previous payment's: a decimal string from 1 to 2^64 − 1. The gateway fills in the next number when nonce is absent.
       * @example 1
       */
      nonce?: string;
    };
    /** @description The merchant collects all its pending payments. */
    ClaimOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "claim";
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
    };
    /**
     * @description Name of an error of the three contracts or of the asset contract.
     * @example AmountExceedsLimit
     * @enum {string}
     */
    ContractErrorName:
      | "AlreadyInitialized"
      | "DeviceNotFound"
      | "NotOwner"
      | "AlreadyRegistered"
      | "AgentNotFound"
      | "InvalidPolicy"
      | "InsufficientBalance"
      | "AgentNotAuthorized"
      | "NotDeviceOwner"
      | "NothingToClaim"
      | "DuplicateAuth"
      | "AgentStillActive"
      | "DeviceNotRegistered"
      | "OperationNotSupportedError"
      | "AlreadyInitializedError"
      | "UnauthorizedError"
      | "AuthenticationError"
      | "AccountMissingError"
      | "AccountIsNotClassic"
      | "NegativeAmountError"
      | "AllowanceError"
      | "BalanceError"
      | "BalanceDeauthorizedError"
      | "OverflowError"
      | "TrustlineMissingError"
      | "InsufficientAccountReserve"
      | "TooManyAccountSubentries";
    /** @description The owner takes money back from the card's escrow. */
    DefundEscrowOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "defundEscrow";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
    };
    /** @description The webhook is deleted. */
    Deleted: {
      /**
       * @description Always true.
       * @constant
       */
      deleted: true;
    };
    /** @description A card (a device) with its policy and its escrow balance. */
    Device: {
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Owner of the card: an account (G…) or a contract (C…).
       * @example GA5JVYGJTD2FGU2DY77HQTNVP2JHGRQ6ZQVY3JD3MKPHK6EKXZNG6LD6
       */
      owner: string;
      /** @description What the card's agent may pay; all fields are null while no agent is registered. */
      policy: components["schemas"]["Policy"] | components["schemas"]["NoPolicy"];
      /**
       * @description Balance of the card's escrow, in the asset's smallest unit: a decimal string.
       * @example 100000000
       */
      escrowBalance: string;
    };
    /** @description An owner registered a card, with an agent. */
    DeviceRegistered: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "device.registered";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Agent of the card: an account (G…) or a contract (C…).
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent: string;
    };
    /** @description The owner gave a card up. */
    DeviceRevoked: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "device.revoked";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
    };
    /** @description Body of every error response. */
    Error: {
      error: components["schemas"]["ErrorDetail"];
    };
    /**
     * @description Code of the error, for programs.
     * @example invalid_request
     * @enum {string}
     */
    ErrorCode:
      | "invalid_request"
      | "unauthorized"
      | "insufficient_scope"
      | "not_found"
      | "device_not_found"
      | "agent_not_found"
      | "contract_refused"
      | "rate_limited"
      | "internal_error"
      | "upstream_error"
      | "unavailable";
    /** @description What went wrong, and whether a retry helps. */
    ErrorDetail: {
      code: components["schemas"]["ErrorCode"];
      /**
       * @description What is wrong, for people; a program reads the other fields.
       * @example amount must be a decimal string; got a number
       */
      message: string;
      /**
       * @description Name of the contract's error, when a contract refused. An unknown error, or an error of another contract, has its number (#10) or the host's text instead.
       * @example AmountExceedsLimit
       */
      contractError?: components["schemas"]["ContractErrorName"] | string;
      /**
       * @description The network's name for the reason why it did not apply the transaction: txBadSeq, txTooLate and others.
       * @example txBadSeq
       */
      transactionError?: string;
      /**
       * @description The reason of /v1/payments/check, when the contract's error has several causes.
       * @example amount_exceeds_limit
       * @enum {string}
       */
      reason?:
        | "device_not_found"
        | "agent_not_found"
        | "agent_mismatch"
        | "policy_expired"
        | "asset_mismatch"
        | "amount_exceeds_limit"
        | "insufficient_escrow";
      /**
       * @description same: send the same request again after a pause. prepare_again: prepare, sign and submit a new envelope. never: the gateway refuses the same request until something else changes.
       * @example never
       * @enum {string}
       */
      retry: "same" | "prepare_again" | "never";
      /**
       * @description Name of the field, parameter or header that is wrong; nested fields have a path with dots.
       * @example operation.amount
       */
      param?: string;
    };
    /** @description The owner took money back from a card's escrow. */
    EscrowDefunded: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "escrow.defunded";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Contract id (C…) of the asset; null: unknown, because the gateway could not read it.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string | null;
    };
    /** @description The owner paid into a card's escrow. */
    EscrowFunded: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "escrow.funded";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Contract id (C…) of the asset; null: unknown, because the gateway could not read it.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string | null;
    };
    /** @description The rest of a card's escrow went back to its owner. */
    EscrowSwept: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "escrow.swept";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Contract id (C…) of the asset; null: unknown, because the gateway could not read it.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string | null;
    };
    /** @description An event of the contracts; type says which fields it has. */
    Event:
      | components["schemas"]["DeviceRegistered"]
      | components["schemas"]["DeviceRevoked"]
      | components["schemas"]["AgentRegistered"]
      | components["schemas"]["AgentRevoked"]
      | components["schemas"]["EscrowFunded"]
      | components["schemas"]["EscrowDefunded"]
      | components["schemas"]["EscrowSwept"]
      | components["schemas"]["PaymentAuthorized"]
      | components["schemas"]["PaymentClaimed"];
    /** @description A page of the event history. */
    EventPage: {
      /** @description The events of the page. */
      events: components["schemas"]["Event"][];
      /**
       * @description Cursor of the next page, present on every page.
       * @example AgBpeExER0E2aFhjUDYAAAAAAAkAAAAAAAHS73kX
       */
      cursor: string;
      /**
       * @description Sequence of the latest ledger that the gateway knows.
       * @example 1200
       */
      latestLedger: number;
      /**
       * @description First ledger from which the gateway stores all events: older events are missing. Null while unknown.
       * @example 1
       */
      oldestLedger: number | null;
    };
    /** @description A delivery that failed, and that the gateway stores for a replay. */
    FailedDelivery: {
      /**
       * @description Id of the event, for a replay.
       * @example 0000000068719480832-0000000000
       */
      eventId: string;
      /**
       * @description Type of the event.
       * @example payment.claimed
       * @enum {string}
       */
      eventType:
        | "device.registered"
        | "device.revoked"
        | "agent.registered"
        | "agent.revoked"
        | "escrow.funded"
        | "escrow.defunded"
        | "escrow.swept"
        | "payment.authorized"
        | "payment.claimed";
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * @description rejected: the receiver's response ended the retries. dead: the gateway stopped retrying. retrying: a retry follows.
       * @example rejected
       * @enum {string}
       */
      state: "rejected" | "dead" | "retrying";
      /**
       * Format: date-time
       * @description Time of the first failure, or of the end without an attempt, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      failedAt: string;
      /**
       * @description Attempts so far; 0: the event became too old while the endpoint was failing.
       * @example 1
       */
      attempts: number;
      /**
       * @description Time of the next attempt, UTC; null unless the state is retrying.
       * @example 2026-11-28T06:12:29Z
       */
      nextAttemptAt: string | null;
      /** @description The last attempt; null when there was none, or when the gateway no longer stores it. */
      lastAttempt: components["schemas"]["Attempt"] | null;
    };
    /** @description Failed deliveries of a webhook. */
    FailedDeliveryPage: {
      /** @description The failed deliveries in the requested state. */
      deliveries: components["schemas"]["FailedDelivery"][];
      /**
       * @description Cursor of the next page; null on the last page.
       * @example rejected.4
       */
      cursor: string | null;
    };
    /** @description The owner pays into the card's escrow. */
    FundEscrowOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "fundEscrow";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
    };
    /** @description The gateway is alive. */
    Health: {
      /**
       * @description Always true.
       * @constant
       */
      ok: true;
    };
    /** @description The network and the contracts behind this gateway. */
    Network: {
      /**
       * @description URL of a healthy RPC node of this network, without the secret parts of the URL.
       * @example https://rpc.example.com
       */
      rpcUrl: string;
      /**
       * @description Passphrase of the network, which every signature covers.
       * @example Standalone Sandbox Network ; 2026
       */
      networkPassphrase: string;
      /** @description The contracts that this gateway serves. */
      contracts: {
        /**
         * @description Contract id (C…) of the device registry.
         * @example CD2IS5A3KNF3XUWGHL2GSMKJIX5AIWWIP2E2YOPIFTLMXDHSTW3LKXW7
         */
        deviceRegistry: string;
        /**
         * @description Contract id (C…) of the agent registry.
         * @example CACJUI4PDSJDQVHVDS7ORIEEIBXSCWCHJYW4CCUJ3JBX6PEUOBRPFRPH
         */
        agentRegistry: string;
        /**
         * @description Contract id (C…) of the payment escrow.
         * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
         */
        paymentEscrow: string;
      };
      /**
       * @description Contract ids of the assets that this gateway accepts; null: it accepts every asset.
       * @example [
       *       "CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A"
       *     ]
       */
      assets: string[] | null;
    };
    /** @description A URL, and the events that the gateway delivers to it. */
    NewWebhook: {
      /**
       * @description Public https:// URL to which the gateway POSTs events. A sandbox also accepts http:// URLs of this machine.
       * @example https://shop.example.com/hook
       */
      url: string;
      /** @description Only events of these types; all types when absent or null. */
      types?:
        | (
          | "device.registered"
          | "device.revoked"
          | "agent.registered"
          | "agent.revoked"
          | "escrow.funded"
          | "escrow.defunded"
          | "escrow.swept"
          | "payment.authorized"
          | "payment.claimed"
        )[]
        | null;
      /**
       * @description Only events of this card (64 hex digits); all cards when absent or null.
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash?: string | null;
      /**
       * @description Only events of this merchant (G… or C…); all merchants when absent or null.
       * @example GA5JVYGJTD2FGU2DY77HQTNVP2JHGRQ6ZQVY3JD3MKPHK6EKXZNG6LD6
       */
      merchant?: string | null;
      /**
       * @description True: strictly one delivery at a time, and a failed delivery blocks all later ones. False when absent.
       * @example false
       */
      ordered?: boolean;
    };
    /** @description A card without an agent. */
    NoPolicy: {
      /**
       * @description Always null: the card has no agent.
       * @example null
       */
      agent: null;
      /**
       * @description Always null: the card has no agent.
       * @example null
       */
      maxAmount: null;
      /**
       * @description Always null: the card has no agent.
       * @example null
       */
      asset: null;
      /**
       * @description Always null: the card has no agent.
       * @example null
       */
      expiresAt: null;
    };
    /** @description What a transaction does; kind says which fields it has. */
    Operation:
      | components["schemas"]["AuthorizeOperation"]
      | components["schemas"]["ClaimOperation"]
      | components["schemas"]["RegisterAgentOperation"]
      | components["schemas"]["RevokeAgentOperation"]
      | components["schemas"]["FundEscrowOperation"]
      | components["schemas"]["DefundEscrowOperation"]
      | components["schemas"]["RegisterDeviceOperation"]
      | components["schemas"]["RevokeDeviceOperation"]
      | components["schemas"]["SweepEscrowOperation"];
    /** @description An agent paid a merchant, who can claim the payment now. */
    PaymentAuthorized: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "payment.authorized";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Merchant of the payment: an account (G…) or a contract (C…).
       * @example GCJQK7KSRXDZFSXA6AVZ6MMAQJZEDU6GZCQG744KJOLPBB7QGP4VNEE6
       */
      merchant: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Contract id (C…) of the asset; null: unknown, because the gateway could not read it.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string | null;
    };
    /** @description A payment that the client is about to prepare. */
    PaymentCheck: {
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Agent that would authorise the payment: an account (G… with its checksum). Absent: the card's agent.
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent?: string;
      /**
       * @description Merchant of the payment: an account (G… with its checksum). It does not change the verdict.
       * @example GCJQK7KSRXDZFSXA6AVZ6MMAQJZEDU6GZCQG744KJOLPBB7QGP4VNEE6
       */
      merchant?: string;
    };
    /** @description A merchant collected all its pending payments. */
    PaymentClaimed: {
      /**
       * @description Unique id of the event, by which receivers deduplicate.
       * @example 0000000068719480832-0000000000
       */
      id: string;
      /**
       * @description Contract id (C…) of the contract that emitted the event.
       * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
       */
      contractId: string;
      /**
       * @description Ledger of the event.
       * @example 16
       */
      ledger: number;
      /**
       * Format: date-time
       * @description Close time of the ledger, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      ledgerClosedAt: string;
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      txHash: string;
      /**
       * @description Type of the event. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      type: "payment.claimed";
      /**
       * @description Merchant of the payment: an account (G…) or a contract (C…).
       * @example GCJQK7KSRXDZFSXA6AVZ6MMAQJZEDU6GZCQG744KJOLPBB7QGP4VNEE6
       */
      merchant: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 0 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Contract id (C…) of the asset; null: unknown, because the gateway could not read it.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string | null;
    };
    /** @description Whether the payment would pass. */
    PaymentVerdict: components["schemas"]["PaymentWouldPass"] | components["schemas"]["PaymentWouldFail"];
    /** @description The payment would fail. */
    PaymentWouldFail: {
      /**
       * @description False: the contracts would refuse the payment.
       * @constant
       */
      ok: false;
      /**
       * @description First reason for which the contracts would refuse the payment.
       * @example amount_exceeds_limit
       * @enum {string}
       */
      reason:
        | "device_not_found"
        | "agent_not_found"
        | "agent_mismatch"
        | "policy_expired"
        | "asset_mismatch"
        | "amount_exceeds_limit"
        | "insufficient_escrow";
    };
    /** @description The payment would pass. */
    PaymentWouldPass: {
      /**
       * @description True: the contracts would authorise the payment.
       * @constant
       */
      ok: true;
    };
    /** @description A merchant's pending payments. */
    PendingPayments: {
      /**
       * @description Sum of all pending payments, in the asset's smallest unit: a decimal string.
       * @example 40000000
       */
      pending: string;
      /** @description At most 500 payments, oldest first; null when the gateway cannot read the contracts' storage and calls their functions instead. */
      payments: {
        /**
         * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
         * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
         */
        deviceHash: string;
        /**
         * @description Amount of the payment, in the asset's smallest unit: a decimal string.
         * @example 40000000
         */
        amount: string;
        /**
         * @description Time of the authorisation, in Unix seconds.
         * @example 1795846349
         */
        authorizedAt: number;
        /**
         * @description Approximate end of the payment in Unix seconds, estimated from the pace of the ledgers; null: unknown.
         * @example 1795846349
         */
        expiresAt: number | null;
      }[] | null;
      /**
       * @description Only present when the merchant has more payments than the list.
       * @constant
       */
      more?: true;
    };
    /** @description What the card's agent may pay. */
    Policy: {
      /**
       * @description Agent that may pay with the card: an account (G…) or a contract (C…).
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent: string;
      /**
       * @description Most that one payment may move, in the asset's smallest unit: a decimal string, 0 for no cap.
       * @example 50000000
       */
      maxAmount: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description End of the policy in Unix seconds; null: it has no end, or note gives the end.
       * @example 1795846349
       */
      expiresAt: number | null;
      /**
       * @description Only present when the end of the policy is larger than a JSON number can hold.
       * @example expires at 18446744073709551615, more than a JSON number holds
       */
      note?: string;
    };
    /** @description An operation, and the account that signs it. */
    PrepareRequest: {
      /**
       * @description Account that signs and pays the fee: G and 55 base32 characters, with a checksum.
       * @example GA5JVYGJTD2FGU2DY77HQTNVP2JHGRQ6ZQVY3JD3MKPHK6EKXZNG6LD6
       */
      source: string;
      operation: components["schemas"]["Operation"];
    };
    /** @description The agent reserves a payment of a card for a merchant, with the nonce of the payment. */
    PreparedAuthorizeOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "authorize";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Merchant that may claim the payment: an account (G… with its checksum).
       * @example GCJQK7KSRXDZFSXA6AVZ6MMAQJZEDU6GZCQG744KJOLPBB7QGP4VNEE6
       */
      merchant: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Amount in the asset's smallest unit: a decimal string from 1 to 2^127 − 1.
       * @example 40000000
       */
      amount: string;
      /**
       * @description Number of the payment, above the previous payment's: a decimal string from 1 to 2^64 − 1.
       * @example 1
       */
      nonce: string;
    };
    /** @description The operation of a prepared transaction, with the fields that the gateway filled in. */
    PreparedOperation:
      | components["schemas"]["PreparedAuthorizeOperation"]
      | components["schemas"]["ClaimOperation"]
      | components["schemas"]["PreparedRegisterAgentOperation"]
      | components["schemas"]["RevokeAgentOperation"]
      | components["schemas"]["FundEscrowOperation"]
      | components["schemas"]["DefundEscrowOperation"]
      | components["schemas"]["RegisterDeviceOperation"]
      | components["schemas"]["RevokeDeviceOperation"]
      | components["schemas"]["SweepEscrowOperation"];
    /** @description The owner lets an agent pay with a card, within a policy; expiresAt is always present. */
    PreparedRegisterAgentOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "registerAgent";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Agent of the card: an account (G… with its checksum).
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Most that one payment may move, in the asset's smallest unit: a decimal string from 0 (no cap) to 2^127 − 1.
       * @example 50000000
       */
      maxAmount: string;
      /**
       * @description End of the policy: whole Unix seconds from 1 to 253402300799, or null for a policy without end.
       * @example 1795846349
       */
      expiresAt: number | null;
    };
    /** @description A transaction for its source account to sign. */
    PreparedTransaction: {
      /**
       * @description Unsigned transaction envelope, base64. Absent only with status success, when the gateway no longer has the envelope.
       * @example AAAAAgAAAAA6muDJmPRTU0PH/nhNtX6Sc0YezCuNpHtinnV4ir5abw…
       */
      xdr?: string;
      /**
       * @description Passphrase of the network, which the signature covers. Absent only with status success, when the gateway no longer has the envelope.
       * @example Standalone Sandbox Network ; 2026
       */
      networkPassphrase?: string;
      /** @description The operation, with the fields that the gateway filled in. Absent only with status success, when the gateway no longer has the envelope. */
      operation?: components["schemas"]["PreparedOperation"];
      /**
       * @description Hash of the transaction, which the source account signs: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      hash: string;
      /**
       * @description Most that the transaction can cost in stroops, a decimal string. Absent only with status success, when the gateway no longer has the envelope.
       * @example 685899
       */
      fee?: string;
      /**
       * @description End of the envelope's validity (its time bound), in Unix seconds. Absent only with status success, when the gateway no longer has the envelope.
       * @example 1795846349
       */
      validUntil?: number;
      /**
       * @description Only with an Idempotency-Key: the network has applied this transaction, and the client has nothing left to do.
       * @constant
       */
      status?: "success";
      /**
       * @description Ledger that applied the transaction, only with status success.
       * @example 16
       */
      ledger?: number;
      /**
       * @description Only with an Idempotency-Key: hash of a transaction for the same operation. The network rejected it and may still apply it, but it applies at most one of the two.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      replaces?: string;
      /**
       * @description What to know before signing.
       *
       *     - Without an Idempotency-Key: this source submitted the same operation before, and its client did not get the outcome. The warning names the transaction to look up.
       *     - registerDevice: the wallet has so many cards that the owner cannot revoke all of them, or the card already has an agent.
       *     - authorize: the merchant has too many payments since its last claim, and no claim can ever collect them.
       *     - revokeDevice: the next owner who registers the card takes the balance of its escrow.
       * @example this card's escrow still holds 10000000: sweep it first, or the next owner who registers the card can take it
       */
      warning?: string;
    };
    /** @description The owner lets an agent pay with a card, within a policy. */
    RegisterAgentOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "registerAgent";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Agent of the card: an account (G… with its checksum).
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Most that one payment may move, in the asset's smallest unit: a decimal string from 0 (no cap) to 2^127 − 1.
       * @example 50000000
       */
      maxAmount: string;
      /**
       * @description End of the policy: whole Unix seconds from 1 to 253402300799, or null for a policy without end.
       * @example 1795846349
       */
      expiresAt?: number | null;
    };
    /** @description The owner registers a card. */
    RegisterDeviceOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "registerDevice";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Agent of the card: an account (G… with its checksum).
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent: string;
    };
    /** @description A replay that began, or its size with dryRun. */
    Replay: {
      /**
       * @description Id of the replay (rp_…); null with dryRun.
       * @example rp_xk5ZwZWUcIbvNWbQc5BuAo
       */
      id: string | null;
      /**
       * @description Number of events to send, at most 10000.
       * @example 2
       */
      deliveries: number;
      /**
       * @description True: there are more events, because the gateway counts at most 10000.
       * @example false
       */
      atLeast: boolean;
    };
    /** @description Past events: a range of ledgers, or one event. */
    ReplayRequest: {
      /**
       * @description First ledger of the range: 1 to 4294967295. Required without eventId.
       * @example 1
       */
      fromLedger?: number;
      /**
       * @description Last ledger of the range, inclusive: 1 to 4294967295. The end of the log when absent.
       * @example 1200
       */
      toLedger?: number;
      /**
       * @description Id of the only event to send again, instead of a range of ledgers.
       * @example 0000000068719480832-0000000000
       */
      eventId?: string;
      /**
       * @description True: count the events and send nothing. False when absent.
       * @example true
       */
      dryRun?: boolean;
    };
    /** @description The owner ends the agent's right to pay with a card. */
    RevokeAgentOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "revokeAgent";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
    };
    /** @description The owner gives a card up. */
    RevokeDeviceOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "revokeDevice";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
    };
    /** @description An attempt with its request. */
    SentAttempt: {
      attempt: components["schemas"]["Attempt"];
      /** @description The request of the attempt; null when the gateway no longer stores the event. */
      request: components["schemas"]["SentRequest"] | null;
      /**
       * @description True: the secret was rotated after the attempt, or up to three seconds before it. The signatures are made with the present secrets.
       * @example false
       */
      secretRotatedSince: boolean;
    };
    /** @description A request to a webhook. */
    SentRequest: {
      /**
       * @description URL of the webhook.
       * @example https://shop.example.com/hook
       */
      url: string;
      /** @description The request's headers by name. */
      headers: {
        [key: string]: string;
      };
      /**
       * @description The request's body, byte by byte as signed.
       * @example {"subscription":"wh_qhm4MArw4uzzJbyAEo0RI2","event":{"id":"0000000068719480832-0000000000"}}
       */
      body: string;
    };
    /** @description Condition of the gateway, for operators and dashboards. */
    Status: {
      /**
       * @description Version of the gateway.
       * @example 0.1.0
       */
      version: string;
      /**
       * Format: date-time
       * @description Start of this process, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      startedAt: string;
      /**
       * @description Present problems of the store's file and its disk, one sentence each; empty without problems.
       * @example []
       */
      troubles: string[];
      /** @description The latest ledger that this gateway knows. */
      ledger: {
        /**
         * @description Sequence of the latest ledger; 0 before the node's first answer.
         * @example 1200
         */
        sequence: number;
        /**
         * @description Close time of the latest ledger, UTC; null before the node's first answer.
         * @example 2026-11-28T06:12:29Z
         */
        closedAt: string | null;
        /**
         * @description Seconds since the latest ledger closed; null before the node's first answer.
         * @example 3.2
         */
        lagSeconds: number | null;
        /**
         * @description Seconds by which the network's time is ahead of this machine's clock; null: both agree within a minute.
         * @example null
         */
        clockDisagreesBySeconds: number | null;
      };
      /** @description The stored event history. */
      history: {
        /**
         * @description Number of network resets that the gateway has seen.
         * @example 0
         */
        epoch: number;
        /** @description Ledgers whose events the gateway stores. */
        ranges: {
          /**
           * @description Number of network resets before these ledgers.
           * @example 0
           */
          epoch: number;
          /**
           * @description First ledger of the range.
           * @example 16
           */
          fromLedger: number;
          /**
           * @description Last ledger of the range, inclusive.
           * @example 1200
           */
          toLedger: number;
        }[];
        /** @description Ledgers that the gateway could not read, with their contracts; it retries now and then. */
        gaps: {
          /**
           * @description Number of network resets before these ledgers.
           * @example 0
           */
          epoch: number;
          /**
           * @description First ledger of the range.
           * @example 16
           */
          fromLedger: number;
          /**
           * @description Last ledger of the range, inclusive.
           * @example 1200
           */
          toLedger: number;
          /**
           * @description Contracts (C…) whose events may be missing.
           * @example [
           *       "CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H"
           *     ]
           */
          contractIds: string[];
          /**
           * Format: date-time
           * @description Time at which the gateway found the gap, UTC.
           * @example 2026-11-28T06:12:29Z
           */
          detectedAt: string;
        }[];
        /**
         * @description Events that the gateway stores raw because it cannot decode them; 100 means 100 or more.
         * @example 0
         */
        undecodedEvents: number;
      };
      /** @description Whether the contract ids of the settings lead to the expected contracts. */
      contracts: {
        /**
         * @description Name of the contract.
         * @example payment_escrow
         * @enum {string}
         */
        contract: "device_registry" | "agent_registry" | "payment_escrow";
        /**
         * @description Contract id (C…) of the contract, from the settings.
         * @example CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H
         */
        id: string;
        /**
         * @description What the gateway found instead of the expected contract; null without a problem.
         * @example null
         */
        problem: string | null;
        /**
         * @description Time of the last check, UTC; null before the first check.
         * @example 2026-11-28T06:12:29Z
         */
        checkedAt: string | null;
      }[];
      /** @description Payments that expire soon, and are lost to the merchant unless it claims them; null while unknown. */
      expiring: {
        /**
         * @description Pending payments in the last quarter of their life, at most a minute old.
         * @example 2
         */
        payments: number;
        /**
         * @description Merchants that have to claim these payments.
         * @example 1
         */
        merchants: number;
        /**
         * @description Time at which the first of these payments expires, in Unix seconds; null without such payments.
         * @example 1795846349
         */
        firstAt: number | null;
        /**
         * @description False: there may be more. After a start the gateway still scans the log, it checks at most 100 merchants a minute, or the node does not show their payments.
         * @example true
         */
        complete: boolean;
      } | null;
      /** @description Movements in an asset that the gateway would have refused: the escrow keeps one balance for all assets. */
      bypassMovements: {
        /**
         * @description Movements among the newest 5000 events at the start, and since; the gateway logs one warning for each asset.
         * @example 0
         */
        count: number;
        /** @description The newest of these movements; null without any. */
        last: {
          /**
           * @description Id of the event.
           * @example 0000000068719480832-0000000000
           */
          eventId: string;
          /**
           * @description Type of the event.
           * @example escrow.funded
           * @enum {string}
           */
          type:
            | "device.registered"
            | "device.revoked"
            | "agent.registered"
            | "agent.revoked"
            | "escrow.funded"
            | "escrow.defunded"
            | "escrow.swept"
            | "payment.authorized"
            | "payment.claimed";
          /**
           * @description Ledger of the event.
           * @example 16
           */
          ledger: number;
          /**
           * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
           * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
           */
          asset: string;
          /**
           * @description not_listed: SERVICE_API_ASSETS does not list the asset. not_the_policys: the owner funded a card in another asset than its policy names. not_what_was_funded: the owner funded a card in another asset than its escrow held, or a movement took more of an asset than the escrow held of it. not_what_was_authorized: a merchant claimed another asset than the agent authorised.
           * @example not_listed
           * @enum {string}
           */
          because: "not_listed" | "not_the_policys" | "not_what_was_funded" | "not_what_was_authorized";
        } | null;
      };
      /**
       * @description How the gateway answers each kind of read. entries: from ledger entries, which agree with the contracts' functions. calls: by the contracts' functions, because the entries disagreed; gateway doctor reports details. not_compared: from ledger entries, and no read was comparable yet.
       * @example {
       *       "device": "entries"
       *     }
       */
      reads: {
        [key: string]: "entries" | "calls" | "not_compared";
      };
      /** @description The RPC nodes, in the order of the settings. */
      nodes: {
        /**
         * @description Scheme and host of the node.
         * @example https://rpc.example.com
         */
        node: string;
        /**
         * @description Whether the gateway calls this node now.
         * @example true
         */
        inUse: boolean;
        /**
         * @description doubted: the node failed just now. failing, lagging: the gateway avoids the node until it has been well for a while.
         * @example well
         * @enum {string}
         */
        condition: "well" | "doubted" | "failing" | "lagging";
        /**
         * @description The node's last problem, for people; null without a problem.
         * @example null
         */
        problem: string | null;
        /**
         * @description Seconds by which this node's latest ledger is older than the latest ledger of all nodes; null: unknown.
         * @example 0
         */
        lagSeconds: number | null;
      }[];
      /** @description Webhook deliveries of all keys. */
      deliveries: {
        /**
         * @description Webhook deliveries that wait in the log or for a retry.
         * @example 3
         */
        pending: number;
        /**
         * @description True: there are more, because the gateway counts at most 10000 for each webhook.
         * @example false
         */
        atLeast: boolean;
        /**
         * @description Pending deliveries that failed and wait for a retry.
         * @example 1
         */
        retrying: number;
        /**
         * @description Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again.
         * @example 0
         */
        rejected: number;
        /**
         * @description Deliveries without further retries, and undelivered events past retention; a replay sends them again.
         * @example 0
         */
        dead: number;
        /**
         * @description Webhooks whose endpoint fails, without those of disabled keys.
         * @example 0
         */
        failingWebhooks: number;
        /**
         * @description Age of the oldest pending delivery in seconds, without those of disabled keys; null without any.
         * @example 2
         */
        oldestSeconds: number | null;
      };
    };
    /** @description A signed envelope. */
    SubmitRequest: {
      /**
       * @description Signed transaction envelope, base64: the xdr of prepare, with the signature of its source.
       * @example AAAAAgAAAAA6muDJmPRTU0PH/nhNtX6Sc0YezCuNpHtinnV4ir5abw…
       */
      xdr: string;
    };
    /** @description A transaction that the network has applied. */
    SubmittedTransaction: {
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      hash: string;
      /**
       * @description Ledger that applied the transaction.
       * @example 16
       */
      ledger: number;
    };
    /** @description The owner takes back all that is left in the card's escrow. */
    SweepEscrowOperation: {
      /**
       * @description Kind of the operation. (enum property replaced by openapi-typescript)
       * @enum {string}
       */
      kind: "sweepEscrow";
      /**
       * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
       * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
       */
      deviceHash: string;
      /**
       * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
       * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
       */
      asset: string;
      /**
       * @description Agent of the card: an account (G…) or a contract (C…) with its checksum.
       * @example GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ
       */
      agent: string;
    };
    /** @description Outcome of a transaction. */
    TransactionStatus: {
      /**
       * @description Hash of the transaction: 64 hex digits.
       * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
       */
      hash: string;
      /**
       * @description failed: the network applied the transaction without success, or in no ledger before its time bound. rejected: the network refused the transaction.
       * @example success
       * @enum {string}
       */
      status: "pending" | "success" | "failed" | "rejected";
      /**
       * @description Ledger that applied the transaction; absent when no ledger did.
       * @example 16
       */
      ledger?: number;
      /**
       * @description Why the transaction failed or was rejected, for people; a program reads the fields below.
       * @example the network rejected the transaction: txBadSeq
       */
      error?: string;
      /**
       * @description Name of the contract's error, when a contract refused. An unknown error, or an error of another contract, has its number (#10) or the host's text instead.
       * @example AmountExceedsLimit
       */
      contractError?: components["schemas"]["ContractErrorName"] | string;
      /**
       * @description The network's name for the reason why it did not apply the transaction: txBadSeq, txTooLate and others.
       * @example txBadSeq
       */
      transactionError?: string;
      /**
       * @description The reason of /v1/payments/check, when the contract's error has several causes.
       * @example amount_exceeds_limit
       * @enum {string}
       */
      reason?:
        | "device_not_found"
        | "agent_not_found"
        | "agent_mismatch"
        | "policy_expired"
        | "asset_mismatch"
        | "amount_exceeds_limit"
        | "insufficient_escrow";
      /**
       * @description same: send the same request again after a pause. prepare_again: prepare, sign and submit a new envelope. never: the gateway refuses the same request until something else changes.
       * @example never
       * @enum {string}
       */
      retry?: "same" | "prepare_again" | "never";
    };
    /** @description The cards of a wallet. */
    WalletDevices: {
      /**
       * @description Hashes of the cards, 64 hex digits each, in the registry's order.
       * @example [
       *       "ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451"
       *     ]
       */
      devices: string[];
    };
    /** @description A webhook of the calling key. */
    Webhook: {
      /**
       * @description Id of the webhook (wh_…).
       * @example wh_qhm4MArw4uzzJbyAEo0RI2
       */
      id: string;
      /**
       * @description URL to which the gateway POSTs events.
       * @example https://shop.example.com/hook
       */
      url: string;
      /**
       * @description Types of the delivered events; null: all types.
       * @example [
       *       "payment.authorized",
       *       "payment.claimed"
       *     ]
       */
      types:
        | (
          | "device.registered"
          | "device.revoked"
          | "agent.registered"
          | "agent.revoked"
          | "escrow.funded"
          | "escrow.defunded"
          | "escrow.swept"
          | "payment.authorized"
          | "payment.claimed"
        )[]
        | null;
      /**
       * @description Card of the delivered events, 64 hex digits; null: all cards.
       * @example null
       */
      deviceHash: string | null;
      /**
       * @description Merchant of the delivered events (G… or C…); null: all merchants.
       * @example null
       */
      merchant: string | null;
      /**
       * @description Whether the gateway delivers strictly one event at a time.
       * @example false
       */
      ordered: boolean;
      /**
       * Format: date-time
       * @description Time of the creation, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      createdAt: string;
      /**
       * @description Time since which the endpoint has been failing, UTC; null while it is well.
       * @example 2026-11-28T06:12:29Z
       */
      failingSince: string | null;
      /**
       * @description Deliveries that failed and wait for a retry.
       * @example 0
       */
      retrying: number;
      /**
       * @description Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again.
       * @example 0
       */
      rejected: number;
      /**
       * @description Deliveries that failed until the last attempt or for three days; a replay sends them again.
       * @example 0
       */
      dead: number;
      /**
       * @description Until this time (UTC) the secret before the last rotation signs too; null: it does not.
       * @example 2026-11-28T06:12:29Z
       */
      previousSecretUntil: string | null;
    };
    /** @description Body of a delivery to a webhook. */
    WebhookDelivery: {
      /**
       * @description Id of the webhook (wh_…).
       * @example wh_qhm4MArw4uzzJbyAEo0RI2
       */
      subscription: string;
      /** @description The event, or a test event. */
      event: components["schemas"]["Event"] | components["schemas"]["WebhookTestEvent"];
    };
    /** @description All webhooks of a key. */
    WebhookList: {
      /** @description The webhooks of the calling key. */
      webhooks: components["schemas"]["Webhook"][];
    };
    /** @description Result of a test. */
    WebhookTest: {
      /** @description The attempt to deliver the test event. */
      attempt: components["schemas"]["Attempt"];
    };
    /** @description The event of POST /v1/webhooks/:id/test. */
    WebhookTestEvent: {
      /**
       * @description Id of the test event: test- and letters or digits.
       * @example test-KVhnA1XB8br7uFJEuKVUo7
       */
      id: string;
      /**
       * @description Type of the event.
       * @constant
       */
      type: "webhook.test";
      /**
       * Format: date-time
       * @description Time of the test, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      createdAt: string;
    };
    /** @description A webhook with its secret. */
    WebhookWithSecret: {
      /**
       * @description Id of the webhook (wh_…).
       * @example wh_qhm4MArw4uzzJbyAEo0RI2
       */
      id: string;
      /**
       * @description URL to which the gateway POSTs events.
       * @example https://shop.example.com/hook
       */
      url: string;
      /**
       * @description Types of the delivered events; null: all types.
       * @example [
       *       "payment.authorized",
       *       "payment.claimed"
       *     ]
       */
      types:
        | (
          | "device.registered"
          | "device.revoked"
          | "agent.registered"
          | "agent.revoked"
          | "escrow.funded"
          | "escrow.defunded"
          | "escrow.swept"
          | "payment.authorized"
          | "payment.claimed"
        )[]
        | null;
      /**
       * @description Card of the delivered events, 64 hex digits; null: all cards.
       * @example null
       */
      deviceHash: string | null;
      /**
       * @description Merchant of the delivered events (G… or C…); null: all merchants.
       * @example null
       */
      merchant: string | null;
      /**
       * @description Whether the gateway delivers strictly one event at a time.
       * @example false
       */
      ordered: boolean;
      /**
       * Format: date-time
       * @description Time of the creation, UTC.
       * @example 2026-11-28T06:12:29Z
       */
      createdAt: string;
      /**
       * @description Time since which the endpoint has been failing, UTC; null while it is well.
       * @example 2026-11-28T06:12:29Z
       */
      failingSince: string | null;
      /**
       * @description Deliveries that failed and wait for a retry.
       * @example 0
       */
      retrying: number;
      /**
       * @description Deliveries that the receiver rejected (a 4xx, for example); a replay sends them again.
       * @example 0
       */
      rejected: number;
      /**
       * @description Deliveries that failed until the last attempt or for three days; a replay sends them again.
       * @example 0
       */
      dead: number;
      /**
       * @description Until this time (UTC) the secret before the last rotation signs too; null: it does not.
       * @example 2026-11-28T06:12:29Z
       */
      previousSecretUntil: string | null;
      /**
       * @description Secret (whsec_…) that signs every delivery; the gateway shows it only in this response.
       * @example whsec_onj8SPdVj7jMzTOzVxsapIYoL83VGtHaidYW51HW5n0=
       */
      secret: string;
    };
  };
  responses: {
    /** @description `internal_error`: Something went wrong inside the gateway; the log holds the details under the request id. */
    InternalError: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `unavailable`: The gateway is shutting down, its store cannot be used right now, or all of its event streams are open. */
    Unavailable: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        /**
         * @description Seconds to wait before the next request.
         * @example 1
         */
        "Retry-After"?: number;
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `invalid_request`: The request is malformed, or the network rejects the transaction for its own sake: transactionError holds the network's name for that. */
    InvalidRequest: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `unauthorized`: The API key is missing, malformed, unknown, disabled or expired. */
    Unauthorized: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `insufficient_scope`: The API key lacks the scope of this endpoint. */
    InsufficientScope: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `rate_limited`: The rate, or another limit that the message names, is used up; Retry-After says how many seconds to wait. */
    RateLimited: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        /**
         * @description Seconds to wait before the next request.
         * @example 1
         */
        "Retry-After"?: number;
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `device_not_found`: The device registry does not know this device. */
    DeviceNotFound: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `upstream_error`: The RPC node failed, timed out or answered nonsense. */
    UpstreamError: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `agent_not_found`: No agent is registered for this device. */
    AgentNotFound: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `invalid_request`: The body did not arrive within 30 seconds; send the same request again. */
    BodyTooLate: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `invalid_request`: The body is larger than 192 KiB. */
    BodyTooLarge: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `not_found`: The account, transaction, subscription or path does not exist. */
    NotFound: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `invalid_request`: Another request with this Idempotency-Key is in progress, or the time bound of an earlier envelope has not passed. Send the same request again after Retry-After seconds. */
    IntentUnderWay: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        /**
         * @description Seconds to wait before the next request.
         * @example 1
         */
        "Retry-After"?: number;
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
    /** @description `contract_refused`: A contract refused the operation; contractError holds the name of its error. */
    ContractRefused: {
      headers: {
        "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
        "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        "X-Request-Id": components["headers"]["X-Request-Id"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Error"];
      };
    };
  };
  parameters: {
    /** @description Name of an operation that must happen once: 1 to 255 visible ASCII characters. It belongs to the API key, and the gateway stores it for seven days after its last use. After any failure send the same body with the same key again: the operation happens once. The gateway refuses another body with the same key. */
    "Idempotency-Key": string;
  };
  requestBodies: never;
  headers: {
    /**
     * @description Rate of the key or the address: requests per minute.
     * @example 600
     */
    "X-RateLimit-Limit": number;
    /**
     * @description Requests that the client may send at once now.
     * @example 599
     */
    "X-RateLimit-Remaining": number;
    /**
     * @description Rate limit policy (IETF draft): q is the quota, w the window in seconds.
     * @example "default";q=600;w=60
     */
    "RateLimit-Policy": string;
    /**
     * @description Rate limit state (IETF draft): r is the rest, t the seconds until the quota is full.
     * @example "default";r=599;t=1
     */
    RateLimit: string;
    /**
     * @description Id of the request, which the gateway's log shows too.
     * @example req_4jhH2f9sKq
     */
    "X-Request-Id": string;
  };
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  getHealth: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Health"];
        };
      };
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getNetwork: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Network"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getDevice: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
         * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
         */
        hash: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Device"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      /** @description `device_not_found`: The device registry does not know this device. */
      404: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getDevicePolicy: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Card: the SHA-256 of its UID, 64 hex digits (lower case in responses).
         * @example ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451
         */
        hash: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Policy"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      /** @description `agent_not_found`: No agent is registered for this device. */
      404: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listWalletDevices: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Account (G…) or contract (C…): 56 base32 characters, with a checksum.
         * @example GA5JVYGJTD2FGU2DY77HQTNVP2JHGRQ6ZQVY3JD3MKPHK6EKXZNG6LD6
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WalletDevices"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getPendingPayments: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Merchant: an account (G…) or a contract (C…) with its checksum.
         * @example GCJQK7KSRXDZFSXA6AVZ6MMAQJZEDU6GZCQG744KJOLPBB7QGP4VNEE6
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PendingPayments"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  checkPayment: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PaymentCheck"];
      };
    };
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PaymentVerdict"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      408: components["responses"]["BodyTooLate"];
      413: components["responses"]["BodyTooLarge"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getAsset: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Contract id of the asset: C and 55 base32 characters, with a checksum.
         * @example CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A
         */
        asset: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Asset"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listEvents: {
    parameters: {
      query?: {
        /**
         * @description Only events from this ledger on: 1 to 4294967295. It excludes cursor.
         * @example 1
         */
        fromLedger?: number;
        /** @description Cursor of an earlier response, at most 200 characters. It excludes fromLedger. */
        cursor?: string;
        /** @description Only events of these types, comma-separated. */
        types?: (
          | "device.registered"
          | "device.revoked"
          | "agent.registered"
          | "agent.revoked"
          | "escrow.funded"
          | "escrow.defunded"
          | "escrow.swept"
          | "payment.authorized"
          | "payment.claimed"
        )[];
        /** @description Only events of this card: 64 hex digits. */
        deviceHash?: string;
        /** @description Only events of this merchant: an account (G…) or a contract (C…). */
        merchant?: string;
        /** @description Only events of this agent: an account (G…) or a contract (C…). */
        agent?: string;
        /** @description Only events of this transaction: 64 hex digits. */
        txHash?: string;
        /** @description Only events up to this ledger, inclusive: 1 to 4294967295. The page's cursor continues with the same limit. */
        toLedger?: number;
        /** @description asc: the order of the log. desc: the newest entry of the log first. asc when absent. */
        order?: "asc" | "desc";
        /**
         * @description Most events in the page: 1 to 1000, 100 when absent.
         * @example 9
         */
        limit?: number;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["EventPage"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  streamEvents: {
    parameters: {
      query?: {
        /** @description Only events from this ledger on: 1 to 4294967295. It excludes cursor. */
        fromLedger?: number;
        /** @description Cursor of an earlier response, at most 200 characters. It excludes fromLedger. */
        cursor?: string;
        /** @description Only events of these types, comma-separated. */
        types?: (
          | "device.registered"
          | "device.revoked"
          | "agent.registered"
          | "agent.revoked"
          | "escrow.funded"
          | "escrow.defunded"
          | "escrow.swept"
          | "payment.authorized"
          | "payment.claimed"
        )[];
        /** @description Only events of this card: 64 hex digits. */
        deviceHash?: string;
        /** @description Only events of this merchant: an account (G…) or a contract (C…). */
        merchant?: string;
        /** @description Only events of this agent: an account (G…) or a contract (C…). */
        agent?: string;
        /** @description Only events of this transaction: 64 hex digits. */
        txHash?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "text/event-stream": components["schemas"]["Event"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getEvent: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Id of the event: 19 and 10 digits with a hyphen, after a network reset with the epoch and a hyphen in front.
         * @example 0000000068719480832-0000000000
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Event"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      /** @description `not_found`: The account, transaction, subscription or path does not exist. */
      404: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  prepareTransaction: {
    parameters: {
      query?: never;
      header?: {
        /** @description Name of an operation that must happen once: 1 to 255 visible ASCII characters. It belongs to the API key, and the gateway stores it for seven days after its last use. After any failure send the same body with the same key again: the operation happens once. The gateway refuses another body with the same key. */
        "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PrepareRequest"];
      };
    };
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PreparedTransaction"];
        };
      };
      /** @description `invalid_request`: The request is malformed, or the network rejects the transaction for its own sake: transactionError holds the network's name for that. */
      400: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      /** @description `not_found`: The account, transaction, subscription or path does not exist. */
      404: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      408: components["responses"]["BodyTooLate"];
      409: components["responses"]["IntentUnderWay"];
      413: components["responses"]["BodyTooLarge"];
      /** @description `contract_refused`: A contract refused the operation; contractError holds the name of its error. */
      422: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  submitTransaction: {
    parameters: {
      query?: never;
      header?: {
        /** @description Name of an operation that must happen once: 1 to 255 visible ASCII characters. It belongs to the API key, and the gateway stores it for seven days after its last use. After any failure send the same body with the same key again: the operation happens once. The gateway refuses another body with the same key. */
        "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SubmitRequest"];
      };
    };
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SubmittedTransaction"];
        };
      };
      /** @description `invalid_request`: The request is malformed, or the network rejects the transaction for its own sake: transactionError holds the network's name for that. */
      400: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      408: components["responses"]["BodyTooLate"];
      409: components["responses"]["IntentUnderWay"];
      413: components["responses"]["BodyTooLarge"];
      /** @description `contract_refused`: A contract refused the operation; contractError holds the name of its error. */
      422: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getTransaction: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Hash of the transaction, which its source signs: 64 hex digits (lower case in responses).
         * @example ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7
         */
        hash: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["TransactionStatus"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      /** @description `not_found`: The account, transaction, subscription or path does not exist. */
      404: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listWebhooks: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookList"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Name of an operation that must happen once: 1 to 255 visible ASCII characters. It belongs to the API key, and the gateway stores it for seven days after its last use. After any failure send the same body with the same key again: the operation happens once. The gateway refuses another body with the same key. */
        "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewWebhook"];
      };
    };
    responses: {
      /** @description Success */
      201: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookWithSecret"];
        };
      };
      /** @description `invalid_request`: The request is malformed, or the network rejects the transaction for its own sake: transactionError holds the network's name for that. */
      400: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      408: components["responses"]["BodyTooLate"];
      409: components["responses"]["IntentUnderWay"];
      413: components["responses"]["BodyTooLarge"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      502: components["responses"]["UpstreamError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Id of the webhook: wh_ and 1 to 40 letters or digits.
         * @example wh_qhm4MArw4uzzJbyAEo0RI2
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      /** @description `not_found`: The account, transaction, subscription or path does not exist. */
      404: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Error"];
        };
      };
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Id of the webhook: wh_ and 1 to 40 letters or digits.
         * @example wh_qhm4MArw4uzzJbyAEo0RI2
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Deleted"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  rotateWebhookSecret: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Id of the webhook: wh_ and 1 to 40 letters or digits.
         * @example wh_qhm4MArw4uzzJbyAEo0RI2
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookWithSecret"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  testWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Id of the webhook: wh_ and 1 to 40 letters or digits.
         * @example wh_qhm4MArw4uzzJbyAEo0RI2
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookTest"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  replayWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Name of an operation that must happen once: 1 to 255 visible ASCII characters. It belongs to the API key, and the gateway stores it for seven days after its last use. After any failure send the same body with the same key again: the operation happens once. The gateway refuses another body with the same key. */
        "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
      };
      path: {
        /**
         * @description Id of the webhook: wh_ and 1 to 40 letters or digits.
         * @example wh_qhm4MArw4uzzJbyAEo0RI2
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReplayRequest"];
      };
    };
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Replay"];
        };
      };
      /** @description Success */
      202: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Replay"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      408: components["responses"]["BodyTooLate"];
      409: components["responses"]["IntentUnderWay"];
      413: components["responses"]["BodyTooLarge"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listWebhookDeliveries: {
    parameters: {
      query?: {
        /** @description Return the failed deliveries in this state instead of the attempts. */
        state?: "rejected" | "dead" | "retrying";
        /**
         * @description Most entries in the page: 1 to 200, 50 when absent.
         * @example 3
         */
        limit?: number;
        /** @description Cursor of an earlier page with the same state. */
        cursor?: string;
      };
      header?: never;
      path: {
        /**
         * @description Id of the webhook: wh_ and 1 to 40 letters or digits.
         * @example wh_qhm4MArw4uzzJbyAEo0RI2
         */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AttemptPage"] | components["schemas"]["FailedDeliveryPage"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getWebhookDelivery: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Id of the webhook: wh_ and 1 to 40 letters or digits.
         * @example wh_qhm4MArw4uzzJbyAEo0RI2
         */
        id: string;
        /**
         * @description Id of the attempt: a decimal string of 1 to 15 digits.
         * @example 3
         */
        attempt: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SentAttempt"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getStatus: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success */
      200: {
        headers: {
          "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
          "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "X-Request-Id": components["headers"]["X-Request-Id"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Status"];
        };
      };
      400: components["responses"]["InvalidRequest"];
      401: components["responses"]["Unauthorized"];
      403: components["responses"]["InsufficientScope"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  receiveEvent: {
    parameters: {
      query?: never;
      header: {
        /**
         * @description t=<Unix seconds>,v1=<hex>: HMAC-SHA256 of `<t>.<raw body>`. The key is the whole secret.
         * @example t=1795367549,v1=95efb94ac240109ad01cb78b7b5b28378026f61814333fe3418a1f9808dc061d
         */
        "X-Service-Signature": string;
        /**
         * @description Id of the event (Standard Webhooks).
         * @example 0000000068719480832-0000000000
         */
        "webhook-id": string;
        /**
         * @description Time of the attempt in Unix seconds (Standard Webhooks).
         * @example 1795367549
         */
        "webhook-timestamp": string;
        /**
         * @description v1,<base64> (Standard Webhooks). The key is the part of the secret after whsec_.
         * @example v1,fCM2sXJaTgqlHgX5xwujkffhrEjLvbqHGXjSyLTHBkI=
         */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookDelivery"];
      };
    };
    responses: {
      /** @description The gateway retries later, as after a 5xx. Retry-After can prolong the wait. */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Received. Respond within ten seconds, and process the event afterwards. */
      "2XX": {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Rejected. The gateway stores and counts the delivery, and does not retry. A replay sends it again. */
      "4XX": {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The gateway retries later. */
      "5XX": {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
}
