import packageJson from "../package.json" with { type: "json" };

/** The version of this program, semantic versioning. */
export const VERSION: string = packageJson.version;
