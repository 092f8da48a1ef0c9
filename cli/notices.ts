/** A part of the executable with its own author and license. */
export interface Notice {
  name: string;
  version: string;
  /** SPDX expression. */
  license: string;
  /** Its license files, as indexes of `texts`. */
  texts: number[];
}

/** The content of cli/notices.json, which `gateway version --licenses` prints. */
export interface Notices {
  /** npm packages. */
  packages: Notice[];
  /** The parts of the API reference's script (`lib/http/pages/reference`). */
  reference: Notice[];
  /** Rust crates in the sandbox's engine and contracts. */
  crates: Notice[];
  texts: string[];
}
