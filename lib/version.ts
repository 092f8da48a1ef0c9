import packageJson from "../package.json" with { type: "json" };

/** Set by compile.sh, in an executable only; empty when the sources were in no git checkout. */
declare const BUILD_COMMIT: string | undefined;

/** The version of this program, semantic versioning. */
export const VERSION: string = packageJson.version;

/** The commit of an executable, with `-changed` when the sources differed; undefined when run from sources. */
export const COMMIT: string | undefined = typeof BUILD_COMMIT === "string" ? BUILD_COMMIT || undefined : undefined;
