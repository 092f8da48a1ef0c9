import { StoreError, type StoreErrorKind } from "../store.ts";

/** SQLSTATE codes of lost conflicts. The transaction has written nothing, so a retry may succeed. */
const CONFLICTS = ["40001", "40P01"];

/** Codes of a broken connection: of the library, of sockets, and of a server that shuts down or ends a session. */
const LOST = /^(CONNECTION_(CLOSED|DESTROYED|ENDED)|CONNECT_TIMEOUT|E[A-Z]+|57P0[1-5]|25P0[3-4]|08...)$/;

/** The SQLSTATE of an error, or the library's code. Undefined for any other error. */
function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return error instanceof Error && typeof code === "string" ? code : undefined;
}

/** Whether an immediate retry of the failed transaction may succeed. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(codeOf(error) ?? "");
}

/** Whether the connection is lost. The outcome of the statements under way is unknown then. */
export function isConnectionLost(error: unknown): boolean {
  return LOST.test(codeOf(error) ?? "");
}

/** Whether the session can only read: its server is a standby, or the database was closed to writers when it began. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

/** Turns an error of PostgreSQL, or of the connection, into a message for the operator. Returns any other error unchanged. */
export function toStoreError(error: unknown, location: string): unknown {
  const code = codeOf(error);
  if (error instanceof StoreError || code === undefined) return error;
  const [kind, text] = messageFor(code, (error as Error).message);
  // Not the error itself: it carries the statement's parameters, which include secrets.
  return new StoreError(kind, `${location} ${text}`, { cause: new Error(`${(error as Error).message} (${code})`) });
}

function messageFor(code: string, message: string): [StoreErrorKind, string] {
  switch (code) {
    case "53100":
      return ["full", "has a full disk, and this change was not written: make room on the disk"];
    case "53300":
      return [
        "unavailable",
        "takes no more connections: raise its max_connections, lower pool=… in the URLs, or put a pooler between",
      ];
    case "28P01":
    case "28000":
      return ["unavailable", `refuses the user or password: correct the URL or PGPASSWORD (${message})`];
    case "3D000":
      return ["unavailable", `does not exist: create the database (${message})`];
    case "42501":
      return ["unavailable", `does not let this user do it: grant it the schema (${message})`];
    case "25006":
      return ["unavailable", "can only be read: name the primary server, not a standby"];
    case "26000":
    case "42P05":
      return ["unavailable", "does not keep named statements: with a transaction pooler add prepare=false to the URL"];
    case "55P03":
    case "57014":
    case "40001":
    case "40P01":
      return ["unavailable", `is busy: others hold what this needs (${message})`];
    case "42P01":
    case "3F000":
      return ["missing", "has lost its tables: restore a backup, or start the gateway again with an empty store"];
  }
  if (LOST.test(code)) return ["unavailable", `cannot be reached: ${message}`];
  return ["unavailable", `cannot be used: ${message}`];
}
