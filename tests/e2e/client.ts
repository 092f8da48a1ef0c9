import { Keypair, TransactionBuilder } from "@stellar/stellar-sdk";

export interface Answer {
  status: number;
  // The tests look at answers of every shape.
  // deno-lint-ignore no-explicit-any
  body: any;
  headers: Headers;
}

/** A bare HTTP client of the gateway, as an application would write it. */
export function createClient(baseUrl: string, apiKey?: string) {
  async function request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text), headers: response.headers };
  }

  return {
    request,
    get: (path: string, headers?: Record<string, string>) => request("GET", path, undefined, headers),
    post: (path: string, body: unknown, headers?: Record<string, string>) => request("POST", path, body, headers),

    /** Prepares, signs and submits; answers the first answer that is not a success, or the submit's. */
    async write(
      signer: { address: string; secret: string },
      operation: Record<string, unknown>,
    ): Promise<Answer & { xdr?: string }> {
      const prepared = await request("POST", "/v1/transactions/prepare", { source: signer.address, operation });
      if (prepared.status !== 200) return prepared;
      const xdr = signed(prepared.body.xdr, prepared.body.networkPassphrase, signer.secret);
      return { ...await request("POST", "/v1/transactions/submit", { xdr }), xdr };
    },
  };
}

/** The envelope with this account's signature added. */
export function signed(xdr: string, networkPassphrase: string, secret: string): string {
  const transaction = TransactionBuilder.fromXDR(xdr, networkPassphrase);
  transaction.sign(Keypair.fromSecret(secret));
  return transaction.toXDR();
}
