import { CommandError } from "./command.ts";

export interface GatewayApi {
  /**
   * Asks a running gateway and answers the body.
   * @throws {CommandError} when the gateway refuses, in its words, or cannot be reached
   */
  request<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T>;
}

/** Longer than a submit waits for its confirmation. */
const TIMEOUT_MS = 70_000;

/** A running gateway as the commands that call one see it. */
export function createGatewayApi(gateway: string, apiKey: string): GatewayApi {
  return {
    async request<T>(method: string, path: string, body?: unknown) {
      const response = await fetch(gateway + path, {
        method,
        headers: {
          "Authorization": `Bearer ${apiKey}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).catch(() => undefined);
      if (response === undefined) throw new CommandError(`the gateway at ${gateway} does not answer`);
      const answer = await response.json().catch(() => undefined);
      if (response.ok && answer !== undefined) return answer as T;
      const { code, message } = answer?.error ?? { code: String(response.status), message: "no gateway's answer" };
      throw new CommandError(`${code}: ${message}`);
    },
  };
}
