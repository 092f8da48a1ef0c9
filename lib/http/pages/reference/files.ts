import { readReferenceScript } from "../../../runtime/reference_script.ts";
import { type PageFile, STRICT_POLICY, textFile } from "../page_file.ts";

/**
 * The styles that Scalar's script puts into the page, by their hashes; tests/browser says when an upgrade has changed
 * one. The last is the empty style that it begins with.
 */
const STYLES = [
  "d7niGYA9R/xp7r1pyc/+3ntTepKCabnrqd2exao76s4=",
  "ZW1GSuo0pKyEx5Ar7ZC5Dflb/mjatjeTW9aVx0iZAzE=",
  "DLlkYCuDYGe6ME23YkUFB7Tc36rGDeo4mVBFbZX3uaU=",
  "rO+6k1mDRASa9Q8IQu9I3bF+bjRdxDreAZCyGSaxzeI=",
  "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
];

/** Scalar sets styles of single elements as attributes: that much is allowed, and nothing else that is inline. */
const POLICY = STRICT_POLICY.replace(
  "style-src 'self'",
  `style-src 'self' ${STYLES.map((hash) => `'sha256-${hash}'`).join(" ")}; style-src-attr 'unsafe-inline'`,
);

/** `/docs/reference`: every endpoint, to read and to try out. */
export const REFERENCE_FILES: PageFile[] = [
  {
    ...textFile("/docs/reference", () => import("./reference.html", { with: { type: "text" } })),
    policy: POLICY,
  },
  textFile("/docs/reference/reference.css", () => import("./reference.css", { with: { type: "text" } })),
  textFile("/docs/reference/reference.js", () => import("./reference.js", { with: { type: "text" } })),
  { path: "/docs/reference/scalar.js", read: readReferenceScript },
];
