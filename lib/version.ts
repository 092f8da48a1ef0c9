import packageJson from "../package.json" with { type: "json" };

/** Put in by compile.sh, in an executable only; empty where the sources were in no git checkout. */
declare const BUILD_COMMIT: string | undefined;

/** The version of this program, semantic versioning. */
export const VERSION: string = packageJson.version;

/** The commit that an executable was built from, `-changed` behind it when the sources differed; undefined from sources. */
export const COMMIT: string | undefined = typeof BUILD_COMMIT === "string" ? BUILD_COMMIT || undefined : undefined;
