// Made by tests/client/make_api_types.ts from the schemas that the gateway checks requests and answers with: not to be
// edited. tests/client/api_types_test.ts says when it is no longer what they say.

/** Takes its place in a query as text; a list with commas between. */
export type QueryValue = string | number | readonly string[];

/** Every endpoint: what it takes and what it answers. */
export interface Endpoints {
  /** Whether the gateway is alive */
  "GET /v1/health": {
    answer: {
      ok: true;
    };
  };
  /** The network and the contracts behind this gateway */
  "GET /v1/network": {
    answer: {
      /** An RPC node of this network that is well, without what is secret in its URL */
      rpcUrl: string;
      networkPassphrase: string;
      contracts: {
        deviceRegistry: string;
        agentRegistry: string;
        paymentEscrow: string;
      };
    };
  };
  /** A device with its policy and its escrow balance */
  "GET /v1/devices/:hash": {
    params: {
      hash: string;
    };
    answer: {
      deviceHash: string;
      owner: string;
      /** All null while no agent is registered */
      policy: {
        agent: string;
        /** 0: no cap */
        maxAmount: string;
        asset: string;
        /** Unix seconds; null: never, unless note says when */
        expiresAt: number | null;
        /** There when the policy ends at more seconds than a JSON number holds */
        note?: string;
      } | {
        agent: null;
        maxAmount: null;
        asset: null;
        expiresAt: null;
      };
      escrowBalance: string;
    };
  };
  /** The policy of a device's agent */
  "GET /v1/devices/:hash/policy": {
    params: {
      hash: string;
    };
    answer: {
      agent: string;
      /** 0: no cap */
      maxAmount: string;
      asset: string;
      /** Unix seconds; null: never, unless note says when */
      expiresAt: number | null;
      /** There when the policy ends at more seconds than a JSON number holds */
      note?: string;
    };
  };
  /** The devices of a wallet, in the registry's order */
  "GET /v1/wallets/:address/devices": {
    params: {
      address: string;
    };
    answer: {
      devices: (string)[];
    };
  };
  /** A merchant's pending payments: their sum, and one by one */
  "GET /v1/merchants/:address/pending": {
    params: {
      address: string;
    };
    answer: {
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
  };
  /** Whether the contracts would authorise a payment now */
  "POST /v1/payments/check": {
    body: {
      deviceHash: string;
      asset: string;
      amount: string;
      agent?: string;
      merchant?: string;
    };
    answer: {
      ok: true;
    } | {
      ok: false;
      reason: "device_not_found" | "agent_not_found" | "agent_mismatch" | "policy_expired" | "asset_mismatch" | "amount_exceeds_limit" | "insufficient_escrow";
    };
  };
  /** The symbol, the name and the decimals of an asset */
  "GET /v1/assets/:asset": {
    params: {
      asset: string;
    };
    answer: {
      asset: string;
      /** native for the network's own. What a token calls itself proves nothing */
      symbol: string;
      /** CODE:ISSUER of an issued asset */
      name: string;
      /** Digits after the point in one unit */
      decimals: number;
    };
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
      /** Only events up to this ledger, inclusive */
      toLedger?: QueryValue;
      /** asc, or desc: the last one that became known first; asc when absent */
      order?: "asc" | "desc";
      /** 1 to 1000, 100 when absent */
      limit?: QueryValue;
    };
    answer: {
      events: ({
        /** Unique: deduplicate on it */
        id: string;
        type: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed";
        contractId: string;
        ledger: number;
        ledgerClosedAt: string;
        txHash: string;
        deviceHash?: string;
        agent?: string;
        merchant?: string;
        /** Decimal string */
        amount?: string;
        /** Of a movement its asset, of agent.registered the policy's; null when it is not known: the event is from before this was kept, or the transaction did not tell */
        asset?: string | null;
      })[];
      /** Where the next page starts; always there */
      cursor: string;
      latestLedger: number;
      /** The first ledger whose events are all held: what was asked for from before it is missing */
      oldestLedger: number | null;
    };
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
    answer: {
      /** Unique: deduplicate on it */
      id: string;
      type: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed";
      contractId: string;
      ledger: number;
      ledgerClosedAt: string;
      txHash: string;
      deviceHash?: string;
      agent?: string;
      merchant?: string;
      /** Decimal string */
      amount?: string;
      /** Of a movement its asset, of agent.registered the policy's; null when it is not known: the event is from before this was kept, or the transaction did not tell */
      asset?: string | null;
    };
  };
  /** One event */
  "GET /v1/events/:id": {
    params: {
      id: string;
    };
    answer: {
      /** Unique: deduplicate on it */
      id: string;
      type: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed";
      contractId: string;
      ledger: number;
      ledgerClosedAt: string;
      txHash: string;
      deviceHash?: string;
      agent?: string;
      merchant?: string;
      /** Decimal string */
      amount?: string;
      /** Of a movement its asset, of agent.registered the policy's; null when it is not known: the event is from before this was kept, or the transaction did not tell */
      asset?: string | null;
    };
  };
  /** Prepare a transaction for its source account to sign */
  "POST /v1/transactions/prepare": {
    body: {
      source: string;
      operation: {
        kind: "authorize";
        deviceHash: string;
        merchant: string;
        asset: string;
        amount: string;
        nonce?: string;
      } | {
        kind: "claim";
        asset: string;
      } | {
        kind: "registerAgent";
        deviceHash: string;
        agent: string;
        asset: string;
        maxAmount: string;
        expiresAt?: number | null;
      } | {
        kind: "revokeAgent";
        deviceHash: string;
      } | {
        kind: "fundEscrow";
        deviceHash: string;
        asset: string;
        amount: string;
      } | {
        kind: "defundEscrow";
        deviceHash: string;
        asset: string;
        amount: string;
      } | {
        kind: "registerDevice";
        deviceHash: string;
        agent: string;
      } | {
        kind: "revokeDevice";
        deviceHash: string;
      } | {
        kind: "sweepEscrow";
        deviceHash: string;
        asset: string;
        agent: string;
      };
    };
    answer: {
      /** Unsigned transaction envelope, base64 */
      xdr: string;
      networkPassphrase: string;
      /** What will be called, with what the gateway filled in */
      operation: {
        kind: "authorize";
        deviceHash: string;
        merchant: string;
        asset: string;
        amount: string;
        nonce: string;
      } | {
        kind: "claim";
        asset: string;
      } | {
        kind: "registerAgent";
        deviceHash: string;
        agent: string;
        asset: string;
        maxAmount: string;
        expiresAt: number | null;
      } | {
        kind: "revokeAgent";
        deviceHash: string;
      } | {
        kind: "fundEscrow";
        deviceHash: string;
        asset: string;
        amount: string;
      } | {
        kind: "defundEscrow";
        deviceHash: string;
        asset: string;
        amount: string;
      } | {
        kind: "registerDevice";
        deviceHash: string;
        agent: string;
      } | {
        kind: "revokeDevice";
        deviceHash: string;
      } | {
        kind: "sweepEscrow";
        deviceHash: string;
        asset: string;
        agent: string;
      };
      /** What the source account has to sign */
      hash: string;
      /** Most that the transaction can cost, stroops */
      fee: string;
      validUntil: number;
      /** Only with an Idempotency-Key: this very envelope was applied, there is nothing left to do */
      status?: "success";
      /** Only without an Idempotency-Key: the same operation of this source was submitted before and nobody was told how that ended; it names the transaction to ask for before this one is signed */
      warning?: string;
    };
  };
  /** Submit a signed envelope and wait for its confirmation */
  "POST /v1/transactions/submit": {
    body: {
      xdr: string;
    };
    answer: {
      hash: string;
      ledger: number;
    };
  };
  /** What became of a transaction */
  "GET /v1/transactions/:hash": {
    params: {
      hash: string;
    };
    answer: {
      hash: string;
      /** failed: applied without success, or in no ledger before its time bound; rejected: the network turned it down */
      status: "pending" | "success" | "failed" | "rejected";
      /** The ledger that it was applied in */
      ledger?: number;
      /** Why it failed or was rejected */
      error?: string;
    };
  };
  /** Subscribe a URL to events */
  "POST /v1/webhooks": {
    body: {
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
    answer: {
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
  };
  /** The webhooks of the calling key */
  "GET /v1/webhooks": {
    answer: {
      webhooks: ({
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
      })[];
    };
  };
  /** One webhook */
  "GET /v1/webhooks/:id": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: {
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
  };
  /** Delete a webhook, with what is still owed to it */
  "DELETE /v1/webhooks/:id": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: {
      deleted: true;
    };
  };
  /** Give a webhook a new secret */
  "POST /v1/webhooks/:id/secret": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: {
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
  };
  /** Send a signed test event now */
  "POST /v1/webhooks/:id/test": {
    params: {
      /** wh_… */
      id: string;
    };
    answer: {
      attempt: {
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
    };
  };
  /** The attempts to deliver to a webhook, newest first */
  "GET /v1/webhooks/:id/deliveries": {
    params: {
      /** wh_… */
      id: string;
    };
    query: {
      /** 1 to 200, 50 when absent */
      limit?: QueryValue;
      /** From an earlier answer */
      cursor?: QueryValue;
    };
    answer: {
      deliveries: ({
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
      })[];
      /** Where older attempts go on; null: there are none */
      cursor: string | null;
    };
  };
  /** One attempt, with what was sent */
  "GET /v1/webhooks/:id/deliveries/:attempt": {
    params: {
      /** wh_… */
      id: string;
      /** Its id */
      attempt: string;
    };
    answer: {
      attempt: {
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
      /** null: the event is not held any more */
      request: {
        url: string;
        headers: Record<string, string>;
        /** Exactly as it is signed */
        body: string;
      } | null;
      /** The secret was rotated after the attempt: the signatures are those of the secrets that sign now */
      secretRotatedSince: boolean;
    };
  };
  /** Send past events to a webhook again */
  "POST /v1/webhooks/:id/replay": {
    params: {
      /** wh_… */
      id: string;
    };
    body: {
      fromLedger?: number;
      /** Inclusive; all that is held when absent */
      toLedger?: number;
      /** This event alone, instead of ledgers */
      eventId?: string;
      /** Only count, send nothing */
      dryRun?: boolean;
    };
    answer: {
      /** The job; null with dryRun */
      id: string | null;
      /** How many events are sent again */
      deliveries: number;
      /** There are more: no more than 10000 are counted */
      atLeast: boolean;
    };
  };
  /** Ledger height and lag, held history, contracts, RPC nodes, webhook backlog, version */
  "GET /v1/status": {
    answer: {
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
          noticedAt: string;
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
        /** How many merchants have to claim them; of the 100 that have waited longest */
        merchants: number;
        /** When the first of them expires, Unix seconds */
        firstAt: number | null;
      } | null;
      /** Movements in an asset that they should not be in: the escrow keeps one balance for all assets */
      foreignMovements: {
        /** Of the newest 5000 events at the start, and since; each asset is warned of once in the log */
        count: number;
        last: {
          eventId: string;
          type: "device.registered" | "device.revoked" | "agent.registered" | "agent.revoked" | "escrow.funded" | "escrow.defunded" | "escrow.swept" | "payment.authorized" | "payment.claimed";
          ledger: number;
          asset: string;
          /** not_listed: the asset is none of SERVICE_API_ASSETS. not_the_policys: a card was funded in another asset than its policy names. not_what_was_funded: a card paid, or was paid out, in another asset than it was funded in. not_what_was_authorized: a merchant claimed another asset than the payments were authorised in */
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
        /** Webhooks whose endpoint fails */
        failingWebhooks: number;
        /** How long the oldest one that waits in the log has been known */
        oldestSeconds: number | null;
      };
    };
  };
}
