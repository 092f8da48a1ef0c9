import { createConnection } from "../lib/client/request.ts";
import { CommandError } from "./command.ts";

export interface GatewayApi {
  /**
   * Calls a running gateway and returns the body. It waits when the rate of the key is used up.
   * @throws {CommandError} with the gateway's message when it refuses, or when it does not answer
   */
  request<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T>;
}

/** Longer than a submit waits for its confirmation. */
const TIMEOUT_MS = 70_000;

/** A client of a running gateway, for commands. */
export function createGatewayApi(gateway: string, apiKey: string): GatewayApi {
  const connection = createConnection({ baseUrl: gateway, apiKey, timeoutMs: TIMEOUT_MS });
  return {
    async request<T>(method: string, path: string, body?: unknown) {
      const answer = await connection.request<T>(method, path, body);
      if (answer.ok) return answer;
      const { reason, status, message } = answer;
      if (reason === "unreachable") throw new CommandError(`the gateway at ${gateway} does not answer`);
      throw new CommandError(
        reason === "not_a_gateway" ? `${gateway} answers with ${status}: is it a gateway?` : `${reason}: ${message}`,
      );
    },
  };
}
