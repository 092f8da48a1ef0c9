import { GatewayError } from "../errors.ts";
import { refusedAs } from "./address_ranges.ts";
import type { Resolve } from "./resolve.ts";

/** A target that may be posted to now, at one of exactly these addresses. */
export interface VettedTarget {
  url: URL;
  /** At least one; IPv4 in dotted form, IPv6 without brackets. */
  addresses: string[];
}

export interface TargetPolicy {
  /**
   * Vets a webhook's URL and every address that its host has at this moment.
   * @throws {GatewayError} `invalid_request` saying why it is refused.
   */
  check(url: string, signal?: AbortSignal): Promise<VettedTarget>;
}

export interface TargetPolicyOptions {
  resolve: Resolve;
  /** Also allow `http:` and loopback (the sandbox); nothing else private. */
  allowLoopbackHttp?: boolean;
}

export function createTargetPolicy(_options: TargetPolicyOptions): TargetPolicy {
  return {
    check(url) {
      throw new GatewayError("invalid_request", `url ${url} ${refusedAs}`);
    },
  };
}
