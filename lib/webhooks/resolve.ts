/**
 * Every IPv4 and IPv6 address of a host name, at least one.
 * @throws {ResolveError} when there is none, or no answer in time.
 */
export type Resolve = (hostname: string, signal?: AbortSignal) => Promise<string[]>;
