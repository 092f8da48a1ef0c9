import { SQLITE, SqliteError } from "../../runtime/sqlite.ts";
import { diskFailed, diskFull, lockedByAnother } from "../file/errors.ts";
import { StoreError } from "../store_error.ts";

/** Turns an error of SQLite into a message for the operator. Returns any other error unchanged. */
export function toStoreError(error: unknown, location: string): unknown {
  if (!(error instanceof SqliteError)) return error;
  switch (error.code) {
    case SQLITE.busy:
      return lockedByAnother(location, error);
    case SQLITE.full:
      return diskFull(location, error);
    case SQLITE.ioError:
      return diskFailed(location, error);
    default:
      return new StoreError("unavailable", `${location} ${messageFor(error)}`, { cause: error });
  }
}

function messageFor(error: SqliteError): string {
  switch (error.code) {
    case SQLITE.readOnly:
    case SQLITE.cannotOpen:
      return "cannot be opened for writing: check the owner and mode of the file and of its directory";
    case SQLITE.notADatabase:
      return "is not a SQLite database: name another file";
    case SQLITE.corrupt:
      return "is damaged: restore a backup";
    default:
      return `cannot be used: ${error.message}`;
  }
}
