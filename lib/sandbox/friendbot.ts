import { StrKey } from "@stellar/stellar-sdk";
import { AlreadyFunded, type AppliedTransaction, type Network } from "./network_types.ts";
import { readBody } from "./rpc/body.ts";

/** js-stellar-sdk looks for the first text and the Stellar CLI for the second. Both then continue. */
const ALREADY_FUNDED = "createAccountAlreadyExist (AAAAAAAAAGT/////AAAAAQAAAAAAAAAA/////AAAAAA=): " +
  "account already funded to starting balance";

/**
 * The faucet. `GET|POST …?addr=G…` (or `C…`, or `addr` in a form body) pays the starting balance. An account may be new. It answers with the transaction once a ledger has closed. Failures are problem+json
 * (RFC 7807) with the texts of the real friendbot.
 */
export function createFriendbot(
  { network }: { network: Network },
): { fetch(request: Request, query: URLSearchParams): Promise<Response> } {
  return {
    async fetch(request, query) {
      const address = query.get("addr") ?? await addressInBody(request);
      if (!StrKey.isValidEd25519PublicKey(address) && !StrKey.isValidContract(address)) {
        return badAddress("invalid address: must be a valid G or C address");
      }
      try {
        return Response.json(funded(await network.fund(address)));
      } catch (error) {
        if (error instanceof AlreadyFunded) return problem(400, "bad_request", "Bad Request", ALREADY_FUNDED);
        const detail = error instanceof Error ? error.message : String(error);
        return problem(500, "server_error", "Internal Server Error", detail);
      }
    },
  };
}

async function addressInBody(request: Request): Promise<string> {
  if (request.method !== "POST") return "";
  return new URLSearchParams(await readBody(request)).get("addr") ?? "";
}

function funded(transaction: AppliedTransaction) {
  return {
    hash: transaction.hash,
    successful: transaction.successful,
    ledger: transaction.ledger,
    envelope_xdr: transaction.envelopeXdr.toBase64(),
    result_xdr: transaction.resultXdr.toBase64(),
    result_meta_xdr: transaction.resultMetaXdr.toBase64(),
  };
}

function badAddress(reason: string): Response {
  const detail = "The request you sent was invalid in some way.";
  return problem(400, "bad_request", "Bad Request", detail, { invalid_field: "addr", reason });
}

function problem(status: number, type: string, title: string, detail: string, extras?: Record<string, string>) {
  const body = { type: `https://stellar.org/friendbot-errors/${type}`, title, status, detail, extras };
  return Response.json(body, { status, headers: { "Content-Type": "application/problem+json; charset=utf-8" } });
}
