import { readReferenceScript } from "../../../runtime/reference_script.ts";
import { type PageFile, STRICT_POLICY, textFile } from "../page_file.ts";

/**
 * The hashes of the styles that Scalar's script adds to the page. A test in tests/browser fails when an upgrade changes one.
 * The last is the empty style that the script starts with.
 */
const STYLES = [
  "d7niGYA9R/xp7r1pyc/+3ntTepKCabnrqd2exao76s4=",
  "ZW1GSuo0pKyEx5Ar7ZC5Dflb/mjatjeTW9aVx0iZAzE=",
  "DLlkYCuDYGe6ME23YkUFB7Tc36rGDeo4mVBFbZX3uaU=",
  "rO+6k1mDRASa9Q8IQu9I3bF+bjRdxDreAZCyGSaxzeI=",
  "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
];

/** Scalar sets styles of single elements as attributes. The policy allows these, and nothing else inline. */
const POLICY = STRICT_POLICY.replace(
  "style-src 'self'",
  `style-src 'self' ${STYLES.map((hash) => `'sha256-${hash}'`).join(" ")}; style-src-attr 'unsafe-inline'`,
);

/** `/docs/reference`: every endpoint, with a form that calls it. */
export const REFERENCE_FILES: PageFile[] = [
  {
    ...textFile("/docs/reference", () => import("./reference.html", { with: { type: "text" } })),
    policy: POLICY,
  },
  textFile("/docs/reference/reference.css", () => import("./reference.css", { with: { type: "text" } })),
  textFile("/docs/reference/reference.js", () => import("./reference.js", { with: { type: "text" } })),
  { path: "/docs/reference/scalar.js", read: readReferenceScript },
];
