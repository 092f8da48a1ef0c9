import { createConnection } from "../lib/client/request.ts";
import { CommandError } from "./command.ts";

export interface GatewayApi {
  /**
   * Asks a running gateway and answers the body; waits where the key's rate is used up.
   * @throws {CommandError} when the gateway refuses, in its words, or cannot be reached
   */
  request<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T>;
}

/** Longer than a submit waits for its confirmation. */
const TIMEOUT_MS = 70_000;

/** A running gateway as the commands that call one see it. */
export function createGatewayApi(gateway: string, apiKey: string): GatewayApi {
  const connection = createConnection({ baseUrl: gateway, apiKey, timeoutMs: TIMEOUT_MS });
  return {
    async request<T>(method: string, path: string, body?: unknown) {
      const answer = await connection.request<T>(method, path, body);
      if (answer.ok) return answer;
      const { reason, status, message } = answer;
      if (reason === "unreachable") throw new CommandError(`the gateway at ${gateway} does not answer`);
      throw new CommandError(reason === "not_a_gateway" ? `${status}: no gateway's answer` : `${reason}: ${message}`);
    },
  };
}
